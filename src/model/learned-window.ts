import { Logger } from '@nestjs/common';
import { msg } from '../platform/message/index.js';
import type { ChatMessage, UpstreamError } from '../provider/index.js';
import { estimateMessageTokens } from './model-window.js';

/** Replaces the result of a tool that is no longer sent. */
export const REMOVED_RESULT =
  '[The result was removed, because the conversation is longer than the model can read. Call the tool again, for less, if you need it.]';

/** Share of the estimated tokens that remains after an overflow. */
const KEPT_SHARE = 0.5;

interface Shortening<M> {
  readonly tokensOf: (message: M) => number;
  /** The message with the remark in place of a tool's result; undefined for any other message. */
  readonly shorten: (message: M) => M | undefined;
}

/** The messages with the oldest results of tools shortened until `excess` tokens are saved, or as many as can be. */
export function withoutOldResults<M>(
  messages: readonly M[],
  excess: number,
  { tokensOf, shorten }: Shortening<M>,
): M[] {
  let remainingExcess = excess;
  return messages.map((message) => {
    const short = remainingExcess > 0 ? shorten(message) : undefined;
    const saved = short === undefined ? 0 : tokensOf(message) - tokensOf(short);
    if (short === undefined || saved <= 0) return message;
    remainingExcess -= saved;
    return short;
  });
}

/** The messages of one call, and what happens when they are longer than the window of the model. */
export interface FittedCall {
  /** The messages for the next attempt. */
  readonly messages: readonly ChatMessage[];
  /** See CallOptions.overflow. */
  readonly overflow: (error: UpstreamError) => void;
}

/**
 * Learns the window of a model, which may be unknown or smaller than its record says, from calls that fail. The calls of one turn that follow send
 * no more than half of what was too long then.
 */
export class LearnedWindow {
  private readonly logger = new Logger('Context');
  /** The window in estimated tokens. */
  private limit = Infinity;

  /** A call with these messages, which are shortened once when they are too long. */
  call(messages: readonly ChatMessage[]): FittedCall {
    let current =
      this.limit === Infinity ? messages : (shortened(messages, this.limit) ?? messages);
    let isShortened = false;
    return {
      get messages() {
        return current;
      },
      overflow: (error) => {
        const tokens = tokensOf(current);
        const limit = Math.floor(tokens * KEPT_SHARE);
        const shorter = isShortened ? undefined : shortened(current, limit);
        if (!shorter) throw withAdvice(error);
        this.logger.warn({ msg: 'Conversation shortened after context overflow', tokens, limit });
        isShortened = true;
        this.limit = limit;
        current = shorter;
      },
    };
  }
}

function withAdvice(error: UpstreamError): UpstreamError {
  return error.withMessage(
    msg`${error.message} Nothing more of the conversation can be left out. Start a new conversation, send less at once, or choose a model with a larger context window.`,
  );
}

/**
 * The messages without the oldest exchanges before the last question, and then with a remark in the place of the oldest results of
 * tools, until they take no more tokens; prompts, the last question and each call with its result stay. Undefined when nothing can be
 * left out; more tokens when no more can.
 */
export function shortened(
  messages: readonly ChatMessage[],
  tokens: number,
): ChatMessage[] | undefined {
  let excess = tokensOf(messages) - tokens;
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const remainingMessages: ChatMessage[] = [];
  let isLeftOut = false;
  for (const [at, message] of messages.entries()) {
    const isOfHistory = at < last && message.role !== 'system';
    // An exchange begins with a question: answers go with it.
    if (isOfHistory && message.role === 'user') isLeftOut = excess > 0;
    if (isOfHistory && isLeftOut) excess -= estimateMessageTokens(message);
    else remainingMessages.push(message);
  }
  const fitting = withoutOldResults<ChatMessage>(remainingMessages, excess, {
    tokensOf: (message) => estimateMessageTokens(message),
    shorten: (message) =>
      message.role === 'tool' ? { ...message, content: REMOVED_RESULT } : undefined,
  });
  const isShorter =
    fitting.length < messages.length || fitting.some((one, at) => one !== remainingMessages[at]);
  return isShorter ? fitting : undefined;
}

function tokensOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}
