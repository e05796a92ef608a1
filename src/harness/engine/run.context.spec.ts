import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RunLease } from './run.context.js';
import type { Renew } from './run.context.js';

const claim = { tenantId: '000000', runId: 'run', owner: 'owner', fence: 1 };

let lease: RunLease | undefined;

function hold(renew: Renew, stopping = new AbortController().signal): RunLease {
  lease = new RunLease(claim, renew, stopping);
  return lease;
}

afterEach(async () => {
  await lease?.end();
});

describe('a held run', () => {
  it('goes on while its lease is renewed', async () => {
    const run = hold(async () => ({ cancelRequested: false }));
    run.check();
    await delay(5);

    expect(run.cause).toBeUndefined();
    expect(run.signal.aborted).toBe(false);
  });

  it('is lost when the lease is another’s', async () => {
    const run = hold(async () => undefined);
    run.check();
    await delay(5);

    expect(run.cause).toBe('lost');
    expect(run.signal.aborted).toBe(true);
    expect(run.effectSignal.aborted).toBe(true);
  });

  it('ends everything at once when it is cancelled', async () => {
    const run = hold(async () => ({ cancelRequested: true }));
    run.check();
    await delay(5);

    expect(run.cause).toBe('cancelled');
    expect(run.effectSignal.aborted).toBe(true);
  });

  it('leaves what has an effect some time when the process stops', () => {
    const stop = new AbortController();
    const run = hold(async () => ({ cancelRequested: false }), stop.signal);
    stop.abort();

    expect(run.cause).toBe('stopping');
    expect(run.signal.aborted).toBe(true);
    expect(run.effectSignal.aborted).toBe(false);
  });

  it('a lost lease outweighs a stop, and nothing outweighs it', async () => {
    const stop = new AbortController();
    stop.abort();
    const answers = [undefined, { cancelRequested: true }];
    const run = hold(async () => answers.shift(), stop.signal);
    expect(run.cause).toBe('stopping');
    run.check();
    run.check();
    await delay(5);

    expect(run.cause).toBe('lost');
  });

  it('outlives a renewal that fails', async () => {
    const run = hold(() => Promise.reject(new Error('The database is away.')));
    run.check();
    await delay(5);

    expect(run.cause).toBeUndefined();
  });

  it('tells the time since the last renewal', async () => {
    jest.useFakeTimers();
    try {
      const run = hold(async () => ({ cancelRequested: false }));
      await jest.advanceTimersByTimeAsync(3_000);
      expect(run.activeMs).toBe(3_000);
      run.check();
      await jest.advanceTimersByTimeAsync(5);

      expect(run.activeMs).toBe(5);
    } finally {
      jest.useRealTimers();
    }
  });

  it('is lost when a renewal does not come back, and does not wait for it', async () => {
    jest.useFakeTimers();
    try {
      const run = hold(() => new Promise(() => undefined));
      jest.advanceTimersByTime(29_000);
      expect(run.cause).toBeUndefined();
      jest.advanceTimersByTime(1_000);

      expect(run.cause).toBe('lost');
      expect(run.effectSignal.aborted).toBe(true);
      await run.end();
    } finally {
      jest.useRealTimers();
    }
  });

  it('has 30 seconds from the last renewal that came back', async () => {
    jest.useFakeTimers();
    try {
      const answers = [{ cancelRequested: false }];
      const run = hold(async () => answers.shift() ?? new Promise(() => undefined));
      await jest.advanceTimersByTimeAsync(44_000);
      expect(run.cause).toBeUndefined();
      await jest.advanceTimersByTimeAsync(1_500);

      expect(run.cause).toBe('lost');
    } finally {
      jest.useRealTimers();
    }
  });
});
