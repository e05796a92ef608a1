import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { processId } from '../../../platform/lease/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { NotFoundError } from '../../../platform/error/index.js';
import { RollBackFailedError } from '../../fault/tool.error.js';
import { ToolError } from '../../fault/tool.error.js';
import { newId, sha256 } from '../../protocol/ids.js';
import { isEnded } from '../../protocol/run.state.js';
import { requireWrite } from '../../protocol/policy.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { HarnessSwitches } from '../../store/switch.repository.js';
import { WritesDisabledError } from '../../store/errors.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { RunLedger } from '../../store/run.ledger.js';
import { RunRepository } from '../../store/run.repository.js';
import { SessionDeletedError } from '../../store/errors.js';
import type { SessionRow } from '../../store/session.repository.js';
import { UndoRepository } from '../../store/undo.repository.js';
import type { UndoDirection } from '../../store/undo.repository.js';
import { WorkspaceLockRepository } from '../../store/workspace-lock.repository.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { Workspace } from '../../workspace/workspace.js';
import { UndoExecution } from './undo.execution.js';
import type { StartedUndo } from './undo.execution.js';
import { UndoInspection } from './undo.inspection.js';
import type { ReadyFile } from './undo.inspection.js';
import { selectionsOf, UndoConflictError } from './undo.selection.js';
import type { Selections, UndoConflict } from './undo.selection.js';

/** Longest time for looking at the files. */
const LOOK_MS = 60_000;

export interface UndoRequest {
  readonly session: SessionRow;
  readonly run: HarnessRun;
  readonly direction: UndoDirection;
  /** All changes that are not undone yet, or that are undone, where it is left out. */
  readonly changeIds?: readonly number[];
  /** Leave out files that conflict, instead of refusing everything. */
  readonly force?: boolean;
}

export interface UndoResult {
  readonly changeIds: readonly number[];
  readonly files: readonly string[];
  readonly conflicts: readonly UndoConflict[];
}

/**
 * Undoes and redoes changes of finished runs. Every file must be as the run has left it: later changes by others are never
 * overwritten. An undo is stored before it begins, so that an interruption is recovered later.
 */
