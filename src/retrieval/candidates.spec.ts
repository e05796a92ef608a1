import { expect, test, describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { KeywordHit } from '../fragment/index.js';
import type { VectorHit } from '../vector-store/index.js';
import { fusedScore, candidatesOf } from './candidates.js';
import type { RetrievalSettings } from './retrieval.js';

test.each<[string, { vectorRank?: number; keywordRank?: number }, number, number]>([
  ['first in both', { vectorRank: 1, keywordRank: 1 }, 0.5, 60 / 61],
  ['the vector channel alone', { vectorRank: 1 }, 0.5, 30 / 61],
  ['the keyword channel alone', { keywordRank: 4 }, 0.25, 15 / 64],
  ['keywords silenced', { vectorRank: 2, keywordRank: 1 }, 0, 60 / 62],
  ['vectors silenced', { vectorRank: 2, keywordRank: 1 }, 1, 60 / 61],
  ['in no channel', {}, 0.5, 0],
])('%s', (_, ranks, alpha, score) => {
  expect(fusedScore(ranks, alpha)).toBeCloseTo(score, 12);
});

test('a better place never scores less, and no score leaves 0 to 60/61', () => {
  const rank = fc.integer({ min: 1, max: 600 });
  fc.assert(
    fc.property(
      rank,
      rank,
      rank,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (a, b, other, alpha) => {
        const [better, worse] = a < b ? [a, b] : [b, a];
        const high = fusedScore({ vectorRank: better, keywordRank: other }, alpha);
        const low = fusedScore({ vectorRank: worse, keywordRank: other }, alpha);
        expect(high).toBeGreaterThanOrEqual(low);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(60 / 61 + Number.EPSILON);
      },
    ),
  );
});

const settings: RetrievalSettings = {
  topK: 3,
  threshold: 0.5,
  enableHybrid: false,
  hybridAlpha: 0.5,
  enableRerank: false,
  rerankModel: '',
  limit: 3,
  candidates: 3,
  rerankScoreThreshold: undefined,
};
const near = (...pairs: [number, number][]): VectorHit[] =>
  pairs.map(([fragmentId, score]) => ({ fragmentId, score }));
const words = (...ids: number[]): KeywordHit[] =>
  ids.map((fragmentId, index) => ({ fragmentId, score: 9 - index, terms: ['x'] }));
const ids = (candidates: readonly { fragmentId: number }[]): number[] =>
  candidates.map(({ fragmentId }) => fragmentId);

describe('vector search alone', () => {
  it('keeps the order, drops what is below the threshold, and says so', () => {
    const { kept, dropped } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.5], [3, 0.49]), keyword: [] },
      settings,
    );
    expect(ids(kept)).toEqual([1, 2]);
    expect(kept.map(({ score }) => score)).toEqual([0.9, 0.5]);
    expect(dropped).toMatchObject([
      {
        fragmentId: 3,
        explanation: { vector: { rank: 3 }, dropped: expect.stringContaining('0.5') },
      },
    ]);
  });

  it('admits everything with a threshold of 0, also what points away', () => {
    const { kept } = candidatesOf(
      { vector: near([1, 0.1], [2, -0.4]), keyword: [] },
      { ...settings, threshold: 0 },
    );
    expect(ids(kept)).toEqual([1, 2]);
  });

  it('holds no more than the pool', () => {
    const { kept, dropped } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.8], [3, 0.7], [4, 0.6]), keyword: [] },
      settings,
    );
    expect([ids(kept), ids(dropped)]).toEqual([[1, 2, 3], [4]]);
  });
});

describe('hybrid search', () => {
  const hybrid = { ...settings, enableHybrid: true };

  it('puts what both channels found first and explains both places', () => {
    const { kept } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.8]), keyword: words(2, 3) },
      hybrid,
    );
    expect(ids(kept)).toEqual([2, 1, 3]);
    expect(kept[0]?.explanation).toMatchObject({
      vector: { rank: 2, score: 0.8 },
      keyword: { rank: 1, score: 9, terms: ['x'] },
      fusion: { rank: 1, alpha: 0.5 },
    });
  });

  it('applies the similarity threshold to the vector channel alone', () => {
    const { kept, dropped } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.3], [4, 0.2]), keyword: words(2) },
      hybrid,
    );
    expect(ids(kept)).toEqual([1, 2]);
    expect(kept[1]?.explanation.vector).toBeNull();
    expect(ids(dropped)).toEqual([4]);
  });

  it('leaves out what only a silenced channel has found', () => {
    const found = { vector: near([1, 0.9]), keyword: words(2) };
    expect(ids(candidatesOf(found, { ...hybrid, hybridAlpha: 0 }).kept)).toEqual([1]);
    expect(ids(candidatesOf(found, { ...hybrid, hybridAlpha: 1 }).kept)).toEqual([2]);
  });
});
