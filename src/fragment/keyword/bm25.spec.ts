import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { packPostings, rank, readPostings, withoutFragments } from './bm25.js';
import type { Posting } from './bm25.js';

interface Word {
  readonly word: string;
  readonly frequency: number;
  readonly stems: readonly (readonly Posting[])[];
}
interface Corpus {
  readonly fragments: number;
  readonly terms: number;
}
interface Plain {
  readonly fragmentId: number;
  readonly score: number;
  readonly terms: string[];
}

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

/** The same by the formula alone, fragment by fragment. */
function plainly(words: readonly Word[], corpus: Corpus, among: ReadonlySet<number>): Plain[] {
  const average = corpus.terms / corpus.fragments;
  const having = words.map(({ stems }) => Map.groupBy(stems.flat(), (one) => one.fragmentId));
  return [...among].flatMap((fragmentId) => {
    const parts = words.flatMap(({ word, frequency: asked }, at) => {
      const postingsOf = having[at]?.get(fragmentId);
      const [first] = postingsOf ?? [];
      if (!postingsOf || !first) return [];
      const count = having[at]?.size ?? 0;
      const all = Math.max(corpus.fragments, count);
      const rarity = Math.log(1 + (all - count + 0.5) / (count + 0.5));
      const often = postingsOf.reduce((sum, { frequency }) => sum + frequency, 0);
      const weight = (often * 2.2) / (often + 1.2 * (0.25 + (0.75 * first.length) / average));
      return [{ word, score: ((rarity * asked * 5) / (asked + 4)) * weight }];
    });
    const score = parts.reduce((sum, part) => sum + part.score, 0);
    return parts.length > 0 ? [{ fragmentId, score, terms: parts.map(({ word }) => word) }] : [];
  });
}

test('the best fragments are those of the formula, wherever their ids and words are', () => {
  const fragments = fc.uniqueArray(
    fc.oneof(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1 }).map((n) => n * 2 ** 32 + 5),
    ),
    { minLength: 1, maxLength: 40 },
  );
  const word = fc.record({
    frequency: fc.integer({ min: 1, max: 3 }),
    stems: fc.array(fc.array(fc.tuple(fc.nat(39), fc.integer({ min: 1, max: 9 }))), {
      maxLength: 3,
    }),
  });
  fc.assert(
    fc.property(fragments, fc.array(word, { maxLength: 5 }), fc.nat(40), (ids, given, left) => {
      const words = given.map(({ frequency, stems }, at) => ({
        ...{ word: `w${at}`, frequency },
        stems: stems.map((stem) =>
          [...new Map(stem)].flatMap(([place, often]) => {
            const fragmentId = ids[place];
            return fragmentId ? [{ fragmentId, frequency: often, length: 10 + place }] : [];
          }),
        ),
      }));
      const among = new Set(ids.slice(0, left));
      const corpus = { fragments: ids.length, terms: ids.length * 20 };
      const expected = plainly(words, corpus, among);
      const found = words.map(({ stems, ...rest }) => ({
        ...rest,
        postings: stems.map(packPostings),
        similar: [],
      }));

      const hits = rank({ words: found, joined: [] }, corpus, 5, among);

      const best = expected.map(({ score }) => score).toSorted((a, b) => b - a);
      expect(hits).toHaveLength(Math.min(5, expected.length));
      for (const [at, hit] of hits.entries()) {
        const same = expected.find(({ fragmentId }) => fragmentId === hit.fragmentId);
        expect(hit.score).toBeCloseTo(best[at] ?? 0, 9);
        expect(hit).toEqual({ ...same, score: expect.closeTo(same?.score ?? 0, 9) });
      }
    }),
  );
});

test('the first are the same however many are asked for, also where frequent words are not read for all fragments', () => {
  const list = fc.uniqueArray(fc.tuple(fc.nat(59), fc.integer({ min: 1, max: 9 })), {
    selector: ([id]) => id,
    maxLength: 60,
  });
  const bytes = list.map((entries) =>
    packPostings(
      entries.map(([id, frequency]) => ({ fragmentId: id + 1, frequency, length: 10 + (id % 7) })),
    ),
  );
  const frequent = fc.integer({ min: 1, max: 3 }).map((step) =>
    packPostings(
      Array.from({ length: Math.floor(60 / step) }, (_, at) => ({
        ...{ fragmentId: 1 + at * step, frequency: 1 + (at % 3), length: 10 + ((at * step) % 7) },
      })),
    ),
  );
  const word = fc.record({
    word: fc.constantFrom('a', 'b', 'c'),
    frequency: fc.integer({ min: 1, max: 3 }),
    postings: fc.array(fc.oneof(bytes, frequent), { maxLength: 2 }),
    similar: fc.array(bytes, { maxLength: 1 }),
  });
  const questions = fc.record({
    words: fc.array(word, { minLength: 2, maxLength: 6 }),
    joined: fc.array(
      fc.tuple(word, fc.boolean()).map(([one, isName]) => ({ ...one, isName, places: [0, 1] })),
      { maxLength: 2 },
    ),
  });
  fc.assert(
    fc.property(questions, fc.integer({ min: 1, max: 10 }), (question, limit) => {
      const corpus = { fragments: 60, terms: 780 };
      expect(rank(question, corpus, limit)).toEqual(rank(question, corpus, 1_000).slice(0, limit));
    }),
  );
});

