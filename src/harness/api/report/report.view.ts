import { ApiProperty } from '@nestjs/swagger';
import {
  decimal,
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  text,
  texts,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { RUN_STATUSES } from '../../protocol/run.state.js';
import type { HarnessModelCall, HarnessRun } from '../../store/harness.entity.js';
import { PlanStepView } from '../plan/plan.view.js';
import { RunErrorView } from '../run/run.view.js';

/** One call of the model service. */
export class ModelCallView extends View({
  callId: uuid({ description: 'effectId of its events' }),
  iteration: integer({ description: 'The turn of the model that it belongs to' }),
  attempt: integer({ description: 'From 1; above it an earlier try had failed' }),
  purpose: oneOf(['TURN', 'SUMMARY'], { description: 'SUMMARY makes room in the window' }),
  state: oneOf(['STARTED', 'DONE', 'FAILED', 'ABANDONED']),
  inputTokens: nullable(integer({ description: 'Null: not counted' })),
  outputTokens: nullable(integer({ description: 'Null: not counted' })),
  cachedTokens: nullable(
    integer({ description: 'Of inputTokens, those that came from the cache' }),
  ),
  cost: nullable(
    decimal({
      example: 0.0125,
      description: "In the currency of the model's prices; null where no price is known",
    }),
  ),
  estimated: flag({ description: 'The service has not counted it, or not yet; numbers are ours' }),
  durationMillis: nullable(integer()),
  errorCode: nullable(text({ example: 'MODEL_DEADLINE_EXCEEDED' })),
  createdAt: timestamp(),
  endedAt: nullable(timestamp()),
}) {}

/** What a run has used up so far. */
export class UsageTotalsView extends View({
  iterations: integer({ description: 'Turns of the model' }),
  toolCalls: integer(),
  inputTokens: integer(),
  outputTokens: integer(),
  totalTokens: integer(),
  cachedTokens: integer({ description: 'Of inputTokens, those that came from the cache' }),
  cost: nullable(
    decimal({
      example: 0.0125,
      description: "In the currency of the model's prices; null where no price is known",
    }),
  ),
  activeMillis: integer({ description: 'Time in which it was worked on, in milliseconds' }),
}) {}

export class RunUsageDetailView extends UsageTotalsView {
  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens of the last request' })
  contextUsed: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Tokens that the model takes' })
  contextLimit: number | null;

  @ApiProperty({ type: [ModelCallView], description: 'Oldest first' })
  modelCalls: readonly ModelCallView[];
}

export function toUsageTotals(run: HarnessRun): UsageTotalsView {
  const { iteration, toolCalls, inputTokens, outputTokens, cachedTokens, cost, activeMs } = run;
  const totalTokens = inputTokens + outputTokens;
  return {
    ...{ iterations: iteration, toolCalls },
    ...{ inputTokens, outputTokens, totalTokens, cachedTokens, cost },
    activeMillis: activeMs,
  };
}

export function toUsageView(
  run: HarnessRun,
  calls: readonly HarnessModelCall[],
): RunUsageDetailView {
  const { contextUsed, contextLimit } = run;
  return { ...toUsageTotals(run), contextUsed, contextLimit, modelCalls: calls.map(toCallView) };
}

function toCallView(call: HarnessModelCall): ModelCallView {
  const { id, iteration, attempt, purpose, state, cost, estimated, errorCode } = call;
  const { inputTokens, outputTokens, cachedTokens, durationMs, createTime, endedAt } = call;
  return {
    ...{ callId: id, iteration, attempt, purpose, state },
    ...{ inputTokens, outputTokens, cachedTokens, cost, estimated, errorCode },
    durationMillis: durationMs,
    createdAt: createTime.getTime(),
    endedAt: endedAt?.getTime() ?? null,
  };
}

/** A user who has decided something. */
export class ReportPersonView extends View({
  userId: integer(),
  userName: nullable(text({ description: 'Null for a user who is gone' })),
}) {}

export class ReportPlanView extends View({
  revision: integer({ description: 'Its version' }),
  reviewState: oneOf(['DRAFT', 'AWAITING_APPROVAL', 'REVISION_REQUESTED', 'APPROVED']),
  summary: text(),
  steps: list(PlanStepView),
  files: texts(),
  risks: texts(),
}) {}

export class ReportReviewView extends View({
  decision: oneOf(['APPROVED', 'REVISION_REQUESTED']),
  revision: integer({ description: 'The version of the plan' }),
  by: nullable(object(ReportPersonView, { description: 'Null: the policy, or not decided yet' })),
  content: nullable(text({ description: 'What was to be changed' })),
  at: timestamp(),
}) {}

export class ReportApprovalView extends View({
  approvalId: uuid(),
  toolCallId: uuid(),
  toolName: text({ example: 'shell' }),
  summary: text({ description: 'What was asked for' }),
  state: oneOf(['PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED']),
  decision: nullable(text({ example: 'APPROVE' })),
  by: nullable(object(ReportPersonView, { description: 'Null: the policy, or not decided yet' })),
  note: nullable(text()),
  createdAt: timestamp(),
  decidedAt: nullable(timestamp()),
}) {}

export class ReportResolutionView extends View({
  resolution: oneOf(['EXECUTED', 'NOT_EXECUTED']),
  by: nullable(object(ReportPersonView, { description: 'Null: the policy, or not decided yet' })),
  note: nullable(text()),
}) {}

export class ReportCallView extends View({
  toolCallId: uuid(),
  iteration: integer(),
  toolName: text({ example: 'shell' }),
  effectClass: oneOf(['READ', 'META', 'FILE', 'SHELL']),
  title: nullable(text({ description: 'The command, or what it is about' })),
  state: text({ example: 'SUCCEEDED' }),
  code: nullable(text()),
  exitCode: nullable(integer({ description: 'Of a command' })),
  reconciled: flag({ description: 'Its outcome was found out after a restart' }),
  uncertain: flag({
    description: 'Its outcome was unknown; a resolution says what people found out',
  }),
  resolution: nullable(object(ReportResolutionView)),
  startedAt: nullable(timestamp()),
  endedAt: nullable(timestamp()),
}) {}

export class ReportFileView extends View({
  path: text({ example: 'src/add.js' }),
  op: oneOf(['CREATE', 'UPDATE', 'DELETE', 'NONE'], {
    description: 'All changes together',
  }),
  changes: integer({ description: 'How often it was changed' }),
  undone: integer({ description: 'Of these, the changes that were undone' }),
  additions: nullable(integer({ description: 'Lines, change by change' })),
  deletions: nullable(integer({ description: 'Lines, change by change' })),
}) {}

export class ReportSkillView extends View({
  name: text(),
  source: text({ example: 'built-in' }),
  sha256: text(),
  activated: flag({ description: 'Its text was given to the model' }),
}) {}

export class ReportTimesView extends View({
  createdAt: timestamp(),
  startedAt: nullable(timestamp()),
  endedAt: nullable(timestamp()),
  activeMillis: integer({ description: 'Time in which it was worked on, in milliseconds' }),
}) {}

/** Everything that a run was asked, did and cost, for people who answer for it. Secrets of the service are masked. */
export class RunReportView extends View({
  runId: uuid(),
  sessionId: uuid(),
  user: object(ReportPersonView),
  workspace: text(),
  model: text(),
  permissionMode: oneOf(PERMISSION_MODES),
  approvalPolicy: oneOf(APPROVAL_POLICIES),
  requirement: text(),
  status: oneOf(RUN_STATUSES),
  stopReason: nullable(text({ example: 'END_TURN' })),
  error: nullable(object(RunErrorView)),
  answer: nullable(text({ description: 'What the model said last' })),
  times: object(ReportTimesView),
  usage: object(UsageTotalsView),
  plan: nullable(object(ReportPlanView)),
  planReviews: list(ReportReviewView, { description: 'Oldest first' }),
  approvals: list(ReportApprovalView, { description: 'Oldest first' }),
  toolCalls: list(ReportCallView, { description: 'In the order in which they were asked for' }),
  files: list(ReportFileView),
  skills: list(ReportSkillView),
}) {}
