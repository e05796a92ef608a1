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
  AnswersNullable,
  AnswersStatus,
  Input,
  NoBody,
  OneOf,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { msg } from '../../../platform/message/index.js';
import { SHA256, UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import {
  ApprovalView,
  effectEntry,
  GrantView,
  InboxEntryView,
  PlanView,
  runEntries,
  RunView,
  toApprovalView,
  toGrantView,
  toolEntries,
  toPlanView,
} from '../run/run.dto.js';
import { RunEnding } from '../../engine/run.ending.js';
import {
  MAX_PLAN_VERSIONS,
  PlanNotAwaitingError,
  PlanStaleError,
  PlanVersionsError,
  requireWrite,
} from '../../protocol/policy.js';
import type { Plan, PlanReceipt } from '../../protocol/policy.js';
import { sha256 } from '../../protocol/values.js';
import { ApprovalRepository, DECISIONS } from '../../../effect/index.js';
import type { ApprovalState, Decision, RunApprovalRow } from '../../../effect/index.js';
import { IdempotencyConflictError } from '../../store/errors.js';
import { InboxRepository } from '../../store/inbox.repository.js';
import { stepIdOf } from '../../store/event.catalogue.js';
import { MessageRepository } from '../../store/message.repository.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';

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
  constructor({ id, state, decision }: Pick<RunApprovalRow, 'id' | 'state' | 'decision'>) {
    super(
      msg`This approval is ${state} already, so nothing was changed. Reload the run to see what came of it.`,
      {
        data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', approvalId: id, state, decision },
      },
    );
  }
}

/** The decision was made about a different request than the current one. */
class ApprovalStaleError extends ConflictError {
  constructor({ id, revision, argumentsSha256 }: RunApprovalRow) {
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
    private readonly inbox: InboxRepository,
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
    const runs = await this.inbox.waitingRuns(tenantId, userId);
    const effects = await this.inbox.uncertainEffects(tenantId, userId);
    // The longest waiting first; at most 500 entries of a kind, and no more once their arguments reach 16 MiB.
    return [
      ...toolEntries(approvals),
      ...runs.flatMap(runEntries),
      ...effects.map(effectEntry),
    ].sort((one, other) => one.waitingSince - other.waitingSince);
  }

  /** All approvals of a run, in every state. */
  @Get('sessions/:sessionId/runs/:runId/approvals')
  @RequirePermission('coding:harness:use')
  @AnswersArray(ApprovalView)
  async list(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<ApprovalView[]> {
    const { run } = await this.runs.ownRun(caller, sessionId, runId);
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
    const { session, run } = await this.runs.ownRun(caller, sessionId, runId);
    const late = await this.ledger.updateRun(run.tenantId, run.id, async (writer) => {
      const approval = await this.approvals.find(run, approvalId);
      if (!approval) throw new NotFoundError(msg`The approval`);
      if (approval.argumentsSha256 !== body.argumentsSha256.toLowerCase()) {
        throw new ApprovalStaleError(approval);
      }
      if (approval.state !== 'PENDING') {
        if (isSameAnswer(approval, body)) return undefined;
        throw new ApprovalResolvedError(approval);
      }
      if (approval.isDue) {
        // The sweep has not seen it yet, but for the approver it had expired.
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
   * Stores the decision and resumes the run once nothing is pending. Fails with ApprovalStaleError for another revision than
   * the approval's, and with NotGrantableError.
   */
  private async decide(
    caller: Caller,
    { writer, approval }: { readonly writer: RunWriter; readonly approval: RunApprovalRow },
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
      // The run counts as cancelled: a person stopped it, and nothing in it failed.
      await this.ending.end(writer, { status: 'CANCELLED', stopReason: 'APPROVAL_REJECTED_STOP' });
      return;
    }
    if ((await this.approvals.countPending(writer.run)) === 0) writer.enqueue('approval_resolved');
  }
}

/** The first answer, sent again: by the same id unchanged, or by another user with the same decision. */
function isSameAnswer(approval: RunApprovalRow, body: ResolveApprovalBody): boolean {
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

  /** Grants for the rest of the session that still hold. */
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
      if (!revoked) throw new NotFoundError(msg`The grant`);
      await this.audit.record(caller, {
        action: 'revoke',
        target: 'harness_grant',
        id: grantId,
        detail: { sessionId },
      });
    });
  }
}

const decisionFields = {
  taskId: Text({ max: 64, description: 'taskId of the plan that was shown' }),
  expectedRevision: Whole({ min: 0, description: 'expectedRevision of the plan that was shown' }),
  expectedHash: Text({ ...SHA256, description: 'canonicalHash of the plan that was shown' }),
};

class PlanDecisionBody extends Input(decisionFields) {}

@StrictFields()
export class ApprovePlanBody extends Input({
  ...decisionFields,
  idempotencyKey: Text({
    max: 256,
    description: 'Of this decision; the same one again is answered alike',
  }),
}) {}

@StrictFields()
export class RevisePlanBody extends Input({
  ...decisionFields,
  feedbackId: Text({
    max: 256,
    description: 'Of this request; the same one again is answered alike',
  }),
  content: Text({ max: 20_000, description: 'What the model should change' }),
}) {}

@ApiTags('coding harness')
@Controller('coding/harness/sessions/:sessionId/runs/:runId/plan')
export class PlanController {
  constructor(
    private readonly runs: RunService,
    private readonly ledger: RunLedger,
    private readonly messages: MessageRepository,
    private readonly audit: AuditLog,
  ) {}

