import { AsyncLocalStorage } from 'node:async_hooks';
import { JobQueue } from '../job-queue.js';
import type {
  AddOptions,
  JobCounts,
  JobHandler,
  JobKinds,
  QueueConfig,
  QueuedJob,
} from '../job-queue.js';
import { RunningJobs } from '../running-jobs.js';

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
    if (options.delayMs) this.delay(lane, job, options.delayMs);
    else this.makeDue(lane, lane.delayed.get(job.id)?.job ?? job);
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
