import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { abortedError, UpstreamError } from '../../provider/index.js';
import type { CallLimits, EmbeddingAnswer, EmbeddingCall } from '../../provider/index.js';
import { DomainError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { ModelUse } from '../calls/attempt.js';
import { UpstreamCalls } from '../calls/upstream.calls.js';
import { inBatches, learnBatchSize, ModelFindings } from '../model.findings.js';
import type { ResolvedEmbeddingModel } from '../model.resolver.js';
import type { Message } from '../../platform/message/index.js';

export interface EmbedOptions {
  readonly use: ModelUse;
  readonly signal: AbortSignal;
  /** A query has a waiting caller: it does not wait for documents, and fails early. */
  readonly purpose: CallPurpose;
  /** Called with the reason when the provider throttles the model, and with undefined when it continues. */
  readonly onWait?: WaitListener;
}

/** Vectors as the service answers them. */
export interface Embedded {
  readonly vectors: readonly Float32Array[];
  /** Input tokens of all calls; undefined where one of them does not report any. */
  readonly inputTokens: number | undefined;
}

/** The parameters that the calls of one `embed` share. */
interface Work {
  readonly use: ModelUse;
  readonly model: ResolvedEmbeddingModel;
  readonly queue: ModelQueue;
  readonly purpose: EmbedOptions['purpose'];
  readonly signal: AbortSignal;
  /** The vectors are answered as they are, in the size that the caller wants. */
  readonly asRequested?: { readonly dimensions: number | undefined };
}

/** The bound exceeds the number of models in use at the same time. */
const QUEUES = 1_000;
/** Texts in one call, where the service allows as many. */
export const EMBEDDING_BATCH = { size: 32 };
const CONNECT_MS = 10_000;
/** The pause when the provider throttles without a Retry-After. */
const DEFAULT_SLOW_DOWN_MS = 1_000;

const TOTAL_MS = 60_000;
/** Maximum concurrent calls for queries and chat, which do not wait for those of documents. */
const MAX_CONCURRENT_QUERIES = 8;
const QUERY_ATTEMPTS = 2;
const DOCUMENT_ATTEMPTS = 5;
const QUERY_MAX_WAIT_MS = 20_000;
const DOCUMENT_MAX_WAIT_MS = 60_000;

/** Embeds texts. All calls of one model in this process share one queue, which honours the provider's throttling. */
@Injectable()
export class EmbeddingClient {
  private readonly queues = new LRUCache<number, ModelQueue>({ max: QUEUES });
  private readonly limits: CallLimits;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly calls: UpstreamCalls,
    private readonly findings: ModelFindings,
  ) {
    this.limits = { connectMs: CONNECT_MS, idleMs: TOTAL_MS, totalMs: TOTAL_MS };
  }

  /** The number of texts per call, as far as the service has not refused as many. */
  batchSizeOf(model: ResolvedEmbeddingModel): number {
    const learned = this.findings.limitOf(model, 'maxInputs') ?? Infinity;
    return Math.min(EMBEDDING_BATCH.size, model.adapter.maxInputs, learned);
  }

  /**
   * One vector of length 1 (L2) a text, in the order of the texts, none of which may be empty. Only a batch that fails
   * is asked for again, in smaller ones where the service refused it as too large; the first one that fails for good ends the others. Every call uses the model's record as it is
   * then. Fails with UpstreamError, EmbeddingDimensionError (before anything is answered), ForbiddenAddressError,
   * InvalidAddressError or, when the model can no longer be called, as the resolver does; a document also with
   * EmbeddingModelChangedError.
   */
  async embed(
    model: ResolvedEmbeddingModel,
    texts: readonly string[],
    { use, signal, purpose, onWait }: EmbedOptions,
  ): Promise<Float32Array[]> {
    const unwatch = onWait && this.queueOf(model).watch(onWait);
    try {
      const answers = await this.callAll(model, texts, { use, signal, purpose });
      return answers.flatMap(({ vectors }) => vectors);
    } finally {
      unwatch?.();
    }
  }

  /**
   * The vectors as the service answers them, for a client that stores them itself. Every service is asked for `dimensions`
   * other than those of the model's record; one that ignores them answers another number. More texts than go out in one
   * call wait as those of a document do, so that no query waits for them. Fails like `embed`, but for the size.
   */
  async embedAsAsked(
    model: ResolvedEmbeddingModel,
    texts: readonly string[],
    {
      use,
      signal,
      dimensions,
    }: Pick<EmbedOptions, 'use' | 'signal'> & { readonly dimensions?: number },
  ): Promise<Embedded> {
    const answers = await this.callAll(model, texts, {
      use,
      signal,
      purpose: texts.length > this.batchSizeOf(model) ? 'document' : 'query',
      asRequested: { dimensions },
    });
    const counts = answers.map(({ usage }) => usage?.inputTokens ?? usage?.totalTokens);
    return {
      vectors: answers.flatMap(({ vectors }) => vectors),
      inputTokens: counts.reduce(
        (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
        0,
      ),
    };
  }

  private async callAll(
    model: ResolvedEmbeddingModel,
    texts: readonly string[],
    { signal, ...settings }: Pick<Work, 'use' | 'signal' | 'purpose' | 'asRequested'>,
  ): Promise<readonly EmbeddingAnswer[]> {
    const failure = new AbortController();
    const work = {
      model,
      queue: this.queueOf(model),
      ...settings,
      signal: AbortSignal.any([signal, failure.signal]),
    };
    try {
      return await this.embedAll(work, texts, this.batchSizeOf(model));
    } catch (error) {
      failure.abort();
      throw signal.aborted ? abortedError() : error;
    }
  }

  private async embedAll(
    work: Work,
    texts: readonly string[],
    size: number,
  ): Promise<readonly EmbeddingAnswer[]> {
    const batches = inBatches(texts, size);
    const answers = await Promise.all(batches.map((inputs) => this.embedDivided(work, inputs)));
    return answers.flat();
  }

  /** A batch, in several calls where the service has a lower limit than is known when it is made. */
  private async embedDivided(
    work: Work,
    inputs: readonly string[],
  ): Promise<readonly EmbeddingAnswer[]> {
    try {
      return [await this.embedBatch(work, inputs)];
    } catch (error) {
      const size = await learnBatchSize(this.findings, work.model, error, inputs.length);
      if (size === undefined || work.signal.aborted) throw error;
      return this.embedAll(work, inputs, size);
    }
  }

  private queueOf({ id }: ResolvedEmbeddingModel): ModelQueue {
    const existing = this.queues.get(id);
    if (existing) return existing;
    const document = this.config.EMBEDDING_CONCURRENCY;
    const queue = new ModelQueue({ document, query: MAX_CONCURRENT_QUERIES });
    this.queues.set(id, queue);
    return queue;
  }

  private async embedBatch(work: Work, inputs: readonly string[]): Promise<EmbeddingAnswer> {
    const { use, model: requested, queue, purpose, signal, asRequested } = work;
    const isQuery = purpose === 'query';
    const queued = { purpose, signal, ...(isQuery && { maxWaitMs: QUERY_MAX_WAIT_MS }) };
    let model = requested;
    const callOf = (now: ResolvedEmbeddingModel): Omit<EmbeddingCall, 'model'> => {
      // Vectors of two models cannot be compared, so a document or a long request has those of one model.
      if (purpose === 'document' && !isFallback(requested, now) && !isSameSpace(requested, now)) {
        throw new EmbeddingModelChangedError(requested.modelName);
      }
      model = now;
      const { modelDimension: dimensions } = now;
      const wanted = asRequested?.dimensions;
      if (wanted !== undefined && wanted !== dimensions) return { inputs, shortenedTo: wanted };
      return { inputs, ...(dimensions !== undefined && { dimensions }) };
    };
    const answer = await this.calls.embed(requested, callOf, {
      use,
      limits: this.limits,
      signal,
      attempts: isQuery ? QUERY_ATTEMPTS : DOCUMENT_ATTEMPTS,
      maxRetryAfterMs: isQuery ? QUERY_MAX_WAIT_MS : DOCUMENT_MAX_WAIT_MS,
      // The batch gives up its place to others between two attempts.
      within: (attempt) =>
        queue.run(() => (hasChoice(requested) ? attempt() : slowedBy(queue, attempt)), queued),
    });
    if (asRequested) return answer;
    return { ...answer, vectors: answer.vectors.map((vector) => checked(vector, model)) };
  }
}

/** Tells the queue when the service throttles. */
async function slowedBy<T>(queue: ModelQueue, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (isThrottling(error)) queue.slowDown(error.retryAfterMs ?? DEFAULT_SLOW_DOWN_MS);
    throw error;
  }
}

