import { currentRequest } from '../../platform/http/index.js';

/** The header in which every client of the messages form names its version. */
export const VERSION = 'anthropic-version';

/** The header in which the SDKs look for the id of a request. */
export function requestIdHeader(): Record<string, string> {
  const id = currentRequest()?.id;
  return id === undefined ? {} : { 'request-id': id };
}
