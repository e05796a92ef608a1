import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { msg } from '../../platform/message/index.js';
import { RelationalVectorStore } from '../relational.vector-store.js';
import { VectorStoreError } from '../vector-store.js';
import type { VectorEntry, VectorHit, VectorQuery, VectorScope } from '../vector-store.js';
import { ExactRepository } from '../vector.repository.js';
import { keyOf } from './vector-memory.js';
import type {
  SetVectors,
  VectorSet,
  ForgetTask,
  MissingTask,
  SearchAnswer,
  SearchTask,
  UpdateTask,
} from './vector-memory.js';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

const MIB = 1_048_576;
/** Bytes of vectors read by one statement; more would delay other requests. */
const READ_BYTES = MIB;
/** Attempts to load a set completely while concurrent searches evict it. */
const ATTEMPTS = 5;

/**
 * Exact cosine similarity on any PostgreSQL. Vectors are rows; those of searched bases are cached in the memory of a
 * worker thread. Each search compares the revision of the cache with that of the rows, in parallel to the search, and reads
 * what has changed, which is correct for any number of processes. The vectors of one dimension of a base must
 * fit into EXACT_VECTOR_MEMORY_MB; more than that is refused when it is stored.
 */
@Injectable()
export class ExactVectorStore extends RelationalVectorStore implements OnApplicationShutdown {
  override readonly code = 'exact';
  private readonly memory = new MemoryThread();
  private readonly mutex = new KeyedMutex();
  private readonly limitBytes: number;

  constructor(
    @Inject(CONFIG) config: Config,
    protected override readonly vectors: ExactRepository,
  ) {
    super();
    this.limitBytes = config.EXACT_VECTOR_MEMORY_MB * MIB;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.memory.stop();
  }

  override async search(
    scope: VectorScope,
    vectorQuery: VectorQuery,
    signal: AbortSignal,
  ): Promise<VectorHit[]> {
    const set = { ...scope, dimension: vectorQuery.vector.length };
    return this.call(msg`search vectors`, signal, async () => {
      const query = await this.queryOf(set, vectorQuery);
      const hits = await this.searchMemory(set, query);
      if (hits) return hits;
      return this.mutex.run(keyOf(set), async () => {
        signal.throwIfAborted();
        return (await this.searchMemory(set, query)) ?? this.searchUpdated(set, query, signal);
      });
    });
  }

  /** The query for the thread, which knows fragments and no documents. */
  private async queryOf(
    set: VectorSet,
    { attachmentIds, ...vectorQuery }: VectorQuery,
  ): Promise<VectorQuery> {
    // Transferring a view would send its whole buffer to the thread.
    const query = { ...vectorQuery, vector: vectorQuery.vector.slice() };
    if (!attachmentIds) return query;
    const documentFragments = await this.vectors.ofDocuments(set, attachmentIds);
    const requestedIds = vectorQuery.fragmentIds && new Set(vectorQuery.fragmentIds);
    return {
      ...query,
      fragmentIds: requestedIds
        ? documentFragments.filter((id) => requestedIds.has(id))
        : documentFragments,
    };
  }

  override async removeKnowledge(scope: VectorScope, signal: AbortSignal): Promise<void> {
    await super.removeKnowledge(scope, signal);
    const { tenantId, knowledgeId } = scope;
    await this.call(msg`remove vectors`, signal, () =>
      this.memory.forget({ tenantId, knowledgeId }),
    );
  }

  override async removeTenant(tenantId: string, signal: AbortSignal): Promise<void> {
    await super.removeTenant(tenantId, signal);
    await this.call(msg`remove vectors`, signal, () => this.memory.forget({ tenantId }));
  }

  protected override async insert(
    scope: VectorScope,
    batch: readonly VectorEntry[],
  ): Promise<void> {
    const set = { ...scope, dimension: batch[0]?.vector.length ?? 0 };
    this.assertFits(set, (await this.vectors.countOf(set)) + batch.length);
    await super.insert(scope, batch);
  }

  /** Hits from the cache; undefined if it differs from the rows. */
  private async searchMemory(set: VectorSet, query: VectorQuery): Promise<VectorHit[] | undefined> {
    const [revision, answer] = await Promise.all([
      this.vectors.revision(set),
      this.memory.search({ set, query }),
    ]);
    return answer?.revision === revision ? answer.hits : undefined;
  }