@Injectable()
export class UndoService {
  constructor(
    private readonly runs: RunRepository,
    private readonly changes: FileChangeRepository,
    private readonly undos: UndoRepository,
    private readonly inspection: UndoInspection,
    private readonly execution: UndoExecution,
    private readonly roots: WorkspaceRoots,
    private readonly locks: WorkspaceLockRepository,
    private readonly ledger: RunLedger,
    private readonly switches: HarnessSwitches,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Undoes or redoes changes of the caller's run: those named, or all. UndoConflictError, with nothing changed, when a
   * file conflicts, unless `force` leaves such files out; also while a run of the session or the workspace is live.
   * ForbiddenError without the permission to write, WritesDisabledError while writes are stopped.
   */
  async perform(caller: Caller, request: UndoRequest): Promise<UndoResult> {
    const { session, run } = request;
    requireWrite(caller, session);
    if (session.deletedAt) throw new SessionDeletedError();
    if (!(await this.switches.writesEnabled())) throw new WritesDisabledError();
    await this.requireIdle(run);
    const { tenantId, workspace: path, workspaceIdentity } = session;
    await this.roots.check(tenantId, path, workspaceIdentity);
    const workspace = await Workspace.open(path, workspaceIdentity);
    try {
      return await this.performIn(workspace, caller, request);
    } finally {
      await workspace.close();
    }
  }

  private async performIn(
    workspace: Workspace,
    caller: Caller,
    request: UndoRequest,
  ): Promise<UndoResult> {
    const { session, run, direction, force = false } = request;
    const selections = await this.select(request);
    const { ready, conflicts } = await this.inspect(workspace, run, selections);
    if (conflicts.length > 0 && (!force || ready.length === 0)) {
      throw UndoConflictError.of(direction, conflicts);
    }
    const changeIds = ready.flatMap(({ selection }) => selection.changes.map(({ id }) => id));
    const undo: StartedUndo = {
      ...{ tenantId: run.tenantId, runId: run.id, toolCallId: newId(), direction },
      input: {
        changeIds: changeIds.sort((a, b) => a - b),
        files: ready.map(({ selection }) => selection.path),
        conflicts: conflicts.map(({ path, reason }) => ({ path, reason })),
      },
      operations: operationsOf(ready),
    };
    await this.execution.during(undo.toolCallId, async () => {
      await this.begin(undo, session, caller);
      await this.execute(undo, workspace);
    });
    return { changeIds: undo.input.changeIds, files: undo.input.files, conflicts };
  }

  /** The wanted changes, of those that can be undone or redone. */
  private async select({ run, direction, changeIds }: UndoRequest): Promise<Selections> {
    const rows = await this.changes.ofRun(run.tenantId, run.id);
    const open = rows.filter(({ undone }) => undone === (direction === 'redo'));
    if (changeIds?.some((id) => !rows.some((row) => row.id === id))) {
      throw new NotFoundError('The change');
    }
    const chosen = new Set(changeIds ?? open.map(({ id }) => id));
    if (!open.some(({ id }) => chosen.has(id))) {
      throw new UndoConflictError(
        direction === 'undo'
          ? 'There is nothing to undo: the run has changed no file, or all of it is undone already.'
          : 'There is nothing to redo: no change of the run is undone.',
      );
    }
    return selectionsOf(rows, chosen, direction);
  }

  private async inspect(
    workspace: Workspace,
    run: HarnessRun,
    selections: Selections,
  ): Promise<{
    readonly ready: readonly ReadyFile[];
    readonly conflicts: readonly UndoConflict[];
  }> {
    const signal = AbortSignal.timeout(LOOK_MS);
    const madeFolders = await this.inspection.madeFolders(run, selections.files);
    const target = { tenantId: run.tenantId, workspace, madeFolders };
    const { ready, conflicts } = await this.inspection.inspect(target, selections.files, signal);
    try {
      await this.inspection.keep(target, operationsOf(ready), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new UndoConflictError(
        'Keeping the present files took too long, and nothing was changed. Name fewer changes with changeIds.',
      );
    }
    return { ready, conflicts: [...selections.conflicts, ...conflicts] };
  }

  /** Write-ahead: commits what is about to happen, with the workspace locked. */
  private async begin(undo: StartedUndo, session: SessionRow, caller: Caller): Promise<void> {
    const { tenantId, runId, toolCallId, direction, input, operations } = undo;
    await this.ledger.asOther(tenantId, runId, async (writer) => {
      const { run } = writer;
      await this.requireIdle(run);
      await this.requireUnmarked(undo);
      const { workspace } = session;
      if (!(await this.locks.take({ tenantId, workspace, runId, fence: run.fence }))) {
        throw new UndoConflictError('Another run uses this workspace. Wait until it has ended.');
      }
      const argumentsJson = JSON.stringify(input);
      await this.undos.start(run, {
        ...{ toolCallId, direction, argumentsJson, operations, boot: processId },
        argumentsSha256: sha256(argumentsJson),
      });
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_run',
        id: runId,
        detail: { [direction]: input.changeIds.length, files: input.files.length },
      });
    });
  }

  private async execute(undo: StartedUndo, workspace: Workspace): Promise<void> {
    try {
      await this.execution.execute(undo, { tenantId: undo.tenantId, workspace });
    } catch (error) {
      if (error instanceof ToolError) throw new UndoConflictError(error.message);
      if (!(error instanceof RollBackFailedError)) throw error;
      throw new UndoConflictError(
        `The ${undo.direction} was executed only in part: ${error.paths.slice(0, 20).join(', ')}. Check these files; the effects of the run show it as uncertain.`,
      );
    }
  }

  /** UndoConflictError while a run or another undo may change the files. */
  private async requireIdle(run: HarnessRun): Promise<void> {
    const live = await this.runs.liveId(run.tenantId, run.sessionId);
    if (!isEnded(run.status) || live !== undefined) {
      throw new UndoConflictError(
        'A run of this session is not finished. Wait for it, or cancel it first.',
      );
    }
    if (await this.undos.isUnderWay(run)) {
      throw new UndoConflictError(
        'Another undo of this run is in progress. Try again when it has ended.',
      );
    }
  }

  /** UndoConflictError when another undo or redo has marked the changes since they were inspected. */
  private async requireUnmarked({ tenantId, runId, direction, input }: StartedUndo): Promise<void> {
    const rows = await this.changes.ofRun(tenantId, runId);
    const open = rows.filter(({ undone }) => undone === (direction === 'redo'));
    const ids = new Set(open.map((row) => row.id));
    if (input.changeIds.every((changeId) => ids.has(changeId))) return;
    throw new UndoConflictError('The changes were undone or redone meanwhile. Reload them.');
  }
}

function operationsOf(ready: readonly ReadyFile[]): StartedUndo['operations'] {
  return ready.flatMap(({ operation }) => (operation ? [operation] : []));
}
