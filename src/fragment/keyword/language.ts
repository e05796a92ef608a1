import { francAll } from 'franc-min';
import type { TextWords } from './words.js';

/** The writing systems whose words PostgreSQL can stem, in blocks of Unicode; every other one is `other`. */
export type Script =
  'latin' | 'greek' | 'cyrillic' | 'armenian' | 'arabic' | 'devanagari' | 'tamil' | 'other';

const RANGES: readonly (readonly [from: number, to: number, script: Script])[] = [
  [0x41, 0x24f, 'latin'],
  [0x370, 0x3ff, 'greek'],
  [0x400, 0x52f, 'cyrillic'],
  [0x531, 0x58f, 'armenian'],
  [0x600, 0x77f, 'arabic'],
  [0x8a0, 0x8ff, 'arabic'],
  [0x900, 0x97f, 'devanagari'],
  [0xb80, 0xbff, 'tamil'],
  [0x1e00, 0x1eff, 'latin'],
  [0x1f00, 0x1fff, 'greek'],
];

/** Script of a word: that of its first character which is no ASCII digit. */
function scriptOf(word: string): Script {
  for (let at = 0; at < word.length; at += 1) {
    const code = word.charCodeAt(at);
    if (code < 0x41) continue;
    if (code < 0x250) return 'latin';
    return RANGES.find(([from, to]) => code >= from && code <= to)?.[2] ?? 'other';
  }
  return 'other';
}

/** Name of the PostgreSQL configuration that stems nothing: for languages that have no other. */
const SIMPLE = 'simple';

interface Family {
  /** For words and short texts of the script that nothing else is known of. */
  readonly usual: string;
  /** The languages to choose from, by ISO 639-3, with their PostgreSQL configurations. */
  readonly languages?: Readonly<Record<string, string>>;
}

const FAMILIES: Readonly<Record<Exclude<Script, 'other'>, Family>> = {
  latin: {
    usual: 'english',
    languages: {
      eng: 'english',
      deu: 'german',
      fra: 'french',
      hun: 'hungarian',
      ind: 'indonesian',
      ita: 'italian',
      nld: 'dutch',
      por: 'portuguese',
      ron: 'romanian',
      spa: 'spanish',
      srp: 'serbian',
      swe: 'swedish',
      tur: 'turkish',
      ces: SIMPLE,
      pol: SIMPLE,
      vie: SIMPLE,
    },
  },
  cyrillic: {
    usual: 'russian',
    languages: { rus: 'russian', srp: 'serbian', bel: SIMPLE, bul: SIMPLE, ukr: SIMPLE },
  },
  arabic: { usual: 'arabic', languages: { arb: 'arabic', pes: SIMPLE, urd: SIMPLE } },
  devanagari: {
    usual: 'hindi',
    languages: { hin: 'hindi', npi: 'nepali', mar: SIMPLE },
  },
  armenian: { usual: 'armenian' },
  greek: { usual: 'greek' },
  tamil: { usual: 'tamil' },
};

/** As likely as this, compared with the likeliest, and the usual language is taken. */
const LIKELY_ENOUGH = 0.85;

/** Characters that say nothing about the language of their text. */
const LEAST_SAMPLE = 20;

/** Characters that are looked at; more cost time and change nothing. */
export const SAMPLE = 400;

/** The script that most of the text is in. */
export function mainScript({ words, terms }: TextWords): Script {
  const letters = new Map<Script, number>([['other', terms.length]]);
  for (const { text } of words) {
    const script = scriptOf(text);
    letters.set(script, (letters.get(script) ?? 0) + text.length);
  }
  return [...letters].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

/** The PostgreSQL configuration for a text that is mainly in the given script. */
export function guessLanguage(text: string, script: Script): string {
  if (script === 'other') return SIMPLE;
  const { usual, languages } = FAMILIES[script];
  if (!languages) return usual;
  const only = Object.keys(languages);
  const ranked = francAll(text.slice(0, SAMPLE), { only, minLength: LEAST_SAMPLE });
  const likely = ranked.filter(([, likelihood]) => likelihood >= LIKELY_ENOUGH);
  if (likely.some(([code]) => languages[code] === usual)) return usual;
  return languages[likely[0]?.[0] ?? ''] ?? usual;
}

/**
 * Name of PostgreSQL's Snowball dictionary for a word in a text of the given language: that of the language or, for a
 * word of a foreign script, of the script's usual language. Undefined where nothing is to be stemmed.
 */
export function dictionaryOf(word: string, language: string): string | undefined {
  const script = scriptOf(word);
  if (script === 'other') return undefined;
  const { usual, languages } = FAMILIES[script];
  const isOwn = language !== SIMPLE && Object.values(languages ?? {}).includes(language);
  return `${isOwn ? language : usual}_stem`;
}
