import { setImmediate as nextTurn } from 'node:timers/promises';

/** A few milliseconds of work for each caller. */
const CHUNK_COUNT = 1_000;

/**
 * Yields the list in chunks and lets the process do other work between them, so that a list of any length does not block it.
 * Imports no package: the sandbox probe runs from a copy of src/harness without node_modules.
 */
export async function* yieldingChunks<T>(
  list: readonly T[],
  size = CHUNK_COUNT,
): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < list.length; at += size) {
    if (at > 0) await nextTurn();
    yield list.slice(at, at + size);
  }
}
