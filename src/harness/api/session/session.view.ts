import {
  flag,
  integer,
  nullable,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import type { SessionRow } from '../../store/session.repository.js';
import { APPROVAL_POLICIES, PERMISSION_MODES } from '../../protocol/policy.js';

const SCHEMA_VERSION = 5;
/** A session as existing clients parse it; times are milliseconds since the epoch. */
export class HarnessSessionView extends View({
  schemaVersion: integer({ example: SCHEMA_VERSION }),
  sessionId: uuid(),
  tenantId: text({ example: '000000' }),
  userId: integer({ example: 1 }),
  workspace: text({ description: 'Canonical path of the folder', example: '/srv/workspaces/shop' }),
  model: text({ description: 'modelName', example: 'gpt-4o-mini' }),
  permissionMode: oneOf(PERMISSION_MODES),
  approvalPolicy: oneOf(APPROVAL_POLICIES),
  title: text({ example: 'shop' }),
  activeRunId: nullable(uuid({ description: 'The unfinished run' })),
  createdAt: timestamp(),
  updatedAt: timestamp(),
  revision: integer({ example: 1 }),
  pinnedAt: nullable(timestamp()),
  deletedAt: nullable(timestamp()),
  replayed: optional(flag({ description: 'The request was a repetition' })),
}) {}

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
