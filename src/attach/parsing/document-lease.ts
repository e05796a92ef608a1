import { Lease } from '../../platform/lease/index.js';
import { LEASE_SECONDS } from './parsing.repository.js';
import type { Claim, Progress } from './parsing.repository.js';

const TIMES = { renewMs: (LEASE_SECONDS * 1_000) / 3 };

/** Renews the lease of the claim and stores the progress; answers why the work must end, undefined when it may continue. */
type RenewClaim = (claim: Claim, progress: Progress) => Promise<Error | undefined>;

/** The right to write the parsing of one document. Its signal aborts with LeaseLostError when another has the right. */
export class DocumentLease {
  private readonly lease: Lease;
  private progress: Progress = {
    done: 0,
    total: null,
    waitingFor: null,
    ocrDone: 0,
    ocrTotal: null,
    contextDone: 0,
    inputTokens: 0,
    outputTokens: 0,
  };

  constructor(
    readonly claim: Claim,
    renew: RenewClaim,
  ) {
    this.lease = new Lease(() => renew(claim, this.progress), TIMES);
  }

  get signal(): AbortSignal {
    return this.lease.signal;
  }

  /** Stored with the next renewal. */
  report(progress: Partial<Progress>): void {
    this.progress = { ...this.progress, ...progress };
  }

  /** Adds the cost of an answer of a model. Stored with the next renewal. */
  count({ inputTokens, outputTokens }: Pick<Progress, 'inputTokens' | 'outputTokens'>): void {
    const { progress } = this;
    this.report({
      inputTokens: progress.inputTokens + inputTokens,
      outputTokens: progress.outputTokens + outputTokens,
    });
  }

  /** Counts one more page that text recognition has read. */
  pageRead(): void {
    this.report({ ocrDone: this.progress.ocrDone + 1 });
  }

  /** Counts one more fragment whose context is written. */
  contextWritten(): void {
    this.report({ contextDone: this.progress.contextDone + 1 });
  }

  /** Renews now; throws the reason why the work must end. Call it before anything that cannot be taken back. */
  async check(): Promise<void> {
    await this.lease.renewNow();
    this.signal.throwIfAborted();
  }

  async end(): Promise<void> {
    await this.lease.end();
  }
}
