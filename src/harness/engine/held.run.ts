import { RENEW_SECONDS, STOP_AFTER_SECONDS } from '../protocol/lease.js';
import type { RunLease } from '../protocol/lease.js';

/** Why the work for a run must end: the lease is another's, somebody cancels, or the process stops. */
export type StopCause = 'lost' | 'cancelled' | 'stopping';

/** Renews the lease; undefined when it is lost. */
export type Renew = (lease: RunLease) => Promise<{ cancelRequested: boolean } | undefined>;

/** How long a tool may go on after the process was asked to stop. */
const TOOL_GRACE_MS = 10_000;

/**
 * A run that this process holds. Renews its lease every 15 seconds until `end`; one that was not renewed for 30 seconds,
 * because the database fails or does not answer, counts as lost, before the database gives it to somebody else.
 */
export class HeldRun {
  private readonly working = new AbortController();
  private readonly acting = new AbortController();
  private readonly losing = Promise.withResolvers<undefined>();
  private readonly timer: NodeJS.Timeout;
  private deadline: NodeJS.Timeout | undefined;
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
    this.heldSince(this.renewedAt);
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

  /** Milliseconds since the last renewal; the database has counted the time before. */
  get activeMs(): number {
    return performance.now() - this.renewedAt;
  }

  /** Renews now, and so learns of a cancel. */
  check(): void {
    this.renewing = this.renewing.then(() => this.renewOnce());
  }

  /** Waits for a renewal that is under way, but not for one that comes too late. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    clearTimeout(this.grace);
    this.stopping.removeEventListener('abort', this.onStopping);
    await Promise.race([this.renewing, this.losing.promise]);
    clearTimeout(this.deadline);
  }

  private readonly onStopping = (): void => {
    this.stop('stopping');
    this.grace = setTimeout(() => this.acting.abort(), TOOL_GRACE_MS);
  };

  private async renewOnce(): Promise<void> {
    if (this.stopped === 'lost') return;
    const began = performance.now();
    try {
      const held = await this.renew(this.lease);
      if (!held) this.stop('lost');
      else {
        this.heldSince(began);
        if (held.cancelRequested) this.stop('cancelled');
      }
    } catch {
      // The database is away; the next renewal may reach it.
    }
  }

  /** A timer of its own: a renewal that hangs keeps the next ones waiting. */
  private heldSince(began: number): void {
    if (this.stopped === 'lost') return;
    this.renewedAt = began;
    clearTimeout(this.deadline);
    const left = STOP_AFTER_SECONDS * 1_000 - this.activeMs;
    this.deadline = setTimeout(() => this.stop('lost'), left);
  }

  /** A later cause that is stronger replaces an earlier one: what is lost must not be written to. */
  private stop(cause: StopCause): void {
    const strength: readonly StopCause[] = ['stopping', 'cancelled', 'lost'];
    if (this.stopped && strength.indexOf(cause) <= strength.indexOf(this.stopped)) return;
    this.stopped = cause;
    this.working.abort();
    if (cause !== 'stopping') this.acting.abort();
    if (cause === 'lost') this.losing.resolve(undefined);
  }
}
