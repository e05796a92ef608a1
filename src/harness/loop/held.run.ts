import { RENEW_SECONDS, STOP_AFTER_SECONDS } from '../protocol/lease.js';
import type { RunLease } from '../protocol/lease.js';

/** Why the work for a run must end: the lease is another's, somebody cancels, or the process stops. */
export type StopCause = 'lost' | 'cancelled' | 'stopping';

/** Renews the lease; undefined when it is lost. */
export type Renew = (
  lease: RunLease,
  activeMs: number,
) => Promise<{ cancelRequested: boolean } | undefined>;

/** How long a tool may go on after the process was asked to stop. */
const TOOL_GRACE_MS = 10_000;

/**
 * A run that this process holds. Renews its lease every 15 seconds until `end`; one that could not be renewed for 30
 * seconds counts as lost, before the database gives it to somebody else.
 */
export class HeldRun {
  private readonly working = new AbortController();
  private readonly acting = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private grace: NodeJS.Timeout | undefined;
  private renewing: Promise<void> = Promise.resolve();
  private renewedAt = performance.now();
  private stopped: StopCause | undefined;

  constructor(
    readonly lease: RunLease,
    private readonly renew: Renew,
    private readonly stopping: AbortSignal,
  ) {
    this.timer = setInterval(() => this.check(), RENEW_SECONDS * 1_000);
    stopping.addEventListener('abort', this.onStopping);
    if (stopping.aborted) this.onStopping();
  }

  /** Why the work must end; undefined while it may go on. */
  get cause(): StopCause | undefined {
    return this.stopped;
  }

  /** Aborts as soon as there is a cause: for what can be done again, such as a model's turn. */
  get signal(): AbortSignal {
    return this.working.signal;
  }

  /** The same, but a stop of the process leaves 10 seconds: for what has an effect. */
  get effectSignal(): AbortSignal {
    return this.acting.signal;
  }

  /** Milliseconds since the last renewal, which has counted the time before. */
  get activeMs(): number {
    return performance.now() - this.renewedAt;
  }

  /** Renews now, and so learns of a cancel. */
  check(): void {
    this.renewing = this.renewing.then(() => this.renewOnce());
  }

  async end(): Promise<void> {
    clearInterval(this.timer);
    clearTimeout(this.grace);
    this.stopping.removeEventListener('abort', this.onStopping);
    await this.renewing;
  }

  private readonly onStopping = (): void => {
    this.stop('stopping');
    this.grace = setTimeout(() => this.acting.abort(), TOOL_GRACE_MS);
  };

  private async renewOnce(): Promise<void> {
    if (this.stopped === 'lost') return;
    const activeMs = this.activeMs;
    try {
      const held = await this.renew(this.lease, activeMs);
      if (!held) this.stop('lost');
      else {
        this.renewedAt += activeMs;
        if (held.cancelRequested) this.stop('cancelled');
      }
    } catch {
      // The database is away; the next renewal may reach it.
      if (this.activeMs >= STOP_AFTER_SECONDS * 1_000) this.stop('lost');
    }
  }

  /** A later cause that is stronger replaces an earlier one: what is lost must not be written to. */
  private stop(cause: StopCause): void {
    const strength: readonly StopCause[] = ['stopping', 'cancelled', 'lost'];
    if (this.stopped && strength.indexOf(cause) <= strength.indexOf(this.stopped)) return;
    this.stopped = cause;
    this.working.abort();
    if (cause !== 'stopping') this.acting.abort();
  }
}
