import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { IntervalJob } from './interval-job.js';

const INTERVAL_MS = 1_000;

describe('IntervalJob', () => {
  /** Each ends one run. */
  let runs: (() => void)[];
  let signal: AbortSignal | undefined;
  let job: IntervalJob;

  beforeEach(() => {
    jest.useFakeTimers();
    runs = [];
    job = new IntervalJob(INTERVAL_MS, (stopping) => {
      signal = stopping;
      return new Promise((resolve) => runs.push(resolve));
    });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('skips the intervals that end while it runs', async () => {
    await jest.advanceTimersByTimeAsync(5 * INTERVAL_MS);
    job.runNow();
    expect(runs).toHaveLength(1);

    runs[0]?.();
    await jest.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(runs).toHaveLength(2);
  });

  it('runs at once when asked to', () => {
    job.runNow();
    expect(runs).toHaveLength(1);
  });

  it('stops with the present run, whose signal aborts', async () => {
    await jest.advanceTimersByTimeAsync(3 * INTERVAL_MS);
    expect(signal?.aborted).toBe(false);
    let stopped = false;
    const stop = job.stop().then(() => {
      stopped = true;
    });
    expect(signal?.aborted).toBe(true);
    await jest.advanceTimersByTimeAsync(5 * INTERVAL_MS);
    expect(stopped).toBe(false);

    runs[0]?.();
    await stop;
    job.runNow();
    await jest.advanceTimersByTimeAsync(5 * INTERVAL_MS);
    expect(runs).toHaveLength(1);
  });
});
