import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { NotFoundError } from '../../../platform/error/index.js';
import { RunEnding } from '../../engine/run.ending.js';
import type { ApprovalState, Decision } from '../../protocol/approval.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import {
  ApprovalResolvedError,
  ApprovalStaleError,
  NotGrantableError,
} from '../../store/errors.js';
import { stepIdOf } from '../../store/event.catalogue.js';
import { GrantRepository } from '../../store/grant.repository.js';
import { InboxRepository } from '../../store/inbox.repository.js';
import type { WaitingRun } from '../../store/inbox.repository.js';
import type { RunWriter } from '../../store/run-writer.js';
import { RunLedger } from '../../store/run.ledger.js';
import { RunService } from '../run/run.service.js';
import type { RunView } from '../run/run.view.js';
import { SessionService } from '../session/session.service.js';
import type { ResolveApprovalBody } from './approval.dto.js';
import { toApprovalView, toGrantView } from './approval.view.js';
import type { ApprovalView, GrantView } from './approval.view.js';
import {
  toEffectEntry,
  toPlanEntry,
  toProviderEntry,
  toQuestionEntry,
  toToolEntry,
} from './inbox.view.js';
import type { InboxEntryView } from './inbox.view.js';

export interface ApprovalKey {
  readonly sessionId: string;
  readonly runId: string;
  readonly approvalId: string;
}

const STATE_AFTER: Readonly<Record<Decision, ApprovalState>> = {
  APPROVE: 'APPROVED',
  APPROVE_SESSION: 'APPROVED',
  DENY: 'DENIED',
  DENY_AND_STOP: 'DENIED',
};

/** What people decide about tool calls. */
@Injectable()
export class ApprovalReviewService {
  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly grants: GrantRepository,
    private readonly runs: RunService,
    private readonly ledger: RunLedger,
    private readonly ending: RunEnding,
    private readonly audit: AuditLog,
  ) {}

  /** All approvals of one of the caller's runs, the oldest first. */
  async list(caller: Caller, sessionId: string, runId: string): Promise<ApprovalView[]> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    const rows = await this.approvals.ofRun(run);
    return rows.map(toApprovalView);
  }

  /**
   * Stores the first decision about the approval and lets the run go on once nothing is pending. The same decision again
   * is answered alike; another one is an ApprovalResolvedError. ApprovalStaleError when revision or hash are not those
   * of the approval, NotGrantableError, and NotFoundError when it is not one of the caller's.
   */
  async resolve(caller: Caller, key: ApprovalKey, body: ResolveApprovalBody): Promise<RunView> {
    const { run } = await this.runs.own(caller, key.sessionId, key.runId);
    const late = await this.ledger.asOther(run.tenantId, run.id, async (writer) => {
      const approval = await this.approvals.find(run, key.approvalId);
      if (!approval) throw new NotFoundError('The approval');
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
    return this.runs.detail(caller, key.sessionId, key.runId);
  }

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
    if (decision === 'APPROVE_SESSION') await this.grants.insert(approval, decidedBy);
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

/** The consents that hold for the rest of a session. APPROVE_SESSION makes them. */
@Injectable()
export class GrantService {
  constructor(
    private readonly grants: GrantRepository,
    private readonly sessions: SessionService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** The grants that hold in one of the caller's sessions. */
  async list(caller: Caller, sessionId: string): Promise<GrantView[]> {
    const { tenantId, id } = await this.sessions.own(caller, sessionId);
    const rows = await this.grants.ofSession(tenantId, id);
    return rows.map(toGrantView);
  }

  /** Takes a grant back; the next such call is asked for again. */
  async revoke(caller: Caller, sessionId: string, grantId: string): Promise<void> {
    const { tenantId, id } = await this.sessions.own(caller, sessionId);
    const key = { tenantId, sessionId: id };
    await this.database.transaction(async () => {
      const revoked = await this.grants.revoke(key, grantId, caller.userId);
      if (!revoked) throw new NotFoundError('The grant');
      await this.audit.record(caller, {
        action: 'revoke',
        target: 'harness_grant',
        id: grantId,
        detail: { sessionId },
      });
    });
  }
}

/** Everything that waits for one user. */
@Injectable()
export class InboxService {
  constructor(
    private readonly approvals: ApprovalRepository,
    private readonly inbox: InboxRepository,
  ) {}

  /** What waits in the caller's own runs, the longest waiting first; at most 500 entries of a kind. */
  async list({ tenantId, userId }: Caller): Promise<InboxEntryView[]> {
    const approvals = await this.approvals.pendingOfUser(tenantId, userId);
    const runs = await this.inbox.waitingRuns(tenantId, userId);
    const effects = await this.inbox.uncertainEffects(tenantId, userId);
    return [
      ...approvals.map(toToolEntry),
      ...runs.flatMap(entriesOf),
      ...effects.map(toEffectEntry),
    ].sort((one, other) => one.waitingSince - other.waitingSince);
  }
}

function entriesOf(run: WaitingRun): InboxEntryView[] {
  const { waitKind, plan, question } = run;
  if (waitKind === 'PLAN' && plan) return [toPlanEntry(run, plan)];
  if (waitKind === 'QUESTION' && question) return [toQuestionEntry(run, question)];
  return waitKind === 'PROVIDER' ? [toProviderEntry(run)] : [];
}
