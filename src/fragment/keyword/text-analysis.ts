import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { KeywordRepository } from './keyword.repository.js';
import type { StemRequest } from './keyword.repository.js';
import {
  chooseLanguage,
  dictionaryOf,
  evidenceOf,
  isDecided,
  mainScript,
  shared,
} from './language.js';
import type { BaseVotes, Evidence, Script } from './language.js';
import { spellingsOf, readWords } from './words.js';
import type { JoinedWords, TextWords, Word } from './words.js';

/** Answers the stem by one of PostgreSQL's dictionaries, '' for a stop word. */
type StemReader = (word: string, dictionary: string) => string;

/** Stems that are kept; a language has some ten thousand that matter. */
const KEPT = 50_000;

/** Words of one statement. */
const BATCH = 10_000;

function keyOf({ dictionary, word }: StemRequest): string {
  return `${dictionary} ${word}`;
}

/** A text as the keyword index sees it. */
export interface AnalysedText {
  /** The PostgreSQL text search configuration its words were stemmed by; `simple` where none fits. */
  readonly language: string;
  /** Number of terms, including repetitions. */
  readonly termCount: number;
  /** Number of occurrences of each term, at least 1. */
  readonly terms: ReadonlyMap<string, number>;
}

/** A word of a question in the forms that texts may have it in, which count as one word. */
export interface QuestionWord {
  /** Lower-case spelling; the first one if several have the same stem. */
  readonly word: string;
  /** Stems in the languages of the base. */
  readonly terms: readonly string[];
  /** The stems of its other spellings, such as the one without accents. */
  readonly similar: readonly string[];
  /** Number of occurrences in the question. */
  readonly frequency: number;
}

/** Words of a question that texts may have as one. */
export interface AskedJoined extends QuestionWord {
  /** A name or a code, for which a text gets more than for its words. */
  readonly isName: boolean;
  /** The places of its words among those of the question, without stop words. */
  readonly places: readonly number[];
}

export interface AnalysedQuestion {
  readonly words: readonly QuestionWord[];
  readonly joined: readonly AskedJoined[];
}

/** Prior knowledge about the language of texts that belong together. */
export interface LanguageHints {
  /** The PostgreSQL configuration that their base prescribes; absent: it is recognised. */
  readonly language?: string | undefined;
  /** The languages of other documents of their base; called only where the texts say too little. */
  readonly votes?: () => Promise<BaseVotes>;
}

/** Maximum time that other work has to wait. */
const MAX_STRETCH_MS = 20;

interface ReadText extends TextWords {
  readonly language: string;
}

interface EvidencedText {
  readonly script: Script;
  readonly evidence: Evidence;
}

/**
 * Reads the texts of a document. Equal words are one object and equal terms one string, because a large document has most
 * of them thousands of times.
 */
class Vocabulary {
  private readonly words = new Map<string, Word>();
  private readonly capitals = new Map<string, Word>();
  private readonly terms = new Map<string, string>();

  read(text: string): TextWords {
    const { words, joined, terms } = readWords(text);
    return {
      words: words.map((word) =>
        word.isSign ? word : interned(word.capitals ? this.capitals : this.words, word.text, word),
      ),
      joined: joined.map((one) => ({ ...one, text: interned(this.terms, one.text, one.text) })),
      terms: terms.map((term) => interned(this.terms, term, term)),
    };
  }
}

/** The first value that was given for the key. */
function interned<Value>(values: Map<string, Value>, key: string, value: Value): Value {
  const cached = values.get(key);
  if (cached !== undefined) return cached;
  values.set(key, value);
  return value;
}

function evidenced(text: string, words: TextWords): EvidencedText {
  const script = mainScript(words);
  return { script, evidence: evidenceOf(text, words, script) };
}

/** Placeholder for a text whose language is given. */
const UNREAD: EvidencedText = { script: 'other', evidence: new Map() };

interface MergedWord {
  /** Position in the question. */
  readonly place: number;
  readonly word: string;
  readonly terms: Set<string>;
  readonly similar: Set<string>;
  frequency: number;
  /** The word that it has become a part of. */
  mergedInto?: MergedWord;
}

/** The words of a question; those that share a stem are one word. */
class QuestionWords {
  private readonly words = new Set<MergedWord>();
  private readonly byTerm = new Map<string, MergedWord>();
  private added = 0;

