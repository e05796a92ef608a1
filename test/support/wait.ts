import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again and again until the answer is as hoped; throws with the last answer after the time limit. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  hoped: (answer: T) => boolean,
  limitMs = 60_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const answer = await ask();
    if (hoped(answer)) return answer;
    if (Date.now() > end) throw new Error(`Still not as hoped: ${JSON.stringify(answer)}`);
    await sleep(20);
  }
}
