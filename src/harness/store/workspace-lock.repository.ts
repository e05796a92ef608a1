import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';

/** Holder of a workspace. */
export interface WorkspaceHolder {
  readonly tenantId: string;
  readonly workspace: string;
  readonly runId: string;
  readonly fence: number;
}

interface InterruptedCommand {
  readonly toolCallId: string;
  readonly boot: string;
  readonly snapshotSha256: string;
}

/** A workspace that its run no longer uses and others do not have yet. */
export interface LeftHolder {
  readonly tenantId: string;
  readonly id: string;
  readonly sessionId: string;
  /** The process that had the run, or removes what its command has left; null when it has left in order. */
  readonly boot: string | null;
  /** Its time is over in which a process that cannot be asked may not have noticed. */
  readonly isOver: boolean;
  /** The interrupted command, what of it is left being still to be removed. */
  readonly command: InterruptedCommand | null;
}

type RunKey = Pick<LeftHolder, 'tenantId' | 'id'>;

/** Time that a process that has lost a run may take to notice it after the end of its lease. */
const REVOKED_SECONDS = 60;

/** Time that a process may take to tidy up after a command; another one may do it after that. */
const TIDY_SECONDS = 600;

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

/** A command whose end was never seen. `boot` is removed from it when nothing of it is left in the workspace. */
const INTERRUPTED = `e.effect_class = 'SHELL' AND e.snapshot_sha256 IS NOT NULL AND e.boot IS NOT NULL AND e.iteration > 0
  AND (e.state = 'UNCERTAIN' OR e.resolution IS NOT NULL)`;

/** The run has taken the workspace for its commands, and not for an undo after its end. */
const IS_OF_COMMANDS = `r.status <> 'RUNNING' AND (r.ended_at IS NULL OR r.ended_at >= l.create_time)`;

const HAS_LEFTOVERS = `EXISTS (SELECT 1 FROM harness_run r
                                 JOIN harness_effect e ON e.tenant_id = r.tenant_id AND e.run_id = r.id
                                WHERE r.tenant_id = $1 AND r.id = l.run_id AND ${IS_OF_COMMANDS} AND ${INTERRUPTED})`;

/**
 * One run at a time may change a workspace, and what lies above and below it. A lock outlives the process that took it:
 * it is free again when its run is neither running nor has a started effect, the process that had the run when another
 * one ended it can no longer act, and nothing is left of a command that was interrupted: until that is removed, the lock
 * says that it is to be removed.
 */
@Injectable()
export class WorkspaceLockRepository {
  constructor(private readonly database: Database) {}

  /**
   * Locks the workspace, or extends the lock; false while another run has locked it, a part of it, or a folder around it.
   * Call it in the transaction that starts the run or the effect.
   */
  async take({ tenantId, workspace, runId, fence }: WorkspaceHolder): Promise<boolean> {
    await this.takeTurns(tenantId);
    await this.database.query(
      `DELETE FROM harness_workspace_lock l
        WHERE l.tenant_id = $1 AND ${OVERLAPS} AND (l.run_id = $3 OR NOT ${IS_USED}) AND NOT ${IS_REVOKED}
          AND NOT ${HAS_LEFTOVERS}`,
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

  /** Frees what the run has, unless something of a command is left there. Call it while the run's row is locked. */
  async release({ tenantId, id }: RunKey): Promise<void> {
    await this.database.query(
      `DELETE FROM harness_workspace_lock l WHERE l.tenant_id = $1 AND l.run_id = $2 AND NOT ${HAS_LEFTOVERS}`,
      [tenantId, id],
    );
  }

  /** Frees what a parked or ended run no longer needs, so that others need not ask. */
  async releaseUnused({ tenantId, id }: RunKey): Promise<void> {
    await this.database.transaction(async () => {
      await this.takeTurns(tenantId);
      await this.database.query(
        `DELETE FROM harness_workspace_lock l
          WHERE l.tenant_id = $1 AND l.run_id = $2 AND NOT ${IS_USED} AND NOT ${HAS_LEFTOVERS}`,
        [tenantId, id],
      );
    });
  }

  /** Has the process remove what a command has left; false when another one does it by now. */
  async takeOver({ tenantId, id, boot }: LeftHolder, by: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_run SET lease_boot = $4, lease_until = now() + make_interval(secs => $5)
        WHERE tenant_id = $1 AND id = $2 AND lease_owner IS NULL AND lease_boot IS NOT DISTINCT FROM $3
        RETURNING id`,
      [tenantId, id, boot, by, TIDY_SECONDS],
    );
    return rows.length > 0;
  }

  /** Records that nothing is left of the run's commands, and frees the workspace; not when another process does that by now. */
  async releaseTidied({ tenantId, id }: RunKey, by: string): Promise<void> {
    await this.database.transaction(async () => {
      const rows = await this.database.query(
        `UPDATE harness_run SET lease_boot = NULL, lease_until = NULL
          WHERE tenant_id = $1 AND id = $2 AND lease_owner IS NULL AND lease_boot = $3 RETURNING id`,
        [tenantId, id, by],
      );
      if (rows.length === 0) return;
      await this.markTidied({ tenantId, id });
      await this.releaseUnused({ tenantId, id });
    });
  }

  /** Records that nothing is left of the run's interrupted commands. Call it while the run's row is locked. */
  async markTidied({ tenantId, id }: RunKey): Promise<void> {
    await this.database.query(
      `UPDATE harness_effect e SET boot = NULL
        WHERE e.tenant_id = $1 AND e.run_id = $2 AND ${INTERRUPTED} RETURNING e.tool_call_id`,
      [tenantId, id],
    );
  }

  /**
   * Workspaces, over all tenants, that wait for processes to notice that their runs were ended, or for files that a command
   * has left to be removed.
   */
  async leftHolders(limit: number): Promise<LeftHolder[]> {
    return acrossTenants('sweep of workspaces that runs have left', () =>
      this.database.query<LeftHolder>(
        `SELECT r.id, r.tenant_id AS "tenantId", r.session_id AS "sessionId", r.lease_boot AS boot,
              coalesce(r.lease_until, r.ended_at, r.update_time) <= now() - make_interval(secs => $2) AS "isOver",
              c.command
         FROM harness_workspace_lock l JOIN harness_run r ON r.tenant_id = l.tenant_id AND r.id = l.run_id
         LEFT JOIN LATERAL (
              SELECT json_build_object('toolCallId', e.tool_call_id, 'boot', e.boot,
                                        'snapshotSha256', e.snapshot_sha256) AS command
                FROM harness_effect e
               WHERE e.tenant_id = r.tenant_id AND e.run_id = r.id AND ${IS_OF_COMMANDS} AND ${INTERRUPTED}
               ORDER BY e.iteration DESC, e.ordinal DESC LIMIT 1) c ON true
        WHERE r.lease_owner IS NULL AND (r.lease_boot IS NOT NULL OR c.command IS NOT NULL)
        ORDER BY l.create_time LIMIT $1`,
        [limit, REVOKED_SECONDS],
      ),
    );
  }

  /**
   * Serializes the claims of a tenant in a statement of its own: only later statements see what the previous holder has
   * committed. Otherwise two runs could take overlapping folders at once, and a claimed run could lose its own.
   */
  private async takeTurns(tenantId: string): Promise<void> {
    await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
      `harness workspaces ${tenantId}`,
    ]);
  }
}
