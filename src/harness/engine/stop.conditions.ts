import type { UpstreamError } from '../../provider/index.js';
import type { StopReason } from '../protocol/run.state.js';
import type { PastCall } from '../store/effect.repository.js';
import type { RunEnd } from '../store/run.ledger.js';
import type { HarnessRun } from '../store/harness.entity.js';

const NEW_RUN = 'Changes made so far are kept; start a new run to continue.';

export function failedEnd(stopReason: StopReason, message: string): RunEnd {
  return { status: 'FAILED', stopReason, error: { code: stopReason, message } };
}

/** The end of a run that has used up its budget; undefined while some is left. A limit of 0 is no limit. */
export function budgetEnd(run: HarnessRun, heldMs: number): RunEnd | undefined {
  const { budget } = run;
  const limits: readonly (readonly [StopReason, number, number, string])[] = [
    ['MAX_STEPS', run.iteration, budget.maxIterations, 'model calls'],
    ['MAX_TOOL_CALLS', run.toolCalls, budget.maxToolCalls, 'tool calls'],
    ['MAX_TOKENS', run.inputTokens, budget.maxInputTokens, 'input tokens'],
    ['MAX_TOKENS', run.outputTokens, budget.maxOutputTokens, 'output tokens'],
    ['MAX_WALL_TIME', run.activeMs + heldMs, budget.maxWallTimeMillis, 'milliseconds of work'],
  ];
  const reached = limits.find(([, used, limit]) => limit > 0 && used >= limit);
  if (!reached) return undefined;
  const [stopReason, , limit, what] = reached;
  return failedEnd(stopReason, `The run has reached its limit of ${limit} ${what}. ${NEW_RUN}`);
}

/** The end of a run whose model makes no progress; `kind` is that of a LoopFinding, or `format`. */
export function loopEnd(kind: string): RunEnd {
  if (kind === 'format' || kind === 'invalid_input') {
    return failedEnd(
      'FORMAT_ERRORS',
      `The model gave too many answers in a row that cannot be used. ${NEW_RUN} Another model may do better.`,
    );
  }
  return failedEnd(
    'LOOP_DETECTED',
    `The model repeats the same calls without progress. ${NEW_RUN}`,
  );
}

/** The end of a run whose model service refuses the request. The service's own words are part of the message. */
export function refusalEnd({ kind, message }: UpstreamError): RunEnd {
  if (kind === 'authentication') return failedEnd('MODEL_AUTH', message);
  if (kind === 'not-found') return failedEnd('MODEL_NOT_FOUND', message);
  return failedEnd('MODEL_REFUSED', message);
}

export interface LoopFinding {
  readonly kind: 'identical_call' | 'alternating_calls' | 'invalid_input';
  readonly count: number;
  /** The count at which the run is stopped. */
  readonly limit: number;
}

export interface LoopVerdict {
  readonly warning?: LoopFinding;
  readonly stop?: LoopFinding;
}

const IDENTICAL = { warn: 3, stop: 5 } as const;
const ALTERNATING_PAIRS = { warn: 4, stop: 6 } as const;
const INVALID = { warn: 3, stop: 5 } as const;

/** How many past calls `loopVerdict` needs. */
export const LOOP_WINDOW = 60;

/**
 * Whether a model loops: the same call repeated, two calls alternating, or arguments that are never valid. Another call
 * in between, such as a change of a file, makes the same call a new one: tests are run again. `calls` are settled ones,
 * the oldest first.
 */
export function loopVerdict(calls: readonly PastCall[]): LoopVerdict {
  const findings = [
    judged('identical_call', identical(calls), IDENTICAL),
    judged('alternating_calls', alternating(calls), ALTERNATING_PAIRS),
    judged('invalid_input', invalid(calls), INVALID),
  ];
  const stop = findings.find((one) => one?.stop)?.stop;
  if (stop) return { stop };
  return findings.find((one) => one?.warning) ?? {};
}

function judged(
  kind: LoopFinding['kind'],
  count: number,
  { warn, stop }: { readonly warn: number; readonly stop: number },
): LoopVerdict | undefined {
  const finding = { kind, count, limit: stop };
  if (count >= stop) return { stop: finding };
  return count >= warn ? { warning: finding } : undefined;
}

/** How many of the last calls are the same. */
function identical(calls: readonly PastCall[]): number {
  const last = calls.at(-1);
  if (!last) return 0;
  const other = calls.findLastIndex((call) => !isSame(call, last));
  return calls.length - 1 - other;
}

/** How many pairs A-B the calls end with. */
function alternating(calls: readonly PastCall[]): number {
  const [a, b] = calls.slice(-2);
  if (!a || !b || isSame(a, b)) return 0;
  let pairs = 0;
  for (let end = calls.length; end >= 2; end -= 2) {
    const [first, second] = calls.slice(end - 2, end);
    if (!first || !second || !isSame(first, a) || !isSame(second, b)) break;
    pairs += 1;
  }
  return pairs;
}

/** How many of the last calls in a row had invalid arguments. */
function invalid(calls: readonly PastCall[]): number {
  const valid = calls.findLastIndex(({ state }) => state !== 'INVALID');
  return calls.length - 1 - valid;
}

function isSame(one: PastCall, other: PastCall): boolean {
  return one.toolName === other.toolName && one.argumentsSha256 === other.argumentsSha256;
}
