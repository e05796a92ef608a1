import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { NotFoundError } from '../../../platform/error/index.js';
import { HarnessSwitches } from '../../store/harness.switches.js';
import { RunLedger } from '../../store/run.ledger.js';
import { ProcessPresence } from '../../engine/process.presence.js';
import { WorkspaceLockRepository } from '../../store/workspace-lock.repository.js';
import { newId, sha256 } from '../../protocol/ids.js';
import { isEnded } from '../../protocol/run.state.js';
import { SessionDeletedError, WritesDisabledError } from '../../store/errors.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { RunRepository } from '../../store/run.repository.js';
import { RunService } from '../run/run.service.js';
import type { SessionRow } from '../../store/session.repository.js';
import { requireWrite } from '../../protocol/policy.js';
import { RollBackFailedError, ToolError } from '../../fault/tool.error.js';
import { Workspace } from '../../workspace/workspace.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { MadeFolders } from '../../engine/undo/made.folders.js';
import type { UndoBody } from './change.dto.js';
import { UndoConflictError } from '../../engine/undo/undo.errors.js';
import { UndoExecution } from '../../engine/undo/undo.execution.js';
import type { BegunUndo, UndoInput } from '../../engine/undo/undo.record.js';
import { UndoInspection } from '../../engine/undo/undo.inspection.js';
import type { ReadyFile } from '../../engine/undo/undo.inspection.js';
import { UndoRepository } from '../../store/undo.repository.js';
import { selectionsOf } from '../../engine/undo/undo.selection.js';
import type { Selections, UndoConflict } from '../../engine/undo/undo.selection.js';
import type { UndoDirection } from '../../store/undo.repository.js';
import type { UndoResultView } from './change.view.js';

/** Longest time for looking at the files. */
const LOOK_MS = 60_000;

export interface UndoRequest extends UndoBody {
  readonly sessionId: string;
  readonly runId: string;
  readonly direction: UndoDirection;
}

interface Undo {
  readonly session: SessionRow;
  readonly run: HarnessRun;
  readonly workspace: Workspace;
  readonly direction: UndoDirection;
}

interface Prepared {
  readonly ready: readonly ReadyFile[];
  readonly conflicts: readonly UndoConflict[];
}

/**
 * Takes changes of a finished run back, or does them again. Every file must be as the run has left it: what somebody has
 * changed since is never overwritten. It is written down before it begins, so that an interruption is settled later.
 */
