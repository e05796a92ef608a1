import type { Claim, Progress } from './parsing.repository.js';
import { LEASE_SECONDS } from './parsing.repository.js';

const BEAT_MS = (LEASE_SECONDS * 1_000) / 3;

/** Renews the lease; answers why the work must end, undefined when it may go on. */
export type Beat = (claim: Claim, progress: Progress) => Promise<Error | undefined>;

/**
 * The right to write the parsing of one document. It renews itself until `end`, and its signal aborts with the reason
 * that a beat gives: LeaseLostError when the right is gone.
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

  /** Renews now; throws the reason why the work must end. Call it before anything that cannot be taken back. */
  async check(): Promise<void> {
    await this.renew();
    this.lost.signal.throwIfAborted();
  }

  async end(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
  }

  /** One renewal at a time. One that fails is no loss: the next may come in time, and the token is checked at the end. */
  private async renew(): Promise<void> {
    await this.beating;
    this.beating = this.beat(this.claim, this.progress).then(
      (reason) => {
        if (reason) this.lost.abort(reason);
      },
      () => undefined,
    );
    await this.beating;
  }
}
