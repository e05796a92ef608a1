import {
  flag,
  integer,
  list,
  localized,
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
import type { ApprovalRow, UncertainEffect, WaitingRun } from '../../store/approval.repository.js';
import { toPlanView } from '../plan/plan.view.js';
import { RunErrorView } from '../run/run.view.js';
import { PreviewFileView, toApprovalView } from './approval.view.js';

/** All diffs of an inbox. */
const DIFF_BYTES = 2 * 1024 * 1024;

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
  summary: optional(text({ description: 'TOOL: one line, made by the server from the arguments' })),
  modelDescription: optional(
    nullable(text({ description: "TOOL: the model's own words about the call, not checked" })),
  ),
  command: optional(nullable(text({ description: 'TOOL: the whole command' }))),
  files: optional(list(PreviewFileView, { description: 'TOOL: the files that it would change' })),
  diff: optional(
    nullable(text({ description: 'TOOL: what it would change in them; see diffTruncated' })),
  ),
  diffTruncated: optional(
    flag({ description: 'TOOL: the diff is cut, or left out of a long inbox; see …/approvals' }),
  ),
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

/** The diffs of the first entries are shown, up to 2 MiB in all. */
export function toolEntries(rows: readonly ApprovalRow[]): InboxEntryView[] {
  let room = DIFF_BYTES;
  return rows.map((row) => {
    const view = toApprovalView(row);
    room -= Buffer.byteLength(view.diff ?? '');
    const diff = room >= 0 ? {} : { diff: null, diffTruncated: true };
    return InboxEntryView.of({ ...view, ...diff, waitingSince: view.createdAt });
  });
}

export function effectEntry(effect: UncertainEffect): InboxEntryView {
  return InboxEntryView.of({ ...effect, kind: 'EFFECT' });
}

/** What the run itself waits for: a review of its plan, an answer, or its model service. */
export function runEntries(run: WaitingRun): InboxEntryView[] {
  const { id: runId, sessionId, waitingSince, waitKind, plan, question } = run;
  const entry = { sessionId, runId, waitingSince };
  if (waitKind === 'PLAN' && plan) {
    const { summary: _, files: _files, ...view } = toPlanView(plan);
    return [InboxEntryView.of({ ...entry, ...view, kind: 'PLAN' })];
  }
  if (waitKind === 'QUESTION' && question) {
    const { toolCallId, text, options } = question;
    const asked = { toolCallId, question: text, options };
    return [InboxEntryView.of({ ...entry, ...asked, kind: 'QUESTION' })];
  }
  if (waitKind !== 'PROVIDER') return [];
  const error = { code: run.errorCode ?? '', message: localized(run.errorMessage ?? '') };
  return [InboxEntryView.of({ ...entry, error, kind: 'PROVIDER' })];
}
