import type { ChatMessage } from '../provider/index.js';

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
