import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';

/** Who holds a workspace. */
export interface WorkspaceHolder {
  readonly tenantId: string;
  readonly workspace: string;
  readonly runId: string;
  readonly fence: number;
}

/** A run that was ended while a process had it, and its workspace, which that process may still change. */
export interface RevokedHolder {
  readonly tenantId: string;
  readonly id: string;
  readonly boot: string;
  /** Its time is over in which a process that cannot be asked may not have noticed. */
  readonly isOver: boolean;
}

type RunKey = Pick<RevokedHolder, 'tenantId' | 'id'>;

/** How long a process that has lost a run may take to notice it after the end of its lease. */
const REVOKED_SECONDS = 60;

/** A folder, one that holds it, and one that lies in it are not for two runs: what one changes the other would see. */
const OVERLAPS = `(l.workspace = $2 OR starts_with(l.workspace, $2 || '/') OR starts_with($2, l.workspace || '/'))`;

const IS_USED = `(EXISTS (SELECT 1 FROM harness_run r
                           WHERE r.tenant_id = $1 AND r.id = l.run_id AND r.status = 'RUNNING')
               OR EXISTS (SELECT 1 FROM harness_effect e
                           WHERE e.tenant_id = $1 AND e.run_id = l.run_id AND e.state = 'STARTED'))`;

const IS_REVOKED = `EXISTS (SELECT 1 FROM harness_run r
                             WHERE r.tenant_id = $1 AND r.id = l.run_id
                               AND r.lease_owner IS NULL AND r.lease_boot IS NOT NULL
                               AND r.lease_until > now() - interval '${REVOKED_SECONDS} seconds')`;

/**
 * One run at a time may change a workspace, and what lies above and below it. A lock outlives the process that took it:
 * it is free again when its run is neither running nor has a started effect, and the process that had the run when
 * another one ended it can no longer act.
 */
@Injectable()
export class WorkspaceLockRepository {
  constructor(private readonly database: Database) {}

  /**
   * Takes the workspace, or keeps it; false while another run has it, or a part of it, or it lies in what another has.
   * Call it in the transaction that makes the run, or the effect, one that needs it.
   */
  async take({ tenantId, workspace, runId, fence }: WorkspaceHolder): Promise<boolean> {
    await this.takeTurns(tenantId);
    await this.database.query(
      `DELETE FROM harness_workspace_lock l
        WHERE l.tenant_id = $1 AND ${OVERLAPS} AND (l.run_id = $3 OR NOT ${IS_USED}) AND NOT ${IS_REVOKED}`,
      [tenantId, workspace, runId],
    );
    const rows = await this.database.query(
      `INSERT INTO harness_workspace_lock (tenant_id, workspace, run_id, fence)
       SELECT $1::text, $2::text, $3::uuid, $4::integer
        WHERE NOT EXISTS (SELECT 1 FROM harness_workspace_lock l WHERE l.tenant_id = $1 AND ${OVERLAPS})
       RETURNING workspace`,
      [tenantId, workspace, runId, fence],
    );
    return rows.length > 0;
  }

  /** Frees what the run has. Call it while the run's row is locked. */
  async release({ tenantId, id }: RunKey): Promise<void> {
    await this.database.query(
      'DELETE FROM harness_workspace_lock WHERE tenant_id = $1 AND run_id = $2',
      [tenantId, id],
    );
  }

  /** Frees what a parked or ended run no longer needs, so that others need not ask. */
  async releaseUnused({ tenantId, id }: RunKey): Promise<void> {
    await this.database.transaction(async () => {
      await this.takeTurns(tenantId);
      await this.database.query(
        `DELETE FROM harness_workspace_lock l WHERE l.tenant_id = $1 AND l.run_id = $2 AND NOT ${IS_USED}`,
        [tenantId, id],
      );
    });
  }

  /** Of all tenants, the workspaces that wait for processes to notice that their runs were ended. */
  async revoked(limit: number): Promise<RevokedHolder[]> {
    return acrossTenants('sweep of revoked workspaces', () =>
      this.database.query<RevokedHolder>(
        `SELECT r.id, r.tenant_id AS "tenantId", r.lease_boot AS boot,
              r.lease_until <= now() - make_interval(secs => $2) AS "isOver"
         FROM harness_workspace_lock l JOIN harness_run r ON r.tenant_id = l.tenant_id AND r.id = l.run_id
        WHERE r.lease_owner IS NULL AND r.lease_boot IS NOT NULL ORDER BY l.create_time LIMIT $1`,
        [limit, REVOKED_SECONDS],
      ),
    );
  }

  /**
   * As a statement of its own: only what comes after it sees what the one before has committed. Two runs of a tenant
   * would else take overlapping folders at once, and a run that has just been taken up would lose its own.
   */
  private async takeTurns(tenantId: string): Promise<void> {
    await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
      `harness workspaces ${tenantId}`,
    ]);
  }
}
