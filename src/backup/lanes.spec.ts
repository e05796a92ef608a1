import { describe, expect, it } from '@jest/globals';
import { inLanes } from './lanes.js';

async function* numbers(count: number, ended: () => void = () => undefined) {
  try {
    for (let number = 0; number < count; number += 1) yield await Promise.resolve(number);
  } finally {
    ended();
  }
}

describe('work in lanes', () => {
  it('is done once for each item, on several at a time', async () => {
    const done: number[] = [];
    const waiting: (() => void)[] = [];
    const all = inLanes(numbers(20), async (number) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        // The eighth lets the others go on: with fewer at a time this would not end.
        if (waiting.length === 8) for (const one of waiting) one();
        if (waiting.length > 8) resolve();
      });
      done.push(number);
    });
    await all;

    expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, place) => place));
  });

  it('begins nothing after a failure, and rejects when what was begun has ended', async () => {
    let [begun, ended, closed] = [0, 0, false];
    const all = inLanes(
      numbers(1_000, () => {
        closed = true;
      }),
      async (number) => {
        begun += 1;
        if (number === 3) throw new Error('The disk is full.');
        await new Promise((resolve) => setImmediate(resolve));
        ended += 1;
      },
    );

    await expect(all).rejects.toThrow('The disk is full.');
    expect(closed).toBe(true);
    expect(begun).toBe(ended + 1);
    expect(begun).toBeLessThan(50);
  });
});
