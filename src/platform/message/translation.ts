import type { Message, Texts } from './message.js';
import type { Response } from 'express';
import { chinese } from './chinese/index.js';

/** A language of the API's messages, as the header Content-Language names it. */
export type Language = 'en' | 'zh-CN';

/** Ranges of a header that are read; browsers send fewer than ten. */
const MAX_RANGES = 50;

/**
 * The language for a header Accept-Language (RFC 9110, 12.5.4): of English and Chinese the one that the client prefers; English
 * without a header, and when it names neither.
 */
export function languageOf(header: string | undefined): Language {
  if (header === undefined || !/zh/i.test(header)) return 'en';
  let best: { readonly language: Language; readonly quality: number } | undefined;
  for (const range of header.split(',', MAX_RANGES)) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const language = languageOfTag(name);
    const quality = qualityOf(parameters);
    if (language && quality > (best?.quality ?? 0)) best = { language, quality };
  }
  return best?.language ?? 'en';
}

function languageOfTag(tag: string): Language | undefined {
  if (tag === '*') return 'en';
  const [language] = tag.split(/[-_]/);
  if (language === 'zh') return 'zh-CN';
  return language === 'en' ? 'en' : undefined;
}

/** 0 for a weight that cannot be read, so that its range is ignored. */
function qualityOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  if (weight === undefined) return 1;
  return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0;
}

/** A value in a template: numbered, or the name of a field, as class-validator writes it. */
const PROPERTY = '$property';
const PLACE = /(\{\d+\}|\$property)/;

/** The path of a field in a request, such as budget.maxTokens. */
const FIELD = /^[\w.[\]-]+$/;

/** An English text with places for values, such as "The model {0} is disabled. Enable it." */
class Template {
  /** The texts between the values; the first and the last can be empty. */
  private readonly literals: readonly string[];
  /** The placeholders of the values, such as {0}. */
  private readonly names: readonly string[];
  /** Characters outside of the values. */
  readonly fixed: number;

  constructor(text: string) {
    const pieces = text.split(PLACE);
    this.literals = pieces.filter((_, at) => at % 2 === 0);
    this.names = pieces.filter((_, at) => at % 2 === 1);
    this.fixed = this.literals.reduce((sum, literal) => sum + literal.length, 0);
  }

  /** The beginning of every text of this template. */
  get start(): string {
    return this.literals[0] ?? '';
  }

  /**
   * The values with which this template makes the text, by their placeholders; undefined if it does not make it. Takes time
   * in proportion to the length of the text.
   */
  valuesIn(text: string): ReadonlyMap<string, string> | undefined {
    const [first = '', ...between] = this.literals;
    const last = between.pop();
    if (last === undefined) return text === first ? new Map() : undefined;
    if (!text.startsWith(first) || !text.endsWith(last)) return undefined;
    const end = text.length - last.length;
    const values: string[] = [];
    let at = first.length;
    for (const literal of between) {
      const next = text.indexOf(literal, at);
      if (next === -1) return undefined;
      values.push(text.slice(at, next));
      at = next + literal.length;
    }
    if (at > end) return undefined;
    values.push(text.slice(at, end));
    const named = new Map(this.names.map((name, index) => [name, values[index] ?? '']));
    const field = named.get(PROPERTY);
    return field === undefined || FIELD.test(field) ? named : undefined;
  }
}

interface Entry {
  readonly template: Template;
  readonly translation: string;
}

interface Translated {
  readonly text: string;
  /** The characters of the text that its templates fix; of two readings the one with more is right. */
  readonly fixed: number;
}

/** Separators between two messages of a text. */
const SEPARATOR = /, |; |\n| /g;

