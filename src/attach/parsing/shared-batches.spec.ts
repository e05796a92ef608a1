import { describe, expect, it, jest } from '@jest/globals';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { UpstreamError } from '../../provider/index.js';
import { SharedBatches } from './fragment-embedder.js';
import type { SharedBatchSettings } from './fragment-embedder.js';

interface Call {
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
  readonly onWait: (reason: Message | undefined) => void;
  answer(): void;
  fail(error: unknown): void;
}

/** Never over while a test runs. */
const LONG_MS = 1_000_000;

/** The vector of a text: its number. */
const vectorOf = (text: string): Float32Array => Float32Array.of(Number(text));

function setUp(settings: Partial<SharedBatchSettings> = {}) {
  const calls: Call[] = [];
  const failures: { documents: readonly number[]; alone: boolean }[] = [];
  const batches = new SharedBatches({
    size: 4,
    concurrency: 1,
    lingerMs: LONG_MS,
    embed: (texts, how) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Float32Array[]>();
      how.signal.addEventListener('abort', () => reject(how.signal.reason));
      calls.push({ texts, ...how, answer: () => resolve(texts.map(vectorOf)), fail: reject });
      return promise;
    },
    onFailure: (_error, batch) => failures.push(batch),
    ...settings,
  });
  const leaving: (() => void)[] = [];
  const announce = (count: number) => {
    for (let n = 0; n < count; n += 1) leaving.push(batches.announce());
  };
  const embed = (id: number, texts: string[], signal = new AbortController().signal) => {
    const waits: (Message | undefined)[] = [];
    const onWait = (reason: Message | undefined) => void waits.push(reason);
    const vectors = batches.embed({ id, texts, signal, onWait }).then((found) => found.map(String));
    // Every test looks at it later.
    vectors.catch(() => undefined);
    return { vectors, waits };
  };
  return { batches, calls, failures, announce, leaving, embed };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SharedBatches', () => {
  it('sends a document at once that no other can join', async () => {
    const { announce, embed, calls } = setUp();
    announce(1);
    const one = embed(1, ['1', '2']);
    expect(calls.map(({ texts }) => texts)).toEqual([['1', '2']]);
    calls[0]?.answer();
    expect(await one.vectors).toEqual(['1', '2']);
  });

  it('waits for documents that are being prepared, and gives each its own vectors', async () => {
    const { announce, embed, calls } = setUp();
    announce(3);
    const first = embed(1, ['1']);
    const second = embed(2, ['2', '3']);
    expect(calls).toHaveLength(0);
    const third = embed(3, ['4']);
    expect(calls.map(({ texts }) => texts)).toEqual([['1', '2', '3', '4']]);
    calls[0]?.answer();
    expect(await Promise.all([first.vectors, second.vectors, third.vectors])).toEqual([
      ['1'],
      ['2', '3'],
      ['4'],
    ]);
  });

  it('sends a full batch without waiting, and cuts no document in two', () => {
    const { announce, embed, calls } = setUp({ concurrency: 2 });
    announce(9);
    embed(1, ['1', '2', '3']);
    embed(2, ['4', '5']);
    expect(calls.map(({ texts }) => texts)).toEqual([['1', '2', '3']]);
  });

  it('collects while every call is taken', async () => {
    const { announce, embed, calls, leaving } = setUp();
    announce(1);
    embed(1, ['1']);
    announce(3);
    embed(2, ['2']);
    embed(3, ['3']);
    embed(4, ['4']);
    expect(calls).toHaveLength(1);
    calls[0]?.answer();
    await settled();
    // Its place goes to another document, for which these wait.
    expect(calls).toHaveLength(1);
    leaving[0]?.();
    expect(calls[1]?.texts).toEqual(['2', '3', '4']);
  });

  it('does not wait for a document that has ended without coming', () => {
    const { announce, embed, calls, leaving } = setUp();
    announce(2);
    embed(1, ['1']);
    expect(calls).toHaveLength(0);
    leaving[1]?.();
    expect(calls).toHaveLength(1);
  });

  it('waits only so long', () => {
    jest.useFakeTimers();
    try {
      const { announce, embed, calls } = setUp({ lingerMs: 500 });
      announce(2);
      embed(1, ['1']);
      jest.advanceTimersByTime(499);
      expect(calls).toHaveLength(0);
      jest.advanceTimersByTime(1);
      expect(calls).toHaveLength(1);
    } finally {
      jest.useRealTimers();
    }
  });

  it('leaves the others when one is cancelled, and ends the call when all are', async () => {
    const { announce, embed, calls } = setUp({ concurrency: 2 });
    const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()];
    announce(3);
    const first = embed(1, ['1'], one.signal);
    const second = embed(2, ['2'], two.signal);
    three.abort(new Error('before'));
    await expect(embed(3, ['3'], three.signal).vectors).rejects.toThrow('before');
    expect(calls).toHaveLength(0);
    const last = new AbortController();
    const third = embed(4, ['4'], last.signal);
    expect(calls[0]?.texts).toEqual(['1', '2', '4']);
    one.abort(new Error('one'));
    await expect(first.vectors).rejects.toThrow('one');
    expect(calls[0]?.signal.aborted).toBe(false);
    two.abort(new Error('two'));
    last.abort(new Error('last'));
    await expect(second.vectors).rejects.toThrow('two');
    await expect(third.vectors).rejects.toThrow('last');
    expect(calls[0]?.signal.aborted).toBe(true);
  });

  it('leaves a cancelled document out of the call that it waits for', async () => {
    const { announce, embed, calls } = setUp();
    announce(3);
    const cancelled = new AbortController();
    embed(1, ['1']);
    const second = embed(2, ['2'], cancelled.signal);
    cancelled.abort(new Error('gone'));
    await expect(second.vectors).rejects.toThrow('gone');
    embed(3, ['3']);
    embed(4, ['4']);
    expect(calls[0]?.texts).toEqual(['1', '3', '4']);
  });

  it('sends each alone after a failure that one of them may have caused', async () => {
    const { announce, embed, calls, failures } = setUp();
    announce(3);
    const documents = [embed(1, ['1']), embed(2, ['2']), embed(3, ['3'])];
    const refused = new UpstreamError({ kind: 'invalid-request', message: msg`Too long.` });
    calls[0]?.fail(refused);
    await settled();
    expect(failures).toEqual([{ documents: [1, 2, 3], alone: true }]);
    calls[1]?.answer();
    await settled();
    calls[2]?.fail(refused);
    await settled();
    calls[3]?.answer();
    expect(calls.map(({ texts }) => texts)).toEqual([['1', '2', '3'], ['1'], ['2'], ['3']]);
    expect(await documents[0]?.vectors).toEqual(['1']);
    await expect(documents[1]?.vectors).rejects.toBe(refused);
    expect(await documents[2]?.vectors).toEqual(['3']);
    expect(failures).toHaveLength(1);
  });

  it('fails all of them when the service fails', async () => {
    const { announce, embed, calls, failures } = setUp();
    announce(2);
    const documents = [embed(1, ['1']), embed(2, ['2'])];
    const down = new UpstreamError({ kind: 'overloaded', message: msg`Down.`, retryable: true });
    calls[0]?.fail(down);
    for (const { vectors } of documents) await expect(vectors).rejects.toBe(down);
    expect(failures).toEqual([{ documents: [1, 2], alone: false }]);
    expect(calls).toHaveLength(1);
  });

  it('tells every document of a batch that the provider slows down', () => {
    const { announce, embed, calls } = setUp();
    announce(2);
    const documents = [embed(1, ['1']), embed(2, ['2'])];
    calls[0]?.onWait(msg`throttled`);
    calls[0]?.onWait(undefined);
    expect(documents.map(({ waits }) => waits)).toEqual([
      [msg`throttled`, undefined],
      [msg`throttled`, undefined],
    ]);
  });

  it('is idle when every announced document has ended', () => {
    const { batches, announce, leaving } = setUp();
    expect(batches.isIdle).toBe(true);
    announce(2);
    leaving[0]?.();
    expect(batches.isIdle).toBe(false);
    leaving[1]?.();
    expect(batches.isIdle).toBe(true);
  });
});
