import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { inTenant } from '../../../platform/database/index.js';
import { netChanges } from '../../change/net-change.js';
import type { Plan } from '../../protocol/plan.js';
import { ApprovalRepository } from '../../store/approval.repository.js';
import type { ApprovalRow } from '../../store/approval.repository.js';
import type { HarnessFileChange, HarnessRun, HarnessSession } from '../../store/harness.entity.js';
import { FileChangeRepository } from '../../store/file-change.repository.js';
import { ModelSecrets, SecretMask } from '../../store/secret-mask.js';
import { ReportRepository } from '../../store/report.repository.js';
import type { ReportedCall, ReportedEvent, ReportedSkill } from '../../store/report.repository.js';
import { RunService } from '../run/run.service.js';
import { toUsageTotals, toUsageView } from './report.view.js';
import type {
  ReportApprovalView,
  ReportCallView,
  ReportFileView,
  ReportPersonView,
  ReportPlanView,
  ReportReviewView,
  RunReportView,
  RunUsageDetailView,
} from './report.view.js';

/** Tells people what a run did and what it took. */
@Injectable()
export class ReportService {
  constructor(
    private readonly runs: RunService,
    private readonly reports: ReportRepository,
    private readonly approvals: ApprovalRepository,
    private readonly changes: FileChangeRepository,
    private readonly mask: SecretMask,
    private readonly secrets: ModelSecrets,
  ) {}

  /** Tokens, cost, turns and time of the run, and of each call of the model. */
  async usage(caller: Caller, sessionId: string, runId: string): Promise<RunUsageDetailView> {
    const { run } = await this.runs.own(caller, sessionId, runId);
    return toUsageView(run, await this.reports.modelCalls(run));
  }

  /** The run's report, of a run that goes on as far as it has come. */
  async report(caller: Caller, sessionId: string, runId: string): Promise<RunReportView> {
    const { run, session } = await this.runs.own(caller, sessionId, runId);
    const facts = {
      run,
      session,
      calls: await this.reports.calls(run),
      events: await this.reports.events(run),
      approvals: await this.approvals.ofRun(run),
      changes: await this.changes.ofRun(run.tenantId, run.id),
      skills: await this.reports.skills(run),
      answer: await this.reports.lastAnswer(run),
    };
    const people = peopleIn(facts);
    const { tenantId, homeTenantId } = run;
    const names = new Map([
      ...(await inTenant(homeTenantId, () => this.reports.names(homeTenantId, people))),
      ...(await this.reports.names(tenantId, people)),
    ]);
    await this.secrets.learn(caller, session);
    // Before anything is done to the texts.
    return this.mask.applyIn(toReport({ ...facts, names }));
  }
}

/** What a report is made of. */
export interface ReportFacts {
  readonly run: HarnessRun;
  readonly session: HarnessSession;
  readonly calls: readonly ReportedCall[];
  readonly events: readonly ReportedEvent[];
  readonly approvals: readonly ApprovalRow[];
  readonly changes: readonly HarnessFileChange[];
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
  const { permissionMode, approvalPolicy, requirement, status, stopReason } = run;
  return {
    runId: run.id,
    sessionId: run.sessionId,
    user: { userId: run.userId, userName: names.get(run.userId) ?? null },
    workspace: session.workspace,
    model: session.modelName,
    ...{ permissionMode, approvalPolicy, requirement, status, stopReason },
    error: run.errorCode === null ? null : { code: run.errorCode, message: run.errorMessage ?? '' },
    answer: facts.answer ?? null,
    times: {
      createdAt: run.createTime.getTime(),
      startedAt: startOf(facts.events),
      endedAt: run.endedAt?.getTime() ?? null,
      activeMillis: run.activeMs,
    },
    usage: toUsageTotals(run),
    plan: run.plan && planOf(run.plan),
    planReviews: reviewsOf(facts),
    approvals: facts.approvals.map((approval) => approvalOf(facts, approval)),
    toolCalls: facts.calls.map((call) => callOf(facts, call)),
    files: filesOf(facts.changes),
    skills: skillsOf(facts),
  };
}

function person({ names }: Pick<ReportFacts, 'names'>, id: number | null): ReportPersonView | null {
  return id === null ? null : { userId: id, userName: names.get(id) ?? null };
}

function startOf(events: readonly ReportedEvent[]): number | null {
  return events.find(({ type }) => type === 'run.started')?.createTime.getTime() ?? null;
}

function planOf(plan: Plan): ReportPlanView {
  const { revision, reviewState, summary, files, risks } = plan;
  const steps = plan.steps.map(({ id, text, status, added = false }) => ({
    ...{ id, text, status, added },
  }));
  return { revision, reviewState, summary, steps, files, risks };
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

function approvalOf(facts: ReportFacts, approval: ApprovalRow): ReportApprovalView {
  const { id, toolCallId, toolName, summary, state, decision, note } = approval;
  return {
    approvalId: id,
    ...{ toolCallId, toolName, summary, state, decision, note },
    by: person(facts, approval.decidedBy),
    createdAt: approval.createTime.getTime(),
    decidedAt: approval.decidedAt?.getTime() ?? null,
  };
}

function callOf(facts: ReportFacts, call: ReportedCall): ReportCallView {
  const { toolCallId, iteration, toolName, effectClass, state, exitCode, reconciled } = call;
  const { resolution, resolvedBy, note } = call;
  return {
    ...{ toolCallId, iteration, toolName, effectClass, state, exitCode, reconciled },
    // A command is told as it is; of other calls their title says more.
    title: effectClass === 'SHELL' ? call.subject : (titleOf(facts, toolCallId) ?? call.subject),
    code: call.errorCode,
    uncertain: state === 'UNCERTAIN' || resolution !== null,
    resolution: resolution === null ? null : { resolution, by: person(facts, resolvedBy), note },
    startedAt: call.startedAt?.getTime() ?? null,
    endedAt: call.endedAt?.getTime() ?? null,
  };
}

function titleOf({ events }: ReportFacts, callId: string): string | undefined {
  const started = events.find(
    ({ type, toolCallId }) => type === 'tool.started' && toolCallId === callId,
  );
  const title = started?.data['title'];
  return typeof title === 'string' ? title : undefined;
}

/** Every file that was touched, also one that is at the end as it was at the beginning. */
function filesOf(changes: readonly HarnessFileChange[]): ReportFileView[] {
  const nets = new Map(
    netChanges(changes.filter(({ undone }) => !undone)).map((net) => [net.path, net.op]),
  );
  const files = [...Map.groupBy(changes, ({ path }) => path)].map(([path, rows]) => {
    const kept = rows.filter(({ undone }) => !undone);
    return {
      path,
      op: nets.get(path) ?? 'NONE',
      changes: rows.length,
      undone: rows.length - kept.length,
      additions: sumOf(kept.map(({ additions }) => additions)),
      deletions: sumOf(kept.map(({ deletions }) => deletions)),
    };
  });
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Null when a part of it is not known. */
function sumOf(counts: readonly (number | null)[]): number | null {
  return counts.reduce<number | null>(
    (sum, count) => (sum === null || count === null ? null : sum + count),
    0,
  );
}

function skillsOf({ skills, calls }: ReportFacts): RunReportView['skills'] {
  const activated = new Set(
    calls
      .filter(({ toolName, state }) => toolName === 'activate_skill' && state === 'SUCCEEDED')
      .map(({ subject }) => subject),
  );
  return skills.map((skill) => ({ ...skill, activated: activated.has(skill.name) }));
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
