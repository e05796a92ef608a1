import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentCaller, RequirePermission } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import {
  Answers,
  AnswersNullable,
  Input,
  StrictFields,
  Text,
  Whole,
} from '../../../platform/http/index.js';
import { sha256 } from '../../protocol/ids.js';
import {
  PLAN_VERSIONS,
  PlanNotAwaitingError,
  PlanStaleError,
  PlanVersionsError,
} from '../../protocol/plan.js';
import type { Plan, PlanReceipt } from '../../protocol/plan.js';
import { requireWrite } from '../../protocol/policy.js';
import { IdempotencyConflictError } from '../../store/errors.js';
import { MessageRepository } from '../../store/message.repository.js';
import { RunLedger } from '../../store/run.ledger.js';
import type { RunWriter } from '../../store/run.ledger.js';
import { SHA256, UuidPipe } from '../identifiers.js';
import { RunService } from '../run/run.service.js';
import { RunView } from '../run/run.view.js';
import { PlanView, toPlanView } from './plan.view.js';

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
    const { run } = await this.runs.own(caller, sessionId, runId);
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
          ...{ decision: 'REVISION_REQUESTED', key: feedbackId, contentSha256: sha256(content) },
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
      },
    );
  }

  /**
   * Applies the decision to the version that was shown. The same decision again is answered alike. PlanStaleError for
   * another version, PlanNotAwaitingError when no review is awaited, IdempotencyConflictError for a key that came with
   * another request.
   */
  private async decide(
    caller: Caller,
    shown: PlanDecisionBody & { readonly sessionId: string; readonly runId: string },
    { receipt, apply }: PlanDecision,
  ): Promise<RunView> {
    const { run, session } = await this.runs.own(caller, shown.sessionId, shown.runId);
    requireWrite(caller, run);
    await this.ledger.asOther(run.tenantId, run.id, async (writer) => {
      const { plan, planReceipt } = writer.run;
      const isSame = planReceipt?.decision === receipt.decision && planReceipt.key === receipt.key;
      if (plan && isSame) {
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
