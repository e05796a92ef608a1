import { Injectable } from '@nestjs/common';
import { acrossTenants } from '../../platform/database/index.js';
import { VectorTable } from '../relational/vector-table.repository.js';
import type { ScopeCount } from '../relational/vector-table.repository.js';
import type { VectorEntry, VectorHit, VectorQuery, VectorScope } from '../vector-store.js';

/** Key of the advisory lock that serialises processes which start at the same time; an arbitrary constant. */
const TABLE_LOCK = 6_039_002;

/** All SQL of the pgvector store. */
@Injectable()
export class PgvectorRepository extends VectorTable {
  protected override readonly table = 'fragment_pgvector';

  async isAvailable(): Promise<boolean> {
    const rows = await this.database.query(
      "SELECT FROM pg_available_extensions WHERE name = 'vector'",
    );
    return rows.length > 0;
  }

  async hasTable(): Promise<boolean> {
    const [row] = await this.database.query<{ found: boolean }>(
      "SELECT to_regclass('fragment_pgvector') IS NOT NULL AS found",
    );
    return row?.found ?? false;
  }

  /** Not a migration, because the extension is optional and may be installed later. */
  async createTable(): Promise<void> {
    await this.database.longTransaction(async () => {
      await this.database.query('SELECT pg_advisory_xact_lock($1)', [TABLE_LOCK]);
      for (const statement of TABLE) await this.database.query(statement);
    });
  }

  override async upsert(scope: VectorScope, entries: readonly VectorEntry[]): Promise<void> {
    const rows = entries.map((_, at) => {
      const first = 4 + at * 3;
      return `($1, $2, $${first}, $${first + 1}, $3, $${first + 2}::vector)`;
    });
    await this.database.query(
      `INSERT INTO fragment_pgvector (knowledge_id, tenant_id, fragment_id, attachment_id, dimension, embedding)
       VALUES ${rows.join(', ')}
       ON CONFLICT (knowledge_id, tenant_id, fragment_id) DO UPDATE
          SET attachment_id = EXCLUDED.attachment_id, dimension = EXCLUDED.dimension,
              embedding = EXCLUDED.embedding`,
      [
        scope.knowledgeId,
        scope.tenantId,
        entries[0]?.vector.length ?? 0,
        ...entries.flatMap(({ fragmentId, attachmentId, vector }) => [
          fragmentId,
          attachmentId,
          binaryForm(vector),
        ]),
      ],
    );
  }

  override async scopes(): Promise<ScopeCount[]> {
    return acrossTenants('sweep of vectors', () =>
      this.database.query<ScopeCount>(
        `SELECT tenant_id AS "tenantId", knowledge_id AS "knowledgeId", count(*) AS count
         FROM fragment_pgvector GROUP BY tenant_id, knowledge_id ORDER BY tenant_id, knowledge_id`,
      ),
    );
  }

  /**
   * The inner product of unit vectors is the cosine; pgvector's operator returns its negative. The inner query computes
   * it once per row; a single query would compute it again for the result.
   */
  async nearest(
    scope: VectorScope,
    { vector, limit, fragmentIds, attachmentIds }: VectorQuery,
  ): Promise<VectorHit[]> {
    return this.database.query<VectorHit>(
      `SELECT fragment_id AS "fragmentId", -distance AS score
         FROM (SELECT fragment_id, embedding <#> $4::vector AS distance FROM fragment_pgvector
                WHERE knowledge_id = $1 AND tenant_id = $2 AND dimension = $3
                  AND ($6::bigint[] IS NULL OR fragment_id = ANY ($6))
                  AND ($7::bigint[] IS NULL OR attachment_id = ANY ($7))
                ORDER BY distance, fragment_id LIMIT $5) nearest`,
      [
        scope.knowledgeId,
        scope.tenantId,
        vector.length,
        binaryForm(vector),
        limit,
        fragmentIds ?? null,
        attachmentIds ?? null,
      ],
    );
  }
}

const TABLE = [
  'CREATE EXTENSION IF NOT EXISTS vector',
  // Vectors of up to 2,000 dimensions stay in their row instead of TOAST, which makes a scan 3 to 4 times as fast.
  `CREATE TABLE IF NOT EXISTS fragment_pgvector (
     knowledge_id bigint NOT NULL REFERENCES knowledge_base (id) ON DELETE CASCADE,
     tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
     fragment_id bigint NOT NULL,
     attachment_id bigint NOT NULL REFERENCES attachment (id) ON DELETE CASCADE,
     dimension integer NOT NULL,
     embedding vector NOT NULL,
     PRIMARY KEY (knowledge_id, tenant_id, fragment_id)
   ) WITH (toast_tuple_target = 8160)`,
  'ALTER TABLE fragment_pgvector ALTER COLUMN embedding SET STORAGE EXTERNAL',
  'CREATE INDEX IF NOT EXISTS fragment_pgvector_attachment ON fragment_pgvector (attachment_id)',
  'CREATE INDEX IF NOT EXISTS fragment_pgvector_tenant ON fragment_pgvector (tenant_id)',
];

/** The binary input format of pgvector: the dimension and a zero as 16 bits, then 32-bit floats, all big-endian. */
function binaryForm(vector: Float32Array): Buffer {
  const form = Buffer.alloc(4 + vector.length * 4);
  form.writeUInt16BE(vector.length, 0);
  for (const [at, number] of vector.entries()) form.writeFloatBE(number, 4 + at * 4);
  return form;
}
