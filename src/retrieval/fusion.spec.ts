import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fusedScore } from './candidates.js';

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
