import { Input, Text, Whole } from './field.js';

/** What clients send for "all"; the rows to skip still fit into PostgreSQL's bigint. */
const MOST = 2_147_483_647;

/** Paging and order of a list. Without pageSize all rows are answered. */
export const pageFields = {
  pageNum: Whole({
    optional: true,
    max: MOST,
    description: 'Page, counted from 1; below 1 means 1',
  }),
  pageSize: Whole({
    optional: true,
    min: 1,
    max: MOST,
    description: 'Rows per page; all rows when absent',
  }),
  orderByColumn: Text({
    optional: true,
    description: 'Comma list of fields to order by',
    example: 'createTime',
  }),
  isAsc: Text({
    optional: true,
    description: 'asc or desc, once or for each field',
    example: 'desc',
  }),
};

export class PageQuery extends Input(pageFields) {}

/** The rows of the page, as TypeORM names them: all of them without pageSize. */
export function rowsOf({ pageNum = 1, pageSize }: PageQuery): { take?: number; skip?: number } {
  return pageSize ? { take: pageSize, skip: (Math.max(1, pageNum) - 1) * pageSize } : {};
}
