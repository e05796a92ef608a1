import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { processId, stateOfProcess } from '../../platform/lease/index.js';
import type { QueueReason } from '../store/event.catalogue.js';
import { RunLedger } from '../store/run.ledger.js';
import type { RunWriter } from '../store/run.ledger.js';
import type { RunLease } from '../protocol/lease.js';
import { claimOf, isEnded } from '../protocol/run.state.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { SessionRepository } from '../store/session.repository.js';
import { Attempts } from './attempts.js';
import { RunRepository } from '../store/run.repository.js';
import type { DueRun } from '../store/run.repository.js';
import { RunEnding } from './run.ending.js';
import { WorkspaceLockRepository } from '../store/workspace-lock.repository.js';

/** A run that this process has just claimed. */
export interface ClaimedRun {
  readonly lease: RunLease;
  readonly run: HarnessRun;
}

/** How long a run waits before the next claim after it found its workspace busy or its user's limit reached. */
const WAIT_SECONDS = 5;
/** How long the owner of a cancelled run may take to end it before it is ended by force: with the poll, 10 seconds. */
const CANCEL_SECONDS = 8;
const AT_ONCE = 200;

/** Claims runs: one process at a time, as many of a user's as are allowed, and one in a workspace. */
@Injectable()
export class RunClaims {
  private readonly logger = new Logger('Harness');
  private readonly attempts = new Attempts(this.logger);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly ledger: RunLedger,
    private readonly claims: RunRepository,
    private readonly sessions: SessionRepository,
    private readonly locks: WorkspaceLockRepository,
    private readonly ending: RunEnding,
  ) {}

  /** Undefined when the run cannot be claimed now: it is held, parked, ended, or has to wait. */
  async claim({ tenantId, id }: DueRun): Promise<ClaimedRun | undefined> {
    return this.ledger.asOther(tenantId, id, async (writer) => {
      const what = claimOf(writer.current);
      if (what === 'cancel') await this.ending.cancel(writer);
      if (what === 'give-up') await this.giveUp(writer);
      if (what !== 'claim') return undefined;
      const wait = await this.reasonToWait(writer);
      if (wait) {
        await this.wait(writer, wait);
        return undefined;
      }
      const owner = randomUUID();
      writer.claim(owner, processId);
      const { run } = writer;
      return { lease: { tenantId, runId: id, owner, fence: run.fence }, run };
    });
  }

  /** Whether the run still waits for an owner. */
  async isWaiting(tenantId: string, id: string): Promise<boolean> {
    return this.claims.isWaiting(tenantId, id);
  }

  async due(): Promise<DueRun[]> {
    return this.claims.due(AT_ONCE);
  }

  /** Ends cancelled runs whose owner has not ended them in time. */
  async forceCancels(): Promise<void> {
    for (const { tenantId, id } of await this.claims.slowCancels(CANCEL_SECONDS, AT_ONCE)) {
      const end = () =>
        inTenant(tenantId, () =>
          this.ledger.asOtherIfFree(tenantId, id, async (writer) => {
            if (!isEnded(writer.run.status)) await this.ending.cancel(writer);
          }),
        );
      await this.attempts.try('Failed to end cancelled run', end, id);
    }
  }

  /**
   * Frees the workspaces of runs that were ended while a process had them, as soon as that process can no longer act.
   * Each process frees what it has left itself; `isRunning` says which runs it has not.
   */
  async freeRevoked(isRunning: (id: string) => boolean): Promise<void> {
    for (const { tenantId, id, boot, isOver } of await this.locks.revoked(AT_ONCE)) {
      const hasLeft = boot === processId ? !isRunning(id) : stateOfProcess(boot) === 'ended';
      if (!hasLeft && !isOver) continue;
      const free = () => inTenant(tenantId, () => this.locks.releaseUnused({ tenantId, id }));
      await this.attempts.try('Failed to release workspace', free, id);
    }
  }

  /** Expires the leases of processes of this host that have ended, so that their runs are claimed at once. */
  async expireLost(): Promise<void> {
    for (const row of await this.claims.held(AT_ONCE)) {
      if (stateOfProcess(row.leaseBoot) !== 'ended') continue;
      const expire = () => inTenant(row.tenantId, () => this.claims.expire(row));
      await this.attempts.try('Failed to expire lease of ended process', expire, row.id);
    }
  }

  private async giveUp(writer: RunWriter): Promise<void> {
    const { id, recoveryAttempts } = writer.run;
    this.logger.error({ msg: 'Run failed permanently', runId: id, recoveries: recoveryAttempts });
    const message =
      'The server was lost several times while it worked on this run. What was done stays; start a new run to go on.';
    await this.ending.end(writer, {
      status: 'FAILED',
      stopReason: 'RECOVERY_EXHAUSTED',
      error: { code: 'RECOVERY_EXHAUSTED', message },
    });
  }

  private async reasonToWait(writer: RunWriter): Promise<QueueReason | undefined> {
    const { tenantId, userId, id, sessionId, permissionMode, status, fence } = writer.run;
    await this.claims.lockUser(tenantId, userId);
    const others = await this.claims.heldOf(tenantId, userId, id);
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
    await this.claims.postpone(writer.run, WAIT_SECONDS);
    if (writer.run.reason === reason || writer.run.status !== 'QUEUED') return;
    writer.set({ reason });
    writer.event('run.queued', { ...writer.statusData, reason });
  }
}