/** Texts with more places are divided only at ends of sentences and lines, and at last not at all. */
const MAX_PLACES = 24;
const MAX_PLACES_INSIDE = 8;
/** Longer texts are not read. Messages are far shorter; those that repeat the text of a provider are cut before. */
const MAX_CHARS = 20_000;
/** Limit of messages within messages. */
const MAX_DEPTH = 3;
/** A template with values that fixes fewer characters, those of its parts included, says nothing about a text. */
const MIN_FIXED_CHARS = 8;
/** Characters that are compared with the templates before a text is given up, some milliseconds of work. */
const MAX_COMPARED_CHARS = 150_000;
/** Fixed cost of a comparison, beside the length of its text. */
const COMPARISON_COST_CHARS = 200;

const VALUE = /\{(\d+)(?::(message|phrase))?\}|\$property/g;

/** Finds the templates that made an English text, and writes the text in another language with the same values. */
export class Catalogue {
  private readonly whole: ReadonlyMap<string, string>;
  private readonly messages: Index;
  private readonly phrases: Index;

  constructor({ messages, phrases }: Texts) {
    this.whole = new Map(Object.entries(messages));
    this.messages = new Index(messages);
    this.phrases = new Index(phrases);
  }

  /** The text in the language of the catalogue; undefined when no templates make all of it. */
  translate(text: string): string | undefined {
    // Most messages have no values.
    const whole = this.whole.get(text);
    if (whole !== undefined || text.length > MAX_CHARS) return whole;
    return new Reading(this.messages, this.phrases).translate(text);
  }
}

/** The entries of a language by how their templates begin. */
class Index {
  private readonly byStart = new Map<string, Entry[]>();
  /** Entries whose templates begin with a value or have only a short text before it. */
  private readonly open: readonly Entry[];

  constructor(texts: Readonly<Record<string, string>>) {
    const entries = Object.entries(texts).map(([template, translation]) => ({
      template: new Template(template),
      translation,
    }));
    for (const entry of entries) {
      const start = startOf(entry.template.start);
      if (start.length === START_CHARS) this.byStart.set(start, [...this.at(start), entry]);
    }
    this.open = entries.filter(({ template }) => template.start.length < START_CHARS);
  }

  /** The entries that may have made the text. */
  for(text: string): readonly Entry[] {
    return [...this.at(startOf(text)), ...this.open];
  }

  private at(start: string): readonly Entry[] {
    return this.byStart.get(start) ?? [];
  }
}

/** Characters by which templates are looked up. */
const START_CHARS = 6;

function startOf(text: string): string {
  return text.slice(0, START_CHARS);
}

/** One translation, whose cost is counted, because the work for a hostile text would grow with a high power of its length. */
class Reading {
  private spent = 0;

  constructor(
    private readonly messages: Index,
    private readonly phrases: Index,
  ) {}

  translate(text: string): string | undefined {
    const reading = this.read(text, 0);
    return this.isGivenUp ? undefined : reading?.text;
  }

  private get isGivenUp(): boolean {
    return this.spent > MAX_COMPARED_CHARS;
  }

  /** One message, or several with separators between them; the division in which the templates fix most of the text. */
  private read(text: string, depth: number): Translated | undefined {
    if (depth > MAX_DEPTH) return undefined;
    const places = placesOf(text, depth === 0 ? MAX_PLACES : MAX_PLACES_INSIDE);
    // The best reading from each place to the end, the last place first.
    const readings = new Map<number, Translated>();
    for (const { start } of places.toReversed()) {
      const best = this.best(text, start, { places, readings, depth });
      if (best) readings.set(start, best);
    }
    return readings.get(0);
  }

  private best(
    text: string,
    start: number,
    { places, readings, depth }: Division,
  ): Translated | undefined {
    let best: Translated | undefined;
    const ends = places.filter((place) => place.start > start);
    for (const end of [...ends, undefined]) {
      const rest = end && readings.get(end.start);
      if (end && !rest) continue;
      const first = this.single(text.slice(start, end?.before), depth);
      if (!first) continue;
      const whole = rest ? joined(first, rest, end.separator) : first;
      if (!best || whole.fixed > best.fixed) best = whole;
    }
    return best;
  }