  add(
    word: string,
    terms: readonly string[],
    similar: readonly string[] = [],
  ): MergedWord | undefined {
    if (terms.length === 0) return undefined;
    const matches = terms.flatMap((term) => this.byTerm.get(term) ?? []);
    const [first, ...merged] = [...new Set(matches)].sort((a, b) => a.place - b.place);
    const target = first ?? {
      place: this.added,
      word,
      terms: new Set<string>(),
      similar: new Set<string>(),
      frequency: 0,
    };
    this.added += 1;
    this.words.add(target);
    for (const one of merged) {
      this.words.delete(one);
      one.mergedInto = target;
      this.name(target, one.terms, one.similar);
      target.frequency += one.frequency;
    }
    this.name(target, terms, similar);
    target.frequency += 1;
    return target;
  }

  all(): QuestionWord[] {
    return [...this.words].map(({ word, terms, similar, frequency }) => ({
      word,
      terms: [...terms],
      similar: [...similar].filter((term) => !terms.has(term)),
      frequency,
    }));
  }

  /** Indexes of the words in `all`. */
  placesOf(words: readonly MergedWord[]): number[] {
    const all = [...this.words];
    const places = words.map((word) => {
      let current = word;
      while (current.mergedInto) current = current.mergedInto;
      return all.indexOf(current);
    });
    return [...new Set(places)];
  }

  private name(word: MergedWord, terms: Iterable<string>, similar: Iterable<string>): void {
    for (const term of terms) {
      word.terms.add(term);
      this.byTerm.set(term, word);
    }
    for (const term of similar) word.similar.add(term);
  }
}

interface MergedJoined extends Omit<AskedJoined, 'places'> {
  readonly words: readonly MergedWord[];
  frequency: number;
}

/** The terms of a word in texts of one language. */
interface WordTerms {
  /** Stem; '' for a stop word. */
  readonly term: string;
  /** The stems of its other spellings. */
  readonly similar: readonly string[];
}

const STOPPED: WordTerms = { term: '', similar: [] };

/** The terms of words whose stems are known, each found once. */
class TermReader {
  private readonly termsByLanguage = new Map<string, Map<string, WordTerms>>();

  constructor(private readonly stemOf: StemReader) {}

  of(word: Word, language: string): WordTerms {
    const ofLanguage = this.termsByLanguage.get(language) ?? new Map<string, WordTerms>();
    this.termsByLanguage.set(language, ofLanguage);
    const key = word.capitals ? `^${word.text}` : word.text;
    const cachedTerms = ofLanguage.get(key);
    if (cachedTerms) return cachedTerms;
    const terms = this.read(word, language);
    ofLanguage.set(key, terms);
    return terms;
  }

  ofJoined(
    { text, isDotted }: Pick<JoinedWords, 'text' | 'isDotted'>,
    language: string,
  ): WordTerms {
    return isDotted ? { term: text, similar: [] } : this.of({ text, capitals: false }, language);
  }

  private read(word: Word, language: string): WordTerms {
    const term = termOf(word, language, this.stemOf);
    if (term === '') return STOPPED;
    const others = spellingsOf(word.text, language).map((text) =>
      termOf({ text, capitals: word.capitals }, language, this.stemOf),
    );
    return { term, similar: [...new Set(others)].filter((one) => one !== '' && one !== term) };
  }
}

/** Turns texts into terms by PostgreSQL's Snowball stemmers: the same for what is stored and for what is asked. */
@Injectable()
export class TextAnalysis {
  /** Stems by dictionary and word, '' for stop words. */
  private readonly stemCache = new LRUCache<string, string>({ max: KEPT });

  constructor(private readonly repository: KeywordRepository) {}

  /** The terms of texts that belong together, in their order. */
  async analyse(texts: readonly string[], hints: LanguageHints = {}): Promise<AnalysedText[]> {
    const pause = pauses();
    const read = await this.withLanguages(texts, hints, pause);
    const reader = new TermReader(await this.stems(read, pause));
    const analysed: AnalysedText[] = [];
    for (const text of read) {
      await pause();
      analysed.push(counted(text, reader));
    }
    return analysed;
  }

