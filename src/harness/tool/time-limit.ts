import { ToolError } from '../fault/tool.error.js';

/** A signal that aborts with another one, or after a time. */
export class TimeLimit {
  readonly signal: AbortSignal;
  private readonly timeout: AbortSignal;

  constructor(
    private readonly outer: AbortSignal,
    private readonly seconds: number,
  ) {
    this.timeout = AbortSignal.timeout(seconds * 1_000);
    this.signal = AbortSignal.any([outer, this.timeout]);
  }

  /** Whether only the time is over, so that what was found so far may be reported. */
  get isOver(): boolean {
    return this.timeout.aborted && !this.outer.aborted;
  }

  /** Fails with the outer signal's reason, or with TIMED_OUT, once it is over. */
  check(): void {
    this.outer.throwIfAborted();
    if (this.timeout.aborted) {
      throw new ToolError(
        'TIMED_OUT',
        `It took longer than ${this.seconds} seconds. Look in a smaller folder.`,
      );
    }
  }
}
