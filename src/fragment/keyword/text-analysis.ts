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
import { readWords } from './words.js';
import type { TextWords, Word } from './words.js';

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
  /** How many terms it has, repetitions included. */
  readonly termCount: number;
  /** How often each term occurs, at least once. */
  readonly terms: ReadonlyMap<string, number>;
}

/** A word of a question in the forms that texts may have it in, which count as one word. */
export interface AskedWord {
  /** As it was written, in lower case; the first one, where several have the same stem. */
  readonly word: string;
  /** Its stems in the languages of the base. */
  readonly terms: readonly string[];
  /** How often the question has it. */
  readonly frequency: number;
}

/** What is known of the language of texts that belong together. */
export interface KnownLanguage {
  /** The PostgreSQL configuration that their base prescribes; absent: it is recognised. */
  readonly language?: string | undefined;
  /** The languages of other documents of their base; called only where the texts say too little. */
  readonly votes?: () => Promise<BaseVotes>;
}

/** How long other work may have to wait. */
const LONGEST_STRETCH_MS = 20;

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
    const { words, terms } = readWords(text);
    return {
      words: words.map((word) =>
        interned(word.capitals ? this.capitals : this.words, word.text, word),
      ),
      terms: terms.map((term) => interned(this.terms, term, term)),
    };
  }
}

/** The first value that was given for the key. */
function interned<Value>(values: Map<string, Value>, key: string, value: Value): Value {
  const found = values.get(key);
  if (found !== undefined) return found;
  values.set(key, value);
  return value;
}

function evidenced(text: string, found: TextWords): EvidencedText {
  const script = mainScript(found);
  return { script, evidence: evidenceOf(text, found, script) };
}

/** Of a text whose language is given. */
const UNREAD: EvidencedText = { script: 'other', evidence: new Map() };

interface JoinedWord {
  /** In the order of the question. */
  readonly place: number;
  readonly word: string;
  readonly terms: Set<string>;
  frequency: number;
}

/** The words of a question; those that share a stem are one word. */
class AskedWords {
  private readonly words = new Set<JoinedWord>();
  private readonly byTerm = new Map<string, JoinedWord>();
  private added = 0;

  add(word: string, terms: readonly string[]): void {
    if (terms.length === 0) return;
    const found = terms.flatMap((term) => this.byTerm.get(term) ?? []);
    const [first, ...joined] = [...new Set(found)].sort((a, b) => a.place - b.place);
    const kept = first ?? { place: this.added, word, terms: new Set<string>(), frequency: 0 };
    this.added += 1;
    this.words.add(kept);
    for (const one of joined) {
      this.words.delete(one);
      this.name(kept, one.terms);
      kept.frequency += one.frequency;
    }
    this.name(kept, terms);
    kept.frequency += 1;
  }

  all(): AskedWord[] {
    return [...this.words].map(({ word, terms, frequency }) => ({
      word,
      terms: [...terms],
      frequency,
    }));
  }

  private name(word: JoinedWord, terms: Iterable<string>): void {
    for (const term of terms) {
      word.terms.add(term);
      this.byTerm.set(term, word);
    }
  }
}

/** Turns texts into terms by PostgreSQL's Snowball stemmers: the same for what is stored and for what is asked. */
@Injectable()
export class TextAnalysis {
  /** Stems by dictionary and word, '' for stop words. */
  private readonly known = new LRUCache<string, string>({ max: KEPT });

  constructor(private readonly repository: KeywordRepository) {}

  /** The terms of texts that belong together, in their order. */
  async analyse(texts: readonly string[], known: KnownLanguage = {}): Promise<AnalysedText[]> {
    const pause = pauses();
    const read = await this.withLanguages(texts, known, pause);
    const stemOf = await this.stems(read, pause);
    const analysed: AnalysedText[] = [];
    for (const text of read) {
      await pause();
      analysed.push(counted(text, stemOf));
    }
    return analysed;
  }

