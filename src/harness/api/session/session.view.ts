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
import { shown } from '../shown.js';
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
  return shown(HarnessSessionView, {
    ...row,
    schemaVersion: SCHEMA_VERSION,
    sessionId: row.id,
    model: row.modelName,
    createdAt: row.createTime,
    updatedAt: row.updateTime,
    ...(replayed && { replayed }),
  });
}
