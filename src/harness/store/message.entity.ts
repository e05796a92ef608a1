import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';
import type { MessageRole, MessageToolCall, MessageUsage } from '../protocol/run.values.js';

/** One message of a session; never changed once it is written. A tool call has at most one TOOL message, by index. */
@Entity({ name: 'harness_message' })
export class HarnessMessage {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'uuid' })
  sessionId: string;

  @Column({ type: 'uuid' })
  runId: string;

  @Column({ type: 'bigint' })
  sequence: number;

  @Column({ type: 'varchar', length: 10 })
  role: MessageRole;

  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'text', nullable: true })
  thinking: string | null;

  @Column({ type: 'jsonb' })
  toolCalls: readonly MessageToolCall[];

  @Column({ type: 'uuid', nullable: true })
  toolCallId: string | null;

  @Column({ type: 'varchar', length: 100, nullable: true })
  toolName: string | null;

  @Column({ type: 'boolean' })
  toolError: boolean;

  @Column({ type: 'varchar', length: 20, nullable: true })
  finishReason: string | null;

  @Column({ type: 'jsonb', nullable: true })
  usage: MessageUsage | null;

  @Column({ type: 'jsonb' })
  metadata: Readonly<Record<string, unknown>>;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
