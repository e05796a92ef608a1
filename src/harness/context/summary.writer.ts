import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { countedCall } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { retryCall, UpstreamError } from '../../provider/index.js';
import { storableText } from '../store/storable.js';
import { countedUsage, tokensOf, writtenIn } from './counted.usage.js';
import type { CountedUsage } from './counted.usage.js';
import type { DataMark } from './data-mark.js';
import type { NoSummary, Summary, SummaryWish } from './fitting.js';
import { plainSummary, summaryRequest } from './summary.text.js';

const CONNECT_MS = 10_000;
const TRIES = 2;
/** Of an answer, as a share of what may be sent, and at most. */
const ANSWER_SHARE = 1 / 10;
const ANSWER_TOKENS = 4_096;
/** Of the request, as a share of what may be sent: estimates differ from what services count. */
const REQUEST_SHARE = 0.6;
/** Characters for each token of the answer that are kept; more than a model writes. */
const CHARACTERS = 6;

export interface SummaryJob {
  readonly model: ResolvedChatModel;
  readonly mark: DataMark;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Has a model summarise what it did. */
@Injectable()
export class SummaryWriter {
  private readonly logger = new Logger('Harness');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  /**
   * A summary by the model, without tools. What it answers is kept as data. A model that has none to give gets a list of
   * its calls instead, and the failure when the service is not to be had now. Fails when the signal does.
   */
  async write(job: SummaryJob, wish: SummaryWish): Promise<Summary | NoSummary> {
    const tokens = Math.min(ANSWER_TOKENS, Math.floor(job.limit * ANSWER_SHARE));
    const characters = tokens * CHARACTERS;
    try {
      const { text, usage } = await this.ask(job, wish, tokens);
      const summary = text.trim() === '' ? plainSummary(wish, characters) : text.trim();
      return { text: storableText(summary.slice(0, characters)), usage };
    } catch (error) {
      job.signal.throwIfAborted();
      if (!(error instanceof UpstreamError)) throw error;
      this.logger.warn({ msg: 'A run could not be summarised', err: error });
      const isRefusal = ['content', 'protocol', 'invalid-request'].includes(error.kind);
      if (!isRefusal) return { failure: error };
      return { text: storableText(plainSummary(wish, characters)) };
    }
  }

  private async ask(
    { model, mark, limit, signal }: SummaryJob,
    wish: SummaryWish,
    maxTokens: number,
  ): Promise<{ readonly text: string; readonly usage: CountedUsage }> {
    const { adapter, connection, modelName, providerCode } = model;
    const messages = summaryRequest(wish, mark, Math.floor(limit * REQUEST_SHARE));
    const options = {
      signal,
      limits: {
        connectMs: CONNECT_MS,
        idleMs: this.config.HARNESS_MODEL_IDLE_SECONDS * 1_000,
        totalMs: this.config.HARNESS_MODEL_TOTAL_SECONDS * 1_000,
      },
    };
    const answer = await retryCall(
      () =>
        countedCall(this.metrics, { provider: providerCode, kind: 'chat' }, () =>
          adapter.complete({ model: modelName, messages, maxTokens }, connection, options),
        ),
      { attempts: TRIES, signal },
    );
    const { text, toolCalls } = answer;
    const written = writtenIn({ text, thinking: answer.reasoning, toolCalls });
    const sentTokens = tokensOf(messages);
    return { text, usage: countedUsage(answer.usage, { sentTokens, written }) };
  }
}
