import { Injectable, Logger } from '@nestjs/common';
import type { HarnessEffect } from '../../store/harness.entity.js';
import { EffectRepository } from '../../store/effect.repository.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run-writer.js';
import { WorkspaceLockRepository } from '../../store/workspace-lock.repository.js';
import type { FilesFound } from '../../protocol/effect.state.js';
import { RollBackFailedError } from '../../fault/tool.error.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { FileChanges } from '../../change/file-changes.js';
import type { ChangeTarget } from '../../change/file-changes.js';
import { undoOf } from './undo.record.js';
import type { BegunUndo } from './undo.record.js';

/** Longest time for carrying out one undo. */
const ACT_MS = 10 * 60_000;

const DOUBT =
  'An undo was interrupted, and the files are neither as before it nor as after it. Look at the workspace.';

/** Carries out an undo or redo that is written down as a started effect, and settles one that was interrupted. */
@Injectable()
export class UndoExecution {
  private readonly logger = new Logger('Harness');

  constructor(
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly changes: FileChanges,
    private readonly rows: FileChangeRepository,
    private readonly locks: WorkspaceLockRepository,
  ) {}

  /** Throws what has prevented it; the files are as before then, unless it is a RollBackFailedError. */
  async carryOut(undo: BegunUndo, target: ChangeTarget): Promise<void> {
    try {
      await this.changes.apply(target, undo.operations, AbortSignal.timeout(ACT_MS));
    } catch (error) {
      if (error instanceof RollBackFailedError) await this.doubt(undo);
      else await this.giveUp(undo);
      throw error;
    }
    await this.finish(undo, { reconciled: false });
  }

  /** Ends what a process has left behind that is gone. */
  async settle(undo: BegunUndo, target: ChangeTarget): Promise<void> {
    const { operations } = undo;
    const signal = AbortSignal.timeout(ACT_MS);
    const found: FilesFound =
      operations.length === 0 ? 'AFTER' : await this.changes.find(target, operations, signal);
    switch (found) {
      case 'AFTER':
        await this.finish(undo, { reconciled: true });
        return;
      case 'BEFORE':
        await this.giveUp(undo);
        return;
      case 'MIXED':
        await this.rollBack(undo, target, signal);
        return;
      case 'OTHER':
        await this.doubt(undo);
    }
  }

  /** Nobody can know what has happened to the files; people see it among the effects of the run. */
  async doubt(undo: BegunUndo): Promise<void> {
    const { toolCallId, direction } = undo;
    await this.end(undo, async (writer) => {
      await this.effects.doubt(writer.run, toolCallId);
      writer.event('effect.uncertain', { toolName: direction, reason: DOUBT }, { toolCallId });
    });
    this.logger.warn({ msg: 'The outcome of an undo is uncertain', runId: undo.runId, toolCallId });
  }

  /**
   * What follows when a person has found out that an uncertain effect was carried out: of an undo, its changes are marked.
   * Call it while the run's row is locked.
   */
  async confirm(writer: RunWriter, effect: HarnessEffect): Promise<void> {
    const undo = undoOf(effect);
    if (undo) await this.mark(writer, undo);
  }

  private async rollBack(
    undo: BegunUndo,
    target: ChangeTarget,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.changes.rollBack(target, undo.operations, signal);
    } catch (error) {
      if (!(error instanceof RollBackFailedError)) throw error;
      await this.doubt(undo);
      return;
    }
    await this.giveUp(undo);
  }

  private async finish(
    undo: BegunUndo,
    { reconciled }: { readonly reconciled: boolean },
  ): Promise<void> {
    await this.end(undo, async (writer) => {
      const outcome = { state: 'SUCCEEDED', result: 'Done.', reconciled } as const;
      const isFirst = await this.effects.finish(writer.run, undo.toolCallId, outcome);
      if (isFirst) await this.mark(writer, undo);
    });
  }

  private async mark(
    writer: RunWriter,
    { toolCallId, direction, input }: Pick<BegunUndo, 'toolCallId' | 'direction' | 'input'>,
  ): Promise<void> {
    const { changeIds, files, conflicts } = input;
    await this.rows.mark(writer.run, changeIds, direction === 'undo');
    const type = direction === 'undo' ? 'undo.applied' : 'redo.applied';
    writer.event(type, { changeIds, files, conflicts }, { toolCallId });
  }

  private async giveUp(undo: BegunUndo): Promise<void> {
    const state = 'NOT_EXECUTED';
    await this.end(undo, async (writer) => {
      const outcome = { state, result: 'Nothing was changed.', errorCode: state } as const;
      await this.effects.finish(writer.run, undo.toolCallId, outcome);
    });
  }

  private async end(
    { tenantId, runId }: BegunUndo,
    work: (writer: RunWriter) => Promise<void>,
  ): Promise<void> {
    await this.ledger.asOther(tenantId, runId, async (writer) => {
      await work(writer);
      await this.locks.release(writer.run);
    });
  }
}
