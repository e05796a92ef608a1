import type { Comparison, MetadataCondition, MetadataFilter } from './filter.js';
import { isStoredDate, readText } from './metadata.js';

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