  private single(text: string, depth: number): Translated | undefined {
    let best: Translated | undefined;
    for (const { translation, values, fixed } of this.matches(this.messages, text)) {
      const candidate = this.filledIn(translation, values, { fixed, depth });
      if (!candidate) continue;
      const isSure = values.size === 0 || candidate.fixed >= MIN_FIXED_CHARS;
      if (isSure && candidate.fixed > (best?.fixed ?? 0)) best = candidate;
    }
    return best;
  }

  /** The entries whose templates make the text; none any more once the text is given up. */
  private matches(index: Index, text: string): Match[] {
    this.spent += text.length + COMPARISON_COST_CHARS;
    if (this.isGivenUp) return [];
    return index.for(text).flatMap(({ template, translation }) => {
      const values = template.valuesIn(text);
      return values ? [{ translation, values, fixed: template.fixed }] : [];
    });
  }

  private filledIn(
    translation: string,
    values: ReadonlyMap<string, string>,
    parent: { readonly fixed: number; readonly depth: number },
  ): Translated | undefined {
    let { fixed } = parent;
    let unread = 0;
    const text = translation.replace(VALUE, (placeholder, index?: string, kind?: string) => {
      const value = values.get(index === undefined ? placeholder : `{${index}}`) ?? placeholder;
      const part = this.part(value, kind, parent.depth);
      fixed += part?.fixed ?? 0;
      // A message that is half in another language would be harder to read than one in English.
      if (kind === 'message' && !part) unread += 1;
      return part?.text ?? value;
    });
    return unread === 0 ? { text, fixed } : undefined;
  }

  private part(value: string, kind: string | undefined, depth: number): Translated | undefined {
    if (kind === undefined) return undefined;
    if (kind === 'message') return this.read(value, depth + 1);
    const [best] = this.matches(this.phrases, value).sort((a, b) => b.fixed - a.fixed);
    return best && this.filledIn(best.translation, best.values, { fixed: best.fixed, depth });
  }
}

interface Match {
  readonly translation: string;
  readonly values: ReadonlyMap<string, string>;
  readonly fixed: number;
}

interface Boundary {
  /** The end of the message before the separator. */
  readonly before: number;
  readonly start: number;
  readonly separator: string;
}

interface Division {
  readonly places: readonly Boundary[];
  readonly readings: ReadonlyMap<number, Translated>;
  readonly depth: number;
}

function placesOf(text: string, most: number): readonly Boundary[] {
  const separators = [...text.matchAll(SEPARATOR)].map(({ index, 0: separator }) => ({
    before: index,
    start: index + separator.length,
    separator,
  }));
  // A space divides only sentences.
  const isEnd = ({ before }: Boundary): boolean => /[.?!…]/.test(text.charAt(before - 1));
  const ends = separators.filter((place) => place.separator === '\n' || isEnd(place));
  const all = separators.filter((place) => place.separator !== ' ' || isEnd(place));
  const places = [all, ends].find(({ length }) => length <= most) ?? [];
  return [{ before: 0, start: 0, separator: '' }, ...places];
}

function joined(first: Translated, rest: Translated, separator: string): Translated {
  const isEnded = /[。！？]$/.test(first.text);
  const between = separator === '\n' ? separator : isEnded ? '' : '；';
  return { text: first.text + between + rest.text, fixed: first.fixed + rest.fixed };
}

let catalogue: Catalogue | undefined;

/**
 * A message in the given language. A text that no template of the catalogue makes is answered as it is: it is of another
 * program, such as a provider, or it was stored by an older version.
 */
export function translated(text: string, language: Language): string {
  if (language === 'en') return text;
  catalogue ??= new Catalogue(chinese);
  return catalogue.translate(text) ?? text;
}

/**
 * The message of an answer in the language of its request, which the header Content-Language then names where it is not
 * English. Caches keep the answers of several languages apart.
 */
export function answered(message: Message, response: Response): string {
  response.vary('Accept-Language');
  const language = languageOf(response.req.headers['accept-language']);
  const text = translated(message, language);
  if (text !== message) response.setHeader('Content-Language', language);
  return text;
}
