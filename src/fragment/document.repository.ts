import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';
import { jsonPathOf } from '../metadata/index.js';
import type { MetadataFilter } from '../metadata/index.js';

/** A document of a knowledge base, as far as readers of its text need it. */
export interface DocumentInfo {
  readonly attachmentId: number;
  readonly knowledgeId: number;
  readonly docId: string;
  readonly name: string;
  /** Parsed fragments; 0 before the first parsing has ended. */
  readonly fragmentCount: number;
}

/** How documents are found by a text that names them. */
export interface DocumentSearch {
  readonly text: string;
  /** Only documents whose metadata fits. */
  readonly filter: MetadataFilter | undefined;
  readonly limit: number;
}

/** A fragment in the order of its document. */
export interface DocumentFragment {
  readonly fid: string;
  readonly docId: string;
  readonly knowledgeId: number;
  readonly idx: number;
  readonly content: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  readonly sourceName: string;
}

/** Inclusive limits; an absent one admits everything. Pages include the fragment that may reach into the first one. */
export interface FragmentRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly fromPage?: number | undefined;
  readonly toPage?: number | undefined;
}

const FIND = `SELECT id AS "attachmentId", knowledge_id AS "knowledgeId", doc_id AS "docId", name,
       fragment_count AS "fragmentCount",
       CASE WHEN doc_id = $3 THEN 0 WHEN name = $3 THEN 1 WHEN lower(name) = lower($3) THEN 2 ELSE 3 END AS fit
  FROM attachment
 WHERE tenant_id = $1 AND knowledge_id = ANY ($2::bigint[])
   AND (doc_id = $3 OR position(lower($3) IN lower(name)) > 0)
   AND ($5::jsonpath IS NULL OR metadata @@ $5::jsonpath)
 ORDER BY fit, id LIMIT $4`;

/**
 * The fragments of documents with the page on which the next one begins. A fragment may reach as far: the page of a
 * fragment is that of its first character.
 */
const PLACED = `SELECT id, knowledge_id, attachment_id, doc_id, fid, idx, content, page, headings, location,
         lead(page) OVER (PARTITION BY attachment_id ORDER BY idx, id) AS next_page
    FROM fragment WHERE tenant_id = $1`;

const onPages = (from: string, to: string): string =>
  `(${from}::integer IS NULL OR (page IS NOT NULL AND coalesce(next_page, ${from}) >= ${from}))
   AND (${to}::integer IS NULL OR page <= ${to})`;

const READ = `SELECT f.fid, f.doc_id AS "docId", f.knowledge_id AS "knowledgeId", f.idx, f.content, f.page,
       f.headings, f.location, a.name AS "sourceName"
  FROM (${PLACED} AND knowledge_id = $2 AND attachment_id = $3) f
  JOIN attachment a ON a.id = f.attachment_id AND a.tenant_id = $1
 WHERE ($4::integer IS NULL OR f.idx >= $4) AND ($5::integer IS NULL OR f.idx <= $5) AND ${onPages('$6', '$7')}
 ORDER BY f.idx, f.id LIMIT $8`;

const EXTENT = `SELECT max(idx) AS "lastIdx", max(page) AS "lastPage" FROM fragment
 WHERE tenant_id = $1 AND knowledge_id = $2 AND attachment_id = $3`;

const IDS = `SELECT id, knowledge_id AS "knowledgeId" FROM (${PLACED} AND attachment_id = ANY ($2::bigint[])) f
 WHERE ${onPages('$3', '$4')} LIMIT $5`;

/** Reads documents of knowledge bases as text. The right to read the bases must be checked before. */
@Injectable()
export class DocumentRepository {
  constructor(private readonly database: Database) {}

  /**
   * The documents of the bases that a text names, at most so many: the one with that docId, else those with that name,
   * else those whose name contains it.
   */
  async find(
    tenantId: string,
    knowledgeIds: readonly number[],
    { text, filter, limit }: DocumentSearch,
  ): Promise<DocumentInfo[]> {
    const rows = await this.database.query<DocumentInfo & { fit: number }>(FIND, [
      tenantId,
      knowledgeIds,
      text,
      limit,
      filter ? jsonPathOf(filter) : null,
    ]);
    return rows.filter(({ fit }) => fit === rows[0]?.fit).map(({ fit: _, ...row }) => row);
  }

  /** The first fragments of the range, in the order of the document. */
  async read(
    tenantId: string,
    { knowledgeId, attachmentId }: DocumentInfo,
    { from, to, fromPage, toPage }: FragmentRange,
    limit: number,
  ): Promise<DocumentFragment[]> {
    return this.database.query<DocumentFragment>(READ, [
      tenantId,
      knowledgeId,
      attachmentId,
      from ?? null,
      to ?? null,
      fromPage ?? null,
      toPage ?? null,
      limit,
    ]);
  }

  /** The ids of the fragments of documents, by knowledge base; at most so many in all. */
  async fragmentIds(
    tenantId: string,
    documents: readonly DocumentInfo[],
    { fromPage, toPage }: Pick<FragmentRange, 'fromPage' | 'toPage'>,
    limit: number,
  ): Promise<ReadonlyMap<number, readonly number[]>> {
    const rows = await this.database.query<{ id: number; knowledgeId: number }>(IDS, [
      tenantId,
      documents.map(({ attachmentId }) => attachmentId),
      fromPage ?? null,
      toPage ?? null,
      limit,
    ]);
    const byBase = new Map<number, number[]>();
    for (const { id, knowledgeId } of rows) {
      const ids = byBase.get(knowledgeId);
      if (ids) ids.push(id);
      else byBase.set(knowledgeId, [id]);
    }
    return byBase;
  }

  /** The last index and page of the document; null where it has none. */
  async extent(
    tenantId: string,
    { knowledgeId, attachmentId }: DocumentInfo,
  ): Promise<{ readonly lastIdx: number | null; readonly lastPage: number | null }> {
    const [row] = await this.database.query<{ lastIdx: number | null; lastPage: number | null }>(
      EXTENT,
      [tenantId, knowledgeId, attachmentId],
    );
    return row ?? { lastIdx: null, lastPage: null };
  }
}
