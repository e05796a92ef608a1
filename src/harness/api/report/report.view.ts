import { ApiProperty } from '@nestjs/swagger';
import { PlanStepView } from '../plan/plan.view.js';
import { RUN_STATUSES } from '../../protocol/run.state.js';
import { RunErrorView } from '../run/run.parts.view.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { UsageTotalsView } from './usage.view.js';

const MILLISECONDS = { type: 'integer', example: 1_769_884_200_000 } as const;

/** Somebody who has decided something. */
export class ReportPersonView {
  @ApiProperty({ type: 'integer' })
  userId: number;

  @ApiProperty({ type: String, nullable: true, description: 'Null for a user who is gone' })
  userName: string | null;
}

const PERSON = {
  type: ReportPersonView,
  nullable: true,
  description: 'Null: the policy, or nobody yet',
} as const;

export class ReportPlanView {
  @ApiProperty({ type: 'integer', description: 'Its version' })
  revision: number;

  @ApiProperty({ enum: ['DRAFT', 'AWAITING_APPROVAL', 'REVISION_REQUESTED', 'APPROVED'] })
  reviewState: string;

  @ApiProperty()
  summary: string;

  @ApiProperty({ type: [PlanStepView] })
  steps: readonly PlanStepView[];

  @ApiProperty({ type: [String] })
  files: readonly string[];

  @ApiProperty({ type: [String] })
  risks: readonly string[];
}

export class ReportReviewView {
  @ApiProperty({ enum: ['APPROVED', 'REVISION_REQUESTED'] })
  decision: string;

  @ApiProperty({ type: 'integer', description: 'The version of the plan' })
  revision: number;

  @ApiProperty(PERSON)
  by: ReportPersonView | null;

  @ApiProperty({ type: String, nullable: true, description: 'What was to be changed' })
  content: string | null;

  @ApiProperty(MILLISECONDS)
  at: number;
}

export class ReportApprovalView {
  @ApiProperty({ format: 'uuid' })
  approvalId: string;

  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty({ example: 'shell' })
  toolName: string;

  @ApiProperty({ description: 'What was asked for' })
  summary: string;

  @ApiProperty({ enum: ['PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'CANCELLED'] })
  state: string;

  @ApiProperty({ type: String, nullable: true, example: 'APPROVE' })
  decision: string | null;

  @ApiProperty(PERSON)
  by: ReportPersonView | null;

  @ApiProperty({ type: String, nullable: true })
  note: string | null;

  @ApiProperty(MILLISECONDS)
  createdAt: number;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  decidedAt: number | null;
}

export class ReportResolutionView {
  @ApiProperty({ enum: ['EXECUTED', 'NOT_EXECUTED'] })
  resolution: string;

  @ApiProperty(PERSON)
  by: ReportPersonView | null;

  @ApiProperty({ type: String, nullable: true })
  note: string | null;
}

export class ReportCallView {
  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty({ type: 'integer' })
  iteration: number;

  @ApiProperty({ example: 'shell' })
  toolName: string;

  @ApiProperty({ enum: ['READ', 'META', 'FILE', 'SHELL'] })
  effectClass: string;

  @ApiProperty({ type: String, nullable: true, description: 'The command, or what it is about' })
  title: string | null;

  @ApiProperty({ example: 'SUCCEEDED' })
  state: string;

  @ApiProperty({ type: String, nullable: true })
  code: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Of a command' })
  exitCode: number | null;

  @ApiProperty({ description: 'Its outcome was found out after a restart' })
  reconciled: boolean;

  @ApiProperty({ description: 'Nobody knew what it has done; a resolution says what people found' })
  uncertain: boolean;

  @ApiProperty({ type: ReportResolutionView, nullable: true })
  resolution: ReportResolutionView | null;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  startedAt: number | null;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  endedAt: number | null;
}

export class ReportFileView {
  @ApiProperty({ example: 'src/add.js' })
  path: string;

  @ApiProperty({
    enum: ['CREATE', 'UPDATE', 'DELETE', 'NONE'],
    description: 'All changes together',
  })
  op: string;

  @ApiProperty({ type: 'integer', description: 'How often it was changed' })
  changes: number;

  @ApiProperty({ type: 'integer', description: 'Of these, the changes that were undone' })
  undone: number;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Lines, change by change' })
  additions: number | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Lines, change by change' })
  deletions: number | null;
}

export class ReportSkillView {
  @ApiProperty()
  name: string;

  @ApiProperty({ example: 'built-in' })
  source: string;

  @ApiProperty()
  sha256: string;

  @ApiProperty({ description: 'Its text was given to the model' })
  activated: boolean;
}

export class ReportTimesView {
  @ApiProperty(MILLISECONDS)
  createdAt: number;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  startedAt: number | null;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  endedAt: number | null;

  @ApiProperty({ type: 'integer', description: 'Time in which it was worked on, in milliseconds' })
  activeMillis: number;
}

/** Everything that a run was asked, did and cost, for people who answer for it. Secrets of the service are masked. */
export class RunReportView {
  @ApiProperty({ format: 'uuid' })
  runId: string;

  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ type: ReportPersonView })
  user: ReportPersonView;

  @ApiProperty()
  workspace: string;

  @ApiProperty()
  model: string;

  @ApiProperty({ enum: PERMISSION_MODES })
  permissionMode: string;

  @ApiProperty({ enum: APPROVAL_POLICIES })
  approvalPolicy: string;

  @ApiProperty()
  requirement: string;

  @ApiProperty({ enum: RUN_STATUSES })
  status: string;

  @ApiProperty({ type: String, nullable: true, example: 'END_TURN' })
  stopReason: string | null;

  @ApiProperty({ type: RunErrorView, nullable: true })
  error: RunErrorView | null;

  @ApiProperty({ type: String, nullable: true, description: 'What the model said last' })
  answer: string | null;

  @ApiProperty({ type: ReportTimesView })
  times: ReportTimesView;

  @ApiProperty({ type: UsageTotalsView })
  usage: UsageTotalsView;

  @ApiProperty({ type: ReportPlanView, nullable: true })
  plan: ReportPlanView | null;

  @ApiProperty({ type: [ReportReviewView], description: 'Oldest first' })
  planReviews: readonly ReportReviewView[];

  @ApiProperty({ type: [ReportApprovalView], description: 'Oldest first' })
  approvals: readonly ReportApprovalView[];

  @ApiProperty({ type: [ReportCallView], description: 'In the order in which they were asked for' })
  toolCalls: readonly ReportCallView[];

  @ApiProperty({ type: [ReportFileView] })
  files: readonly ReportFileView[];

  @ApiProperty({ type: [ReportSkillView] })
  skills: readonly ReportSkillView[];
}
