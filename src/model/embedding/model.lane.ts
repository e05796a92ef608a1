import PQueue from 'p-queue';
import { UpstreamError } from '../../provider/index.js';

/** Told what the calls wait for, and undefined when they go on. */
export type WaitListener = (reason: string | undefined) => void;

export interface Turn {
  /** The higher one goes first. */
  readonly priority: number;
  readonly signal: AbortSignal;
  /** Longest wait for the turn; without it the call waits as long as it takes. */
  readonly patienceMs?: number;
}

const THROTTLED = 'throttled by the provider';
/** A provider that asks for more is asked again after this time, by whoever is next. */
const LONGEST_SLOW_DOWN_MS = 60_000;

/** The calls of one model in this process: so many at once, and none while its provider asks to wait. */
export class ModelLane {
  private readonly queue: PQueue;
  private readonly listeners = new Map<WaitListener, number>();
  private slowUntil = 0;
  private resuming: NodeJS.Timeout | undefined;

  constructor(concurrency: number) {
    this.queue = new PQueue({ concurrency });
  }

  /** Makes the call when it is its turn. Fails with UpstreamError (rate-limit) beyond its patience, or as the signal says. */
  async run<T>(call: () => Promise<T>, { priority, signal, patienceMs }: Turn): Promise<T> {
    if (patienceMs === undefined) return this.queue.add(call, { priority, signal });
    if (this.slowUntil - performance.now() > patienceMs) throw busyError();
    const impatience = new AbortController();
    const timer = setTimeout(() => impatience.abort(busyError()), patienceMs);
    const begin = (): Promise<T> => {
      clearTimeout(timer);
      return call();
    };
    try {
      const either = AbortSignal.any([signal, impatience.signal]);
      return await this.queue.add(begin, { priority, signal: either });
    } finally {
      clearTimeout(timer);
    }
  }

  /** No call begins for this time. */
  slowDown(milliseconds: number): void {
    const wait = Math.min(LONGEST_SLOW_DOWN_MS, milliseconds);
    const until = performance.now() + wait;
    if (until <= this.slowUntil) return;
    this.slowUntil = until;
    this.queue.pause();
    if (this.resuming === undefined) this.tell(THROTTLED);
    clearTimeout(this.resuming);
    // Whoever was told to wait has a timer of its own that keeps the process up.
    this.resuming = setTimeout(() => this.resume(), wait).unref();
  }

  /** Calls the listener until the answered function is called. One given several times is one. */
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
    this.tell(undefined);
    this.queue.start();
  }

  private tell(reason: string | undefined): void {
    for (const listener of this.listeners.keys()) listener(reason);
  }
}

function busyError(): UpstreamError {
  return new UpstreamError({
    kind: 'rate-limit',
    message:
      'The provider lets this embedding model answer too slowly at present. Try again in a moment, or raise the limit there.',
  });
}
