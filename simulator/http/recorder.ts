import type { IncomingHttpHeaders } from 'node:http';
import type { JsonValue } from './json.js';

/**
 * How a response ended: `completed` (sent in full, also when a fault shortened it), `reset` (the
 * simulator reset the connection on purpose), `client-closed` (the client left first), or `open`.
 */
export type RequestEnding = 'open' | 'completed' | 'client-closed' | 'reset';

/** One received request, and what became of it. */
export interface RecordedRequest {
  readonly method: string;
  /** Path without the query string. */
  readonly path: string;
  /** What follows the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed when it is JSON, otherwise the text; null when there is none. */
  readonly body: JsonValue;
  readonly model: string | undefined;
  /** Time of arrival, ISO 8601. */
  readonly at: string;
  /** Status answered; 0 until the head of the response is sent. */
  readonly status: number;
  readonly ended: RequestEnding;
  /** Bytes of response body written so far. */
  readonly bytesSent: number;
}

export interface Recording extends RecordedRequest {
  body: JsonValue;
  model: string | undefined;
  status: number;
  ended: RequestEnding;
  bytesSent: number;
}

/** A simulator may run for days under a demo, so that only the newest requests are kept. */
const KEPT_REQUESTS = 2000;

/** Keeps the newest requests in order of arrival, and counts all of them. */
export class Recorder {
  readonly requests: Recording[] = [];
  total = 0;

  add(recording: Recording): void {
    this.total += 1;
    this.requests.push(recording);
    if (this.requests.length > KEPT_REQUESTS) this.requests.shift();
  }

  toJson(): JsonValue {
    return this.requests.map((request) => ({ ...request, headers: { ...request.headers } }));
  }

  clear(): void {
    this.requests.length = 0;
    this.total = 0;
  }
}
