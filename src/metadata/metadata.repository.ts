import { Injectable } from '@nestjs/common';
import { comparedSubjects, readableDocument } from '../grant/index.js';
import type { Grantee } from '../grant/index.js';
import type { Caller } from '../platform/access/index.js';
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

/** Whose documents are read. */
export type DocumentReader = Grantee & Pick<Caller, 'tenantId'>;

/** A knowledge base that the caller reaches. */
export interface ReachedBase {
  readonly id: number;
  /** Whether every document may be read, lists of readers notwithstanding. */
  readonly passedOn?: boolean | undefined;
}

/** Documents that a search can be limited to. */
const MAX_DOCUMENT_COUNT = 100_000;
/** Keys of one answer, each with its types. */
const MAX_ROW_COUNT = 1_000;

/**
 * Finds documents by their metadata and their readers. Searches ask for the documents first and then look for fragments of
 * these alone, so a change of either counts for the next search in every vector store, and nothing of it is stored there.
 */
@Injectable()
export class MetadataRepository {
  constructor(private readonly database: Database) {}

  /** The ids of the documents of the base that fit and that the caller may read, ascending. */
  async documents(
    caller: DocumentReader,
    { id: knowledgeId, passedOn }: ReachedBase,
    filter: MetadataFilter | undefined,
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT id FROM attachment
        WHERE tenant_id = $1 AND knowledge_id = $2 AND ($3::jsonpath IS NULL OR metadata @@ $3::jsonpath)
          AND ${readableDocument('attachment', { tenant: '$1', subjects: '$5' })}
        ORDER BY id LIMIT $4`,
      [
        caller.tenantId,
        knowledgeId,
        filter ? jsonPathOf(filter) : null,
        MAX_DOCUMENT_COUNT + 1,
        passedOn ? null : comparedSubjects(caller),
      ],
    );
    if (rows.length <= MAX_DOCUMENT_COUNT) return rows.map(({ id }) => id);
    throw new InvalidInputError(
      filter
        ? msg`The filter fits more than ${MAX_DOCUMENT_COUNT} documents. Add a condition, or leave the filter out.`
        : msg`You may read some documents of this knowledge base only, and those are more than ${MAX_DOCUMENT_COUNT}. Add a filter.`,
    );
  }

  /** Whether documents of the base are hidden from the caller by lists of readers. */
  async hidesSome(caller: DocumentReader, { id, passedOn }: ReachedBase): Promise<boolean> {
    const subjects = comparedSubjects(caller);
    if (passedOn || subjects === null) return false;
    const [row] = await this.database.query<{ hidden: boolean }>(
      `SELECT EXISTS (SELECT FROM attachment
         WHERE tenant_id = $1 AND knowledge_id = $2 AND restricted
           AND NOT ${readableDocument('attachment', { tenant: '$1', subjects: '$3' })}) AS hidden`,
      [caller.tenantId, id, subjects],
    );
    return row?.hidden ?? true;
  }

  /** The keys in use in the readable documents of the bases, or in those that fit, in the order of their names. */
  async keys(
    caller: DocumentReader,
    bases: readonly ReachedBase[],
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
          AND (a.knowledge_id = ANY ($6::bigint[]) OR ${readableDocument('a', { tenant: '$1', subjects: '$5' })})
        GROUP BY entry.key, jsonb_typeof(entry.value)
        ORDER BY entry.key, documents DESC, jsonb_typeof(entry.value) LIMIT $4`,
      [
        caller.tenantId,
        bases.map(({ id }) => id),
        filter ? jsonPathOf(filter) : null,
        MAX_ROW_COUNT,
        comparedSubjects(caller),
        bases.filter(({ passedOn }) => passedOn).map(({ id }) => id),
      ],
    );
    return rows.map(({ type, ...row }) => ({ ...row, type: METADATA_TYPES[type] }));
  }
}
