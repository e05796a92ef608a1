import type { ServerResponse } from 'node:http';

const IGNORED_HEADER = 'x-plinth-ignored';

/** Longest value of the header, so that a client with many odd parameters still gets its answer. */
const MAX_HEADER_CHARS = 1_000;

const lists = new WeakMap<ServerResponse, string>();

/**
 * Parameters of a model call that were left out: a header of the answer names them, unless it has begun. The line of the request
 * log has them in any case.
 */
export function setIgnoredParameters(response: ServerResponse, names: readonly string[]): void {
  if (names.length === 0) return;
  // Names are fields of JSON, and a header takes printable characters alone.
  const list = names.map((name) => name.replaceAll(/[^\w.[\]-]/g, '_')).join(', ');
  const value = list.slice(0, MAX_HEADER_CHARS);
  lists.set(response, value);
  if (!response.headersSent) response.setHeader(IGNORED_HEADER, value);
}

/** The names, separated by commas; undefined if there are none. */
export function ignoredParameters(response: ServerResponse): string | undefined {
  return lists.get(response);
}
