import {
  integer,
  nullable,
  object,
  oneOf,
  optional,
  someOf,
  text,
  texts,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { DECISIONS } from '../../protocol/approval.js';
import type { Plan } from '../../protocol/plan.js';
import type { PendingQuestion } from '../../protocol/run.values.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import type { UncertainEffect, WaitingRun } from '../../store/inbox.repository.js';
import { toPlanView } from '../plan/plan.view.js';
import { RunErrorView } from '../run/run.view.js';
import { toApprovalView } from './approval.view.js';

const KINDS = ['TOOL', 'PLAN', 'QUESTION', 'EFFECT', 'PROVIDER'] as const;

/**
 * Something that waits for a person, with everything that acting on it needs. Which fields it has says `kind`: TOOL for
 * …/approvals/{approvalId}/resolve, PLAN for …/plan/approve and …/plan/revision, QUESTION for …/inputs with kind STEER,
 * EFFECT for …/effects/{toolCallId}/resolution, PROVIDER for …/resume once the model service is back, or …/cancel.
 */
export class InboxEntryView extends View({
  kind: oneOf<(typeof KINDS)[number]>(KINDS),
  sessionId: uuid(),
  runId: uuid(),
  waitingSince: integer({ description: 'Milliseconds since the epoch' }),
  approvalId: optional(uuid({ description: 'TOOL' })),
  toolCallId: optional(uuid({ description: 'TOOL, QUESTION, EFFECT' })),
  toolName: optional(text({ description: 'TOOL, EFFECT' })),
  summary: optional(text({ description: 'TOOL: one line' })),
  argumentsJson: optional(text({ description: 'TOOL, EFFECT: as the model wrote them' })),
  argumentsSha256: optional(text({ description: 'TOOL: SHA-256 of the bytes of argumentsJson' })),
  state: optional(text({ description: 'TOOL: always PENDING' })),
  available: optional(someOf(DECISIONS, { description: 'TOOL' })),
  notes: optional(texts({ description: 'TOOL: what one should know' })),
  expiresAt: optional(integer({ description: 'TOOL: milliseconds' })),
  expectedRevision: optional(integer({ description: 'TOOL, PLAN' })),
  taskId: optional(uuid({ description: 'PLAN' })),
  canonicalHash: optional(text({ description: 'PLAN: the expectedHash of a decision' })),
  reviewState: optional(text({ description: 'PLAN: always AWAITING_APPROVAL' })),
  planMarkdown: optional(text({ description: 'PLAN: all of it for people' })),
  question: optional(text({ description: 'QUESTION' })),
  options: optional(texts({ description: 'QUESTION: possible answers' })),
  startedAt: optional(nullable(integer({ description: 'EFFECT' }))),
  artifactId: optional(nullable(text({ description: 'EFFECT: its output' }))),
  error: optional(object(RunErrorView, { description: 'PROVIDER: why it waits' })),
}) {}

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
