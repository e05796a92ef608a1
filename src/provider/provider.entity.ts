import {
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** A model service as a tenant has configured it. A deleted one stays as a row, and its code is free again. */
@Entity({ name: 'provider' })
export class Provider {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'varchar', length: 100 })
  providerName: string;

  @Column({ type: 'varchar', length: 50 })
  providerCode: string;

  @Column({ type: 'text', nullable: true })
  providerIcon: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  providerDesc: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  apiHost: string | null;

  @Column({ type: 'varchar', length: 40, nullable: true })
  protocolVersion: string | null;

  /** 0 enabled, 1 disabled. */
  @Column({ type: 'smallint', default: 0 })
  status: number;

  @Column({ type: 'integer', default: 0 })
  sortOrder: number;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updateTime: Date;

  @DeleteDateColumn({ type: 'timestamptz', nullable: true })
  deletedTime: Date | null;
}

export const PROVIDER_ENABLED = 0;
