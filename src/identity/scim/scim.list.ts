import { invalidValue } from './scim.errors.js';
import { parseFilter } from './scim.filter.js';
import type { ScimListQuery } from './scim.dto.js';
import type { Slice } from './scim.repository.js';
import { LIST_SCHEMA } from './scim.view.js';
import type { ScimResource } from './scim.view.js';

/** Default number of resources in one answer. */
const DEFAULT_COUNT = 100;
export const MAX_RESULTS = 200;
const MAX_INDEX = 2 ** 31;

/** Values outside of the limits are moved into them (RFC 7644, 3.4.2.4). */
export function sliceOf({ filter, startIndex, count }: ScimListQuery): Slice {
  return {
    filter: filter ? parseFilter(filter) : undefined,
    offset: within('startIndex', startIndex ?? '1', [1, MAX_INDEX]) - 1,
    limit: within('count', count ?? String(DEFAULT_COUNT), [0, MAX_RESULTS]),
  };
}

function within(name: string, text: string, [least, most]: readonly [number, number]): number {
  if (!/^-?\d+$/.test(text)) throw invalidValue(name);
  return Math.min(Math.max(Number(text), least), most);
}

export function listOf(
  resources: readonly ScimResource[],
  { total, offset = 0 }: { readonly total: number; readonly offset?: number },
): ScimResource {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
