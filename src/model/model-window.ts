import { Logger } from '@nestjs/common';
import type { ChatMessage, UpstreamError } from '../provider/index.js';
import { msg } from '../platform/message/index.js';

/** Context window assumed where a model's record has none. */
const ASSUMED_WINDOW = 32_768;

/** Tokens reserved for the answer where neither the request nor the model limits it. */
const ASSUMED_ANSWER = 4_096;

/** Start of the CJK radicals; what lies above is mostly one token a character. */
const FIRST_WIDE = 0x2e80;

/**
 * Tokens counted per image. Services count by pixels, which would take decoding it: Anthropic scales to at most about 1,600
 * tokens, OpenAI to at most about 1,500, and most photos come near that.
 */
export const IMAGE_TOKENS = 1_600;

/** Tokens of a message beside its text: role and separators. */
const MESSAGE_OVERHEAD = 4;

export interface WindowFacts {
  readonly contextWindow?: number | undefined;
  /** Longest answer, in tokens. */
  readonly maxAnswer?: number | undefined;
}

/** Tokens of a model's window that may be sent to it: the window without the reserve for its answer, at most half. */
export function sendableTokens({ contextWindow, maxAnswer }: WindowFacts): number {
  const window = contextWindow ?? ASSUMED_WINDOW;
  return window - Math.min(maxAnswer ?? ASSUMED_ANSWER, Math.floor(window / 2));
}

/**
 * A rough count without the model's own tokenizer: about four characters a token in alphabetic scripts, one
 * character a token in Chinese, Japanese and Korean. For usage that a service did not report, and for runs of the harness, which
 * correct it by what the service counts. What must fit a window is counted by a TokenCounter.
 */
export function estimateTokens(text: string): number {
  const wide = wideCharactersIn(text);
  return tokensOfCharacters(text.length - wide, wide);
}

/** Characters of the text that are mostly one token each. */
export function wideCharactersIn(text: string): number {
  // Counting bytes is much faster than looking at every character, and most texts have one byte each.
  if (Buffer.byteLength(text) === text.length) return 0;
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) >= FIRST_WIDE) wide += 1;
  }
  return wide;
}

/** The same count for given numbers of characters of each kind. */
export function tokensOfCharacters(narrow: number, wide: number): number {
  return Math.ceil(narrow / 4) + wide;
}

/** The same for a message with the tool calls and images in it, by any count of texts. */
export function estimateMessageTokens(
  message: ChatMessage,
  count: (text: string) => number = estimateTokens,
): number {
  const { content } = message;
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  const images =
    typeof content === 'string' ? 0 : content.filter(({ type }) => type !== 'text').length;
  const tokens = count(text) + images * IMAGE_TOKENS + MESSAGE_OVERHEAD;
  if (message.role !== 'assistant') return tokens;
  const { toolCalls = [], providerState } = message;
  return toolCalls.reduce(
    (sum, call) => sum + count(call.name + call.arguments) + MESSAGE_OVERHEAD,
    tokens + (providerState ? count(JSON.stringify(providerState.data)) : 0),
  );
}

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
        const tokens = estimateMessagesTokens(current);
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
    msg`${error.userMessage} Nothing more of the conversation can be left out. Start a new conversation, send less at once, or choose a model with a larger context window.`,
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
  let excess = estimateMessagesTokens(messages) - tokens;
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

/** Estimated tokens of the messages together. */
export function estimateMessagesTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}
