import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { inTenant } from '../../../platform/database/index.js';
import { DomainError } from '../../../platform/error/index.js';
import { processId, stateOfProcess } from '../../../platform/lease/index.js';
import { IntervalJob } from '../../../platform/queue/index.js';
import { EffectRepository } from '../../store/effect.repository.js';
import { SessionRepository } from '../../store/session.repository.js';
import type { SessionRow } from '../../store/session.repository.js';
import { Workspace } from '../../workspace/workspace.js';
import { UndoExecution, undoOf } from './undo.execution.js';
import { UndoRepository } from '../../store/undo.repository.js';
import type { OpenUndo } from '../../store/undo.repository.js';

const SWEEP_MS = 15_000;
const SWEPT_AT_ONCE = 100;
/** After so long an undo is no longer executed: each has a time-out. */
const LONGEST_SECONDS = 15 * 60;

/** Reconciles undos and redos whose process ended in the middle of them. */
@Injectable()
export class UndoRecovery implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Harness');
  private sweeps: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly undos: UndoRepository,
    private readonly effects: EffectRepository,
    private readonly sessions: SessionRepository,
    private readonly execution: UndoExecution,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.sweeps = new IntervalJob(SWEEP_MS, (ending) => this.sweep(ending));
    this.sweeps.runNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.stop();
  }

  /** One round: looks at every undo in progress, and ends those that no process executes any more. */
  async sweep(ending?: AbortSignal): Promise<void> {
    try {
      for (const undo of await this.undos.open(SWEPT_AT_ONCE)) {
        if (ending?.aborted) return;
        await inTenant(undo.tenantId, () => this.recover(undo));
      }
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Failed to find interrupted undos', err: error });
    }
  }

  private async recover(undo: OpenUndo): Promise<void> {
    const { toolCallId, runId, boot, seconds } = undo;
    try {
      const isLeft = this.isLeft(boot, toolCallId) || seconds > LONGEST_SECONDS;
      if (!isLeft || !(await this.undos.takeOver(undo, processId))) return;
      await this.execution.during(toolCallId, () => this.reconcile(undo));
    } catch (error) {
      this.logger.warn({ msg: 'Failed to recover undo', runId, err: error });
    }
  }

  /** Only a process that runs knows whether it still executes the undo. */
  private isLeft(boot: string, toolCallId: string): boolean {
    if (boot === processId) return !this.execution.isRunning(toolCallId);
    return stateOfProcess(boot) === 'ended';
  }

  private async reconcile({ tenantId, sessionId, runId: id, toolCallId }: OpenUndo): Promise<void> {
    const session = await this.sessions.find(tenantId, sessionId);
    const effect = await this.effects.find({ tenantId, id }, toolCallId);
    const undo = effect && undoOf(effect);
    if (!session || !undo) return;
    const workspace = await opened(session);
    if (!workspace) {
      await this.execution.markUncertain(undo);
      return;
    }
    try {
      await this.execution.reconcile(undo, { tenantId, workspace });
    } finally {
      await workspace.close();
    }
  }
}

/** Undefined when the workspace is no longer there. */
async function opened({
  workspace,
  workspaceIdentity,
}: SessionRow): Promise<Workspace | undefined> {
  try {
    return await Workspace.open(workspace, workspaceIdentity);
  } catch (error) {
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}
