import PQueue from 'p-queue';
import type { Message } from '../../platform/message/index.js';
import { msg } from '../../platform/message/index.js';
import { UpstreamError } from '../../provider/index.js';

/** Called with the reason for which calls wait, and with undefined when they continue. */
export type WaitListener = (reason: Message | undefined) => void;

/** A query has a waiting caller; a document may take as long as it takes. */
export type CallPurpose = 'query' | 'document';

export interface QueuedCall {
  readonly purpose: CallPurpose;
  readonly signal: AbortSignal;
  /** Longest wait in the queue; without it the call waits as long as it takes. */
  readonly maxWaitMs?: number;
}

const THROTTLED = msg`throttled by the provider`;
/** A longer Retry-After is cut to this. */
const MAX_SLOW_DOWN_MS = 60_000;

/**
 * Runs the calls of one model in this process: limited concurrency, and none while the provider throttles the model.
 * Queries have places of their own, so that none waits for the call of a document, however long that takes.
 */
export class ModelQueue {
  private readonly queues: Readonly<Record<CallPurpose, PQueue>>;
  private readonly listeners = new Map<WaitListener, number>();
  private slowUntil = 0;
  private resuming: NodeJS.Timeout | undefined;

  /** The number of concurrent calls of each purpose. */
  constructor(places: Readonly<Record<CallPurpose, number>>) {
    this.queues = {
      query: new PQueue({ concurrency: places.query }),
      document: new PQueue({ concurrency: places.document }),
    };
  }

  /** Runs the call. Fails with UpstreamError (rate-limit) after maxWaitMs in the queue, or with the signal's reason. */
  async run<T>(call: () => Promise<T>, { purpose, signal, maxWaitMs }: QueuedCall): Promise<T> {
    const queue = this.queues[purpose];
    if (maxWaitMs === undefined) return queue.add(call, { signal });
    if (this.slowUntil - performance.now() > maxWaitMs) throw busyError();
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(busyError()), maxWaitMs);
    const start = (): Promise<T> => {
      clearTimeout(timer);
      return call();
    };
    try {
      const either = AbortSignal.any([signal, timeout.signal]);
      return await queue.add(start, { signal: either });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Blocks the start of calls for this time. */
  slowDown(milliseconds: number): void {
    const wait = Math.min(MAX_SLOW_DOWN_MS, milliseconds);
    const until = performance.now() + wait;
    if (until <= this.slowUntil) return;
    this.slowUntil = until;
    for (const queue of Object.values(this.queues)) queue.pause();
    if (this.resuming === undefined) this.notify(THROTTLED);
    clearTimeout(this.resuming);
    // The waiting calls have timers of their own that keep the process alive.
    this.resuming = setTimeout(() => this.resume(), wait).unref();
  }

  /** Registers the listener until the returned function is called. One registered several times is called once. */
  watch(listener: WaitListener): () => void {
    const times = this.listeners.get(listener) ?? 0;
    this.listeners.set(listener, times + 1);
    if (times === 0 && this.resuming) listener(THROTTLED);
    return () => this.unwatch(listener);
  }

  private unwatch(listener: WaitListener): void {
    const times = this.listeners.get(listener) ?? 0;
    if (times > 1) {
      this.listeners.set(listener, times - 1);
      return;
    }
    this.listeners.delete(listener);
    if (this.resuming) listener(undefined);
  }

  private resume(): void {
    this.resuming = undefined;
    this.slowUntil = 0;
    this.notify(undefined);
    for (const queue of Object.values(this.queues)) queue.start();
  }

  private notify(reason: Message | undefined): void {
    for (const listener of this.listeners.keys()) listener(reason);
  }
}

function busyError(): UpstreamError {
  return new UpstreamError({
    kind: 'rate-limit',
    message: msg`The provider throttles this embedding model at the moment. Try again in a moment, or raise the limit there.`,
  });
}
