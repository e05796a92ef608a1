import { Injectable } from '@nestjs/common';
import { Database } from '../../database/index.js';

/** Who holds a workspace. */
export interface WorkspaceHolder {
  readonly tenantId: string;
  readonly workspace: string;
  readonly runId: string;
  readonly fence: number;
}

/**
 * One run at a time may change a workspace. A lock outlives the process that took it: it is free again when its run is
 * neither running nor has a started effect.
 */
@Injectable()
export class WorkspaceLockRepository {
  constructor(private readonly database: Database) {}

  /** Takes the workspace, or keeps it; false while another run has it. */
  async take({ tenantId, workspace, runId, fence }: WorkspaceHolder): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO harness_workspace_lock AS held (tenant_id, workspace, run_id, fence) VALUES ($1, $2, $3, $4)
       ON CONFLICT (tenant_id, workspace) DO UPDATE
         SET run_id = excluded.run_id, fence = excluded.fence, create_time = now()
         WHERE (held.run_id = excluded.run_id OR (
           NOT EXISTS (SELECT 1 FROM harness_run r
                        WHERE r.tenant_id = $1 AND r.id = held.run_id AND r.status = 'RUNNING')
           AND NOT EXISTS (SELECT 1 FROM harness_effect e
                            WHERE e.tenant_id = $1 AND e.run_id = held.run_id AND e.state = 'STARTED')))
       RETURNING workspace`,
      [tenantId, workspace, runId, fence],
    );
    return rows.length > 0;
  }

  async release({
    tenantId,
    id,
  }: {
    readonly tenantId: string;
    readonly id: string;
  }): Promise<void> {
    await this.database.query(
      'DELETE FROM harness_workspace_lock WHERE tenant_id = $1 AND run_id = $2',
      [tenantId, id],
    );
  }

  /** Frees what a parked run no longer needs, so that others need not ask. */
  async releaseUnlessRunning({
    tenantId,
    id,
  }: {
    readonly tenantId: string;
    readonly id: string;
  }): Promise<void> {
    await this.database.query(
      `DELETE FROM harness_workspace_lock l
        WHERE l.tenant_id = $1 AND l.run_id = $2
          AND NOT EXISTS (SELECT 1 FROM harness_run r
                           WHERE r.tenant_id = $1 AND r.id = $2 AND r.status = 'RUNNING')`,
      [tenantId, id],
    );
  }
}
