import type { JsonObject } from '../http/json.js';

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** A comment line; clients must ignore it. */
export const KEEP_ALIVE_COMMENT = ': keep-alive\n\n';

export function serverSentEvent(data: JsonObject | string, event?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
}
