import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { JobQueue, IntervalJob } from '../../platform/queue/index.js';
import type { QueuedJob } from '../../platform/queue/index.js';
import { ApprovalService } from './approval.service.js';
import { RUN_JOB } from '../store/run.ledger.js';
import { RunRowRepository } from '../store/run-row.repository.js';
import { Attempts } from './attempts.js';
import { HeldRun } from './held.run.js';
import { ProcessPresence } from './process.presence.js';
import { RunClaims } from './run.claims.js';
import { RunLoop } from './run.loop.js';
import { WorkspaceLockRepository } from '../store/workspace-lock.repository.js';

const SWEEP_MS = 15_000;
/** How often is looked for runs that are cancelled and do not end: somebody waits for that. */
const CANCEL_LOOK_MS = 1_500;
/** How soon a run is looked at again that had to wait for another. */
const RETRY_MS = 5_000;
const LEAVING_MS = 50;

/**
 * Takes up the runs that wait. The queue only says that there may be one: the claim of the row decides, and every 15
 * seconds the rows are looked through for runs that no job has told of and for owners that are gone; more often for
 * runs that are cancelled and do not end.
 */
@Injectable()
export class RunWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Harness');
  private readonly running = new Map<string, HeldRun>();
  private readonly attempts = new Attempts(this.logger);
  private readonly repeated: IntervalJob[] = [];
  private unsubscribe: (() => void) | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly bus: EventBus,
    private readonly claims: RunClaims,
    private readonly rows: RunRowRepository,
    private readonly locks: WorkspaceLockRepository,
    private readonly loop: RunLoop,
    private readonly approvals: ApprovalService,
    private readonly presence: ProcessPresence,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    this.unsubscribe = this.bus.subscribe('harness.cancel', ({ runId }) => {
      // Only a hint: the row says whether it is to end.
      this.running.get(runId)?.check();
    });
    this.queue.handle(RUN_JOB, (job, signal) => this.take(job, signal));
    this.repeat(SWEEP_MS, () => this.sweep());
    this.repeat(CANCEL_LOOK_MS, () => this.endCancelled());
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await Promise.all(this.repeated.map((repetition) => repetition.stop()));
  }

  private repeat(everyMs: number, round: () => Promise<void>): void {
    const repetition = new IntervalJob(everyMs, round);
    repetition.runNow();
    this.repeated.push(repetition);
  }

  private async sweep(): Promise<void> {
    await this.attempts.try('Approvals could not be expired', () => this.approvals.expireDue());
    await this.attempts.try('Lost owners could not be looked for', () => this.claims.freeLost());
    await this.attempts.try('Runs that wait could not be looked for', async () => {
      for (const { id, tenantId } of await this.claims.due()) {
        await this.queue.add(RUN_JOB, { id, data: { tenantId } });
      }
    });
  }

  private async endCancelled(): Promise<void> {
    await this.attempts.try('Cancelled runs could not be ended', () => this.claims.forceCancels());
    await this.attempts.try('Workspaces could not be freed', () => this.claims.freeRevoked());
  }

  private async take({ id, data }: QueuedJob, stopping: AbortSignal): Promise<void> {
    const tenantId = String(data['tenantId']);
    if (stopping.aborted) return;
    if (this.presence.has(id)) {
      // It has just parked and is wanted again, while this process still leaves it.
      await this.queue.add(RUN_JOB, { id, data: { tenantId } }, { delayMs: LEAVING_MS });
      return;
    }
    const leave = this.presence.enter(id);
    try {
      await this.carryOn(tenantId, id, stopping);
    } finally {
      leave();
    }
  }

  private async carryOn(tenantId: string, id: string, stopping: AbortSignal): Promise<void> {
    const claimed = await this.claims.claim({ tenantId, id }).catch((error: unknown) => {
      // Its session was deleted with its user or its tenant.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (!claimed) {
      await this.lookAgain(tenantId, id);
      return;
    }
    const { lease, run } = claimed;
    const held = new HeldRun(lease, (mine) => this.rows.renew(mine), stopping);
    this.running.set(id, held);
    try {
      await this.loop.run(held, run);
    } finally {
      if (this.running.get(id) === held) this.running.delete(id);
      await held.end();
      if (held.cause !== 'lost') await this.locks.releaseUnused({ tenantId, id });
    }
  }

  /** A run that had to wait for another is due again soon, sooner than the next sweep. */
  private async lookAgain(tenantId: string, id: string): Promise<void> {
    const row = await this.claims.isWaiting(tenantId, id);
    if (row) await this.queue.add(RUN_JOB, { id, data: { tenantId } }, { delayMs: RETRY_MS });
  }
}
