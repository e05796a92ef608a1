import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventBus } from '../event/index.js';
import { systemCaller } from './access.js';
import type { Caller } from './access.js';
import { OpenStreams } from './open-streams.js';

const SECOND = 1_000;

class SilentBus extends EventBus {
  override async publish(): Promise<void> {}
}

describe('a stream whose caller ends by itself', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const callerUntil = (validUntil: number): Caller => ({
    ...systemCaller('000000', 1),
    validUntil,
  });

  /** Streams of callers who are asked for again as `now` says. */
  function streamsOf(now: () => Caller | undefined): OpenStreams {
    const callers = {
      resolve: () => Promise.reject(new Error()),
      refresh: async () => now(),
      current: async () => now(),
    };
    return new OpenStreams(new SilentBus(), callers, callers);
  }

  function opened(streams: OpenStreams, validUntil: number): { ended: string[]; release(): void } {
    const place = streams.reserve(callerUntil(validUntil), { perUser: 5 });
    const ended: string[] = [];
    place?.onEnd((why) => ended.push(why));
    return { ended, release: () => place?.release() };
  }

  it('ends then', async () => {
    const end = Date.now() + 5 * SECOND;
    const { ended } = opened(
      streamsOf(() => (Date.now() < end ? callerUntil(end) : undefined)),
      end,
    );
    await jest.advanceTimersByTimeAsync(4 * SECOND);
    expect(ended).toEqual([]);
    await jest.advanceTimersByTimeAsync(SECOND);
    expect(ended).toEqual(['signed-out']);
  });

  it('is asked about again when the clock of the database is late, and when its end was moved', async () => {
    const moved = Date.now() + 9 * SECOND;
    const { ended } = opened(
      streamsOf(() => (Date.now() < moved + 400 ? callerUntil(moved) : undefined)),
      Date.now() + 5 * SECOND,
    );
    await jest.advanceTimersByTimeAsync(9 * SECOND);
    expect(ended).toEqual([]);
    await jest.advanceTimersByTimeAsync(SECOND);
    expect(ended).toEqual(['signed-out']);
  });

  it('is not waited for when it was closed before', async () => {
    const { release } = opened(
      streamsOf(() => undefined),
      Date.now() + 5 * SECOND,
    );
    expect(jest.getTimerCount()).toBe(1);
    release();
    expect(jest.getTimerCount()).toBe(0);
  });
});
