import { Injectable } from '@nestjs/common';
import { Database, withLongStatements, acrossTenants } from '../platform/database/index.js';
import type { RunStatement } from '../platform/database/index.js';
import type { VectorEntry, VectorHit, VectorQuery, VectorScope } from './vector-store.js';
import { randomInt } from 'node:crypto';
import { STAMP_BITS } from './exact/vector-memory.js';
import type { SetList, SetVectors, VectorSet } from './exact/vector-memory.js';
import type { KnownPoint } from './qdrant/qdrant.collections.js';

/** The vectors of one dimension of a base. */
export interface LargeSet {
  readonly knowledgeId: number;
  readonly dimension: number;
  readonly count: number;
}

export interface VectorIndex {
  readonly name: string;
  readonly valid: boolean;
  readonly knowledgeId: number;
  readonly dimension: number;
  readonly lists: number;
}

export type ScopeCount = VectorScope & { readonly count: number };

/** A table of vectors: keyed by (knowledge_id, tenant_id, fragment_id), with attachment_id and dimension. */
@Injectable()
export abstract class VectorTable {
  protected abstract readonly table: string;

  constructor(protected readonly database: Database) {}

  /** Adds or replaces entries of one dimension, without duplicate fragments. */
  abstract upsert(scope: VectorScope, entries: readonly VectorEntry[]): Promise<void>;

  /** The scopes of the whole installation. */
  abstract scopes(): Promise<ScopeCount[]>;

  async removeFragments(scope: VectorScope, fragmentIds: readonly number[]): Promise<void> {
    await this.database.query(
      `DELETE FROM ${this.table} WHERE knowledge_id = $1 AND tenant_id = $2 AND fragment_id = ANY ($3::bigint[])`,
      [scope.knowledgeId, scope.tenantId, fragmentIds],
    );
  }

  async removeAttachment(scope: VectorScope, attachmentId: number): Promise<void> {
    await this.database.query(
      `DELETE FROM ${this.table} WHERE attachment_id = $1 AND knowledge_id = $2 AND tenant_id = $3`,
      [attachmentId, scope.knowledgeId, scope.tenantId],
    );
  }

  async removeKnowledge(scope: VectorScope): Promise<void> {
    await withLongStatements(() =>
      this.database.query(`DELETE FROM ${this.table} WHERE knowledge_id = $1 AND tenant_id = $2`, [
        scope.knowledgeId,
        scope.tenantId,
      ]),
    );
  }

  async removeTenant(tenantId: string): Promise<void> {
    await withLongStatements(() =>
      this.database.query(`DELETE FROM ${this.table} WHERE tenant_id = $1`, [tenantId]),
    );
  }

