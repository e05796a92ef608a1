import type { ChatMessage, Usage } from '../provider/index.js';

/** Tokens of one turn. `estimated` is true when the provider did not count. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly estimated: boolean;
}

/**
 * A rough count without the model's own tokenizer: about four characters a token in alphabetic scripts, one
 * character a token in Chinese, Japanese and Korean. Good enough for a history window and for a marked estimate.
 */
export function estimateTokens(text: string): number {
  let wide = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) >= FIRST_WIDE) wide += 1;
  }
  return Math.ceil((text.length - wide) / 4) + wide;
}

/** Start of the CJK radicals; what lies above is mostly one token a character. */
const FIRST_WIDE = 0x2e80;

/** What a message costs beside its text: role and separators. */
const MESSAGE_OVERHEAD = 4;

export function estimateMessageTokens(message: ChatMessage): number {
  const { content } = message;
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return estimateTokens(text) + MESSAGE_OVERHEAD;
}

/** The provider's counts; what it left out is estimated from the texts, and marked so. */
export function turnUsage(
  usage: Usage | undefined,
  sent: readonly ChatMessage[],
  answer: string,
): TurnUsage {
  const inputTokens = usage?.inputTokens;
  const outputTokens = usage?.outputTokens;
  const input =
    inputTokens ?? sent.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
  const output = outputTokens ?? estimateTokens(answer);
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: usage?.totalTokens ?? input + output,
    estimated: inputTokens === undefined || outputTokens === undefined,
  };
}
