import type { Plan } from '../protocol/policy.js';
import { planMarkdown } from '../protocol/policy.js';
import type { Phase, RunStatus, StopReason, WaitKind } from '../protocol/run.state.js';
import type { ApprovalPreview, Decision, EffectState } from '../../effect/index.js';

/** Data of every event about the run's status. `revision` is the run's. */
export interface StatusData {
  readonly status: RunStatus;
  readonly revision: number;
  readonly phase: Phase;
  /** Reason why a parked run waits. */
  readonly waitKind?: WaitKind;
}

export interface WireError {
  readonly code: string;
  readonly message: string;
}

/** Reason why a run waits in the queue. */
export type QueueReason =
  | 'created'
  | 'approval_resolved'
  | 'plan_approved'
  | 'plan_revision_requested'
  | 'question_answered'
  | 'effects_resolved'
  | 'resumed'
  | 'server_restart'
  | 'limit_of_live_runs'
  | 'workspace_busy';

export interface PlanData extends Pick<
  Plan,
  'taskId' | 'revision' | 'summary' | 'files' | 'risks'
> {
  readonly steps: readonly Pick<Plan['steps'][number], 'id' | 'text' | 'status'>[];
}

/** Changes of a finished run that were undone or redone; the conflicts were left out, which is only ever so with force. */
interface UndoData {
  readonly changeIds: readonly number[];
  readonly files: readonly string[];
  readonly conflicts: readonly { readonly path: string; readonly reason: string }[];
}

interface EndData extends StatusData {
  readonly stopReason: StopReason;
  readonly error?: WireError;
}

/**
 * Every event of a run with its data. Existing clients read the names strictly; fields
 * may be added, none may be renamed.
 */
export interface EventDataOf {
  'run.created': StatusData & {
    readonly requirement: string;
    readonly permissionMode: string;
    readonly approvalPolicy: string;
    readonly model: string;
    readonly limits: Readonly<Record<string, number>>;
  };
  'run.queued': StatusData & { readonly reason: QueueReason };
  'run.started': StatusData;
  'run.waiting_for_approval': StatusData & { readonly pendingApprovals: readonly string[] };
  'run.waiting_for_input': StatusData & {
    readonly reason: 'plan' | 'question';
    readonly question?: string;
  };
  'run.suspended': StatusData & {
    readonly waitKind: WaitKind;
    readonly code: string;
    readonly message: string;
    readonly effectIds?: readonly string[];
  };
  'run.recovering': StatusData & { readonly attempt: number; readonly reason: 'owner_lost' };
  'run.recovered': StatusData & {
    readonly attempt: number;
    readonly settled: readonly { readonly toolCallId: string; readonly state: EffectState }[];
  };
  'run.cancel.requested': StatusData & { readonly code: string; readonly by: number };
  'run.completed': EndData;
  'run.failed': EndData;
  'run.cancelled': EndData;

  'skills.loaded': {
    readonly skills: readonly {
      readonly name: string;
      readonly description: string;
      readonly source: string;
    }[];
    readonly skipped: readonly { readonly path: string; readonly reason: string }[];
  };
  /** `sha` is the SHA-256 of the text that the model got, lower-case hex. */
  'skill.activated': { readonly name: string; readonly source: string; readonly sha: string };
  /** `sha` and `bytes` are those of the whole file. */
  'skill.resource_read': {
    readonly name: string;
    readonly source: string;
    readonly sha: string;
    readonly path: string;
    readonly bytes: number;
  };

  'plan.created': PlanData;
  'plan.updated': PlanData;
  'plan.awaiting_approval': {
    readonly taskId: string;
    readonly planMarkdown: string;
    readonly canonicalHash: string;
    readonly expectedRevision: number;
    readonly reviewState: 'AWAITING_APPROVAL';
  };
  'plan.approved': {
    readonly taskId: string;
    readonly revision: number;
    readonly hash: string;
    /** Absent when the policy approved it. */
    readonly idempotencyKey?: string;
    readonly by?: number;
  };
  'plan.revision.requested': {
    readonly taskId: string;
    readonly feedbackId: string;
    readonly revision: number;
    readonly hash: string;
    readonly content: string;
    readonly by: number;
  };

  /** The content's first 2,000 characters. */
  'input.queued': { readonly inputId: string; readonly kind: string; readonly content: string };
  'input.consumed': { readonly inputId: string; readonly kind: string; readonly messageId: string };

  'model.turn.started': {
    readonly effectId: string;
    readonly iteration: number;
    readonly attempt: number;
  };
  'model.turn.abandoned': {
    readonly effectId: string;
    readonly outcome: 'ABANDONED';
    readonly code: string;
  };
  'model.retrying': {
    readonly effectId: string;
    readonly retry: number;
    readonly maxRetries: number;
    readonly failureKind: string;
    readonly delayMs: number;
  };
  'assistant.text.delta': { readonly effectId: string; readonly delta: string };
  'assistant.thinking.delta': { readonly effectId: string; readonly delta: string };
  'assistant.tool.complete': {
    readonly effectId: string;
    readonly index: number;
    readonly name: string;
    readonly arguments: string;
  };
  'assistant.completed': {
    readonly effectId: string;
    readonly messageId: string;
    readonly toolCallCount: number;
    readonly text: string;
    readonly finishReason: string;
  };

