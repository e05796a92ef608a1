import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant, isOutage } from '../../platform/database/index.js';
import { Dependencies } from '../../platform/dependency/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { EventBus } from '../../platform/event/index.js';
import { processId, stateOfProcess } from '../../platform/lease/index.js';
import { IntervalJob, JobQueue } from '../../platform/queue/index.js';
import type { QueuedJob } from '../../platform/queue/index.js';
import { msg } from '../../platform/message/index.js';
import { claimOf, isEnded } from '../protocol/run.state.js';
import type { RunClaim } from '../protocol/run.state.js';
import { ApprovalRepository } from '../store/approval.repository.js';
import { EffectRepository } from '../store/effect.repository.js';
import type { QueueReason } from '../store/event.catalogue.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RUN_JOB, RunLedger } from '../store/run.ledger.js';
import type { RunWriter } from '../store/run.ledger.js';
import { RunRepository, SessionRepository } from '../store/run.repository.js';
import type { DueRun } from '../store/run.repository.js';
import { WorkspaceLockRepository } from '../store/workspace-lock.repository.js';
import type { LeftHolder } from '../store/workspace-lock.repository.js';
import { InterruptedCommands } from './recovery.js';
import { RunLease } from './run.context.js';
import { failedEnd, RunEnding } from './run.ending.js';
import { RunLoop } from './run.loop.js';

const SWEEP_MS = 15_000;
/** How often cancelled runs are polled that do not end: a user waits for that. */
const CANCEL_POLL_MS = 1_500;
/** How soon a run is tried again that had to wait for another. */
const RETRY_MS = 5_000;
const LEAVING_MS = 50;
/** How long a run waits before the next claim after it found its workspace busy or its user's limit reached. */
const WAIT_SECONDS = 5;
/** How long the owner of a cancelled run may take to end it before it is ended by force: with the poll, 10 seconds. */
const CANCEL_SECONDS = 8;
const AT_ONCE = 200;

/**
 * Runs what waits for an owner: one process at a time, as many of a user's as are allowed, and one in a workspace. The
 * queue only hints that there may be a run: the claim of the row decides. Every 15 seconds a sweep finds runs that no job
 * has announced and leases of processes that have ended; a faster one finds runs that are cancelled and do not end.
 */
