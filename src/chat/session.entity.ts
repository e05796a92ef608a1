import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** A conversation of one user. During a turn it has the turn's id and lease. */
@Entity({ name: 'chat_session' })
export class ChatSession {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  userId: number;

  @Column({ type: 'varchar', length: 255 })
  sessionTitle: string;

  @Column({ type: 'text' })
  sessionContent: string;

  @Column({ type: 'varchar', length: 64, nullable: true })
  conversationId: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;

  @Column({ type: 'uuid', nullable: true, select: false })
  turnId: string | null;

  @Column({ type: 'timestamptz', nullable: true, select: false })
  turnLease: Date | null;

  @Column({ type: 'boolean', default: false, select: false })
  stopRequested: boolean;
}
