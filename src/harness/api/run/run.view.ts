import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import {
  decimal,
  flag,
  integer,
  list,
  localized,
  nullable,
  object,
  oneOf,
  optional,
  schema,
  text,
  texts,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { RUN_STATUSES } from '../../protocol/run.state.js';
import { INPUT_KINDS } from '../../protocol/run.values.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import type { HarnessEffect, HarnessInput, HarnessRun } from '../../store/harness.entity.js';
import { ApprovalView, toApprovalView } from '../approval/approval.view.js';
import { PlanView, toPlanView } from '../plan/plan.view.js';

export class RunErrorView extends View({
  code: text({ example: 'uncertain_tool_effect' }),
  message: text(),
}) {}

export class RunUsageView extends View({
  inputTokens: integer({ description: 'Cached tokens included' }),
  outputTokens: integer(),
  totalTokens: integer(),
  cachedTokens: integer(),
}) {}

export const runLimits = {
  maxIterations: integer({ description: 'Turns of the model' }),
  maxToolCalls: integer(),
  maxInputTokens: integer(),
  maxOutputTokens: integer(),
  maxWallTimeMillis: integer({ description: 'Time at work; waiting does not count' }),
};

export class RunLimitsView extends View(runLimits) {}

export class RunQuestionView extends View({
  toolCallId: uuid(),
  text: text(),
  options: texts(),
}) {}

export class RunInputView extends View({
  inputId: uuid(),
  kind: oneOf(INPUT_KINDS),
  content: text(),
  createdAt: timestamp(),
}) {}

/** A tool call whose outcome is not settled. */
export class OpenEffectView extends View({
  toolCallId: uuid(),
  toolName: text({ example: 'shell' }),
  effectClass: oneOf(['READ', 'META', 'FILE', 'SHELL']),
  state: oneOf(['PREPARED', 'STARTED', 'UNCERTAIN']),
  argumentsJson: text({ description: 'The arguments, as the model wrote them' }),
  argumentsSha256: text({ description: 'SHA-256 of the bytes of argumentsJson' }),
  startedAt: nullable(timestamp()),
}) {}

const SCHEMA_VERSION = 7;
/** What a view shows beside the run's row. */
export interface RunParts {
  readonly inputs: readonly HarnessInput[];
  readonly approvals: readonly ApprovalRow[];
  readonly effects: readonly HarnessEffect[];
}

/** A run as existing clients parse it; times are milliseconds since the epoch. */
@ApiExtraModels(ApprovalView, OpenEffectView)
export class RunView extends View({
  schemaVersion: integer({ example: SCHEMA_VERSION }),
  runId: uuid(),
  sessionId: uuid(),
  tenantId: text({ example: '000000' }),
  userId: integer({ example: 1 }),
  status: oneOf(RUN_STATUSES),
  phase: oneOf(['PLAN', 'BUILD']),
  recovering: flag({ description: 'A new owner settles what a lost one has left' }),
  cancellationRequested: flag(),
  reason: nullable(text({ description: 'Why it waits', example: 'created' })),
  originalRequirement: text(),
  permissionMode: oneOf(PERMISSION_MODES),
  approvalPolicy: oneOf(APPROVAL_POLICIES),
  model: text({ description: 'modelName', example: 'gpt-4o-mini' }),
  budget: object(RunLimitsView),
  plan: nullable(object(PlanView)),
  question: nullable(object(RunQuestionView)),
  pendingInputs: list(RunInputView, {
    description:
      'What it has not taken in yet or, when it has ended, never will; in a list of runs only of the unfinished one',
  }),
  approvals: schema<Readonly<Record<string, ApprovalView>>>({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(ApprovalView) },
    description: 'What waits for a decision, by approvalId',
  }),
  toolEffects: schema<Readonly<Record<string, OpenEffectView>>>({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(OpenEffectView) },
    description: 'Tool calls that are open or uncertain, by toolCallId',
  }),
  cumulativeUsage: object(RunUsageView, {
    description: 'While the model is asked, with an estimate of what it was sent',
  }),
  cost: nullable(decimal({ description: 'Null where no price is known' })),
  contextUsed: nullable(integer({ description: 'Tokens of the last request' })),
  contextLimit: nullable(
    integer({
      description:
        "Tokens that may be sent: the model's window without room for its answer, or less once the service has refused a request as too long.",
    }),
  ),
  iteration: integer({ description: 'Turns of the model so far' }),
  toolCallCount: integer(),
  stopReason: nullable(text({ example: 'END_TURN' })),
  error: nullable(object(RunErrorView)),
  createdAt: timestamp(),
  updatedAt: timestamp(),
  endedAt: nullable(timestamp()),
  revision: integer({ example: 1 }),
  lastEventSequence: integer({ description: 'Number of the newest event', example: 2 }),
  replayed: optional(flag({ description: 'The request was a repetition' })),
}) {}

/** The run after a cancel. */
export class CancelledRunView extends RunView {
  @ApiProperty({ description: 'False: it had ended, or was being cancelled already' })
  changed: boolean;
}

export function toRunView(run: HarnessRun, parts: RunParts): RunView {
  const { inputTokens, outputTokens, cachedTokens, errorCode, errorMessage } = run;
  const totalTokens = inputTokens + outputTokens;
  return RunView.of({
    ...run,
    schemaVersion: SCHEMA_VERSION,
    runId: run.id,
    cancellationRequested: run.cancelRequestedAt !== null,
    originalRequirement: run.requirement,
    model: run.modelName,
    plan: run.plan && toPlanView(run.plan),
    pendingInputs: parts.inputs.map((input) =>
      RunInputView.of({ ...input, inputId: input.id, createdAt: input.createTime }),
    ),
    approvals: Object.fromEntries(parts.approvals.map((one) => [one.id, toApprovalView(one)])),
    toolEffects: Object.fromEntries(
      parts.effects.map((one) => [one.toolCallId, OpenEffectView.of(one)]),
    ),
    cumulativeUsage: { inputTokens, outputTokens, totalTokens, cachedTokens },
    toolCallCount: run.toolCalls,
    error: errorCode === null ? null : { code: errorCode, message: localized(errorMessage ?? '') },
    createdAt: run.createTime,
    updatedAt: run.updateTime,
    lastEventSequence: run.nextEventSequence - 1,
  });
}
