import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { storableText } from './storable.js';
import type { HarnessInput, HarnessRun } from './harness.entity.js';

type RunKey = Pick<HarnessRun, 'tenantId' | 'id'>;

const COLUMNS = `id, tenant_id AS "tenantId", run_id AS "runId", kind, content, idempotency_key AS "idempotencyKey",
  idempotency_hash AS "idempotencyHash", create_time AS "createTime", consumed_at AS "consumedAt"`;

/** What users say to runs. Call every change while the run's row is locked. */
@Injectable()
export class RunInputRepository {
  constructor(private readonly database: Database) {}

  /** What the run has not taken in yet, the oldest first. */
  async pending({ tenantId, id }: RunKey): Promise<HarnessInput[]> {
    return this.database.prepared<HarnessInput>(
      `SELECT ${COLUMNS} FROM harness_input
        WHERE tenant_id = $1 AND run_id = $2 AND consumed_at IS NULL ORDER BY id`,
      [tenantId, id],
    );
  }

  /** False when the run has an input with the same key already. */
  async insert(input: Omit<HarnessInput, 'createTime' | 'consumedAt'>): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO harness_input (tenant_id, run_id, id, kind, content, idempotency_key, idempotency_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (run_id, idempotency_key) DO NOTHING RETURNING id`,
      [
        input.tenantId,
        input.runId,
        input.id,
        input.kind,
        storableText(input.content),
        input.idempotencyKey,
        input.idempotencyHash,
      ],
    );
    return rows.length > 0;
  }

  async byKey({ tenantId, id }: RunKey, key: string): Promise<HarnessInput | undefined> {
    const [row] = await this.database.query<HarnessInput>(
      `SELECT ${COLUMNS} FROM harness_input
        WHERE tenant_id = $1 AND run_id = $2 AND idempotency_key = $3`,
      [tenantId, id, key],
    );
    return row;
  }

  /** How much the run has not taken in yet. */
  async pendingSize({ tenantId, id }: RunKey): Promise<{ count: number; bytes: number }> {
    const [row] = await this.database.query<{ count: number; bytes: number }>(
      `SELECT count(*) AS count, coalesce(sum(octet_length(content)), 0)::bigint AS bytes FROM harness_input
        WHERE tenant_id = $1 AND run_id = $2 AND consumed_at IS NULL`,
      [tenantId, id],
    );
    return row ?? { count: 0, bytes: 0 };
  }

  async consume({ tenantId, id }: RunKey, ids: readonly string[]): Promise<void> {
    await this.database.query(
      `UPDATE harness_input SET consumed_at = now()
        WHERE tenant_id = $1 AND run_id = $2 AND id = ANY ($3::uuid[]) RETURNING id`,
      [tenantId, id, ids],
    );
  }
}
