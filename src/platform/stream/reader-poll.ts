import type { EventBus } from '../event/index.js';

/** Interval at which readers that no notification has reached look for news. */
const POLL_MS = 2_000;

/**
 * Lets the readers of this process look for news every two seconds, and at once when events of other processes arrive again
 * after an outage, because notifications may be lost. Runs only while there are readers: one subscription and one timer.
 */
export class ReaderPoll {
  private timer: NodeJS.Timeout | undefined;
  private unsubscribes: readonly (() => void)[] = [];

  constructor(
    private readonly bus: EventBus,
    /** Subscribes to the notifications; returns the way to unsubscribe. */
    private readonly subscribe: () => () => void,
    private readonly poll: () => void,
  ) {}

  /** Does nothing while it runs. */
  start(): void {
    if (this.timer) return;
    this.unsubscribes = [this.subscribe(), this.bus.onResumed(this.poll)];
    this.timer = setInterval(this.poll, POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    for (const unsubscribe of this.unsubscribes) unsubscribe();
    this.unsubscribes = [];
  }
}
