import { Injectable } from '@nestjs/common';
import { ApprovalRepository } from './approval.repository.js';
import { EffectRepository } from './effect.repository.js';
import type { HarnessInput, HarnessRun } from './harness.entity.js';
import { MessageRepository, ModelCallRepository } from './message.repository.js';
import { RunLedger } from './run.ledger.js';
import type { RunWriter } from './run.ledger.js';
import { RunInputRepository, RunRepository, SessionRepository } from './run.repository.js';
import { WorkspaceLockRepository } from './workspace-lock.repository.js';

/** Everything that is stored of a run. Rows of the run itself change through `ledger`, which the others join. */
@Injectable()
export class RunStore {
  constructor(
    readonly ledger: RunLedger,
    readonly runs: RunRepository,
    readonly sessions: SessionRepository,
    readonly inputs: RunInputRepository,
    readonly effects: EffectRepository,
    readonly approvals: ApprovalRepository,
    readonly messages: MessageRepository,
    readonly modelCalls: ModelCallRepository,
    readonly locks: WorkspaceLockRepository,
  ) {}

  /** Whether STEER inputs are pending. */
  async hasSteers(run: HarnessRun): Promise<boolean> {
    return (await this.inputs.pending(run)).some(isSteer);
  }

  /**
   * Appends pending inputs as messages, STEER alone or all, within an open write: no further input can arrive meanwhile.
   * True when there was any.
   */
  async consumeInputs(writer: RunWriter, which: 'STEER' | 'ANY'): Promise<boolean> {
    const { run } = writer;
    const pending = await this.inputs.pending(run);
    const consumed = which === 'ANY' ? pending : pending.filter(isSteer);
    if (consumed.length === 0) return false;
    for (const { id: inputId, kind, content } of consumed) {
      const metadata = { kind, inputId };
      const messageId = await this.messages.append(run, { role: 'USER', content, metadata });
      writer.event('input.consumed', { inputId, kind, messageId });
    }
    await this.inputs.consume(
      run,
      consumed.map(({ id }) => id),
    );
    return true;
  }
}

function isSteer({ kind }: HarnessInput): boolean {
  return kind === 'STEER';
}
