/** Letters that people write for others although Unicode does not decompose them. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  // Greek and Cyrillic
  ς: 'σ',
  ё: 'е',
  // Persian keyboards, and endings that are often written without their dots.
  ی: 'ي',
  ى: 'ي',
  ک: 'ك',
  ة: 'ه',
};
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');

/** Two letters that stand for one where a keyboard lacks it: Mueller, Soeren, Aarhus. */
const DIGRAPHS: Readonly<Record<string, string>> = {
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ø: 'oe',
  å: 'aa',
};
const DIGRAPH = /[äöüøå]/gu;

/** The PostgreSQL configurations of languages whose readers know them. */
const DIGRAPH_LANGUAGES: ReadonlySet<string> = new Set([
  'german',
  'danish',
  'norwegian',
  'swedish',
  'english',
  'dutch',
]);

const ASCII = /^[\0-\x7f]*$/u;

/** Letters of their own whose sign is never left out: и and й, і and ї. */
const CYRILLIC = /[\u0400-\u04ff]/u;
/** Signs above and below Latin and Greek letters, Hebrew points, Arabic vowels and hamzas, and the dot of Devanagari. */
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed\u093c]/gu;

/**
 * Other ways in which people write the word, which is in lower case: without accents and other signs of its letters,
 * and with two letters for an umlaut. Signs without which a word is another one, such as vowels of Indian scripts, stay.
 */
export function spellingsOf(word: string, language: string): string[] {
  if (ASCII.test(word)) return [];
  const spellings = [plainOf(word)];
  if (DIGRAPH_LANGUAGES.has(language)) {
    spellings.push(plainOf(word.replaceAll(DIGRAPH, (letter) => DIGRAPHS[letter] ?? letter)));
  }
  return [...new Set(spellings)].filter((one) => one !== word && one !== '');
}

function plainOf(word: string): string {
  const letters = word.replaceAll(LETTER, (letter) => LETTERS[letter] ?? letter);
  // Composed Cyrillic letters are taken as they are; what is left of their marks only shows the stress.
  const apart = CYRILLIC.test(word) ? letters : letters.normalize('NFD');
  return apart.replaceAll(MARKS, '').normalize('NFC');
}
