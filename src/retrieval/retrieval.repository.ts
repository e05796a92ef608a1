import { Injectable } from '@nestjs/common';
import type { KnowledgeBase } from '../knowledge/index.js';
import { Database } from '../platform/database/index.js';

/** An existing fragment with the name of its document. */
export interface LiveFragment {
  readonly fragmentId: number;
  readonly fid: string;
  readonly docId: string;
  readonly knowledgeId: number;
  readonly attachmentId: number;
  readonly idx: number;
  readonly content: string;
  readonly page: number | null;
  readonly headings: string | null;
  readonly location: string | null;
  readonly sourceName: string;
}

const LIVE_FRAGMENTS = `SELECT f.id AS "fragmentId", f.fid, f.doc_id AS "docId", f.knowledge_id AS "knowledgeId",
                f.attachment_id AS "attachmentId", f.idx, f.content, f.page, f.headings, f.location,
                a.name AS "sourceName"
           FROM fragment f JOIN attachment a ON a.id = f.attachment_id AND a.tenant_id = f.tenant_id
          WHERE f.tenant_id = $1 AND f.knowledge_id = $2 AND f.id = ANY ($3::bigint[])
            AND ($4 OR NOT a.restricted)`;

const EXISTING_FRAGMENTS = `SELECT id AS "fragmentId", attachment_id AS "attachmentId" FROM fragment
          WHERE tenant_id = $1 AND knowledge_id = $2 AND id = ANY ($3::bigint[])`;

type ExistingFragment = Pick<LiveFragment, 'fragmentId' | 'attachmentId'>;

@Injectable()
export class RetrievalRepository {
  constructor(private readonly database: Database) {}

  /** The ids whose fragment exists; the texts, most of which no result shows, are not read. */
  async existing(
    tenantId: string,
    knowledgeId: number,
    fragmentIds: readonly number[],
  ): Promise<readonly ExistingFragment[]> {
    if (fragmentIds.length === 0) return [];
    return this.database.prepared<ExistingFragment>(EXISTING_FRAGMENTS, [
      tenantId,
      knowledgeId,
      fragmentIds,
    ]);
  }

  /**
   * The fragments that exist now; other hits belong to deleted documents and are never returned. Nor are those of a document
   * that got a list of readers since the base was read without any.
   */
  async live(
    { tenantId, id, restricted }: Pick<KnowledgeBase, 'tenantId' | 'id' | 'restricted'>,
    fragmentIds: readonly number[],
  ): Promise<readonly LiveFragment[]> {
    if (fragmentIds.length === 0) return [];
    return this.database.prepared<LiveFragment>(LIVE_FRAGMENTS, [
      tenantId,
      id,
      fragmentIds,
      restricted,
    ]);
  }
}

/** A fragment and its position in its document. */
export interface NeighbourFragment {
  readonly attachmentId: number;
  readonly fid: string;
  readonly idx: number;
  readonly content: string;
  readonly headings: string | null;
  readonly charStart: number | null;
  readonly charEnd: number | null;
  readonly edited: boolean;
}

/** Inclusive indexes of one document; `last` may lie beyond what a fragment can have. */
export interface IndexRange {
  readonly attachmentId: number;
  readonly first: number;
  readonly last: number;
}

const IN_RANGES = `SELECT f.attachment_id AS "attachmentId", f.fid, f.idx, f.content, f.headings,
       f.char_start AS "charStart", f.char_end AS "charEnd", f.edited
  FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS given (attachment_id, first, last)
  JOIN fragment f ON f.attachment_id = given.attachment_id AND f.idx BETWEEN given.first AND given.last
 WHERE f.tenant_id = $1
 ORDER BY f.attachment_id, f.idx, f.id LIMIT $5`;

@Injectable()
export class NeighbourRepository {
  constructor(private readonly database: Database) {}

  /** The fragments of ranges that do not overlap, in the order of their documents. */
  async inRanges(
    tenantId: string,
    ranges: readonly IndexRange[],
    limit: number,
  ): Promise<NeighbourFragment[]> {
    return this.database.prepared<NeighbourFragment>(IN_RANGES, [
      tenantId,
      ranges.map(({ attachmentId }) => attachmentId),
      ranges.map(({ first }) => first),
      ranges.map(({ last }) => last),
      limit,
    ]);
  }
}
