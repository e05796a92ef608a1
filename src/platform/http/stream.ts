import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';
import { DomainError, setEnvelopeCode } from '../error/index.js';
import { textFor } from '../message/index.js';
import { envelope } from './answer.js';
import { localized } from './request.js';

/**
 * Calls the listener once the answer is complete or its client has disconnected; at once if the client disconnected before,
 * while a guard waited for the database, because `close` is emitted only once.
 */
export function onClose(response: ServerResponse, listener: () => void): void {
  if (response.closed) listener();
  else response.once('close', listener);
}

/** A signal that aborts when the client disconnects before it is answered. */
export function whileConnected(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController();
  onClose(response, () => {
    if (!response.writableFinished) disconnected.abort();
  });
  return disconnected.signal;
}

/** A controller parameter: the signal of `whileConnected`. */
export const WhileConnected = createParamDecorator(
  (_: unknown, context: ExecutionContext): AbortSignal =>
    whileConnected(context.switchToHttp().getResponse<Response>()),
);

const EVENTS = 'text/event-stream; charset=utf-8';
const HEADERS = {
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const;

/** Default time after which a client that does not read a full buffer is disconnected. */
const STALLED_MS = 10 * 60_000;

interface SseOptions {
  /** Time after which a client that does not read is disconnected; default STALLED_MS. */
  readonly stalledMs?: number | undefined;
  /** The text that replaces comments, for clients that accept none. */
  readonly ping?: string | undefined;
  /** Content type of a stream in another form, of which the caller writes whole pieces; default that of events. */
  readonly type?: string | undefined;
}

/** All open writers of the process, so that one timer serves every ping. */
const open = new Set<SseWriter>();
let keepAliveTimer: NodeJS.Timeout | undefined;

/**
 * Server-sent events (WHATWG HTML, Server-sent events) written directly on a response: LF framing, one `data:` line per event.
 * Several frames go out in one write. Every method is safe after the client has disconnected.
 */
export class SseWriter {
  private lastWrite = Date.now();
  private ended = false;
  private readonly stalledMs: number;
  private readonly ping: string | undefined;
  private readonly type: string;

  constructor(
    readonly response: ServerResponse,
    private readonly pingMs: number,
    options: SseOptions = {},
  ) {
    this.stalledMs = options.stalledMs ?? STALLED_MS;
    this.ping = options.ping;
    this.type = options.type ?? EVENTS;
  }

  /**
   * Sends the headers and a first comment at once, so that proxies and clients know the stream is open. The
   * comment is left out where the first event follows at once.
   */
  start({ comment = true }: { readonly comment?: boolean } = {}): void {
    // A stopping process has already set `close`.
    if (!this.response.hasHeader('Connection')) this.response.setHeader('Connection', 'keep-alive');
    this.response.writeHead(200, { 'Content-Type': this.type, ...HEADERS });
    this.response.socket?.setNoDelay(true);
    if (comment) this.write(this.ping ?? ': connected\n\n');
    open.add(this);
    keepAliveTimer ??= setInterval(keepAliveAll, 1_000).unref();
    this.onClose(() => this.forget());
    // A HEAD request gets the headers only.
    if (this.response.req.method === 'HEAD') this.end();
  }

  get closed(): boolean {
    return this.ended || this.response.destroyed || this.response.writableEnded;
  }

  /** Writes complete frames; false means the client reads slowly: await `drained` before producing more. */
  write(frames: string | Uint8Array): boolean {
    if (this.closed) return true;
    this.lastWrite = Date.now();
    return this.response.write(frames);
  }

  /** Resolves when the buffer is drained or the signal aborts, which it must do when the client disconnects. */
  async drained(signal: AbortSignal): Promise<void> {
    if (this.closed || signal.aborted || !this.response.writableNeedDrain) return;
    await once(this.response, 'drain', { signal }).catch(() => undefined);
  }

  /** Calls the listener once; at once if the client has already disconnected. */
  onClose(listener: () => void): void {
    onClose(this.response, listener);
  }

  /** Ends the stream after the written data is flushed. */
  end(): void {
    if (this.closed) return;
    this.ended = true;
    this.lastWrite = Date.now();
    this.response.end();
  }

  /** Pings a silent stream, and closes one whose client has read nothing for too long, ended or not. */
  keepAlive(now: number): void {
    const silent = now - this.lastWrite;
    if (this.ended || this.response.writableNeedDrain) {
      if (silent >= this.stalledMs) this.response.destroy();
    } else if (silent >= this.pingMs) this.write(this.ping ?? ': ping\n\n');
  }

  private forget(): void {
    this.ended = true;
    open.delete(this);
    if (open.size > 0) return;
    clearInterval(keepAliveTimer);
    keepAliveTimer = undefined;
  }
}

function keepAliveAll(): void {
  const now = Date.now();
  for (const writer of open) writer.keepAlive(now);
}

/** One event as text. `data` is serialised as JSON, which never contains a line feed. */
export function sseFrame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

const PING_MS = 10_000;

/** Reports the steps of work that takes a while. */
export interface Steps {
  /** Sends a frame; does nothing where the client waits for the result alone. */
  readonly send: (event: string, data: object) => void;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Answers a route that is marked `NoEnvelope` and takes a while: with the envelope of its result or, where the client
 * accepts `text/event-stream`, with a frame for each step as it happens and the result in a frame `done`. A DomainError after
 * the first frame is a frame `error` with its envelope; any other error closes the connection.
 */
export async function answerInSteps(
  response: Response,
  work: (steps: Steps) => Promise<object>,
): Promise<void> {
  const signal = whileConnected(response);
  if (response.req.accepts(['application/json', 'text/event-stream']) !== 'text/event-stream') {
    const { code, msg, ...rest } = envelope(await work({ send: () => undefined, signal }));
    setEnvelopeCode(response, code);
    response.status(200).json({ code, msg: textFor(response, msg), ...rest });
    return;
  }
  const writer = new SseWriter(response, PING_MS);
  const send = (event: string, data: object): void => {
    if (response.destroyed) return;
    if (!response.headersSent) writer.start({ comment: false });
    writer.write(sseFrame(event, data));
  };
  try {
    send('done', await work({ send, signal }));
    setEnvelopeCode(response, 200);
  } catch (error) {
    if (!response.headersSent || !(error instanceof DomainError)) throw error;
    const { code, userMessage, data } = error;
    send('error', { code, msg: localized(userMessage), data });
    setEnvelopeCode(response, code);
  }
  writer.end();
}