  /** The run's plan with its progress; null when there is none (yet). */
  @Get()
  @RequirePermission('coding:harness:use')
  @AnswersNullable(PlanView)
  async get(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
  ): Promise<PlanView | null> {
    const { run } = await this.runs.ownRun(caller, sessionId, runId);
    return run.plan && toPlanView(run.plan);
  }

  /** Approves the plan that was shown: the run goes on, and may change the files that it names. */
  @Post('approve')
  @RequirePermission('coding:harness:use', { also: 'coding:harness:approve' })
  @Answers(RunView)
  approve(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: ApprovePlanBody,
  ): Promise<RunView> {
    const { idempotencyKey } = body;
    return this.decide(
      caller,
      { sessionId, runId, ...body },
      {
        receipt: { decision: 'APPROVED', key: idempotencyKey },
        apply: async (writer, plan) => {
          const { taskId, revision, canonicalHash: hash } = plan;
          const by = caller.userId;
          writer.set({ plan: { ...plan, reviewState: 'APPROVED' } });
          await this.messages.append(writer.run, {
            role: 'CONTROL',
            content: `A person has approved version ${revision} of your plan. Carry it out now.`,
            metadata: { kind: 'PLAN_APPROVED', planRevision: revision },
          });
          writer.event('plan.approved', { taskId, revision, hash, idempotencyKey, by });
          writer.enqueue('plan_approved', 'BUILD');
        },
      },
    );
  }

  /** Sends the plan back with what should be changed. */
  @Post('revision')
  @RequirePermission('coding:harness:use')
  @Answers(RunView)
  revise(
    @CurrentCaller() caller: Caller,
    @Param('sessionId', UuidPipe) sessionId: string,
    @Param('runId', UuidPipe) runId: string,
    @Body() body: RevisePlanBody,
  ): Promise<RunView> {
    const { feedbackId, content } = body;
    return this.decide(
      caller,
      { sessionId, runId, ...body },
      {
        receipt: {
          decision: 'REVISION_REQUESTED',
          key: feedbackId,
          contentSha256: sha256(content),
        },
        apply: async (writer, plan) => {
          if (plan.revision >= MAX_PLAN_VERSIONS) throw new PlanVersionsError();
          const { taskId, revision, canonicalHash: hash } = plan;
          const by = caller.userId;
          writer.set({ plan: { ...plan, reviewState: 'REVISION_REQUESTED' } });
          const metadata = { kind: 'PLAN_FEEDBACK', feedbackId, planRevision: revision };
          await this.messages.append(writer.run, { role: 'USER', content, metadata });
          const data = { taskId, feedbackId, revision, hash, content, by };
          writer.event('plan.revision.requested', data);
          writer.enqueue('plan_revision_requested', 'PLAN');
        },
      },
    );
  }

  /**
   * Applies the decision to the version that was shown. Repeating the same decision is harmless. PlanStaleError for
   * another version, PlanNotAwaitingError when no review is awaited, IdempotencyConflictError for a key that came with
   * another request.
   */
  private async decide(
    caller: Caller,
    expected: PlanDecisionBody & { readonly sessionId: string; readonly runId: string },
    { receipt, apply }: PlanDecision,
  ): Promise<RunView> {
    const { run, session } = await this.runs.ownRun(caller, expected.sessionId, expected.runId);
    requireWrite(caller, run);
    await this.ledger.updateRun(run.tenantId, run.id, async (writer) => {
      const { plan, planReceipt } = writer.run;
      const isSame = planReceipt?.decision === receipt.decision && planReceipt.key === receipt.key;
      if (plan && isSame) {
        const isRepeated =
          isShown({ ...plan, ...planReceipt }, expected) &&
          planReceipt.contentSha256 === receipt.contentSha256;
        if (isRepeated) return;
        throw new IdempotencyConflictError();
      }
      if (plan?.reviewState !== 'AWAITING_APPROVAL' || writer.current.waitKind !== 'PLAN') {
        throw new PlanNotAwaitingError(plan);
      }
      const { revision, canonicalHash: hash } = plan;
      if (!isShown({ ...plan, hash }, expected)) throw new PlanStaleError(plan);
      writer.set({ planReceipt: { ...receipt, revision, hash } });
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_plan',
        id: plan.taskId,
        detail: { decision: receipt.decision, revision, runId: run.id },
      });
      await apply(writer, plan);
    });
    return this.runs.view(session, run.id);
  }
}

interface PlanDecision {
  readonly receipt: Omit<PlanReceipt, 'revision' | 'hash'>;
  readonly apply: (writer: RunWriter, plan: Plan) => Promise<void> | void;
}

/** Whether the decision is about this very version. */
function isShown(
  plan: Pick<Plan, 'taskId'> & Pick<PlanReceipt, 'revision' | 'hash'>,
  { taskId, expectedRevision, expectedHash }: PlanDecisionBody,
): boolean {
  return (
    plan.taskId === taskId.toLowerCase() &&
    plan.revision === expectedRevision &&
    plan.hash === expectedHash.toLowerCase()
  );
}
