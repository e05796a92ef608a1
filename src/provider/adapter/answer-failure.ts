import { isRecord } from './json-fields.js';
import type { JsonRecord } from './json-fields.js';
import { UpstreamError } from './upstream.error.js';

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw protocolError('The provider sent something that is not JSON.', cause);
  }
}

/** The object that an event or a line of a stream holds. Throws UpstreamError (protocol). */
export function parseRecord(text: string): JsonRecord {
  const record = parseJson(text);
  if (!isRecord(record)) throw protocolError('The provider sent an event that is not an object.');
  return record;
}

/** Whether a last piece that the stream left unterminated came whole. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function protocolError(what: string, cause?: unknown): UpstreamError {
  return new UpstreamError({
    kind: 'protocol',
    message: `${what} Check that the address belongs to a model service of this protocol.`,
    cause,
  });
}

export function cutError(): UpstreamError {
  return new UpstreamError({
    kind: 'cut',
    message: 'The provider ended the answer before it was finished. Try again.',
    retryable: true,
  });
}
