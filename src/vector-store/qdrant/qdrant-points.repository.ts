import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';
import type { KnownPoint } from './qdrant.ownership.js';

/** What the database knows of points in Qdrant, whose ids are those of fragments. */
@Injectable()
export class QdrantPointsRepository {
  constructor(private readonly database: Database) {}

  /** How many of the points have their fragment in this database. */
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