/** A call that can go to another key or model does not wait for the one that throttles. */
function hasChoice({ variants, fallbackIds }: ResolvedEmbeddingModel): boolean {
  return variants !== undefined || fallbackIds !== undefined;
}

/** UpstreamCalls goes only to fallbacks that are the same model at another address. */
function isFallback(requested: ResolvedEmbeddingModel, now: ResolvedEmbeddingModel): boolean {
  return requested.id !== now.id;
}

/** Whether two models answer comparable vectors. */
function isSameSpace(one: ResolvedEmbeddingModel, other: ResolvedEmbeddingModel): boolean {
  return (
    one.modelName === other.modelName &&
    one.providerCode === other.providerCode &&
    one.modelDimension === other.modelDimension &&
    one.connection.address === other.connection.address
  );
}

function checked(vector: Float32Array, { modelName, modelDimension }: ResolvedEmbeddingModel) {
  if (vector.length !== modelDimension) {
    throw new EmbeddingDimensionError(modelName, modelDimension, vector.length);
  }
  return toUnitVector(vector);
}

function isThrottling(error: unknown): error is UpstreamError {
  return (
    error instanceof UpstreamError &&
    (error.kind === 'rate-limit' || error.retryAfterMs !== undefined)
  );
}

/** The record was changed so that its vectors may be others than those that the document, or the request, has already. */
export class EmbeddingModelChangedError extends DomainError {
  readonly code = 409;

