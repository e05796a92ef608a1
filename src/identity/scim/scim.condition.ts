import { msg } from '../../platform/message/index.js';
import { ScimError, shortened } from './scim.errors.js';
import { invalidFilter } from './scim.filter.js';
import type { Filter, Literal } from './scim.filter.js';

/** The SQL of an attribute that a filter can compare. */
export interface FilterColumn {
  readonly sql: string;
  /** `text` ignores case, `exact` does not. */
  readonly kind: 'text' | 'exact' | 'flag' | 'time';
  /** Puts the comparison inside a condition, for a value of several. */
  readonly within?: (comparison: string) => string;
}

type Attributes = Readonly<Record<string, FilterColumn>>;
type Comparison = Extract<Filter, { kind: 'compare' }>;

const SIGNS = { eq: '=', ne: '<>', gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

/** A condition of SQL; values go to the end of `parameters`, never into the text. Throws ScimError for an unknown attribute. */
export function conditionOf(filter: Filter, of: Attributes, parameters: unknown[]): string {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const left = conditionOf(filter.left, of, parameters);
      return `(${left} ${filter.kind} ${conditionOf(filter.right, of, parameters)})`;
    }
    case 'not':
      return `NOT ${conditionOf(filter.of, of, parameters)}`;
    case 'present': {
      const column = columnOf(filter.path, of);
      return placed(column, `${column.sql} IS NOT NULL`);
    }
    case 'compare':
      return comparisonOf(filter, of, parameters);
  }
}

function comparisonOf(filter: Comparison, of: Attributes, parameters: unknown[]): string {
  const { operator, value } = filter;
  const column = columnOf(filter.path, of);
  if (value === null) {
    if (operator !== 'eq' && operator !== 'ne') throw invalidFilter(filter.path);
    return placed(column, `${column.sql} IS ${operator === 'eq' ? '' : 'NOT '}NULL`);
  }
  parameters.push(parameterOf(filter.path, column, value));
  const number = `$${parameters.length}`;
  if (column.kind === 'flag' && operator !== 'eq' && operator !== 'ne') {
    throw invalidFilter(filter.path);
  }
  if (column.kind === 'time' || column.kind === 'flag') {
    if (operator === 'co' || operator === 'sw' || operator === 'ew') {
      throw invalidFilter(filter.path);
    }
    const type = column.kind === 'time' ? 'timestamptz' : 'boolean';
    return placed(column, `${column.sql} ${SIGNS[operator]} ${number}::${type}`);
  }
  const isText = column.kind === 'text';
  const left = isText ? `lower(${column.sql})` : column.sql;
  const right = isText ? `lower(${number}::text)` : `${number}::text`;
  return placed(column, textComparison(operator, left, right));
}

function textComparison(operator: Comparison['operator'], left: string, right: string): string {
  switch (operator) {
    case 'co':
      return `strpos(${left}, ${right}) > 0`;
    case 'sw':
      return `starts_with(${left}, ${right})`;
    case 'ew':
      return `right(${left}, length(${right})) = ${right}`;
    case 'ne':
      return `${left} IS DISTINCT FROM ${right}`;
    default:
      return `${left} ${SIGNS[operator]} ${right}`;
  }
}

function parameterOf(path: string, { kind }: FilterColumn, value: Exclude<Literal, null>): unknown {
  if (kind === 'flag') {
    const flag = String(value).toLowerCase();
    if (flag !== 'true' && flag !== 'false') throw invalidFilter(path);
    return flag === 'true';
  }
  if (kind === 'time') {
    const time = new Date(typeof value === 'string' ? value : Number.NaN);
    if (Number.isNaN(time.getTime()) || time.getUTCFullYear() < 0) throw invalidFilter(path);
    return time.toISOString();
  }
  return String(value);
}

/** The comparison as a condition that is never null, so that `not` inverts it. */
function placed({ within }: FilterColumn, comparison: string): string {
  return `coalesce(${within ? within(comparison) : comparison}, false)`;
}

function columnOf(path: string, of: Attributes): FilterColumn {
  const column = Object.hasOwn(of, path) ? of[path] : undefined;
  if (column) return column;
  throw new ScimError(
    'invalidFilter',
    msg`The filter cannot compare the attribute ${shortened(path)}.`,
  );
}
