import { Injectable } from '@nestjs/common';
import type { RunWriter } from '../store/run.ledger.js';
import { MessageRepository } from '../store/message.repository.js';
import type { HarnessInput } from '../store/harness.entity.js';
import { RunInputRepository } from '../store/run.repository.js';
import type { HarnessRun } from '../store/harness.entity.js';

/** Turns the input that users send to a live run into messages of the run. */
@Injectable()
export class InputIntake {
  constructor(
    private readonly inputs: RunInputRepository,
    private readonly messages: MessageRepository,
  ) {}

  /** Whether STEER inputs are pending. */
  async hasSteers(run: HarnessRun): Promise<boolean> {
    return (await this.inputs.pending(run)).some(isSteer);
  }

  /**
   * Appends pending inputs as messages, STEER alone or all, within an open write: no further input can arrive meanwhile.
   * True when there was any.
   */
  async consume(writer: RunWriter, which: 'STEER' | 'ANY'): Promise<boolean> {
    const { run } = writer;
    const pending = await this.inputs.pending(run);
    const wanted = which === 'ANY' ? pending : pending.filter(isSteer);
    if (wanted.length === 0) return false;
    for (const { id: inputId, kind, content } of wanted) {
      const metadata = { kind, inputId };
      const messageId = await this.messages.append(run, { role: 'USER', content, metadata });
      writer.event('input.consumed', { inputId, kind, messageId });
    }
    await this.inputs.consume(
      run,
      wanted.map(({ id }) => id),
    );
    return true;
  }
}

function isSteer({ kind }: HarnessInput): boolean {
  return kind === 'STEER';
}
