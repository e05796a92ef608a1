import { estimateMessageTokens, estimateTokens } from '../../model/index.js';
import type { ChatMessage, ToolCall, Usage } from '../../provider/index.js';

/** What a call of a model took. Never without numbers: a service that counts nothing must not be free of limits. */
export interface CountedUsage extends Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** At least one of the numbers is ours, because the service has not said it. */
  readonly estimated: boolean;
}

/** What the service has counted, and where it has not (no request is empty, so 0 is no count), an estimate. */
export function countedUsage(
  reported: Usage | undefined,
  { sentTokens, written }: { readonly sentTokens: number; readonly written: string },
): CountedUsage {
  const input = reported?.inputTokens ?? 0;
  const output = reported?.outputTokens ?? 0;
  const inputTokens = input > 0 ? input : sentTokens;
  const outputTokens = output > 0 ? output : estimateTokens(written);
  const estimated = inputTokens !== input || outputTokens !== output;
  return { raw: undefined, ...reported, inputTokens, outputTokens, estimated };
}

/** Everything that a model has written, for an estimate of its tokens. */
export function writtenIn({
  text,
  thinking,
  toolCalls,
}: {
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
}): string {
  const calls = toolCalls.map((call) => call.name + call.arguments);
  return [thinking, text, ...calls].join('');
}

export function tokensOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}
