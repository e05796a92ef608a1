import { describe, expect, it } from '@jest/globals';
import { ModelLane } from './model.lane.js';

const signal = new AbortController().signal;
const hurried = { priority: 1, signal, patienceMs: 30 };

function held(lane: ModelLane): { release: () => void; done: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const done = lane.run(() => promise, { priority: 0, signal });
  return { release: () => resolve(undefined), done };
}

describe('a call that has waited long enough for its turn', () => {
  it('is never made, and says why', async () => {
    const lane = new ModelLane(1);
    const { release, done } = held(lane);
    let made = false;
    const call = lane.run(async () => void (made = true), hurried);
    await expect(call).rejects.toMatchObject({ kind: 'rate-limit', retryable: false });
    release();
    await done;
    await lane.run(() => Promise.resolve(), { priority: 0, signal });
    expect(made).toBe(false);
  });

  it('is not disturbed once it is its turn', async () => {
    const lane = new ModelLane(1);
    const call = lane.run(
      () => new Promise((resolve) => setTimeout(resolve, 80, 'answer')),
      hurried,
    );
    expect(await call).toBe('answer');
  });

  it('does not wait at all for a longer slow-down', async () => {
    const lane = new ModelLane(1);
    lane.slowDown(10_000);
    const call = lane.run(() => Promise.resolve(), { ...hurried, patienceMs: 5_000 });
    await expect(call).rejects.toMatchObject({ kind: 'rate-limit' });
  });
});

describe('a slow-down', () => {
  it('is told once, also when it grows, and ends with its longest wish', async () => {
    const lane = new ModelLane(1);
    const told: (string | undefined)[] = [];
    const unwatch = lane.watch((reason) => told.push(reason));
    lane.slowDown(40);
    lane.slowDown(120);
    lane.slowDown(60);
    const order: string[] = [];
    const shorter = new Promise((resolve) => setTimeout(resolve, 60)).then(() => order.push('60'));
    await lane.run(async () => void order.push('call'), { priority: 0, signal });
    await shorter;
    expect(order).toEqual(['60', 'call']);
    expect(told).toEqual(['throttled by the provider', undefined]);
    unwatch();
    lane.slowDown(1);
    expect(told).toHaveLength(2);
  });

  it('is told to who comes later, and taken back from who leaves', () => {
    const lane = new ModelLane(1);
    lane.slowDown(10_000);
    const told: (string | undefined)[] = [];
    const listener = (reason: string | undefined): void => void told.push(reason);
    const leaves = [lane.watch(listener), lane.watch(listener)];
    expect(told).toEqual(['throttled by the provider']);
    leaves[0]?.();
    expect(told).toHaveLength(1);
    leaves[1]?.();
    expect(told).toEqual(['throttled by the provider', undefined]);
  });
});
