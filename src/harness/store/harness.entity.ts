import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Double,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../../platform/database/index.js';
import type {
  ApprovalPolicy,
  PlanPolicy,
  PermissionMode,
  Plan,
  PlanReceipt,
} from '../protocol/policy.js';
import type { ProviderState } from '../../provider/index.js';
import type {
  Compaction,
  InputKind,
  MessageRole,
  MessageToolCall,
  MessageUsage,
  PendingQuestion,
  Phase,
  RunBudget,
  RunStatus,
  StopReason,
  WaitKind,
} from '../protocol/run.state.js';
import type { EventType } from './event.catalogue.js';
import type { Message } from '../../platform/message/index.js';

/** Work of the harness in one workspace, with one model, under one mode and policy. Its runs follow each other. */
@Entity({ name: 'harness_session' })
export class HarnessSession {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Varchar(20) homeTenantId: string;
  @Varchar(200) title: string;
  @Varchar(4096) workspace: string;
  @Varchar(50) workspaceIdentity: string;
  @Varchar(200) modelName: string;
  @Varchar(20) permissionMode: PermissionMode;
  @Varchar(20) approvalPolicy: ApprovalPolicy;
  @Varchar(20) planPolicy: PlanPolicy;
  @Integer() planFiles: number;
  @Bigint() nextMessageSequence: number;
  @Varchar(256) idempotencyKey: string;
  @Char(64) idempotencyHash: string;
  @Integer() revision: number;
  @Timestamp(nullable) pinnedAt: Date | null;
  @Timestamp(nullable) deletedAt: Date | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** One requirement and its execution. The row is the truth: status, phase, wait kind and lease decide who may do what. */
@Entity({ name: 'harness_run' })
export class HarnessRun {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid() sessionId: string;
  @Bigint() userId: number;
  @Varchar(20) homeTenantId: string;
  @Text() requirement: string;
  @Varchar(200) modelName: string;
  @Varchar(20) permissionMode: PermissionMode;
  @Varchar(20) approvalPolicy: ApprovalPolicy;
  @Varchar(20) planPolicy: PlanPolicy;
  @Integer() planFiles: number;
  @Jsonb() budget: RunBudget;
  @Varchar(20) status: RunStatus;
  @Varchar(10) phase: Phase;
  @Varchar(10, nullable) waitKind: WaitKind | null;
  @Flag() recovering: boolean;
  @Varchar(50, nullable) reason: string | null;
  @Varchar(40, nullable) stopReason: StopReason | null;
  @Varchar(60, nullable) errorCode: string | null;
  @Jsonb(nullable) errorMessage: Message | null;
  @Timestamp(nullable) cancelRequestedAt: Date | null;
  @Bigint(nullable) cancelRequestedBy: number | null;
  @Jsonb(nullable) plan: Plan | null;
  /** The last decision about the plan, so that the same request is answered alike. */
  @Jsonb(nullable) planReceipt: PlanReceipt | null;

