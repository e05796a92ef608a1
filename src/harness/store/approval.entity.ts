import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { ApprovalState, Decision, GrantSubject } from '../protocol/approval.js';

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
