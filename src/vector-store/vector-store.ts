import { Injectable, Logger } from '@nestjs/common';
import type { Message } from '../platform/message/index.js';
import { Database, isUnavailable } from '../platform/database/index.js';
import { unlessAborted } from '../platform/dependency/index.js';
import { DomainError, InvalidInputError, UnavailableError } from '../platform/error/index.js';
import { english, msg } from '../platform/message/index.js';
import { TenantLifecycle } from '../platform/access/index.js';

/** The owner of vectors: every read and write is limited to it. */
export interface VectorScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
}

export interface VectorEntry {
  readonly fragmentId: number;
  readonly attachmentId: number;
  /** Vector of L2 length 1. */
  readonly vector: Float32Array;
}

export interface VectorQuery {
  /** Query vector of L2 length 1. */
  readonly vector: Float32Array;
  readonly limit: number;
  /** Restricts the search to these fragments; absent: the whole scope. */
  readonly fragmentIds?: readonly number[] | undefined;
  /** Restricts the search to fragments of these documents; absent: the whole scope. */
  readonly attachmentIds?: readonly number[] | undefined;
}

export interface VectorHit {
  readonly fragmentId: number;
  /** Cosine similarity, -1 to 1. */
  readonly score: number;
}

/**
 * The vectors of fragments. Fragment ids are unique in the installation, and a fragment has one vector: adding another
 * one, of any dimension, replaces it. Entries of several dimensions may coexist; a search sees those of its query's
 * dimension. Filtering by scope loses no hit. Removing missing vectors is not an error.
 *
 * Every method rejects with VectorStoreError, whose message may be shown to users, with UnavailableError while the store
 * is away, or with the reason of the aborted signal; an aborted change may still be applied.
 */
export abstract class VectorStore {
  /** The value of vectorModel that selects this store. */
  abstract readonly code: string;

  /** Adds or replaces. When it resolves, a search finds them; when it rejects, any part of them may be stored. */
  abstract upsert(
    scope: VectorScope,
    entries: readonly VectorEntry[],
    signal: AbortSignal,
  ): Promise<void>;

  /** The nearest first; equal scores by fragment id. */
  abstract search(
    scope: VectorScope,
    query: VectorQuery,
    signal: AbortSignal,
  ): Promise<VectorHit[]>;

  abstract removeFragments(
    scope: VectorScope,
    fragmentIds: readonly number[],
    signal: AbortSignal,
  ): Promise<void>;

  /** Removes all vectors of a document and asserts that none is left. */
  abstract removeAttachment(
    scope: VectorScope,
    attachmentId: number,
    signal: AbortSignal,
  ): Promise<void>;

  /** Removes all vectors of a knowledge base and asserts that none is left. */
  abstract removeKnowledge(scope: VectorScope, signal: AbortSignal): Promise<void>;

  /** Removes all vectors of a tenant and asserts that none is left. */
  abstract removeTenant(tenantId: string, signal: AbortSignal): Promise<void>;

  /** Number of vectors of the base, or of one document of it. */
  abstract count(
    scope: VectorScope,
    attachmentId: number | undefined,
    signal: AbortSignal,
  ): Promise<number>;

  /** Every scope with vectors, with their number; for the reconciliation with the records. */
  abstract scopes(signal: AbortSignal): Promise<(VectorScope & { readonly count: number })[]>;

  /** Fragment ids of the base in ascending order, after the given one; for the reconciliation. */
  abstract fragmentIds(
    scope: VectorScope,
    page: { readonly after: number; readonly limit: number },
    signal: AbortSignal,
  ): Promise<number[]>;

  /** Builds what searches of large bases need, and removes what they need no more. Takes minutes; called in the background. */
  async maintain(): Promise<void> {
    // Most stores need nothing.
  }

  /**
   * Runs one call. An aborted signal rejects it at once with the signal's reason, although a running statement may still
   * finish; any other failure is logged and becomes a VectorStoreError, except for an outage.
   */
  protected async call<T>(
    action: Message,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const store = this.code;
    try {
      return await unlessAborted(signal, work);
    } catch (error) {
      signal.throwIfAborted();
      // The error is that of the store, or of the database that contains the store. Its change of state is logged.
      if (isUnavailable(error)) throw error;
      if (!(error instanceof VectorStoreError) || error.cause !== undefined) {
        logger.warn({
          msg: 'Vector store call failed',
          store,
          action: english(action),
          err: error,
        });
      }
      if (error instanceof VectorStoreError) throw error;
      throw new VectorStoreError(
        msg`The vector store ${store} failed to ${action}. Try again in a moment. If it fails again, ask an administrator to check the log.`,
        { cause: error },
      );
    }
  }
}

/** A failed call of a vector store. The message may be shown to users; the cause is in the log. */
export class VectorStoreError extends DomainError {
  readonly code = 500;
}

const logger = new Logger('VectorStore');

/** Asserts that a removal was complete, because a remaining vector would stay searchable. */
export function assertNoneLeft(count: number): void {
  if (count === 0) return;
  throw new VectorStoreError(
    msg`${count} vectors remain after the removal, because some were added at the same time. Delete again.`,
  );
}

interface BatchLimits {
  readonly entries: number;
  /** Vector elements per batch; a single entry may exceed it. */
  readonly numbers: number;
}

/**
 * The entries in batches for statements and requests: each fragment once (the last entry wins), ordered by fragment id,
 * grouped by dimension.
 */
