/**
 * Work that is repeated at an interval, never twice at the same time: an interval that ends while it runs is skipped.
 * The work handles its own failures.
 */
export class IntervalJob {
  private readonly stopping = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | undefined;

  constructor(
    intervalMs: number,
    private readonly work: (stopping: AbortSignal) => Promise<void>,
  ) {
    this.timer = setInterval(() => this.runNow(), intervalMs).unref();
  }

  /** Runs the work now, unless it runs already. */
  runNow(): void {
    if (this.running || this.stopping.signal.aborted) return;
    this.running = this.work(this.stopping.signal).finally(() => {
      this.running = undefined;
    });
  }

  /** Starts no more runs, aborts the signal of the present one, and resolves when that has ended. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.stopping.abort();
    await this.running;
  }
}
