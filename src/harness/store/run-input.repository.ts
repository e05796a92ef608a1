import { Injectable } from '@nestjs/common';
import { Any } from 'typeorm';
import { Database } from '../../platform/database/index.js';
import { storableText } from './storable.js';
import { columnsOf, insertionOf } from './columns.repository.js';
import type { RunKey } from './event.repository.js';
import { HarnessInput } from './harness.entity.js';

const COLUMNS = columnsOf(HarnessInput);

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
    const { fields, values } = insertionOf({ ...input, content: storableText(input.content) });
    const rows = await this.database.query(
      `INSERT INTO harness_input ${fields} ON CONFLICT (run_id, idempotency_key) DO NOTHING RETURNING id`,
      values,
    );
    return rows.length > 0;
  }

  async byKey(run: RunKey, idempotencyKey: string): Promise<HarnessInput | null> {
    const { tenantId, id: runId } = run;
    return this.database.repository(HarnessInput).findOneBy({ tenantId, runId, idempotencyKey });
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

  async consume({ tenantId, id: runId }: RunKey, ids: readonly string[]): Promise<void> {
    const inputs = this.database.repository(HarnessInput);
    await inputs.update({ tenantId, runId, id: Any([...ids]) }, { consumedAt: () => 'now()' });
  }
}
