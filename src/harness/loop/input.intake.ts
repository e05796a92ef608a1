import { Injectable } from '@nestjs/common';
import { RunLedger } from '../ledger/run.ledger.js';
import { MessageRepository } from '../message/message.repository.js';
import { RunInputRepository } from '../run/run-input.repository.js';
import type { HarnessRun } from '../run/run.entity.js';
import type { HeldRun } from './held.run.js';

/** Takes in what users say to a run that is going on. */
@Injectable()
export class InputIntake {
  constructor(
    private readonly ledger: RunLedger,
    private readonly inputs: RunInputRepository,
    private readonly messages: MessageRepository,
  ) {}

  async hasAny(run: HarnessRun): Promise<boolean> {
    return (await this.inputs.pending(run)).length > 0;
  }

  /** Makes messages of what waits: with STEER of that kind alone, otherwise of everything. True when there was any. */
  async takeIn(held: HeldRun, run: HarnessRun, which: 'STEER' | 'ANY'): Promise<boolean> {
    const pending = await this.inputs.pending(run);
    const wanted = pending.filter(({ kind }) => which === 'ANY' || kind === which);
    if (wanted.length === 0) return false;
    await this.ledger.asOwner(held.lease, async (writer) => {
      for (const { id: inputId, kind, content } of wanted) {
        const metadata = { kind, inputId };
        const messageId = await this.messages.append(run, { role: 'USER', content, metadata });
        writer.event('input.consumed', { inputId, kind, messageId });
      }
      await this.inputs.consume(
        run,
        wanted.map(({ id }) => id),
      );
    });
    return true;
  }
}
