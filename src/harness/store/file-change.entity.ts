import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

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
