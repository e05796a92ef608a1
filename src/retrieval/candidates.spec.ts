import { expect, test, describe, it } from '@jest/globals';
import fc from 'fast-check';
import type { KeywordHit } from '../fragment/index.js';
import type { VectorHit } from '../vector-store/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import { candidatesOf, fusedScore, settingsOf } from './retrieval.js';
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
  depth: 600,
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
    const { selected, dropped } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.5], [3, 0.49]), keyword: [] },
      settings,
    );
    expect(ids(selected)).toEqual([1, 2]);
    expect(selected.map(({ score }) => score)).toEqual([0.9, 0.5]);
    expect(dropped).toMatchObject([
      {
        fragmentId: 3,
        explanation: { vector: { rank: 3 }, dropped: expect.stringContaining('0.5') },
      },
    ]);
  });

  it('admits everything with a threshold of 0, also what points away', () => {
    const { selected } = candidatesOf(
      { vector: near([1, 0.1], [2, -0.4]), keyword: [] },
      { ...settings, threshold: 0 },
    );
    expect(ids(selected)).toEqual([1, 2]);
  });

  it('holds no more than the pool', () => {
    const { selected, dropped } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.8], [3, 0.7], [4, 0.6]), keyword: [] },
      settings,
    );
    expect([ids(selected), ids(dropped)]).toEqual([[1, 2, 3], [4]]);
  });

  it('counts what the threshold drops, with the best similarity among it', () => {
    const vector = near([1, 0.9], [2, 0.45], [3, 0.3]);
    const counted = { count: 2, bestScore: 0.45 };
    expect(candidatesOf({ vector, keyword: [] }, settings).belowThreshold).toEqual(counted);
    const all = candidatesOf({ vector, keyword: [] }, { ...settings, threshold: 0 });
    expect(all.belowThreshold).toEqual({ count: 0, bestScore: null });
  });

  it('explains the best of the dropped ones, and counts all of them', () => {
    const many = Array.from({ length: 600 }, (_, at): [number, number] => [at, 0.4 - at / 6_000]);
    const { dropped, belowThreshold } = candidatesOf(
      { vector: near(...many), keyword: [] },
      settings,
    );
    expect(ids(dropped)).toEqual(many.slice(0, 50).map(([id]) => id));
    expect(belowThreshold).toEqual({ count: 600, bestScore: 0.4 });
  });
});

describe('hybrid search', () => {
  const hybrid = { ...settings, enableHybrid: true };

  it('puts what both channels found first and explains both places', () => {
    const { selected } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.8]), keyword: words(2, 3) },
      hybrid,
    );
    expect(ids(selected)).toEqual([2, 1, 3]);
    expect(selected[0]?.explanation).toMatchObject({
      vector: { rank: 2, score: 0.8 },
      keyword: { rank: 1, score: 9, terms: ['x'] },
      fusion: { rank: 1, alpha: 0.5 },
    });
  });

  it('applies the similarity threshold to the vector channel alone', () => {
    const { selected, dropped, belowThreshold } = candidatesOf(
      { vector: near([1, 0.9], [2, 0.3], [4, 0.2]), keyword: words(2) },
      hybrid,
    );
    expect(ids(selected)).toEqual([1, 2]);
    expect(selected[1]?.explanation.vector).toBeNull();
    expect(ids(dropped)).toEqual([4]);
    expect(belowThreshold).toEqual({ count: 1, bestScore: 0.2 });
  });

  it('leaves out what only a silenced channel has found', () => {
    const found = { vector: near([1, 0.9]), keyword: words(2) };
    expect(ids(candidatesOf(found, { ...hybrid, hybridAlpha: 0 }).selected)).toEqual([1]);
    expect(ids(candidatesOf(found, { ...hybrid, hybridAlpha: 1 }).selected)).toEqual([2]);
  });
});

describe('the depth of the channels', () => {
  const base = {
    retrieveLimit: 10,
    similarityThreshold: 0,
    enableHybrid: 1,
    hybridAlpha: 0.5,
    enableRerank: 0,
    rerankModel: null,
    rerankTopN: null,
    rerankScoreThreshold: null,
  } as KnowledgeBase;
  const topK = fc.integer({ min: 1, max: 200 });

  it('is at least 50 and three times topK', () => {
    fc.assert(
      fc.property(topK, fc.boolean(), (limit, enableRerank) => {
        const { depth } = settingsOf(base, { topK: limit, enableRerank });
        expect(depth).toBeGreaterThanOrEqual(Math.max(50, 3 * limit));
      }),
    );
  });

  it('makes a longer answer begin with the same 45 as the shorter one', () => {
    const search = fc.record({
      count: fc.integer({ min: 1, max: 1_500 }),
      vectorSeed: fc.integer(),
      keywordSeed: fc.integer(),
      hybridAlpha: fc.double({ min: 0, max: 1, noNaN: true }),
      threshold: fc.constantFrom(0, 0.2, 0.5, 0.9),
    });
    fc.assert(
      fc.property(search, topK, topK, (given, one, other) => {
        const vector = shuffled(given.count, given.vectorSeed);
        const keyword = shuffled(given.count, given.keywordSeed);
        const answer = (limit: number): readonly unknown[] => {
          const searched = settingsOf(base, { ...given, topK: limit });
          const found = {
            vector: vector
              .slice(0, searched.depth)
              .map((fragmentId, at) => ({ fragmentId, score: 1 - at / 2_000 })),
            keyword: words(...keyword.slice(0, searched.depth)),
          };
          return candidatesOf(found, searched).selected;
        };
        const [few, many] = [Math.min(one, other), Math.max(one, other)];
        const first = Math.min(few, 45);
        expect(answer(many).slice(0, first)).toEqual(answer(few).slice(0, first));
      }),
      { numRuns: 100 },
    );
  });
});

/** The numbers below `count` in an order that the seed decides. */
function shuffled(count: number, seed: number): number[] {
  const numbers = Array.from({ length: count }, (_, at) => at);
  let state = seed >>> 0;
  for (let at = count - 1; at > 0; at -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (at + 1);
    [numbers[at], numbers[other]] = [numbers[other] ?? 0, numbers[at] ?? 0];
  }
  return numbers;
}
