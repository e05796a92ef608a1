import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { jsonPathOf } from './filter.js';
import type { MetadataFilter } from './filter.js';
import { METADATA_TYPES } from './metadata.js';

/** A key that documents have, with one type of its values. */
export interface MetadataKey {
  readonly key: string;
  readonly type: 'text' | 'number' | 'date' | 'list';
  /** Number of documents that have it with this type. */
  readonly documents: number;
}

/** Documents that a search can be limited to. */
const MAX_DOCUMENT_COUNT = 100_000;
/** Keys of one answer, each with its types. */
const MAX_ROW_COUNT = 1_000;

/**
 * Finds documents by their metadata. Searches ask for the documents first and then look for fragments of these alone, so
 * a change of metadata counts for the next search in every vector store, and nothing of it is stored there.
 */
@Injectable()
export class MetadataRepository {
  constructor(private readonly database: Database) {}

  /** The ids of the documents of the base that fit, ascending. */
  async documents(
    tenantId: string,
    knowledgeId: number,
    filter: MetadataFilter,
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT id FROM attachment
        WHERE tenant_id = $1 AND knowledge_id = $2 AND metadata @@ $3::jsonpath
        ORDER BY id LIMIT $4`,
      [tenantId, knowledgeId, jsonPathOf(filter), MAX_DOCUMENT_COUNT + 1],
    );
    if (rows.length > MAX_DOCUMENT_COUNT) {
      throw new InvalidInputError(
        msg`The filter fits more than ${MAX_DOCUMENT_COUNT} documents. Add a condition, or leave the filter out.`,
      );
    }
    return rows.map(({ id }) => id);
  }

  /** The keys in use in the bases, or in those of their documents that fit, in the order of their names. */
  async keys(
    tenantId: string,
    knowledgeIds: readonly number[],
    filter?: MetadataFilter,
  ): Promise<MetadataKey[]> {
    const rows = await this.database.query<{
      key: string;
      type: keyof typeof METADATA_TYPES;
      documents: number;
    }>(
      `SELECT entry.key, jsonb_typeof(entry.value) AS type, count(*) AS documents
         FROM attachment a CROSS JOIN LATERAL jsonb_each(a.metadata) AS entry
        WHERE a.tenant_id = $1 AND a.knowledge_id = ANY ($2::bigint[])
          AND ($3::jsonpath IS NULL OR a.metadata @@ $3::jsonpath)
        GROUP BY entry.key, jsonb_typeof(entry.value)
        ORDER BY entry.key, documents DESC, jsonb_typeof(entry.value) LIMIT $4`,
      [tenantId, knowledgeIds, filter ? jsonPathOf(filter) : null, MAX_ROW_COUNT],
    );
    return rows.map(({ type, ...row }) => ({ ...row, type: METADATA_TYPES[type] }));
  }
}
