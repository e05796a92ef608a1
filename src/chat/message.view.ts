import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../http/index.js';
import type { ChatMessage } from './message.entity.js';

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

  @ApiProperty({ type: String, nullable: true, description: 'The thinking text' })
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
    remark: message.remark,
    createTime: wireTime(message.createTime),
  };
}
