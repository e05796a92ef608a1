import { SKILL_TOOL } from '../../store/message.repository.js';
import {
  decimal,
  flag,
  integer,
  list,
  localized,
  nullable,
  object,
  oneOf,
  text,
  texts,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { netChangeOf } from '../../change/file-changes.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';
import { RUN_STATUSES } from '../../protocol/run.state.js';
import { visibleLine } from '../../protocol/values.js';
import type { RunApprovalRow } from '../../../effect/index.js';
import type {
  HarnessFileChange,
  HarnessModelCall,
  HarnessRun,
  HarnessSession,
} from '../../store/harness.entity.js';
import type { ReportedCall, ReportedEvent, ReportedSkill } from '../../store/report.repository.js';
import { filePage } from '../change/change.view.js';
import type { FilePageQuery } from '../change/change.view.js';
import { PlanStepView, RunErrorView, stepViews } from '../run/run.dto.js';

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

const usageTotals = {
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
};

/** Usage of a run so far. */
export class UsageTotalsView extends View(usageTotals) {}

export class RunUsageDetailView extends View({
  ...usageTotals,
  contextUsed: nullable(integer({ description: 'Tokens of the last request' })),
  contextLimit: nullable(
    integer({
      description:
        "Tokens that may be sent: the model's window without room for its answer, or less once the service has refused a request as too long.",
    }),
  ),
  modelCalls: list(ModelCallView, { description: 'Oldest first' }),
}) {}

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
  summary: text({ description: 'What was asked for, made by the server from the arguments' }),
  modelDescription: nullable(text({ description: "The model's own words about it" })),
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

/** Requirement, actions and cost of a run, for people who answer for it. Secrets of the service are masked. */
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
  files: list(ReportFileView, { description: 'A page of them, by path' }),
  fileCount: integer({ description: 'Files of all pages' }),
  moreFiles: flag({ description: 'More files follow on the next page' }),
  skills: list(ReportSkillView),
}) {}

export function toUsageView(
  run: HarnessRun,
  calls: readonly HarnessModelCall[],
): RunUsageDetailView {
  return RunUsageDetailView.of({
    ...run,
    ...totalsOf(run),
    modelCalls: calls.map((call) =>
      ModelCallView.of({
        ...call,
        callId: call.id,
        durationMillis: call.durationMs,
        createdAt: call.createTime,
      }),
    ),
  });
}

function totalsOf(run: HarnessRun): UsageTotalsView {
  return UsageTotalsView.of({
    ...run,
    iterations: run.iteration,
    totalTokens: run.inputTokens + run.outputTokens,
    activeMillis: run.activeMs,
  });
}

/** Data from which a report is built. */
interface ReportFacts {
  readonly run: HarnessRun;
  readonly session: HarnessSession;
  readonly calls: readonly ReportedCall[];
  readonly events: readonly ReportedEvent[];
  readonly approvals: readonly RunApprovalRow[];
  readonly changes: readonly HarnessFileChange[];
  readonly page: FilePageQuery;
  readonly skills: readonly ReportedSkill[];
  readonly answer: string | undefined;
  /** Names of the users in it, by their ids. */
  readonly names: ReadonlyMap<number, string>;
}

/** The ids of all users who have decided something. */
export function peopleIn(facts: Omit<ReportFacts, 'names'>): number[] {
  const ids = [
    facts.run.userId,
    ...facts.approvals.map(({ decidedBy }) => decidedBy),
    ...facts.calls.map(({ resolvedBy }) => resolvedBy),
    ...facts.events.map(({ data }) => numberOf(data['by'])),
  ];
  return [...new Set(ids.filter((id) => id !== null))];
}

export function toReport(facts: ReportFacts): RunReportView {
  const { run, session, names } = facts;
  return RunReportView.of({
    ...run,
    runId: run.id,
    user: { userId: run.userId, userName: names.get(run.userId) ?? null },
    workspace: session.workspace,
    model: run.modelName,
    error:
      run.errorCode === null
        ? null
        : { code: run.errorCode, message: localized(run.errorMessage) ?? '' },
    answer: facts.answer ?? null,
    times: {
      createdAt: run.createTime.getTime(),
      startedAt: startOf(facts.events),
      endedAt: run.endedAt?.getTime() ?? null,
      activeMillis: run.activeMs,
    },
    usage: totalsOf(run),
    plan: run.plan && ReportPlanView.of({ ...run.plan, steps: stepViews(run.plan) }),
    planReviews: reviewsOf(facts),
    approvals: facts.approvals.map((approval) => approvalOf(facts, approval)),
    toolCalls: facts.calls.map((call) => callOf(facts, call)),
    ...filesOf(facts),
    skills: skillsOf(facts),
  });
}

