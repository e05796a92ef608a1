import { Injectable } from '@nestjs/common';
import type { CallLimits, RankedDocument } from '../../provider/index.js';
import type { ModelUse } from '../calls/attempt.js';
import { UpstreamCalls } from '../calls/upstream.calls.js';
import { inBatches, learnBatchSize, ModelFindings } from '../model.findings.js';
import type { ResolvedRerankModel } from '../model.resolver.js';

export interface RerankOptions {
  readonly use: ModelUse;
  /** The maximum number of documents to return. */
  readonly topN: number;
  readonly signal: AbortSignal;
}

/** The parameters that the calls of one `rerank` share. */
interface Work {
  readonly model: ResolvedRerankModel;
  readonly use: ModelUse;
  readonly query: string;
  readonly topN: number;
  readonly signal: AbortSignal;
}

const CONNECT_MS = 10_000;
const TOTAL_MS = 30_000;
const ATTEMPTS = 2;
/** Longer queries and documents are cut. */
const MAX_TEXT_CHARS = 4_000;
/** A caller waits, and a search has results without this call. */
const MAX_RETRY_AFTER_MS = 5_000;

/** Orders documents with a rerank model. */
@Injectable()
export class RerankClient {
  private readonly limits: CallLimits;

  constructor(
    private readonly calls: UpstreamCalls,
    private readonly findings: ModelFindings,
  ) {
    this.limits = { connectMs: CONNECT_MS, idleMs: TOTAL_MS, totalMs: TOTAL_MS };
  }

  /**
   * The documents by relevance to the query, best first. Longer texts are truncated; more documents than the
   * service takes in one call are sent in several, whose scores are compared. A document that the service left out is
   * missing. Fails with UpstreamError, ForbiddenAddressError or InvalidAddressError.
   */
  async rerank(
    model: ResolvedRerankModel,
    query: string,
    documents: readonly string[],
    { use, topN, signal }: RerankOptions,
  ): Promise<readonly RankedDocument[]> {
    const failure = new AbortController();
    const work = {
      model,
      use,
      topN,
      signal: AbortSignal.any([signal, failure.signal]),
      query: this.beginningOf(query),
    };
    const texts = documents.map((text) => this.beginningOf(text));
    const size = Math.min(
      model.adapter.maxDocuments,
      this.findings.limitOf(model, 'maxInputs') ?? Infinity,
    );
    try {
      const ranked = await this.rankAll(work, texts, size);
      return ranked
        .toSorted((one, other) => other.score - one.score || one.index - other.index)
        .slice(0, topN);
    } catch (error) {
      failure.abort();
      throw error;
    }
  }

  /** Ranks the documents in calls of at most the batch size, with their places in the whole list. */
  private async rankAll(
    work: Work,
    texts: readonly string[],
    size: number,
  ): Promise<RankedDocument[]> {
    const batches = inBatches(texts, size);
    const ranked = await Promise.all(
      batches.map(async (batch, at) => {
        const ranked = await this.rankBatch(work, batch);
        return ranked.map(({ index, score }) => ({ index: index + at * size, score }));
      }),
    );
    return ranked.flat();
  }

  /** Ranks a batch in one call, or in several where the service turns out to have a lower limit. */
  private async rankBatch(
    work: Work,
    documents: readonly string[],
  ): Promise<readonly RankedDocument[]> {
    const { model, use, query, topN, signal } = work;
    try {
      const call = { query, documents, topN: Math.min(topN, documents.length) };
      return await this.calls.rerank(model, call, {
        use,
        limits: this.limits,
        signal,
        attempts: ATTEMPTS,
        maxRetryAfterMs: MAX_RETRY_AFTER_MS,
      });
    } catch (error) {
      const size = await learnBatchSize(this.findings, model, error, documents.length);
      if (size === undefined || signal.aborted) throw error;
      return this.rankAll(work, documents, size);
    }
  }

  /** Cuts the text to the number of characters, never inside a surrogate pair. */
  private beginningOf(text: string): string {
    return text.slice(0, MAX_TEXT_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  }
}
