import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { abortedError, retryCall, UpstreamError } from '../../provider/index.js';
import type { CallLimits } from '../../provider/index.js';
import { inBatches } from '../batches.js';
import { countedCall } from '../counted.call.js';
import type { ResolvedEmbeddingModel } from '../model.resolver.js';
import { EmbeddingDimensionError } from './embedding.errors.js';
import { ModelLane } from './model.lane.js';
import type { WaitListener } from './model.lane.js';
import { toUnitVector } from './unit-vector.js';

export interface EmbedOptions {
  readonly signal: AbortSignal;
  /** Somebody waits for a query: it goes before documents, and gives up early. */
  readonly purpose: 'query' | 'document';
  /** Told that the provider throttles the model, and undefined when it goes on. */
  readonly onWait?: WaitListener;
}

/** What the calls of one `embed` share. */
interface Work {
  readonly model: ResolvedEmbeddingModel;
  readonly lane: ModelLane;
  readonly purpose: EmbedOptions['purpose'];
  readonly signal: AbortSignal;
}

/** More models than are used at the same time. */
const LANES = 1_000;
const CONNECT_MS = 10_000;
/** When the provider says that it is too much, but not until when. */
const UNSAID_SLOW_DOWN_MS = 1_000;

const QUERY_ATTEMPTS = 2;
const QUERY_PATIENCE_MS = 20_000;
const DOCUMENT_PATIENCE_MS = 60_000;

/** Turns texts into vectors, gently: what all callers of this process ask of one model goes through one lane. */
@Injectable()
export class ModelEmbedder {
  private readonly lanes = new LRUCache<number, ModelLane>({ max: LANES });
  private readonly limits: CallLimits;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly metrics: Metrics,
  ) {
    const totalMs = config.EMBEDDING_TIMEOUT_SECONDS * 1_000;
    this.limits = { connectMs: CONNECT_MS, idleMs: totalMs, totalMs };
  }

  /** How many texts go out in one call. */
  batchSizeOf(model: ResolvedEmbeddingModel): number {
    return Math.min(this.config.EMBEDDING_BATCH_SIZE, model.adapter.maxInputs);
  }

  /**
   * One vector of length 1 (L2) a text, in the order of the texts, none of which may be empty. Only a batch that fails
   * is asked for again; the first one that fails for good ends the others. Fails with UpstreamError,
   * EmbeddingDimensionError (before anything is answered), ForbiddenAddressError or InvalidAddressError.
   */
  async embed(
    model: ResolvedEmbeddingModel,
    texts: readonly string[],
    { signal, purpose, onWait }: EmbedOptions,
  ): Promise<Float32Array[]> {
    const lane = this.laneOf(model);
    const failure = new AbortController();
    const work = { model, lane, purpose, signal: AbortSignal.any([signal, failure.signal]) };
    const unwatch = onWait && lane.watch(onWait);
    try {
      const batches = inBatches(texts, this.batchSizeOf(model));
      return (await Promise.all(batches.map((inputs) => this.embedBatch(work, inputs)))).flat();
    } catch (error) {
      failure.abort();
      throw signal.aborted ? abortedError() : error;
    } finally {
      unwatch?.();
    }
  }

  private laneOf({ id }: ResolvedEmbeddingModel): ModelLane {
    const known = this.lanes.get(id);
    if (known) return known;
    const lane = new ModelLane(this.config.EMBEDDING_CONCURRENCY);
    this.lanes.set(id, lane);
    return lane;
  }

  private async embedBatch(work: Work, inputs: readonly string[]): Promise<Float32Array[]> {
    const { lane, signal } = work;
    const isQuery = work.purpose === 'query';
    // Between two tries the batch gives its place in the lane away, so that a query need not wait for it.
    const turn = isQuery
      ? { priority: 1, signal, patienceMs: QUERY_PATIENCE_MS }
      : { priority: 0, signal };
    return retryCall(() => lane.run(() => this.call(work, inputs), turn), {
      attempts: isQuery ? QUERY_ATTEMPTS : this.config.EMBEDDING_ATTEMPTS,
      longestRetryAfterMs: isQuery ? QUERY_PATIENCE_MS : DOCUMENT_PATIENCE_MS,
      signal,
    });
  }

  private async call(
    { model, lane, signal }: Work,
    inputs: readonly string[],
  ): Promise<Float32Array[]> {
    const { adapter, modelName, modelDimension, connection, providerCode } = model;
    const call = { model: modelName, inputs, dimensions: modelDimension };
    const counted = { provider: providerCode, kind: 'embedding' } as const;
    try {
      const { vectors } = await countedCall(this.metrics, counted, () =>
        adapter.embed(call, connection, { limits: this.limits, signal }),
      );
      return vectors.map((vector) => checked(vector, model));
    } catch (error) {
      if (isThrottling(error)) lane.slowDown(error.retryAfterMs ?? UNSAID_SLOW_DOWN_MS);
      throw error;
    }
  }
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
