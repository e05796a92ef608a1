import { Logger } from '@nestjs/common';
import type { Phrase } from '../platform/message/index.js';
import { isUnavailable } from '../platform/database/index.js';
import { unlessAborted } from '../platform/dependency/index.js';
import { DomainError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

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

  /**
   * Runs one call. An aborted signal rejects it at once with the signal's reason, although a running statement may still
   * finish; any other failure is logged and becomes a VectorStoreError, except for an outage.
   */
  protected async call<T>(action: Phrase, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const store = this.code;
    try {
      return await unlessAborted(signal, work);
    } catch (error) {
      signal.throwIfAborted();
      // The error is that of the store, or of the database that contains the store. Its change of state is logged.
      if (isUnavailable(error)) throw error;
      if (!(error instanceof VectorStoreError) || error.cause !== undefined) {
        logger.warn({ msg: 'Vector store call failed', store, action, err: error });
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
