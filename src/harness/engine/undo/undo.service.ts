import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { inTenant } from '../../../platform/database/index.js';
import { DomainError, NotFoundError } from '../../../platform/error/index.js';
import { closing } from '../../../platform/filesystem/index.js';
import { processId, stateOfProcess } from '../../../platform/lease/index.js';
import { IntervalJob } from '../../../platform/queue/index.js';
import { literal, msg } from '../../../platform/message/index.js';
import { FileChanges } from '../../change/file-changes.js';
import type { ChangeTarget } from '../../change/file-changes.js';
import { RollBackFailedError, ToolError } from '../../protocol/tool-call.js';
import type { FileOperation, RunEffect } from '../../../effect/index.js';
import type { OpenUndo, UndoDirection } from '../../store/file-change.repository.js';
import { newId } from '../../protocol/values.js';
import { requireWrite } from '../../protocol/policy.js';
import { isEnded } from '../../protocol/run.state.js';
import { SessionDeletedError, WritesDisabledError } from '../../store/errors.js';
import type { HarnessRun } from '../../store/harness.entity.js';
import { NOTE_KINDS } from '../../store/message.repository.js';
import { HarnessSwitches } from '../../store/run.repository.js';
import type { SessionRow } from '../../store/run.repository.js';
import { RunStore } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import { WorkspaceRoots } from '../../workspace/workspace-roots.js';
import { displayPath } from '../../workspace/workspace-path.js';
import { Workspace } from '../../workspace/workspace.js';
import {
  CONFLICTS,
  isNoChange,
  phraseOf,
  selectionsOf,
  UndoConflictError,
  UndoInspection,
} from './undo.inspection.js';
import type { ReadyFile, Selections, UndoConflict } from './undo.inspection.js';

/** Time limit for inspecting the files. */
const MAX_INSPECTION_MS = 60_000;
/** Time limit for the execution of one undo. */
const ACT_MS = 10 * 60_000;
const SWEEP_MS = 15_000;
const SWEPT_AT_ONCE = 100;
/** Age after which an undo is no longer executed: each has a time-out. */
const MAX_UNDO_SECONDS = 15 * 60;

const UNCERTAIN =
  'An undo was interrupted, and the files are neither as before it nor as after it. Check the workspace.';

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

const undoInput = z
  .object({
    changeIds: z.array(z.number()),
    /**
     * All files whose changes are undone, also those that are already in the wanted state; not those whose changes come to
     * nothing.
     */
    files: z.array(z.string()),
    conflicts: z.array(z.object({ path: z.string(), reason: z.enum(CONFLICTS) })),
  })
  .readonly();

/** An undo or redo, stored as a started effect. */
interface StartedUndo {
  readonly tenantId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly direction: UndoDirection;
  readonly input: z.output<typeof undoInput>;
  readonly operations: readonly FileOperation[];
}

/** The undo that an effect is; undefined for a tool call, which belongs to a model call. */
export function undoOf(effect: RunEffect): StartedUndo | undefined {
  const { tenantId, runId, toolCallId, toolName, operations, iteration } = effect;
  if (iteration >= 0) return undefined;
  return {
    tenantId,
    runId,
    toolCallId,
    operations,
    direction: toolName === 'redo' ? 'redo' : 'undo',
    input: undoInput.parse(effect.input),
  };
}

/**
 * Undoes and redoes changes of finished runs. Every file must be as the run has left it: later changes by others are never
 * overwritten. An undo is stored as a started effect before it begins; a sweep reconciles those whose process ended in the
 * middle of them.
 */
