import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../database/index.js';

const MAX_TENANT_COUNT = 10_000;

/** The tenants that have their content recorded in traces. */
@Injectable()
export class TraceContentRepository {
  constructor(private readonly database: Database) {}

  async tenants(): Promise<ReadonlySet<string>> {
    const rows = await acrossTenants('content of traces', () =>
      this.database.query<{ tenantId: string }>(
        `SELECT tenant_id AS "tenantId" FROM tenant WHERE trace_content LIMIT ${MAX_TENANT_COUNT}`,
      ),
    );
    return new Set(rows.map(({ tenantId }) => tenantId));
  }
}
