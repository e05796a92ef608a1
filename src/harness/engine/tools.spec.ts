import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { inParallel } from './tools.js';

describe('tasks in parallel', () => {
  it('is never more than so much at a time, and answers in the order of the list', async () => {
    let atWork = 0;
    let most = 0;
    const works = Array.from({ length: 9 }, (_, number) => async () => {
      atWork += 1;
      most = Math.max(most, atWork);
      await delay(9 - number);
      atWork -= 1;
      return number;
    });

    expect(await inParallel(works, 4)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(most).toBe(4);
    expect(await inParallel([], 4)).toEqual([]);
  });

  it('begins nothing after a failure, and fails only when what had begun is done', async () => {
    const done: number[] = [];
    const works = Array.from({ length: 9 }, (_, number) => async () => {
      if (number === 1) throw new Error('The lease is lost.');
      await delay(20);
      done.push(number);
    });

    await expect(inParallel(works, 4)).rejects.toThrow('The lease is lost.');
    expect(done).toEqual([0, 2, 3]);
    await delay(40);
    expect(done).toHaveLength(3);
  });
});
