import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { VectorScope } from '../../vector-store/index.js';

/** Compares the vectors of a store with the fragments of the database, for all tenants, one scope at a time. */
@Injectable()
export class ReconciliationRepository {
  constructor(private readonly database: Database) {}

  /** The ids that no fragment of the base has. */
  async missing(
    { tenantId, knowledgeId }: VectorScope,
    fragmentIds: readonly number[],
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      'SELECT id FROM fragment WHERE tenant_id = $1 AND knowledge_id = $2 AND id = ANY ($3::bigint[])',
      [tenantId, knowledgeId, fragmentIds],
    );
    const existingIds = new Set(rows.map(({ id }) => id));
    return fragmentIds.filter((id) => !existingIds.has(id));
  }
}
