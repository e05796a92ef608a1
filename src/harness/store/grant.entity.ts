import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { GrantKind } from '../protocol/approval.js';

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
