import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The rest of a test must have time, too: jest waits for three minutes. */
const LIMIT_MS = 90_000;
const [STOP, SWAPS] = [0, 1];

export interface Swapped {
  readonly path: string;
  /** Of the link. */
  readonly target: string;
}

/** What must have come about before it is enough. */
export interface Enough {
  readonly calls: number;
  readonly swaps: number;
  /** Each of them once or more. */
  readonly outcomes: readonly string[];
}

/**
 * Calls again and again while a thread of its own swaps, as fast as it can, what has the path with a link to the target: it
 * is moved aside, the link put in its place, and back. Begins after the first swap, and leaves the first thing in its place.
 * Answers how often the calls had which outcome; throws when that is not enough after 90 seconds.
 */
export async function whileSwapped(
  swapped: Swapped,
  enough: Enough,
  call: (turn: number) => Promise<string>,
): Promise<ReadonlyMap<string, number>> {
  const state = new Int32Array(new SharedArrayBuffer(8));
  const thread = new Worker(SWAP, { eval: true, workerData: { ...swapped, state } });
  const ended = once(thread, 'exit');
  const seen = new Map<string, number>();
  const isEnough = (turn: number): boolean =>
    turn >= enough.calls &&
    Atomics.load(state, SWAPS) >= enough.swaps &&
    enough.outcomes.every((outcome) => seen.has(outcome));
  let turn = 0;
  try {
    await Promise.race([once(thread, 'message'), ended]);
    for (const end = Date.now() + LIMIT_MS; !isEnough(turn) && Date.now() < end; turn += 1) {
      const outcome = await call(turn);
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
  } finally {
    Atomics.store(state, STOP, 1);
    await ended;
  }
  if (isEnough(turn)) return seen;
  const swaps = Atomics.load(state, SWAPS);
  const found = JSON.stringify(Object.fromEntries(seen));
  throw new Error(`Only ${turn} calls and ${swaps} swaps, or not every outcome: ${found}.`);
}

/**
 * In between, whoever writes there may have made something with the path, and whoever has made a folder in vain removes
 * the one that stands there when it is empty.
 */
const SWAP = `
  const { lstatSync, mkdirSync, renameSync, rmSync, symlinkSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  const { path, target, state } = workerData;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  const isFolder = lstatSync(path).isDirectory();
  const insisting = (step) => {
    for (;;) {
      try {
        return step();
      } catch (error) {
        if (!['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR'].includes(error.code)) throw error;
        rmSync(path, { recursive: true, force: true, maxRetries: 50, retryDelay: 1 });
      }
    }
  };
  for (let count = 0; Atomics.load(state, ${STOP}) === 0; count += 1) {
    try {
      renameSync(path, path + '-aside');
    } catch (error) {
      if (error.code !== 'ENOENT' || !isFolder) throw error;
      mkdirSync(path + '-aside');
    }
    insisting(() => symlinkSync(target, path));
    // Not always the same time in either state.
    Atomics.wait(clock, 0, 0, (count % 4) / 4);
    rmSync(path, { recursive: true, force: true, maxRetries: 50, retryDelay: 1 });
    insisting(() => renameSync(path + '-aside', path));
    Atomics.wait(clock, 0, 0, (count % 3) / 3);
    Atomics.add(state, ${SWAPS}, 1);
    if (count === 0) parentPort.postMessage('ready');
  }
`;