  /**
   * The words of a question, stemmed as in texts of each of the languages. Stop words only where there is nothing else.
   */
  async wordsOf(question: string, languages: readonly string[]): Promise<AskedWord[]> {
    const { words, terms } = readQuestion(question);
    const readings = languages.map((language) => ({ words, terms, language }));
    const stemOf = await this.stems(readings, pauses());
    const stopped = clearlyStopped(readings, stemOf);
    const asked = new AskedWords();
    for (const term of terms) asked.add(term, [term]);
    for (const word of words) {
      if (!word.capitals && stopped.has(word.text)) continue;
      const stems = languages.map((language) => termOf(word, language, stemOf));
      asked.add(
        word.text,
        stems.filter((stem) => stem !== ''),
      );
    }
    if (asked.all().length === 0) for (const { text } of words) asked.add(text, [text]);
    return asked.all();
  }

  private async withLanguages(
    texts: readonly string[],
    { language, votes }: KnownLanguage,
    pause: () => Promise<void>,
  ): Promise<ReadText[]> {
    const vocabulary = new Vocabulary();
    const read: (TextWords & EvidencedText)[] = [];
    for (const text of texts) {
      await pause();
      const found = vocabulary.read(text);
      read.push({ ...found, ...(language === undefined ? evidenced(text, found) : UNREAD) });
    }
    const languageOf = language === undefined ? await recognising(read, votes) : () => language;
    const withLanguage: ReadText[] = [];
    for (const text of read) {
      await pause();
      const { words, terms } = text;
      withLanguage.push({ words, terms, language: languageOf(text) });
    }
    return withLanguage;
  }

  /** A reader of the stems of the words of these texts. */
  private async stems(texts: readonly ReadText[], pause: () => Promise<void>): Promise<StemReader> {
    const stems = new Map<string, Map<string, string>>();
    const missing: StemRequest[] = [];
    for (const { words, language } of texts) {
      await pause();
      for (const { text: word } of words) {
        const dictionary = dictionaryOf(word, language);
        if (dictionary === undefined) continue;
        const ofDictionary = stems.get(dictionary) ?? new Map<string, string>();
        stems.set(dictionary, ofDictionary);
        if (ofDictionary.has(word)) continue;
        const stem = this.known.get(keyOf({ dictionary, word }));
        if (stem === undefined) missing.push({ dictionary, word });
        ofDictionary.set(word, stem ?? word);
      }
    }
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH);
      const answers = await this.repository.stems(batch);
      for (const [index, request] of batch.entries()) {
        const stem = answers[index] ?? request.word;
        stems.get(request.dictionary)?.set(request.word, stem);
        this.known.set(keyOf(request), stem);
      }
    }
    return (word, dictionary) => stems.get(dictionary)?.get(word) ?? word;
  }
}

const OTHER_LETTER = /[\p{L}--\p{Lu}]/v;

/** Capitals mark no word where several words have them and no letter is without: IT stays marked, alone or in a sentence. */
function readQuestion(question: string): TextWords {
  const { words, terms } = readWords(question);
  const marked = words.filter(({ capitals }) => capitals).length;
  if (marked < 2 || OTHER_LETTER.test(question)) return { words, terms };
  return { words: words.map(({ text }) => ({ text, capitals: false })), terms };
}

async function recognising(
  texts: readonly EvidencedText[],
  votes: KnownLanguage['votes'],
): Promise<(text: EvidencedText) => string> {
  const document = shared(texts);
  const base: BaseVotes = isDecided(document) || !votes ? new Map() : await votes();
  return ({ script, evidence }) => chooseLanguage(script, evidence, document, base);
}

function counted({ words, terms, language }: ReadText, stemOf: StemReader): AnalysedText {
  const counts = new Map<string, number>();
  let termCount = 0;
  const count = (term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
    termCount += 1;
  };
  for (const term of terms) count(term);
  for (const word of words) {
    const term = termOf(word, language, stemOf);
    if (term !== '') count(term);
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
    if (performance.now() - began < LONGEST_STRETCH_MS) return;
    await setImmediate();
    began = performance.now();
  };
}
