import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import Bull from 'bull';
import { z } from 'zod';
import type { Config } from '../../config/index.js';
import { JobQueue } from '../job-queue.js';
import type { AddOptions, HandleOptions, JobCounts, JobHandler, QueuedJob } from '../job-queue.js';
import { RunningJobs } from '../running-jobs.js';
import { BullConnections } from './bull.connections.js';

const payload = z.object({
  id: z.string(),
  data: z.record(z.string(), z.union([z.string(), z.number()])),
});

/**
 * Bull knows each job id once, until the job has ended. With two ids for one of ours, the second can wait while the
 * first runs; when both run, a further add would tell nobody anything new.
 */
const SLOTS = ['a', 'b'];

/** Longer than any pause of the event loop; a job whose process died is found after one to two of these. */
const STALLED_MS = 30_000;

/**
 * Bull pauses and closes within milliseconds. When it has just begun, it may also wait for ever for the end of a connection
 * that has ended already.
 */
const BULL_MS = 2_000;

type Queue = Bull.Queue<QueuedJob>;

/** Jobs in Redis, shared by all processes with the same REDIS_URL and REDIS_PREFIX. One queue of Bull for each kind. */
export class BullJobQueue extends JobQueue {
  private readonly logger = new Logger('JobQueue');
  private readonly queues = new Map<string, Queue>();
  private readonly running = new RunningJobs();
  private readonly connections: BullConnections;
  private stopped = false;

  constructor(
    private readonly config: Pick<
      Config,
      'REDIS_PREFIX' | 'REDIS_URL' | 'ROLE' | 'SHUTDOWN_GRACE_SECONDS'
    >,
  ) {
    super();
    this.connections = new BullConnections(config.REDIS_URL ?? '', this.prefix);
  }

  override handle(kind: string, { concurrency }: HandleOptions, handler: JobHandler): void {
    if (this.config.ROLE === 'api') return;
    this.queueOf(kind)
      .process(concurrency, (job) => this.run(kind, payload.parse(job.data), handler))
      .catch((error: unknown) => this.note(error));
  }

  override async add(kind: string, job: QueuedJob, options: AddOptions = {}): Promise<void> {
    try {
      await this.place(this.queueOf(kind), job, options.delayMs ?? 0);
    } catch (error) {
      this.logger.warn({ msg: 'A job did not reach Redis', kind, job: job.id, err: error });
    }
  }

  override async counts(kind: string): Promise<JobCounts> {
    const { waiting, delayed, active } = await this.queueOf(kind).getJobCounts();
    return { waiting: waiting + delayed, active };
  }

  override async stop(): Promise<void> {
    if (this.stopped) return;
    this.stopped = true;
    // A rejection means that Redis is away: then there is nothing to take either.
    await this.ofEach((queue) => this.pause(queue));
    await this.running.stop(this.config.SHUTDOWN_GRACE_SECONDS * 1_000);
    await this.connections.settled();
  }

  override async close(): Promise<void> {
    this.connections.close();
    // Ends the timers of Bull, which opens a connection once more while doing so.
    await this.ofEach((queue) => queue.close(true));
    this.connections.close();
  }

  /** Starts every key in Redis, and the names of the connections. */
  private get prefix(): string {
    return `${this.config.REDIS_PREFIX}:queue`;
  }

  private queueOf(kind: string): Queue {
    const existing = this.queues.get(kind);
    if (existing) return existing;
    const queue: Queue = new Bull(kind, {
      prefix: this.prefix,
      createClient: (type) => this.connections.open(type, kind),
      // The row decides whether work is repeated. A job of a dead process runs once more, so that the row is looked at.
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      settings: { lockDuration: STALLED_MS, stalledInterval: STALLED_MS, maxStalledCount: 1 },
    });
    queue.on('error', (error: unknown) => this.note(error));
    // Not a handler that failed, of which Bull hears nothing: it was cut off twice, or cannot be read.
    queue.on('failed', (job: Bull.Job<QueuedJob> | null, error) =>
      this.logger.error({ msg: 'A job was given up', kind, job: job?.id, err: error }),
    );
    // Bull would name its connections anew here, and let nobody handle it when that fails.
    Object.assign(queue, { setWorkerName: async () => undefined });
    this.queues.set(kind, queue);
    return queue;
  }

  private async place(queue: Queue, job: QueuedJob, delay: number): Promise<void> {
    let free: string | undefined;
    for (const slot of SLOTS) {
      const jobId = `${slot}:${job.id}`;
      const found = await queue.getJob(jobId);
      if (!found) free ??= jobId;
      // Bull locks a job as long as it runs; one without lock is yet to run.
      else if ((await queue.client.exists(found.lockKey())) === 0) {
        if (delay === 0 && (await found.isDelayed())) await found.promote();
        return;
      }
    }
    if (free !== undefined) await queue.add(job, { jobId: free, delay });
  }

  private async run(kind: string, job: QueuedJob, handler: JobHandler): Promise<void> {
    // It was on its way while the queue was stopped: another process shall have it.
    if (this.stopped) await this.add(kind, job);
    else await this.running.run(kind, job, handler);
  }

  /** Resolves when that is done for each queue, has failed, or has taken too long. */
  private async ofEach(act: (queue: Queue) => Promise<unknown>): Promise<void> {
    const limit = new AbortController();
    const tooLong = sleep(BULL_MS, undefined, { signal: limit.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled([...this.queues.values()].map(act)), tooLong]);
    limit.abort();
  }

  /** Bull would let a waiting worker wait for half a second more, so its connection is cut. */
  private async pause(queue: Queue): Promise<void> {
    const paused = queue.pause(true, true);
    this.connections.cut(queue.name);
    await paused;
  }

  /** Connections tell about their failures themselves. */
  private note(error: unknown): void {
    if (this.connections.ready && !this.stopped) {
      this.logger.warn({ msg: 'The queue has a problem', err: error });
    }
  }
}
