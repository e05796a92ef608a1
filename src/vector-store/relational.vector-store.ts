import { isForeignKeyViolation } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { assertNoneLeft, batchesOf, VectorStore, VectorStoreError } from './vector-store.js';
import type { VectorEntry, VectorHit, VectorQuery, VectorScope } from './vector-store.js';
import { PgvectorRepository } from './vector.repository.js';
import type { VectorTable } from './vector.repository.js';
import { Injectable, Logger } from '@nestjs/common';
import { orderedHits } from './exact/vector-memory.js';

/** Limits of one statement: at most 2 MiB, so that the embedded store with its one connection stays responsive. */
const STATEMENT = { entries: 1_000, numbers: 524_288 };

/** Base of the stores with vectors in the relational database: everything except the search. */
export abstract class RelationalVectorStore extends VectorStore {
  protected abstract readonly vectors: VectorTable;

  override async upsert(
    scope: VectorScope,
    entries: readonly VectorEntry[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.call(msg`store vectors`, signal, async () => {
      for (const batch of batchesOf(entries, STATEMENT)) {
        signal.throwIfAborted();
        await this.insert(scope, batch);
      }
    });
  }

  override async removeFragments(
    scope: VectorScope,
    fragmentIds: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.call(msg`remove vectors`, signal, () =>
      this.vectors.removeFragments(scope, fragmentIds),
    );
  }

  override async removeAttachment(
    scope: VectorScope,
    attachmentId: number,
    signal: AbortSignal,
  ): Promise<void> {
    await this.call(msg`remove vectors`, signal, async () => {
      await this.vectors.removeAttachment(scope, attachmentId);
      assertNoneLeft(await this.vectors.count(scope, attachmentId));
    });
  }

  override async removeKnowledge(scope: VectorScope, signal: AbortSignal): Promise<void> {
    await this.call(msg`remove vectors`, signal, async () => {
      await this.vectors.removeKnowledge(scope);
      assertNoneLeft(await this.vectors.count(scope));
    });
  }

  override async removeTenant(tenantId: string, signal: AbortSignal): Promise<void> {
    await this.call(msg`remove vectors`, signal, async () => {
      await this.vectors.removeTenant(tenantId);
      assertNoneLeft(await this.vectors.countOfTenant(tenantId));
    });
  }

  override async count(
    scope: VectorScope,
    attachmentId: number | undefined,
    signal: AbortSignal,
  ): Promise<number> {
    return this.call(msg`count vectors`, signal, () => this.vectors.count(scope, attachmentId));
  }

  override async scopes(
    signal: AbortSignal,
  ): Promise<(VectorScope & { readonly count: number })[]> {
    return this.call(msg`list vectors`, signal, () => this.vectors.scopes());
  }

  override async fragmentIds(
    scope: VectorScope,
    page: { readonly after: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<number[]> {
    return this.call(msg`list vectors`, signal, () => this.vectors.fragmentIds(scope, page));
  }

  protected async insert(scope: VectorScope, batch: readonly VectorEntry[]): Promise<void> {
    try {
      await this.vectors.upsert(scope, batch);
    } catch (error) {
      if (!isForeignKeyViolation(error)) throw error;
      throw new VectorStoreError(
        msg`The document or its knowledge base was deleted, so its vectors were not stored.`,
      );
    }
  }
}

/**
 * Vectors in the relational store with the extension pgvector, any version. A search scans all vectors of the base:
 * it is exact, has no limit of dimensions below pgvector's 16,000, and needs no index, whose maintenance costs more
 * than it saves within a base (docs/decisions/0007).
 */
@Injectable()
export class PgvectorVectorStore extends RelationalVectorStore {
  override readonly code = 'pgvector';
  private readonly logger = new Logger(PgvectorVectorStore.name);

  constructor(protected override readonly vectors: PgvectorRepository) {
    super();
  }

  /** Creates the table if it is missing. False when this store cannot run here. */
  async prepare(): Promise<boolean> {
    if (await this.vectors.hasTable()) return true;
    if (!(await this.vectors.isAvailable())) return false;
    try {
      await this.vectors.createTable();
      return true;
    } catch (error) {
      this.logger.warn({
        msg: 'Failed to create the extension vector, the exact store is used instead; a superuser can run CREATE EXTENSION vector',
        err: error,
      });
      return false;
    }
  }

  override async search(
    scope: VectorScope,
    query: VectorQuery,
    signal: AbortSignal,
  ): Promise<VectorHit[]> {
    return this.call(msg`search vectors`, signal, async () =>
      orderedHits(await this.vectors.nearest(scope, query), query),
    );
  }
}
