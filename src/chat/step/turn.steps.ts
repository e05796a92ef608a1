import type { CallResult, DecidedCall } from '../../agent/index.js';
import { readToolCall } from '../../provider/index.js';
import type { ChatMessage, ProviderState, Usage } from '../../provider/index.js';
import { storableText } from '../storable-text.js';
import type { StoredCall, StoredStep } from './step.entity.js';

/** Between the texts that a model writes before and after the calls of tools, in the text of the answer. */
export const BETWEEN_STEPS = '\n\n';

/** What the model reads of a call whose tool did not end. */
export const UNFINISHED_CALL = 'The tool did not finish.';

/** A step of a running turn. */
interface RunningStep extends StoredStep {
  calls: StoredCall[];
  isSaved: boolean;
}

/** What the model wrote in a step before its calls. */
export interface StepAnswer {
  readonly text: string;
  readonly reasoning: string;
  /** Undefined where the provider did not count. */
  readonly usage: Usage | undefined;
  readonly providerState?: ProviderState | undefined;
}

/** The steps of one running turn, and which of them are not stored as they are. */
export class TurnSteps {
  private readonly steps: RunningStep[] = [];

  get all(): readonly StoredStep[] {
    return this.steps;
  }

  /** Those that have changed since they were saved. */
  get unsaved(): readonly StoredStep[] {
    return this.steps.filter(({ isSaved }) => !isSaved);
  }

  add(answer: StepAnswer, calls: readonly DecidedCall[]): void {
    this.steps.push({
      number: this.steps.length + 1,
      text: answer.text,
      reasoning: answer.reasoning === '' ? null : answer.reasoning,
      calls: calls.map((call) => ({
        number: call.number,
        id: storableText(call.id),
        name: storableText(call.name),
        arguments: storableText(call.arguments),
        state: 'running',
        summary: '',
        content: '',
        durationMs: null,
      })),
      providerState: answer.providerState ?? null,
      inputTokens: answer.usage?.inputTokens ?? null,
      outputTokens: answer.usage?.outputTokens ?? null,
      isSaved: false,
    });
  }

  /** Keeps the result of a call. Answers the call with it; undefined when there is no such call that runs. */
  end(result: CallResult): StoredCall | undefined {
    for (const step of this.steps) {
      const index = step.calls.findIndex(({ number }) => number === result.number);
      const call = step.calls[index];
      if (call?.state !== 'running') continue;
      const { state, durationMs } = result;
      const summary = storableText(result.summary);
      const ended = { ...call, state, durationMs, summary, content: storableText(result.content) };
      step.calls[index] = ended;
      step.isSaved = false;
      return ended;
    }
    return undefined;
  }

  /** Ends the calls that still run, because the turn is over. Answers them. */
  stop(): StoredCall[] {
    const running = this.steps.flatMap(({ calls }) => calls.filter(isRunning));
    return running.flatMap(({ number }) => {
      const ended = this.end({ number, ...STOPPED });
      return ended ? [ended] : [];
    });
  }

  /** Saves what has changed, in the order of the steps. */
  async save(store: (step: StoredStep) => Promise<void>): Promise<void> {
    for (const step of this.steps) {
      if (step.isSaved) continue;
      await store(step);
      step.isSaved = true;
    }
  }
}

const STOPPED = {
  state: 'stopped',
  summary: 'The turn ended before the tool did.',
  content: UNFINISHED_CALL,
  durationMs: 0,
} as const;

/** A call of an answer that has ended: one that still ran when its process died was interrupted. */
export function endedCall(call: StoredCall): StoredCall {
  if (!isRunning(call)) return call;
  return { ...call, state: 'interrupted', summary: 'The service stopped before the tool did.' };
}

function isRunning({ state }: StoredCall): boolean {
  return state === 'running';
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
      content: state === 'running' ? UNFINISHED_CALL : content,
    })),
  ];
}

/** The text that the model wrote after the last of the steps; undefined when the text of the answer was edited since. */
export function textAfter(steps: readonly StoredStep[], content: string): string | undefined {
  const before = steps.map(({ text }) => text).filter((text) => text !== '');
  const begin = before.join(BETWEEN_STEPS);
  if (!content.startsWith(begin)) return undefined;
  const rest = content.slice(begin.length);
  return begin !== '' && rest.startsWith(BETWEEN_STEPS) ? rest.slice(BETWEEN_STEPS.length) : rest;
}