function person({ names }: Pick<ReportFacts, 'names'>, id: number | null): ReportPersonView | null {
  return id === null ? null : { userId: id, userName: names.get(id) ?? null };
}

function startOf(events: readonly ReportedEvent[]): number | null {
  return events.find(({ type }) => type === 'run.started')?.createTime.getTime() ?? null;
}

const REVIEWS: Readonly<Partial<Record<string, string>>> = {
  'plan.approved': 'APPROVED',
  'plan.revision.requested': 'REVISION_REQUESTED',
};

function reviewsOf(facts: ReportFacts): ReportReviewView[] {
  return facts.events.flatMap(({ type, data, createTime }) => {
    const decision = REVIEWS[type];
    if (decision === undefined) return [];
    const { revision, by, content } = data;
    return {
      decision,
      revision: numberOf(revision) ?? 0,
      by: person(facts, numberOf(by)),
      content: typeof content === 'string' ? content : null,
      at: createTime.getTime(),
    };
  });
}

function approvalOf(facts: ReportFacts, approval: RunApprovalRow): ReportApprovalView {
  return ReportApprovalView.of({
    ...approval,
    approvalId: approval.id,
    by: person(facts, approval.decidedBy),
    createdAt: approval.createTime,
  });
}

function callOf(facts: ReportFacts, call: ReportedCall): ReportCallView {
  const { toolCallId, effectClass, state, subject, resolution, resolvedBy, note } = call;
  return ReportCallView.of({
    ...call,
    // A command is shown as it is; of other calls their title says more.
    title:
      effectClass === 'SHELL'
        ? subject && visibleLine(subject)
        : (titleOf(facts, toolCallId) ?? (subject && visibleLine(subject))),
    code: call.errorCode,
    uncertain: state === 'UNCERTAIN' || resolution !== null,
    resolution: resolution === null ? null : { resolution, by: person(facts, resolvedBy), note },
  });
}

function titleOf({ events }: ReportFacts, callId: string): string | undefined {
  const started = events.find(
    ({ type, toolCallId }) => type === 'tool.started' && toolCallId === callId,
  );
  const title = started?.data['title'];
  return typeof title === 'string' ? title : undefined;
}

/** Every file that was touched, even if it is unchanged at the end. */
function filesOf({
  changes,
  page,
}: ReportFacts): Pick<RunReportView, 'files' | 'fileCount' | 'moreFiles'> {
  const byPath = [...Map.groupBy(changes, ({ path }) => path)];
  const sorted = byPath.sort(([one], [other]) => (one < other ? -1 : 1));
  const { files, more } = filePage(sorted, page);
  return {
    files: files.map(([path, rows]) => {
      const remaining = rows.filter(({ undone }) => !undone);
      return {
        path,
        op: netChangeOf(remaining)?.op ?? 'NONE',
        changes: rows.length,
        undone: rows.length - remaining.length,
        additions: sumOf(remaining.map(({ additions }) => additions)),
        deletions: sumOf(remaining.map(({ deletions }) => deletions)),
      };
    }),
    fileCount: sorted.length,
    moreFiles: more,
  };
}

/** The sum; null when a part of it is not known. */
function sumOf(counts: readonly (number | null)[]): number | null {
  return counts.reduce<number | null>(
    (sum, count) => (sum === null || count === null ? null : sum + count),
    0,
  );
}

function skillsOf({ skills, calls }: ReportFacts): RunReportView['skills'] {
  const activated = new Set(
    calls
      .filter(({ toolName, state }) => toolName === SKILL_TOOL && state === 'SUCCEEDED')
      .map(({ subject }) => subject),
  );
  return skills.map((skill) => ({ ...skill, activated: activated.has(skill.name) }));
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
