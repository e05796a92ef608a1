import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { EventType } from './event.catalogue.js';

/** One event of a run, numbered from 1 without gaps. */
@Entity({ name: 'harness_event' })
export class HarnessEvent {
  @PrimaryColumn({ type: 'uuid' })
  runId: string;

  @PrimaryColumn({ type: 'bigint' })
  sequence: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'varchar', length: 40 })
  type: EventType;

  @Column({ type: 'varchar', length: 40, nullable: true })
  stepId: string | null;

  @Column({ type: 'uuid', nullable: true })
  toolCallId: string | null;

  @Column({ type: 'uuid', nullable: true })
  approvalId: string | null;

  @Column({ type: 'jsonb' })
  data: Readonly<Record<string, unknown>>;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
