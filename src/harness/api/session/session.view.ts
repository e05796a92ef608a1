import { ApiProperty } from '@nestjs/swagger';
import type { SessionRow } from '../../store/session.repository.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';

const SCHEMA_VERSION = 5;
const MILLISECONDS = { type: 'integer', example: 1_769_884_200_000 } as const;

/** A session as existing clients parse it; times are milliseconds since the epoch. */
export class HarnessSessionView {
  @ApiProperty({ type: 'integer', example: SCHEMA_VERSION })
  schemaVersion: number;

  @ApiProperty({ format: 'uuid' })
  sessionId: string;

  @ApiProperty({ example: '000000' })
  tenantId: string;

  @ApiProperty({ type: 'integer', example: 1 })
  userId: number;

  @ApiProperty({ description: 'Canonical path of the folder', example: '/srv/workspaces/shop' })
  workspace: string;

  @ApiProperty({ description: 'modelName', example: 'gpt-4o-mini' })
  model: string;

  @ApiProperty({ enum: PERMISSION_MODES })
  permissionMode: string;

  @ApiProperty({ enum: APPROVAL_POLICIES })
  approvalPolicy: string;

  @ApiProperty({ example: 'shop' })
  title: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: 'The unfinished run' })
  activeRunId: string | null;

  @ApiProperty(MILLISECONDS)
  createdAt: number;

  @ApiProperty(MILLISECONDS)
  updatedAt: number;

  @ApiProperty({ type: 'integer', example: 1 })
  revision: number;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  pinnedAt: number | null;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  deletedAt: number | null;

  @ApiProperty({ required: false, description: 'The request was a repetition' })
  replayed?: boolean;
}

export function toHarnessSessionView(row: SessionRow, replayed = false): HarnessSessionView {
  return {
    schemaVersion: SCHEMA_VERSION,
    sessionId: row.id,
    tenantId: row.tenantId,
    userId: row.userId,
    workspace: row.workspace,
    model: row.modelName,
    permissionMode: row.permissionMode,
    approvalPolicy: row.approvalPolicy,
    title: row.title,
    activeRunId: row.activeRunId,
    createdAt: row.createTime.getTime(),
    updatedAt: row.updateTime.getTime(),
    revision: row.revision,
    pinnedAt: row.pinnedAt?.getTime() ?? null,
    deletedAt: row.deletedAt?.getTime() ?? null,
    ...(replayed && { replayed }),
  };
}
