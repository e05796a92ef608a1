import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KeywordRepository, StemRequest } from './keyword.repository.js';
import { TextAnalysis } from './text-analysis.js';

/** Stems as a dictionary does that keeps so many characters and knows these stop words. */
interface Dictionary {
  readonly kept?: number;
  readonly stops?: readonly string[];
}

function analysisWith(
  dictionaries: Readonly<Record<string, Dictionary>>,
  asked: StemRequest[] = [],
): TextAnalysis {
  const stemOf = ({ dictionary, word }: StemRequest): string => {
    const { kept = word.length, stops = [] } = dictionaries[dictionary] ?? {};
    return stops.includes(word) ? '' : word.slice(0, kept);
  };
  const repository: Pick<KeywordRepository, 'stems'> = {
    stems: (requests) => {
      asked.push(...requests);
      return Promise.resolve(requests.map(stemOf));
    },
  };
  return new TextAnalysis(repository as KeywordRepository);
}

describe('the terms of texts', () => {
  it('are the stems of their words, each as often as the text has it', async () => {
    const analysis = analysisWith({ english_stem: { kept: 1, stops: ['ba'] } });
    const word = fc.constantFrom('aa', 'ab', 'ba', 'BA', 'cc', '12', '图书');
    const terms: Readonly<Record<string, string>> = { BA: 'ba', 12: '12', 图书: '图书' };
    const termOf = (one: string) => terms[one] ?? one.slice(0, 1);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(word, { maxLength: 12 })), async (texts) => {
        const found = await analysis.analyse(
          texts.map((words) => words.join(', ')),
          { language: 'english' },
        );
        const expected = texts.map((words) =>
          words.filter((one) => one !== 'ba').flatMap((one) => (one === '图书' ? [one, one] : one)),
        );
        expect(found.map(({ termCount }) => termCount)).toEqual(
          expected.map(({ length }) => length),
        );
        expect(found.map((one) => one.terms)).toEqual(
          expected.map((words) => {
            const groups = Map.groupBy(words, termOf);
            return new Map([...groups].map(([term, { length }]) => [term, length]));
          }),
        );
      }),
    );
  });

  it('ask for each stem once, whatever texts have the word', async () => {
    const asked: StemRequest[] = [];
    const analysis = analysisWith({}, asked);
    await analysis.analyse(['one two', 'two ONE', 'один two'], { language: 'german' });
    await analysis.analyse(['one three'], { language: 'german' });
    expect(asked).toEqual([
      { dictionary: 'german_stem', word: 'one' },
      { dictionary: 'german_stem', word: 'two' },
      { dictionary: 'russian_stem', word: 'один' },
      { dictionary: 'german_stem', word: 'three' },
    ]);
  });
});

describe('the words of a question', () => {
  interface Joined {
    readonly word: string;
    readonly terms: readonly string[];
    readonly frequency: number;
  }

  /** Joins by looking at all of the words before. */
  function joinedOne(all: readonly Joined[], next: Joined): Joined[] {
    const same = all.filter(({ terms }) => terms.some((term) => next.terms.includes(term)));
    const [first = { ...next, terms: [], frequency: 0 }] = same;
    const frequency = [...same, next].reduce((sum, one) => sum + one.frequency, 0);
    const terms = [...new Set([...same, next].flatMap((one) => one.terms))];
    const joined = { word: first.word, terms, frequency };
    const others = all.map((one) => (one === first ? joined : one));
    return [...others.filter((one) => !same.includes(one)), ...(same.length === 0 ? [joined] : [])];
  }

  it('are one where any two languages have the same stem for them', async () => {
    const analysis = analysisWith({ english_stem: { kept: 1 }, german_stem: { kept: 2 } });
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 12 }), async (words) => {
        const { words: found } = await analysis.wordsOf(words.join(' '), ['english', 'german']);
        const expected = words
          .map((one) => ({ word: one, terms: [one.slice(0, 1), one.slice(0, 2)], frequency: 1 }))
          .reduce(joinedOne, []);
        expect(found).toEqual(expected.map((one) => ({ ...one, similar: [] })));
      }),
    );
  });

  it.each([
    ['WHAT IS THE WARRANTY', ['warranty']],
    ['WHAT IS A WARRANTY, 2024?', ['a', 'warranty', '2024']],
    ['what is IT', ['it']],
    ['IT 2024', ['it', '2024']],
    ['IT和WHO', ['和', 'it', 'who']],
    ['WHAT', ['what']],
    ['WHAT IS IT', ['what', 'is', 'it']],
  ])('of %s that count are %j', async (question, expected) => {
    const stops = ['what', 'is', 'the', 'it'];
    const analysis = analysisWith({ english_stem: { stops } });
    const { words } = await analysis.wordsOf(question, ['english']);
    expect(words.map(({ word }) => word)).toEqual(expected);
  });

  it('are found in a long question of a script without spaces', async () => {
    const question = Array.from({ length: 100_000 }, (_, at) =>
      String.fromCodePoint(0x4e00 + (at % 20_000), 0x4e00 + ((at * 7) % 19_997)),
    ).join('');
    const { words } = await analysisWith({}).wordsOf(question, ['simple']);
    expect(words.length).toBeGreaterThan(100_000);
  });
});
