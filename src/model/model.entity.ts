import {
  Column,
  CreateDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** One model of a provider. The optional facts at the end are null where they are unknown. */
@Entity({ name: 'model' })
export class Model {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  /** A code, not an id: it goes on naming whichever provider has the code. */
  @Column({ type: 'varchar', length: 50 })
  providerCode: string;

  @Column({ type: 'varchar', length: 20 })
  category: string;

  @Column({ type: 'varchar', length: 200 })
  modelName: string;

  @Column({ type: 'varchar', length: 255, nullable: true })
  modelDescribe: string | null;

  /** Y or N: whether end users see it in their list. */
  @Column({ type: 'char', length: 1, default: 'Y' })
  modelShow: string;

  @Column({ type: 'integer', nullable: true })
  modelDimension: number | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  apiHost: string | null;

  /** As the vault has sealed it; null without a key. */
  @Column({ type: 'text', nullable: true })
  credential: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @Column({ type: 'integer', nullable: true })
  contextWindow: number | null;

  @Column({ type: 'integer', nullable: true })
  maxOutput: number | null;

  @Column({ type: 'boolean', nullable: true })
  supportsTools: boolean | null;

  @Column({ type: 'boolean', nullable: true })
  supportsVision: boolean | null;

  @Column({ type: 'numeric', precision: 14, scale: 6, nullable: true })
  inputPrice: number | null;

  @Column({ type: 'numeric', precision: 14, scale: 6, nullable: true })
  outputPrice: number | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;
}
