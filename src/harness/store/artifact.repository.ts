import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { HarnessArtifact } from './harness.entity.js';

const COLUMNS = `id, tenant_id AS "tenantId", run_id AS "runId", tool_call_id AS "toolCallId", kind,
  media_type AS "mediaType", byte_size AS "byteSize", sha256, create_time AS "createTime"`;

/** The records of artifacts, and how much room a run has left for them. */
@Injectable()
export class ArtifactRepository {
  constructor(private readonly database: Database) {}

  /** Takes room of the run's allowance; false, with nothing taken, when there is not so much left. */
  async takeRoom(
    { tenantId, id }: { readonly tenantId: string; readonly id: string },
    byteSize: number,
    limitBytes: number,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_run SET artifact_bytes = artifact_bytes + $3
        WHERE tenant_id = $1 AND id = $2 AND artifact_bytes + $3 <= $4 RETURNING id`,
      [tenantId, id, byteSize, limitBytes],
    );
    return rows.length > 0;
  }

  async insert(artifact: Omit<HarnessArtifact, 'createTime'>): Promise<void> {
    const { id, tenantId, runId, toolCallId, kind, mediaType, byteSize, sha256 } = artifact;
    await this.database.query(
      `INSERT INTO harness_artifact
          (id, tenant_id, run_id, tool_call_id, kind, media_type, byte_size, sha256)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, tenantId, runId, toolCallId, kind, mediaType, byteSize, sha256],
    );
  }

  /** Of one run, oldest first. */
  async ofRun(tenantId: string, runId: string): Promise<HarnessArtifact[]> {
    return this.database.query<HarnessArtifact>(
      `SELECT ${COLUMNS} FROM harness_artifact WHERE tenant_id = $1 AND run_id = $2 ORDER BY id`,
      [tenantId, runId],
    );
  }

  async find(tenantId: string, runId: string, id: string): Promise<HarnessArtifact | undefined> {
    const [row] = await this.database.query<HarnessArtifact>(
      `SELECT ${COLUMNS} FROM harness_artifact WHERE tenant_id = $1 AND run_id = $2 AND id = $3`,
      [tenantId, runId, id],
    );
    return row;
  }
}
