import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readWords } from './words.js';

function wordsOf(text: string): string[] {
  return readWords(text).words.map((word) => word.text);
}

describe('words', () => {
  test.each([
    ['Boundary-layer flow, 1953.', ['boundary', 'layer', 'flow', '1953']],
    ['l’avion n’est pas là', ['avion', 'est', 'pas', 'là']],
    ["I'd like the firm's, not C's: 'B' it's", ['i', 'like', 'the', 'firm', 'not', 'c', 'b', 'it']],
    ['vitamin C. e.g. oranges', ['vitamin', 'c', 'oranges']],
    ['ＦＵＬＬ ｗｉｄｔｈ ﬁle', ['full', 'width', 'file']],
    ['İstanbul', ['istanbul']],
    ['Kündi\u00adgung', ['kündigung']],
    ['हिन्दी में', ['हिन्दी', 'में']],
    ['👍 … --', []],
  ])('%s', (text, expected) => {
    expect(wordsOf(text)).toEqual(expected);
  });

  test.each([
    ['user_name', ['user', 'name', 'username']],
    ['userName', ['user', 'name', 'username']],
    ['__init__', ['init']],
    ['HTTPServer2Go', ['http', 'server2', 'go', 'httpserver2go']],
  ])('of the name %s are its parts and itself', (text, expected) => {
    expect(wordsOf(text)).toEqual(expected);
  });

  test('joined by dots are also one term', () => {
    expect(readWords('config.httpPort and 3.14')).toEqual({
      words: ['config', 'http', 'port', 'and', '3', '14'].map((text) => ({
        text,
        capitals: false,
      })),
      terms: ['config.httpport', '3.14'],
    });
  });

  test('are not the letters of an abbreviation', () => {
    const { words, terms } = readWords('U.S. courts, i.e. these');
    expect(words.map(({ text }) => text)).toEqual(['courts', 'these']);
    expect(terms).toEqual(['u.s']);
  });

  test('in capitals alone are marked', () => {
    const marked = readWords('Ask IT or WHO, not A').words.filter(({ capitals }) => capitals);
    expect(marked.map(({ text }) => text)).toEqual(['it', 'who']);
  });

  test('never exceed what an index entry holds', () => {
    const { words, terms } = readWords(
      `${'a'.repeat(5_000)} ${'b.'.repeat(5_000)} ${'ก'.repeat(5_000)}`,
    );
    const lengths = [...words.map(({ text }) => text), ...terms].map((term) => term.length);
    expect(Math.max(...lengths)).toBe(64);
  });
});

describe('scripts without spaces', () => {
  test('give the words in them and all pairs of characters', () => {
    const { words, terms } = readWords('2003年机器学习，IT部门');
    expect(words.map(({ text }) => text)).toEqual(['2003', 'it']);
    expect(terms).toEqual(expect.arrayContaining(['年', '机器', '学习', '部门', '器学']));
    expect(terms).not.toContain('习部');
  });

  test.each([
    ['コンピューター', 'ピュ'],
    ['휴가를', '휴가'],
    ['ลาพักร้อน', 'พัก'],
  ])('%s', (text, expected) => {
    expect(readWords(text).terms).toContain(expected);
  });
});

test('terms hold no spaces and no characters that cannot be stored', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const { words, terms } = readWords(text);
      for (const term of [...words.map((word) => word.text), ...terms]) {
        expect(term).toMatch(/^[^\s\0]{1,64}$/);
        expect(term.isWellFormed()).toBe(true);
      }
    }),
  );
});
