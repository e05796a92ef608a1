import fc from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { readWords, spellingsOf } from './words.js';

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
    ['user_name', ['user', 'name'], ['username']],
    ['userName', ['user', 'name'], ['username']],
    ['__init__', ['init'], []],
    [
      'HTTPServer2Go',
      ['http', 'server', '2', 'go'],
      ['httpserver2go', 'httpserver', 'server2', '2go'],
    ],
    ['e-mail', ['e', 'mail'], ['email']],
    ['e mail', ['e', 'mail'], ['email']],
    ['E-Mail-Adresse', ['e', 'mail', 'adresse'], ['emailadresse', 'email', 'mailadresse']],
    ['TCP/IP', ['tcp', 'ip'], ['tcpip']],
    ['Wi\u2011Fi', ['wi', 'fi'], ['wifi']],
    ['A320neo', ['a', '320', 'neo'], ['a320neo', 'a320', '320neo']],
    ['A-320neo', ['a', '320', 'neo'], ['a320neo', '320neo', 'a320']],
    ['A 320 neo', ['a', '320', 'neo'], ['a320', '320neo']],
    ['ISO9001', ['iso', '9001'], ['iso9001']],
    ['ISO-9001', ['iso', '9001'], ['iso9001']],
    ['ISO 9001', ['iso', '9001'], ['iso9001']],
    ['\uff21\uff0d\uff13\uff12\uff10', ['a', '320'], ['a320']],
    ['5kg', ['5', 'kg'], ['5kg']],
    ['3.5mm', ['3', '5', 'mm'], ['3.5mm', '3.5', '5mm']],
    ['AB-123/45', ['ab', '123', '45'], ['ab12345', 'ab123']],
    ['AB 12345', ['ab', '12345'], ['ab12345']],
    ['AB_123.45', ['ab', '123', '45'], ['ab123.45', '123.45', 'ab12345', 'ab123']],
    ['6ES7 214', ['6', 'es', '7', '214'], ['6es7', '6es', 'es7', '6es7214']],
    ['2024-01-31', ['2024', '01', '31'], ['20240131']],
    ['5 kg', ['5', 'kg'], ['5kg']],
    ['version 7', ['version', '7'], ['version7']],
    ['12 345', ['12', '345'], []],
    ['high time', ['high', 'time'], []],
    ['word\u2014word', ['word', 'word'], []],
  ])('of %s are %j, and as one %j', (text, words, joined) => {
    const read = readWords(text);
    expect(read.words.map((word) => word.text)).toEqual(words);
    expect(read.joined.map((one) => one.text).toSorted()).toEqual(joined.toSorted());
    for (const { text: one, from, to, isDotted } of read.joined) {
      const parts = read.words.slice(from, to).map((word) => word.text);
      expect(isDotted || parts.join('')).toBe(isDotted || one);
    }
  });

  test('joined by dots are also one word, which is not stemmed', () => {
    const { words, joined } = readWords('config.httpPort and 3.14');
    expect(words.map(({ text }) => text)).toEqual(['config', 'http', 'port', 'and', '3', '14']);
    expect(joined.filter(({ isDotted }) => isDotted).map(({ text }) => text)).toEqual([
      'config.httpport',
      '3.14',
    ]);
    expect(joined.map(({ text }) => text)).not.toContain('314');
  });

  test('of a code stay together where they are many', () => {
    const hash = 'd41d8cd98f00b204e9800998ecf8427e';
    expect(wordsOf(hash)).toEqual([hash]);
    const id = '550e8400-e29b-41d4-a716-446655440000';
    expect(readWords(id).joined.map(({ text }) => text)).toContain(id.replaceAll('-', ''));
  });

  test('are not the letters of an abbreviation', () => {
    const { words, joined } = readWords('U.S. courts, i.e. these');
    expect(words).toEqual([
      { text: 'us', capitals: true },
      { text: 'courts', capitals: false },
      { text: 'these', capitals: false },
    ]);
    expect(joined.map(({ text }) => text)).toEqual(['u.s']);
  });

  test('in capitals alone are marked', () => {
    const marked = readWords('Ask IT or WHO, not A').words.filter(({ capitals }) => capitals);
    expect(marked.map(({ text }) => text)).toEqual(['it', 'who']);
  });

  test('never exceed what an index entry holds', () => {
    const { words, joined, terms } = readWords(
      `${'a'.repeat(5_000)} ${'b.'.repeat(5_000)} ${'c-'.repeat(5_000)} ${'d1'.repeat(5_000)} ${'ก'.repeat(5_000)}`,
    );
    const lengths = [...[...words, ...joined].map(({ text }) => text), ...terms].map(
      (term) => term.length,
    );
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
      const { words, joined, terms } = readWords(text);
      for (const term of [...[...words, ...joined].map((word) => word.text), ...terms]) {
        expect(term).toMatch(/^[^\s\0]{1,64}$/);
        expect(term.isWellFormed()).toBe(true);
      }
    }),
  );
});

test.each([
  ['café', 'french', ['cafe']],
  ['bảo', 'simple', ['bao']],
  ['hành', 'simple', ['hanh']],
  ['đồng', 'simple', ['dong']],
  ['straße', 'german', ['strasse']],
  ['müller', 'german', ['muller', 'mueller']],
  ['müller', 'turkish', ['muller']],
  ['ærø', 'danish', ['aero', 'aeroe']],
  ['århus', 'danish', ['arhus', 'aarhus']],
  ['ığdır', 'turkish', ['igdir']],
  ['łódź', 'simple', ['lodz']],
  ['œuvre', 'french', ['oeuvre']],
  ['jalapeño', 'spanish', ['jalapeno']],
  ['þingvellir', 'simple', ['thingvellir']],
  ['καφές', 'greek', ['καφεσ']],
  ['ёлка', 'russian', ['елка']],
  ['за\u0301мок', 'russian', ['замок']],
  ['مُحَمَّد', 'arabic', ['محمد']],
  ['أحمد', 'arabic', ['احمد']],
  ['שָׁלוֹם', 'simple', ['שלום']],
  ['फ़ोन', 'hindi', ['फोन']],
  // Signs without which a word is another one
  ['йод', 'russian', []],
  ['їжак', 'simple', []],
  ['हिन्दी', 'hindi', []],
  ['தமிழ்', 'tamil', []],
  ['cafe', 'french', []],
])('of %s in %s are %j', (word, language, expected) => {
  expect(spellingsOf(word, language)).toEqual(expected.map((one) => one.normalize('NFC')));
});

test('of a spelling are none', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), (text) => {
      const word = text.normalize('NFKC').toLowerCase();
      for (const spelling of spellingsOf(word, 'german')) {
        expect(spelling).toBe(spelling.normalize('NFC'));
        expect(spellingsOf(spelling, 'german')).toEqual([]);
      }
    }),
  );
});
