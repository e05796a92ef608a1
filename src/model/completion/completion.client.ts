import { Injectable } from '@nestjs/common';
import { Metrics } from '../../platform/observability/index.js';
import { retryCall } from '../../provider/index.js';
import type { ChatCall, ChatCompletion } from '../../provider/index.js';
import { countedCall } from '../counted.call.js';
import { estimateMessageTokens, estimateTokens } from '../model-window.js';
import { ModelResolver } from '../model.resolver.js';
import type { ResolvedChatModel } from '../model.resolver.js';

export interface CompletionOptions {
  readonly signal: AbortSignal;
  /** Of one attempt. */
  readonly timeoutMs: number;
}

/** An answer with its cost. */
export interface CountedCompletion {
  readonly text: string;
  readonly finish: ChatCompletion['finish'];
  /** As the service reports them, or estimated. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const CONNECT_MS = 10_000;
const ATTEMPTS = 3;
/** The work is in the background. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Asks chat models for one answer each, for work in the background. Chats stream their answers instead. */
@Injectable()
export class CompletionClient {
  constructor(
    private readonly metrics: Metrics,
    private readonly models: ModelResolver,
  ) {}

  /**
   * The answer of the model as its record is now. A call that fails in a way that may pass is repeated. Fails with
   * UpstreamError, ForbiddenAddressError, InvalidAddressError or, when the model can no longer be called, as the resolver
   * does.
   */
  async complete(
    model: ResolvedChatModel,
    call: Omit<ChatCall, 'model'>,
    { signal, timeoutMs }: CompletionOptions,
  ): Promise<CountedCompletion> {
    const limits = { connectMs: CONNECT_MS, idleMs: timeoutMs, totalMs: timeoutMs };
    const { text, finish, usage } = await retryCall(
      async () => {
        const { adapter, modelName, connection, providerCode } = await this.models.current(model);
        return countedCall(this.metrics, { provider: providerCode, kind: 'chat' }, () =>
          adapter.complete({ ...call, model: modelName }, connection, { limits, signal }),
        );
      },
      { attempts: ATTEMPTS, longestRetryAfterMs: LONGEST_RETRY_AFTER_MS, signal },
    );
    const sent = call.messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
    return {
      text,
      finish,
      inputTokens: usage?.inputTokens ?? sent,
      outputTokens: usage?.outputTokens ?? estimateTokens(text),
    };
  }
}
