import {
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
import { PlanStepView } from '../plan/plan.view.js';
import { RUN_STATUSES } from '../../protocol/run.state.js';
import { RunErrorView } from '../run/run.parts.view.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { UsageTotalsView } from './usage.view.js';

/** Somebody who has decided something. */
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
  by: nullable(object(ReportPersonView, { description: 'Null: the policy, or nobody yet' })),
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
  by: nullable(object(ReportPersonView, { description: 'Null: the policy, or nobody yet' })),
  note: nullable(text()),
  createdAt: timestamp(),
  decidedAt: nullable(timestamp()),
}) {}

export class ReportResolutionView extends View({
  resolution: oneOf(['EXECUTED', 'NOT_EXECUTED']),
  by: nullable(object(ReportPersonView, { description: 'Null: the policy, or nobody yet' })),
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
    description: 'Nobody knew what it has done; a resolution says what people found',
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