  constructor(modelName: string) {
    super(
      msg`The embedding model ${modelName} was changed while it embedded texts whose vectors belong together. Embed all of them again: parse the document again, or repeat the request.`,
    );
  }
}

/** The model answers vectors of another size than its record says. Nothing of them may be stored. */
export class EmbeddingDimensionError extends DomainError {
  readonly code = 500;

  constructor(modelName: string, declared: number | undefined, dimension: number) {
    super(
      msg`The model ${modelName} answers ${dimension} dimensions, but its modelDimension is ${declared ?? msg`empty`}. Set modelDimension of this model to ${dimension}, or choose another model.`,
      { data: { modelDimension: declared ?? null, dimension } },
    );
  }
}

/** Scales a vector to length 1 (L2) in place. Throws UpstreamError for one of zeros, which has no direction. */
function toUnitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) {
    throw new UpstreamError({
      kind: 'content',
      message: msg`The provider answered a vector of zeros, which cannot be compared with others. Check that modelName is the id of an embedding model.`,
    });
  }
  const length = Math.sqrt(squares);
  for (let at = 0; at < vector.length; at++) vector[at] = (vector[at] ?? 0) / length;
  return vector;
}

/** Called with the reason for which calls wait, and with undefined when they continue. */
export type WaitListener = (reason: Message | undefined) => void;

/** A query has a waiting caller; a document may take as long as it takes. */
export type CallPurpose = 'query' | 'document';

export interface QueuedCall {
  readonly purpose: CallPurpose;
  readonly signal: AbortSignal;
  /** Longest wait in the queue; without it the call waits as long as it takes. */
  readonly maxWaitMs?: number;
}

const THROTTLED = msg`throttled by the provider`;
/** A longer Retry-After is cut to this. */
const MAX_SLOW_DOWN_MS = 60_000;

/**
 * Runs the calls of one model in this process: limited concurrency, and none while the provider throttles the model.
 * Queries have places of their own, so that none waits for the call of a document, however long that takes.
 */
export class ModelQueue {
  private readonly queues: Readonly<Record<CallPurpose, PQueue>>;
  private readonly listeners = new Map<WaitListener, number>();
  private slowUntil = 0;
  private resuming: NodeJS.Timeout | undefined;

  /** The number of concurrent calls of each purpose. */
  constructor(places: Readonly<Record<CallPurpose, number>>) {
    this.queues = {
      query: new PQueue({ concurrency: places.query }),
      document: new PQueue({ concurrency: places.document }),
    };
  }

  /** Runs the call. Fails with UpstreamError (rate-limit) after maxWaitMs in the queue, or with the signal's reason. */
  async run<T>(call: () => Promise<T>, { purpose, signal, maxWaitMs }: QueuedCall): Promise<T> {
    const queue = this.queues[purpose];
    if (maxWaitMs === undefined) return queue.add(call, { signal });
    if (this.slowUntil - performance.now() > maxWaitMs) throw busyError();
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(busyError()), maxWaitMs);
    const start = (): Promise<T> => {
      clearTimeout(timer);
      return call();
    };
    try {
      const either = AbortSignal.any([signal, timeout.signal]);
      return await queue.add(start, { signal: either });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Blocks the start of calls for this time. */
  slowDown(milliseconds: number): void {
    const wait = Math.min(MAX_SLOW_DOWN_MS, milliseconds);
    const until = performance.now() + wait;
    if (until <= this.slowUntil) return;
    this.slowUntil = until;
    for (const queue of Object.values(this.queues)) queue.pause();
    if (this.resuming === undefined) this.notify(THROTTLED);
    clearTimeout(this.resuming);
    // The waiting calls have timers of their own that keep the process alive.
    this.resuming = setTimeout(() => this.resume(), wait).unref();
  }

  /** Registers the listener until the returned function is called. One registered several times is called once. */
  watch(listener: WaitListener): () => void {
    const times = this.listeners.get(listener) ?? 0;
    this.listeners.set(listener, times + 1);
    if (times === 0 && this.resuming) listener(THROTTLED);
    return () => this.unwatch(listener);
  }

  private unwatch(listener: WaitListener): void {
    const times = this.listeners.get(listener) ?? 0;
    if (times > 1) {
      this.listeners.set(listener, times - 1);
      return;
    }
    this.listeners.delete(listener);
    if (this.resuming) listener(undefined);
  }

  private resume(): void {
    this.resuming = undefined;
    this.slowUntil = 0;
    this.notify(undefined);
    for (const queue of Object.values(this.queues)) queue.start();
  }

  private notify(reason: Message | undefined): void {
    for (const listener of this.listeners.keys()) listener(reason);
  }
}

function busyError(): UpstreamError {
  return new UpstreamError({
    kind: 'rate-limit',
    message: msg`The provider throttles this embedding model at the moment. Try again in a moment, or raise the limit there.`,
  });
}
