import { Logger } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import { ATTRIBUTE, currentSpan, traced } from '../tracing/index.js';
import type { Config } from '../config/index.js';

/** The content of a job. The row of `id` in the database is the truth; data holds only what the handler needs to find it. */
export interface QueuedJob {
  readonly id: string;
  readonly data: Readonly<Record<string, string | number>>;
  /** The trace in which the job was added (`traceparent`, W3C); the queue adds it. */
  readonly trace?: string | undefined;
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

/** Runs of connectors at the same time; they mostly wait. */
const MAX_SOURCE_RUNS = 4;

/** Messages of schedules that are answered at the same time; they mostly wait. */
const MAX_FIRES = 8;

export function jobKindsOf(config: Pick<Config, 'HARNESS_RUNS'>): JobKinds {
  return {
    'attachment.parse': MAX_DOCUMENTS,
    'attachment.parse-large': MAX_LARGE_DOCUMENTS,
    'harness.run': config.HARNESS_RUNS,
    'source.run': MAX_SOURCE_RUNS,
    'schedule.fire': MAX_FIRES,
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

/** The job with the present trace, so that the process that runs it continues it. */
export function withTrace(job: QueuedJob): QueuedJob {
  const trace = currentSpan()?.traceparent;
  return trace === undefined ? job : { ...job, trace };
}

/** The jobs that this process runs now, each with the signal that tells it to end. */
export class RunningJobs {
  private readonly logger = new Logger('JobQueue');
  private readonly running = new Map<AbortController, Promise<void>>();
  private readonly abandoned = Promise.withResolvers<undefined>();

  /** Runs one job. Resolves when it has ended, or when `stop` no longer waits for it; a failure is logged. */
  async run(kind: string, job: QueuedJob, handler: JobHandler): Promise<void> {
    const controller = new AbortController();
    const options = {
      kind: 'consumer',
      parent: job.trace,
      attributes: () => ({
        [ATTRIBUTE.messagingSystem]: 'plinth',
        [ATTRIBUTE.messagingOperation]: 'process',
        [ATTRIBUTE.messagingDestination]: kind,
        [ATTRIBUTE.messagingId]: job.id,
      }),
    } as const;
    const end = this.execute(kind, job, () =>
      traced(`process ${kind}`, options, () => handler(job, controller.signal)),
    );
    this.running.set(controller, end);
    await Promise.race([end, this.abandoned.promise]);
    this.running.delete(controller);
  }

  /** Aborts all jobs and waits for their end, but not longer than the limit. */
  async stop(limitMs: number): Promise<void> {
    for (const controller of this.running.keys()) controller.abort();
    const timer = setTimeout(() => {
      this.logger.warn({ msg: 'Jobs did not end in time', jobs: this.running.size });
      this.abandoned.resolve(undefined);
    }, limitMs);
    await Promise.race([Promise.all(this.running.values()), this.abandoned.promise]);
    clearTimeout(timer);
  }

  private async execute(kind: string, job: QueuedJob, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.error({ msg: 'Job failed', kind, job: job.id, err: error });
    }
  }
}

/** The jobs of one kind. */
interface Lane {
  readonly kind: string;
  /** Waiting jobs by id, in the order in which they became due. */
  readonly due: Map<string, QueuedJob>;
  readonly delayed: Map<string, { readonly job: QueuedJob; readonly timer: NodeJS.Timeout }>;
  active: number;
  handler?: JobHandler;
  readonly concurrency: number;
}

/** Jobs within one process. What waits is lost with it and found again by the sweep of the rows. */
export class InProcessJobQueue extends JobQueue {
  private readonly lanes = new Map<string, Lane>();
  private readonly running = new RunningJobs();
  /** A handler must not see the request or the transaction in which its job was added. */
  private readonly outside = AsyncLocalStorage.snapshot();
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly config: Pick<QueueConfig, 'ROLE' | 'SHUTDOWN_GRACE_SECONDS'>,
    private readonly kinds: JobKinds,
  ) {
    super();
  }

  override handle(kind: string, handler: JobHandler): void {
    if (this.config.ROLE === 'api') return;
    const lane = this.laneOf(kind);
    lane.handler = handler;
    this.runDue(lane);
  }

  override async add(kind: string, job: QueuedJob, options: AddOptions = {}): Promise<void> {
    // This process runs no jobs; the workers find the row.
    if (this.stopping || this.config.ROLE === 'api') return;
    const lane = this.laneOf(kind);
    if (lane.due.has(job.id)) return;
    const added = withTrace(job);
    if (options.delayMs) this.delay(lane, added, options.delayMs);
    else this.makeDue(lane, lane.delayed.get(job.id)?.job ?? added);
  }

  override async counts(kind: string): Promise<JobCounts> {
    const { due, delayed, active } = this.laneOf(kind);
    return { waiting: due.size + delayed.size, active };
  }

  override stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  private async end(): Promise<void> {
    for (const { due, delayed } of this.lanes.values()) {
      for (const { timer } of delayed.values()) clearTimeout(timer);
      delayed.clear();
      due.clear();
    }
    await this.running.stop(this.config.SHUTDOWN_GRACE_SECONDS * 1_000);
  }

  private laneOf(kind: string): Lane {
    const lane = this.lanes.get(kind) ?? {
      kind,
      due: new Map(),
      delayed: new Map(),
      active: 0,
      concurrency: this.kinds[kind] ?? 1,
    };
    this.lanes.set(kind, lane);
    return lane;
  }

  private delay(lane: Lane, job: QueuedJob, delayMs: number): void {
    if (lane.delayed.has(job.id)) return;
    const timer = setTimeout(() => this.makeDue(lane, job), delayMs);
    lane.delayed.set(job.id, { job, timer });
  }

  private makeDue(lane: Lane, job: QueuedJob): void {
    clearTimeout(lane.delayed.get(job.id)?.timer);
    lane.delayed.delete(job.id);
    lane.due.set(job.id, job);
    this.runDue(lane);
  }

  private runDue(lane: Lane): void {
    const { handler } = lane;
    while (handler && lane.active < lane.concurrency) {
      const [job] = lane.due.values();
      if (!job) return;
      lane.due.delete(job.id);
      lane.active += 1;
      void this.outside(() => this.running.run(lane.kind, job, handler)).then(() => {
        lane.active -= 1;
        this.runDue(lane);
      });
    }
  }
}
