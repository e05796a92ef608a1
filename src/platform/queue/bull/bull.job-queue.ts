import { Logger } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import type Bull from 'bull';
import type { Redis } from 'ioredis';
import { withLimit } from '../../dependency/index.js';
import type { SharedRedis } from '../../redis/index.js';
import { JobQueue, RunningJobs, withTrace } from '../job-queue.js';
import type {
  AddOptions,
  JobCounts,
  JobHandler,
  JobKinds,
  QueueConfig,
  QueuedJob,
} from '../job-queue.js';

type Queue = Bull.Queue<QueuedJob>;

/** A member that `process` calls and Bull's types lack. */
interface Named {
  readonly bclient: Redis;
  setWorkerName: () => Promise<unknown>;
}

/** How long a command may take before it counts as failed. */
const COMMAND_MS = 5_000;

/** How long Bull may take to record the ends of the jobs when the process stops. */
const RECORD_MS = 2_000;

/**
 * Jobs in Redis, shared by all processes with the same REDIS_URL and REDIS_PREFIX. One queue of Bull for each kind. While
 * Redis is away a process that runs jobs runs those that it adds itself, such as those that a sweep finds.
 */
export class BullJobQueue extends JobQueue implements OnApplicationBootstrap {
  private readonly logger = new Logger('JobQueue');
  private readonly handlers = new Map<string, JobHandler>();
  private readonly running = new RunningJobs();
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly config: QueueConfig,
    private readonly kinds: JobKinds,
    private readonly redis: SharedRedis,
    private readonly queues: readonly Queue[],
    private readonly localQueue: JobQueue,
  ) {
    super();
    for (const queue of queues) {
      queue.on('error', (error: Error) => this.onError(queue, error));
      // The limit is not among Bull's options, because its blocking connection has those as well.
      queue.client.options.commandTimeout = COMMAND_MS;
      // This process takes no job of the kind until its handler is registered.
      void queue.pause(true);
    }
  }

  /** Waits for the connections, unless Redis is away: the queues are then used as soon as it is there. */
  async onApplicationBootstrap(): Promise<void> {
    const connected = Promise.all(this.queues.map((queue) => this.begin(queue)));
    if (this.redis.isUp) await withLimit(COMMAND_MS, connected, () => undefined);
  }

  /**
   * Takes jobs once Redis answers. Before that Bull is asked for nothing, because it leaves a rejection unhandled when a
   * connection is closed before it is ready.
   */
  private async begin(queue: Queue): Promise<void> {
    await connectionReady(queue.client);
    keepName(queue.client, this.connectionName);
    if (this.config.ROLE !== 'api' && !this.stopping) this.process(queue);
    // Bull opens the connections one after another, so the list grows meanwhile.
    for (const client of queue.clients) await connectionReady(client);
  }

  private get connectionName(): string {
    return `${this.config.REDIS_PREFIX}:queue`;
  }

  private process(queue: Queue): void {
    const kind = queue.name;
    // Too many processes died with the job: a failure of the handler never reaches Bull.
    queue.on('failed', (job: Bull.Job<QueuedJob> | null, error: Error) => {
      this.logger.error({ msg: 'Job failed permanently', kind, job: job?.data.id, err: error });
    });
    // Bull leaves the rejection unhandled when the connection is closed before Redis has answered, and sets an option with
    // which ioredis sends a command at each connection (bull.providers.ts).
    const named = queue as Queue & Named;
    named.setWorkerName = async () => {
      keepName(named.bclient, this.connectionName);
    };
    queue
      .process(this.kinds[kind] ?? 1, ({ data }) => this.run(kind, data))
      .catch((error: unknown) => this.onError(queue, error));
  }

  override handle(kind: string, handler: JobHandler): void {
    if (this.config.ROLE === 'api') return;
    this.handlers.set(kind, handler);
    this.localQueue.handle(kind, handler);
    void this.queueOf(kind).resume(true);
  }

  override async add(kind: string, job: QueuedJob, options: AddOptions = {}): Promise<void> {
    const queue = this.queueOf(kind);
    await this.redis.run(
      () => inTime(this.enqueue(queue, job, options.delayMs ?? 0), queue),
      () => this.localQueue.add(kind, job, options),
    );
  }

  override async counts(kind: string): Promise<JobCounts> {
    const queue = this.queueOf(kind);
    const { waiting, delayed, active } = await inTime(queue.getJobCounts(), queue);
    return { waiting: waiting + delayed, active };
  }

  override stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  private async end(): Promise<void> {
    // Bull closes a queue after the answers to its commands, the blocking one included, which must not be without a limit.
    for (const client of this.queues.flatMap(({ clients }) => clients)) {
      client.options.commandTimeout = RECORD_MS;
    }
    // Resolves when Bull has recorded the ends of the running jobs; rejects while Redis is away.
    const recorded = Promise.allSettled(this.queues.map((queue) => queue.pause(true)));
    await Promise.all([
      this.localQueue.stop(),
      this.running.stop(this.config.SHUTDOWN_GRACE_SECONDS * 1_000),
    ]);
    await withLimit(RECORD_MS, recorded, () => undefined);
  }

  /** Runs a job that Bull hands over. */
  private async run(kind: string, job: QueuedJob): Promise<void> {
    const handler = this.handlers.get(kind);
    if (handler && !this.stopping) await this.running.run(kind, job, handler);
    // The job arrived while the queue was being paused, so it is left to another process.
    else await this.add(kind, job);
  }

  private queueOf(kind: string): Queue {
    const queue = this.queues.find(({ name }) => name === kind);
    if (!queue) throw new Error(`There is no queue for jobs of kind ${kind}.`);
    return queue;
  }

  private async enqueue(queue: Queue, job: QueuedJob, delay: number): Promise<void> {
    // Bull ignores an id that it knows, also of a job that runs. The second id lets one more job wait meanwhile.
    const isRunning = await (await queue.getJob(job.id))?.isActive();
    const jobId = isRunning ? `${job.id}:again` : job.id;
    const added = await queue.add(withTrace(job), { jobId, delay });
    if (delay === 0 && (await added.isDelayed())) await added.promote();
  }

  /** Every connection reports each failed attempt; the first one is logged for all that uses Redis. */
  private onError(queue: Queue, error: unknown): void {
    if (this.stopping) return;
    if (queue.client.status !== 'ready') this.redis.failed(error);
    else if (this.redis.isUp) this.logger.warn({ msg: 'Queue error', err: error });
  }
}

/** Resolves with the first success, however many attempts fail. */
async function connectionReady(client: Redis): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve) => client.once('ready', () => resolve()));
}

/** Names the connection in the list of Redis's clients, again after each reconnection. */
function keepName(client: Redis, name: string): void {
  const send = (): void => void client.client('SETNAME', name).catch(() => undefined);
  client.on('ready', send);
  send();
}

/** The connections of a queue that does not answer are replaced, because Bull waits for the answer without a limit. */
function inTime<T>(command: Promise<T>, { clients }: Queue): Promise<T> {
  return withLimit(COMMAND_MS, command, () => {
    for (const client of clients) {
      // Until a server has answered its first commands, the status of a connection is "connect".
      if (client.status === 'ready' || client.status === 'connect') client.disconnect(true);
    }
    throw new Error(`Redis did not answer within ${COMMAND_MS} ms.`);
  });
}
