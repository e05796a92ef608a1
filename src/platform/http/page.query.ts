import { Text, Whole } from './field.js';

/** What clients send for "all"; the rows to skip still fit into PostgreSQL's bigint. */
const MOST = 2_147_483_647;

/** Paging and order of a list. Without pageSize all rows are answered. */
export class PageQuery {
  @Whole({ optional: true, max: MOST, description: 'Page, counted from 1; below 1 means 1' })
  pageNum?: number;

  @Whole({ optional: true, min: 1, max: MOST, description: 'Rows per page; all rows when absent' })
  pageSize?: number;

  @Text({ optional: true, description: 'Comma list of fields to order by', example: 'createTime' })
  orderByColumn?: string;

  @Text({ optional: true, description: 'asc or desc, once or for each field', example: 'desc' })
  isAsc?: string;
}

/** The rows of the page, as TypeORM names them: all of them without pageSize. */
export function rowsOf({ pageNum = 1, pageSize }: PageQuery): { take?: number; skip?: number } {
  return pageSize ? { take: pageSize, skip: (Math.max(1, pageNum) - 1) * pageSize } : {};
}
