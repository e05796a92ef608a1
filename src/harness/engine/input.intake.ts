import { Injectable } from '@nestjs/common';
import { RunLedger } from '../store/run.ledger.js';
import type { RunWriter } from '../store/run-writer.js';
import { MessageRepository } from '../store/message.repository.js';
import type { HarnessInput, HarnessRun } from '../store/harness.entity.js';
import { RunInputRepository } from '../store/run-input.repository.js';
import type { HeldRun } from './held.run.js';

/** Takes in what users say to a run that is going on. */
@Injectable()
export class InputIntake {
  constructor(
    private readonly ledger: RunLedger,
    private readonly inputs: RunInputRepository,
    private readonly messages: MessageRepository,
  ) {}

  /** Whether STEERs wait. */
  async hasSteers(run: HarnessRun): Promise<boolean> {
    return (await this.inputs.pending(run)).some(isSteer);
  }

  /** Makes messages of the STEERs that wait. */
  async takeInSteers(held: HeldRun): Promise<void> {
    await this.ledger.asOwner(held.lease, (writer) => this.takeIn(writer, 'STEER'));
  }

  /**
   * Makes messages of what waits, of STEERs alone or of everything, in an open write: nobody can say more in between.
   * True when there was any.
   */
  async takeIn(writer: RunWriter, which: 'STEER' | 'ANY'): Promise<boolean> {
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
