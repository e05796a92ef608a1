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
import { msg, phrase } from '../platform/message/index.js';

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

/** Which documents are meant, by their metadata. `readFilter` makes one. */
export type MetadataFilter =
  | { readonly and: readonly MetadataFilter[] }
  | { readonly or: readonly MetadataFilter[] }
  | { readonly not: MetadataFilter }
  | MetadataCondition;

/** Of one key. A text in the form of a date is a date. */
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

const MOST_CONDITIONS = 50;
/** And, or and not within each other. */
const DEEPEST = 5;
const MOST_VALUES = 100;
/** Characters as JSON: those of requests in an address, and of one column. */
export const LONGEST_FILTER = 16_384;

/** What OpenAPI says of every field that takes a filter. */
export const FILTER_DESCRIPTION =
  'Only documents whose metadata fits: a condition {key, op, value} with op eq, ne, in, nin, gt, gte, lt, lte, contains or exists, or {and: […]}, {or: […]}, {not: …} of such (docs/KNOWLEDGE.md, Metadata)';
export const FILTER_EXAMPLE = { key: 'department', op: 'eq', value: 'sales' };

/** Reads a filter from a request. InvalidInputError names the path of what is wrong. */
export function readFilter(given: unknown, path = 'filter'): MetadataFilter {
  const filter = new FilterReader().read(given, path, 1);
  const { length } = JSON.stringify(filter);
  if (length <= LONGEST_FILTER) return filter;
  throw new InvalidInputError(
    msg`${path} has ${length} characters as JSON. At most ${LONGEST_FILTER} are possible.`,
  );
}

/** Reads a filter that stands as JSON in an address or a form; undefined without one. */
export function readFilterText(given: string | undefined): MetadataFilter | undefined {
  return given?.trim() ? readFilter(parseJson(given, 'filter')) : undefined;
}

/** The documents that fit all of the filters; undefined when there is none. */
export function allOf(
  ...filters: readonly (MetadataFilter | null | undefined)[]
): MetadataFilter | undefined {
  const given = filters.filter((filter) => filter !== undefined && filter !== null);
  return given.length > 1 ? { and: given } : given[0];
}

/** The keys of its conditions. */
export function keysOf(filter: MetadataFilter): string[] {
  if ('and' in filter) return filter.and.flatMap(keysOf);
  if ('or' in filter) return filter.or.flatMap(keysOf);
  if ('not' in filter) return keysOf(filter.not);
  return [filter.key];
}

const FORMS = phrase`It is a condition {key, op, value}, or {and: […]}, {or: […]} or {not: …}`;

class FilterReader {
  private conditions = 0;

  read(given: unknown, path: string, depth: number): MetadataFilter {
    if (!isObject(given)) throw new InvalidInputError(msg`${path} must be an object. ${FORMS}.`);
    const [name, ...others] = ['and', 'or', 'not'].filter((one) => Object.hasOwn(given, one));
    if (name === undefined) return this.condition(given, path);
    if (others.length > 0 || Object.keys(given).length > 1) {
      throw new InvalidInputError(msg`${path} must have nothing beside ${name}. ${FORMS}.`);
    }
    if (depth > DEEPEST) {
      throw new InvalidInputError(
        msg`${path} is too deep: and, or and not can be nested ${DEEPEST} deep.`,
      );
    }
    const within = given[name];
    const inside = `${path}.${name}`;
    if (name === 'not') return { not: this.read(within, inside, depth + 1) };
    if (!Array.isArray(within) || within.length === 0) {
      throw new InvalidInputError(msg`${inside} must be a list of at least one filter.`);
    }
    const all = within.map((one, place) => this.read(one, `${inside}[${place}]`, depth + 1));
    return name === 'and' ? { and: all } : { or: all };
  }

  private condition(given: Readonly<Record<string, unknown>>, path: string): MetadataFilter {
    this.conditions += 1;
    if (this.conditions > MOST_CONDITIONS) {
      throw new InvalidInputError(msg`filter has more than ${MOST_CONDITIONS} conditions.`);
    }
    const unknown = Object.keys(given).find((name) => !['key', 'op', 'value'].includes(name));
    if (unknown !== undefined) {
      throw new InvalidInputError(
        msg`${path} has the unknown field ${JSON.stringify(unknown.slice(0, 64).toWellFormed())}. ${FORMS}.`,
      );
    }
    const key = readKey(given['key'], `${path}.key`);
    const op = FILTER_OPERATORS.find((one) => one === given['op']);
    const { value } = given;
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

function readScalar(given: unknown, path: string): string | number {
  if (typeof given === 'number') return readNumber(given, path);
  if (typeof given !== 'string') {
    throw new InvalidInputError(
      msg`${path} must be a text, a number or a date such as 2026-01-31.`,
    );
  }
  const text = readText(given, path);
  return isStoredDate(text) ? text.date : text;
}

function readScalars(given: unknown, path: string, op: string): (string | number)[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_VALUES) {
    throw new InvalidInputError(
      msg`${path} must be a list of 1 to ${MOST_VALUES} values for ${op}.`,
    );
  }
  return given.map((one, place) => readScalar(one, `${path}[${place}]`));
}

function readOrdered(given: unknown, path: string, op: string): string | number {
  if (typeof given === 'number') return readNumber(given, path);
  const text = typeof given === 'string' ? readText(given, path) : '';
  if (isStoredDate(text)) return text.date;
  throw new InvalidInputError(
    msg`${path} must be a number or a date such as 2026-01-31 for ${op}; texts have no order.`,
  );
}

function readPresence(given: unknown, path: string): boolean {
  if (given === undefined || given === null) return true;
  if (typeof given === 'boolean') return given;
  throw new InvalidInputError(msg`${path} must be true or false for exists.`);
}
