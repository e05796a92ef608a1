import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

/** A value on the wire: a text, a date (a text in the form of one), a number or a list of texts. */
export type MetadataValue = string | number | readonly string[];

/** Metadata of a document, by key. */
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

const MAX_KEY_COUNT = 50;
const MAX_KEY_CHARS = 64;
const MAX_TEXT_CHARS = 1_000;
const MAX_ENTRY_COUNT = 100;
const MAX_ENTRY_CHARS = 200;
/** Characters of the whole as JSON. */
const MAX_METADATA_CHARS = 16_384;

const KEY = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} _.-]*[\p{L}\p{M}\p{N}_.-])?$/u;
const PLAIN_KEY = /^[\p{L}\p{N}_]+$/u;

/** Reads metadata from a request. Keys with the value null are dropped. InvalidInputError names the path. */
export function readMetadata(input: unknown): StoredMetadata {
  if (!isObject(input)) {
    throw new InvalidInputError(msg`metadata must be an object of keys and values.`);
  }
  const entries = Object.entries(input).filter(([, value]) => value !== null);
  if (entries.length > MAX_KEY_COUNT) {
    throw new InvalidInputError(
      msg`metadata has ${entries.length} keys. At most ${MAX_KEY_COUNT} are possible.`,
    );
  }
  const metadata: StoredMetadata = Object.fromEntries(
    entries.map(([name, value]) => {
      const key = readKey(name, msg`a key of metadata`);
      return [key, readValue(value, `metadata${placeOf(key)}`)];
    }),
  );
  const { length } = JSON.stringify(metadata);
  if (length > MAX_METADATA_CHARS) {
    throw new InvalidInputError(
      msg`metadata has ${length} characters as JSON. At most ${MAX_METADATA_CHARS} are possible.`,
    );
  }
  return metadata;
}

/** Reads metadata that a form sends as JSON; none without it. */
export function readMetadataText(json: string | undefined): StoredMetadata {
  return json?.trim() ? readMetadata(parseJson(json, 'metadata')) : {};
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
export function readKey(input: unknown, what: string | Message): string {
  if (typeof input !== 'string') throw new InvalidInputError(msg`${what} must be text.`);
  const key = input.normalize('NFC');
  if (key.length <= MAX_KEY_CHARS && KEY.test(key)) return key;
  throw new InvalidInputError(
    msg`${what} is ${JSON.stringify(key.slice(0, MAX_KEY_CHARS).toWellFormed())}. A key has at most ${MAX_KEY_CHARS} letters and digits of any script, dots, hyphens, underscores and inner spaces, and begins with a letter or digit.`,
  );
}

/** The text in the form in which it is stored and compared; a date for a text in the form of one. */
export function readText(input: string, path: string): string | StoredDate {
  return dateOf(input, path) ?? plainText(input, MAX_TEXT_CHARS, path);
}

/** The text of a list, which is never a date. */
export function readEntry(input: unknown, path: string): string {
  if (typeof input !== 'string') throw new InvalidInputError(msg`${path} must be text.`);
  return plainText(input, MAX_ENTRY_CHARS, path);
}

/** A finite number. */
export function readNumber(input: number, path: string): number {
  if (Number.isFinite(input)) return input === 0 ? 0 : input;
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

function readValue(input: unknown, path: string): StoredValue {
  if (typeof input === 'string') return readText(input, path);
  if (typeof input === 'number') return readNumber(input, path);
  if (!Array.isArray(input)) {
    throw new InvalidInputError(
      msg`${path} must be a text, a number, a date such as 2026-01-31, or a list of texts.`,
    );
  }
  if (input.length > MAX_ENTRY_COUNT) {
    throw new InvalidInputError(
      msg`${path} has ${input.length} entries. At most ${MAX_ENTRY_COUNT} are possible.`,
    );
  }
  return input.map((entry, place) => readEntry(entry, `${path}[${place}]`));
}

function plainText(input: string, longest: number, path: string): string {
  if (input.includes('\0')) {
    throw new InvalidInputError(msg`${path} must not contain the NUL character.`);
  }
  const text = input.toWellFormed().normalize('NFC');
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
