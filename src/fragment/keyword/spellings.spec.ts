import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { spellingsOf } from './spellings.js';

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
