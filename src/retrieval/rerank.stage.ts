import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { DomainError, InvalidInputError } from '../platform/error/index.js';
import { ModelResolver, RerankClient } from '../model/index.js';
import { withReason } from './candidates.js';
import type { RetrievalSettings, RetrievedFragment } from './retrieval.js';

export interface Ranking {
  readonly state: 'applied' | 'fallback';
  readonly kept: readonly RetrievedFragment[];
  readonly dropped: readonly RetrievedFragment[];
  /** Why the order before the reranker is used. */
  readonly notice?: string;
}

interface RerankRequest {
  readonly caller: Pick<Caller, 'tenantId' | 'revision'>;
  readonly query: string;
  readonly settings: RetrievalSettings;
  readonly signal: AbortSignal;
}

/** Reranks candidates with a model. If the model fails, the order before it is kept. */
@Injectable()
export class RerankStage {
  private readonly logger = new Logger('Retrieval');

  constructor(
    private readonly models: ModelResolver,
    private readonly reranker: RerankClient,
  ) {}

  /** Orders by the model's score, drops scores below the saved rerank threshold, and cuts to the limit. */
  async rank(candidates: readonly RetrievedFragment[], request: RerankRequest): Promise<Ranking> {
    const { caller, query, settings, signal } = request;
    try {
      if (settings.rerankModel === '') throw new NoRerankModelError();
      const model = await this.models.resolveRerank(caller, settings.rerankModel);
      const documents = candidates.map(({ content }) => content);
      // Every candidate is scored, for the explanation and the threshold.
      const ranked = await this.reranker.rerank(model, query, documents, {
        topN: documents.length,
        signal,
      });
      return this.applied(candidates, ranked, settings);
    } catch (error) {
      if (signal.aborted) throw error;
      return this.fallback(candidates, settings, error);
    }
  }

  private applied(
    candidates: readonly RetrievedFragment[],
    ranked: readonly { readonly index: number; readonly score: number }[],
    { limit, rerankScoreThreshold }: RetrievalSettings,
  ): Ranking {
    const kept: RetrievedFragment[] = [];
    const dropped: RetrievedFragment[] = [];
    const left = new Map(candidates.entries());
    for (const [place, { index, score }] of ranked.entries()) {
      const candidate = left.get(index);
      if (!candidate) continue;
      left.delete(index);
      const fragment = scored(candidate, { score, index, rank: place + 1 });
      if (rerankScoreThreshold !== undefined && score < rerankScoreThreshold) {
        dropped.push(
          withReason(fragment, `rerank score below the threshold ${rerankScoreThreshold}`),
        );
      } else if (kept.length >= limit) {
        dropped.push(withReason(fragment, `beyond the first ${limit}`));
      } else kept.push(fragment);
    }
    for (const candidate of left.values()) {
      dropped.push(withReason(candidate, 'left out by the rerank model'));
    }
    return { state: 'applied', kept, dropped };
  }

  /** The rerank threshold is on the reranker's scale, so it does not apply here. */
  private fallback(
    candidates: readonly RetrievedFragment[],
    { limit }: RetrievalSettings,
    error: unknown,
  ): Ranking {
    this.logger.warn({ msg: 'Reranking failed', err: error });
    const reason = error instanceof DomainError ? error.message : 'The log has the reason.';
    return {
      state: 'fallback',
      kept: candidates.slice(0, limit),
      dropped: candidates.slice(limit).map((one) => withReason(one, `beyond the first ${limit}`)),
      notice: `Reranking failed, so the order before it is shown. ${reason}`,
    };
  }
}

class NoRerankModelError extends InvalidInputError {
  constructor() {
    super('Reranking is on, but no rerank model is chosen. Choose a model of category rerank.');
  }
}

function scored(
  candidate: RetrievedFragment,
  { score, index, rank }: { readonly score: number; readonly index: number; readonly rank: number },
): RetrievedFragment {
  return {
    ...candidate,
    score,
    rawScore: candidate.score,
    originalIndex: index,
    explanation: { ...candidate.explanation, rerank: { rank, score } },
  };
}