@Injectable()
export class UndoService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Harness');
  /** The undos that this process is executing. */
  private readonly running = new Set<string>();
  private sweeps: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly store: RunStore,
    private readonly files: FileChanges,
    private readonly inspection: UndoInspection,
    private readonly roots: WorkspaceRoots,
    private readonly switches: HarnessSwitches,
    private readonly audit: AuditLog,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.sweeps = new IntervalJob(SWEEP_MS, (ending) => this.sweep(ending));
    this.sweeps.runNow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.sweeps?.stop();
  }

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
    return closing(await Workspace.open(path, workspaceIdentity), (workspace) =>
      this.performIn(workspace, caller, request),
    );
  }

  /** One round: looks at every undo in progress, and ends those that no process executes any more. */
  async sweep(ending?: AbortSignal): Promise<void> {
    try {
      for (const undo of await this.store.undos.open(SWEPT_AT_ONCE)) {
        if (ending?.aborted) return;
        await inTenant(undo.tenantId, () => this.recover(undo));
      }
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Failed to find interrupted undos', err: error });
    }
  }

  /**
   * Marks the changes of an undo that a person has resolved as executed; ignores other effects. Call it while the run's row
   * is locked.
   */
  async confirm(writer: RunWriter, effect: RunEffect): Promise<void> {
    const undo = undoOf(effect);
    if (undo) await this.markChanges(writer, undo);
  }

  /** Keeps this process's recovery away from the undo while the work runs. */
  async during(toolCallId: string, work: () => Promise<void>): Promise<void> {
    this.running.add(toolCallId);
    try {
      await work();
    } finally {
      this.running.delete(toolCallId);
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
    const changed = ready.filter(({ selection }) => !isNoChange(selection));
    const othersReady = changed.length > 0;
    if (conflicts.length > 0 && (!force || !othersReady)) {
      throw UndoConflictError.of(direction, conflicts, { othersReady });
    }
    const changeIds = ready.flatMap(({ selection }) => selection.changes.map(({ id }) => id));
    const undo: StartedUndo = {
      tenantId: run.tenantId,
      runId: run.id,
      toolCallId: newId(),
      direction,
      input: {
        changeIds: changeIds.sort((a, b) => a - b),
        files: changed.map(({ selection }) => selection.path),
        conflicts: conflicts.map(({ path, reason }) => ({ path, reason })),
      },
      operations: operationsOf(ready),
    };
    await this.during(undo.toolCallId, async () => {
      await this.begin(undo, session, caller);
      await this.execute(undo, workspace);
    });
    return { changeIds: undo.input.changeIds, files: undo.input.files, conflicts };
  }

  /** The wanted changes, of those that can be undone or redone. */
  private async select({ run, direction, changeIds }: UndoRequest): Promise<Selections> {
    const rows = await this.store.fileChanges.ofRun(run.tenantId, run.id);
    const open = rows.filter(({ undone }) => undone === (direction === 'redo'));
    if (changeIds?.some((id) => !rows.some((row) => row.id === id))) {
      throw new NotFoundError(msg`The change`);
    }
    const chosen = new Set(changeIds ?? open.map(({ id }) => id));
    const selections = selectionsOf(rows, chosen, direction);
    const { files, conflicts } = selections;
    if (conflicts.length === 0 && files.every((file) => isNoChange(file))) {
      throw new UndoConflictError(
        direction === 'undo'
          ? msg`There is nothing to undo: the run has changed no file, or all of it is undone already.`
          : msg`There is nothing to redo: no change of the run is undone.`,
      );
    }
    return selections;
  }

  private async inspect(
    workspace: Workspace,
    run: HarnessRun,
    selections: Selections,
  ): Promise<{
    readonly ready: readonly ReadyFile[];
    readonly conflicts: readonly UndoConflict[];
  }> {
    const signal = AbortSignal.timeout(MAX_INSPECTION_MS);
    const madeFolders = await this.inspection.madeFolders(run, selections.files);
    const target = { tenantId: run.tenantId, workspace, madeFolders };
    const { ready, conflicts } = await this.inspection.inspect(target, selections.files, signal);
    try {
      await this.inspection.keep(target, operationsOf(ready), signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new UndoConflictError(
        msg`Keeping the present files took too long, and nothing was changed. Name fewer changes with changeIds.`,
      );
    }
    return { ready, conflicts: [...selections.conflicts, ...conflicts] };
  }

  /** Write-ahead: commits what is about to happen, with the workspace locked. */
  private async begin(undo: StartedUndo, session: SessionRow, caller: Caller): Promise<void> {
    const { tenantId, runId, toolCallId, direction, input, operations } = undo;
    await this.store.ledger.updateRun(tenantId, runId, async (writer) => {
      const { run } = writer;
      await this.requireIdle(run);
      await this.requireUnmarked(undo);
      const { workspace } = session;
      if (!(await this.store.locks.take({ tenantId, workspace, runId, fence: run.fence }))) {
        throw new UndoConflictError(
          msg`Another run uses this workspace, or what an interrupted command has left there is still to be removed. Try again when that is done.`,
        );
      }
      await this.store.undos.start(run, {
        toolCallId,
        direction,
        input,
        operations,
        boot: processId,
      });
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_run',
        id: runId,
        detail: { [direction]: input.changeIds.length, files: input.files.length },
      });
    });
  }

  /** UndoConflictError for what has prevented it; the files are as before then, unless that failed as well. */
  private async execute(undo: StartedUndo, workspace: Workspace): Promise<void> {
    const target = { tenantId: undo.tenantId, workspace };
    try {
      await this.files.apply(target, undo.operations, AbortSignal.timeout(ACT_MS));
    } catch (error) {
      if (error instanceof RollBackFailedError) {
        await this.markUncertain(undo);
        throw new UndoConflictError(
          msg`The ${phraseOf(undo.direction)} was executed only in part: ${error.paths.slice(0, 20).join(', ')}. Check these files; the effects of the run show it as uncertain.`,
        );
      }
      await this.markNotExecuted(undo);
      throw error instanceof ToolError ? new UndoConflictError(literal(error.message)) : error;
    }
    await this.markSucceeded(undo, { reconciled: false });
  }

  /** UndoConflictError while a run or another undo may change the files. */
  private async requireIdle(run: HarnessRun): Promise<void> {
    const live = await this.store.runs.liveId(run.tenantId, run.sessionId);
    if (!isEnded(run.status) || live !== undefined) {
      throw new UndoConflictError(
        msg`A run of this session is not finished. Wait for it, or cancel it first.`,
      );
    }
    if (await this.store.undos.isUnderWay(run)) {
      throw new UndoConflictError(
        msg`Another undo of this run is in progress. Try again when it has ended.`,
      );
    }
  }

  /** UndoConflictError when another undo or redo has marked the changes since they were inspected. */
  private async requireUnmarked({ tenantId, runId, direction, input }: StartedUndo): Promise<void> {
    const rows = await this.store.fileChanges.ofRun(tenantId, runId);
    const open = rows.filter(({ undone }) => undone === (direction === 'redo'));
    const ids = new Set(open.map((row) => row.id));
    if (input.changeIds.every((changeId) => ids.has(changeId))) return;
    throw new UndoConflictError(msg`The changes were undone or redone meanwhile. Reload them.`);
  }

  private async recover(undo: OpenUndo): Promise<void> {
    const { toolCallId, runId, boot, seconds } = undo;
    try {
      const isLeft = this.isLeft(boot, toolCallId) || seconds > MAX_UNDO_SECONDS;
      if (!isLeft || !(await this.store.undos.takeOver(undo, processId))) return;
      await this.during(toolCallId, () => this.reconcileIn(undo));
    } catch (error) {
      this.logger.warn({ msg: 'Failed to recover undo', runId, err: error });
    }
  }

  /** Only a process that runs knows whether it still executes the undo. */
  private isLeft(boot: string, toolCallId: string): boolean {
    if (boot === processId) return !this.running.has(toolCallId);
    return stateOfProcess(boot) === 'ended';
  }

  private async reconcileIn({
    tenantId,
    sessionId,
    runId: id,
    toolCallId,
  }: OpenUndo): Promise<void> {
    const session = await this.store.sessions.find(tenantId, sessionId);
    const effect = await this.store.effects.find({ tenantId, id }, toolCallId);
    const undo = effect && undoOf(effect);
    if (!session || !undo) return;
    const { workspace: path, workspaceIdentity } = session;
    const workspace = await Workspace.open(path, workspaceIdentity).catch((error: unknown) => {
      if (error instanceof DomainError) return undefined;
      throw error;
    });
    if (!workspace) {
      await this.markUncertain(undo);
      return;
    }
    await closing(workspace, () => this.reconcile(undo, { tenantId, workspace }));
  }

  /** Ends an undo whose process is gone, by what it finds of the files. */
  private async reconcile(undo: StartedUndo, target: ChangeTarget): Promise<void> {
    const { operations } = undo;
    const signal = AbortSignal.timeout(ACT_MS);
    const filesFound =
      operations.length === 0 ? 'AFTER' : await this.files.find(target, operations, signal);
    switch (filesFound) {
      case 'AFTER':
        return this.markSucceeded(undo, { reconciled: true });
      case 'BEFORE':
        return this.markNotExecuted(undo);
      case 'MIXED':
        return this.rollBack(undo, target, signal);
      case 'OTHER':
        return this.markUncertain(undo);
    }
  }

  private async rollBack(
    undo: StartedUndo,
    target: ChangeTarget,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.files.rollBack(target, undo.operations, signal);
    } catch (error) {
      if (!(error instanceof RollBackFailedError)) throw error;
      await this.markUncertain(undo);
      return;
    }
    await this.markNotExecuted(undo);
  }

  /** The state of the files is unknown; the effects of the run show the undo as uncertain. */
  private async markUncertain(undo: StartedUndo): Promise<void> {
    const { toolCallId, direction, runId } = undo;
    await this.end(undo, async (writer) => {
      await this.store.effects.markUncertain(writer.run, toolCallId);
      writer.event('effect.uncertain', { toolName: direction, reason: UNCERTAIN }, { toolCallId });
    });
    this.logger.warn({ msg: 'Undo outcome is uncertain', runId, toolCallId });
  }

  private async markSucceeded(
    undo: StartedUndo,
    { reconciled }: { readonly reconciled: boolean },
  ): Promise<void> {
    await this.end(undo, async (writer) => {
      const outcome = { state: 'SUCCEEDED', result: 'Done.', reconciled } as const;
      const finished = await this.store.effects.finish(writer.run, undo.toolCallId, outcome);
      if (finished) await this.markChanges(writer, undo);
    });
  }

  private async markNotExecuted(undo: StartedUndo): Promise<void> {
    const state = 'NOT_EXECUTED';
    await this.end(undo, async (writer) => {
      const outcome = { state, result: 'Nothing was changed.', errorCode: state } as const;
      await this.store.effects.finish(writer.run, undo.toolCallId, outcome);
    });
  }

  private async markChanges(
    writer: RunWriter,
    { toolCallId, direction, input: { changeIds, files, conflicts } }: StartedUndo,
  ): Promise<void> {
    await this.store.fileChanges.mark(writer.run, changeIds, direction === 'undo');
    const type = direction === 'undo' ? 'undo.applied' : 'redo.applied';
    writer.event(type, { changeIds, files, conflicts }, { toolCallId });
    await this.store.messages.append(writer.run, {
      role: 'CONTROL',
      content: noteOf(direction, files),
      metadata: { kind: NOTE_KINDS[direction] },
    });
  }

  private async end(
    { tenantId, runId }: StartedUndo,
    work: (writer: RunWriter) => Promise<void>,
  ): Promise<void> {
    await this.store.ledger.updateRun(tenantId, runId, async (writer) => {
      await work(writer);
      await this.store.locks.release(writer.run);
    });
  }
}

/** Maximum number of files named to the model. */
const MAX_NAMED_FILES = 20;

/** Note about the undo for the model of the session's next run. */
function noteOf(direction: UndoDirection, files: readonly string[]): string {
  const named = files.slice(0, MAX_NAMED_FILES).map(displayPath).join(', ');
  const more = files.length > MAX_NAMED_FILES ? ` and ${files.length - MAX_NAMED_FILES} more` : '';
  return direction === 'undo'
    ? `The user has undone changes of this run: ${named}${more} are as they were before it. Do not make these changes again unless the user asks for it.`
    : `The user has redone changes of this run that were undone: ${named}${more} are as this run left them.`;
}

function operationsOf(ready: readonly ReadyFile[]): StartedUndo['operations'] {
  return ready.flatMap(({ operation }) => (operation ? [operation] : []));
}
