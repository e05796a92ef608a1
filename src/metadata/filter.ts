import {
  isStoredDate,
  readText,
  isObject,
  parseJson,
  readEntry,
  readKey,
  readNumber,
} from './metadata.js';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

const SIGNS: Readonly<Record<Comparison, string>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

/**
 * The filter as a predicate of SQL/JSON over stored metadata, for `metadata @@ $1::jsonpath`. It is one parameter, so the
 * text of a statement does not depend on the filter. Each condition asks for the type first: a comparison of two types would
 * be neither true nor false in SQL, and so would be its negation.
 */
export function jsonPathOf(filter: MetadataFilter): string {
  if ('and' in filter) return `(${filter.and.map(jsonPathOf).join(' && ')})`;
  if ('or' in filter) return `(${filter.or.map(jsonPathOf).join(' || ')})`;
  if ('not' in filter) return `!(${jsonPathOf(filter.not)})`;
  return conditionOf(filter);
}

function conditionOf(condition: MetadataCondition): string {
  const { key } = condition;
  switch (condition.op) {
    case 'eq':
      return compared(key, '==', condition.value);
    case 'ne':
      return `!(${compared(key, '==', condition.value)})`;
    case 'in':
      return anyOf(key, condition.value);
    case 'nin':
      return `!(${anyOf(key, condition.value)})`;
    case 'contains':
      return `(${at(key)}.type() == "array" && ${at(key)}[*] == ${JSON.stringify(condition.value)})`;
    case 'exists':
      return condition.value ? `exists(${at(key)})` : `!(exists(${at(key)}))`;
    default:
      return compared(key, SIGNS[condition.op], condition.value);
  }
}

function anyOf(key: string, values: readonly (string | number)[]): string {
  return `(${values.map((value) => compared(key, '==', value)).join(' || ')})`;
}

function compared(key: string, sign: string, value: string | number): string {
  if (typeof value === 'number') {
    return `(${at(key)}.type() == "number" && ${at(key)} ${sign} ${value})`;
  }
  const text = readText(value, 'filter');
  return isStoredDate(text)
    ? `(${at(key)}.type() == "object" && ${at(key)}."at" ${sign} ${text.at})`
    : `(${at(key)}.type() == "string" && ${at(key)} ${sign} ${JSON.stringify(text)})`;
}

/** JSON's escapes are those of the path language, too. */
function at(key: string): string {
  return `$.${JSON.stringify(key)}`;
}

/** Condition on the metadata of documents; created by `readFilter`. */
export type MetadataFilter =
  | { readonly and: readonly MetadataFilter[] }
  | { readonly or: readonly MetadataFilter[] }
  | { readonly not: MetadataFilter }
  | MetadataCondition;

/** Condition on one key. A text in the form of a date is a date. */
export type MetadataCondition =
  | { readonly key: string; readonly op: 'eq' | 'ne'; readonly value: string | number }
  | { readonly key: string; readonly op: 'in' | 'nin'; readonly value: (string | number)[] }
  | { readonly key: string; readonly op: Comparison; readonly value: string | number }
  | { readonly key: string; readonly op: 'contains'; readonly value: string }
  | { readonly key: string; readonly op: 'exists'; readonly value: boolean };

export type Comparison = 'gt' | 'gte' | 'lt' | 'lte';

export const FILTER_OPERATORS = [
  'eq',
  'ne',
  'in',
  'nin',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'exists',
] as const;

const MAX_CONDITION_COUNT = 50;
/** And, or and not within each other. */
const DEEPEST = 5;
const MAX_VALUE_COUNT = 100;
/** Characters as JSON: those of requests in an address, and of one column. */
export const MAX_FILTER_CHARS = 16_384;

/** OpenAPI description of every field that takes a filter. */
export const FILTER_DESCRIPTION =
  'Only documents whose metadata fits: a condition {key, op, value} with op eq, ne, in, nin, gt, gte, lt, lte, contains or exists, or {and: […]}, {or: […]}, {not: …} of such (docs/KNOWLEDGE.md, Metadata)';
export const FILTER_EXAMPLE = { key: 'department', op: 'eq', value: 'sales' };

/** Reads a filter from a request. InvalidInputError names the path of what is wrong. */
export function readFilter(input: unknown, path = 'filter'): MetadataFilter {
  const filter = new FilterReader().read(input, path, 1);
  const { length } = JSON.stringify(filter);
  if (length <= MAX_FILTER_CHARS) return filter;
  throw new InvalidInputError(
    msg`${path} has ${length} characters as JSON. At most ${MAX_FILTER_CHARS} are possible.`,
  );
}

/** Reads a filter that stands as JSON in an address or a form; undefined without one. */
export function readFilterText(json: string | undefined): MetadataFilter | undefined {
  return json?.trim() ? readFilter(parseJson(json, 'filter')) : undefined;
}

