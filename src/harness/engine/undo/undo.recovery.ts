import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { inTenant } from '../../../platform/database/index.js';
import { DomainError } from '../../../platform/error/index.js';
import { Repetition } from '../../../platform/queue/index.js';
import { EffectRepository } from '../../store/effect.repository.js';
import { ProcessPresence } from '../process.presence.js';
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
  private sweeps: Repetition | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly undos: UndoRepository,
    private readonly effects: EffectRepository,
    private readonly sessions: SessionRepository,
    private readonly execution: UndoExecution,
    private readonly presence: ProcessPresence,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.sweeps = new Repetition(SWEEP_MS, (ending) => this.sweep(ending));
    this.sweeps.begin();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.end();
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
      const isAbandoned = (await this.isAbandoned(boot, toolCallId)) || seconds > LONGEST_SECONDS;
      if (!isAbandoned || !(await this.undos.takeOver(undo, this.presence.boot))) return;
      const leave = this.presence.enter(toolCallId);
      try {
        await this.reconcile(undo);
      } finally {
        leave();
      }
    } catch (error) {
      this.logger.warn({ msg: 'Failed to recover undo', runId, err: error });
    }
  }

  /** Whether a living process still executes an undo, only that process knows for certain. */
  private async isAbandoned(boot: string, toolCallId: string): Promise<boolean> {
    if (boot === this.presence.boot) return !this.presence.has(toolCallId);
    return this.presence.isGone(boot);
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
