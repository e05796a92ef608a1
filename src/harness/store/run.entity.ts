import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { Compaction, PendingQuestion, RunBudget } from '../protocol/run.values.js';
import type { Plan, PlanReceipt } from '../protocol/plan.js';
import type { Phase, RunStatus, StopReason, WaitKind } from '../protocol/run.state.js';
import type { ApprovalPolicy, PermissionMode } from '../protocol/policy.js';

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
