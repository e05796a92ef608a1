import type { PastCall } from '../store/effect.repository.js';

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

/** So many calls of the past are looked at. */
export const LOOKED_BACK = 60;

/**
 * Whether a run goes round in circles (harness design, 7.9): the same call again and again, two calls in
 * turns, or arguments that are never right. Another call in between, such as a change of a file, makes the same call a
 * new one: tests are run again. `calls` are settled ones, the oldest first.
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

/** How many of the last calls are one and the same. */
function identical(calls: readonly PastCall[]): number {
  const last = calls.at(-1);
  if (!last) return 0;
  const other = calls.findLastIndex((call) => !isSame(call, last));
  return calls.length - 1 - other;
}

/** How many pairs A-B the end is made of. */
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
  const good = calls.findLastIndex(({ state }) => state !== 'INVALID');
  return calls.length - 1 - good;
}

function isSame(one: PastCall, other: PastCall): boolean {
  return one.toolName === other.toolName && one.argumentsSha256 === other.argumentsSha256;
}
