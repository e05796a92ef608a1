import { setImmediate as nextTurn } from 'node:timers/promises';

/** So many entries take a few milliseconds. */
const PIECE = 1_000;

/**
 * The list in pieces. Between two of them the process does what else there is to do, so that a list of any length does not
 * block it.
 */
export async function* inTurns<T>(list: readonly T[], piece = PIECE): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < list.length; at += piece) {
    if (at > 0) await nextTurn();
    yield list.slice(at, at + piece);
  }
}
