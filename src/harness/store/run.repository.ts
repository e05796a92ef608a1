import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { RUN_COLUMNS } from './run-row.repository.js';
import type { HarnessRun } from './harness.entity.js';

/** The runs of sessions as they are read; what changes them goes through the ledger. */
@Injectable()
export class RunRepository {
  constructor(private readonly database: Database) {}

  async find(tenantId: string, sessionId: string, runId: string): Promise<HarnessRun | undefined> {
    const [row] = await this.database.prepared<HarnessRun>(
      `SELECT ${RUN_COLUMNS} FROM harness_run WHERE tenant_id = $1 AND session_id = $2 AND id = $3`,
      [tenantId, sessionId, runId],
    );
    return row;
  }

  /** The session's run with the key. */
  async byKey(tenantId: string, sessionId: string, key: string): Promise<HarnessRun | undefined> {
    const [row] = await this.database.prepared<HarnessRun>(
      `SELECT ${RUN_COLUMNS} FROM harness_run
        WHERE tenant_id = $1 AND session_id = $2 AND idempotency_key = $3`,
      [tenantId, sessionId, key],
    );
    return row;
  }

  /** The id of the session's unfinished run. */
  async liveId(tenantId: string, sessionId: string): Promise<string | undefined> {
    const [row] = await this.database.prepared<{ id: string }>(
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
    const [row] = await acrossTenants('limit of the queue', () =>
      this.database.query<{ count: number }>(
        "SELECT count(*) AS count FROM harness_run WHERE status = 'QUEUED'",
      ),
    );
    return row?.count ?? 0;
  }
}
