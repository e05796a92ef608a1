import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { RunLedger } from '../store/run.ledger.js';
import { endsAtOnce, isEnded } from '../protocol/run.state.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RunEnding } from './run.ending.js';

/** Cancels runs, from every state. */
@Injectable()
export class RunCancel {
  constructor(
    private readonly ledger: RunLedger,
    private readonly ending: RunEnding,
  ) {}

  /**
   * A run that no process holds ends at once; one that is held is asked to, and is ended by force within 10 seconds.
   * `changed` is false for a run that has ended or is already being cancelled.
   */
  async cancel(
    caller: Caller,
    run: Pick<HarnessRun, 'tenantId' | 'id'>,
  ): Promise<{ changed: boolean }> {
    return this.ledger.asOther(run.tenantId, run.id, async (writer) => {
      if (isEnded(writer.run.status)) return { changed: false };
      if (endsAtOnce(writer.current)) {
        await this.ending.cancel(writer);
        return { changed: true };
      }
      if (writer.current.cancelRequested) return { changed: false };
      writer.requestCancel(caller.userId);
      return { changed: true };
    });
  }
}
