import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { packPostings, readPostings, withoutFragments } from './bm25.js';
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
