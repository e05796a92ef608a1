import { describe, expect, it } from '@jest/globals';
import { costOf, totalCost } from './run.state.js';

describe('costOf', () => {
  it('reckons by the million tokens', () => {
    const usage = { inputTokens: 500_000, outputTokens: 10_000 };
    expect(costOf(usage, { inputPrice: 3, outputPrice: 15 })).toBeCloseTo(1.65, 10);
  });

  it('is not known when a price or a count is not, rather than too low', () => {
    const usage = { inputTokens: 500_000, outputTokens: 10_000 };
    expect(costOf(usage, { inputPrice: 3 })).toBeUndefined();
    expect(costOf(usage, {})).toBeUndefined();
    expect(costOf({ inputTokens: 5 }, { inputPrice: 3, outputPrice: 15 })).toBeUndefined();
  });

  it('has no more digits than its parts', () => {
    const prices = { inputPrice: 100_000, outputPrice: 100_000 };
    expect(costOf({ inputTokens: 1, outputTokens: 2 }, prices)).toBe(0.3);
    expect(totalCost(0.000646, 0.001261)).toBe(0.001907);
    expect(totalCost(0.004778, 0.0017845)).toBe(0.0065625);
  });

  it('needs no count of what costs nothing, and no price only for a model that has one', () => {
    expect(costOf({ inputTokens: 1_000_000 }, { inputPrice: 2, outputPrice: 0 })).toBe(2);
    expect(costOf({}, { inputPrice: 0, outputPrice: 0 })).toBe(0);
    expect(costOf({ inputTokens: 0, outputTokens: 0 }, { inputPrice: 1, outputPrice: 1 })).toBe(0);
  });
});
