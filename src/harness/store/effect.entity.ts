import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { FileOperation, SeenFile } from '../workspace/file-operation.js';
import type { EffectClass, EffectState, Resolution } from '../protocol/effect.state.js';

/** One tool call of an assistant message and what came of it. Written down before it starts. */
@Entity({ name: 'harness_effect' })
export class HarnessEffect {
  @PrimaryColumn({ type: 'uuid' })
  toolCallId: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'integer' })
  iteration: number;

  @Column({ type: 'integer' })
  ordinal: number;

  @Column({ type: 'varchar', length: 200 })
  providerCallId: string;

  @Column({ type: 'varchar', length: 100 })
  toolName: string;

  @Column({ type: 'varchar', length: 10 })
  effectClass: EffectClass;

  @Column({ type: 'text' })
  argumentsJson: string;

  @Column({ type: 'char', length: 64 })
  argumentsSha256: string;

  @Column({ type: 'jsonb' })
  input: Readonly<Record<string, unknown>>;

  @Column({ type: 'varchar', length: 20 })
  state: EffectState;

  @Column({ type: 'integer', nullable: true })
  fence: number | null;

  @Column({ type: 'varchar', length: 100, nullable: true })
  boot: string | null;

  @Column({ type: 'jsonb' })
  operations: readonly FileOperation[];

  @Column({ type: 'char', length: 64, nullable: true })
  snapshotSha256: string | null;

  @Column({ type: 'jsonb' })
  reads: readonly SeenFile[];

  @Column({ type: 'text', nullable: true })
  result: string | null;

  @Column({ type: 'varchar', length: 60, nullable: true })
  errorCode: string | null;

  @Column({ type: 'integer', nullable: true })
  exitCode: number | null;

  @Column({ type: 'uuid', nullable: true })
  artifactId: string | null;

  @Column({ type: 'boolean' })
  reconciled: boolean;

  /** What a person has said about it after nobody knew its outcome. */
  @Column({ type: 'varchar', length: 20, nullable: true })
  resolution: Resolution | null;

  @Column({ type: 'bigint', nullable: true })
  resolvedBy: number | null;

  @Column({ type: 'varchar', length: 4000, nullable: true })
  note: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;

  @Column({ type: 'timestamptz', nullable: true })
  startedAt: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  endedAt: Date | null;
}