  async count(scope: VectorScope, attachmentId?: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${this.table}
        WHERE knowledge_id = $1 AND tenant_id = $2 AND ($3::bigint IS NULL OR attachment_id = $3)`,
      [scope.knowledgeId, scope.tenantId, attachmentId ?? null],
    );
    return row?.count ?? 0;
  }

  async countOfTenant(tenantId: string): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${this.table} WHERE tenant_id = $1`,
      [tenantId],
    );
    return row?.count ?? 0;
  }

  async fragmentIds(
    scope: VectorScope,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT fragment_id AS id FROM ${this.table}
        WHERE knowledge_id = $1 AND tenant_id = $2 AND fragment_id > $3
        ORDER BY fragment_id LIMIT $4`,
      [scope.knowledgeId, scope.tenantId, after, limit],
    );
    return rows.map(({ id }) => id);
  }
}

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

  /** Creates the table. It is not a migration, because the extension is optional and may be installed later. */
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

  /** Whether the extension has what searches by index need: half precision, and filters that lose no hit. */
  async canIndex(): Promise<boolean> {
    const [row] = await this.database.query<{ version: string }>(
      "SELECT extversion AS version FROM pg_extension WHERE extname = 'vector'",
    );
    const [major = 0, minor = 0] = row?.version.split('.').map(Number) ?? [];
    return major > 0 || minor >= 8;
  }

  /** Sets of a base and a dimension with so many numbers or more; a scan takes time by their number. */
  async largeSets(minNumbers: number): Promise<LargeSet[]> {
    const find = (): Promise<LargeSet[]> =>
      this.database.query<LargeSet>(
        `SELECT knowledge_id AS "knowledgeId", dimension, count(*) AS count FROM fragment_pgvector
          WHERE dimension <= $2 GROUP BY knowledge_id, dimension
         HAVING count(*) * dimension >= $1 ORDER BY knowledge_id, dimension`,
        [minNumbers, MAX_INDEXED_DIMENSION],
      );
    return acrossTenants('indexes of vectors', () => withLongStatements(find));
  }

  /** The indexes, also those whose building failed. */
  async indexes(run: RunStatement): Promise<VectorIndex[]> {
    const rows = await run<{ name: string; valid: boolean }>(
      `SELECT relname AS name, indisvalid AS valid FROM pg_index JOIN pg_class ON oid = indexrelid
        WHERE indrelid = 'fragment_pgvector'::regclass AND relname LIKE 'fragment\\_pgvector\\_ivf\\_%'`,
    );
    return rows.map(({ name, valid }) => {
      const [knowledgeId = 0, dimension = 0, lists = 0] = name.split('_').slice(3).map(Number);
      return { name, valid, knowledgeId, dimension, lists };
    });
  }

  /**
   * Runs the work while no other process does the same; no other session waits for what it builds. Undefined where another
   * process is at it.
   */
  async whileBuilding<T>(work: (run: RunStatement) => Promise<T>): Promise<T | undefined> {
    const build = async (run: RunStatement): Promise<T | undefined> => {
      const [row] = await run<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
        INDEX_LOCK,
      ]);
      if (!row?.locked) return undefined;
      try {
        await run("SET maintenance_work_mem = '1GB'");
        return await work(run);
      } finally {
        // A statement that exceeds its time closes the connection, and the lock goes with it.
        await run(
          `SELECT set_config('maintenance_work_mem', reset_val, false), pg_advisory_unlock($1)
             FROM pg_settings WHERE name = 'maintenance_work_mem'`,
          [INDEX_LOCK],
        ).catch(ignore);
      }
    };
    return withLongStatements(() => this.database.onConnection(build));
  }

  /** Builds an index of one base; half precision halves it, and the search computes the scores from the vectors. */
  async buildIndex(
    run: RunStatement,
    { knowledgeId, dimension, lists }: Omit<VectorIndex, 'name' | 'valid'>,
  ): Promise<void> {
    await run(
      `CREATE INDEX CONCURRENTLY fragment_pgvector_ivf_${knowledgeId}_${dimension}_${lists} ON fragment_pgvector
        USING ivfflat ((embedding::halfvec(${dimension})) halfvec_ip_ops) WITH (lists = ${lists})
        WHERE knowledge_id = '${knowledgeId}'::bigint AND dimension = ${dimension}`,
    );
  }

  async dropIndex(run: RunStatement, { name }: VectorIndex): Promise<void> {
    await run(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  }

  /** Number of lists of the index for a search; undefined without one. */
  async listsOf({ knowledgeId }: VectorScope, dimension: number): Promise<number | undefined> {
    const rows = await this.database.prepared<{ lists: number }>(LISTS, [
      `fragment\\_pgvector\\_ivf\\_${knowledgeId}\\_${dimension}\\_%`,
    ]);
    return rows[0]?.lists;
  }

  /**
   * The inner product of unit vectors is the cosine; pgvector's operator returns its negative. The inner query computes
   * it once per row; a single query would compute it again for the result.
   */
  async nearest(scope: VectorScope, query: VectorQuery): Promise<VectorHit[]> {
    return this.database.query<VectorHit>(
      `SELECT fragment_id AS "fragmentId", -distance AS score
         FROM (SELECT fragment_id, embedding <#> $4::vector AS distance FROM fragment_pgvector
                WHERE ${IN_SCOPE}
                ORDER BY distance, fragment_id LIMIT $5) nearest`,
      valuesOf(scope, query),
    );
  }

  /**
   * `nearest` by the index, which reads these many of its lists, and more while a filter leaves too few. The expression is
   * that of the index; `nearest` has another one, so that PostgreSQL cannot take the index there.
   */
  async nearestByIndex(
    scope: VectorScope,
    query: VectorQuery,
    probes: number,
  ): Promise<VectorHit[]> {
    const half = `halfvec(${query.vector.length})`;
    return this.database.transaction(async () => {
      await this.database.query(
        `SELECT set_config('ivfflat.probes', $1, true), set_config('ivfflat.iterative_scan', 'relaxed_order', true)`,
        [String(probes)],
      );
      return this.database.query<VectorHit>(
        `SELECT fragment_id AS "fragmentId", -(embedding <#> $4::vector) AS score
           FROM (SELECT fragment_id, embedding FROM fragment_pgvector
                  WHERE ${IN_SCOPE}
                  ORDER BY embedding::${half} <#> $4::vector::${half} LIMIT $5) nearest`,
        valuesOf(scope, query),
      );
    });
  }
}

