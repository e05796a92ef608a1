import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional, ValidateBy } from 'class-validator';
import { ApiProperty } from '@nestjs/swagger';
import { msg } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';
import { Input, Nested, Text, Whole, ruleText } from './input.js';
import type { Field } from './input.js';

/** The number that clients send for "all"; the rows to skip still fit into PostgreSQL's bigint. */
const MAX_PAGE_NUMBER = 2_147_483_647;

/** Limit of the rows of one answer. A client that needs more asks page by page, or exports the list. */
export const MAX_ROWS = 1_000;

/** Limit of the entries of a list for a choice; such a list has no pages. */
export const MAX_CHOICES = 10_000;

/** A field by which rows can be ordered. It must be a field of the answer, because an order discloses values. */
type Sortable = string | Readonly<Record<string, string>>;

/**
 * Paging and order of a list: MAX_ROWS a page unless pageSize is smaller. `sortable` are the fields of the answer that
 * the client may order by: a name where the column has the same one, else an object of names and columns. After
 * validation, orderByColumn has the names of the columns.
 */
export function pageFields(...sortable: readonly Sortable[]) {
  return {
    pageNum: Whole({
      optional: true,
      max: MAX_PAGE_NUMBER,
      description: 'Page, counted from 1; below 1 means 1',
    }),
    pageSize: Whole({
      optional: true,
      min: 1,
      max: MAX_PAGE_NUMBER,
      description: `Rows per page; ${MAX_ROWS} when absent or larger. total counts all rows`,
    }),
    orderByColumn: SortField(
      new Map(
        sortable.flatMap((one) => (typeof one === 'string' ? [[one, one]] : Object.entries(one))),
      ),
    ),
    isAsc: Text({
      optional: true,
      description: 'asc or desc, once or for each field',
      example: 'desc',
    }),
  };
}

/** Paging and order as a repository reads them. */
export class PageQuery extends Input(pageFields()) {}

/** The rows of the page, as TypeORM names them. */
export function rowsOf({ pageNum = 1, pageSize = MAX_ROWS }: PageQuery): {
  take: number;
  skip: number;
} {
  const take = Math.min(pageSize, MAX_ROWS);
  return { take, skip: (Math.max(1, pageNum) - 1) * take };
}

/** Whether the client chose neither a page nor an order: it shows what it gets as the whole list. */
export function isWholeList({ pageNum, pageSize, orderByColumn }: PageQuery): boolean {
  return pageNum === undefined && pageSize === undefined && !orderByColumn;
}

type Direction = 'ASC' | 'DESC';

/** The columns that the client orders by, in order. InvalidInputError if isAsc cannot be read. */
export function orderOf(query: PageQuery): readonly (readonly [string, Direction])[] {
  const columns = splitList(query.orderByColumn);
  const directions = splitList(query.isAsc).map(readDirection);
  if (directions.length > 1 && directions.length !== columns.length) {
    throw new InvalidInputError(
      msg`isAsc must name one direction, or one for each field of orderByColumn.`,
    );
  }
  return columns.map(
    (column, index) => [column, directions[index] ?? directions[0] ?? 'ASC'] as const,
  );
}

function SortField(columns: ReadonlyMap<string, string>): Field<string, true> {
  const names = [...columns.keys()].join(', ');
  const sortableColumns = new Set(columns.values());
  return applyDecorators(
    // Transform stands above Text, so that it reads the result of Text: class-transformer applies the lowest last.
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string'
        ? splitList(value)
            .map((name) => columns.get(name) ?? name)
            .join(',')
        : value,
    ),
    Text({
      optional: true,
      description: `Comma list of fields to order by: ${names}`,
      example: 'createTime',
    }),
    ValidateBy({
      name: 'sortable',
      validator: {
        validate: (value) =>
          typeof value !== 'string' ||
          splitList(value).every((column) => sortableColumns.has(column)),
        defaultMessage: () =>
          ruleText(msg`orderByColumn must be a comma list of these fields: ${names}`),
      },
    }),
  );
}

function splitList(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function readDirection(word: string): Direction {
  const direction = word.toLowerCase();
  if (direction === 'asc' || direction === 'ascending') return 'ASC';
  if (direction === 'desc' || direction === 'descending') return 'DESC';
  throw new InvalidInputError(msg`isAsc must be asc or desc.`);
}

/** A time in the format of the wire, or a day. */
export const GIVEN_TIME = /^(\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?)?$/;
export const GIVEN_TIME_MESSAGE = msg`must be a time like 2026-01-31 18:30:00, or a day`;

/**
 * Reads a time in the zone that times on the wire are in: its start or, as the end of a range, the first
 * moment after that second or day.
 */
export function givenTime(field: string, text: string, edge: 'start' | 'end'): Date {
  const [day, time = edge === 'start' ? '00:00:00' : '23:59:59'] = text.split(' ');
  const read = new Date(`${day}T${time}`);
  if (Number.isNaN(read.getTime()))
    throw new InvalidInputError(msg`${field}: there is no ${text}.`);
  return edge === 'end' ? new Date(read.getTime() + 1_000) : read;
}

function edgeOf(description: string): Field<string, true> {
  return Text({
    optional: true,
    pattern: GIVEN_TIME,
    patternMessage: GIVEN_TIME_MESSAGE,
    description,
    example: '2026-01-31',
  });
}

/**
 * A range as existing clients write it: `params[beginTime]`, `params[endTime]`; both ends are included. The list of files
 * of the existing console says `params[beginCreateTime]` and `params[endCreateTime]`.
 */
export class TimeRange extends Input({
  beginTime: edgeOf('The first time or day'),
  endTime: edgeOf('The last time or day'),
  beginCreateTime: edgeOf('The same as beginTime'),
  endCreateTime: edgeOf('The same as endTime'),
}) {}

/** The field `params` of a list, in the query or the body of its export. */
export function TimeRangeField(): Field<TimeRange, true> {
  return applyDecorators(
    ApiProperty({ type: () => TimeRange, required: false }),
    IsOptional(),
    Nested(() => TimeRange, {
      message: msg`params must be params[beginTime] and params[endTime]`,
    }),
  );
}

interface Moments {
  readonly from: Date | undefined;
  /** The end of the range, exclusive. */
  readonly until: Date | undefined;
}

/** The range as moments, null as none; InvalidInputError for a day or time that does not exist. */
export function readTimeRange(range: TimeRange | null | undefined): Moments {
  const begin = range?.beginTime || range?.beginCreateTime;
  const end = range?.endTime || range?.endCreateTime;
  return {
    from: begin ? givenTime('params[beginTime]', begin, 'start') : undefined,
    until: end ? givenTime('params[endTime]', end, 'end') : undefined,
  };
}
