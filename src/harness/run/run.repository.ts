import { Injectable } from '@nestjs/common';
import { Database } from '../../database/index.js';
import { RUN_COLUMNS } from '../ledger/run-row.repository.js';
import { storableText } from '../ledger/storable.js';
import type { HarnessRun } from './run.entity.js';

export type NewRun = Pick<
  HarnessRun,
  | 'id'
  | 'tenantId'
  | 'sessionId'
  | 'userId'
  | 'homeTenantId'
  | 'requirement'
  | 'permissionMode'
  | 'approvalPolicy'
  | 'budget'
  | 'phase'
  | 'idempotencyKey'
  | 'idempotencyHash'
>;

/** The runs of sessions as they are read; what changes them goes through the ledger. */
@Injectable()
export class RunRepository {
  constructor(private readonly database: Database) {}

  /** A new run that waits for an owner. False when the session has an unfinished run, or one with the same key. */
  async insert(run: NewRun): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO harness_run
          (tenant_id, id, session_id, user_id, home_tenant_id, requirement, permission_mode, approval_policy, budget,
           phase, idempotency_key, idempotency_hash, status, reason)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12, 'QUEUED', 'created')
        ON CONFLICT DO NOTHING RETURNING id`,
      [
        run.tenantId,
        run.id,
        run.sessionId,
        run.userId,
        run.homeTenantId,
        storableText(run.requirement),
        run.permissionMode,
        run.approvalPolicy,
        JSON.stringify(run.budget),
        run.phase,
        run.idempotencyKey,
        run.idempotencyHash,
      ],
    );
    return rows.length > 0;
  }

  async find(tenantId: string, sessionId: string, runId: string): Promise<HarnessRun | undefined> {
    const [row] = await this.database.query<HarnessRun>(
      `SELECT ${RUN_COLUMNS} FROM harness_run WHERE tenant_id = $1 AND session_id = $2 AND id = $3`,
      [tenantId, sessionId, runId],
    );
    return row;
  }

  /** The session's run with the key. */
  async byKey(tenantId: string, sessionId: string, key: string): Promise<HarnessRun | undefined> {
    const [row] = await this.database.query<HarnessRun>(
      `SELECT ${RUN_COLUMNS} FROM harness_run
        WHERE tenant_id = $1 AND session_id = $2 AND idempotency_key = $3`,
      [tenantId, sessionId, key],
    );
    return row;
  }

  /** The id of the session's unfinished run. */
  async liveId(tenantId: string, sessionId: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ id: string }>(
      `SELECT id FROM harness_run
        WHERE tenant_id = $1 AND session_id = $2 AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')`,
      [tenantId, sessionId],
    );
    return row?.id;
  }

  /** The runs of a session, the newest first. */
  async page(
    tenantId: string,
    sessionId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<HarnessRun[]> {
    return this.database.query<HarnessRun>(
      `SELECT ${RUN_COLUMNS} FROM harness_run
        WHERE tenant_id = $1 AND session_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4`,
      [tenantId, sessionId, limit, offset],
    );
  }

  /** How many runs wait for an owner, of all tenants. */
  async queued(): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      "SELECT count(*) AS count FROM harness_run WHERE status = 'QUEUED'",
    );
    return row?.count ?? 0;
  }
}
