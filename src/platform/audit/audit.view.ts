import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../http/index.js';
import type { AuditEntry } from './audit.entity.js';

export class AuditEntryView {
  @ApiProperty({ type: 'integer', example: 1 })
  id: number;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'null when the request had no sign-in',
  })
  actorId: number | null;

  @ApiProperty({ type: String, nullable: true, example: 'admin' })
  actorName: string | null;

  @ApiProperty({ example: 'update' })
  action: string;

  @ApiProperty({ example: 'provider' })
  targetType: string;

  @ApiProperty({ type: String, nullable: true, example: '12' })
  targetId: string | null;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { status: 1 } })
  detail: Record<string, unknown>;

  @ApiProperty({ type: String, nullable: true, example: '127.0.0.1' })
  ip: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The X-Request-Id of the answer' })
  requestId: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;
}

export function toAuditEntryView(entry: AuditEntry): AuditEntryView {
  return {
    id: entry.id,
    actorId: entry.actorId,
    actorName: entry.actorName,
    action: entry.action,
    targetType: entry.targetType,
    targetId: entry.targetId,
    detail: entry.detail,
    ip: entry.ip,
    requestId: entry.requestId,
    createTime: wireTime(entry.createTime),
  };
}
