import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../platform/database/index.js';
import type { VectorScope } from '../vector-store/index.js';
import type { VectorRemoval } from './fragment.entity.js';

/** Target of a removal within a base; the whole base if empty. */
export type RemovalTarget = Partial<
  Readonly<{ attachmentId: number; fragmentIds: readonly number[]; upTo: number }>
>;

/** A removal that this process carries out now. */
export type ClaimedRemoval = Pick<
  VectorRemoval,
  'id' | 'tenantId' | 'knowledgeId' | 'store' | 'attachmentId' | 'fragmentIds' | 'upTo' | 'attempts'
>;

const CLAIMED = `id, tenant_id AS "tenantId", knowledge_id AS "knowledgeId", store,
  attachment_id AS "attachmentId", fragment_ids AS "fragmentIds", up_to AS "upTo", attempts`;

/** The first pause after a failed attempt, which doubles with each further one, and the longest. */
const FIRST_PAUSE_SECONDS = 5;
const MAX_PAUSE_SECONDS = 600;

@Injectable()
export class VectorRemovalRepository {
  constructor(private readonly database: Database) {}

  /** Inserts a removal that is claimed for its first attempt, of `limitSeconds`. */
  async insert(
    { tenantId, knowledgeId }: VectorScope,
    store: string,
    { attachmentId, fragmentIds, upTo }: RemovalTarget,
    limitSeconds: number,
  ): Promise<ClaimedRemoval> {
    const [row] = await this.database.query<ClaimedRemoval>(
      `INSERT INTO vector_removal (tenant_id, knowledge_id, store, attachment_id, fragment_ids, up_to, due_at)
       VALUES ($1, $2, $3, $4, $5::bigint[], $6, now() + make_interval(secs => $7)) RETURNING ${CLAIMED}`,
      [
        tenantId,
        knowledgeId,
        store,
        attachmentId ?? null,
        fragmentIds ?? null,
        upTo ?? null,
        limitSeconds,
      ],
    );
    if (!row) throw new Error('The removal of vectors was not stored.');
    return row;
  }

  /** The due removals of all tenants, the longest waiting first. */
  async due(limit: number): Promise<Pick<VectorRemoval, 'id' | 'tenantId'>[]> {
    return acrossTenants('sweep of vector removals', () =>
      this.database.query<Pick<VectorRemoval, 'id' | 'tenantId'>>(
        `SELECT id, tenant_id AS "tenantId" FROM vector_removal
          WHERE due_at <= now() ORDER BY due_at, id LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Claims a due removal for `limitSeconds`; undefined when it is not due any more. */
  async claim(
    tenantId: string,
    id: number,
    limitSeconds: number,
  ): Promise<ClaimedRemoval | undefined> {
    const [row] = await this.database.query<ClaimedRemoval>(
      `UPDATE vector_removal SET due_at = now() + make_interval(secs => $3)
        WHERE tenant_id = $1 AND id = $2 AND due_at <= now() RETURNING ${CLAIMED}`,
      [tenantId, id, limitSeconds],
    );
    return row;
  }

  /** Counts a failed attempt and releases the removal for a later one. */
  async postpone({ tenantId, id }: Pick<VectorRemoval, 'tenantId' | 'id'>): Promise<void> {
    await this.database.query(
      `UPDATE vector_removal SET attempts = attempts + 1,
              due_at = now() + make_interval(secs => least($3, $4 * 2 ^ least(attempts, 20)))
        WHERE tenant_id = $1 AND id = $2`,
      [tenantId, id, MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS],
    );
  }

  async remove({ tenantId, id }: Pick<VectorRemoval, 'tenantId' | 'id'>): Promise<void> {
    await this.database.query('DELETE FROM vector_removal WHERE tenant_id = $1 AND id = $2', [
      tenantId,
      id,
    ]);
  }

  /** Number of pending removals per base; bases without any are missing. */
  async counts(tenantId: string, knowledgeIds: readonly number[]): Promise<Map<number, number>> {
    const rows = await this.database.query<{ knowledgeId: number; count: number }>(
      `SELECT knowledge_id AS "knowledgeId", count(*) AS count FROM vector_removal
        WHERE tenant_id = $1 AND knowledge_id = ANY ($2::bigint[]) GROUP BY knowledge_id`,
      [tenantId, knowledgeIds],
    );
    return new Map(rows.map(({ knowledgeId, count }) => [knowledgeId, count]));
  }

  /** Number of pending removals of all tenants. */
  async count(): Promise<number> {
    const [row] = await acrossTenants('metric of vector removals', () =>
      this.database.query<{ count: number }>('SELECT count(*) AS count FROM vector_removal'),
    );
    return row?.count ?? 0;
  }
}
