import { ApiProperty } from '@nestjs/swagger';
import type { Plan } from '../../protocol/plan.js';
import { toPlanView } from '../plan/plan.view.js';
import { RunErrorView } from '../run/run.parts.view.js';
import type { PendingQuestion } from '../../protocol/run.values.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import { DECISIONS } from '../../protocol/approval.js';
import { toApprovalView } from './approval.view.js';
import type { UncertainEffect, WaitingRun } from '../../store/inbox.repository.js';

const KINDS = ['TOOL', 'PLAN', 'QUESTION', 'EFFECT', 'PROVIDER'] as const;

/**
 * Something that waits for a person, with everything that acting on it needs. Which fields it has says `kind`: TOOL for
 * …/approvals/{approvalId}/resolve, PLAN for …/plan/approve and …/plan/revision, QUESTION for …/inputs with kind STEER,
 * EFFECT for …/effects/{toolCallId}/resolution, PROVIDER for …/resume once the model service is back, or …/cancel.
 */
export class InboxEntryView {
  @ApiProperty({ enum: KINDS })
  kind: (typeof KINDS)[number];

  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ format: 'uuid' })
  runId: string;

  @ApiProperty({ type: 'integer', description: 'Milliseconds since the epoch' })
  waitingSince: number;

  @ApiProperty({ required: false, format: 'uuid', description: 'TOOL' })
  approvalId?: string;

  @ApiProperty({ required: false, format: 'uuid', description: 'TOOL, QUESTION, EFFECT' })
  toolCallId?: string;

  @ApiProperty({ required: false, description: 'TOOL, EFFECT' })
  toolName?: string;

  @ApiProperty({ required: false, description: 'TOOL: one line' })
  summary?: string;

  @ApiProperty({ required: false, description: 'TOOL, EFFECT: as the model wrote them' })
  argumentsJson?: string;

  @ApiProperty({ required: false, description: 'TOOL: SHA-256 of the bytes of argumentsJson' })
  argumentsSha256?: string;

  @ApiProperty({ required: false, description: 'TOOL: always PENDING' })
  state?: string;

  @ApiProperty({ required: false, enum: DECISIONS, isArray: true, description: 'TOOL' })
  available?: readonly string[];

  @ApiProperty({ required: false, type: [String], description: 'TOOL: what one should know' })
  notes?: readonly string[];

  @ApiProperty({ required: false, type: 'integer', description: 'TOOL: milliseconds' })
  expiresAt?: number;

  @ApiProperty({ required: false, type: 'integer', description: 'TOOL, PLAN' })
  expectedRevision?: number;

  @ApiProperty({ required: false, format: 'uuid', description: 'PLAN' })
  taskId?: string;

  @ApiProperty({ required: false, description: 'PLAN: the expectedHash of a decision' })
  canonicalHash?: string;

  @ApiProperty({ required: false, description: 'PLAN: always AWAITING_APPROVAL' })
  reviewState?: string;

  @ApiProperty({ required: false, description: 'PLAN: all of it for people' })
  planMarkdown?: string;

  @ApiProperty({ required: false, description: 'QUESTION' })
  question?: string;

  @ApiProperty({ required: false, type: [String], description: 'QUESTION: possible answers' })
  options?: readonly string[];

  @ApiProperty({ required: false, type: 'integer', nullable: true, description: 'EFFECT' })
  startedAt?: number | null;

  @ApiProperty({ required: false, type: String, nullable: true, description: 'EFFECT: its output' })
  artifactId?: string | null;

  @ApiProperty({ required: false, type: RunErrorView, description: 'PROVIDER: why it waits' })
  error?: RunErrorView;
}

export function toToolEntry(row: ApprovalRow): InboxEntryView {
  const { createdAt, ...view } = toApprovalView(row);
  const { kind, sessionId, runId, approvalId, toolCallId, toolName, summary } = view;
  const { argumentsJson, argumentsSha256, state, available, notes, expiresAt } = view;
  return {
    kind,
    sessionId,
    runId,
    waitingSince: createdAt,
    approvalId,
    toolCallId,
    toolName,
    summary,
    argumentsJson,
    argumentsSha256,
    expectedRevision: view.expectedRevision,
    state,
    available,
    notes,
    expiresAt,
  };
}

export function toPlanEntry(run: WaitingRun, plan: Plan): InboxEntryView {
  const { taskId, expectedRevision, canonicalHash, reviewState, planMarkdown } = toPlanView(plan);
  const decided = { taskId, expectedRevision, canonicalHash, reviewState, planMarkdown };
  return { kind: 'PLAN', ...whereOf(run), ...decided };
}

export function toQuestionEntry(run: WaitingRun, question: PendingQuestion): InboxEntryView {
  const { toolCallId, text, options } = question;
  return { kind: 'QUESTION', ...whereOf(run), toolCallId, question: text, options };
}

export function toProviderEntry(run: WaitingRun): InboxEntryView {
  const error = { code: run.errorCode ?? '', message: run.errorMessage ?? '' };
  return { kind: 'PROVIDER', ...whereOf(run), error };
}

export function toEffectEntry(effect: UncertainEffect): InboxEntryView {
  const { sessionId, runId, toolCallId, toolName, argumentsJson, artifactId } = effect;
  return {
    kind: 'EFFECT',
    sessionId,
    runId,
    waitingSince: effect.waitingSince.getTime(),
    toolCallId,
    toolName,
    argumentsJson,
    startedAt: effect.startedAt?.getTime() ?? null,
    artifactId,
  };
}

function whereOf({
  sessionId,
  id,
  waitingSince,
}: WaitingRun): Pick<InboxEntryView, 'sessionId' | 'runId' | 'waitingSince'> {
  return { sessionId, runId: id, waitingSince: waitingSince.getTime() };
}
