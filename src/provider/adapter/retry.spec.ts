import { describe, expect, it, test } from '@jest/globals';
import { msg } from '../../platform/message/index.js';
import { retryBeforeFirstPart, retryCall } from './model-call.js';
import { retryAfterMs } from './vendor-json.js';
import { UpstreamError } from './upstream.error.js';

const busy = (after?: number): UpstreamError =>
  new UpstreamError({
    kind: 'overloaded',
    message: msg`busy`,
    retryable: true,
    ...(after !== undefined && { retryAfterMs: after }),
  });
const refused = new UpstreamError({ kind: 'authentication', message: msg`no` });

/** Fails with each error in turn, the given parts first, and then succeeds. */
function opener(errors: readonly UpstreamError[], before: readonly string[] = []) {
  let opened = 0;
  return {
    opened: () => opened,
    async *open(): AsyncGenerator<string> {
      const error = errors[opened++];
      yield* before;
      await Promise.resolve();
      if (error !== undefined) throw error;
      yield 'answer';
    },
  };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function recorded(attempts: number) {
  const pauses: number[] = [];
  const options = {
    attempts,
    signal: new AbortController().signal,
    random: () => 0.5,
    sleep: (milliseconds: number) => {
      pauses.push(milliseconds);
      return Promise.resolve();
    },
  };
  return { pauses, options };
}

describe('a stream', () => {
  it('is opened again while nothing came out, with growing pauses', async () => {
    const { pauses, options } = recorded(3);
    const { open, opened } = opener([busy(), busy()]);
    expect(await all(retryBeforeFirstPart(open, options))).toEqual(['answer']);
    expect(opened()).toBe(3);
    expect(pauses).toEqual([225, 450]);
  });

  it('honours Retry-After up to 20 seconds', async () => {
    const { pauses, options } = recorded(3);
    const { open } = opener([busy(3_000), busy(3_600_000)]);
    await all(retryBeforeFirstPart(open, options));
    expect(pauses).toEqual([3_000, 20_000]);
  });

  it('is not opened again for a service that asks for more than the caller waits', async () => {
    const { pauses, options } = recorded(3);
    const { open, opened } = opener([busy(60_000), busy(60_001)]);
    const reading = all(retryBeforeFirstPart(open, { ...options, maxRetryAfterMs: 60_000 }));
    await expect(reading).rejects.toMatchObject({ retryAfterMs: 60_001 });
    expect([pauses, opened()]).toEqual([[60_000], 2]);
  });

  it('is never opened again after the first part', async () => {
    const { options } = recorded(3);
    const { open, opened } = opener([busy()], ['part']);
    const parts: string[] = [];
    const reading = (async () => {
      for await (const part of retryBeforeFirstPart(open, options)) parts.push(part);
    })();
    await expect(reading).rejects.toThrow('busy');
    expect([parts, opened()]).toEqual([['part'], 1]);
  });

  it('gives up after the last attempt, and at once where trying again is no use', async () => {
    const { options } = recorded(2);
    const often = opener([busy(), busy(), busy()]);
    await expect(all(retryBeforeFirstPart(often.open, options))).rejects.toThrow('busy');
    expect(often.opened()).toBe(2);
    const once = opener([refused]);
    await expect(all(retryBeforeFirstPart(once.open, options))).rejects.toThrow('no');
    expect(once.opened()).toBe(1);
  });

  it('stops waiting when the signal fires', async () => {
    const controller = new AbortController();
    const { open, opened } = opener([busy(3_600_000)]);
    setTimeout(() => controller.abort(), 20);
    const reading = all(retryBeforeFirstPart(open, { attempts: 3, signal: controller.signal }));
    await expect(reading).rejects.toMatchObject({ kind: 'aborted' });
    expect(opened()).toBe(1);
  });
});

test('a call with one answer is tried again alike', async () => {
  const { pauses, options } = recorded(3);
  let calls = 0;
  const call = (): Promise<string> =>
    ++calls < 3 ? Promise.reject(busy()) : Promise.resolve('answer');
  expect(await retryCall(call, options)).toBe('answer');
  expect(pauses).toHaveLength(2);
});

test.each([
  ['2', 2_000],
  ['0.5', 500],
  [' 7 ', 7_000],
  ['Fri, 20 Nov 2026 10:00:30 GMT', 30_000],
  ['Fri, 20 Nov 2026 09:00:00 GMT', 0],
  ['soon', undefined],
  ['', undefined],
  [undefined, undefined],
  ['9'.repeat(40), 24 * 3_600_000],
])('Retry-After %s is %s ms', (header, expected) => {
  const now = Date.parse('2026-11-20T10:00:00Z');
  expect(retryAfterMs({ 'retry-after': header }, now)).toBe(expected);
});

test('milliseconds are more exact than Retry-After', () => {
  expect(retryAfterMs({ 'retry-after': '2', 'retry-after-ms': '1241' })).toBe(1_241);
  expect(retryAfterMs({ 'retry-after': '2', 'retry-after-ms': 'soon' })).toBe(2_000);
});
