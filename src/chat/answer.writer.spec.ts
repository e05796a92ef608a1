import { describe, expect, it } from '@jest/globals';
import { sumOfUsages, turnUsage } from './answer.writer.js';

describe('sumOfUsages', () => {
  it('adds up the counts that both calls have', () => {
    const first = {
      inputTokens: 10,
      outputTokens: 4,
      cachedInputTokens: 6,
      reasoningTokens: 2,
      raw: 1,
    };
    const second = { inputTokens: 20, outputTokens: 5, cachedInputTokens: 8, raw: 2 };

    expect(sumOfUsages(undefined, first)).toBe(first);
    expect(sumOfUsages(first, second)).toEqual({
      inputTokens: 30,
      outputTokens: 9,
      totalTokens: undefined,
      cachedInputTokens: 14,
      reasoningTokens: undefined,
      raw: 2,
    });
  });
});

const sent = [{ role: 'user', content: 'Hello there' }] as const;

describe('turnUsage', () => {
  it('takes the counts of the provider as they are', () => {
    const usage = { inputTokens: 10, outputTokens: 0, totalTokens: 12, raw: {} };
    expect(turnUsage(usage, sent, 'Hi')).toEqual({
      inputTokens: 10,
      outputTokens: 0,
      totalTokens: 12,
      estimated: false,
    });
  });

  it('estimates what the provider left out, and marks it', () => {
    expect(turnUsage({ inputTokens: 10, raw: {} }, sent, 'Hi there')).toEqual({
      inputTokens: 10,
      outputTokens: 2,
      totalTokens: 12,
      estimated: true,
    });
    expect(turnUsage(undefined, sent, '').estimated).toBe(true);
  });
});