@Injectable()
export class RunWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Harness');
  private readonly running = new Map<string, RunLease>();
  /** Runs that this process claims, has, or is leaving: until it has left one, it must not claim it again. */
  private readonly busy = new Set<string>();
  private readonly attempts = new Attempts(this.logger);
  private readonly sweeps: IntervalJob[] = [];
  private subscriptions: (() => void)[] = [];

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly queue: JobQueue,
    private readonly bus: EventBus,
    private readonly ledger: RunLedger,
    private readonly rows: RunRepository,
    private readonly sessions: SessionRepository,
    private readonly locks: WorkspaceLockRepository,
    private readonly effects: EffectRepository,
    private readonly approvals: ApprovalRepository,
    private readonly loop: RunLoop,
    private readonly ending: RunEnding,
    private readonly commands: InterruptedCommands,
    private readonly dependencies: Dependencies,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.config.ROLE === 'api') return;
    this.subscriptions = [
      this.bus.subscribe('harness.cancel', ({ runId }) => {
        // Only a hint: the row says whether the run is cancelled.
        this.running.get(runId)?.check();
      }),
      this.bus.subscribe('access.changed', () => this.checkAll()),
      this.bus.onResumed(() => this.checkAll()),
    ];
    this.queue.handle(RUN_JOB, (job, signal) =>
      inTenant(String(job.data['tenantId']), () => this.process(job, signal)),
    );
    this.repeat(SWEEP_MS, () => this.sweep());
    this.repeat(CANCEL_POLL_MS, () =>
      this.attempts.try('Failed to end cancelled runs', () => this.forceCancels()),
    );
    // Apart from the end of cancelled runs, which is not to wait for a large workspace.
    this.repeat(CANCEL_POLL_MS, (ending) =>
      this.attempts.try('Failed to release workspaces', () => this.freeLeft(ending)),
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    for (const unsubscribe of this.subscriptions) unsubscribe();
    await Promise.all(this.sweeps.map((sweep) => sweep.stop()));
  }

  /** A renewal tells whether the run is cancelled, and its user still enabled. */
  private checkAll(): void {
    for (const lease of this.running.values()) lease.check();
  }

  /** Ends the runs with an approval that is past its time; one whose row is locked is left to the next sweep. */
  async expireDue(): Promise<void> {
    const due = await this.approvals.dueRuns(AT_ONCE);
    const runs = due.map(({ tenantId, runId: id }) => ({ tenantId, id }));
    await this.forEach(runs, 'Failed to expire approval', ({ tenantId, id }) =>
      this.ledger.asOtherIfFree(tenantId, id, (writer) => this.ending.expire(writer)),
    );
  }

  /** Ends cancelled runs whose owner has not ended them in time. */
  async forceCancels(): Promise<void> {
    const slow = await this.rows.slowCancels(CANCEL_SECONDS, AT_ONCE);
    await this.forEach(slow, 'Failed to end cancelled run', ({ tenantId, id }) =>
      this.ledger.asOtherIfFree(tenantId, id, async (writer) => {
        if (!isEnded(writer.run.status)) await this.ending.cancel(writer);
      }),
    );
  }

  /**
   * Frees the workspaces of runs that were ended while a process had them, as soon as that process can no longer act, and
   * what its command has left there is removed. Each process frees what it has left itself; `isRunning` says which runs it
   * has not.
   */
  async freeLeft(
    signal: AbortSignal,
    isRunning = (id: string): boolean => this.busy.has(id),
  ): Promise<void> {
    const left = (await this.locks.left(AT_ONCE)).filter((holder) => isGone(holder, isRunning));
    await this.forEach(left, 'Failed to release workspace', async (holder) => {
      if (!holder.command) await this.locks.releaseUnused(holder);
      else if (await this.locks.takeOver(holder, processId)) {
        await this.commands.removeLeftovers(holder, holder.command, signal);
        await this.locks.releaseTidied(holder, processId);
      }
    });
  }

  private repeat(intervalMs: number, work: (ending: AbortSignal) => Promise<void>): void {
    const sweep = new IntervalJob(intervalMs, work);
    sweep.runNow();
    this.sweeps.push(sweep);
  }

  private async sweep(): Promise<void> {
    await this.attempts.try('Failed to expire approvals', () => this.expireDue());
    await this.attempts.try('Failed to look for ended processes', () => this.expireLost());
    await this.attempts.try('Failed to look for waiting runs', async () => {
      for (const { id, tenantId } of await this.rows.due(AT_ONCE)) {
        await this.queue.add(RUN_JOB, { id, data: { tenantId } });
      }
    });
  }

  /** Expires the leases of processes of this host that have ended, so that their runs are claimed at once. */
  private async expireLost(): Promise<void> {
    const held = await this.rows.held(AT_ONCE);
    const lost = held.filter(({ leaseBoot }) => stateOfProcess(leaseBoot) === 'ended');
    await this.forEach(lost, 'Failed to expire lease of ended process', (row) =>
      this.rows.expire(row),
    );
  }

  /** Does the work for each run, in its tenant. The failure of one prevents no other. */
  private async forEach<Row extends DueRun>(
    runs: readonly Row[],
    what: string,
    work: (run: Row) => Promise<unknown>,
  ): Promise<void> {
    for (const run of runs) {
      await this.attempts.try(what, () => inTenant(run.tenantId, () => work(run)), run.id);
    }
  }

  private async process({ id, data }: QueuedJob, stopping: AbortSignal): Promise<void> {
    const tenantId = String(data['tenantId']);
    // What a step does could not be recorded. A sweep announces the run again.
    if (stopping.aborted || this.dependencies.of('store').isLimited) return;
    if (this.busy.has(id)) {
      // It has just parked and is due again, while this process is still leaving it.
      await this.queue.add(RUN_JOB, { id, data: { tenantId } }, { delayMs: LEAVING_MS });
      return;
    }
    this.busy.add(id);
    try {
      await this.claimAndRun({ tenantId, id }, stopping);
    } finally {
      this.busy.delete(id);
    }
  }

  private async claimAndRun(due: DueRun, stopping: AbortSignal): Promise<void> {
    const { tenantId, id } = due;
    const claimed = await this.claim(due).catch((error: unknown) => {
      // Its session was deleted with its user or its tenant.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (!claimed) {
      // A run that had to wait for another is due again soon, sooner than the next sweep.
      const isWaiting = await this.rows.isWaiting(tenantId, id);
      const job = { id, data: { tenantId } };
      if (isWaiting) await this.queue.add(RUN_JOB, job, { delayMs: RETRY_MS });
      return;
    }
    const { claim, run } = claimed;
    const renew = () => inTenant(tenantId, () => this.rows.renew(claim));
    const lease = new RunLease(claim, renew, stopping);
    this.running.set(id, lease);
    try {
      await this.loop.run(lease, run);
    } finally {
      if (this.running.get(id) === lease) this.running.delete(id);
      await lease.end();
      if (lease.cause === 'lost') {
        // Tells the next owner that this process no longer acts, so that it need not wait before it looks at the files.
        const renounce = () => this.effects.renounce(due, processId);
        await this.attempts.try('Failed to renounce tool calls', renounce, id);
      } else await this.locks.releaseUnused(due);
    }
  }

  /** Undefined when the run cannot be claimed now: it is held, parked, ended, or has to wait. */
  private async claim({
    tenantId,
    id,
  }: DueRun): Promise<{ readonly claim: RunClaim; readonly run: HarnessRun } | undefined> {
    return this.ledger.asOther(tenantId, id, async (writer) => {
      const what = claimOf(writer.current);
      if (what === 'cancel') await this.ending.cancel(writer);
      if (what === 'give-up') await this.giveUp(writer);
      if (what !== 'claim') return undefined;
      const reason = await this.reasonToWait(writer);
      if (reason) {
        await this.wait(writer, reason);
        return undefined;
      }
      const owner = randomUUID();
      writer.claim(owner, processId);
      const { run } = writer;
      return { claim: { tenantId, runId: id, owner, fence: run.fence }, run };
    });
  }

  private async giveUp(writer: RunWriter): Promise<void> {
    const { id, recoveryAttempts } = writer.run;
    this.logger.error({ msg: 'Run failed permanently', runId: id, recoveries: recoveryAttempts });
    const message = msg`The server was lost several times while it worked on this run. What was done stays; start a new run to go on.`;
    await this.ending.end(writer, failedEnd('RECOVERY_EXHAUSTED', message));
  }

  private async reasonToWait(writer: RunWriter): Promise<QueueReason | undefined> {
    const { tenantId, userId, id, sessionId, permissionMode, status, fence } = writer.run;
    await this.rows.lockUser(tenantId, userId);
    const others = await this.rows.heldOf(tenantId, userId, id);
    if (status === 'QUEUED' && others >= this.config.HARNESS_RUNS_PER_USER)
      return 'limit_of_live_runs';
    if (permissionMode === 'READ_ONLY') return undefined;
    const session = await this.sessions.find(tenantId, sessionId);
    if (!session) return undefined;
    const { workspace } = session;
    const taken = await this.locks.take({ tenantId, workspace, runId: id, fence: fence + 1 });
    return taken ? undefined : 'workspace_busy';
  }

  /** Records once why the run keeps waiting. */
  private async wait(writer: RunWriter, reason: QueueReason): Promise<void> {
    await this.rows.postpone(writer.run, WAIT_SECONDS);
    if (writer.run.reason === reason || writer.run.status !== 'QUEUED') return;
    writer.set({ reason });
    writer.event('run.queued', { ...writer.statusData, reason });
  }
}

