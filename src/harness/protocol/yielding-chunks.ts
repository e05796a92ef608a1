import { setImmediate as nextTurn } from 'node:timers/promises';

/** A few milliseconds of work for each caller. */
const CHUNK_COUNT = 1_000;

/**
 * The list in chunks. The process does other work between two of them, so that a list of any length does not block it. Without a
 * package of its own: the probe of sandboxes runs from a copy of this folder alone.
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
