import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { processId } from '../../platform/lease/index.js';
import { IntervalJob, JobQueue } from '../../platform/queue/index.js';
import type { QueuedJob } from '../../platform/queue/index.js';
import { ApprovalService } from './approval.service.js';
import { RUN_JOB } from '../store/run.ledger.js';
import { EffectRepository } from '../store/effect.repository.js';
import { RunRepository } from '../store/run.repository.js';
import { Attempts } from './attempts.js';
import { HeldRun } from './held.run.js';
import { RunClaims } from './run.claims.js';
import { RunLoop } from './run.loop.js';
import { WorkspaceLockRepository } from '../store/workspace-lock.repository.js';

const SWEEP_MS = 15_000;
/** How often cancelled runs are polled that do not end: a user waits for that. */
const CANCEL_POLL_MS = 1_500;
/** How soon a run is tried again that had to wait for another. */
const RETRY_MS = 5_000;
const LEAVING_MS = 50;

/**
 * Runs what waits for an owner. The queue only hints that there may be a run: the claim of the row decides. Every 15
 * seconds a sweep finds runs that no job has announced and leases of processes that have ended; a faster one finds runs
 * that are cancelled and do not end.
 */
@Injectable()
export class RunWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Harness');
  private readonly running = new Map<string, HeldRun>();
  /** Runs that this process claims, has, or is leaving: until it has left one, it must not claim it again. */
  private readonly busy = new Set<string>();
  private readonly attempts = new Attempts(this.logger);
  private readonly sweeps: IntervalJob[] = [];
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly bus: EventBus,
    private readonly claims: RunClaims,
    private readonly rows: RunRepository,
    private readonly locks: WorkspaceLockRepository,
    private readonly loop: RunLoop,
    private readonly approvals: ApprovalService,
    private readonly effects: EffectRepository,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    this.unsubscribe = this.bus.subscribe('harness.cancel', ({ runId }) => {
      // Only a hint: the row says whether the run is cancelled.
      this.running.get(runId)?.check();
    });
    this.queue.handle(RUN_JOB, (job, signal) =>
      inTenant(String(job.data['tenantId']), () => this.process(job, signal)),
    );
    this.repeat(SWEEP_MS, () => this.sweep());
    this.repeat(CANCEL_POLL_MS, () => this.endCancelled());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await Promise.all(this.sweeps.map((sweep) => sweep.stop()));
  }

  private repeat(intervalMs: number, work: () => Promise<void>): void {
    const sweep = new IntervalJob(intervalMs, work);
    sweep.runNow();
    this.sweeps.push(sweep);
  }

  private async sweep(): Promise<void> {
    await this.attempts.try('Failed to expire approvals', () => this.approvals.expireDue());
    await this.attempts.try('Failed to look for ended processes', () => this.claims.expireLost());
    await this.attempts.try('Failed to look for waiting runs', async () => {
      for (const { id, tenantId } of await this.claims.due()) {
        await this.queue.add(RUN_JOB, { id, data: { tenantId } });
      }
    });
  }

  private async endCancelled(): Promise<void> {
    await this.attempts.try('Failed to end cancelled runs', () => this.claims.forceCancels());
    await this.attempts.try('Failed to release workspaces', () =>
      this.claims.freeRevoked((id) => this.busy.has(id)),
    );
  }

  private async process({ id, data }: QueuedJob, stopping: AbortSignal): Promise<void> {
    const tenantId = String(data['tenantId']);
    if (stopping.aborted) return;
    if (this.busy.has(id)) {
      // It has just parked and is due again, while this process is still leaving it.
      await this.queue.add(RUN_JOB, { id, data: { tenantId } }, { delayMs: LEAVING_MS });
      return;
    }
    this.busy.add(id);
    try {
      await this.claimAndRun(tenantId, id, stopping);
    } finally {
      this.busy.delete(id);
    }
  }

  private async claimAndRun(tenantId: string, id: string, stopping: AbortSignal): Promise<void> {
    const claimed = await this.claims.claim({ tenantId, id }).catch((error: unknown) => {
      // Its session was deleted with its user or its tenant.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (!claimed) {
      await this.retryLater(tenantId, id);
      return;
    }
    const { lease, run } = claimed;
    const held = new HeldRun(
      lease,
      (mine) => inTenant(tenantId, () => this.rows.renew(mine)),
      stopping,
    );
    this.running.set(id, held);
    try {
      await this.loop.run(held, run);
    } finally {
      if (this.running.get(id) === held) this.running.delete(id);
      await held.end();
      if (held.cause === 'lost') await this.renounce(tenantId, id);
      else await this.locks.releaseUnused({ tenantId, id });
    }
  }

  /** Tells the next owner that this process no longer acts, so that it need not wait before it looks at the files. */
  private async renounce(tenantId: string, id: string): Promise<void> {
    const renounce = () => this.effects.renounce({ tenantId, id }, processId);
    await this.attempts.try('Failed to renounce tool calls', renounce, id);
  }

  /** A run that had to wait for another is due again soon, sooner than the next sweep. */
  private async retryLater(tenantId: string, id: string): Promise<void> {
    const isWaiting = await this.claims.isWaiting(tenantId, id);
    if (isWaiting) await this.queue.add(RUN_JOB, { id, data: { tenantId } }, { delayMs: RETRY_MS });
  }
}
