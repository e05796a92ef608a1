import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Database } from '../../platform/database/index.js';
import { columnsOf, insertionOf } from './columns.repository.js';
import { HarnessSession } from './harness.entity.js';

/** A session with its unfinished run, where it has one. */
export type SessionRow = HarnessSession & { readonly activeRunId: string | null };

export type NewSession = Omit<
  HarnessSession,
  'nextMessageSequence' | 'revision' | 'pinnedAt' | 'deletedAt' | 'createTime' | 'updateTime'
>;

export interface SessionPage {
  readonly deleted: boolean;
  readonly limit: number;
  readonly offset: number;
}

const ROW = `${columnsOf(HarnessSession, 's')},
  (SELECT r.id FROM harness_run r
    WHERE r.tenant_id = $1 AND r.session_id = s.id AND r.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
  ) AS "activeRunId"`;

/** The sessions of users. Deleted ones stay until their tenant or user goes. */
@Injectable()
export class SessionRepository {
  constructor(private readonly database: Database) {}

  /** False when the user has a session with the same key already. */
  async insert(session: NewSession): Promise<boolean> {
    const { fields, values } = insertionOf(session);
    const rows = await this.database.query(
      `INSERT INTO harness_session ${fields}
        ON CONFLICT (tenant_id, user_id, idempotency_key) DO NOTHING RETURNING id`,
      values,
    );
    return rows.length > 0;
  }

  async find(tenantId: string, id: string): Promise<SessionRow | undefined> {
    const [row] = await this.database.prepared<SessionRow>(
      `SELECT ${ROW} FROM harness_session s WHERE s.tenant_id = $1 AND s.id = $2`,
      [tenantId, id],
    );
    return row;
  }

  async byKey(tenantId: string, userId: number, key: string): Promise<SessionRow | undefined> {
    const [row] = await this.database.query<SessionRow>(
      `SELECT ${ROW} FROM harness_session s
        WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.idempotency_key = $3`,
      [tenantId, userId, key],
    );
    return row;
  }

  /** The user's sessions, pinned ones first, newest first. */
  async page(tenantId: string, userId: number, page: SessionPage): Promise<SessionRow[]> {
    return this.database.query<SessionRow>(
      `SELECT ${ROW} FROM harness_session s
        WHERE s.tenant_id = $1 AND s.user_id = $2 AND (s.deleted_at IS NOT NULL) = $3
        ORDER BY s.pinned_at IS NULL, s.id DESC LIMIT $4 OFFSET $5`,
      [tenantId, userId, page.deleted, page.limit, page.offset],
    );
  }

  /** Whether the session is deleted; true when it does not exist. */
  async isDeleted(tenantId: string, id: string): Promise<boolean> {
    const sessions = this.database.repository(HarnessSession);
    return (await sessions.countBy({ tenantId, id, deletedAt: IsNull() })) === 0;
  }

  /** Nothing changes when the session already has this value. */
  async setPinned(tenantId: string, id: string, pinned: boolean): Promise<void> {
    await this.stamp('pinned_at', [tenantId, id, pinned]);
  }

  /** False when the session already has this value. */
  async setDeleted(tenantId: string, id: string, deleted: boolean): Promise<boolean> {
    return this.stamp('deleted_at', [tenantId, id, deleted]);
  }

  private async stamp(
    column: 'pinned_at' | 'deleted_at',
    values: readonly [tenantId: string, id: string, isSet: boolean],
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_session
          SET ${column} = CASE WHEN $3 THEN now() END, revision = revision + 1, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND (${column} IS NOT NULL) <> $3 RETURNING id`,
      values,
    );
    return rows.length > 0;
  }
}
