import { estimateMessageTokens, estimateTokens } from '../model/index.js';
import type { ChatMessage, Usage } from '../provider/index.js';

/** Tokens of one turn. `estimated` is true when the provider did not count. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly estimated: boolean;
}

/** The provider's counts; missing ones are estimated from the texts and marked as estimated. */
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
