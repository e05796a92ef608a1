import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** One call of the model service, with what it cost. */
@Entity({ name: 'harness_model_call' })
export class HarnessModelCall {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'integer' })
  iteration: number;

  @Column({ type: 'integer' })
  attempt: number;

  @Column({ type: 'varchar', length: 10 })
  purpose: string;

  @Column({ type: 'integer' })
  fence: number;

  @Column({ type: 'varchar', length: 10 })
  state: string;

  @Column({ type: 'bigint', nullable: true })
  inputTokens: number | null;

  @Column({ type: 'bigint', nullable: true })
  outputTokens: number | null;

  @Column({ type: 'bigint', nullable: true })
  cachedTokens: number | null;

  @Column({ type: 'double precision', nullable: true })
  cost: number | null;

  @Column({ type: 'boolean' })
  estimated: boolean;

  @Column({ type: 'integer', nullable: true })
  durationMs: number | null;

  @Column({ type: 'varchar', length: 60, nullable: true })
  errorCode: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}
