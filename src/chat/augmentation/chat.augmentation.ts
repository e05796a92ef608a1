import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ChatMessage } from '../../provider/index.js';
import { RetrievalService } from '../../retrieval/index.js';
import type { RetrievedFragment } from '../../retrieval/index.js';
import { augmentedQuestion } from './augmented-question.js';
import { chooseSources } from './sources.js';
import type { Source } from './sources.js';
import { StandaloneQuestion } from './standalone-question.js';

/** The input of the augmentation of a question. */
export interface AugmentationInput {
  readonly question: string;
  readonly bases: readonly KnowledgeBase[];
  /** The conversation before it, oldest first. */
  readonly history: readonly ChatMessage[];
  readonly model: ResolvedChatModel;
  /** Limit of the retrieved text in characters. */
  readonly room: number;
  readonly signal: AbortSignal;
}

export interface Augmented {
  /** The question for the model. */
  readonly question: string;
  readonly sources: readonly Source[];
  /** Retrieval failed, so the question has no fragments. */
  readonly fallback: boolean;
}

/** The fields by which operators find these lines (docs/WIRE.md, Chat). */
const FALLBACK = { module: 'chat_rag', operation: 'AUGMENT', status: 'FALLBACK' } as const;

/** Adds retrieved fragments to a question. A failure never ends the turn. */
@Injectable()
export class ChatAugmentation {
  private readonly logger = new Logger('Chat');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly retrieval: RetrievalService,
    private readonly standalone: StandaloneQuestion,
  ) {}

  /**
   * Searches all bases in parallel, each with its own settings. A base that fails is left out; if all fail, the question
   * is unchanged. Rejects only when the signal aborts.
   */
  async augment(caller: Caller, at: AugmentationInput): Promise<Augmented> {
    try {
      const query = await this.standalone.of(at.question, at.history, at);
      const results = await this.search(caller, query, at);
      const sources = chooseSources(results, {
        pieces: this.config.CHAT_RETRIEVED_PIECES,
        characters: Math.min(this.config.CHAT_RETRIEVED_CHARACTERS, at.room),
      });
      return { question: augmentedQuestion(at.question, sources), sources, fallback: false };
    } catch (error) {
      at.signal.throwIfAborted();
      const msg = 'Chat retrieval failed';
      this.logger.warn({ msg, ...FALLBACK, err: error });
      return { question: at.question, sources: [], fallback: true };
    }
  }

  private async search(
    caller: Caller,
    query: string,
    { bases, signal }: AugmentationInput,
  ): Promise<(readonly RetrievedFragment[])[]> {
    const outcomes = await Promise.allSettled(
      bases.map((knowledge) => this.retrieval.retrieve({ caller, knowledge, query, signal })),
    );
    const failures = outcomes.flatMap((outcome, index) =>
      outcome.status === 'rejected'
        ? [{ knowledgeId: bases[index]?.id, reason: outcome.reason as unknown }]
        : [],
    );
    if (failures.length === outcomes.length && failures[0]) throw failures[0].reason;
    for (const { knowledgeId, reason } of failures) {
      const msg = 'Failed to search a knowledge base';
      this.logger.warn({ msg, ...FALLBACK, status: 'PARTIAL', knowledgeId, err: reason });
    }
    return outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value.fragments] : [],
    );
  }
}
