import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run-writer.js';
import { MessageRepository } from '../../store/message.repository.js';
import { sha256 } from '../../protocol/ids.js';
import { RunService } from '../run/run.service.js';
import type { RunView } from '../run/run.view.js';
import { IdempotencyConflictError } from '../../store/errors.js';
import { requireWrite } from '../../protocol/policy.js';
import type { ApprovePlanBody, RevisePlanBody } from './plan.dto.js';
import {
  PLAN_VERSIONS,
  PlanNotAwaitingError,
  PlanStaleError,
  PlanVersionsError,
} from '../../protocol/plan.js';
import type { Plan, PlanReceipt } from '../../protocol/plan.js';
import { toPlanView } from './plan.view.js';
import type { PlanView } from './plan.view.js';

/** Whose plan is decided about. */
export interface PlanKey {
  readonly sessionId: string;
  readonly runId: string;
}

type Shown = Pick<ApprovePlanBody, 'taskId' | 'expectedRevision' | 'expectedHash'>;

/** The review of plans. */
@Injectable()
export class PlanService {
  constructor(
    private readonly runs: RunService,
    private readonly ledger: RunLedger,
    private readonly messages: MessageRepository,
    private readonly audit: AuditLog,
  ) {}

  /** Null when the run has no plan (yet). */
  async get(caller: Caller, { sessionId, runId }: PlanKey): Promise<PlanView | null> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    return run.plan && toPlanView(run.plan);
  }

  /**
   * Approves the version that was shown; the run goes on building. The same request again is answered alike.
   * PlanStaleError for another version, PlanNotAwaitingError when no review is awaited.
   */
  async approve(caller: Caller, key: PlanKey, body: ApprovePlanBody): Promise<RunView> {
    const { idempotencyKey } = body;
    return this.decide(caller, key, {
      shown: body,
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
    });
  }

  /**
   * Asks for another version; the model reads what was said and plans again. Repeated and refused as `approve`, and
   * PlanVersionsError when there may be no further version.
   */
  async requestRevision(caller: Caller, key: PlanKey, body: RevisePlanBody): Promise<RunView> {
    const { feedbackId, content } = body;
    return this.decide(caller, key, {
      shown: body,
      receipt: {
        decision: 'REVISION_REQUESTED',
        key: feedbackId,
        contentSha256: sha256(content),
      },
      apply: async (writer, plan) => {
        if (plan.revision >= PLAN_VERSIONS) throw new PlanVersionsError();
        const { taskId, revision, canonicalHash: hash } = plan;
        const by = caller.userId;
        writer.set({ plan: { ...plan, reviewState: 'REVISION_REQUESTED' } });
        const metadata = { kind: 'PLAN_FEEDBACK', feedbackId, planRevision: revision };
        await this.messages.append(writer.run, { role: 'USER', content, metadata });
        const data = { taskId, feedbackId, revision, hash, content, by };
        writer.event('plan.revision.requested', data);
        writer.enqueue('plan_revision_requested', 'PLAN');
      },
    });
  }

  private async decide(
    caller: Caller,
    { sessionId, runId }: PlanKey,
    { shown, receipt, apply }: PlanDecision,
  ): Promise<RunView> {
    const { run, session } = await this.runs.own(caller, sessionId, runId);
    requireWrite(caller, session);
    await this.ledger.asOther(run.tenantId, run.id, async (writer) => {
      const { plan, planReceipt } = writer.run;
      if (plan && planReceipt && isSameDecision(planReceipt, receipt)) {
        const isRepeated =
          isShown({ ...plan, ...planReceipt }, shown) &&
          planReceipt.contentSha256 === receipt.contentSha256;
        if (isRepeated) return;
        throw new IdempotencyConflictError();
      }
      if (plan?.reviewState !== 'AWAITING_APPROVAL' || writer.current.waitKind !== 'PLAN') {
        throw new PlanNotAwaitingError(plan);
      }
      const { revision, canonicalHash: hash } = plan;
      if (!isShown({ ...plan, hash }, shown)) throw new PlanStaleError(plan);
      writer.set({ planReceipt: { ...receipt, revision, hash } });
      await this.audit.record(caller, {
        action: 'status-change',
        target: 'harness_plan',
        id: plan.taskId,
        detail: { decision: receipt.decision, revision, runId },
      });
      await apply(writer, plan);
    });
    return this.runs.detail(caller, sessionId, runId);
  }
}

interface PlanDecision {
  readonly shown: Shown;
  readonly receipt: Omit<PlanReceipt, 'revision' | 'hash'>;
  readonly apply: (writer: RunWriter, plan: Plan) => Promise<void> | void;
}

function isSameDecision(
  stored: PlanReceipt,
  { decision, key }: Pick<PlanReceipt, 'decision' | 'key'>,
): boolean {
  return stored.decision === decision && stored.key === key;
}

/** Whether the decision is about this very version. */
function isShown(
  plan: Pick<Plan, 'taskId'> & Pick<PlanReceipt, 'revision' | 'hash'>,
  { taskId, expectedRevision, expectedHash }: Shown,
): boolean {
  return (
    plan.taskId === taskId.toLowerCase() &&
    plan.revision === expectedRevision &&
    plan.hash === expectedHash.toLowerCase()
  );
}
