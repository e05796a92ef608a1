import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { OutboundError, outboundErrorOf } from './outbound.errors.js';
import type { OutboundResponse } from './outbound-call.js';

/** How long a discarded answer may continue before its connection is destroyed. */
const DRAIN_MS = 100;
const DRAIN_BYTES = 64 * 1024;

/**
 * One request and its answer on undici's dispatch interface: no stream object, no promise per chunk. Chunks of one
 * socket read are handed over together; a chunk that arrives while the reader is busy pauses the socket, so at most
 * one read is buffered.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<OutboundResponse>;
  private readonly total?: PausableTimeout;
  private drain?: NodeJS.Timeout;
  private controller?: Dispatcher.DispatchController;
  private chunks: Buffer[] = [];
  private drainedBytes = 0;
  private failure?: Error;
  private ended = false;
  private discarded = false;
  private paused = false;
  /** The headers were reported and the body is not read yet: the rest of this socket read belongs to the body. */
  private handingOver = false;
  private wakeReader?: () => void;
  private readonly answer: PromiseWithResolvers<OutboundResponse>;

  constructor(
    private readonly signal: AbortSignal,
    totalMs: number | undefined,
  ) {
    this.answer = Promise.withResolvers<OutboundResponse>();
    this.response = this.answer.promise;
    signal.addEventListener('abort', this.onAbort, { once: true });
    if (totalMs !== undefined) {
      this.total = new PausableTimeout(totalMs, () =>
        this.abort(new OutboundError('timeout-total')),
      );
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.failure !== undefined) controller.abort(this.failure);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    // 1xx answers precede the real one.
    if (status < 200) return;
    // The first bytes mostly arrive with the headers, before the caller can request them.
    this.handingOver = true;
    setImmediate(() => (this.handingOver = false));
    this.answer.resolve({
      status,
      headers,
      body: { [Symbol.asyncIterator]: () => this.reader() },
      text: (limitBytes) => this.text(limitBytes),
      discard: () => this.discard(),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.discarded) {
      this.drainedBytes += chunk.length;
      if (this.drainedBytes > DRAIN_BYTES) this.abort(new OutboundError('aborted'));
      return;
    }
    // undici's parser reports an empty piece when it is resumed; pausing on it would loop forever.
    if (chunk.length === 0) return;
    this.chunks.push(chunk);
    if (this.handingOver) return;
    if (this.wakeReader !== undefined) {
      this.handingOver = true;
      this.wake();
    } else if (!this.paused) {
      this.paused = true;
      this.total?.pause();
      controller.pause();
    }
  }

  onResponseEnd(): void {
    this.ended = true;
    this.settle();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.failure ??= outboundErrorOf(error);
    this.answer.reject(this.failure);
    this.settle();
  }

  private readonly onAbort = (): void => this.abort(new OutboundError('aborted'));

  /** Destroys the socket at once; before it is connected, the request is dropped instead of sent. */
  private abort(reason: OutboundError): void {
    if (this.ended || this.failure !== undefined) return;
    this.failure = reason;
    this.controller?.abort(reason);
    this.answer.reject(reason);
    this.settle();
  }

  private settle(): void {
    this.signal.removeEventListener('abort', this.onAbort);
    this.total?.clear();
    clearTimeout(this.drain);
    this.wake();
  }

  private wake(): void {
    const wake = this.wakeReader;
    this.wakeReader = undefined;
    wake?.();
  }

  private reader(): AsyncIterator<Buffer> {
    return {
      next: () => this.next(),
      return: () => {
        if (!this.discarded) this.abort(new OutboundError('aborted'));
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  private async next(): Promise<IteratorResult<Buffer, undefined>> {
    if (this.isWaiting()) {
      this.resume();
      // Resuming may synchronously deliver what undici buffered.
      if (this.isWaiting()) {
        await new Promise<void>((resolve) => {
          this.wakeReader = resolve;
        });
      }
    }
    this.handingOver = false;
    if (this.discarded) return { done: true, value: undefined };
    const [first] = this.chunks;
    if (first !== undefined) {
      const value = this.chunks.length === 1 ? first : Buffer.concat(this.chunks);
      this.chunks = [];
      return { done: false, value };
    }
    if (this.failure !== undefined) throw this.failure;
    return { done: true, value: undefined };
  }

  private isWaiting(): boolean {
    return this.chunks.length === 0 && !this.ended && !this.discarded && this.failure === undefined;
  }

  private resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.total?.resume();
    this.controller?.resume();
  }

  private async text(limitBytes: number): Promise<string> {
    const read: Buffer[] = [];
    let bytes = 0;
    for (let item = await this.next(); item.done !== true; item = await this.next()) {
      bytes += item.value.length;
      if (bytes > limitBytes) {
        const error = new OutboundError('too-large');
        this.abort(error);
        throw error;
      }
      read.push(item.value);
    }
    return Buffer.concat(read).toString('utf8');
  }

  private discard(): void {
    if (this.discarded) return;
    this.discarded = true;
    this.chunks = [];
    if (this.ended || this.failure !== undefined) return;
    this.drain = setTimeout(() => this.abort(new OutboundError('aborted')), DRAIN_MS);
    this.resume();
    this.wake();
  }
}

/** Calls back once, after a time that stops while paused. */
class PausableTimeout {
  private timer?: NodeJS.Timeout;
  private startedAt = 0;
  private remainingMs: number;

  constructor(
    milliseconds: number,
    private readonly onTimeout: () => void,
  ) {
    this.remainingMs = milliseconds;
    this.resume();
  }

  pause(): void {
    if (this.timer === undefined) return;
    this.clear();
    this.remainingMs = Math.max(0, this.remainingMs - (performance.now() - this.startedAt));
  }

  resume(): void {
    if (this.timer !== undefined) return;
    this.startedAt = performance.now();
    this.timer = setTimeout(this.onTimeout, this.remainingMs);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
