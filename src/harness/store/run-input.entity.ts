import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { InputKind } from '../protocol/run.values.js';

/** What a user says to a run after its requirement: STEER is taken in at the next step, FOLLOW_UP when the run would end. */
@Entity({ name: 'harness_input' })
export class HarnessInput {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'varchar', length: 10 })
  kind: InputKind;

  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'varchar', length: 256 })
  idempotencyKey: string;

  @Column({ type: 'char', length: 64 })
  idempotencyHash: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  consumedAt: Date | null;
}
