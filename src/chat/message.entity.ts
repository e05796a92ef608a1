import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { SourceReference } from './augmentation/sources.js';

export type MessageRole = 'user' | 'assistant' | 'system';

/** How an answer ended: finished by the model, stopped by the service or its user, or failed. */
export type MessageState = 'complete' | 'stopped' | 'failed';

/** A source of a stored answer. */
export interface StoredSource extends SourceReference {
  readonly cited: boolean;
}

/** One message of a conversation; a question and its answer share the turn id. */
@Entity({ name: 'chat_message' })
export class ChatMessage {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column({ type: 'varchar', length: 20 })
  tenantId: string;

  @Column({ type: 'bigint' })
  userId: number;

  @Column({ type: 'bigint', nullable: true })
  sessionId: number | null;

  @Column({ type: 'uuid', nullable: true })
  turnId: string | null;

  @Column({ type: 'varchar', length: 20 })
  role: MessageRole;

  @Column({ type: 'text' })
  content: string;

  @Column({ type: 'text', nullable: true })
  reasoning: string | null;

  @Column({ type: 'varchar', length: 200, nullable: true })
  modelName: string | null;

  @Column({ type: 'varchar', length: 20, default: 'complete' })
  state: MessageState;

  @Column({ type: 'varchar', length: 40, nullable: true })
  finishReason: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  error: string | null;

  @Column({ type: 'integer', nullable: true })
  inputTokens: number | null;

  @Column({ type: 'integer', nullable: true })
  outputTokens: number | null;

  @Column({ type: 'integer', default: 0 })
  totalTokens: number;

  @Column({ type: 'boolean', default: false })
  usageEstimated: boolean;

  @Column({ type: 'integer', nullable: true })
  firstTokenMs: number | null;

  @Column({ type: 'integer', nullable: true })
  durationMs: number | null;

  /** The fragments that were sent to the model, and whether the answer cites them; null without retrieval. */
  @Column({ type: 'jsonb', nullable: true })
  sources: StoredSource[] | null;

  @Column({ type: 'varchar', length: 200, nullable: true })
  idempotencyKey: string | null;

  @Column({ type: 'char', length: 64, nullable: true })
  requestHash: string | null;

  @Column({ type: 'varchar', length: 500, nullable: true })
  remark: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createTime: Date;
}
