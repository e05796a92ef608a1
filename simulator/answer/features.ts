const CJK = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}';
const CJK_RUN = new RegExp(`[${CJK}]+`, 'gu');
const WORD = new RegExp(`(?:(?![${CJK}])[\\p{L}\\p{N}])+`, 'gu');
const ENGLISH_STOP_WORDS = new Set(
  (
    'a an and are as at be been but by can could did do does for from had has have he her his how i if in ' +
    'into is it its may me my no not of on or our she should so than that the their them then there these ' +
    'they this to was we were what when where which who why will with would you your please tell about'
  ).split(' '),
);
const CHINESE_STOP_CHARACTERS = new Set(
  '的了是在和与及或吗呢吧啊我你他她它们这那有什么怎么如何请为被把对从到就都也很',
);

const STOP_WEIGHT = 0.05;
const SINGLE_CHARACTER_WEIGHT = 0.3;
const TRIGRAM_WEIGHT = 0.25;

/** Weighted features of a text: words for alphabetic scripts, character bigrams for CJK. */
type Features = Map<string, number>;

export function featuresOf(text: string): Features {
  const features: Features = new Map();
  const add = (feature: string, weight: number) =>
    features.set(feature, (features.get(feature) ?? 0) + weight);
  for (const [word] of text.toLowerCase().matchAll(WORD)) addWord(word, add);
  for (const [run] of text.matchAll(CJK_RUN)) addCjkRun([...run], add);
  return features;
}

/** Share of the question's features that the text has too, from 0 to 1. */
export function coverage(question: Features, text: Features): number {
  let total = 0;
  let shared = 0;
  for (const [feature, weight] of question) {
    total += weight;
    if (text.has(feature)) shared += weight;
  }
  return total === 0 ? 0 : shared / total;
}

export function isMostlyCjk(text: string): boolean {
  const cjk = (text.match(CJK_RUN) ?? []).join('').length;
  return cjk * 3 > text.replace(/\s/g, '').length;
}

type Add = (feature: string, weight: number) => void;

function addWord(word: string, add: Add): void {
  if (ENGLISH_STOP_WORDS.has(word)) {
    add(word, STOP_WEIGHT);
    return;
  }
  add(stem(word), 1);
  // Parts of words make inflected and compound forms resemble each other.
  const padded = `^${word}$`;
  for (let i = 0; word.length > 3 && i + 3 <= padded.length; i += 1) {
    add(`~${padded.slice(i, i + 3)}`, TRIGRAM_WEIGHT);
  }
}

function addCjkRun(characters: string[], add: Add): void {
  characters.forEach((character, index) => {
    const isStop = CHINESE_STOP_CHARACTERS.has(character);
    add(character, isStop ? STOP_WEIGHT : SINGLE_CHARACTER_WEIGHT);
    const next = characters[index + 1];
    if (next === undefined) return;
    const touchesStop = isStop || CHINESE_STOP_CHARACTERS.has(next);
    add(character + next, touchesStop ? STOP_WEIGHT : 1);
  });
}

function stem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ies|es|s|ing|ed|y)$/, '') : word;
}
