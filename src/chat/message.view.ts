import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../platform/http/index.js';
import type { ChatMessage } from './message.entity.js';

/** A fragment that was sent to the model. */
export class SourceView {
  @ApiProperty({ example: 1, description: 'The number by which the answer cites it' })
  number: number;

  @ApiProperty({ example: true, description: 'Whether the answer cites it' })
  cited: boolean;

  @ApiProperty({ example: 3 })
  knowledgeId: number;

  @ApiProperty({ example: 'a1b2c3d4e5' })
  docId: string;

  @ApiProperty({ example: 'k3v9x0a2bq', description: 'fid of the fragment' })
  fid: string;

  @ApiProperty({ example: 'warranty.pdf' })
  document: string;

  @ApiProperty({ type: Number, nullable: true })
  page: number | null;

  @ApiProperty({ type: String, nullable: true })
  headings: string | null;

  @ApiProperty({ type: String, nullable: true })
  location: string | null;

  @ApiProperty({ example: 0.83 })
  score: number;
}

export class MessageView {
  @ApiProperty({ example: '40' })
  id: string;

  @ApiProperty({ type: String, nullable: true, example: '12' })
  sessionId: string | null;

  @ApiProperty({ example: 3 })
  userId: number;

  @ApiProperty({ enum: ['user', 'assistant', 'system'] })
  role: string;

  @ApiProperty({ description: 'Never null; empty when a turn failed before its first token' })
  content: string;

  @ApiProperty({ type: String, nullable: true, description: 'Thinking text of the model' })
  reasoningContent: string | null;

  @ApiProperty({ type: String, nullable: true })
  modelName: string | null;

  @ApiProperty({ enum: ['complete', 'stopped', 'failed'] })
  state: string;

  @ApiProperty({ type: String, nullable: true, example: 'stop' })
  finishReason: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why the answer failed' })
  error: string | null;

  @ApiProperty({ type: Number, nullable: true })
  inputTokens: number | null;

  @ApiProperty({ type: Number, nullable: true })
  outputTokens: number | null;

  @ApiProperty({ example: 120 })
  totalTokens: number;

  @ApiProperty({ description: 'True when the provider sent no usage and the counts are estimates' })
  usageEstimated: boolean;

  @ApiProperty({ type: Number, nullable: true })
  firstTokenMs: number | null;

  @ApiProperty({ type: Number, nullable: true })
  durationMs: number | null;

  @ApiProperty({ type: [SourceView], description: 'The fragments that were sent to the model' })
  sources: SourceView[];

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({ example: '2026-01-31 12:00:00' })
  createTime: string;
}

export function toMessageView(message: ChatMessage): MessageView {
  return {
    id: String(message.id),
    sessionId: message.sessionId === null ? null : String(message.sessionId),
    userId: message.userId,
    role: message.role,
    content: message.content,
    reasoningContent: message.reasoning,
    modelName: message.modelName,
    state: message.state,
    finishReason: message.finishReason,
    error: message.error,
    inputTokens: message.inputTokens,
    outputTokens: message.outputTokens,
    totalTokens: message.totalTokens,
    usageEstimated: message.usageEstimated,
    firstTokenMs: message.firstTokenMs,
    durationMs: message.durationMs,
    sources: message.sources ?? [],
    remark: message.remark,
    createTime: wireTime(message.createTime),
  };
}
