import type { IncomingHttpHeaders } from 'node:http';

export interface OutboundTimeouts {
  /** Resolving, connecting and TLS, in milliseconds. */
  readonly connectMs: number;
  /** Longest silence, before the headers and between bytes; not counted while the reader is paused. */
  readonly idleMs: number;
  /** From the call to the last byte; not counted while the reader is paused. */
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
   * One buffer per read of the socket, whatever the framing. Can be iterated once. The socket is paused until the next
   * buffer is requested and destroyed when the loop ends early. Rejects with OutboundError.
   */
  readonly body: AsyncIterable<Buffer>;
  /** The whole body as UTF-8. Rejects with OutboundError `too-large` beyond the limit. */
  text(limitBytes: number): Promise<string>;
  /**
   * Ends the iteration early: a waiting reader gets the end. The connection is reused if the answer ends at once, else
   * destroyed.
   */
  discard(): void;
}
