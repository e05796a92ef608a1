import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { acrossTenants } from '../../platform/database/index.js';
import { VectorTable } from '../relational/vector-table.repository.js';
import type { ScopeCount } from '../relational/vector-table.repository.js';
import type { VectorEntry, VectorScope } from '../vector-store.js';
import type { SetList, SetVectors, VectorSet } from './vector-memory.js';
import { STAMP_BITS } from './vector-memory.js';

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

  /** What each committed change of the set renews; reads a row or two. '' before the first change. */
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
      // One text, because a row for each of many ids takes longer than finding them.
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
