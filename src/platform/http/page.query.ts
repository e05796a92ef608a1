import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { msg } from '../message/index.js';
import { InvalidInputError } from '../error/index.js';
import { Input, Text, Whole } from './field.js';
import type { Field } from './field.js';

/** What clients send for "all"; the rows to skip still fit into PostgreSQL's bigint. */
const MAX_PAGE_NUMBER = 2_147_483_647;

/** Rows of one answer at most. A client that needs more asks page by page, or exports the list. */
export const MAX_ROWS = 1_000;

/** Entries of a list for a choice at most; such a list has no pages. */
export const MAX_CHOICES = 10_000;

/** The fields by which rows can be found and ordered are part of what a list discloses: only fields of its answer. */
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
    // Above Text, so that it reads what Text has made: class-transformer applies the lowest last.
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
        defaultMessage: () => msg`orderByColumn must be a comma list of these fields: ${names}`,
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