/** Whether no process can act for the run or its command any more. */
function isGone(
  { id, boot, isOver, command }: LeftHolder,
  isRunning: (id: string) => boolean,
): boolean {
  const hasLeft = (owner: string, isOverdue: boolean): boolean => {
    if (isOverdue) return true;
    return owner === processId ? !isRunning(id) : stateOfProcess(owner) === 'ended';
  };
  if (boot !== null && !hasLeft(boot, isOver)) return false;
  // One that still runs on this host may be in the middle of the command, however long that is.
  const isUnknown = command !== null && stateOfProcess(command.boot) === 'unknown';
  return !command || hasLeft(command.boot, isUnknown && isOver);
}

/** Failures that are remembered; when there are more, all are forgotten and logged again. */
const MOST = 1_000;

/**
 * Logs repeated failures once: work that is tried again and again, such as a sweep, is logged when it first fails, and again
 * only when it has succeeded in between or fails for another reason.
 */
export class Attempts {
  private readonly failures = new Map<string, string>();

  constructor(private readonly logger: Logger) {}

  /** Never fails. `what` and the run identify an attempt; both are logged. */
  async try(what: string, work: () => Promise<unknown>, runId?: string): Promise<void> {
    const key = `${what} ${runId ?? ''}`;
    try {
      await work();
      this.failures.delete(key);
    } catch (error) {
      // An outage has its own line (Dependency).
      if (isOutage(error)) return;
      const cause = String(error);
      if (this.failures.get(key) === cause) return;
      if (this.failures.size >= MOST) this.failures.clear();
      this.failures.set(key, cause);
      this.logger.error({ msg: what, ...(runId !== undefined && { runId }), err: error });
    }
  }
}
