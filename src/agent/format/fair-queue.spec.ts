import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { FairQueue } from './fair-queue.js';

const SLOW_MS = 2_000;

describe('a fair queue of two places', () => {
  let now: number;
  let queue: FairQueue;
  let ends: Map<string, () => void>;
  let started: string[];

  beforeEach(() => {
    now = 0;
    queue = new FairQueue(2, () => now);
    ends = new Map();
    started = [];
  });

  /** Work that takes until `end` is called with its name. */
  function add(user: string, name: string, signal?: AbortSignal): Promise<void> {
    const work = (): Promise<void> => {
      started.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    };
    return queue.run(user, work, signal);
  }

  async function end(name: string, ms = SLOW_MS): Promise<void> {
    now += ms;
    ends.get(name)?.();
    await setImmediate();
  }

  it('gives a user one place, and another user the other', async () => {
    for (const name of ['a1', 'a2', 'a3']) void add('a', name);
    await setImmediate();
    expect(started).toEqual(['a1']);
    void add('b', 'b1');
    await setImmediate();
    expect(started).toEqual(['a1', 'b1']);
  });

  it('keeps a place free of users whose work takes long, however many they are', async () => {
    void add('a', 'a1');
    await setImmediate();
    await end('a1');
    void add('b', 'b1');
    await setImmediate();
    await end('b1');
    void add('a', 'a2');
    void add('b', 'b2');
    await setImmediate();
    expect(started).toEqual(['a1', 'b1', 'a2']);
    for (const name of ['c1', 'c2', 'c3']) void add('c', name);
    await setImmediate();
    for (const name of ['c1', 'c2', 'c3']) await end(name, 1);
    expect(started.slice(3)).toEqual(['c1', 'c2', 'c3']);
    await end('a2');
    expect(started.at(-1)).toBe('b2');
  });

  it('starts next who has taken the least time, and forgets it with time', async () => {
    void add('a', 'a1');
    void add('b', 'b1');
    await setImmediate();
    for (const name of ['a2', 'a3']) void add('a', name);
    void add('c', 'c1');
    await end('a1', 400);
    expect(started.at(-1)).toBe('c1');
    await end('c1', 1);
    await end('b1', 1);
    expect(started).toEqual(['a1', 'b1', 'c1', 'a2']);
    await end('a2', 0);
    await end('a3', SLOW_MS);
    void add('b', 'b2');
    await setImmediate();
    now += 600_000;
    void add('a', 'a4');
    void add('c', 'c2');
    await setImmediate();
    expect(started.slice(-2)).toEqual(['b2', 'a4']);
  });

  it('goes on after work that fails, and without what was aborted while it waited', async () => {
    const failure = new Error('failed');
    const controller = new AbortController();
    const failing = queue.run('a', () => Promise.reject(failure));
    const aborted = add('a', 'a2', controller.signal);
    controller.abort(failure);
    const last = add('a', 'a3');
    await expect(failing).rejects.toBe(failure);
    await expect(aborted).rejects.toBe(failure);
    await setImmediate();
    expect(started).toEqual(['a3']);
    await end('a3');
    await last;
    await expect(add('a', 'a4', controller.signal)).rejects.toBe(failure);
  });
});
