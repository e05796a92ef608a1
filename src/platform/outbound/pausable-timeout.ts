/** Calls back once, after a time that stops while paused. */
export class PausableTimeout {
  private timer?: NodeJS.Timeout;
  private startedAt = 0;
  private remainingMs: number;

  constructor(
    milliseconds: number,
    private readonly onTimeout: () => void,
  ) {
    this.remainingMs = milliseconds;
    this.resume();
  }

  pause(): void {
    if (this.timer === undefined) return;
    this.clear();
    this.remainingMs = Math.max(0, this.remainingMs - (performance.now() - this.startedAt));
  }

  resume(): void {
    if (this.timer !== undefined) return;
    this.startedAt = performance.now();
    this.timer = setTimeout(this.onTimeout, this.remainingMs);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
