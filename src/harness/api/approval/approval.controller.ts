import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { ConflictError, InvalidInputError, NotFoundError } from '../../../platform/error/index.js';
import {
  Answers,
  AnswersArray,
  AnswersStatus,
  Input,
  NoBody,
  OneOf,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { msg, phrase } from '../../../platform/message/index.js';
import { RunEnding } from '../../engine/run.ending.js';
import { DECISIONS } from '../../protocol/approval.js';
import type { ApprovalState, Decision } from '../../protocol/approval.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import { stepIdOf } from '../../store/event.catalogue.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import { SHA256, UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import { RunView } from '../run/run.view.js';
import { ApprovalView, GrantView, toApprovalView, toGrantView } from './approval.view.js';
import { effectEntry, InboxEntryView, runEntries, toolEntries } from './inbox.view.js';

@StrictFields()
export class ResolveApprovalBody extends Input({
  decisionId: Text({
    max: 256,
    description: 'Of this decision; the same one again is answered alike',
  }),
  decision: OneOf(DECISIONS, {
    description:
      'APPROVE_SESSION approves the same path or command for the rest of the session; DENY_AND_STOP ends the run',
  }),
  expectedRevision: Whole({
    min: 0,
    description: 'expectedRevision of the approval that was shown',
  }),
  argumentsSha256: Text({
    ...SHA256,
    description: 'argumentsSha256 of the approval that was shown',
  }),
  note: Text({ optional: true, max: 2_048, description: 'For the model, and for the record' }),
}) {}

export class InboxQuery extends Input({
  state: OneOf(['PENDING'], {
    optional: true,
    description: 'What waits for a decision: the only choice',
  }),
}) {}

const STATE_AFTER: Readonly<Record<Decision, ApprovalState>> = {
  APPROVE: 'APPROVED',
  APPROVE_SESSION: 'APPROVED',
  DENY: 'DENIED',
  DENY_AND_STOP: 'DENIED',
};

/** The first decision wins: another one, or the expiry, came first. */
class ApprovalResolvedError extends ConflictError {
  constructor({ id, state, decision }: Pick<ApprovalRow, 'id' | 'state' | 'decision'>) {
    super(
      msg`This approval is ${state} already, so nothing was changed. Reload the run to see what came of it.`,
      {
        data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', approvalId: id, state, decision },
      },
    );
  }
}

/** The decision was made about something else than what is asked now. */
class ApprovalStaleError extends ConflictError {
  constructor({ id, revision, argumentsSha256 }: ApprovalRow) {
    super(
      msg`expectedRevision or argumentsSha256 is not that of the approval, so nothing was decided. Reload it and review its arguments.`,
      {
        data: {
          errorCode: 'APPROVAL_STALE',
          approvalId: id,
          expectedRevision: revision,
          argumentsSha256,
        },
      },
    );
  }
}

class NotGrantableError extends InvalidInputError {
  constructor(approvalId: string) {
    super(
      msg`This must be asked for each time, so it cannot be approved for the session. Decide APPROVE or DENY.`,
      { data: { errorCode: 'APPROVAL_NOT_GRANTABLE', approvalId } },
    );
  }
}

@ApiTags('coding harness')
@Controller('coding/harness')
export class ApprovalController {
  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly runs: RunService,
    private readonly ledger: RunLedger,
    private readonly ending: RunEnding,
    private readonly audit: AuditLog,
  ) {}

  /** Everything in the caller's runs that waits for a person, with what a decision needs. */
  @Get('approvals')
  @RequirePermission('coding:harness:use')
  @AnswersArray(InboxEntryView)
  async waiting(
    @CurrentCaller() { tenantId, userId }: Caller,
    @Query() _query: InboxQuery,
  ): Promise<InboxEntryView[]> {
    const approvals = await this.approvals.pendingOfUser(tenantId, userId);
    const runs = await this.approvals.waitingRuns(tenantId, userId);
    const effects = await this.approvals.uncertainEffects(tenantId, userId);
    // The longest waiting first; at most 500 entries of a kind, and no more once their arguments reach 16 MiB.
    return [
      ...toolEntries(approvals),
      ...runs.flatMap(runEntries),
      ...effects.map(effectEntry),
    ].sort((one, other) => one.waitingSince - other.waitingSince);
  }

  /** All approvals of a run, whatever became of them. */
  @Get('sessions/:sessionId/runs/:runId/approvals')
  @RequirePermission('coding:harness:use')
  @AnswersArray(ApprovalView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<ApprovalView[]> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    return (await this.approvals.ofRun(run)).map(toApprovalView);
  }

  /** Decides about a tool call; the first answer wins. Answers the run. */
  @Post('sessions/:sessionId/runs/:runId/approvals/:approvalId/resolve')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @Answers(RunView)
  async resolve(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Param('approvalId', UuidPipe) approvalId: string,
    @Body() body: ResolveApprovalBody,
  ): Promise<RunView> {
    const { session, run } = await this.runs.own(caller, sessionId, runId);
    const late = await this.ledger.asOther(run.tenantId, run.id, async (writer) => {
      const approval = await this.approvals.find(run, approvalId);
      if (!approval) throw new NotFoundError(phrase`The approval`);
      if (approval.argumentsSha256 !== body.argumentsSha256.toLowerCase()) {
        throw new ApprovalStaleError(approval);
      }
      if (approval.state !== 'PENDING') {
        if (isSameAnswer(approval, body)) return undefined;
        throw new ApprovalResolvedError(approval);
      }
      if (approval.isDue) {
        // The sweep has not seen it yet. To the approver its time was over when the shown clock said so.
        await this.ending.expire(writer);
        return approval;
      }
      await this.decide(caller, { writer, approval }, body);
      return undefined;
    });
    if (late) throw new ApprovalResolvedError({ ...late, state: 'EXPIRED' });
    return this.runs.view(session, runId);
  }

  /**
   * Stores the decision and lets the run go on once nothing is pending. ApprovalStaleError when the revision is not that
   * of the approval, NotGrantableError.
   */
  private async decide(
    caller: Caller,
    { writer, approval }: { readonly writer: RunWriter; readonly approval: ApprovalRow },
    { decision, decisionId, expectedRevision, note }: ResolveApprovalBody,
  ): Promise<void> {
    if (approval.revision !== expectedRevision) throw new ApprovalStaleError(approval);
    if (decision === 'APPROVE_SESSION' && !approval.grantable) {
      throw new NotGrantableError(approval.id);
    }
    const state = STATE_AFTER[decision];
    const decidedBy = caller.userId;
    const values = { state, decision, decisionId, note: note ?? null, decidedBy };
    if (!(await this.approvals.decide(approval, values))) throw new ApprovalResolvedError(approval);
    if (decision === 'APPROVE_SESSION') await this.approvals.grant(approval, decidedBy);
    const { id: approvalId, toolCallId, toolName, runId } = approval;
    await this.audit.record(caller, {
      action: 'status-change',
      target: 'harness_approval',
      id: approvalId,
      detail: { decision, toolName, runId },
    });
    writer.event(
      'approval.resolved',
      { approvalId, decision, state, by: decidedBy, ...(note !== undefined && { note }) },
      { stepId: stepIdOf(writer.run.iteration), toolCallId, approvalId },
    );
    await this.goOn(writer, decision);
  }

  private async goOn(writer: RunWriter, decision: Decision): Promise<void> {
    if (writer.current.waitKind !== 'TOOL') return;
    if (decision === 'DENY_AND_STOP') {
      // As a cancel: a person has stopped the run, and nothing in it has failed.
      await this.ending.end(writer, { status: 'CANCELLED', stopReason: 'APPROVAL_REJECTED_STOP' });
      return;
    }
    if ((await this.approvals.countPending(writer.run)) === 0) writer.enqueue('approval_resolved');
  }
}

/** The first answer, sent again: by the same id unchanged, or by another user with the same decision. */
function isSameAnswer(approval: ApprovalRow, body: ResolveApprovalBody): boolean {
  if (approval.decision !== body.decision) return false;
  return approval.decisionId !== body.decisionId || approval.note === (body.note ?? null);
}

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/grants')
export class GrantController {
  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly runs: RunService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** What was granted for the rest of the session and still holds. */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersArray(GrantView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
  ): Promise<GrantView[]> {
    const { tenantId, id } = await this.runs.sessionOf(caller, sessionId);
    return (await this.approvals.grantsOf(tenantId, id)).map(toGrantView);
  }

  /** Takes a grant back: the next such call is asked for again. */
  @Delete(':grantId')
  @NoBody()
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @AnswersStatus()
  async revoke(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('grantId', UuidPipe) grantId: string,
  ): Promise<void> {
    const { tenantId, id } = await this.runs.sessionOf(caller, sessionId);
    const key = { tenantId, sessionId: id };
    await this.database.transaction(async () => {
      const revoked = await this.approvals.revokeGrant(key, grantId, caller.userId);
      if (!revoked) throw new NotFoundError(phrase`The grant`);
      await this.audit.record(caller, {
        action: 'revoke',
        target: 'harness_grant',
        id: grantId,
        detail: { sessionId },
      });
    });
  }
}
