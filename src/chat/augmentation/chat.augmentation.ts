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

/** What is known of a turn when its question is to be augmented. */
export interface QuestionAtHand {
  readonly question: string;
  readonly bases: readonly KnowledgeBase[];
  /** The conversation before it, oldest first. */
  readonly history: readonly ChatMessage[];
  readonly model: ResolvedChatModel;
  /** Characters that the retrieved text may take of the model's window. */
  readonly room: number;
  readonly signal: AbortSignal;
}

export interface Augmented {
  /** What the model is asked. */
  readonly question: string;
  readonly sources: readonly Source[];
  /** Nothing could be retrieved, so the question stands alone. */
  readonly fallback: boolean;
}

/** The fields by which operators find these lines (specification, Chat). */
const FALLBACK = { module: 'chat_rag', operation: 'AUGMENT', status: 'FALLBACK' } as const;

/** Adds to a question what the knowledge bases know about it. Its own failure never ends a turn. */
@Injectable()
export class ChatAugmentation {
  private readonly logger = new Logger('Chat');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly retrieval: RetrievalService,
    private readonly standalone: StandaloneQuestion,
  ) {}

  /**
   * Searches all the bases at once, each by its own settings; one that fails is left out, and if all of them fail the
   * question stays as it was asked. Rejects only when the signal fires.
   */
  async augment(caller: Caller, at: QuestionAtHand): Promise<Augmented> {
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
      const msg = 'Retrieval failed; the question is asked without it';
      this.logger.warn({ msg, ...FALLBACK, err: error });
      return { question: at.question, sources: [], fallback: true };
    }
  }

  private async search(
    caller: Caller,
    query: string,
    { bases, signal }: QuestionAtHand,
  ): Promise<(readonly RetrievedFragment[])[]> {
    const outcomes = await Promise.allSettled(
      bases.map((knowledge) =>
        this.retrieval.retrieve({ asker: caller, knowledge, query, signal }),
      ),
    );
    const failures = outcomes.flatMap((outcome, index) =>
      outcome.status === 'rejected'
        ? [{ knowledgeId: bases[index]?.id, reason: outcome.reason as unknown }]
        : [],
    );
    if (failures.length === outcomes.length && failures[0]) throw failures[0].reason;
    for (const { knowledgeId, reason } of failures) {
      const msg = 'A knowledge base could not be searched and is left out';
      this.logger.warn({ msg, ...FALLBACK, status: 'PARTIAL', knowledgeId, err: reason });
    }
    return outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value.fragments] : [],
    );
  }
}
