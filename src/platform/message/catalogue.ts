import { Template } from './template.js';

/** The texts of a language: a template of the sources and the same in that language. */
export interface Texts {
  readonly messages: Readonly<Record<string, string>>;
  readonly phrases: Readonly<Record<string, string>>;
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

/** Where one message of a text can end and the next begin. */
const SEPARATOR = /, |; |\n| /g;

/** Texts with more places are divided only at ends of sentences and lines, and at last not at all. */
const MOST_PLACES = 24;
const MOST_PLACES_INSIDE = 8;
/** Longer texts are not read. Messages are far shorter; those that repeat the text of a provider are cut before. */
const LONGEST = 20_000;
/** A message in a message in a message. */
const DEEPEST = 3;
/** A template with values that fixes fewer characters, those of its parts included, says nothing about a text. */
const FEWEST_FIXED = 8;
/** Characters that are compared with the templates before a text is given up, some milliseconds of work. */
const BUDGET = 150_000;
/** What a comparison costs beside the length of its text. */
const COMPARISON = 200;

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
    if (whole !== undefined || text.length > LONGEST) return whole;
    return new Reading(this.messages, this.phrases).translate(text);
  }
}

/** The entries of a language by how their templates begin. */
class Index {
  private readonly byStart = new Map<string, Entry[]>();
  /** Those that begin with a value, or nearly so. */
  private readonly open: readonly Entry[];

  constructor(texts: Readonly<Record<string, string>>) {
    const entries = Object.entries(texts).map(([template, translation]) => ({
      template: new Template(template),
      translation,
    }));
    for (const entry of entries) {
      const start = startOf(entry.template.start);
      if (start.length === START) this.byStart.set(start, [...this.at(start), entry]);
    }
    this.open = entries.filter(({ template }) => template.start.length < START);
  }

  /** Those that may have made the text. */
  for(text: string): readonly Entry[] {
    return [...this.at(startOf(text)), ...this.open];
  }

  private at(start: string): readonly Entry[] {
    return this.byStart.get(start) ?? [];
  }
}

/** Characters by which templates are looked up. */
const START = 6;

function startOf(text: string): string {
  return text.slice(0, START);
}

/** One translation. What it has cost is counted, because the work for a hostile text would grow with a high power of its length. */
class Reading {
  private spent = 0;

  constructor(
    private readonly messages: Index,
    private readonly phrases: Index,
  ) {}

  translate(text: string): string | undefined {
    const found = this.read(text, 0);
    return this.isGivenUp ? undefined : found?.text;
  }

  private get isGivenUp(): boolean {
    return this.spent > BUDGET;
  }

  /** One message, or several with separators between them; the division in which the templates fix most of the text. */
  private read(text: string, depth: number): Translated | undefined {
    if (depth > DEEPEST) return undefined;
    const places = placesOf(text, depth === 0 ? MOST_PLACES : MOST_PLACES_INSIDE);
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
      const one = this.one(text.slice(start, end?.before), depth);
      if (!one) continue;
      const whole = rest ? joined(one, rest, end.separator) : one;
      if (!best || whole.fixed > best.fixed) best = whole;
    }
    return best;
  }

  private one(text: string, depth: number): Translated | undefined {
    let best: Translated | undefined;
    for (const { translation, values, fixed } of this.matches(this.messages, text)) {
      const found = this.written(translation, values, { fixed, depth });
      if (!found) continue;
      const isSure = values.size === 0 || found.fixed >= FEWEST_FIXED;
      if (isSure && found.fixed > (best?.fixed ?? 0)) best = found;
    }
    return best;
  }

  /** The entries whose templates make the text; none any more once the text is given up. */
  private matches(index: Index, text: string): Match[] {
    this.spent += text.length + COMPARISON;
    if (this.isGivenUp) return [];
    return index.for(text).flatMap(({ template, translation }) => {
      const values = template.valuesIn(text);
      return values ? [{ translation, values, fixed: template.fixed }] : [];
    });
  }

  private written(
    translation: string,
    values: ReadonlyMap<string, string>,
    given: { readonly fixed: number; readonly depth: number },
  ): Translated | undefined {
    let { fixed } = given;
    let unread = 0;
    const text = translation.replace(VALUE, (place, index?: string, kind?: string) => {
      const value = values.get(index === undefined ? place : `{${index}}`) ?? place;
      const part = this.part(value, kind, given.depth);
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
    return best && this.written(best.translation, best.values, { fixed: best.fixed, depth });
  }
}

interface Match {
  readonly translation: string;
  readonly values: ReadonlyMap<string, string>;
  readonly fixed: number;
}

interface Place {
  /** Where the message before this place ends. */
  readonly before: number;
  readonly start: number;
  readonly separator: string;
}

interface Division {
  readonly places: readonly Place[];
  readonly readings: ReadonlyMap<number, Translated>;
  readonly depth: number;
}

function placesOf(text: string, most: number): readonly Place[] {
  const found = [...text.matchAll(SEPARATOR)].map(({ index, 0: separator }) => ({
    before: index,
    start: index + separator.length,
    separator,
  }));
  // A space divides only sentences.
  const isEnd = ({ before }: Place): boolean => /[.?!…]/.test(text.charAt(before - 1));
  const ends = found.filter((place) => place.separator === '\n' || isEnd(place));
  const all = found.filter((place) => place.separator !== ' ' || isEnd(place));
  const places = [all, ends].find(({ length }) => length <= most) ?? [];
  return [{ before: 0, start: 0, separator: '' }, ...places];
}

function joined(one: Translated, rest: Translated, separator: string): Translated {
  const isEnded = /[。！？]$/.test(one.text);
  const between = separator === '\n' ? separator : isEnded ? '' : '；';
  return { text: one.text + between + rest.text, fixed: one.fixed + rest.fixed };
}
