import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Repetition } from './repetition.js';

const EVERY_MS = 1_000;

describe('a repetition', () => {
  /** Each ends one. */
  let rounds: (() => void)[];
  let told: AbortSignal | undefined;
  let repetition: Repetition;

  beforeEach(() => {
    jest.useFakeTimers();
    rounds = [];
    repetition = new Repetition(EVERY_MS, (stopping) => {
      told = stopping;
      return new Promise((resolve) => rounds.push(resolve));
    });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('leaves the turns out that come while a round runs', async () => {
    await jest.advanceTimersByTimeAsync(5 * EVERY_MS);
    repetition.begin();
    expect(rounds).toHaveLength(1);

    rounds[0]?.();
    await jest.advanceTimersByTimeAsync(EVERY_MS);
    expect(rounds).toHaveLength(2);
  });

  it('begins at once when it is told to', () => {
    repetition.begin();
    expect(rounds).toHaveLength(1);
  });

  it('ends with the round that runs, which is told', async () => {
    await jest.advanceTimersByTimeAsync(3 * EVERY_MS);
    expect(told?.aborted).toBe(false);
    let ended = false;
    const end = repetition.end().then(() => {
      ended = true;
    });
    expect(told?.aborted).toBe(true);
    await jest.advanceTimersByTimeAsync(5 * EVERY_MS);
    expect(ended).toBe(false);

    rounds[0]?.();
    await end;
    repetition.begin();
    await jest.advanceTimersByTimeAsync(5 * EVERY_MS);
    expect(rounds).toHaveLength(1);
  });
});
