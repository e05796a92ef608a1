/** The owner of vectors: every read and write is limited to it. */
export interface VectorScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
}

export interface VectorEntry {
  readonly fragmentId: number;
  readonly attachmentId: number;
  /** Of length 1 (L2). */
  readonly vector: Float32Array;
}

export interface VectorQuery {
  /** Of length 1 (L2). */
  readonly vector: Float32Array;
  readonly limit: number;
  /** Hits below this cosine similarity are left out. 0 admits everything, also negative similarities. */
  readonly threshold: number;
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
 * Every method rejects with VectorStoreError, whose message may be shown to users, or with the reason of the aborted
 * signal; an aborted change may still be applied.
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

  /** How many vectors there are of the base, or of one document of it. */
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
}
