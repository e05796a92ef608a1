import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { isInvalidValue, isOutage } from '../platform/database/index.js';
import { withLimit } from '../platform/dependency/index.js';
import { Spool } from '../platform/filesystem/index.js';
import { Metrics } from '../platform/observability/index.js';
import { IntervalJob } from '../platform/queue/index.js';
import { usageEntries } from './usage.entry.js';
import type { UsageEntry } from './usage.entry.js';
import { LedgerRepository } from './ledger.repository.js';

/** The time that an entry waits for others; a killed process loses entries of that time. */
const FLUSH_MS = 500;
/** Maximum entries of one statement. */
const BATCH = 500;
/** The timeout of one statement. It may still succeed afterwards; writing twice changes nothing. */
const ATTEMPT_MS = 10_000;

/** Entries that wait in memory while the database is away; the rest goes to files. */
const MAX_WAITING_COUNT = 10_000;
const SPOOL_BYTES = 256 * 1024 * 1024;
const FILES_AT_ONCE = 20;
/** The number of flushes between two checks for spool files, about a minute. */
const LOOK_FOR_FILES = 120;

type Written = 'written' | 'unavailable';

/**
 * Writes the usage ledger without letting a call wait: entries are collected and written together. While the database is away they
 * wait in memory, and then as files of DATA_DIR, which every process writes that finds them.
 */
@Injectable()
export class UsageLedger implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Usage');
  private readonly spool: Spool<UsageEntry[]>;
  /** The context outside of every request: what is entered in a transaction must not be written in it. */
  private readonly outside = AsyncLocalStorage.snapshot();
  private waiting: UsageEntry[] = [];
  private flushes: IntervalJob | undefined;
  /** Whether spool files exist, of this process or of one that has ended; rechecked periodically. */
  private hasFiles = true;
  private flushed = 0;
  /** Entries of limited calls, which are written separately. */
  private readonly settling = new Set<Promise<void>>();
  /** Writes run one at a time. */
  private flushing: Promise<void> = Promise.resolve();

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: LedgerRepository,
    metrics: Metrics,
  ) {
    this.spool = new Spool(join(config.DATA_DIR, 'books'), SPOOL_BYTES, (value) =>
      usageEntries.parse(value),
    );
    metrics.gauge(
      'plinth_books_waiting',
      'Calls of model services that are not in the usage ledger yet, those in files as batches',
      async () => this.waiting.length + (await this.spool.count()),
    );
  }

  onApplicationBootstrap(): void {
    this.flushes = new IntervalJob(FLUSH_MS, () => this.flush());
    this.flushes.runNow();
  }

  /** Runs after every other part has stopped, so that the calls they have ended are recorded. */
  async onApplicationShutdown(): Promise<void> {
    await this.flushes?.stop();
    await this.settled();
    await this.flush();
    while (this.waiting.length > 0) await this.toFile(this.waiting.splice(0, BATCH));
  }

  enter(entry: UsageEntry): void {
    this.waiting.push(entry);
    if (this.waiting.length >= BATCH) this.outside(() => this.flushes?.runNow());
  }

  /**
   * Writes the entry of a limited call now, and with it what the call has used of its limits. While the database is away the
   * entry waits with the others.
   */
  settle(entry: UsageEntry): Promise<void> {
    const writing = this.outside(async () => {
      if ((await this.write([entry])) === 'unavailable') this.waiting.push(entry);
    }).finally(() => this.settling.delete(writing));
    this.settling.add(writing);
    return writing;
  }

  /** Whether calls that have ended are being settled. */
  get isSettling(): boolean {
    return this.settling.size > 0;
  }

  /** Resolves when the entries of limited calls are settled. */
  async settled(): Promise<void> {
    await Promise.all(this.settling);
  }

  /** Writes what was entered before, and the files of a time when the database was away. */
  flush(): Promise<void> {
    this.flushing = this.flushing
      .then(() => this.writeWaiting())
      .catch((error: unknown) => {
        // Unwritten entries still wait.
        this.logger.error({ msg: 'Failed to write usage', err: error });
      });
    return this.flushing;
  }

  private async writeWaiting(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, BATCH);
      if ((await this.write(batch)) === 'unavailable') {
        this.waiting.unshift(...batch);
        await this.relieve();
        return;
      }
    }
    this.flushed += 1;
    if (this.hasFiles || this.flushed % LOOK_FOR_FILES === 0) await this.writeFiles();
  }

  private async write(entries: readonly UsageEntry[]): Promise<Written> {
    try {
      await withLimit(ATTEMPT_MS, this.repository.add(entries), () => {
        throw new Error(`The database did not answer within ${ATTEMPT_MS} ms.`);
      });
      return 'written';
    } catch (error) {
      if (isInvalidValue(error)) return this.writeParts(entries, error);
      if (!isOutage(error)) this.logger.warn({ msg: 'Failed to write usage', err: error });
      return 'unavailable';
    }
  }

  /** Finds the entry that the database refuses, so that the others are written. */
  private async writeParts(entries: readonly UsageEntry[], error: unknown): Promise<Written> {
    const [first, ...others] = entries;
    if (!first) return 'written';
    if (others.length === 0) {
      this.logger.error({ msg: 'Call not recorded', call: first, err: error });
      return 'written';
    }
    const half = Math.ceil(entries.length / 2);
    for (const part of [entries.slice(0, half), entries.slice(half)]) {
      if ((await this.write(part)) === 'unavailable') return 'unavailable';
    }
    return 'written';
  }

  /** Moves the oldest of too many entries to files. */
  private async relieve(): Promise<void> {
    while (this.waiting.length > MAX_WAITING_COUNT)
      await this.toFile(this.waiting.splice(0, BATCH));
  }

  private async toFile(entries: UsageEntry[]): Promise<void> {
    try {
      await this.spool.write(randomUUID(), entries);
      this.hasFiles = true;
      this.logger.warn({ msg: 'Calls kept in DATA_DIR', calls: entries.length });
    } catch (error) {
      this.logger.error({ msg: 'Calls not recorded', calls: entries.length, err: error });
    }
  }

  private async writeFiles(): Promise<void> {
    const names = await this.spool.names(FILES_AT_ONCE);
    this.hasFiles = names.length > 0;
    for (const name of names) {
      const entries = await this.read(name);
      if (!entries) continue;
      if ((await this.write(entries)) === 'unavailable') return;
      await this.spool.remove(name);
    }
  }

  private async read(name: string): Promise<UsageEntry[] | undefined> {
    try {
      return await this.spool.read(name);
    } catch (error) {
      this.logger.error({ msg: 'Kept calls are not readable', file: name, err: error });
      await this.spool.refuse(name);
      return undefined;
    }
  }
}