function ignore(): void {
  // The failure of the work is the one to report.
}

/** Vectors of half precision that pgvector can index. */
const MAX_INDEXED_DIMENSION = 4_000;

/** Key of the advisory lock of the process that builds indexes; an arbitrary constant. */
const INDEX_LOCK = 6_039_003;

const LISTS = `SELECT substring(relname FROM '[0-9]+$')::integer AS lists
  FROM pg_index JOIN pg_class ON oid = indexrelid
 WHERE indrelid = 'fragment_pgvector'::regclass AND indisvalid AND relname LIKE $1
 ORDER BY lists DESC LIMIT 1`;

const IN_SCOPE = `knowledge_id = $1 AND tenant_id = $2 AND dimension = $3
  AND ($6::bigint[] IS NULL OR fragment_id = ANY ($6))
  AND ($7::bigint[] IS NULL OR attachment_id = ANY ($7))`;

function valuesOf({ knowledgeId, tenantId }: VectorScope, query: VectorQuery): unknown[] {
  const { vector, limit, fragmentIds, attachmentIds } = query;
  const restriction = [fragmentIds ?? null, attachmentIds ?? null];
  return [knowledgeId, tenantId, vector.length, binaryForm(vector), limit, ...restriction];
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

const REVISION = `SELECT stamp FROM vector_revision
  WHERE knowledge_id = $1 AND tenant_id = $2 AND dimension = $3 ORDER BY stamp`;

/** All SQL of the exact store. */
@Injectable()
export class ExactRepository extends VectorTable {
  protected override readonly table = 'fragment_vector';

  /** All vectors are one parameter, which the statement splits. */
  override async upsert(scope: VectorScope, entries: readonly VectorEntry[]): Promise<void> {
    const dimension = entries[0]?.vector.length ?? 0;
    await this.database.query(
      `INSERT INTO fragment_vector (knowledge_id, tenant_id, fragment_id, attachment_id, dimension, stamp, vector)
       SELECT $1, $2, entry.fragment_id, entry.attachment_id, $3::integer, entry.stamp,
              substring($4::bytea FROM ((entry.place - 1) * $3::integer * 4 + 1)::integer FOR $3::integer * 4)
         FROM unnest($5::bigint[], $6::bigint[], $7::bigint[]) WITH ORDINALITY
              AS entry (fragment_id, attachment_id, stamp, place)
       ON CONFLICT (knowledge_id, tenant_id, fragment_id) DO UPDATE
          SET attachment_id = EXCLUDED.attachment_id, dimension = EXCLUDED.dimension,
              stamp = EXCLUDED.stamp, vector = EXCLUDED.vector`,
      [
        scope.knowledgeId,
        scope.tenantId,
        dimension,
        Buffer.concat(entries.map(({ vector }) => bytesOf(vector))),
        entries.map(({ fragmentId }) => fragmentId),
        entries.map(({ attachmentId }) => attachmentId),
        entries.map(() => randomInt(2 ** STAMP_BITS - 1)),
      ],
    );
  }

  override async scopes(): Promise<ScopeCount[]> {
    return acrossTenants('sweep of vectors', () =>
      this.database.query<ScopeCount>(
        `SELECT tenant_id AS "tenantId", knowledge_id AS "knowledgeId", count(*) AS count
         FROM fragment_vector GROUP BY tenant_id, knowledge_id ORDER BY tenant_id, knowledge_id`,
      ),
    );
  }

  /** Revision that each committed change of the set renews; '' before the first change. Reads a row or two. */
  async revision({ tenantId, knowledgeId, dimension }: VectorSet): Promise<string> {
    const rows = await this.database.prepared<{ stamp: number }>(REVISION, [
      knowledgeId,
      tenantId,
      dimension,
    ]);
    return rows.map(({ stamp }) => stamp).join(' ');
  }

  /** Reads only the index. */
  async countOf({ tenantId, knowledgeId, dimension }: VectorSet): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM fragment_vector
        WHERE knowledge_id = $1 AND tenant_id = $2 AND dimension = $3`,
      [knowledgeId, tenantId, dimension],
    );
    return row?.count ?? 0;
  }

  /** The fragments of the documents that have a vector in the set. */
  async ofDocuments(
    { tenantId, knowledgeId, dimension }: VectorSet,
    attachmentIds: readonly number[],
  ): Promise<number[]> {
    const [row] = await this.database.query<{ ids: string | null }>(
      // One text, because a row for each of many ids takes longer than the lookup.
      `SELECT string_agg(fragment_id::text, ' ') AS ids FROM fragment_vector
        WHERE knowledge_id = $1 AND tenant_id = $2 AND dimension = $3 AND attachment_id = ANY ($4::bigint[])`,
      [knowledgeId, tenantId, dimension, attachmentIds],
    );
    return row?.ids?.split(' ').map(Number) ?? [];
  }

  async list({ tenantId, knowledgeId, dimension }: VectorSet): Promise<SetList> {
    const rows = await this.database.query<{ fragmentId: number; stamp: number }>(
      `SELECT fragment_id AS "fragmentId", stamp FROM fragment_vector
        WHERE knowledge_id = $1 AND tenant_id = $2 AND dimension = $3 ORDER BY fragment_id`,
      [knowledgeId, tenantId, dimension],
    );
    return listOf(rows);
  }

  /** The current vectors, without removed ones. */
  async read(
    { tenantId, knowledgeId, dimension }: VectorSet,
    fragmentIds: readonly number[],
  ): Promise<SetVectors> {
    const rows = await this.database.query<{ fragmentId: number; stamp: number; vector: Buffer }>(
      `SELECT fragment_id AS "fragmentId", stamp, vector FROM fragment_vector
        WHERE knowledge_id = $1 AND tenant_id = $2 AND dimension = $3 AND fragment_id = ANY ($4::bigint[])
        ORDER BY fragment_id`,
      [knowledgeId, tenantId, dimension, fragmentIds],
    );
    const vectors = new Float32Array(rows.length * dimension);
    const bytes = bytesOf(vectors);
    for (const [at, { vector }] of rows.entries()) vector.copy(bytes, at * dimension * 4);
    return { ...listOf(rows), vectors };
  }
}

function listOf(rows: readonly { fragmentId: number; stamp: number }[]): SetList {
  return {
    fragmentIds: Float64Array.from(rows, ({ fragmentId }) => fragmentId),
    stamps: Float64Array.from(rows, ({ stamp }) => stamp),
  };
}

/** The same memory as bytes, which are little-endian on all supported machines. */
function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Knowledge of the database about points in Qdrant, whose ids are those of fragments. */
@Injectable()
export class QdrantPointsRepository {
  constructor(private readonly database: Database) {}

  /** Number of points whose fragment is in this database. */
  async countKnown(points: readonly KnownPoint[]): Promise<number> {
    const [row] = await acrossTenants('mark of the installation', () =>
      this.database.query<{ count: number }>(
        `SELECT count(*) AS count
           FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS point (id, attachment, tenant)
           JOIN fragment f ON f.id = point.id AND f.attachment_id = point.attachment AND f.tenant_id = point.tenant`,
        [
          points.map(({ fragmentId }) => fragmentId),
          points.map(({ attachmentId }) => attachmentId),
          points.map(({ tenantId }) => tenantId),
        ],
      ),
    );
    return row?.count ?? 0;
  }
}
