import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { CallLimits, RankedDocument } from '../../provider/index.js';
import type { ModelUse } from '../calls/model-use.js';
import { UpstreamCalls } from '../calls/upstream.calls.js';
import { inBatches } from '../in-batches.js';
import type { ResolvedRerankModel } from '../model.resolver.js';

export interface RerankOptions {
  readonly use: ModelUse;
  /** How many documents are wanted back at most. */
  readonly topN: number;
  readonly signal: AbortSignal;
}

const CONNECT_MS = 10_000;
const ATTEMPTS = 2;
/** A caller waits, and a search has results without this call. */
const LONGEST_RETRY_AFTER_MS = 5_000;

/** Orders documents with a rerank model. */
@Injectable()
export class RerankClient {
  private readonly limits: CallLimits;
  private readonly longestText: number;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly calls: UpstreamCalls,
  ) {
    const totalMs = config.RERANK_TIMEOUT_SECONDS * 1_000;
    this.limits = { connectMs: CONNECT_MS, idleMs: totalMs, totalMs };
    this.longestText = config.RERANK_DOCUMENT_CHARACTERS;
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
    const { adapter } = model;
    const failure = new AbortController();
    const either = AbortSignal.any([signal, failure.signal]);
    const question = this.beginningOf(query);
    const texts = documents.map((text) => this.beginningOf(text));
    const batches = inBatches(texts, adapter.maxDocuments);
    try {
      const ranked = await Promise.all(
        batches.map(async (batch, at) => {
          const wanted = Math.min(topN, batch.length);
          const call = { query: question, documents: batch, topN: wanted };
          const found = await this.calls.rerank(model, call, {
            use,
            limits: this.limits,
            signal: either,
            attempts: ATTEMPTS,
            longestRetryAfterMs: LONGEST_RETRY_AFTER_MS,
          });
          return found.map(({ index, score }) => ({
            index: index + at * adapter.maxDocuments,
            score,
          }));
        }),
      );
      return ranked
        .flat()
        .sort((one, other) => other.score - one.score || one.index - other.index)
        .slice(0, topN);
    } catch (error) {
      failure.abort();
      throw error;
    }
  }

  /** At most so many characters, and no half of one. */
  private beginningOf(text: string): string {
    return text.slice(0, this.longestText).replace(/[\uD800-\uDBFF]$/, '');
  }
}
