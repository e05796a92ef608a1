import type { SearchParams } from '../app/search-params';

/** Converts the sort order of a table for the export of its rows. */
export function orderOf({ orderByColumn, isAsc }: SearchParams): {
  orderByColumn?: string;
  isAsc?: string;
} {
  return { ...(orderByColumn && { orderByColumn }), ...(isAsc && { isAsc }) };
}
