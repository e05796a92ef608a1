import { jest } from '@jest/globals';
import { ChatAdapterRegistry } from '../../src/provider/index.js';
import type { ChatCall, ChatPart, ProviderState, ToolCall } from '../../src/provider/index.js';
import type { Plinth } from './plinth.js';

type Step = readonly ChatPart[] | Error;

/**
 * Answers the streamed calls of a provider's models with the parts of a script, in the place of the adapter, for what lies above the
 * adapters. A call without a step fails.
 */
export class ScriptedAdapter {
  /** What the models were called with. */
  readonly calls: ChatCall[] = [];
  private readonly steps: Step[] = [];
  private readonly spy: { mockRestore(): void };

  constructor(plinth: Plinth, providerCode: string) {
    const adapter = plinth.app.get(ChatAdapterRegistry).get(providerCode);
    this.spy = jest.spyOn(adapter, 'stream').mockImplementation((call) => this.answer(call));
  }

  then(...steps: Step[]): void {
    this.steps.push(...steps);
  }

  close(): void {
    this.spy.mockRestore();
  }

  private async *answer(call: ChatCall): AsyncGenerator<readonly ChatPart[]> {
    this.calls.push(call);
    const step = this.steps.shift() ?? new Error('The script has no further step.');
    if (step instanceof Error) throw step;
    yield await Promise.resolve(step);
  }
}

export function answering(text: string): ChatPart[] {
  return [
    { type: 'text-delta', text },
    { type: 'finish', reason: 'stop' },
  ];
}

/** An answer of these calls, with what its service wants back. */
export function callingTools(
  toolCalls: readonly ToolCall[],
  { thinking, state }: { readonly thinking?: string; readonly state?: ProviderState } = {},
): ChatPart[] {
  return [
    ...(thinking === undefined ? [] : [{ type: 'reasoning-delta', text: thinking } as const]),
    ...toolCalls.map((toolCall) => ({ type: 'tool-call', toolCall }) as const),
    ...(state ? [{ type: 'provider-state', providerState: state } as const] : []),
    { type: 'finish', reason: 'tool-calls' },
  ];
}
