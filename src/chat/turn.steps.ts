import { readToolCall } from '../provider/index.js';
import type { ChatMessage } from '../provider/index.js';
import { UNKNOWN_OUTCOME } from '../agent/index.js';
import type { Effect } from '../effect/index.js';
import type { StoredCall, StoredStep } from './message.entity.js';

/** Separates the texts that a model writes before and after the calls of tools, in the text of the answer. */
export const BETWEEN_STEPS = '\n\n';

/** Result text of an interrupted tool call. */
export const UNFINISHED_CALL = 'The tool did not finish.';

/** Result text of a call about which no person has decided. */
const UNDECIDED_CALL = 'No person has agreed to this call, so it was not executed.';

/** A call of an answer that has ended: one that still ran when its process died was interrupted. */
export function endedCall(call: StoredCall): StoredCall {
  if (call.state !== 'running') return call;
  return { ...call, state: 'interrupted', summary: 'The service stopped before the tool did.' };
}

/** A step as the messages that the model gets: its answer with the calls, and a result for each of them. */
export function stepMessages(step: StoredStep): ChatMessage[] {
  const { providerState } = step;
  const toolCalls = step.calls.map(readToolCall);
  return [
    { role: 'assistant', content: step.text, toolCalls, ...(providerState && { providerState }) },
    ...step.calls.map(({ id, name, content, state }): ChatMessage => ({
      role: 'tool',
      toolCallId: id,
      name,
      content: contentOf(state, content),
    })),
  ];
}

function contentOf(state: StoredCall['state'], content: string): string {
  if (state === 'waiting') return UNDECIDED_CALL;
  return state === 'running' ? UNFINISHED_CALL : content;
}

/** The call as the ledger knows it: a crash, or a person's finding, changes only the ledger. */
export function settledCall(call: StoredCall, effect: Effect | undefined): StoredCall {
  if (!effect) return call;
  const { state, resolution, result } = effect;
  if (resolution) {
    const content = result ?? '';
    const isExecuted = resolution === 'EXECUTED';
    return { ...call, state: isExecuted ? 'done' : 'failed', summary: FOUND[resolution], content };
  }
  switch (state) {
    case 'PREPARED':
      return call;
    case 'STARTED':
    case 'UNCERTAIN': {
      const content = `The service was interrupted. ${UNKNOWN_OUTCOME}`;
      return { ...call, state: 'uncertain', summary: UNKNOWN, content };
    }
    case 'SUCCEEDED':
      return { ...call, state: 'done', content: result ?? '' };
    case 'NOT_EXECUTED':
      return {
        ...call,
        state: 'interrupted',
        summary: FOUND.NOT_EXECUTED,
        content: FOUND.NOT_EXECUTED,
      };
    default:
      return { ...call, state: 'failed', content: result ?? UNFINISHED_CALL };
  }
}

const UNKNOWN = 'It is not known whether it was executed';
const FOUND = { EXECUTED: 'It was executed', NOT_EXECUTED: 'It was not executed' } as const;

/** The text that the model wrote after the last of the steps; undefined when the text of the answer was edited since. */
export function textAfter(steps: readonly StoredStep[], content: string): string | undefined {
  const before = steps.map(({ text }) => text).filter((text) => text !== '');
  const begin = before.join(BETWEEN_STEPS);
  if (!content.startsWith(begin)) return undefined;
  const rest = content.slice(begin.length);
  return begin !== '' && rest.startsWith(BETWEEN_STEPS) ? rest.slice(BETWEEN_STEPS.length) : rest;
}