  @Jsonb(nullable) question: PendingQuestion | null;
  @Integer() iteration: number;
  @Integer() toolCalls: number;
  @Bigint() inputTokens: number;
  @Bigint() outputTokens: number;
  @Bigint() cachedTokens: number;
  @Double(nullable) cost: number | null;
  @Integer(nullable) contextUsed: number | null;
  @Integer(nullable) contextLimit: number | null;
  @Jsonb(nullable) compaction: Compaction | null;
  @Bigint() activeMs: number;
  @Bigint() eventBytes: number;
  @Bigint() artifactBytes: number;
  @Uuid(nullable) leaseOwner: string | null;
  @Varchar(100, nullable) leaseBoot: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @Integer() fence: number;
  @Integer() recoveryAttempts: number;
  @Timestamp() dueAt: Date;
  /** The span of the request that created the run (`traceparent`, W3C), whose trace the run continues; null without tracing. */
  @Varchar(55, nullable) traceparent: string | null;
  @Integer() revision: number;
  @Bigint() nextEventSequence: number;
  @Varchar(256) idempotencyKey: string;
  @Char(64) idempotencyHash: string;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
  @Timestamp(nullable) endedAt: Date | null;
}

/** A user's input to a run after its requirement: STEER is consumed at the next step, FOLLOW_UP when the run would end. */
@Entity({ name: 'harness_input' })
export class HarnessInput {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid() runId: string;
  @Varchar(10) kind: InputKind;
  @Text() content: string;
  @Varchar(256) idempotencyKey: string;
  @Char(64) idempotencyHash: string;
  @CreateTime() createTime: Date;
  @Timestamp(nullable) consumedAt: Date | null;
}

/** One message of a session; never changed once it is written. A tool call has at most one TOOL message, by index. */
@Entity({ name: 'harness_message' })
export class HarnessMessage {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid() sessionId: string;
  @Uuid() runId: string;
  @Bigint() sequence: number;
  @Varchar(10) role: MessageRole;
  @Text() content: string;
  @Text(nullable) thinking: string | null;
  @Jsonb() toolCalls: readonly MessageToolCall[];
  @Uuid(nullable) toolCallId: string | null;
  @Varchar(100, nullable) toolName: string | null;
  @Flag() toolError: boolean;
  @Varchar(20, nullable) finishReason: string | null;
  @Jsonb(nullable) usage: MessageUsage | null;
  @Jsonb() metadata: Readonly<Record<string, unknown>>;
  /** State that the model's service wants back with the answer; never shown. */
  @Jsonb(nullable) providerState: ProviderState | null;
  @CreateTime() createTime: Date;
}

/** One call of the model service, with what it cost. */
@Entity({ name: 'harness_model_call' })
export class HarnessModelCall {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid() runId: string;
  @Integer() iteration: number;
  @Integer() attempt: number;
  @Varchar(10) purpose: string;
  @Integer() fence: number;
  @Varchar(10) state: string;
  @Bigint(nullable) inputTokens: number | null;
  @Bigint(nullable) outputTokens: number | null;
  @Bigint(nullable) cachedTokens: number | null;
  @Double(nullable) cost: number | null;
  @Flag() estimated: boolean;
  @Integer(nullable) durationMs: number | null;
  @Varchar(60, nullable) errorCode: string | null;
  @CreateTime() createTime: Date;
  @Timestamp(nullable) endedAt: Date | null;
}

/** One event of a run, numbered from 1 without gaps. */
@Entity({ name: 'harness_event' })
export class HarnessEvent {
  @Uuid(primary) runId: string;
  @Bigint(primary) sequence: number;
  @TenantId() tenantId: string;
  @Uuid() sessionId: string;
  /** User of the run; null for events of releases without the stream. */
  @Bigint(nullable) userId: number | null;
  /** The number among all events of the user, which they get when they are first read. */
  @Bigint(nullable) userSequence: number | null;
  @Varchar(40) type: EventType;
  @Varchar(40, nullable) stepId: string | null;
  @Uuid(nullable) toolCallId: string | null;
  @Uuid(nullable) approvalId: string | null;
  @Jsonb() data: Readonly<Record<string, unknown>>;
  @CreateTime() createTime: Date;
}

/** The next number of a user's events in one tenant, over all runs. */
@Entity({ name: 'harness_stream' })
export class HarnessStream {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) userId: number;
  @Bigint() nextSequence: number;
}

/** A file that a tool call has changed, with the contents before and after by their hashes. */
@Entity({ name: 'harness_file_change' })
export class HarnessFileChange {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Uuid() runId: string;
  @Uuid() toolCallId: string;
  @Varchar(4096) path: string;
  @Varchar(10) op: 'CREATE' | 'UPDATE' | 'DELETE';
  @Char(64, nullable) beforeSha256: string | null;
  @Char(64, nullable) afterSha256: string | null;
  @Integer(nullable) beforeMode: number | null;
  @Integer(nullable) afterMode: number | null;
  @Integer(nullable) additions: number | null;
  @Integer(nullable) deletions: number | null;
  @Flag() restorable: boolean;
  @Flag() undone: boolean;
  @CreateTime() createTime: Date;
}

/** Complete content of which the model saw a part: the output of a tool, an image of the requirement. */
@Entity({ name: 'harness_artifact' })
export class HarnessArtifact {
  @Uuid(primary) id: string;
  @TenantId() tenantId: string;
  @Uuid() runId: string;
  @Uuid(nullable) toolCallId: string | null;
  @Varchar(20) kind: string;
  @Varchar(100) mediaType: string;
  @Bigint() byteSize: number;
  @Char(64) sha256: string;
  @CreateTime() createTime: Date;
}

/** A skill as it was when the run began. */
@Entity({ name: 'harness_skill' })
export class HarnessSkill {
  @Uuid(primary) runId: string;
  @Integer(primary) position: number;
  @TenantId() tenantId: string;
  @Varchar(64) name: string;
  @Text() description: string;
  @Varchar(100) source: string;
  @Varchar(4096) base: string;
  @Varchar(4096) path: string;
  @Char(64) sha256: string;
  @Text() body: string;
}

/** Switches that an operator has set for the whole installation. */
@Entity({ name: 'harness_switch' })
export class HarnessSwitch {
  @Varchar(40, primary) name: string;
  @Flag() enabled: boolean;
  @Bigint(nullable) changedBy: number | null;
  @UpdateTime() updateTime: Date;
}

/** The one run that may change a workspace now. */
@Entity({ name: 'harness_workspace_lock' })
export class HarnessWorkspaceLock {
  @Varchar(4096, primary) workspace: string;
  @TenantId(primary) tenantId: string;
  @Uuid() runId: string;
  @Integer() fence: number;
  @CreateTime() createTime: Date;
}
