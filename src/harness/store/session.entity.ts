import { Column, CreateDateColumn, Entity, PrimaryColumn, UpdateDateColumn } from 'typeorm';
import type { ApprovalPolicy, PermissionMode } from '../protocol/policy.js';

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
