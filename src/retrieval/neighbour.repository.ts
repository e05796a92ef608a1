import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/index.js';

/** A fragment as it stands in its document. */
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
