/** What a job says. The row of `id` in the database is the truth: data holds only what the handler needs to find it. */
export interface QueuedJob {
  readonly id: string;
  readonly data: Readonly<Record<string, string | number>>;
}

/**
 * Settles its own failures in the row; a rejection is logged and never retried by the queue.
 * The signal aborts when the process stops: the handler gives its row back and ends soon.
 */
export type JobHandler = (job: QueuedJob, signal: AbortSignal) => Promise<void>;

export interface HandleOptions {
  /** How many jobs of the kind this process runs at once. */
  readonly concurrency: number;
}

export interface AddOptions {
  /** Milliseconds before which the job does not run; default 0. */
  readonly delayMs?: number;
}

/** How many jobs of a kind there are. */
export interface JobCounts {
  /** Delayed jobs included. */
  readonly waiting: number;
  readonly active: number;
}

/**
 * Tells the processes that work is due. A job is a hint: it may be lost, it may run twice, and two processes may run
 * the same id at once. So a handler claims the row first, and whoever adds jobs also sweeps the rows from time to time.
 */
export abstract class JobQueue {
  /**
   * Registers the one handler of a kind, while the application starts. It runs nothing in a process with ROLE=api.
   * Handlers run outside of the request and the transaction in which their job was added.
   */
  abstract handle(kind: string, options: HandleOptions, handler: JobHandler): void;

  /**
   * Resolves when the job is handed over; never throws, because a job is only a hint. The same kind and id that already
   * waits is not added twice, but a delayed one becomes due by an add without delay. One that runs can be added again,
   * so that a change made meanwhile is not missed. Add after the commit: the handler may start at once.
   */
  abstract add(kind: string, job: QueuedJob, options?: AddOptions): Promise<void>;

  /** Jobs of the kind that wait or run: in this process, or with Redis in all of them. Throws when Redis is away. */
  abstract counts(kind: string): Promise<JobCounts>;

  /**
   * Takes no more jobs, aborts the signals of those that run and waits for their end, but not longer than
   * SHUTDOWN_GRACE_SECONDS.
   */
  abstract stop(): Promise<void>;

  /** Closes every connection and timer. What waits in process is forgotten; Redis keeps its jobs. */
  abstract close(): Promise<void>;
}
