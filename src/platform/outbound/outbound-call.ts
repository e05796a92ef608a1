import type { IncomingHttpHeaders } from 'node:http';

export interface OutboundTimeouts {
  /** Resolving, connecting and TLS, in milliseconds. */
  readonly connectMs: number;
  /** Longest silence, before the headers and between bytes; not counted while nobody reads. */
  readonly idleMs: number;
  /** Everything, from the call to the last byte; not counted while nobody reads. */
  readonly totalMs?: number;
}

export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly signal: AbortSignal;
  readonly timeouts: OutboundTimeouts;
}

export interface OutboundResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /**
   * One buffer per read of the socket, whatever the framing. Can be read once. Not asking for the
   * next buffer pauses the socket; leaving the loop early destroys it. Fails with OutboundError.
   */
  readonly body: AsyncIterable<Buffer>;
  /** The whole body as UTF-8. Fails with OutboundError `too-large` beyond the limit. */
  text(limitBytes: number): Promise<string>;
  /**
   * The caller has all it wants: a reader waiting for more gets the end, and the connection is kept
   * for the next call if the answer ends at once, else destroyed.
   */
  discard(): void;
}
