import { describe, expect, it } from '@jest/globals';
import { sumOfUsages } from './chat.turn.js';

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
