import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** One sign-in. Its token is valid while this row exists and is neither expired nor idle. */
@Entity({ name: 'login_session' })
export class LoginSession {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  userId: number;

  @Column({ type: 'varchar', length: 64 })
  clientId: string;

  /** The tenant a super administrator has switched to. */
  @Column({ type: 'varchar', length: 20, nullable: true })
  actingTenantId: string | null;

  @Column({ type: 'varchar', length: 64, nullable: true })
  ip: string | null;

  @Column({ type: 'varchar', length: 300, nullable: true })
  userAgent: string | null;

  @Column({ type: 'integer' })
  activeTimeout: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', insert: false })
  lastActiveTime: Date;

  @Column({ type: 'timestamptz' })
  expireTime: Date;
}
