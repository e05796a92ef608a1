import type { Config } from '../config/index.js';

/** The content of a job. The row of `id` in the database is the truth; data holds only what the handler needs to find it. */
export interface QueuedJob {
  readonly id: string;
  readonly data: Readonly<Record<string, string | number>>;
}

/**
 * The handler of a job records its failures in the row; a rejection is logged and never retried by the queue.
 * The signal aborts when the process stops: the handler releases its row and ends soon.
 */
export type JobHandler = (job: QueuedJob, signal: AbortSignal) => Promise<void>;

export interface AddOptions {
  /** Milliseconds before which the job does not run; default 0. */
  readonly delayMs?: number;
}

/** How many jobs of a kind there are. */
export interface JobCounts {
  /** Waiting jobs, delayed ones included. */
  readonly waiting: number;
  readonly active: number;
}

/** The settings that the queues depend on. */
export type QueueConfig = Pick<
  Config,
  'REDIS_PREFIX' | 'REDIS_URL' | 'ROLE' | 'SHUTDOWN_GRACE_SECONDS'
>;

/** The kinds of jobs, and how many of each a process runs at once. */
export type JobKinds = Readonly<Record<string, number>>;

/** Documents of up to 256 KiB that one process ingests at the same time; they share embedding calls. */
const MAX_DOCUMENTS = 16;
/** Larger documents that one process ingests beside them; their fragments and vectors are in memory. */
const MAX_LARGE_DOCUMENTS = 4;

export function jobKindsOf(config: Pick<Config, 'HARNESS_RUNS'>): JobKinds {
  return {
    'attachment.parse': MAX_DOCUMENTS,
    'attachment.parse-large': MAX_LARGE_DOCUMENTS,
    'harness.run': config.HARNESS_RUNS,
  };
}

/**
 * Tells the processes that work is due. A job is a hint: it may be lost, it may run twice, and two processes may run
 * the same id at once. So a handler claims the row first, and a producer also sweeps the rows from time to time.
 */
export abstract class JobQueue {
  /**
   * Registers the one handler of a kind, while the application starts. It runs nothing in a process with ROLE=api.
   * Handlers run outside of the request and the transaction in which their job was added.
   */
  abstract handle(kind: string, handler: JobHandler): void;

  /**
   * Resolves when the job is enqueued; never throws, because a job is only a hint. Where Redis is configured and away, the
   * job is enqueued in this process if it runs jobs, and else left to the sweep of the rows.
   * The same kind and id that already waits is not added twice, but a delayed one becomes due by an add without delay.
   * One that runs can be added again, so that its handler sees a change made meanwhile. Add after the commit: the
   * handler may start at once.
   */
  abstract add(kind: string, job: QueuedJob, options?: AddOptions): Promise<void>;

  /** Waiting and running jobs of the kind: in this process, or with Redis in all of them. Throws without Redis. */
  abstract counts(kind: string): Promise<JobCounts>;

  /**
   * Takes no more jobs, aborts the signals of those that run and waits for their end, but not longer than
   * SHUTDOWN_GRACE_SECONDS. Connections stay open until the application has closed, so that jobs can still be added.
   * Further calls answer the same promise.
   */
  abstract stop(): Promise<void>;
}
