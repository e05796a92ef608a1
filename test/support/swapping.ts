import { Worker } from 'node:worker_threads';

/**
 * Swaps, as fast as it can and in a thread of its own, what has the path with a link to the target: it is moved aside, the
 * link put in its place, and back. Answers how to stop it, which leaves the first thing in its place and tells how often
 * it was swapped.
 */
export function swapWithLink(path: string, target: string): () => Promise<number> {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(SWAP, { eval: true, workerData: { path, target, stop } });
  const swaps = new Promise<number>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
  return async () => {
    Atomics.store(stop, 0, 1);
    const count = await swaps;
    await thread.terminate();
    return count;
  };
}

/** In between, whoever writes there may have made something with the path. */
const SWAP = `
  const { renameSync, rmSync, symlinkSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  const { path, target, stop } = workerData;
  const clock = new Int32Array(new SharedArrayBuffer(4));
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
  let count = 0;
  while (Atomics.load(stop, 0) === 0) {
    renameSync(path, path + '-aside');
    insisting(() => symlinkSync(target, path));
    // Not always the same time in either state.
    Atomics.wait(clock, 0, 0, (count % 4) / 4);
    rmSync(path, { recursive: true, force: true, maxRetries: 50, retryDelay: 1 });
    insisting(() => renameSync(path + '-aside', path));
    Atomics.wait(clock, 0, 0, (count % 3) / 3);
    count += 1;
  }
  parentPort.postMessage(count);
`;
