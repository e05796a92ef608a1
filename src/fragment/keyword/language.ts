import { francAll } from 'franc-min';
import { FUNCTION_WORDS } from './words.js';
import type { TextWords } from './words.js';

/** The writing systems whose words PostgreSQL can stem, in blocks of Unicode; every other one is `other`. */
export type Script =
  | 'latin'
  | 'greek'
  | 'cyrillic'
  | 'armenian'
  | 'arabic'
  | 'devanagari'
  | 'tamil'
  | 'other';

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
  /** Dictionary for words and texts of the script whose language is unknown. */
  readonly usual: string;
  /** The languages that are recognised, by ISO 639-3, with their PostgreSQL configurations. */
  readonly languages: Readonly<Record<string, string>>;
  /** Configurations that a knowledge base can choose, and that are not recognised. */
  readonly chosenOnly?: readonly string[];
}

const FAMILIES: Readonly<Record<Exclude<Script, 'other'>, Family>> = {
  latin: {
    usual: 'english',
    languages: {
      eng: 'english',
      deu: 'german',
      fra: 'french',
      spa: 'spanish',
      ita: 'italian',
      por: 'portuguese',
      nld: 'dutch',
      ron: 'romanian',
      hun: 'hungarian',
      ind: 'indonesian',
      srp: 'serbian',
      swe: 'swedish',
      dan: 'danish',
      nob: 'norwegian',
      fin: 'finnish',
      cat: 'catalan',
      tur: 'turkish',
      ces: SIMPLE,
      pol: SIMPLE,
      slk: SIMPLE,
      vie: SIMPLE,
    },
    chosenOnly: ['basque', 'irish', 'lithuanian'],
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
  armenian: { usual: 'armenian', languages: {} },
  greek: { usual: 'greek', languages: {} },
  tamil: { usual: 'tamil', languages: {} },
};

interface Dictionaries {
  readonly usual: string;
  /** Dictionaries by PostgreSQL configuration. */
  readonly byLanguage: ReadonlyMap<string, string>;
}

/** Dictionaries by script. Computed once, because every word of a text needs one. */
const DICTIONARIES: ReadonlyMap<string, Dictionaries> = new Map(
  Object.entries(FAMILIES).map(([script, family]) => [script, dictionariesOf(family)]),
);

function dictionariesOf({ usual, languages, chosenOnly = [] }: Family): Dictionaries {
  const stemmed = [...Object.values(languages), ...chosenOnly].filter((name) => name !== SIMPLE);
  return {
    usual: `${usual}_stem`,
    byLanguage: new Map(stemmed.map((name) => [name, `${name}_stem`])),
  };
}

/** Closest language with a trigram model, for languages that franc does not cover. */
const RELATED: Readonly<Record<string, string>> = {
  dan: 'swe',
  nob: 'swe',
  cat: 'spa',
  slk: 'ces',
};

/** Weight of the likelihood of a related language, and likelihood of a language without one. */
const RELATIVE = 0.9;
const UNRELATED = 0.5;

/**
 * Logarithms of odds, roughly: what one function word says for its languages, what a character of the sample says for
 * the likeliest language by trigrams compared with an impossible one, and what the usual language of a script has before
 * anything is known. Chosen on the messages of Linux programs in 32 languages.
 */
const FUNCTION_WORD = 3;
const CHARACTER = 0.2;
const USUAL = 0.5;

/** Characters of each text that are compared by trigrams; more cost time and change nothing. */
const SAMPLE = 400;
const MIN_SAMPLE_CHARS = 10;

/** Function words by which one language leads the next one where trigrams need not be compared. */
const CLEAR = 5 * FUNCTION_WORD;

/** Maximum weight of the other texts of a document, and of its base, against a language of one text. */
const SAY_OF_DOCUMENT = 5 * FUNCTION_WORD;
const SAY_OF_BASE = 3 * FUNCTION_WORD;

/** Evidence for each language of a script, by ISO 639-3 code; only differences count. */
export type Evidence = ReadonlyMap<string, number>;

const NOTHING: Evidence = new Map();

/** Number of documents of a base per PostgreSQL configuration. */
export type BaseVotes = ReadonlyMap<string, number>;

/** Evidence for the languages of all texts together, by their main script. */
export type SharedEvidence = ReadonlyMap<Script, Evidence>;

const LANGUAGES_OF_WORDS = new Map(
  Object.entries(FUNCTION_WORDS).map(([script, lists]) => [script, languagesByWord(lists)]),
);

function languagesByWord(
  lists: Readonly<Record<string, string>>,
): ReadonlyMap<string, readonly string[]> {
  const byWord = new Map<string, string[]>();
  for (const [language, list] of Object.entries(lists)) {
    for (const word of list.split(' ')) byWord.set(word, [...(byWord.get(word) ?? []), language]);
  }
  return byWord;
}

/** The script that most of the text is in. */
export function mainScript({ words, terms }: TextWords): Script {
  const letters = new Map<Script, number>([['other', terms.length]]);
  for (const { text } of words) {
    const script = scriptOf(text);
    letters.set(script, (letters.get(script) ?? 0) + text.length);
  }
  return [...letters].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

/** Evidence of a text for its language, in its main script: function words and, if they do not decide, trigrams. */
export function evidenceOf(text: string, { words }: TextWords, script: Script): Evidence {
  const codes = script === 'other' ? [] : Object.keys(FAMILIES[script].languages);
  if (codes.length === 0) return NOTHING;
  const evidence = new Map(codes.map((code) => [code, 0]));
  const languages = LANGUAGES_OF_WORDS.get(script);
  for (const { text: word, capitals } of words) {
    // The letter of a code is no function word.
    if (capitals && word.length === 1) continue;
    for (const code of languages?.get(word) ?? []) add(evidence, code, FUNCTION_WORD);
  }
  return isClear(evidence) ? evidence : withTrigrams(evidence, text, codes);
}

function withTrigrams(
  evidence: Map<string, number>,
  text: string,
  codes: readonly string[],
): Evidence {
  const sample = text.slice(0, SAMPLE);
  const likely = new Map(francAll(sample, { only: [...codes], minLength: MIN_SAMPLE_CHARS }));
  // A sample that is too short yields a single entry for an undetermined language.
  if (!codes.some((code) => likely.has(code))) return evidence;
  for (const code of codes) {
    const relative = likely.get(RELATED[code] ?? '') ?? UNRELATED;
    const likelihood = likely.get(code) ?? relative * RELATIVE;
    add(evidence, code, CHARACTER * sample.length * likelihood);
  }
  return evidence;
}

function isClear(evidence: Evidence): boolean {
  const [first = 0, second = 0] = [...evidence.values()].sort((a, b) => b - a);
  return first - second >= CLEAR;
}

/** The sum of what the texts of a document say, by the scripts that they are mainly in. */
export function shared(
  texts: readonly { readonly script: Script; readonly evidence: Evidence }[],
): SharedEvidence {
  const sums = new Map<Script, Map<string, number>>();
  for (const { script, evidence } of texts) {
    const sum = sums.get(script) ?? new Map<string, number>();
    for (const [code, score] of evidence) add(sum, code, score);
    sums.set(script, sum);
  }
  return sums;
}

/** Whether the texts are so clear that their base changes nothing. */
export function isDecided(document: SharedEvidence): boolean {
  return [...document.values()].every((evidence) => evidence.size === 0 || isClear(evidence));
}

/**
 * The PostgreSQL configuration for a text that is mainly in the given script. The text, the other texts of its document
 * and the documents of its base vote: a text differs from its document only where its own words say so clearly.
 */
export function chooseLanguage(
  script: Script,
  ownEvidence: Evidence,
  document: SharedEvidence,
  base: BaseVotes,
): string {
  if (script === 'other') return SIMPLE;
  const { usual, languages } = FAMILIES[script];
  const ofDocument = limited(difference(document.get(script), ownEvidence), SAY_OF_DOCUMENT);
  const ofBase = limited(votesFor(script, base), SAY_OF_BASE);
  let [best, most] = [usual, -Infinity];
  for (const [code, configuration] of Object.entries(languages)) {
    const prior = configuration === usual ? USUAL : 0;
    const score = (ownEvidence.get(code) ?? 0) + ofDocument(code) + ofBase(code) + prior;
    if (score > most) [best, most] = [configuration, score];
  }
  return best;
}

/** Texts that no configuration stems are stemmed as the usual language of the script, so both share their votes. */
function votesFor(script: Exclude<Script, 'other'>, base: BaseVotes): Evidence {
  const { usual, languages } = FAMILIES[script];
  const unstemmed = base.get(SIMPLE) ?? 0;
  return new Map(
    Object.entries(languages).map(([code, configuration]) => {
      const isUsual = configuration === usual || configuration === SIMPLE;
      const votes = base.get(isUsual ? usual : configuration) ?? 0;
      return [code, isUsual ? votes + unstemmed : votes];
    }),
  );
}

/** Distance of a language from the best one, 0 or less, with a lower bound. */
function limited(evidence: Evidence | undefined, limit: number): (code: string) => number {
  if (!evidence || evidence.size === 0) return () => 0;
  const best = Math.max(...evidence.values());
  return (code) => Math.max((evidence.get(code) ?? 0) - best, -limit);
}

function difference(all: Evidence | undefined, ownEvidence: Evidence): Evidence {
  return new Map(
    [...(all ?? NOTHING)].map(([code, score]) => [code, score - (ownEvidence.get(code) ?? 0)]),
  );
}

function add(scores: Map<string, number>, code: string, score: number): void {
  scores.set(code, (scores.get(code) ?? 0) + score);
}

/**
 * Name of PostgreSQL's Snowball dictionary for a word in a text of the given language: that of the language or, for a
 * word of a foreign script, of the script's usual language. Undefined where nothing is to be stemmed.
 */
export function dictionaryOf(word: string, language: string): string | undefined {
  const dictionaries = DICTIONARIES.get(scriptOf(word));
  return dictionaries && (dictionaries.byLanguage.get(language) ?? dictionaries.usual);
}
