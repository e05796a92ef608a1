import { Injectable, Logger } from '@nestjs/common';
import { isOutage } from '../../platform/database/index.js';
import { closing } from '../../platform/filesystem/index.js';
import { WorkspaceSnapshots } from '../change/snapshot/workspace.snapshots.js';
import type { SnapshotTarget } from '../change/snapshot/workspace.snapshots.js';
import { Sandbox } from '../sandbox/sandbox.js';
import { SessionRepository } from '../store/session.repository.js';
import type { LeftHolder } from '../store/workspace-lock.repository.js';
import { Workspace } from '../workspace/workspace.js';
import { PartialOutputs } from './partial.outputs.js';

/** Removes what commands have made under protected names whose process was lost before it could do so. */
@Injectable()
export class InterruptedCommands {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly snapshots: WorkspaceSnapshots,
    private readonly sandbox: Sandbox,
    private readonly sessions: SessionRepository,
    private readonly outputs: PartialOutputs,
  ) {}

  /**
   * Removes from the workspace what was not there before the command. False, with nothing removed, when it is no longer
   * known what was there. Nothing of the command may run any more.
   */
  async tidy(
    target: SnapshotTarget,
    snapshotSha256: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const paths = await this.snapshots.protectedPathsOf(target, snapshotSha256, signal);
    if (paths) await this.sandbox.tidy(target.root, paths, signal);
    return paths !== undefined;
  }

  /**
   * The same for the last command of a run that has ended, which has kept its workspace for that; its partial output goes,
   * too. What cannot be removed is logged; fails, and is to be tried again, when the database is unavailable or the signal
   * aborts.
   */
  async removeLeftovers(
    { tenantId, id: runId, sessionId }: LeftHolder,
    { toolCallId, snapshotSha256 }: NonNullable<LeftHolder['command']>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.outputs.remove({ tenantId, toolCallId });
    const session = await this.sessions.find(tenantId, sessionId);
    if (!session) return;
    const { workspace: root, workspaceIdentity } = session;
    try {
      const workspace = await Workspace.open(root, workspaceIdentity);
      const isDone = await closing(workspace, () =>
        this.tidy({ tenantId, root }, snapshotSha256, signal),
      );
      if (!isDone) throw new Error('What was there before the command is no longer known.');
    } catch (error) {
      signal.throwIfAborted();
      if (isOutage(error)) throw error;
      const msg = 'Failed to remove what an interrupted command has left';
      this.logger.error({ msg, runId, workspace: root, err: error });
    }
  }
}