  /**
   * The words of a question, stemmed as in texts of each of the languages. Stop words only where there is nothing else.
   */
  async wordsOf(question: string, languages: readonly string[]): Promise<AnalysedQuestion> {
    const read = readQuestion(question);
    const readings = languages.map((language) => ({ ...read, language }));
    const stemOf = await this.stems(readings, pauses());
    const reader = new TermReader(stemOf);
    const stopped = clearlyStopped(readings, stemOf);
    const questionWords = new QuestionWords();
    for (const term of read.terms) questionWords.add(term, [term]);
    const added = read.words.map((word) => {
      if (!word.capitals && stopped.has(word.text)) return undefined;
      const { terms, similar } = questionTerms(languages.map((one) => reader.of(word, one)));
      return questionWords.add(word.text, terms, similar);
    });
    const joined = new Map<string, MergedJoined>();
    for (const { text, from, to, isName, ...one } of read.joined) {
      const words = added.slice(from, to).filter((word) => word !== undefined);
      if (one.isApart && words.length < to - from) continue;
      const { terms, similar } = questionTerms(
        languages.map((language) => reader.ofJoined({ ...one, text }, language)),
      );
      const existing = joined.get(text);
      if (existing) existing.frequency += 1;
      else if (terms.length > 0) {
        joined.set(text, { word: text, terms, similar, isName, words, frequency: 1 });
      }
    }
    const words = questionWords.all();
    if (words.length + joined.size === 0) {
      for (const { text } of read.words) questionWords.add(text, [text]);
      return { words: questionWords.all(), joined: [] };
    }
    return {
      words,
      joined: [...joined.values()].map(({ words: parts, ...one }) => ({
        ...one,
        places: questionWords.placesOf(parts),
      })),
    };
  }

  /**
   * The words of each text that have one of the terms in any of the languages, as the text has them, each once. Where only
   * some words of a name such as time-sharing have one, they are in lower case.
   */
  async wordsWith(
    terms: ReadonlySet<string>,
    texts: readonly string[],
    languages: readonly string[],
  ): Promise<string[][]> {
    const pause = pauses();
    const read: ReturnType<typeof readWords>[] = [];
    for (const text of texts) {
      await pause();
      read.push(readWords(text));
    }
    const readings = read.flatMap((one) => languages.map((language) => ({ ...one, language })));
    const reader = new TermReader(await this.stems(readings, pause));
    const has = (wordTerms: WordTerms): boolean =>
      terms.has(wordTerms.term) || wordTerms.similar.some((term) => terms.has(term));
    const having: string[][] = [];
    for (const { words, joined, pieces, terms: unspaced } of read) {
      await pause();
      const isWord = (word: Word): boolean => languages.some((one) => has(reader.of(word, one)));
      const joinedOnes = joined.filter((each) =>
        languages.some((one) => has(reader.ofJoined(each, one))),
      );
      const matchedPieces = pieces.flatMap(({ written: piece, from, to }) => {
        if (joinedOnes.some((one) => one.from < to && one.to > from)) return [piece];
        const parts = words.slice(from, to);
        const matchingParts = parts.filter(isWord);
        if (matchingParts.length === 0) return [];
        const isWhole = matchingParts.length === parts.length || UNSEPARATED.test(piece);
        return isWhole ? [piece] : matchingParts.map(({ text }) => text);
      });
      having.push([...new Set([...matchedPieces, ...unspaced.filter((term) => terms.has(term))])]);
    }
    return having;
  }

  private async withLanguages(
    texts: readonly string[],
    { language, votes }: LanguageHints,
    pause: () => Promise<void>,
  ): Promise<ReadText[]> {
    const vocabulary = new Vocabulary();
    const read: (TextWords & EvidencedText)[] = [];
    for (const text of texts) {
      await pause();
      const textWords = vocabulary.read(text);
      read.push({
        ...textWords,
        ...(language === undefined ? evidenced(text, textWords) : UNREAD),
      });
    }
    const languageOf = language === undefined ? await recognising(read, votes) : () => language;
    const withLanguage: ReadText[] = [];
    for (const text of read) {
      await pause();
      const { words, joined, terms } = text;
      withLanguage.push({ words, joined, terms, language: languageOf(text) });
    }
    return withLanguage;
  }

