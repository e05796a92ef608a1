import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { FileChanges } from '../../change/file-changes.js';
import type { ChangeTarget } from '../../change/file-changes.js';
import { RollBackFailedError } from '../../fault/tool.error.js';
import type { HarnessEffect } from '../../store/harness.entity.js';
import { EffectRepository } from '../../store/effect.repository.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import type { UndoDirection } from '../../store/undo.repository.js';
import { WorkspaceLockRepository } from '../../store/workspace-lock.repository.js';
import type { FileOperation } from '../../workspace/file-operation.js';
import { CONFLICTS } from './undo.selection.js';

/** Longest time for the execution of one undo. */
const ACT_MS = 10 * 60_000;

const UNCERTAIN =
  'An undo was interrupted, and the files are neither as before it nor as after it. Check the workspace.';

const undoInput = z
  .object({
    changeIds: z.array(z.number()),
    /** All files whose changes are undone, also those that are already in the wanted state. */
    files: z.array(z.string()),
    conflicts: z.array(z.object({ path: z.string(), reason: z.enum(CONFLICTS) })),
  })
  .readonly();

/** An undo or redo, stored as a started effect. */
export interface StartedUndo {
  readonly tenantId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly direction: UndoDirection;
  readonly input: z.output<typeof undoInput>;
  readonly operations: readonly FileOperation[];
}

/** The undo that an effect is; undefined for a tool call, which belongs to a model call. */
export function undoOf(effect: HarnessEffect): StartedUndo | undefined {
  const { tenantId, runId, toolCallId, toolName, operations, iteration } = effect;
  if (iteration >= 0) return undefined;
  return {
    ...{ tenantId, runId, toolCallId, operations },
    direction: toolName === 'redo' ? 'redo' : 'undo',
    input: undoInput.parse(effect.input),
  };
}

/** Executes a started undo or redo, and reconciles one that was interrupted. */
@Injectable()
export class UndoExecution {
  private readonly logger = new Logger('Harness');
  /** The undos that this process is executing. */
  private readonly running = new Set<string>();

  constructor(
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly changes: FileChanges,
    private readonly rows: FileChangeRepository,
    private readonly locks: WorkspaceLockRepository,
  ) {}

  /** While the work runs, the recovery of this process leaves the undo alone. */
  async during(toolCallId: string, work: () => Promise<void>): Promise<void> {
    this.running.add(toolCallId);
    try {
      await work();
    } finally {
      this.running.delete(toolCallId);
    }
  }

  isRunning(toolCallId: string): boolean {
    return this.running.has(toolCallId);
  }

  /** Throws what has prevented it; the files are as before then, unless it is a RollBackFailedError. */
  async execute(undo: StartedUndo, target: ChangeTarget): Promise<void> {
    try {
      await this.changes.apply(target, undo.operations, AbortSignal.timeout(ACT_MS));
    } catch (error) {
      if (error instanceof RollBackFailedError) await this.markUncertain(undo);
      else await this.markNotExecuted(undo);
      throw error;
    }
    await this.markSucceeded(undo, { reconciled: false });
  }

  /** Ends an undo whose process is gone, by what it finds of the files. */
  async reconcile(undo: StartedUndo, target: ChangeTarget): Promise<void> {
    const { operations } = undo;
    const signal = AbortSignal.timeout(ACT_MS);
    const found =
      operations.length === 0 ? 'AFTER' : await this.changes.find(target, operations, signal);
    switch (found) {
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

  /** The state of the files is unknown; the effects of the run show the undo as uncertain. */
  async markUncertain(undo: StartedUndo): Promise<void> {
    const { toolCallId, direction, runId } = undo;
    await this.end(undo, async (writer) => {
      await this.effects.markUncertain(writer.run, toolCallId);
      writer.event('effect.uncertain', { toolName: direction, reason: UNCERTAIN }, { toolCallId });
    });
    this.logger.warn({ msg: 'Undo outcome is uncertain', runId, toolCallId });
  }

  /**
   * What follows when a person resolves an uncertain effect as executed: of an undo, its changes are marked. Call it while
   * the run's row is locked.
   */
  async confirm(writer: RunWriter, effect: HarnessEffect): Promise<void> {
    const undo = undoOf(effect);
    if (undo) await this.markChanges(writer, undo);
  }

  private async rollBack(
    undo: StartedUndo,
    target: ChangeTarget,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.changes.rollBack(target, undo.operations, signal);
    } catch (error) {
      if (!(error instanceof RollBackFailedError)) throw error;
      await this.markUncertain(undo);
      return;
    }
    await this.markNotExecuted(undo);
  }

  private async markSucceeded(
    undo: StartedUndo,
    { reconciled }: { readonly reconciled: boolean },
  ): Promise<void> {
    await this.end(undo, async (writer) => {
      const outcome = { state: 'SUCCEEDED', result: 'Done.', reconciled } as const;
      const isFirst = await this.effects.finish(writer.run, undo.toolCallId, outcome);
      if (isFirst) await this.markChanges(writer, undo);
    });
  }

  private async markNotExecuted(undo: StartedUndo): Promise<void> {
    const state = 'NOT_EXECUTED';
    await this.end(undo, async (writer) => {
      const outcome = { state, result: 'Nothing was changed.', errorCode: state } as const;
      await this.effects.finish(writer.run, undo.toolCallId, outcome);
    });
  }

  private async markChanges(
    writer: RunWriter,
    { toolCallId, direction, input: { changeIds, files, conflicts } }: StartedUndo,
  ): Promise<void> {
    await this.rows.mark(writer.run, changeIds, direction === 'undo');
    const type = direction === 'undo' ? 'undo.applied' : 'redo.applied';
    writer.event(type, { changeIds, files, conflicts }, { toolCallId });
  }

  private async end(
    { tenantId, runId }: StartedUndo,
    work: (writer: RunWriter) => Promise<void>,
  ): Promise<void> {
    await this.ledger.asOther(tenantId, runId, async (writer) => {
      await work(writer);
      await this.locks.release(writer.run);
    });
  }
}