/** The documents that fit all of the filters; undefined when there is none. */
export function allOf(
  ...filters: readonly (MetadataFilter | null | undefined)[]
): MetadataFilter | undefined {
  const present = filters.filter((filter) => filter !== undefined && filter !== null);
  return present.length > 1 ? { and: present } : present[0];
}

/** The keys of its conditions. */
export function keysOf(filter: MetadataFilter): string[] {
  if ('and' in filter) return filter.and.flatMap(keysOf);
  if ('or' in filter) return filter.or.flatMap(keysOf);
  if ('not' in filter) return keysOf(filter.not);
  return [filter.key];
}

const FORMS = msg`It is a condition {key, op, value}, or {and: […]}, {or: […]} or {not: …}`;

class FilterReader {
  private conditions = 0;

  read(input: unknown, path: string, depth: number): MetadataFilter {
    if (!isObject(input)) throw new InvalidInputError(msg`${path} must be an object. ${FORMS}.`);
    const [name, ...others] = ['and', 'or', 'not'].filter((one) => Object.hasOwn(input, one));
    if (name === undefined) return this.condition(input, path);
    if (others.length > 0 || Object.keys(input).length > 1) {
      throw new InvalidInputError(msg`${path} must have nothing beside ${name}. ${FORMS}.`);
    }
    if (depth > DEEPEST) {
      throw new InvalidInputError(
        msg`${path} is too deep: and, or and not can be nested ${DEEPEST} deep.`,
      );
    }
    const within = input[name];
    const inside = `${path}.${name}`;
    if (name === 'not') return { not: this.read(within, inside, depth + 1) };
    if (!Array.isArray(within) || within.length === 0) {
      throw new InvalidInputError(msg`${inside} must be a list of at least one filter.`);
    }
    const all = within.map((one, place) => this.read(one, `${inside}[${place}]`, depth + 1));
    return name === 'and' ? { and: all } : { or: all };
  }

  private condition(input: Readonly<Record<string, unknown>>, path: string): MetadataFilter {
    this.conditions += 1;
    if (this.conditions > MAX_CONDITION_COUNT) {
      throw new InvalidInputError(msg`filter has more than ${MAX_CONDITION_COUNT} conditions.`);
    }
    const unknown = Object.keys(input).find((name) => !['key', 'op', 'value'].includes(name));
    if (unknown !== undefined) {
      throw new InvalidInputError(
        msg`${path} has the unknown field ${JSON.stringify(unknown.slice(0, 64).toWellFormed())}. ${FORMS}.`,
      );
    }
    const key = readKey(input['key'], `${path}.key`);
    const op = FILTER_OPERATORS.find((one) => one === input['op']);
    const { value } = input;
    const at = `${path}.value`;
    switch (op) {
      case 'eq':
      case 'ne':
        return { key, op, value: readScalar(value, at) };
      case 'in':
      case 'nin':
        return { key, op, value: readScalars(value, at, op) };
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
        return { key, op, value: readOrdered(value, at, op) };
      case 'contains':
        return { key, op, value: readEntry(value, at) };
      case 'exists':
        return { key, op, value: readPresence(value, at) };
      default:
        throw new InvalidInputError(msg`${path}.op must be one of ${FILTER_OPERATORS.join(', ')}.`);
    }
  }
}

function readScalar(input: unknown, path: string): string | number {
  if (typeof input === 'number') return readNumber(input, path);
  if (typeof input !== 'string') {
    throw new InvalidInputError(
      msg`${path} must be a text, a number or a date such as 2026-01-31.`,
    );
  }
  const text = readText(input, path);
  return isStoredDate(text) ? text.date : text;
}

function readScalars(input: unknown, path: string, op: string): (string | number)[] {
  if (!Array.isArray(input) || input.length === 0 || input.length > MAX_VALUE_COUNT) {
    throw new InvalidInputError(
      msg`${path} must be a list of 1 to ${MAX_VALUE_COUNT} values for ${op}.`,
    );
  }
  return input.map((one, place) => readScalar(one, `${path}[${place}]`));
}

function readOrdered(input: unknown, path: string, op: string): string | number {
  if (typeof input === 'number') return readNumber(input, path);
  const text = typeof input === 'string' ? readText(input, path) : '';
  if (isStoredDate(text)) return text.date;
  throw new InvalidInputError(
    msg`${path} must be a number or a date such as 2026-01-31 for ${op}; texts have no order.`,
  );
}

function readPresence(input: unknown, path: string): boolean {
  if (input === undefined || input === null) return true;
  if (typeof input === 'boolean') return input;
  throw new InvalidInputError(msg`${path} must be true or false for exists.`);
}