  /** A reader of the stems of the words of these texts. */
  private async stems(texts: readonly ReadText[], pause: () => Promise<void>): Promise<StemReader> {
    const stems = new Map<string, Map<string, string>>();
    const missing: StemRequest[] = [];
    const ask = (word: string, language: string): boolean => {
      const dictionary = dictionaryOf(word, language);
      if (dictionary === undefined) return false;
      const ofDictionary = stems.get(dictionary) ?? new Map<string, string>();
      stems.set(dictionary, ofDictionary);
      if (ofDictionary.has(word)) return false;
      const stem = this.stemCache.get(keyOf({ dictionary, word }));
      if (stem === undefined) missing.push({ dictionary, word });
      ofDictionary.set(word, stem ?? word);
      return true;
    };
    for (const { words, joined, language } of texts) {
      await pause();
      const askAll = (text: string): void => {
        if (!ask(text, language)) return;
        for (const spelling of spellingsOf(text, language)) ask(spelling, language);
      };
      for (const { text } of words) askAll(text);
      for (const { text, isDotted } of joined) if (!isDotted) askAll(text);
    }
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const answers = await this.repository.stems(batch);
      for (const [index, request] of batch.entries()) {
        const stem = answers[index] ?? request.word;
        stems.get(request.dictionary)?.set(request.word, stem);
        this.stemCache.set(keyOf(request), stem);
      }
    }
    return (word, dictionary) => stems.get(dictionary)?.get(word) ?? word;
  }
}

/** One word, or a name that is divided only by capitals and digits. */
const UNSEPARATED = /^[\p{L}\p{N}\p{M}]+$/u;

const OTHER_LETTER = /[\p{L}--\p{Lu}]/v;

/** Capitals mark no word where several words have them and no letter is without: IT stays marked, alone or in a sentence. */
function readQuestion(question: string): TextWords {
  const read = readWords(question);
  const marked = read.words.filter(({ capitals }) => capitals).length;
  if (marked < 2 || OTHER_LETTER.test(question)) return read;
  return { ...read, words: read.words.map((word) => ({ ...word, capitals: false })) };
}

/** The terms of a word in texts of several languages. */
function questionTerms(ofLanguages: readonly WordTerms[]): { terms: string[]; similar: string[] } {
  const terms = ofLanguages.map(({ term }) => term).filter((term) => term !== '');
  return { terms, similar: ofLanguages.flatMap(({ similar }) => similar) };
}

async function recognising(
  texts: readonly EvidencedText[],
  votes: LanguageHints['votes'],
): Promise<(text: EvidencedText) => string> {
  const document = shared(texts);
  const base: BaseVotes = isDecided(document) || !votes ? new Map() : await votes();
  return ({ script, evidence }) => chooseLanguage(script, evidence, document, base);
}

function counted({ words, joined, terms, language }: ReadText, reader: TermReader): AnalysedText {
  const counts = new Map<string, number>();
  let termCount = 0;
  const mention = (term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
  };
  const count = ({ term, similar }: WordTerms): void => {
    mention(term);
    for (const other of similar) mention(other);
  };
  for (const term of terms) mention(term);
  termCount += terms.length;
  const isStop = (word: Word): boolean => reader.of(word, language).term === '';
  for (const word of words) {
    if (word.isSign || isStop(word)) continue;
    count(reader.of(word, language));
    termCount += 1;
  }
  // Joined words repeat the single ones, so they do not add to the length of the text.
  for (const one of joined) {
    if (one.isAskedOnly) continue;
    if (one.isApart && words.slice(one.from, one.to).some(isStop)) continue;
    const wordTerms = reader.ofJoined(one, language);
    if (wordTerms.term !== '') count(wordTerms);
  }
  return { language, termCount, terms: counts };
}

/** The term of a word in a text of the language, '' for a stop word. */
function termOf({ text, capitals }: Word, language: string, stemOf: StemReader): string {
  const dictionary = dictionaryOf(text, language);
  const stem = dictionary === undefined ? text : stemOf(text, dictionary);
  return stem === '' && capitals ? text : stem;
}

/**
 * Two stop words show which of several languages a question is in. Its stop words must not be looked for as words of
 * the other ones, where they may be rare and weigh much: a German "die" in English texts.
 */
function clearlyStopped(readings: readonly ReadText[], stemOf: StemReader): ReadonlySet<string> {
  const stops = readings.map(
    ({ words, language }) =>
      new Set(
        words
          .filter((word) => termOf({ ...word, capitals: false }, language, stemOf) === '')
          .map(({ text }) => text),
      ),
  );
  const most = Math.max(2, ...stops.map(({ size }) => size));
  return new Set(stops.filter(({ size }) => size === most).flatMap((words) => [...words]));
}

/** Lets other work in between, once a stretch has become long. */
export function pauses(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < MAX_STRETCH_MS) return;
    await setImmediate();
    began = performance.now();
  };
}
