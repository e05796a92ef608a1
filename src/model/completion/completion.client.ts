import { Injectable } from '@nestjs/common';
import type { ChatCall, ChatCompletion } from '../../provider/index.js';
import type { ModelUse } from '../calls/attempt.js';
import { UpstreamCalls } from '../calls/upstream.calls.js';
import { estimateMessagesTokens, estimateTokens } from '../model-window.js';
import type { ResolvedChatModel } from '../model.resolver.js';

export interface CompletionOptions {
  readonly use: ModelUse;
  readonly signal: AbortSignal;
  /** Timeout of one attempt. */
  readonly timeoutMs: number;
}

/** An answer with its cost. */
export interface CountedCompletion {
  readonly text: string;
  readonly finish: ChatCompletion['finish'];
  /** Tokens as the service reports them, or estimated. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const CONNECT_MS = 10_000;
const ATTEMPTS = 3;
/** The work is in the background. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Asks chat models for one answer each, for work in the background. Chats stream their answers instead. */
@Injectable()
export class CompletionClient {
  constructor(private readonly calls: UpstreamCalls) {}

  /**
   * The answer of the model as its record is now. A call that fails in a way that may pass is repeated. Fails with
   * UpstreamError, ForbiddenAddressError, InvalidAddressError or, when the model can no longer be called, as the resolver
   * does.
   */
  async complete(
    model: ResolvedChatModel,
    call: Omit<ChatCall, 'model'>,
    { use, signal, timeoutMs }: CompletionOptions,
  ): Promise<CountedCompletion> {
    const { text, finish, usage } = await this.calls.complete(model, () => call, {
      use,
      limits: { connectMs: CONNECT_MS, idleMs: timeoutMs, totalMs: timeoutMs },
      signal,
      attempts: ATTEMPTS,
      maxRetryAfterMs: MAX_RETRY_AFTER_MS,
    });
    return {
      text,
      finish,
      inputTokens: usage?.inputTokens ?? estimateMessagesTokens(call.messages),
      outputTokens: usage?.outputTokens ?? estimateTokens(text),
    };
  }
}
