import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { abandonedAs, isSettled } from '../protocol/effect.state.js';
import { endOf, endsAtOnce, isEnded } from '../protocol/run.state.js';
import { ApprovalRepository } from '../store/approval.repository.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import { EffectRepository } from '../store/effect.repository.js';
import { ModelCallRepository } from '../store/model-call.repository.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RunLedger } from '../store/run.ledger.js';
import type { RunEnd, RunWriter } from '../store/run.ledger.js';
import { SessionRepository } from '../store/session.repository.js';
import { WorkspaceLockRepository } from '../store/workspace-lock.repository.js';
import { ToolResults } from './tool.results.js';

const NOT_RUN = 'Not run: the run ended before this call began.';
const UNKNOWN =
  'The run ended while this call was running. Its outcome is unknown: check the workspace before you repeat it.';

/**
 * Ends and cancels runs. When a run ends, nothing stays open: every tool call gets its one result, and a call whose
 * outcome is unknown stays marked as uncertain. The workspace is released at once, unless another process still holds the
 * run: then it is released when that process can no longer act.
 */
@Injectable()
export class RunEnding {
  constructor(
    private readonly ledger: RunLedger,
    private readonly effects: EffectRepository,
    private readonly results: ToolResults,
    private readonly approvals: ApprovalRepository,
    private readonly modelCalls: ModelCallRepository,
    private readonly locks: WorkspaceLockRepository,
    private readonly sessions: SessionRepository,
  ) {}

  /**
   * Cancels a run in any state, on the caller's request. One that no process holds ends at once; the owner of one that is
   * held is asked to end it, and is forced to within 10 seconds. `changed` is false for a run that has ended or is already
   * being cancelled.
   */
  async requestCancel(
    caller: Caller,
    { tenantId, id }: Pick<HarnessRun, 'tenantId' | 'id'>,
  ): Promise<{ changed: boolean }> {
    return this.ledger.asOther(tenantId, id, async (writer) => {
      if (isEnded(writer.run.status)) return { changed: false };
      if (endsAtOnce(writer.current)) {
        await this.cancel(writer);
        return { changed: true };
      }
      if (writer.current.cancelRequested) return { changed: false };
      writer.requestCancel(caller.userId);
      return { changed: true };
    });
  }

  /** Ends the run; one whose cancellation is requested ends as CANCELLED. */
  async end(writer: RunWriter, end: RunEnd): Promise<void> {
    if (endOf(writer.current, end.status) === end.status) await this.close(writer, end);
    else await this.cancel(writer);
  }

  /** Ends the run as CANCELLED: by SESSION_CLOSED when its session is deleted, else by USER_CANCEL. */
  async cancel(writer: RunWriter): Promise<void> {
    const { tenantId, sessionId } = writer.run;
    const session = await this.sessions.find(tenantId, sessionId);
    const stopReason = session?.deletedAt ? 'SESSION_CLOSED' : 'USER_CANCEL';
    await this.close(writer, { status: 'CANCELLED', stopReason });
  }

  private async close(writer: RunWriter, end: RunEnd): Promise<void> {
    const { run } = writer;
    for (const effect of await this.effects.unanswered(run)) await this.answer(writer, effect);
    for (const { id, toolCallId } of await this.approvals.cancelPending(run)) {
      writer.event(
        'approval.resolved',
        { approvalId: id, state: 'CANCELLED' },
        { approvalId: id, toolCallId },
      );
    }
    const code = end.status === 'CANCELLED' ? 'RUN_CANCELLED' : 'RUN_FAILED';
    for (const effectId of await this.modelCalls.abandonOpen(run)) {
      writer.event('model.turn.abandoned', { effectId, outcome: 'ABANDONED', code });
    }
    if (!writer.isAnothers) await this.locks.release(run);
    writer.end(end);
  }

  private async answer(writer: RunWriter, effect: HarnessEffect): Promise<void> {
    if (isSettled(effect.state)) {
      await this.results.answerStored(writer, effect);
      return;
    }
    const state = abandonedAs({ ...effect, hasResult: false });
    const result = state === 'UNCERTAIN' ? UNKNOWN : NOT_RUN;
    await this.results.finish(writer, effect, { state, result, errorCode: state });
    if (state === 'UNCERTAIN' && effect.state !== 'UNCERTAIN') {
      writer.event(
        'effect.uncertain',
        { toolName: effect.toolName, reason: 'The run ended while it was running.' },
        { toolCallId: effect.toolCallId },
      );
    }
  }
}