  private async searchUpdated(
    set: VectorSet,
    query: VectorQuery,
    signal: AbortSignal,
  ): Promise<VectorHit[]> {
    const { limitBytes } = this;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // The revision is read before the list, so that a change between them is detected by the next search.
      const revision = await this.vectors.revision(set);
      const list = await this.vectors.list(set);
      this.assertFits(set, list.fragmentIds.length);
      const missing = await this.memory.missing({ set, list });
      const added = await this.read(set, missing, signal);
      const count = list.fragmentIds.length - missing.length + added.fragmentIds.length;
      const hits = await this.memory.update({
        set,
        query,
        revision,
        list,
        added,
        count,
        limitBytes,
      });
      if (hits) return hits;
    }
    throw new VectorStoreError(
      msg`Too many knowledge bases are searched at once for EXACT_VECTOR_MEMORY_MB. Try again in a moment, or ask an administrator to increase it.`,
    );
  }

  private async read(
    set: VectorSet,
    fragmentIds: readonly number[],
    signal: AbortSignal,
  ): Promise<SetVectors> {
    const size = Math.max(1, Math.floor(READ_BYTES / (set.dimension * 4)));
    const all = {
      fragmentIds: new Float64Array(fragmentIds.length),
      stamps: new Float64Array(fragmentIds.length),
      vectors: new Float32Array(fragmentIds.length * set.dimension),
    };
    let count = 0;
    for (let at = 0; at < fragmentIds.length; at += size) {
      signal.throwIfAborted();
      const part = await this.vectors.read(set, fragmentIds.slice(at, at + size));
      all.fragmentIds.set(part.fragmentIds, count);
      all.stamps.set(part.stamps, count);
      all.vectors.set(part.vectors, count * set.dimension);
      count += part.fragmentIds.length;
    }
    return {
      fragmentIds: all.fragmentIds.subarray(0, count),
      stamps: all.stamps.subarray(0, count),
      vectors: all.vectors.subarray(0, count * set.dimension),
    };
  }

  private assertFits({ dimension }: VectorSet, count: number): void {
    const most = Math.floor(this.limitBytes / (dimension * 4));
    if (count <= most) return;
    throw new VectorStoreError(
      msg`A knowledge base can have ${most} fragments of ${dimension} dimensions in the exact vector store. Split it, or ask an administrator to increase EXACT_VECTOR_MEMORY_MB or to set up Qdrant or pgvector.`,
    );
  }
}

const WORKER = fileURLToPath(new URL('./vector-memory.worker.js', import.meta.url));

/**
 * The one thread that keeps vectors in memory and searches them, one task at a time. It starts with the first search.
 * If it fails, the next search starts a new one with an empty memory.
 */
export class MemoryThread {
  private readonly logger = new Logger(MemoryThread.name);
  private pool: Piscina | undefined;

  search(task: SearchTask): Promise<SearchAnswer | undefined> {
    return this.run('search', task) as Promise<SearchAnswer | undefined>;
  }

  missing(task: MissingTask): Promise<number[]> {
    return this.run('missing', task) as Promise<number[]>;
  }

  /** Transfers the added vectors to the thread: they are unusable here afterwards. */
  update(task: UpdateTask): Promise<VectorHit[] | undefined> {
    return this.run('update', task, [task.added.vectors.buffer as ArrayBuffer]) as Promise<
      VectorHit[] | undefined
    >;
  }

  async forget(task: ForgetTask): Promise<void> {
    if (this.pool) await this.run('forget', task);
  }

  async stop(): Promise<void> {
    await this.pool?.destroy();
  }

  private run(name: string, task: object, transferList: ArrayBuffer[] = []): Promise<unknown> {
    this.pool ??= this.start();
    return this.pool.run(task, { name, transferList });
  }

  private start(): Piscina {
    const pool = new Piscina({
      filename: WORKER,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Infinity,
    });
    // A failure between tasks; during a task the task is rejected.
    return pool.on('error', (error: unknown) => {
      this.logger.error({ msg: 'Vector search thread failed', err: error });
    });
  }
}

/** Runs one piece of work per key at a time, in the order of the calls. */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key)?.catch(() => undefined);
    const mine = before ? before.then(work) : work();
    this.last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.last.get(key) === mine) this.last.delete(key);
    }
  }
}