@Injectable()
export class UndoService {
  constructor(
    private readonly runs: RunService,
    private readonly runRows: RunRepository,
    private readonly changes: FileChangeRepository,
    private readonly madeFolders: MadeFolders,
    private readonly undos: UndoRepository,
    private readonly inspection: UndoInspection,
    private readonly execution: UndoExecution,
    private readonly roots: WorkspaceRoots,
    private readonly locks: WorkspaceLockRepository,
    private readonly ledger: RunLedger,
    private readonly presence: ProcessPresence,
    private readonly switches: HarnessSwitches,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Undoes or redoes changes of the caller's run: those named, or all. UndoConflictError, with nothing changed, when a
   * file is in the way, unless `force` leaves such files out; also while a run of the session or of the workspace is at
   * work. ForbiddenError without the permission to write, WritesDisabledError while writes are stopped.
   */
  async perform(caller: Caller, request: UndoRequest): Promise<UndoResultView> {
    const { session, run } = await this.runs.own(caller, request.sessionId, request.runId);
    requireWrite(caller, session);
    if (session.deletedAt) throw new SessionDeletedError();
    if (!(await this.switches.writesEnabled())) throw new WritesDisabledError();
    await this.requireQuiet(run);
    const { tenantId, workspace: path, workspaceIdentity } = session;
    await this.roots.check(tenantId, path, workspaceIdentity);
    const workspace = await Workspace.open(path, workspaceIdentity);
    try {
      return await this.performIn(
        { session, run, workspace, direction: request.direction },
        request,
        caller,
      );
    } finally {
      await workspace.close();
    }
  }

  private async performIn(
    undo: Undo,
    { changeIds, force = false }: UndoBody,
    caller: Caller,
  ): Promise<UndoResultView> {
    const { direction } = undo;
    const selections = await this.select(undo, changeIds);
    const prepared = await this.prepare(undo, selections);
    const { ready, conflicts } = prepared;
    if (conflicts.length > 0 && (!force || ready.length === 0)) {
      throw UndoConflictError.of(direction, conflicts);
    }
    const { input, operations } = planOf(prepared);
    const toolCallId = newId();
    const leave = this.presence.enter(toolCallId);
    try {
      const begun = await this.begin(undo, { toolCallId, input, operations }, caller);
      await this.carryOut(begun, undo);
    } finally {
      leave();
    }
    return { changeIds: input.changeIds, files: input.files, conflicts };
  }

  /** The changes to undo: those named, or all. */
  private async select(
    { run, direction }: Undo,
    requested?: readonly number[],
  ): Promise<Selections> {
    const rows = await this.changes.ofRun(run.tenantId, run.id);
    const open = rows.filter(({ undone }) => undone === (direction === 'redo'));
    if (requested?.some((id) => !rows.some((row) => row.id === id)))
      throw new NotFoundError('The change');
    const chosen = new Set(requested ?? open.map(({ id }) => id));
    if (!open.some(({ id }) => chosen.has(id))) {
      throw new UndoConflictError(
        direction === 'undo'
          ? 'There is nothing to undo: the run has changed no file, or all of it is undone already.'
          : 'There is nothing to redo: no change of the run is undone.',
      );
    }
    return selectionsOf(rows, chosen, direction);
  }

  private async prepare({ run, workspace }: Undo, selections: Selections): Promise<Prepared> {
    const signal = AbortSignal.timeout(LOOK_MS);
    const madeFolders = await this.madeFolders.of(run, selections.files);
    const target = { tenantId: run.tenantId, workspace, madeFolders };
    const { ready, conflicts } = await this.inspection.inspect(target, selections.files, signal);
    const operations = ready.flatMap(({ operation }) => (operation ? [operation] : []));
    try {
      await this.inspection.keep(target, operations, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new UndoConflictError(
        'Keeping the present files took too long, and nothing was changed. Name fewer changes with changeIds.',
      );
    }
    return { ready, conflicts: [...selections.conflicts, ...conflicts] };
  }

  private async begin(
    { session, run, direction }: Undo,
    { toolCallId, input, operations }: Pick<BegunUndo, 'toolCallId' | 'input' | 'operations'>,
    caller: Caller,
  ): Promise<BegunUndo> {
    const { tenantId, id: runId } = run;
    await this.ledger.asOther(tenantId, runId, async (writer) => {
      await this.requireQuiet(writer.run);
      await this.requireUnmarked(run, input, direction);
      const { workspace } = session;
      const { fence } = writer.run;
      if (!(await this.locks.take({ tenantId, workspace, runId, fence }))) {
        throw new UndoConflictError(
          'Another run works in this workspace. Wait until it has ended.',
        );
      }
      const argumentsJson = JSON.stringify(input);
      await this.undos.start(run, {
        ...{ toolCallId, direction, argumentsJson, operations, boot: this.presence.boot },
        argumentsSha256: sha256(argumentsJson),
      });
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_run',
        id: runId,
        detail: { [direction]: input.changeIds.length, files: input.files.length },
      });
    });
    return { tenantId, runId, toolCallId, direction, input, operations };
  }

  private async carryOut(begun: BegunUndo, { workspace }: Undo): Promise<void> {
    try {
      await this.execution.carryOut(begun, { tenantId: begun.tenantId, workspace });
    } catch (error) {
      if (error instanceof ToolError) throw new UndoConflictError(error.message);
      if (!(error instanceof RollBackFailedError)) throw error;
      throw new UndoConflictError(
        `The ${begun.direction} was applied only in part: ${error.paths.slice(0, 20).join(', ')}. Look at these files; the effects of the run show it as uncertain.`,
      );
    }
  }

  /** UndoConflictError while anything is at work that changes the files. */
  private async requireQuiet(run: HarnessRun): Promise<void> {
    const live = await this.runRows.liveId(run.tenantId, run.sessionId);
    if (!isEnded(run.status) || live !== undefined) {
      throw new UndoConflictError(
        'A run of this session is not finished. Wait for it, or cancel it first.',
      );
    }
    if (await this.undos.isUnderWay(run)) {
      throw new UndoConflictError(
        'Another undo of this run is under way. Try again when it has ended.',
      );
    }
  }

  /** Fails if they were undone or redone since they were inspected. */
  private async requireUnmarked(
    { tenantId, id }: HarnessRun,
    { changeIds }: UndoInput,
    direction: UndoDirection,
  ): Promise<void> {
    const rows = await this.changes.ofRun(tenantId, id);
    const open = rows.filter(({ undone }) => undone === (direction === 'redo'));
    const ids = new Set(open.map((row) => row.id));
    if (changeIds.every((changeId) => ids.has(changeId))) return;
    throw new UndoConflictError('The changes were undone or redone meanwhile. Look at them again.');
  }
}

function planOf({ ready, conflicts }: Prepared): Pick<BegunUndo, 'input' | 'operations'> {
  const changeIds = ready.flatMap(({ selection }) => selection.changes.map(({ id }) => id));
  return {
    input: {
      changeIds: changeIds.sort((a, b) => a - b),
      files: ready.map(({ selection }) => selection.path),
      conflicts: conflicts.map(({ path, reason }) => ({ path, reason })),
    },
    operations: ready.flatMap(({ operation }) => (operation ? [operation] : [])),
  };
}