export function batchesOf(entries: readonly VectorEntry[], limits: BatchLimits): VectorEntry[][] {
  const last = new Map(entries.map((entry) => [entry.fragmentId, entry]));
  const byDimension = Map.groupBy(
    [...last.values()].sort((a, b) => a.fragmentId - b.fragmentId),
    ({ vector }) => vector.length,
  );
  return [...byDimension].flatMap(([dimension, all]) => {
    const fitting = Math.floor(limits.numbers / Math.max(1, dimension));
    const size = Math.max(1, Math.min(limits.entries, fitting));
    const count = Math.ceil(all.length / size);
    return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size));
  });
}

/** The vectors of a knowledge base are in a store that this installation does not run any more. */
export class AbsentStoreError extends UnavailableError {
  constructor(code: string) {
    super(
      msg`The vector store`,
      undefined,
      msg`The vectors of this knowledge base are in the vector store ${code}, which this installation does not run. Ask an administrator to set it up again, or save the base with reindex: true.`,
    );
  }
}

/** Placeholder for a store that holds vectors and does not run here: every call rejects with AbsentStoreError. */
export class AbsentVectorStore extends VectorStore {
  constructor(override readonly code: string) {
    super();
  }

  override readonly upsert = () => this.refuse();
  override readonly search = () => this.refuse();
  override readonly removeFragments = () => this.refuse();
  override readonly removeAttachment = () => this.refuse();
  override readonly removeKnowledge = () => this.refuse();
  override readonly removeTenant = () => this.refuse();
  override readonly count = () => this.refuse();
  override readonly scopes = () => this.refuse();
  override readonly fragmentIds = () => this.refuse();

  private refuse(): Promise<never> {
    return Promise.reject(new AbsentStoreError(this.code));
  }
}

/** Accepted values of vectorModel: the stores that exist, and those that existing clients send (docs/WIRE.md). */
const KNOWN_CODES = ['weaviate', 'milvus', 'qdrant', 'pgvector', 'exact'];

/** Value that the form of existing consoles selects by default; it does not express a choice of the user. */
const CONSOLE_DEFAULT = 'weaviate';

/** Store properties of a knowledge base. */
export interface StoreOfBase {
  /** Store code as entered. */
  readonly vectorModel: string;
  /** Code of the store that holds its vectors; null before the first ones. */
  readonly vectorStore: string | null;
}

/** The vector stores that run in this installation. */
export class VectorStores {
  /** The first one is the default. */
  constructor(private readonly stores: readonly [VectorStore, ...VectorStore[]]) {}

  /**
   * The store that holds the vectors of the base, also after QDRANT_URL was set or removed; where it does not run here, each
   * call rejects with UnavailableError. Before the first vectors: the one that will hold them.
   */
  of({ vectorModel, vectorStore }: StoreOfBase): VectorStore {
    if (vectorStore === null) return this.configured(vectorModel);
    return this.running(vectorStore) ?? new AbsentVectorStore(vectorStore);
  }

  /** The store for new vectors of a base with this vectorModel: the one of that code if it runs here, else the default. */
  configured(vectorModel: string): VectorStore {
    return this.running(vectorModel) ?? this.default();
  }

  default(): VectorStore {
    return this.stores[0];
  }

  all(): readonly VectorStore[] {
    return this.stores;
  }

  /**
   * Checks the vectorModel of a knowledge base before it is saved. Returns a notice for the answer's `msg` when the
   * default store is used instead of one that was chosen. InvalidInputError for an unknown value.
   */
  check(vectorModel: string): { notice?: Message } {
    const requestedCode = codeOf(vectorModel);
    if (this.running(requestedCode) || requestedCode === CONSOLE_DEFAULT) return {};
    const { code } = this.default();
    if (requestedCode === '')
      return { notice: msg`No vector store was chosen: ${code} serves it.` };
    if (KNOWN_CODES.includes(requestedCode)) {
      return { notice: msg`This installation does not run ${requestedCode}: ${code} serves it.` };
    }
    throw new InvalidInputError(
      msg`vectorModel must be one of ${KNOWN_CODES.join(', ')}, or empty.`,
    );
  }

  /** The store of this code; undefined when it does not run here. */
  withCode(code: string): VectorStore | undefined {
    return this.running(code);
  }

  private running(vectorModel: string): VectorStore | undefined {
    return this.stores.find(({ code }) => code === codeOf(vectorModel));
  }
}

function codeOf(vectorModel: string): string {
  return vectorModel.trim().toLowerCase();
}

/** Time limit for the deletion of a tenant from one store. */
const LIMIT_MS = 60_000;

/** Removes the vectors of a deleted tenant, also from stores without foreign keys. */
@Injectable()
export class VectorErasure {
  private readonly logger = new Logger(VectorErasure.name);

  constructor(
    private readonly stores: VectorStores,
    private readonly database: Database,
    lifecycle: TenantLifecycle,
  ) {
    lifecycle.join({
      deleting: (tenantId) => this.database.afterCommit(() => this.erase(tenantId)),
    });
  }

  private async erase(tenantId: string): Promise<void> {
    for (const store of this.stores.all()) {
      await store
        .removeTenant(tenantId, AbortSignal.timeout(LIMIT_MS))
        .catch((error: unknown) => this.logFailure(store.code, tenantId, error));
    }
  }

  private logFailure(store: string, tenantId: string, error: unknown): void {
    this.logger.error({
      msg: 'Failed to remove the vectors of a deleted tenant; the next reconciliation retries',
      store,
      tenantId,
      err: error,
    });
  }
}
