import { isForeignKeyViolation } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { assertNoneLeft, batchesOf, VectorStore, VectorStoreError } from './vector-store.js';
import type { VectorEntry, VectorHit, VectorQuery, VectorScope } from './vector-store.js';
import { PgvectorRepository } from './vector.repository.js';
import type { LargeSet, VectorIndex, VectorTable } from './vector.repository.js';
import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
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

/** Numbers of vectors from which a base is searched by an index: 78,000 vectors of 384 dimensions. */
const MIN_INDEXED_NUMBERS = 30_000_000;

/** Vectors of a list of an index. */
const VECTORS_PER_LIST = 1_000;

/**
 * How long a process may search as before an index was built or dropped by another one: exactly, or with the number of lists
 * of its predecessor. Asking the catalogue at every search takes a tenth of it.
 */
const LISTS_TTL_MS = 60_000;
const MAX_CACHED_LISTS = 10_000;

/**
 * Vectors in the relational store with the extension pgvector, any version. A search scans all vectors of the base: it is
 * exact and needs no upkeep. A large base gets an index of its own where pgvector 0.8 runs, because a scan takes time by the
 * number of vectors; it finds nearly all of the nearest (docs/decisions/0051-vector-index-of-large-bases.md).
 */
@Injectable()
export class PgvectorVectorStore extends RelationalVectorStore {
  override readonly code = 'pgvector';
  private readonly logger = new Logger(PgvectorVectorStore.name);
  /** Numbers of lists by base and dimension; 0 without an index. */
  private readonly lists = new LRUCache<string, number>({
    max: MAX_CACHED_LISTS,
    ttl: LISTS_TTL_MS,
  });

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
    return this.call(msg`search vectors`, signal, async () => {
      const lists = await this.listsOf(scope, query.vector.length);
      const hits =
        lists === 0
          ? await this.vectors.nearest(scope, query)
          : await this.vectors.nearestByIndex(scope, query, probesOf(lists));
      return orderedHits(hits, query);
    });
  }

  private async listsOf(scope: VectorScope, dimension: number): Promise<number> {
    const key = `${scope.knowledgeId} ${dimension}`;
    const cachedLists = this.lists.get(key);
    if (cachedLists !== undefined) return cachedLists;
    const lists = (await this.vectors.listsOf(scope, dimension)) ?? 0;
    this.lists.set(key, lists);
    return lists;
  }

  /**
   * Builds the indexes of bases that have become large, builds them again where a base has grown to twice its size, and drops those
   * of bases that have shrunk to half of what is large.
   */
  override async maintain(minNumbers = MIN_INDEXED_NUMBERS): Promise<void> {
    if (!(await this.vectors.canIndex())) return;
    const sets = await this.vectors.largeSets(minNumbers / 2);
    await this.vectors.whileBuilding(async (run) => {
      const indexes = await this.vectors.indexes(run);
      for (const failed of indexes.filter(({ valid }) => !valid)) {
        await this.vectors.dropIndex(run, failed);
      }
      for (const set of sets) {
        const lists = listsOf(set.count);
        if (set.count * set.dimension < minNumbers) continue;
        if (lists < 2 * (largestOf(indexes, set)?.lists ?? 0)) continue;
        await this.vectors.buildIndex(run, { ...set, lists });
        this.logger.log({ msg: 'Vector index built', ...set, lists });
      }
      const current = await this.vectors.indexes(run);
      const needed = new Set(sets.map((set) => largestOf(current, set)?.name));
      for (const index of current.filter(({ name }) => !needed.has(name))) {
        await this.vectors.dropIndex(run, index);
      }
    });
    this.lists.clear();
  }
}

/** More lists need more memory to build: 1,500 take 600 MB at 1,024 dimensions. */
const MAX_LISTS = 1_500;

function listsOf(vectors: number): number {
  return Math.min(MAX_LISTS, Math.ceil(vectors / VECTORS_PER_LIST));
}

/** Lists that a search reads: about 30,000 of a million vectors. */
function probesOf(lists: number): number {
  return Math.ceil(Math.sqrt(lists));
}

/** The valid index of the set with the most lists, which is the last one built. */
function largestOf(indexes: readonly VectorIndex[], set: LargeSet): VectorIndex | undefined {
  return indexes
    .filter(({ valid, knowledgeId }) => valid && knowledgeId === set.knowledgeId)
    .filter(({ dimension }) => dimension === set.dimension)
    .sort((a, b) => b.lists - a.lists)[0];
}
