import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';
import type { ApprovalState, Decision, GrantKind, GrantSubject } from '../protocol/approval.js';
import type { EffectClass, EffectState, Resolution } from '../protocol/effect.state.js';
import type { Plan, PlanReceipt } from '../protocol/plan.js';
import type { ApprovalPolicy, PermissionMode } from '../protocol/policy.js';
import type { Phase, RunStatus, StopReason, WaitKind } from '../protocol/run.state.js';
import type {
  Compaction,
  InputKind,
  MessageRole,
  MessageToolCall,
  MessageUsage,
  PendingQuestion,
  RunBudget,
} from '../protocol/run.values.js';
import type { FileOperation, SeenFile } from '../workspace/file-operation.js';
import type { EventType } from './event.catalogue.js';

/** What a user lets the harness do in one workspace, with one model, under one mode and policy. Runs follow each other in it. */
@Entity({ name: 'harness_session' })
export class HarnessSession {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  userId: number;

  @Column({ type: 'varchar', length: 20 })
  homeTenantId: string;

  @Column({ type: 'varchar', length: 200 })
  title: string;

  @Column({ type: 'varchar', length: 4096 })
  workspace: string;

  @Column({ type: 'varchar', length: 50 })
  workspaceIdentity: string;

  @Column({ type: 'varchar', length: 200 })
  modelName: string;

  @Column({ type: 'varchar', length: 20 })
  permissionMode: PermissionMode;

  @Column({ type: 'varchar', length: 20 })
  approvalPolicy: ApprovalPolicy;

  @Column({ type: 'bigint' })
  nextMessageSequence: number;

  @Column({ type: 'varchar', length: 256 })
  idempotencyKey: string;

  @Column({ type: 'char', length: 64 })
  idempotencyHash: string;

  @Column({ type: 'integer' })
  revision: number;

  @Column({ type: 'timestamptz', nullable: true })
  pinnedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  deletedAt: Date | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** One requirement and its execution. The row is the truth: status, phase, wait kind and lease decide who may do what. */
@Entity({ name: 'harness_run' })
export class HarnessRun {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'bigint' })
  userId: number;

  @Column({ type: 'varchar', length: 20 })
  homeTenantId: string;

  @Column({ type: 'text' })
  requirement: string;

  @Column({ type: 'varchar', length: 20 })
  permissionMode: PermissionMode;

  @Column({ type: 'varchar', length: 20 })
  approvalPolicy: ApprovalPolicy;

  @Column({ type: 'jsonb' })
  budget: RunBudget;

  @Column({ type: 'varchar', length: 20 })
  status: RunStatus;

  @Column({ type: 'varchar', length: 10 })
  phase: Phase;

  @Column({ type: 'varchar', length: 10, nullable: true })
  waitKind: WaitKind | null;

  @Column({ type: 'boolean' })
  recovering: boolean;

  @Column({ type: 'varchar', length: 50, nullable: true })
  reason: string | null;

  @Column({ type: 'varchar', length: 40, nullable: true })
  stopReason: StopReason | null;

  @Column({ type: 'varchar', length: 60, nullable: true })
  errorCode: string | null;

  @Column({ type: 'varchar', length: 2000, nullable: true })
  errorMessage: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  cancelRequestedAt: Date | null;

  @Column({ type: 'bigint', nullable: true })
  cancelRequestedBy: number | null;

  @Column({ type: 'jsonb', nullable: true })
  plan: Plan | null;

  @Column({ type: 'jsonb', nullable: true })
  /** The last decision about the plan, so that the same request is answered alike. */
  planReceipt: PlanReceipt | null;

  @Column({ type: 'jsonb', nullable: true })
  question: PendingQuestion | null;

  @Column({ type: 'integer' })
  iteration: number;

  @Column({ type: 'integer' })
  toolCalls: number;

  @Column({ type: 'bigint' })
  inputTokens: number;

  @Column({ type: 'bigint' })
  outputTokens: number;

  @Column({ type: 'bigint' })
  cachedTokens: number;

  @Column({ type: 'double precision', nullable: true })
  cost: number | null;

  @Column({ type: 'integer', nullable: true })
  contextUsed: number | null;

  @Column({ type: 'integer', nullable: true })
  contextLimit: number | null;

  @Column({ type: 'jsonb', nullable: true })
  compaction: Compaction | null;

  @Column({ type: 'bigint' })
  activeMs: number;

  @Column({ type: 'bigint' })
  eventBytes: number;

  @Column({ type: 'bigint' })
  artifactBytes: number;

  @Column({ type: 'uuid', nullable: true })
  leaseOwner: string | null;

  @Column({ type: 'varchar', length: 100, nullable: true })
  leaseBoot: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'integer' })
  fence: number;

  @Column({ type: 'integer' })
  recoveryAttempts: number;

  @Column({ type: 'timestamptz' })
  dueAt: Date;

  @Column({ type: 'integer' })
  revision: number;

  @Column({ type: 'bigint' })
  nextEventSequence: number;

  @Column({ type: 'varchar', length: 256 })
  idempotencyKey: string;

  @Column({ type: 'char', length: 64 })
  idempotencyHash: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}

