import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../platform/http/index.js';
import type { ChatSession } from './session.entity.js';

export class SessionView {
  @ApiProperty({ example: '12', description: 'A string of digits' })
  id: string;

  @ApiProperty({ example: 3 })
  userId: number;

  @ApiProperty({ example: 'Holiday plans' })
  sessionTitle: string;

  @ApiProperty()
  sessionContent: string;

  @ApiProperty({ type: String, nullable: true })
  conversationId: string | null;

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({ example: '2026-01-31 12:00:00' })
  createTime: string;

  @ApiProperty({ example: '2026-01-31 12:00:00' })
  updateTime: string;
}

export function toSessionView(session: ChatSession): SessionView {
  const { userId, sessionTitle, sessionContent, conversationId, remark } = session;
  return {
    id: String(session.id),
    userId,
    sessionTitle,
    sessionContent,
    conversationId,
    remark,
    createTime: wireTime(session.createTime),
    updateTime: wireTime(session.updateTime),
  };
}
