import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { packPostings, rank, readPostings, withoutFragments } from './bm25.js';
import type { Posting } from './bm25.js';

const posting = fc.record({
  fragmentId: fc.maxSafeNat(),
  frequency: fc.integer({ min: 1, max: 100_000 }),
  length: fc.integer({ min: 1, max: 10_000_000 }),
});
const postings = fc.uniqueArray(posting, { selector: ({ fragmentId }) => fragmentId });

function read(bytes: Buffer): Posting[] {
  const found: Posting[] = [];
  readPostings(bytes, (fragmentId, frequency, length) => {
    found.push({ fragmentId, frequency, length });
  });
  return found;
}

test('postings are read as they were packed, also when they were packed apart', () => {
  fc.assert(
    fc.property(postings, postings, (some, others) => {
      const bytes = Buffer.concat([packPostings(some), packPostings(others)]);
      expect(read(bytes)).toEqual([...some, ...others]);
    }),
  );
});

test('taking fragments out leaves the others and tells the length of the taken ones', () => {
  fc.assert(
    fc.property(postings, fc.nat(5), (all, count) => {
      const [taken, kept] = [all.slice(0, count), all.slice(count)];
      const lengths = new Map<number, number>();
      const ids = new Set(taken.map(({ fragmentId }) => fragmentId));
      expect(read(withoutFragments(packPostings(all), ids, lengths))).toEqual(kept);
      expect([...lengths]).toEqual(taken.map(({ fragmentId, length }) => [fragmentId, length]));
    }),
  );
});

describe('a word of the question', () => {
  const corpus = { fragments: 100, terms: 1_000 };
  const one = packPostings([{ fragmentId: 1, frequency: 1, length: 10 }]);
  const two = packPostings([{ fragmentId: 2, frequency: 1, length: 10 }]);

  function scoreOf(frequency: number): number {
    const { hits } = rank([{ word: 'a', frequency, postings: [one] }], corpus, 10);
    return hits[0]?.score ?? 0;
  }

  test('weighs more when it is repeated, each time by less, and never three times as much', () => {
    const scores = [1, 2, 3, 4, 1_000].map(scoreOf);
    const gains = scores.slice(1).map((score, at) => score - (scores[at] ?? 0));
    expect(gains.slice(0, 3)).toEqual(gains.slice(0, 3).toSorted((a, b) => b - a));
    expect(Math.min(...gains)).toBeGreaterThan(0);
    expect(scoreOf(2) / scoreOf(1)).toBeCloseTo(1.5, 9);
    expect(scoreOf(1_000) / scoreOf(1)).toBeLessThan(3);
  });

  test('is as rare as all of its stems together, and counts once in a fragment that has several', () => {
    const apart = rank([{ word: 'a', frequency: 1, postings: [one, two] }], corpus, 10);
    const [first, second] = apart.hits;
    expect(first?.score).toBe(second?.score);
    const both = packPostings(
      [1, 2].map((fragmentId) => ({ fragmentId, frequency: 1, length: 10 })),
    );
    expect(apart).toEqual(rank([{ word: 'a', frequency: 1, postings: [both] }], corpus, 10));
    const twice = rank([{ word: 'a', frequency: 1, postings: [one, one] }], corpus, 10);
    const repeated = packPostings([{ fragmentId: 1, frequency: 2, length: 10 }]);
    expect(twice).toEqual(rank([{ word: 'a', frequency: 1, postings: [repeated] }], corpus, 10));
  });
});
