import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { DataSource, QueryRunnerAlreadyReleasedError } from 'typeorm';
import type { EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { withLongStatements } from './statement-limit.js';
import { inTenant, withBinding } from './tenant-check.js';
import { ConnectionLostError } from './violation.js';

/**
 * Lets callers that read the same row at the same time share a statement. What a caller gets was read after its call: one
 * that comes while a statement runs waits for the next one, which all who have come until then share. For reads outside of
 * transactions. With 32 calls of one key at a time, writing statements takes a third of the processor time of before, which
 * was a seventh of a short answer (docs/decisions/0033-shared-reads.md).
 */
export class SharedReads<T> {
  private readonly running = new Map<string, Running<T>>();

  /** The result or the error of `read`; callers with the same key must pass the same function. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const running = this.running.get(key);
    if (!running) return this.start(key, read);
    running.next ??= running.ended.then(() => this.start(key, read));
    return running.next;
  }

  private start(key: string, read: () => Promise<T>): Promise<T> {
    const result = new Promise<T>((resolve) => resolve(read()));
    const running: Running<T> = { ended: result.then(ignore, ignore), next: undefined };
    this.running.set(key, running);
    void running.ended.then(() => {
      if (!running.next) this.running.delete(key);
    });
    return result;
  }
}

interface Running<T> {
  /** Resolves when the read has ended; never rejects. */
  readonly ended: Promise<void>;
  next: Promise<T> | undefined;
}

function ignore(): void {
  // Each caller gets the result itself.
}

/** Limit of actions that run after commits at a time: they may wait for services that are away. */
const MAX_AFTER_COMMIT_COUNT = 16;

interface OpenTransaction {
  readonly manager: EntityManager;
  readonly afterCommit: (() => void | Promise<void>)[];
}

/**
 * The relational store. Whatever runs inside `transaction` joins it by itself: on the embedded store,
 * which has one connection, a statement outside would wait forever for its own transaction.
 */
@Injectable()
export class Database {
  private readonly open = new AsyncLocalStorage<OpenTransaction>();
  /** Names of prepared statements by their texts. */
  private readonly names = new Map<string, string>();

  constructor(readonly dataSource: DataSource) {}

  get manager(): EntityManager {
    return this.open.getStore()?.manager ?? this.dataSource.manager;
  }

  repository<E extends ObjectLiteral>(entity: EntityTarget<E>): Repository<E> {
    return this.manager.getRepository(entity);
  }

  /**
   * Runs the work in one transaction, joining an open one. A thrown error rolls everything back. Resolves when what was
   * to follow the commit is done, and fails with the first failure of that; the commit stands then.
   */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    if (this.open.getStore()) return work();
    const afterCommit: OpenTransaction['afterCommit'] = [];
    const result = await this.dataSource
      .transaction((manager) => this.open.run({ manager, afterCommit }, work))
      .catch((error: unknown) => {
        throw isOfEndedTransaction(error) ? new ConnectionLostError(error) : error;
      });
    await allOf(afterCommit);
    return result;
  }

  /** `transaction` with statements that may take ten minutes each: for deletions, and for what is built from many rows. */
  longTransaction<T>(work: () => Promise<T>): Promise<T> {
    return withLongStatements(() => this.transaction(work));
  }

  /** `transaction`, bound to the tenant: for rows of another tenant than that of the request. */
  transactionIn<T>(tenantId: string, work: () => Promise<T>): Promise<T> {
    return inTenant(tenantId, () => this.transaction(work));
  }

  /**
   * Runs the action once the open transaction is committed, beside others and in no order, or at once when there is none;
   * bound to the tenant to which its caller is.
   */
  async afterCommit(action: () => void | Promise<void>): Promise<void> {
    const transaction = this.open.getStore();
    if (transaction) transaction.afterCommit.push(withBinding(action));
    else await action();
  }

  /** The rows of a statement, which joins an open transaction. */
  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const result: unknown = await this.manager.query(sql, [...parameters]);
    // TypeORM answers [rows, count] for UPDATE and DELETE, and rows for everything else.
    const isChange = Array.isArray(result) && result.length === 2 && Array.isArray(result[0]);
    return (isChange ? (result as unknown[])[0] : result) as Row[];
  }

  /**
   * Like `query`, but without the object mapper, and each connection parses and plans the statement once: for those of a hot path
   * that find few rows by their keys. A plan knows no values, so what is quick for some of them only stays with `query`;
   * and a connection keeps every text for its life, so the text must have few forms.
   */
  async prepared<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    const joined = this.open.getStore()?.manager.queryRunner;
    if (joined?.isReleased) throw new TransactionEndedError();
    // The pool's own query is not used, because it closes the connection of a statement that fails.
    const runner = joined ?? this.dataSource.createQueryRunner();
    try {
      const connection = (await runner.connect()) as PoolClient;
      const statement = { name: this.nameOf(text), text, values: [...values] };
      const { rows } = await connection.query<Row & QueryResultRow>(statement);
      return rows;
    } finally {
      if (!joined) await runner.release();
    }
  }

  /**
   * Runs statements on one connection without a transaction, for those that PostgreSQL refuses in one. The work resets the
   * settings that it makes, because the connection goes on to others.
   */
  async onConnection<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await work(
        async <Row>(sql: string, parameters: readonly unknown[] = []) =>
          (await runner.query(sql, [...parameters])) as Row[],
      );
    } finally {
      await runner.release();
    }
  }

  /** Counts of all connections, of idle ones, and of requests that wait for one. */
  poolUse(): { total: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { total: totalCount, idle: idleCount, waiting: waitingCount };
  }

  private nameOf(text: string): string {
    const existingName = this.names.get(text);
    if (existingName !== undefined) return existingName;
    const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
    this.names.set(text, name);
    return name;
  }

  private get pool(): Pool {
    const { driver } = this.dataSource;
    if (!('master' in driver)) throw new Error('The data source is not connected.');
    return driver.master as Pool;
  }
}

/** Runs a statement on the connection that `onConnection` holds; answers its rows. */
export type RunStatement = <Row>(sql: string, parameters?: readonly unknown[]) => Promise<Row[]>;

/** A statement of a transaction whose connection has been given back. */
class TransactionEndedError extends Error {
  constructor() {
    super('The transaction has ended.');
  }
}

/** Whether the connection of the transaction was released, which only its loss does while the transaction runs. */
function isOfEndedTransaction(error: unknown): boolean {
  return error instanceof QueryRunnerAlreadyReleasedError || error instanceof TransactionEndedError;
}

async function allOf(actions: OpenTransaction['afterCommit']): Promise<void> {
  const queue = new PQueue({ concurrency: MAX_AFTER_COMMIT_COUNT });
  const results = await Promise.allSettled(
    actions.map((action) => queue.add(async () => action())),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
