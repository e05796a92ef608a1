import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { HarnessArtifact } from './harness.entity.js';

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
    await this.database.repository(HarnessArtifact).insert({ ...artifact });
  }

  /** Of one run, oldest first. */
  async ofRun(tenantId: string, runId: string): Promise<HarnessArtifact[]> {
    const artifacts = this.database.repository(HarnessArtifact);
    return artifacts.find({ where: { tenantId, runId }, order: { id: 'ASC' } });
  }

  async find(tenantId: string, runId: string, id: string): Promise<HarnessArtifact | null> {
    return this.database.repository(HarnessArtifact).findOneBy({ tenantId, runId, id });
  }
}
