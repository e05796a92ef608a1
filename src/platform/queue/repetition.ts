/**
 * Work that is done again and again, never twice at the same time: while a round takes longer, its turns are left out.
 * The rounds settle their own failures.
 */
export class Repetition {
  private readonly stopping = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | undefined;

  constructor(
    everyMs: number,
    private readonly round: (stopping: AbortSignal) => Promise<void>,
  ) {
    this.timer = setInterval(() => this.begin(), everyMs).unref();
  }

  /** A round now, unless one runs. */
  begin(): void {
    if (this.running || this.stopping.signal.aborted) return;
    this.running = this.round(this.stopping.signal).finally(() => {
      this.running = undefined;
    });
  }

  /** Begins no more rounds, tells the one that runs, and resolves when it has ended. */
  async end(): Promise<void> {
    clearInterval(this.timer);
    this.stopping.abort();
    await this.running;
  }
}