/** What a user says to a run after its requirement: STEER is taken in at the next step, FOLLOW_UP when the run would end. */
@Entity({ name: 'harness_input' })
export class HarnessInput {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'varchar', length: 10 })
  kind: InputKind;

  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'varchar', length: 256 })
  idempotencyKey: string;

  @Column({ type: 'char', length: 64 })
  idempotencyHash: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  consumedAt: Date | null;
}

/** One message of a session; never changed once it is written. A tool call has at most one TOOL message, by index. */
@Entity({ name: 'harness_message' })
export class HarnessMessage {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'bigint' })
  sequence: number;

  @Column({ type: 'varchar', length: 10 })
  role: MessageRole;

  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'text', nullable: true })
  thinking: string | null;

  @Column({ type: 'jsonb' })
  toolCalls: readonly MessageToolCall[];

  @Column({ type: 'uuid', nullable: true })
  toolCallId: string | null;

  @Column({ type: 'varchar', length: 100, nullable: true })
  toolName: string | null;

  @Column({ type: 'boolean' })
  toolError: boolean;

  @Column({ type: 'varchar', length: 20, nullable: true })
  finishReason: string | null;

  @Column({ type: 'jsonb', nullable: true })
  usage: MessageUsage | null;

  @Column({ type: 'jsonb' })
  metadata: Readonly<Record<string, unknown>>;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}

/** One call of the model service, with what it cost. */
@Entity({ name: 'harness_model_call' })
export class HarnessModelCall {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'integer' })
  iteration: number;

  @Column({ type: 'integer' })
  attempt: number;

  @Column({ type: 'varchar', length: 10 })
  purpose: string;

  @Column({ type: 'integer' })
  fence: number;

  @Column({ type: 'varchar', length: 10 })
  state: string;

  @Column({ type: 'bigint', nullable: true })
  inputTokens: number | null;

  @Column({ type: 'bigint', nullable: true })
  outputTokens: number | null;

  @Column({ type: 'bigint', nullable: true })
  cachedTokens: number | null;

  @Column({ type: 'double precision', nullable: true })
  cost: number | null;

  @Column({ type: 'boolean' })
  estimated: boolean;

  @Column({ type: 'integer', nullable: true })
  durationMs: number | null;

  @Column({ type: 'varchar', length: 60, nullable: true })
  errorCode: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}

/** One tool call of an assistant message and what came of it. Written down before it starts. */
@Entity({ name: 'harness_effect' })
export class HarnessEffect {
  @PrimaryColumn({ type: 'uuid' })
  toolCallId: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'integer' })
  iteration: number;

  @Column({ type: 'integer' })
  ordinal: number;

  @Column({ type: 'varchar', length: 200 })
  providerCallId: string;

  @Column({ type: 'varchar', length: 100 })
  toolName: string;

  @Column({ type: 'varchar', length: 10 })
  effectClass: EffectClass;

  @Column({ type: 'text' })
  argumentsJson: string;

  @Column({ type: 'char', length: 64 })
  argumentsSha256: string;

  @Column({ type: 'jsonb' })
  input: Readonly<Record<string, unknown>>;

  @Column({ type: 'varchar', length: 20 })
  state: EffectState;

  @Column({ type: 'integer', nullable: true })
  fence: number | null;

  @Column({ type: 'varchar', length: 100, nullable: true })
  boot: string | null;

  @Column({ type: 'jsonb' })
  operations: readonly FileOperation[];

  @Column({ type: 'char', length: 64, nullable: true })
  snapshotSha256: string | null;

  @Column({ type: 'jsonb' })
  reads: readonly SeenFile[];

  @Column({ type: 'text', nullable: true })
  result: string | null;

  @Column({ type: 'varchar', length: 60, nullable: true })
  errorCode: string | null;

  @Column({ type: 'integer', nullable: true })
  exitCode: number | null;

  @Column({ type: 'uuid', nullable: true })
  artifactId: string | null;

  @Column({ type: 'boolean' })
  reconciled: boolean;

  /** What a person has said about it after nobody knew its outcome. */
  @Column({ type: 'varchar', length: 20, nullable: true })
  resolution: Resolution | null;

  @Column({ type: 'bigint', nullable: true })
  resolvedBy: number | null;

  @Column({ type: 'varchar', length: 4000, nullable: true })
  note: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}

