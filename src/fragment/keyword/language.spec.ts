import { describe, expect, test } from '@jest/globals';
import { chooseLanguage, dictionaryOf, evidenceOf, mainScript, shared } from './language.js';
import type { BaseVotes } from './language.js';
import { readWords } from './words.js';

/** The languages of the texts of a document whose base has these votes. */
function languagesOf(texts: readonly string[], base: BaseVotes = new Map()): string[] {
  const read = texts.map((text) => {
    const words = readWords(text);
    const script = mainScript(words);
    return { script, evidence: evidenceOf(text, words, script) };
  });
  return read.map(({ script, evidence }) => chooseLanguage(script, evidence, shared(read), base));
}

function guess(text: string): string | undefined {
  return languagesOf([text])[0];
}

describe('the language of a text', () => {
  test.each([
    ['Invoices must be paid before the end of the month.', 'english'],
    ['Die Rechnungen müssen vor dem Ende des Monats bezahlt werden.', 'german'],
    ['De facturen moeten voor het einde van de maand worden betaald.', 'dutch'],
    ['Faktury należy zapłacić przed końcem miesiąca, najlepiej przelewem.', 'simple'],
    ['Счета должны быть оплачены до конца месяца.', 'russian'],
    ['Рахунки мають бути оплачені до кінця місяця, бажано заздалегідь.', 'simple'],
    ['फ़ाइलें हर रात सुरक्षित स्थान पर कॉपी की जाती हैं।', 'hindi'],
    ['Τα τιμολόγια πληρώνονται πριν από το τέλος του μήνα.', 'greek'],
    ['发票必须在月底之前用 PDF 格式提交。', 'simple'],
    ['Getting started', 'english'],
    ['1 2 3', 'simple'],
    ['', 'simple'],
  ])('%s', (text, language) => {
    expect(guess(text)).toBe(language);
  });
});

// Names and numbers, which trigrams take for English.
const GERMAN =
  'Im Viertelfinale trafen Washington und Philadelphia aufeinander; Brown und Johnson erzielten 24 Punkte, bevor Smith das Spiel mit einem Wurf von der Mittellinie entschied.';
const ROMANIAN =
  'Echipa Denver Broncos a câștigat finala cu 24 la 10 împotriva echipei Carolina Panthers, iar jucătorul Von Miller a fost numit cel mai bun.';
const TITLES = [
  'Digital Data Communication Techniques',
  'Preliminary Report-International Algebraic Language',
  'Numerical Inversion',
];

describe('the languages of texts that belong together', () => {
  test('are their own where their function words are clear', () => {
    expect([GERMAN, ROMANIAN].map(guess)).toEqual(['german', 'romanian']);
  });

  test('are those of the other texts of the document for texts that say little', () => {
    expect(languagesOf([GERMAN, 'Punkte: 24', 'Washington 12, Philadelphia 10'])).toEqual([
      'german',
      'german',
      'german',
    ]);
  });

  test('differ from the document where a text clearly does', () => {
    const english =
      'The warranty is valid for three years from the date of purchase, and it is not limited to the parts that have been replaced.';
    expect(languagesOf([GERMAN, GERMAN, english])).toEqual(['german', 'german', 'english']);
  });

  test('are those of the other documents of the base for titles', () => {
    for (const title of TITLES) {
      expect(languagesOf([title], new Map([['english', 40]]))).toEqual(['english']);
    }
    expect(languagesOf(['Wartung der Pumpen'], new Map([['english', 200]]))).toEqual(['english']);
    expect(languagesOf(['Alte Pumpen'], new Map([['german', 200]]))).toEqual(['german']);
    expect(languagesOf([GERMAN], new Map([['english', 200]]))).toEqual(['german']);
  });

  test('are not those of another script', () => {
    const base = new Map([['simple', 200]]);
    expect(languagesOf(['Getting started'], base)).toEqual(['english']);
    expect(languagesOf(['Договоры'], new Map([['english', 200]]))).toEqual(['russian']);
  });
});

test('a word of another script is stemmed as is usual for that script', () => {
  expect(dictionaryOf('containers', 'russian')).toBe('english_stem');
  expect(dictionaryOf('containers', 'simple')).toBe('english_stem');
  expect(dictionaryOf('containers', 'german')).toBe('german_stem');
  expect(dictionaryOf('containers', 'lithuanian')).toBe('lithuanian_stem');
  expect(dictionaryOf('договоры', 'german')).toBe('russian_stem');
  expect(dictionaryOf('2024', 'german')).toBeUndefined();
});
