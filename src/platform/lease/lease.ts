import { withStatementLimit } from '../database/index.js';

/** Renews a lease in the store. Resolves with the reason why the work must end, or undefined. */
export type Renew = () => Promise<Error | undefined>;

export interface LeaseTimes {
  /** Time between renewals, and the longest time for a statement of one. */
  readonly renewMs: number;
  /** Time without a renewal after which the lease counts as lost; shorter than its lifetime in the store. */
  readonly lostAfterMs?: number;
}

/**
 * The right of this process to work on a row that it has claimed. The row has a token and an expiry by the database's
 * clock; every write of the work asks for the token, so a worker that has lost the lease can change nothing. A process
 * that dies stops renewing, and a sweep finds the expired row.
 *
 * The lease renews itself until `end`, one renewal at a time. A renewal that fails is no loss: the next may come in
 * time.
 */
export class Lease {
  private readonly losing = new AbortController();
  private readonly lost = Promise.withResolvers<undefined>();
  private readonly timer: NodeJS.Timeout;
  private deadline: NodeJS.Timeout | undefined;
  private renewing: Promise<void> = Promise.resolve();
  private renewedAt = performance.now();

  constructor(
    private readonly renew: Renew,
    private readonly times: LeaseTimes,
  ) {
    this.timer = setInterval(() => void this.renewNow(), times.renewMs);
    this.heldSince(this.renewedAt);
  }

  /** Aborts with the reason of the renewal, or with a TimeoutError, when the work must end. */
  get signal(): AbortSignal {
    return this.losing.signal;
  }

  /** Milliseconds since the last renewal that succeeded. */
  get ageMs(): number {
    return performance.now() - this.renewedAt;
  }

  /** Renews after the renewal that may be under way. Never fails. */
  async renewNow(): Promise<void> {
    this.renewing = this.renewing.then(() => this.renewOnce());
    await this.renewing;
  }

  /** Ends the renewals. Waits for the one that is under way, unless the lease is lost. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    await Promise.race([this.renewing, this.lost.promise]);
    clearTimeout(this.deadline);
  }

  private async renewOnce(): Promise<void> {
    if (this.signal.aborted) return;
    const began = performance.now();
    const reason = await withStatementLimit(this.times.renewMs, () =>
      this.renew().catch(() => NOT_RENEWED),
    );
    if (reason === undefined) this.heldSince(began);
    else if (reason !== NOT_RENEWED) this.lose(reason);
  }

  /** Restarts the deadline, which is a timer of its own, because a renewal that hangs delays the next ones. */
  private heldSince(began: number): void {
    const { lostAfterMs } = this.times;
    if (this.signal.aborted) return;
    this.renewedAt = began;
    if (lostAfterMs === undefined) return;
    clearTimeout(this.deadline);
    this.deadline = setTimeout(
      () => this.lose(new DOMException('The lease was not renewed in time.', 'TimeoutError')),
      lostAfterMs - this.ageMs,
    );
  }

  private lose(reason: Error): void {
    this.losing.abort(reason);
    this.lost.resolve(undefined);
  }
}

/** The reason when the store cannot be reached. */
const NOT_RENEWED = new Error('The lease could not be renewed.');