  'tool.started': {
    readonly toolName: string;
    /** Made by the server from the arguments. */
    readonly title: string;
    /** The model's description of the call's purpose. */
    readonly modelDescription?: string;
    readonly effectClass: string;
    readonly argumentsJson: string;
  };
  'tool.completed': {
    readonly toolName: string;
    readonly messageId: string;
    readonly error: boolean;
    readonly code: string | null;
    readonly status: EffectState;
    readonly summary: string;
    readonly truncated: boolean;
    readonly artifactId?: string;
    readonly exitCode?: number;
    /** For a command: how it ended and the end of its output, 8,000 characters at most. */
    readonly output?: string;
    readonly durationMs: number;
  };
  'file.changed': {
    readonly path: string;
    readonly op: string;
    readonly additions: number | null;
    readonly deletions: number | null;
    /** Unified, at most 64 KiB. */
    readonly diff: string;
    readonly diffTruncated: boolean;
  };
  'run.diff': {
    readonly files: number;
    readonly additions: number;
    readonly deletions: number;
    readonly etag: string;
  };

  'approval.requested': ApprovalPreview & {
    readonly approvalId: string;
    readonly toolName: string;
    /** Made by the server from the arguments. */
    readonly summary: string;
    /** The model's description of the call's purpose. */
    readonly modelDescription: string | null;
    readonly argumentsSha256: string;
    readonly argumentsJson: string;
    readonly state: 'PENDING';
    readonly expectedRevision: number;
    /** Milliseconds since the epoch. */
    readonly expiresAt: number;
    readonly available: readonly Decision[];
    /** Notes for the approver, such as that the changes cannot be undone. */
    readonly notes: readonly string[];
  };
  'approval.resolved': {
    readonly approvalId: string;
    /** Absent without a decision: the run ended first, and the state is CANCELLED. */
    readonly decision?: Decision;
    readonly state: string;
    readonly by?: number;
    readonly note?: string;
  };
  'approval.expired': {
    readonly approvalId: string;
    readonly state: 'EXPIRED';
    readonly revision: number;
  };

  'effect.uncertain': {
    readonly toolName: string;
    readonly reason: string;
    /** Milliseconds since the epoch. */
    readonly startedAt?: number;
    /** For a command: files changed since it began, if known; otherwise the files that the call was to change. */
    readonly fileCount?: number;
    /** The first 100 of them. */
    readonly files?: readonly { readonly path: string; readonly op: string }[];
    /** Stored output of a command until then. */
    readonly artifactId?: string;
  };
  'effect.resolved': {
    readonly toolName: string;
    readonly resolution: 'EXECUTED' | 'NOT_EXECUTED';
    readonly by: number;
    readonly note?: string;
  };

  'usage.updated': {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cachedTokens: number;
    readonly cost?: number;
    readonly contextUsed?: number;
    readonly contextLimit?: number;
  };
  'context.compacted': {
    readonly beforeTokens: number;
    readonly afterTokens: number;
    readonly prunedCalls: number;
    readonly summarised: boolean;
  };
  'loop.warning': { readonly kind: string; readonly count: number; readonly limit: number };
  'limit.warning': { readonly kind: string; readonly count: number; readonly limit: number };
  'undo.applied': UndoData;
  'redo.applied': UndoData;
}

export type EventType = keyof EventDataOf;

/** Subject of an event beside its run. */
export interface EventSubject {
  readonly stepId?: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
}

/** An event before it has its number. */
export type EventDraft = {
  readonly [Type in EventType]: {
    readonly type: Type;
    readonly data: EventDataOf[Type];
    readonly subject?: EventSubject;
  };
}[EventType];

/** Names a step on the wire: the model's turn and the tool calls that follow from it. */
export function stepIdOf(iteration: number): string {
  return `step-${iteration}`;
}

/** Data of plan.created and plan.updated. */
export function planData({ taskId, revision, summary, steps, files, risks }: Plan): PlanData {
  const planSteps = steps.map(({ id, text, status }) => ({ id, text, status }));
  return { taskId, revision, summary, steps: planSteps, files, risks };
}

/** Data of plan.awaiting_approval: everything that a reviewer needs. */
function awaitingData(plan: Plan): EventDataOf['plan.awaiting_approval'] {
  return {
    taskId: plan.taskId,
    planMarkdown: planMarkdown(plan),
    canonicalHash: plan.canonicalHash,
    expectedRevision: plan.revision,
    reviewState: 'AWAITING_APPROVAL',
  };
}

/**
 * The events of a plan that the model has submitted: plan.created, and plan.awaiting_approval where a person reviews it
 * or plan.approved where no review is needed.
 */
export function proposalEvents(plan: Plan): EventDraft[] {
  const { taskId, revision, canonicalHash: hash } = plan;
  return [
    { type: 'plan.created', data: planData(plan) },
    plan.reviewState === 'APPROVED'
      ? { type: 'plan.approved', data: { taskId, revision, hash } }
      : { type: 'plan.awaiting_approval', data: awaitingData(plan) },
  ];
}
