import { Injectable } from '@nestjs/common';
import { ApprovalRepository } from '../store/approval.repository.js';
import { EffectRepository } from '../store/effect.repository.js';
import type { HarnessEffect } from '../store/harness.entity.js';
import { ToolResults } from './tool.results.js';
import type { RunEnd, RunWriter } from '../store/run-writer.js';
import { abandonedAs, isSettled } from '../protocol/effect.state.js';
import { endOf } from '../protocol/run.state.js';
import { SessionRepository } from '../store/session.repository.js';
import { ModelCallRepository } from '../store/model-call.repository.js';
import { WorkspaceLockRepository } from '../store/workspace-lock.repository.js';

const NOT_RUN = 'Not run: the run ended before this call began.';
const NOT_KNOWN =
  'The run ended while this call was running. Nobody knows what it has done: look before you repeat it.';

/**
 * Ends a run, whoever ends it: nothing stays open. Every tool call gets its one result; what may have happened stays
 * marked as uncertain. The workspace is free at once, unless somebody else than the run's owner ends it: then it waits
 * until that owner can no longer act.
 */
@Injectable()
export class RunEnding {
  constructor(
    private readonly effects: EffectRepository,
    private readonly results: ToolResults,
    private readonly approvals: ApprovalRepository,
    private readonly modelCalls: ModelCallRepository,
    private readonly locks: WorkspaceLockRepository,
    private readonly sessions: SessionRepository,
  ) {}

  /** A run that is to be cancelled ends as cancelled, whatever else it was to end as. */
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
      await this.results.answer(writer, effect, resultOf(effect));
      return;
    }
    const state = abandonedAs({ ...effect, hasResult: false });
    const result = state === 'UNCERTAIN' ? NOT_KNOWN : NOT_RUN;
    await this.results.settle(writer, effect, { state, result, errorCode: state });
    if (state === 'UNCERTAIN' && effect.state !== 'UNCERTAIN') {
      writer.event(
        'effect.uncertain',
        { toolName: effect.toolName, reason: 'The run ended while it was running.' },
        { toolCallId: effect.toolCallId },
      );
    }
  }
}

/** What is stored of a call whose message is missing. */
export function resultOf({ result, state, errorCode, exitCode, artifactId }: HarnessEffect): {
  state: HarnessEffect['state'];
  result: string;
  errorCode?: string;
  exitCode?: number;
  artifactId?: string;
} {
  return {
    state,
    result: result ?? '',
    ...(errorCode !== null && { errorCode }),
    ...(exitCode !== null && { exitCode }),
    ...(artifactId !== null && { artifactId }),
  };
}
