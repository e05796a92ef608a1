import { describe, expect, it } from '@jest/globals';
import { judge, mean, ndcg, recall, reciprocalRank } from './judgement.js';

const found = [
  { fid: 'f1', docId: 'a' },
  { fid: 'f2', docId: 'a' },
  { fid: 'f3', docId: 'b' },
  { fid: 'f4', docId: 'c' },
];

describe('judge', () => {
  it('gives a document the place of its first fragment, and its others none', () => {
    const expected = [
      { docId: 'b', relevance: 2 },
      { docId: 'x', relevance: 1 },
    ];
    expect(judge(found, expected)).toEqual({ gains: [0, 2, 0], relevant: [2, 1] });
  });

  it('counts every fragment where only fragments are expected', () => {
    expect(judge(found, [{ fid: 'f3', relevance: 3 }])).toEqual({
      gains: [0, 0, 3, 0],
      relevant: [3],
    });
  });

  it('takes documents and fragments together', () => {
    const expected = [
      { fid: 'f2', relevance: 3 },
      { docId: 'a', relevance: 1 },
      { docId: 'c', relevance: 1 },
    ];
    expect(judge(found, expected).gains).toEqual([1, 3, 0, 1]);
  });

  it('finds nothing in nothing', () => {
    expect(judge([], [{ docId: 'a', relevance: 1 }])).toEqual({ gains: [], relevant: [1] });
  });
});

describe('ndcg', () => {
  it('is the hand-computed value of the textbook ranking', () => {
    // Wikipedia, Discounted cumulative gain: DCG 6.861 of 3,2,3,0,1,2; ideal 8.740 of 3,3,3,2,2,2 at depth 6.
    const gains = [3, 2, 3, 0, 1, 2];
    expect(ndcg({ gains, relevant: [3, 3, 3, 2, 2, 2, 1] }, 6)).toBeCloseTo(6.8611 / 8.7403, 4);
  });

  it('takes the relevance itself as gain, not its power of two', () => {
    // 1/log2(2) + 3/log2(3) = 2.8928; ideal 3 + 1/log2(3) = 3.6309.
    expect(ndcg({ gains: [1, 3], relevant: [3, 1] }, 10)).toBeCloseTo(0.7967, 4);
  });

  it('counts what was not found, and nothing beyond k', () => {
    // One of two found at place 2: 0.6309 of 1.6309.
    expect(ndcg({ gains: [0, 1, 1], relevant: [1, 1] }, 2)).toBeCloseTo(0.3869, 4);
    expect(ndcg({ gains: [0, 0, 1], relevant: [1] }, 2)).toBe(0);
    expect(ndcg({ gains: [1], relevant: [1, 1, 1] }, 1)).toBe(1);
  });

  it('is 1 for the best order and 0 for nothing', () => {
    expect(ndcg({ gains: [3, 2, 1], relevant: [1, 2, 3] }, 10)).toBe(1);
    expect(ndcg({ gains: [], relevant: [1] }, 10)).toBe(0);
    expect(ndcg({ gains: [0], relevant: [] }, 10)).toBe(0);
  });
});

describe('recall', () => {
  it('is the share of the relevant ones within k', () => {
    const ranking = { gains: [0, 2, 0, 1], relevant: [2, 1, 1] };
    expect(recall(ranking, 10)).toBeCloseTo(2 / 3, 12);
    expect(recall(ranking, 3)).toBeCloseTo(1 / 3, 12);
    expect(recall(ranking, 1)).toBe(0);
    expect(recall({ gains: [], relevant: [] }, 1)).toBe(0);
  });
});

describe('reciprocalRank', () => {
  it('is 1 divided by the first relevant place, 0 beyond k', () => {
    expect(reciprocalRank({ gains: [0, 0, 2, 3], relevant: [2, 3] }, 10)).toBeCloseTo(1 / 3, 12);
    expect(reciprocalRank({ gains: [0, 0, 2], relevant: [2] }, 2)).toBe(0);
    expect(reciprocalRank({ gains: [], relevant: [1] }, 10)).toBe(0);
  });
});

describe('mean', () => {
  it('is 0 of nothing', () => {
    expect(mean([0.5, 1])).toBe(0.75);
    expect(mean([])).toBe(0);
  });
});