/** A tool call that waits for, or got, the consent of a person; bound to its exact input. */
@Entity({ name: 'harness_approval' })
export class HarnessApproval {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'bigint' })
  userId: number;

  @Column({ type: 'uuid' })
  toolCallId: string;

  @Column({ type: 'varchar', length: 100 })
  toolName: string;

  @Column({ type: 'varchar', length: 2000 })
  summary: string;

  @Column({ type: 'text' })
  argumentsJson: string;

  @Column({ type: 'char', length: 64 })
  argumentsSha256: string;

  @Column({ type: 'char', length: 64 })
  subjectHash: string;

  @Column({ type: 'boolean' })
  grantable: boolean;

  /** What APPROVE_SESSION grants; empty when it cannot be chosen. */
  @Column({ type: 'jsonb' })
  grants: readonly GrantSubject[];

  /** What the approver should know, such as that the changes cannot be undone. */
  @Column({ type: 'jsonb' })
  notes: readonly string[];

  @Column({ type: 'varchar', length: 10 })
  state: ApprovalState;

  @Column({ type: 'integer' })
  revision: number;

  @Column({ type: 'varchar', length: 20, nullable: true })
  decision: Decision | null;

  @Column({ type: 'varchar', length: 256, nullable: true })
  decisionId: string | null;

  @Column({ type: 'varchar', length: 4000, nullable: true })
  note: string | null;

  @Column({ type: 'bigint', nullable: true })
  decidedBy: number | null;

  @Column({ type: 'timestamptz', nullable: true })
  decidedAt: Date | null;

  @Column({ type: 'timestamptz' })
  expiresAt: Date;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}

/** A consent that holds for the rest of the session, for one path or one exact command. */
@Entity({ name: 'harness_grant' })
export class HarnessGrant {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'varchar', length: 10 })
  kind: GrantKind;

  @Column({ type: 'char', length: 64 })
  subjectHash: string;

  @Column({ type: 'text' })
  subject: string;

  @Column({ type: 'uuid' })
  approvalId: string;

  @Column({ type: 'bigint' })
  grantedBy: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null;

  @Column({ type: 'bigint', nullable: true })
  revokedBy: number | null;
}

/** One event of a run, numbered from 1 without gaps. */
@Entity({ name: 'harness_event' })
export class HarnessEvent {
  @PrimaryColumn({ type: 'uuid' })
  runId: string;

  @PrimaryColumn({ type: 'bigint' })
  sequence: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'varchar', length: 40 })
  type: EventType;

  @Column({ type: 'varchar', length: 40, nullable: true })
  stepId: string | null;

  @Column({ type: 'uuid', nullable: true })
  toolCallId: string | null;

  @Column({ type: 'uuid', nullable: true })
  approvalId: string | null;

  @Column({ type: 'jsonb' })
  data: Readonly<Record<string, unknown>>;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}

/** A file that a tool call has changed, with the contents before and after by their hashes. */
@Entity({ name: 'harness_file_change' })
export class HarnessFileChange {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'uuid' })
  toolCallId: string;

  @Column({ type: 'varchar', length: 4096 })
  path: string;

  @Column({ type: 'varchar', length: 10 })
  op: 'CREATE' | 'UPDATE' | 'DELETE';

  @Column({ type: 'char', length: 64, nullable: true })
  beforeSha256: string | null;

  @Column({ type: 'char', length: 64, nullable: true })
  afterSha256: string | null;

  @Column({ type: 'integer', nullable: true })
  beforeMode: number | null;

  @Column({ type: 'integer', nullable: true })
  afterMode: number | null;

  @Column({ type: 'integer', nullable: true })
  additions: number | null;

  @Column({ type: 'integer', nullable: true })
  deletions: number | null;

  @Column({ type: 'boolean' })
  restorable: boolean;

  @Column({ type: 'boolean' })
  undone: boolean;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}

/** The whole of something of which the model saw a part: the output of a tool, an image of the requirement. */
@Entity({ name: 'harness_artifact' })
export class HarnessArtifact {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'uuid', nullable: true })
  toolCallId: string | null;

  @Column({ type: 'varchar', length: 20 })
  kind: string;

  @Column({ type: 'varchar', length: 100 })
  mediaType: string;

  @Column({ type: 'bigint' })
  byteSize: number;

  @Column({ type: 'char', length: 64 })
  sha256: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}

/** A skill as it was when the run began. */
@Entity({ name: 'harness_skill' })
export class HarnessSkill {
  @PrimaryColumn({ type: 'uuid' })
  runId: string;

  @PrimaryColumn({ type: 'integer' })
  position: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 64 })
  name: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ type: 'varchar', length: 100 })
  source: string;

  @Column({ type: 'varchar', length: 4096 })
  base: string;

  @Column({ type: 'varchar', length: 4096 })
  path: string;

  @Column({ type: 'char', length: 64 })
  sha256: string;

  @Column({ type: 'text' })
  body: string;
}

/** What an operator has switched for the whole installation. */
@Entity({ name: 'harness_switch' })
export class HarnessSwitch {
  @PrimaryColumn({ type: 'varchar', length: 40 })
  name: string;

  @Column({ type: 'boolean' })
  enabled: boolean;

  @Column({ type: 'bigint', nullable: true })
  changedBy: number | null;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}

/** The one run that may change a workspace now. */
@Entity({ name: 'harness_workspace_lock' })
export class HarnessWorkspaceLock {
  @PrimaryColumn({ type: 'varchar', length: 4096 })
  workspace: string;

  @PrimaryColumn({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'integer' })
  fence: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
