import { describe, expect, it } from '@jest/globals';
import { ModelQueue } from './embedding.client.js';
import type { CallPurpose } from './embedding.client.js';
import { english } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

const signal = new AbortController().signal;
const hurried = { purpose: 'query', signal, maxWaitMs: 30 } as const;

function held(
  queue: ModelQueue,
  purpose: CallPurpose = 'query',
): { release: () => void; done: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const done = queue.run(() => promise, { purpose, signal });
  return { release: () => resolve(undefined), done };
}

describe('a call that has waited long enough for its turn', () => {
  it('is never made, and says why', async () => {
    const queue = new ModelQueue({ query: 1, document: 1 });
    const { release, done } = held(queue);
    let made = false;
    const call = queue.run(async () => void (made = true), hurried);
    await expect(call).rejects.toMatchObject({ kind: 'rate-limit', retryable: false });
    release();
    await done;
    await queue.run(() => Promise.resolve(), { purpose: 'query', signal });
    expect(made).toBe(false);
  });

  it('is not disturbed once it is its turn', async () => {
    const queue = new ModelQueue({ query: 1, document: 1 });
    const call = queue.run(
      () => new Promise((resolve) => setTimeout(resolve, 80, 'answer')),
      hurried,
    );
    expect(await call).toBe('answer');
  });

  it('does not wait at all for a longer slow-down', async () => {
    const queue = new ModelQueue({ query: 1, document: 1 });
    queue.slowDown(10_000);
    const call = queue.run(() => Promise.resolve(), { ...hurried, maxWaitMs: 5_000 });
    await expect(call).rejects.toMatchObject({ kind: 'rate-limit' });
  });
});

describe('a query', () => {
  it('does not wait for documents that hold all of their places', async () => {
    const queue = new ModelQueue({ query: 1, document: 2 });
    const documents = [held(queue, 'document'), held(queue, 'document'), held(queue, 'document')];
    const answer = await queue.run(() => Promise.resolve('answer'), { purpose: 'query', signal });
    expect(answer).toBe('answer');
    for (const { release } of documents) release();
    await Promise.all(documents.map(({ done }) => done));
  });

  it('takes no place from documents, and waits for other queries', async () => {
    const queue = new ModelQueue({ query: 1, document: 1 });
    const query = held(queue, 'query');
    expect(await queue.run(() => Promise.resolve(1), { purpose: 'document', signal })).toBe(1);
    await expect(queue.run(() => Promise.resolve(), hurried)).rejects.toMatchObject({
      kind: 'rate-limit',
    });
    query.release();
    await query.done;
  });
});

describe('a slow-down', () => {
  it('is told once, also when it grows, and ends with its longest wish', async () => {
    const queue = new ModelQueue({ query: 1, document: 1 });
    const told: (string | undefined)[] = [];
    const unwatch = queue.watch((reason) => told.push(reason && english(reason)));
    queue.slowDown(40);
    queue.slowDown(120);
    queue.slowDown(60);
    const order: string[] = [];
    const shorter = new Promise((resolve) => setTimeout(resolve, 60)).then(() => order.push('60'));
    await queue.run(async () => void order.push('call'), { purpose: 'document', signal });
    await shorter;
    expect(order).toEqual(['60', 'call']);
    expect(told).toEqual(['throttled by the provider', undefined]);
    unwatch();
    queue.slowDown(1);
    expect(told).toHaveLength(2);
  });

  it('is told to who comes later, and taken back from who leaves', () => {
    const queue = new ModelQueue({ query: 1, document: 1 });
    queue.slowDown(10_000);
    const told: (string | undefined)[] = [];
    const listener = (reason: Message | undefined): void => {
      told.push(reason && english(reason));
    };
    const leaves = [queue.watch(listener), queue.watch(listener)];
    expect(told).toEqual(['throttled by the provider']);
    leaves[0]?.();
    expect(told).toHaveLength(1);
    leaves[1]?.();
    expect(told).toEqual(['throttled by the provider', undefined]);
  });
});
