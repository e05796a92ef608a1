/** Half-life of the time that a user has consumed. */
const HALF_LIFE_MS = 30_000;
/** Users with more recent time count as heavy. */
const MAX_LIGHT_MS = 500;
/** Recent time below this is forgotten. */
const MIN_REMEMBERED_MS = 1;

interface Waiting {
  readonly start: () => void;
}

interface RecentTime {
  readonly ms: number;
  readonly at: number;
}

/**
 * Runs work of many users in a few places, so that no user holds the others for longer than the work in one place takes: a
 * user has one place at a time, who has taken the least time recently is next, and one place is never taken by users who have
 * taken more than half a second of late.
 */
export class FairQueue {
  private readonly waiting = new Map<string, Set<Waiting>>();
  private readonly running = new Set<string>();
  /** Waiting work per user, oldest first. */
  private readonly recent = new Map<string, RecentTime>();

  /** @param now In milliseconds. */
  constructor(
    private readonly places: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Fails with the reason of the signal when it aborts before the work starts. */
  async run<T>(user: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.place(user, signal);
    const startedAt = this.now();
    try {
      return await work();
    } finally {
      this.running.delete(user);
      this.remember(user, this.now() - startedAt);
      this.startNext();
    }
  }

  private async place(user: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        this.leave(user, waiting);
        reject(signal?.reason as Error);
      };
      const start = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const waiting = { start };
      signal?.addEventListener('abort', abort, { once: true });
      const others = this.waiting.get(user) ?? new Set();
      this.waiting.set(user, others.add(waiting));
      this.startNext();
    });
  }

  private leave(user: string, waiting: Waiting): void {
    const waitingOfUser = this.waiting.get(user);
    waitingOfUser?.delete(waiting);
    if (waitingOfUser?.size === 0) this.waiting.delete(user);
  }

  private startNext(): void {
    const user = this.next();
    const [waiting] = (user !== undefined && this.waiting.get(user)) || [];
    if (user === undefined || !waiting) return;
    this.leave(user, waiting);
    this.running.add(user);
    waiting.start();
    this.startNext();
  }

  /** The user with the least recent time; on a tie, the longest waiting one. */
  private next(): string | undefined {
    if (this.running.size === this.places) return undefined;
    const heavy = [...this.running].filter((user) => this.recentMs(user) > MAX_LIGHT_MS);
    let next: string | undefined;
    let leastMs = heavy.length < this.places - 1 ? Infinity : MAX_LIGHT_MS;
    for (const user of this.waiting.keys()) {
      const ms = this.recentMs(user);
      if (ms >= leastMs || this.running.has(user)) continue;
      next = user;
      leastMs = ms;
    }
    return next;
  }

  private recentMs(user: string): number {
    const recent = this.recent.get(user);
    return recent ? recent.ms * 0.5 ** ((this.now() - recent.at) / HALF_LIFE_MS) : 0;
  }

  private remember(user: string, ms: number): void {
    const total = this.recentMs(user) + ms;
    this.recent.delete(user);
    this.recent.set(user, { ms: total, at: this.now() });
    for (const oldest of this.recent.keys()) {
      if (this.recentMs(oldest) >= MIN_REMEMBERED_MS) break;
      this.recent.delete(oldest);
    }
  }
}
