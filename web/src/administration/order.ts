import type { Address } from '../app/address';

/** Converts the sort order of a table for the export of its rows. */
export function orderOf({ orderByColumn, isAsc }: Address): {
  orderByColumn?: string;
  isAsc?: string;
} {
  return { ...(orderByColumn && { orderByColumn }), ...(isAsc && { isAsc }) };
}
