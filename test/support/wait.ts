import { setTimeout as sleep } from 'node:timers/promises';

/** Less than the time limit of a test, and more than a disk that stalls takes, as was seen for a minute and a half. */
const LIMIT_MS = 150_000;
const SHORTEST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 100;

/**
 * Asks again and again until the answer is as hoped; throws with the last answer after the time limit. The pauses grow with
 * the time that has passed, to a tenth of it: whoever waits long must not keep busy what it waits for.
 */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  hoped: (answer: T) => boolean,
  limitMs = LIMIT_MS,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const answer = await ask();
    if (hoped(answer)) return answer;
    const passed = Date.now() - began;
    if (passed > limitMs) throw new Error(`Still not as hoped: ${JSON.stringify(answer)}`);
    await sleep(Math.min(Math.max(passed / 10, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}