describe('a word of the question', () => {
  const corpus = { fragments: 100, terms: 1_000 };
  const one = packPostings([{ fragmentId: 1, frequency: 1, length: 10 }]);
  const two = packPostings([{ fragmentId: 2, frequency: 1, length: 10 }]);

  function wordOf(postings: readonly Buffer[], similar: readonly Buffer[] = [], frequency = 1) {
    return { word: 'a', frequency, postings, similar };
  }

  function ranked(...postings: readonly Buffer[]) {
    return rank({ words: [wordOf(postings)], joined: [] }, corpus, 10);
  }

  function scoreOf(frequency: number): number {
    const [hit] = rank({ words: [wordOf([one], [], frequency)], joined: [] }, corpus, 10);
    return hit?.score ?? 0;
  }

  test('weighs more when it is repeated, each time by less, and in a long question by more, and never nine times as much', () => {
    const scores = [1, 2, 3, 4, 1_000].map(scoreOf);
    const gains = scores.slice(1).map((score, at) => score - (scores[at] ?? 0));
    expect(gains.slice(0, 3)).toEqual(gains.slice(0, 3).toSorted((a, b) => b - a));
    expect(Math.min(...gains)).toBeGreaterThan(0);
    expect(scoreOf(2) / scoreOf(1)).toBeCloseTo(10 / 6, 9);
    expect(scoreOf(1_000) / scoreOf(1)).toBeGreaterThan(5);
    expect(scoreOf(1_000) / scoreOf(1)).toBeLessThan(9);
  });

  test('is as rare as all of its stems together, and counts once in a fragment that has several', () => {
    const apart = ranked(one, two);
    const [first, second] = apart;
    expect(first?.score).toBe(second?.score);
    const both = packPostings(
      [1, 2].map((fragmentId) => ({ fragmentId, frequency: 1, length: 10 })),
    );
    expect(apart).toEqual(ranked(both));
    const twice = ranked(one, one);
    const repeated = packPostings([{ fragmentId: 1, frequency: 2, length: 10 }]);
    expect(twice).toEqual(ranked(repeated));
  });

  test('counts half by another spelling, and in full where no fragment has its own', () => {
    const both = packPostings(
      [1, 2].map((fragmentId) => ({ fragmentId, frequency: 1, length: 10 })),
    );
    const hits = rank({ words: [wordOf([one], [both])], joined: [] }, corpus, 10);
    expect(hits.map(({ fragmentId }) => fragmentId)).toEqual([1, 2]);
    const [exact, other] = ranked(both);
    expect(hits[0]?.score).toBe(ranked(one)[0]?.score);
    expect(hits[1]?.score).toBeCloseTo((other?.score ?? 0) / 2, 9);
    const alone = rank({ words: [wordOf([], [both])], joined: [] }, corpus, 10);
    expect(alone).toEqual([exact, other]);
  });
});

describe('words that a fragment has as one', () => {
  const corpus = { fragments: 100, terms: 1_000 };
  const having = (...ids: readonly number[]) =>
    packPostings(ids.map((fragmentId) => ({ fragmentId, frequency: 1, length: 10 })));
  const words = ['e', 'mail'].map((word, at) => ({
    ...{ word, frequency: 1, similar: [] },
    postings: [having(1, 2 + at)],
  }));
  const joined = { word: 'email', frequency: 1, similar: [], places: [0, 1] };

  function scoresOf(isName: boolean, ...ids: readonly number[]) {
    const question = { words, joined: [{ ...joined, isName, postings: [having(...ids)] }] };
    return new Map(rank(question, corpus, 10).map(({ fragmentId, score }) => [fragmentId, score]));
  }

  test('make up for the words that are missing, and add nothing to those that are there', () => {
    const apart = scoresOf(false);
    const scores = scoresOf(false, 1, 2, 4);
    expect(scores.get(1)).toBe(apart.get(1));
    expect(scores.get(3)).toBe(apart.get(3));
    expect(scores.get(4)).toBeGreaterThan(0);
    expect(scores.get(2)).toBeCloseTo(Math.max(scores.get(4) ?? 0, apart.get(2) ?? 0), 9);
  });

  test('count beside their words where they are a name', () => {
    const apart = scoresOf(true);
    const scores = scoresOf(true, 1, 4);
    expect(scores.get(1)).toBeCloseTo((apart.get(1) ?? 0) + (scores.get(4) ?? 0), 9);
  });
});
