import { InvalidInputError } from '../platform/error/index.js';
import { msg, phrase } from '../platform/message/index.js';

/** A value on the wire: a text, a date (a text in the form of one), a number or a list of texts. */
export type MetadataValue = string | number | readonly string[];

/** What is known of a document, by key. */
export type Metadata = Readonly<Record<string, MetadataValue>>;

/** A date in a column: its text on the wire, and milliseconds since the epoch, by which dates are compared. */
export interface StoredDate {
  readonly date: string;
  readonly at: number;
}

export type StoredValue = string | number | StoredDate | string[];

/** Metadata in a column of type jsonb, where each type of value has a type of JSON. */
export type StoredMetadata = Record<string, StoredValue>;

/** The types of values, by the types that jsonb has for them. */
export const METADATA_TYPES = {
  string: 'text',
  number: 'number',
  object: 'date',
  array: 'list',
} as const;

const MOST_KEYS = 50;
const LONGEST_KEY = 64;
const LONGEST_TEXT = 1_000;
const MOST_ENTRIES = 100;
const LONGEST_ENTRY = 200;
/** Characters of the whole as JSON. */
const LONGEST_METADATA = 16_384;

const KEY = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} _.-]*[\p{L}\p{M}\p{N}_.-])?$/u;
const PLAIN_KEY = /^[\p{L}\p{N}_]+$/u;

/** Reads metadata from a request. Null is not a value: its key is left out. InvalidInputError names the path. */
export function readMetadata(given: unknown): StoredMetadata {
  if (!isObject(given)) {
    throw new InvalidInputError(msg`metadata must be an object of keys and values.`);
  }
  const entries = Object.entries(given).filter(([, value]) => value !== null);
  if (entries.length > MOST_KEYS) {
    throw new InvalidInputError(
      msg`metadata has ${entries.length} keys. At most ${MOST_KEYS} are possible.`,
    );
  }
  const metadata: StoredMetadata = Object.fromEntries(
    entries.map(([name, value]) => {
      const key = readKey(name, phrase`a key of metadata`);
      return [key, readValue(value, `metadata${placeOf(key)}`)];
    }),
  );
  const { length } = JSON.stringify(metadata);
  if (length > LONGEST_METADATA) {
    throw new InvalidInputError(
      msg`metadata has ${length} characters as JSON. At most ${LONGEST_METADATA} are possible.`,
    );
  }
  return metadata;
}

/** Reads metadata that a form sends as JSON; none without it. */
export function readMetadataText(given: string | undefined): StoredMetadata {
  return given?.trim() ? readMetadata(parseJson(given, 'metadata')) : {};
}

export function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidInputError(msg`${path} must be JSON. Check quotes and commas.`);
  }
}

/** The metadata as it is on the wire. */
export function shownMetadata(metadata: StoredMetadata): Metadata {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [key, isStoredDate(value) ? value.date : value]),
  );
}

/** The key in the form in which it is stored. `what` names it in the error. */
export function readKey(given: unknown, what: string): string {
  if (typeof given !== 'string') throw new InvalidInputError(msg`${what} must be text.`);
  const key = given.normalize('NFC');
  if (key.length <= LONGEST_KEY && KEY.test(key)) return key;
  throw new InvalidInputError(
    msg`${what} is ${JSON.stringify(key.slice(0, LONGEST_KEY).toWellFormed())}. A key has at most ${LONGEST_KEY} letters and digits of any script, dots, hyphens, underscores and inner spaces, and begins with a letter or digit.`,
  );
}

/** The text in the form in which it is stored and compared; a date for a text in the form of one. */
export function readText(given: string, path: string): string | StoredDate {
  return dateOf(given, path) ?? plainText(given, LONGEST_TEXT, path);
}

/** The text of a list, which is never a date. */
export function readEntry(given: unknown, path: string): string {
  if (typeof given !== 'string') throw new InvalidInputError(msg`${path} must be text.`);
  return plainText(given, LONGEST_ENTRY, path);
}

/** A finite number. */
export function readNumber(given: number, path: string): number {
  if (Number.isFinite(given)) return given === 0 ? 0 : given;
  throw new InvalidInputError(msg`${path} is too large for a number.`);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isStoredDate(value: StoredValue): value is StoredDate {
  return isObject(value);
}

/** The key behind a path: `.author`, or `["date of issue"]`. */
function placeOf(key: string): string {
  return PLAIN_KEY.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function readValue(given: unknown, path: string): StoredValue {
  if (typeof given === 'string') return readText(given, path);
  if (typeof given === 'number') return readNumber(given, path);
  if (!Array.isArray(given)) {
    throw new InvalidInputError(
      msg`${path} must be a text, a number, a date such as 2026-01-31, or a list of texts.`,
    );
  }
  if (given.length > MOST_ENTRIES) {
    throw new InvalidInputError(
      msg`${path} has ${given.length} entries. At most ${MOST_ENTRIES} are possible.`,
    );
  }
  return given.map((entry, place) => readEntry(entry, `${path}[${place}]`));
}

function plainText(given: string, longest: number, path: string): string {
  if (given.includes('\0')) {
    throw new InvalidInputError(msg`${path} must not contain the NUL character.`);
  }
  const text = given.toWellFormed().normalize('NFC');
  if (text.length <= longest) return text;
  throw new InvalidInputError(
    msg`${path} has ${text.length} characters. At most ${longest} are possible.`,
  );
}

/** A day, or a day and a time, with or without an offset from UTC. */
const DATE_FORM =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$/;

/** A date for a text that has the form of one; a time without an offset is UTC. */
function dateOf(text: string, path: string): StoredDate | undefined {
  const [form, day = '', time, offset = 'Z'] = DATE_FORM.exec(text) ?? [];
  if (form === undefined) return undefined;
  const at = Date.parse(`${day}T${time ?? '00:00'}${offset}`);
  if (!isDay(day) || (time !== undefined && !TIME.test(time)) || Number.isNaN(at)) {
    throw new InvalidInputError(msg`${path} is ${text}, and there is no such date.`);
  }
  return { date: time === undefined ? day : new Date(at).toISOString(), at };
}

function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
