import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';

/** A document of a knowledge base, as far as readers of its text need it. */
export interface DocumentInfo {
  readonly attachmentId: number;
  readonly knowledgeId: number;
  readonly docId: string;
  readonly name: string;
  /** Parsed fragments; 0 before the first parsing has ended. */
  readonly fragmentCount: number;
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

/** Inclusive limits; an absent one admits everything. */
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
 ORDER BY fit, id LIMIT $4`;

const IN_RANGE = `f.idx >= coalesce($4::integer, f.idx) AND f.idx <= coalesce($5::integer, f.idx)
   AND ($6::integer IS NULL OR f.page >= $6) AND ($7::integer IS NULL OR f.page <= $7)`;

const READ = `SELECT f.fid, f.doc_id AS "docId", f.knowledge_id AS "knowledgeId", f.idx, f.content, f.page,
       f.headings, f.location, a.name AS "sourceName"
  FROM fragment f JOIN attachment a ON a.id = f.attachment_id AND a.tenant_id = f.tenant_id
 WHERE f.tenant_id = $1 AND f.knowledge_id = $2 AND f.attachment_id = $3 AND ${IN_RANGE}
 ORDER BY f.idx, f.id LIMIT $8`;

const EXTENT = `SELECT max(idx) AS "lastIdx", max(page) AS "lastPage" FROM fragment
 WHERE tenant_id = $1 AND knowledge_id = $2 AND attachment_id = $3`;

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
    text: string,
    limit: number,
  ): Promise<DocumentInfo[]> {
    const rows = await this.database.query<DocumentInfo & { fit: number }>(FIND, [
      tenantId,
      knowledgeIds,
      text,
      limit,
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
