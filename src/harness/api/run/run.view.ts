import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { ApprovalView, toApprovalView } from '../approval/approval.view.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import type { HarnessEffect } from '../../store/effect.entity.js';
import { PlanView, toPlanView } from '../plan/plan.view.js';
import { RUN_STATUSES } from '../../protocol/run.state.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import type { HarnessInput } from '../../store/run-input.entity.js';
import type { HarnessRun } from '../../store/run.entity.js';
import {
  OpenEffectView,
  RunErrorView,
  RunInputView,
  RunLimitsView,
  RunQuestionView,
  RunUsageView,
  toInputView,
  toOpenEffectView,
} from './run.parts.view.js';

const SCHEMA_VERSION = 7;
const MILLISECONDS = { type: 'integer', example: 1_769_884_200_000 } as const;

/** What a view shows beside the run's row. */
export interface RunParts {
  readonly inputs: readonly HarnessInput[];
  readonly approvals: readonly ApprovalRow[];
  readonly effects: readonly HarnessEffect[];
  /** The session's. */
  readonly model: string;
}

/** A run as existing clients parse it; times are milliseconds since the epoch. */
@ApiExtraModels(ApprovalView, OpenEffectView)
export class RunView {
  @ApiProperty({ type: 'integer', example: SCHEMA_VERSION })
  schemaVersion: number;

  @ApiProperty({ format: 'uuid' })
  runId: string;

  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ example: '000000' })
  tenantId: string;

  @ApiProperty({ type: 'integer', example: 1 })
  userId: number;

  @ApiProperty({ enum: RUN_STATUSES })
  status: string;

  @ApiProperty({ enum: ['PLAN', 'BUILD'] })
  phase: string;

  @ApiProperty({ description: 'A new owner settles what a lost one has left' })
  recovering: boolean;

  @ApiProperty()
  cancellationRequested: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Why it waits', example: 'created' })
  reason: string | null;

  @ApiProperty()
  originalRequirement: string;

  @ApiProperty({ enum: PERMISSION_MODES })
  permissionMode: string;

  @ApiProperty({ enum: APPROVAL_POLICIES })
  approvalPolicy: string;

  @ApiProperty({ description: 'modelName', example: 'gpt-4o-mini' })
  model: string;

  @ApiProperty({ type: RunLimitsView })
  budget: RunLimitsView;

  @ApiProperty({ type: PlanView, nullable: true })
  plan: PlanView | null;

  @ApiProperty({ type: RunQuestionView, nullable: true })
  question: RunQuestionView | null;

  @ApiProperty({
    type: [RunInputView],
    description:
      'What it has not taken in yet or, when it has ended, never will; in a list of runs only of the unfinished one',
  })
  pendingInputs: readonly RunInputView[];

  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(ApprovalView) },
    description: 'What waits for a decision, by approvalId',
  })
  approvals: Readonly<Record<string, ApprovalView>>;

  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(OpenEffectView) },
    description: 'Tool calls that are open or uncertain, by toolCallId',
  })
  toolEffects: Readonly<Record<string, OpenEffectView>>;

  @ApiProperty({
    type: RunUsageView,
    description: 'While the model is asked, with an estimate of what it was sent',
  })
  cumulativeUsage: RunUsageView;

  @ApiProperty({ type: Number, nullable: true, description: 'Null where no price is known' })
  cost: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens of the last request' })
  contextUsed: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens that the model takes' })
  contextLimit: number | null;

  @ApiProperty({ type: 'integer', description: 'Turns of the model so far' })
  iteration: number;

  @ApiProperty({ type: 'integer' })
  toolCallCount: number;

  @ApiProperty({ type: String, nullable: true, example: 'END_TURN' })
  stopReason: string | null;

  @ApiProperty({ type: RunErrorView, nullable: true })
  error: RunErrorView | null;

  @ApiProperty(MILLISECONDS)
  createdAt: number;

  @ApiProperty(MILLISECONDS)
  updatedAt: number;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  endedAt: number | null;

  @ApiProperty({ type: 'integer', example: 1 })
  revision: number;

  @ApiProperty({ type: 'integer', description: 'Number of the newest event', example: 2 })
  lastEventSequence: number;

  @ApiProperty({ required: false, description: 'The request was a repetition' })
  replayed?: boolean;
}

/** The run after a cancel. */
export class CancelledRunView extends RunView {
  @ApiProperty({ description: 'False: it had ended, or was being cancelled already' })
  changed: boolean;
}

export function toRunView(run: HarnessRun, parts: RunParts): RunView {
  return {
    schemaVersion: SCHEMA_VERSION,
    runId: run.id,
    sessionId: run.sessionId,
    tenantId: run.tenantId,
    userId: run.userId,
    status: run.status,
    phase: run.phase,
    recovering: run.recovering,
    cancellationRequested: run.cancelRequestedAt !== null,
    reason: run.reason,
    originalRequirement: run.requirement,
    permissionMode: run.permissionMode,
    approvalPolicy: run.approvalPolicy,
    model: parts.model,
    budget: run.budget,
    plan: run.plan && toPlanView(run.plan),
    question: run.question,
    pendingInputs: parts.inputs.map(toInputView),
    approvals: Object.fromEntries(parts.approvals.map((one) => [one.id, toApprovalView(one)])),
    toolEffects: Object.fromEntries(
      parts.effects.map((one) => [one.toolCallId, toOpenEffectView(one)]),
    ),
    ...usageOf(run),
    iteration: run.iteration,
    toolCallCount: run.toolCalls,
    stopReason: run.stopReason,
    error: run.errorCode === null ? null : { code: run.errorCode, message: run.errorMessage ?? '' },
    createdAt: run.createTime.getTime(),
    updatedAt: run.updateTime.getTime(),
    endedAt: run.endedAt?.getTime() ?? null,
    revision: run.revision,
    lastEventSequence: run.nextEventSequence - 1,
  };
}

function usageOf(
  run: HarnessRun,
): Pick<RunView, 'cumulativeUsage' | 'cost' | 'contextUsed' | 'contextLimit'> {
  const { inputTokens, outputTokens, cachedTokens, cost, contextUsed, contextLimit } = run;
  const totalTokens = inputTokens + outputTokens;
  return {
    cumulativeUsage: { inputTokens, outputTokens, totalTokens, cachedTokens },
    cost,
    contextUsed,
    contextLimit,
  };
}
