import { And, Any, Equal, ILike, IsNull, LessThan, Like, MoreThanOrEqual, Not, Or } from 'typeorm';
import type { FindOperator } from 'typeorm';
import { readTimeRange } from '../http/index.js';
import type { TimeRange } from '../http/index.js';

/** Matches rows that contain the text, in any case; `%` and `_` in it are plain characters. */
export function containing(text: string): FindOperator<string> {
  return ILike(`%${escaped(text)}%`);
}

/** Matches rows that have the text, in any case; `%` and `_` in it are plain characters. */
export function likewise(text: string): FindOperator<string> {
  return ILike(escaped(text));
}

function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

/** Matches text that begins with another one, with case. */
export function startingWith(text: string): FindOperator<string> {
  return Like(`${escaped(text)}%`);
}

/** Matches rows that have one of the values, which should be few. */
export function among<T>(values: readonly T[]): FindOperator<T> {
  return Or(...values.map((value) => Equal(value)));
}

/** Matches rows that have one of the values, which may be many: they are one parameter. */
export function anyOf<T>(values: readonly T[]): FindOperator<T> {
  return Any<T>([...values]);
}

/** Matches rows that have another value than these and, with `orAbsent`, those that have none. */
export function noneOf<T>(
  values: readonly T[],
  { orAbsent = false }: { readonly orAbsent?: boolean } = {},
): FindOperator<T> {
  const absent = IsNull() as FindOperator<T>;
  const other = And<T>(Not<T>(absent), Not<T>(Any<T>([...values])));
  return orAbsent ? Or<T>(absent, other) : other;
}

/** Matches rows that were created in the range; all rows without one. InvalidInputError for a time that does not exist. */
export function createdWithin(range: TimeRange | null | undefined): {
  createTime?: FindOperator<Date>;
} {
  const { from, until } = readTimeRange(range);
  const edges = [...(from ? [MoreThanOrEqual(from)] : []), ...(until ? [LessThan(until)] : [])];
  return edges.length > 0 ? { createTime: And(...edges) } : {};
}
