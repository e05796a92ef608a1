import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';

/** A run that wants an owner. */
export interface DueRun {
  readonly id: string;
  readonly tenantId: string;
}

/** A held run, and the process that says it holds it. */
export interface HeldRow extends DueRun {
  readonly leaseOwner: string;
  readonly leaseBoot: string;
}

/** The questions of workers about runs of all tenants, and how many runs a user has going. */
@Injectable()
export class ClaimRepository {
  constructor(private readonly database: Database) {}

  /** Lets one claim of the user's at a time go on, until the transaction ends. */
  async lockUser(tenantId: string, userId: number): Promise<void> {
    await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
      `harness ${tenantId} ${userId}`,
    ]);
  }

  /** How many other runs of the user are held now. */
  async heldOf(tenantId: string, userId: number, exceptRunId: string): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM harness_run
        WHERE tenant_id = $1 AND user_id = $2 AND id <> $3 AND status = 'RUNNING' AND lease_until > now()`,
      [tenantId, userId, exceptRunId],
    );
    return row?.count ?? 0;
  }

  /** Waiting runs that are due, and held ones whose lease is over; the longest waiting first. */
  async due(limit: number): Promise<DueRun[]> {
    return acrossTenants('sweep of waiting runs', () =>
      this.database.query<DueRun>(
        `SELECT id, tenant_id AS "tenantId" FROM harness_run
        WHERE (status = 'QUEUED' AND due_at <= now())
           OR (status = 'RUNNING' AND (lease_until IS NULL OR lease_until <= now()))
        ORDER BY due_at, id LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Whether the run waits for an owner. */
  async isWaiting(tenantId: string, id: string): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT id FROM harness_run WHERE tenant_id = $1 AND id = $2 AND status = 'QUEUED'`,
      [tenantId, id],
    );
    return rows.length > 0;
  }

  /** Unfinished runs whose cancel was asked for so many seconds ago, with or without an owner. */
  async slowCancels(seconds: number, limit: number): Promise<DueRun[]> {
    return acrossTenants('sweep of cancelled runs', () =>
      this.database.query<DueRun>(
        `SELECT id, tenant_id AS "tenantId" FROM harness_run
        WHERE status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
          AND cancel_requested_at < now() - make_interval(secs => $1)
        ORDER BY cancel_requested_at LIMIT $2`,
        [seconds, limit],
      ),
    );
  }

  /** Every held run. */
  async held(limit: number): Promise<HeldRow[]> {
    return acrossTenants('sweep of lost leases', () =>
      this.database.query<HeldRow>(
        `SELECT id, tenant_id AS "tenantId", lease_owner AS "leaseOwner", lease_boot AS "leaseBoot" FROM harness_run
        WHERE status = 'RUNNING' AND lease_until > now() ORDER BY id LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Ends the lease of an owner that is gone, so that no run waits for it to run out. */
  async expire({ tenantId, id, leaseOwner }: HeldRow): Promise<void> {
    await this.database.query(
      `UPDATE harness_run SET lease_until = now()
        WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 RETURNING id`,
      [tenantId, id, leaseOwner],
    );
  }

  /** Lets a waiting run wait for longer. */
  async postpone({ tenantId, id }: DueRun, seconds: number): Promise<void> {
    await this.database.query(
      `UPDATE harness_run SET due_at = now() + make_interval(secs => $3)
        WHERE tenant_id = $1 AND id = $2 AND status = 'QUEUED' RETURNING id`,
      [tenantId, id, seconds],
    );
  }
}
