import type { UpstreamError } from '../../provider/index.js';
import type { RunEnd } from '../store/run-writer.js';
import type { StopReason } from '../protocol/run.state.js';
import type { HarnessRun } from '../store/harness.entity.js';

const GO_ON = 'What was done stays; start a new run to go on.';

/** The end of a run that has used up what it was given; undefined while there is some left. 0 stands for no limit. */
export function budgetEnd(run: HarnessRun, heldMs: number): RunEnd | undefined {
  const { budget } = run;
  const limits: readonly (readonly [StopReason, number, number, string])[] = [
    ['MAX_STEPS', run.iteration, budget.maxIterations, 'turns of the model'],
    ['MAX_TOOL_CALLS', run.toolCalls, budget.maxToolCalls, 'tool calls'],
    ['MAX_TOKENS', run.inputTokens, budget.maxInputTokens, 'tokens read'],
    ['MAX_TOKENS', run.outputTokens, budget.maxOutputTokens, 'tokens written'],
    ['MAX_WALL_TIME', run.activeMs + heldMs, budget.maxWallTimeMillis, 'milliseconds of work'],
  ];
  const reached = limits.find(([, used, limit]) => limit > 0 && used >= limit);
  if (!reached) return undefined;
  const [stopReason, , limit, what] = reached;
  return failed(stopReason, `The run has reached its limit of ${limit} ${what}. ${GO_ON}`);
}

export function loopEnd(kind: string): RunEnd {
  if (kind === 'format' || kind === 'invalid_input') {
    return failed(
      'FORMAT_ERRORS',
      `The model has answered too often in a form that cannot be used. ${GO_ON} Another model may do better.`,
    );
  }
  return failed('LOOP_DETECTED', `The model repeats the same calls without getting on. ${GO_ON}`);
}

export function overflowEnd({ message }: Error): RunEnd {
  return failed('CONTEXT_OVERFLOW', message);
}

/** A service that says no. Its own words are part of the error's message. */
export function refusalEnd({ kind, message }: UpstreamError): RunEnd {
  if (kind === 'authentication') return failed('MODEL_AUTH', message);
  if (kind === 'not-found') return failed('MODEL_NOT_FOUND', message);
  return failed('MODEL_REFUSED', message);
}

function failed(stopReason: StopReason, message: string): RunEnd {
  return { status: 'FAILED', stopReason, error: { code: stopReason, message } };
}
