import type { Claim, Progress } from './parsing.repository.js';
import { LEASE_SECONDS } from './parsing.repository.js';
import { LeaseLostError } from './parsing.errors.js';

const BEAT_MS = (LEASE_SECONDS * 1_000) / 3;

/** Renews the lease and tells whether the work is still wanted and allowed. */
export type Beat = (claim: Claim, progress: Progress) => Promise<boolean>;

/**
 * The right to write the parsing of one document. It renews itself until `end`, and its signal aborts with
 * LeaseLostError as soon as a beat says that it is lost.
 */
export class Lease {
  private readonly lost = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private beating: Promise<void> | undefined;
  private progress: Progress = { done: 0, total: null, waitingFor: null };

  constructor(
    readonly claim: Claim,
    private readonly beat: Beat,
  ) {
    this.timer = setInterval(() => void this.renew(), BEAT_MS);
  }

  get signal(): AbortSignal {
    return this.lost.signal;
  }

  /** Written with the next renewal. */
  report(progress: Partial<Progress>): void {
    this.progress = { ...this.progress, ...progress };
  }

  /** Renews now; throws LeaseLostError. Call it before anything that cannot be taken back. */
  async check(): Promise<void> {
    await this.renew();
    this.lost.signal.throwIfAborted();
  }

  abandon(): void {
    this.lost.abort(new LeaseLostError());
  }

  async end(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
  }

  /** One renewal at a time. One that fails is no loss: the next may come in time, and the token is checked at the end. */
  private async renew(): Promise<void> {
    await this.beating;
    this.beating = this.beat(this.claim, this.progress).then(
      (held) => {
        if (!held) this.abandon();
      },
      () => undefined,
    );
    await this.beating;
  }
}
