import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const file = fileURLToPath(new URL('durations.json', import.meta.url));

/** A shorter file may run at any time without the others waiting for it at the end. */
const WORTH_KEEPING_SECONDS = 4;

/** The seconds of long test files in the last full run that was measured, by place and path. */
export const durations = JSON.parse(readFileSync(file, 'utf8'));

/**
 * The longest first, so that no process is left alone with one of them at the end. Among those that are not measured the
 * largest file is first.
 */
export function longestFirst(tests) {
  const weighed = tests.map((test) => ({
    test,
    seconds: durations[keyOf(test)] ?? 0,
    bytes: statSync(test.path).size,
  }));
  return weighed
    .sort((one, other) => other.seconds - one.seconds || other.bytes - one.bytes)
    .map(({ test }) => test);
}

/** Keeps what the run has measured, and nothing of files that it did not run. */
export function writeDurations(measured) {
  const kept = measured
    .map(({ test, milliseconds }) => [keyOf(test), Math.round(milliseconds / 1_000)])
    .filter(([, seconds]) => seconds >= WORTH_KEEPING_SECONDS)
    .sort(([one, a], [other, b]) => b - a || one.localeCompare(other));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}

/** Writes the seconds of processor time of all test files to a file, those that take most of it first. */
export function writeCpu(target, measured) {
  const seconds = measured
    .map(({ test, cpuSeconds }) => [keyOf(test), Number(cpuSeconds.toFixed(2))])
    .sort(([, a], [, b]) => b - a);
  writeFileSync(target, `${JSON.stringify(Object.fromEntries(seconds), null, 2)}\n`);
}

/** A contract suite runs in two places. */
function keyOf({ path, context: { config } }) {
  return `${config.displayName.name}: ${relative(root, path)}`;
}
