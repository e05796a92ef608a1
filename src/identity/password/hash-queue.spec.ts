import { describe, expect, it } from '@jest/globals';
import { TooManyRequestsError } from '../../platform/error/index.js';
import { HashQueue } from './hash-queue.js';

/** Work that ends when the test says so. */
function held(): {
  readonly work: () => Promise<string>;
  readonly end: () => void;
  begun: boolean;
} {
  let end = (): void => undefined;
  const gate = new Promise<void>((resolve) => (end = resolve));
  const one = {
    begun: false,
    end: () => end(),
    work: async () => {
      one.begun = true;
      await gate;
      return 'done';
    },
  };
  return one;
}

describe('HashQueue', () => {
  it('runs as many as it may at a time, lets as many wait, and refuses the next with a time', async () => {
    const queue = new HashQueue({ running: 2, waiting: 2 });
    const jobs = Array.from({ length: 4 }, held);
    const results = jobs.map(({ work }) => queue.run(undefined, work));
    expect(jobs.map(({ begun }) => begun)).toEqual([true, true, false, false]);
    const refused = queue.run(undefined, held().work);
    await expect(refused).rejects.toThrow(TooManyRequestsError);
    await expect(refused).rejects.toMatchObject({ retryAfterSeconds: 1 });
    for (const { end } of jobs) end();
    expect(await Promise.all(results)).toEqual(['done', 'done', 'done', 'done']);
    const after = held();
    after.end();
    expect(await queue.run(undefined, after.work)).toBe('done');
  });

  it('goes on after work that fails', async () => {
    const queue = new HashQueue({ running: 1, waiting: 1 });
    const failing = queue.run(undefined, () => Promise.reject(new Error('broken')));
    const next = queue.run(undefined, () => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('done');
  });

  it('leaves places for others when one source sends many', async () => {
    const queue = new HashQueue({ running: 2, waiting: 6 });
    const jobs = [held(), held(), held()];
    const [first, second] = jobs.slice(0, 2).map(({ work }) => queue.run('192.0.2.1', work));
    await expect(queue.run('192.0.2.1', held().work)).rejects.toThrow(TooManyRequestsError);
    const other = queue.run('192.0.2.2', jobs[2]?.work ?? held().work);
    for (const { end } of jobs) end();
    expect(await Promise.all([first, second, other])).toEqual(['done', 'done', 'done']);
    const after = held();
    after.end();
    expect(await queue.run('192.0.2.1', after.work)).toBe('done');
  });
});
