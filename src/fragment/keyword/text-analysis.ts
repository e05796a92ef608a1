import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { KeywordRepository } from './keyword.repository.js';
import type { StemRequest } from './keyword.repository.js';
import { dictionaryOf, guessLanguage, mainScript, SAMPLE } from './language.js';
import type { Script } from './language.js';
import { readWords } from './words.js';
import type { TextWords, Word } from './words.js';

/** Answers the stem, '' for a stop word. */
type StemReader = (request: StemRequest) => string;

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

/** A text that is shorter is of the language of those around it. */
const LEAST_TEXT = 100;

/** How much each text adds to the sample of all. */
const SHARE = 100;

/** How long other work may have to wait. */
const LONGEST_STRETCH_MS = 20;

interface ReadText extends TextWords {
  readonly language: string;
}

/** Turns texts into terms by PostgreSQL's Snowball stemmers: the same for what is stored and for what is asked. */
@Injectable()
export class TextAnalysis {
  /** Stems by dictionary and word, '' for stop words. */
  private readonly known = new LRUCache<string, string>({ max: KEPT });

  constructor(private readonly repository: KeywordRepository) {}

  /** The terms of texts that belong together, in their order. */
  async analyse(texts: readonly string[]): Promise<AnalysedText[]> {
    const pause = pauses();
    const read: ReadText[] = [];
    const languageOfAll = sharedLanguage(texts);
    for (const text of texts) {
      await pause();
      const found = readWords(text);
      const script = mainScript(found);
      const language =
        text.length < LEAST_TEXT ? languageOfAll(script) : guessLanguage(text, script);
      read.push({ ...found, language });
    }
    const stemOf = await this.stems(read.flatMap(requestsOf));
    const analysed: AnalysedText[] = [];
    for (const text of read) {
      await pause();
      analysed.push(counted(text, stemOf));
    }
    return analysed;
  }

  /**
   * The terms of a question, each with the word that it stands for, stemmed as in texts of each of the languages. Stop
   * words only where there is nothing else.
   */
  async termsOf(
    question: string,
    languages: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const { words, terms } = readWords(question);
    const readings = languages.map((language) => ({ words, terms, language }));
    const stemOf = await this.stems(readings.flatMap(requestsOf));
    const stopped = clearlyStopped(readings, stemOf);
    const asked = new Map(terms.map((term) => [term, term]));
    for (const { language } of readings) {
      for (const word of words) {
        const term = termOf(word, language, stemOf);
        const isMeant = term !== '' && (word.capitals || !stopped.has(word.text));
        if (isMeant && !asked.has(term)) asked.set(term, word.text);
      }
    }
    return asked.size > 0 ? asked : new Map(words.map(({ text }) => [text, text]));
  }

  /** A reader of the stems of these words. */
  private async stems(requests: readonly StemRequest[]): Promise<StemReader> {
    const stems = new Map<string, string>();
    const missing = new Map<string, StemRequest>();
    for (const request of requests) {
      const key = keyOf(request);
      if (stems.has(key) || missing.has(key)) continue;
      const stem = this.known.get(key);
      if (stem === undefined) missing.set(key, request);
      else stems.set(key, stem);
    }
    const asked = [...missing];
    for (let start = 0; start < asked.length; start += BATCH) {
      const batch = asked.slice(start, start + BATCH);
      const answers = await this.repository.stems(batch.map(([, request]) => request));
      batch.forEach(([key, { word }], index) => {
        const stem = answers[index] ?? word;
        stems.set(key, stem);
        this.known.set(key, stem);
      });
    }
    return (request) => stems.get(keyOf(request)) ?? request.word;
  }
}

function requestsOf({ words, language }: ReadText): StemRequest[] {
  return words.flatMap(({ text }) => {
    const dictionary = dictionaryOf(text, language);
    return dictionary === undefined ? [] : [{ dictionary, word: text }];
  });
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
  const stem = dictionary === undefined ? text : stemOf({ dictionary, word: text });
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

/** The language of all the texts together, if they were in the given script. */
function sharedLanguage(texts: readonly string[]): (script: Script) => string {
  const guesses = new Map<Script, string>();
  const sample = texts
    .slice(0, SAMPLE)
    .map((text) => text.slice(0, SHARE))
    .join('\n');
  return (script) => {
    const language = guesses.get(script) ?? guessLanguage(sample, script);
    guesses.set(script, language);
    return language;
  };
}

/** Lets other work in between, once a stretch has become long. */
function pauses(): () => Promise<void> {
  let began = performance.now();
  return async () => {
    if (performance.now() - began < LONGEST_STRETCH_MS) return;
    await setImmediate();
    began = performance.now();
  };
}
