import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { ConflictError, InvalidInputError, NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { ApprovalRepository, canonicalJson, EffectRepository, hashOf } from '../../effect/index.js';
import type { ApprovalRow, Decision, Effect } from '../../effect/index.js';
import { CHAT_LIMITS } from '../../model/index.js';
import { TurnRepository } from '../turn.repository.js';
import type { CallDecisionBody, ResolveCallBody } from './decision.dto.js';

const DECISIONS = {
  once: 'APPROVE',
  chat: 'APPROVE_SESSION',
  deny: 'DENY',
} as const satisfies Record<CallDecisionBody['decision'], Decision>;

const RESULTS = {
  EXECUTED:
    'The service was interrupted during this call. A person has looked: it was executed. Its answer is lost.',
  NOT_EXECUTED:
    'The service was interrupted during this call. A person has looked: it was not executed. Call the tool again if that is still wanted.',
} as const;

/** The turn has gone on, or nothing in it waits. */
export class TurnNotWaitingError extends ConflictError {
  constructor() {
    super(
      msg`This answer does not wait for a decision any more. Reload the chat to see what came of it.`,
      {
        data: { errorCode: 'TURN_NOT_WAITING' },
      },
    );
  }
}

class DecisionExpiredError extends ConflictError {
  constructor() {
    super(
      msg`The time for this decision is over, so nothing was executed. Send a new message to ask again.`,
      {
        data: { errorCode: 'APPROVAL_EXPIRED' },
      },
    );
  }
}

/** The decision was made about another call than the one that waits. */
class DecisionStaleError extends ConflictError {
  constructor({ toolCallId, argumentsSha256 }: ApprovalRow) {
    super(
      msg`argumentsSha256 is not that of the call, so nothing was decided. Reload the chat and review its arguments.`,
      {
        data: { errorCode: 'APPROVAL_STALE', callId: toolCallId, argumentsSha256 },
      },
    );
  }
}

class CallNotUncertainError extends ConflictError {
  constructor(state: string) {
    super(
      msg`The outcome of this call is not unknown (${state}), so nothing was changed. Reload the chat.`,
    );
  }
}

/** What users decide about the calls of their turns. */
@Injectable()
export class TurnDecisions {
  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly effects: EffectRepository,
    private readonly turns: TurnRepository,
    private readonly audit: AuditLog,
  ) {}

  /** Stores the decisions about all calls of the turn that wait. Call it in the transaction that takes the turn. */
  async decide(
    caller: Caller,
    { turnId, sessionId }: { readonly turnId: string; readonly sessionId: number | null },
    decisions: readonly CallDecisionBody[],
  ): Promise<void> {
    const rows = await this.approvals.ofTurn(caller.tenantId, turnId);
    const pending = rows.filter(({ state }) => state === 'PENDING');
    if (pending.length === 0) throw new TurnNotWaitingError();
    if (pending.some(({ isDue }) => isDue)) throw new DecisionExpiredError();
    const unknown = decisions.find(
      ({ callId }) => !pending.some((row) => row.toolCallId === callId.toLowerCase()),
    );
    if (unknown) throw new NotFoundError(msg`The tool call`);
    for (const approval of pending) {
      const decision = decisions.find(({ callId }) => callId.toLowerCase() === approval.toolCallId);
      if (!decision) {
        throw new InvalidInputError(
          msg`The call ${approval.toolCallId} waits as well. Decide about all calls of the answer at once.`,
        );
      }
      await this.decideOne(caller, { approval, sessionId }, decision);
    }
  }

  private async decideOne(
    caller: Caller,
    { approval, sessionId }: { readonly approval: ApprovalRow; readonly sessionId: number | null },
    body: CallDecisionBody,
  ): Promise<void> {
    const { tenantId, userId } = caller;
    const { id, toolCallId, toolName, turnId } = approval;
    if (approval.argumentsSha256 !== body.argumentsSha256.toLowerCase()) {
      throw new DecisionStaleError(approval);
    }
    const decision = DECISIONS[body.decision];
    if (body.decision === 'chat' && (!approval.grantable || sessionId === null)) {
      throw new InvalidInputError(
        msg`The tool cannot be allowed for the whole chat. Decide once or deny.`,
      );
    }
    const isDenied = decision === 'DENY';
    const state = isDenied ? 'DENIED' : 'APPROVED';
    const note = body.reason ?? null;
    const values = { state, decision, decisionId: toolCallId, note, decidedBy: userId } as const;
    if (!(await this.approvals.decide(approval, values))) throw new TurnNotWaitingError();
    if (isDenied) {
      const result = `A person has refused this call.${note === null ? '' : ` They say: ${note}`}`;
      await this.effects.finish({ tenantId }, toolCallId, { state: 'DENIED', result });
    } else if (body.arguments) {
      const argumentsJson = canonicalJson(body.arguments);
      const argumentsSha256 = hashOf(argumentsJson);
      const changed = { argumentsJson, argumentsSha256, input: body.arguments };
      await this.effects.changeArguments(tenantId, toolCallId, changed);
    }
    if (body.decision === 'chat' && sessionId !== null) {
      await this.approvals.grant(approval, userId, sessionId);
    }
    await this.audit.record(caller, {
      action: 'status-change',
      target: 'harness_approval',
      id,
      detail: { decision, toolName, turnId, edited: !isDenied && body.arguments !== undefined },
    });
  }

  /** Records what the user has found out about a call whose outcome is unknown. */
  async resolve(
    caller: Caller,
    { turnId, callId }: { readonly turnId: string; readonly callId: string },
    { resolution, note }: ResolveCallBody,
  ): Promise<Effect> {
    const { tenantId, userId } = caller;
    const find = async (): Promise<Effect> => {
      const effects = await this.effects.ofTurn(tenantId, turnId);
      const effect = effects.find((one) => one.toolCallId === callId && one.userId === userId);
      if (!effect) throw new NotFoundError(msg`The tool call`);
      return effect;
    };
    const stored = await find();
    // A call whose outcome could not be stored has not ended for the ledger.
    if (stored.state === 'STARTED' && (await this.isOver(caller, stored))) {
      await this.effects.endTurn(tenantId, turnId);
    }
    const effect = await find();
    if (effect.state !== 'UNCERTAIN') {
      if (effect.resolution === resolution) return effect;
      throw new CallNotUncertainError(effect.state);
    }
    const isExecuted = resolution === 'EXECUTED';
    await this.effects.resolve({ tenantId }, callId, {
      state: isExecuted ? 'SUCCEEDED' : 'NOT_EXECUTED',
      resolution,
      resolvedBy: userId,
      note: note ?? null,
      result: `${RESULTS[resolution]}${note === undefined ? '' : ` Note: ${note}`}`,
      errorCode: isExecuted ? null : 'NOT_EXECUTED',
    });
    await this.audit.record(caller, {
      action: 'status-change',
      target: 'harness_effect',
      id: callId,
      detail: { resolution, turnId },
    });
    return find();
  }

  private async isOver(caller: Caller, { turnId, startedAt, messageId }: Effect): Promise<boolean> {
    if (turnId === null || (await this.turns.isWriting(caller, turnId))) return false;
    const ageMs = Date.now() - (startedAt?.getTime() ?? 0);
    return messageId !== null || ageMs > CHAT_LIMITS.totalMs;
  }
}
