import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** Length of the beginning of what the user said that is kept. */
export const EXCERPT_LENGTH = 200;

/** Work that a model service does for a user, in the state of the last lookup. Only the service knows where the result is. */
@Entity({ name: 'media_task' })
export class MediaTask {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  userId: number;

  /** Null when the model was deleted. */
  @Column({ type: 'bigint', nullable: true })
  modelId: number | null;

  @Column({ type: 'varchar', length: 200 })
  modelName: string;

  /** image, audio or video. */
  @Column({ type: 'varchar', length: 10 })
  kind: string;

  @Column({ type: 'varchar', length: 200 })
  providerTaskId: string;

  /** The service's own word; null when it has said none. */
  @Column({ type: 'varchar', length: 50, nullable: true })
  status: string | null;

  @Column({ type: 'varchar', length: EXCERPT_LENGTH })
  excerpt: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
