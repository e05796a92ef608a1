import { estimateMessageTokens, estimateTokens } from '../../model/index.js';
import type { ChatMessage, ToolCall, Usage } from '../../provider/index.js';

/** Usage of a model call, always with numbers: the limits hold also for a service that reports none. */
export interface CountedUsage extends Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** At least one of the numbers is an estimate, because the service has not reported it. */
  readonly estimated: boolean;
}

interface Written {
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
}

/** What the service has reported, with estimates for what it has not; no request is empty, so 0 is no report. */
export function countedUsage(
  reported: Usage | undefined,
  call: Written & { readonly sentTokens: number },
): CountedUsage {
  const input = reported?.inputTokens ?? 0;
  const output = reported?.outputTokens ?? 0;
  const inputTokens = input > 0 ? input : call.sentTokens;
  const outputTokens = output > 0 ? output : estimateTokens(writtenIn(call));
  const estimated = inputTokens !== input || outputTokens !== output;
  return { raw: undefined, ...reported, inputTokens, outputTokens, estimated };
}

/** Everything that a model has written, to estimate its tokens. */
export function writtenIn({ text, thinking, toolCalls }: Written): string {
  const calls = toolCalls.map((call) => call.name + call.arguments);
  return [thinking, text, ...calls].join('');
}

export function tokensOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0);
}
