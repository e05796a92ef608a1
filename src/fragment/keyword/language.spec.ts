import { describe, expect, test } from '@jest/globals';
import { dictionaryOf, guessLanguage, mainScript } from './language.js';
import { readWords } from './words.js';

function guess(text: string): string {
  return guessLanguage(text, mainScript(readWords(text)));
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

test('a word of another script is stemmed as is usual for that script', () => {
  expect(dictionaryOf('containers', 'russian')).toBe('english_stem');
  expect(dictionaryOf('containers', 'simple')).toBe('english_stem');
  expect(dictionaryOf('containers', 'german')).toBe('german_stem');
  expect(dictionaryOf('договоры', 'german')).toBe('russian_stem');
  expect(dictionaryOf('2024', 'german')).toBeUndefined();
});
