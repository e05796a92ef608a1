import { Injectable } from '@nestjs/common';
import { Any, IsNull } from 'typeorm';
import {
  acrossTenants,
  Database,
  columnName,
  columnsOf,
  insertionOf,
  storableJson,
  storableText,
} from '../../platform/database/index.js';
import { requireSuperAdmin } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { dueBefore, notOnHold } from '../../platform/retention/index.js';
import type { DueRecords } from '../../platform/retention/index.js';
import { LEASE_SECONDS } from '../protocol/run.state.js';
import type { LeaseState, RunClaim } from '../protocol/run.state.js';
import type { EventDraft } from './event.catalogue.js';
import type { RunKey } from './event.repository.js';
import { HarnessInput, HarnessRun, HarnessSession } from './harness.entity.js';
import { SecretMask } from './secret-mask.js';

/** A session with its unfinished run, where it has one. */
export type SessionRow = HarnessSession & { readonly activeRunId: string | null };

export type NewSession = Omit<
  HarnessSession,
  'nextMessageSequence' | 'revision' | 'pinnedAt' | 'deletedAt' | 'createTime' | 'updateTime'
>;

export interface SessionPage {
  readonly deleted: boolean;
  readonly limit: number;
  readonly offset: number;
}

const DUE_BEFORE = dueBefore('runs', { tenant: '$1', user: '$2' });

const ROW = `${columnsOf(HarnessSession, 's')},
  (SELECT r.id FROM harness_run r
    WHERE r.tenant_id = $1 AND r.session_id = s.id AND r.status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
  ) AS "activeRunId"`;

/** The sessions of users. Deleted ones stay until their tenant or user goes, or their retention ends. */
@Injectable()
export class SessionRepository {
  constructor(private readonly database: Database) {}

  /** False when the user has a session with the same key already. */
  async insert(session: NewSession): Promise<boolean> {
    const { fields, values } = insertionOf(session);
    const rows = await this.database.query(
      `INSERT INTO harness_session ${fields}
        ON CONFLICT (tenant_id, user_id, idempotency_key) DO NOTHING RETURNING id`,
      values,
    );
    return rows.length > 0;
  }

  async find(tenantId: string, id: string): Promise<SessionRow | undefined> {
    const [row] = await this.database.prepared<SessionRow>(
      `SELECT ${ROW} FROM harness_session s WHERE s.tenant_id = $1 AND s.id = $2`,
      [tenantId, id],
    );
    return row;
  }

  async byKey(tenantId: string, userId: number, key: string): Promise<SessionRow | undefined> {
    const [row] = await this.database.query<SessionRow>(
      `SELECT ${ROW} FROM harness_session s
        WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.idempotency_key = $3`,
      [tenantId, userId, key],
    );
    return row;
  }

  /** The user's sessions, pinned ones first, newest first, without those whose retention has ended. */
  async page(tenantId: string, userId: number, page: SessionPage): Promise<SessionRow[]> {
    return this.database.query<SessionRow>(
      `SELECT ${ROW} FROM harness_session s
        WHERE s.tenant_id = $1 AND s.user_id = $2 AND (s.deleted_at IS NOT NULL) = $3
          AND NOT (s.update_time < ${DUE_BEFORE} AND NOT EXISTS (SELECT FROM harness_run r
                WHERE r.tenant_id = $1 AND r.session_id = s.id AND (r.ended_at IS NULL OR r.ended_at >= ${DUE_BEFORE})))
        ORDER BY s.pinned_at IS NULL, s.id DESC LIMIT $4 OFFSET $5`,
      [tenantId, userId, page.deleted, page.limit, page.offset],
    );
  }

  /** Whether the session is deleted; true when it does not exist. */
  async isDeleted(tenantId: string, id: string): Promise<boolean> {
    const sessions = this.database.repository(HarnessSession);
    return (await sessions.countBy({ tenantId, id, deletedAt: IsNull() })) === 0;
  }

  async rename(tenantId: string, id: string, title: string): Promise<void> {
    await this.database.query(
      `UPDATE harness_session SET title = $3, revision = revision + 1, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND title <> $3 RETURNING id`,
      [tenantId, id, title],
    );
  }

  /** Nothing changes when the session already has this value. */
  async setPinned(tenantId: string, id: string, pinned: boolean): Promise<void> {
    await this.stamp('pinned_at', [tenantId, id, pinned]);
  }

  /** False when the session already has this value. */
  async setDeleted(tenantId: string, id: string, deleted: boolean): Promise<boolean> {
    return this.stamp('deleted_at', [tenantId, id, deleted]);
  }

  /** Sessions, deleted ones included, without an unfinished run and not used in the days. */
  async due({ tenantId, userId, days }: DueRecords, limit: number): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT s.id FROM harness_session s
        WHERE s.tenant_id = $1 AND ($2::bigint IS NULL OR s.user_id = $2)
          AND s.update_time < now() - make_interval(days => $3) AND ${notOnHold('s')}
          AND NOT EXISTS (SELECT FROM harness_run r WHERE r.tenant_id = $1 AND r.session_id = s.id
                AND (r.ended_at IS NULL OR r.ended_at >= now() - make_interval(days => $3)))
        LIMIT $4`,
      [tenantId, userId, days, limit],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Deletes sessions with their runs. Answers the SHA-256 of contents to which nothing refers any more; none while a command
   * of the tenant runs, because its snapshot refers to contents that no row names.
   */
  async remove(tenantId: string, ids: readonly string[]): Promise<string[]> {
    return this.database.longTransaction(async () => {
      const contents = await this.database.query<{ sha256: string }>(
        `SELECT sha256 FROM harness_artifact artifact
           JOIN harness_run r ON r.tenant_id = $1 AND r.id = artifact.run_id
          WHERE artifact.tenant_id = $1 AND r.session_id = ANY ($2::uuid[])
         UNION
         SELECT content.sha256 FROM harness_file_change change
           JOIN harness_run r ON r.tenant_id = $1 AND r.id = change.run_id
          CROSS JOIN LATERAL (VALUES (change.before_sha256), (change.after_sha256)) AS content (sha256)
          WHERE change.tenant_id = $1 AND r.session_id = ANY ($2::uuid[]) AND content.sha256 IS NOT NULL`,
        [tenantId, ids],
      );
      await this.database.query(
        'DELETE FROM harness_session WHERE tenant_id = $1 AND id = ANY ($2::uuid[])',
        [tenantId, ids],
      );
      const rows = await this.database.query<{ sha256: string }>(
        `SELECT content.sha256 FROM unnest($2::text[]) AS content (sha256)
          WHERE NOT EXISTS (SELECT FROM harness_artifact a WHERE a.tenant_id = $1 AND a.sha256 = content.sha256)
            AND NOT EXISTS (SELECT FROM harness_file_change c
                  WHERE c.tenant_id = $1 AND content.sha256 IN (c.before_sha256, c.after_sha256))
            AND NOT EXISTS (SELECT FROM harness_effect e
                  WHERE e.tenant_id = $1 AND e.state = 'STARTED' AND e.snapshot_sha256 IS NOT NULL)`,
        [tenantId, contents.map(({ sha256 }) => sha256)],
      );
      return rows.map(({ sha256 }) => sha256);
    });
  }

  private async stamp(
    column: 'pinned_at' | 'deleted_at',
    values: readonly [tenantId: string, id: string, isSet: boolean],
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_session
          SET ${column} = CASE WHEN $3 THEN now() END, revision = revision + 1, update_time = now()
        WHERE tenant_id = $1 AND id = $2 AND (${column} IS NOT NULL) <> $3 RETURNING id`,
      values,
    );
    return rows.length > 0;
  }
}

const INPUT_COLUMNS = columnsOf(HarnessInput);

/** Inputs of users to runs. Call every change while the run's row is locked. */
@Injectable()
export class RunInputRepository {
  constructor(private readonly database: Database) {}

  /** Inputs that the run has not consumed yet, oldest first. */
  async pending({ tenantId, id }: RunKey): Promise<HarnessInput[]> {
    return this.database.prepared<HarnessInput>(
      `SELECT ${INPUT_COLUMNS} FROM harness_input
        WHERE tenant_id = $1 AND run_id = $2 AND consumed_at IS NULL ORDER BY id`,
      [tenantId, id],
    );
  }

  /** False when the run has an input with the same key already. */
  async insert(input: Omit<HarnessInput, 'createTime' | 'consumedAt'>): Promise<boolean> {
    const { fields, values } = insertionOf({ ...input, content: storableText(input.content) });
    const rows = await this.database.query(
      `INSERT INTO harness_input ${fields} ON CONFLICT (run_id, idempotency_key) DO NOTHING RETURNING id`,
      values,
    );
    return rows.length > 0;
  }

  async byKey(run: RunKey, idempotencyKey: string): Promise<HarnessInput | null> {
    const { tenantId, id: runId } = run;
    return this.database.repository(HarnessInput).findOneBy({ tenantId, runId, idempotencyKey });
  }

  /** Number and size of the inputs that the run has not consumed yet. */
  async pendingSize({ tenantId, id }: RunKey): Promise<{ count: number; bytes: number }> {
    const [row] = await this.database.query<{ count: number; bytes: number }>(
      `SELECT count(*) AS count, coalesce(sum(octet_length(content)), 0)::bigint AS bytes FROM harness_input
        WHERE tenant_id = $1 AND run_id = $2 AND consumed_at IS NULL`,
      [tenantId, id],
    );
    return row ?? { count: 0, bytes: 0 };
  }

  async consume({ tenantId, id: runId }: RunKey, ids: readonly string[]): Promise<void> {
    const inputs = this.database.repository(HarnessInput);
    await inputs.update({ tenantId, runId, id: Any([...ids]) }, { consumedAt: () => 'now()' });
  }
}

const WRITES = 'writes';
/** Time for which a process may miss another's change of a switch. */
const FRESH_MS = 1_000;

/** Switches of an operator for the whole installation; they belong to no tenant. */
@Injectable()
export class HarnessSwitches {
  private cached: { readonly enabled: boolean; readonly until: number } | undefined;

  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Whether runs may change anything; at most a second old. */
  async writesEnabled(): Promise<boolean> {
    const now = performance.now();
    if (this.cached && now < this.cached.until) return this.cached.enabled;
    const [row] = await this.database.query<{ enabled: boolean }>(
      'SELECT enabled FROM harness_switch WHERE name = $1',
      [WRITES],
    );
    const enabled = row?.enabled ?? true;
    this.cached = { enabled, until: now + FRESH_MS };
    return enabled;
  }

  /** Stops or allows writes. Tool calls that have begun end; new ones are refused within a second. */
  async setWrites(caller: Caller, enabled: boolean): Promise<void> {
    requireSuperAdmin(caller);
    await this.database.transaction(async () => {
      await this.database.query(
        `INSERT INTO harness_switch (name, enabled, changed_by) VALUES ($1, $2, $3)
          ON CONFLICT (name) DO UPDATE SET enabled = $2, changed_by = $3, update_time = now()`,
        [WRITES, enabled, caller.userId],
      );
      const entry = { target: 'harness_switch', id: WRITES, detail: { enabled } };
      await this.audit.record(caller, { action: 'status-change', ...entry });
    });
    this.cached = undefined;
  }
}

/** Initial values of a run. */
export type NewRun = Pick<
  HarnessRun,
  | 'id'
  | 'tenantId'
  | 'sessionId'
  | 'userId'
  | 'homeTenantId'
  | 'requirement'
  | 'modelName'
  | 'permissionMode'
  | 'approvalPolicy'
  | 'planPolicy'
  | 'planFiles'
  | 'budget'
  | 'phase'
  | 'traceparent'
  | 'idempotencyKey'
  | 'idempotencyHash'
>;

/** A run as it was read under its lock. */
export type LockedRun = HarnessRun & { readonly leaseState: LeaseState };

/** The columns that a write may change; lease and numbers have methods of their own. */
export type RunPatch = Partial<
  Omit<
    HarnessRun,
    | 'id'
    | 'tenantId'
    | 'sessionId'
    | 'leaseOwner'
    | 'leaseUntil'
    | 'leaseBoot'
    | 'activeMs'
    | 'nextEventSequence'
  >
>;

export type LeaseChange =
  | { readonly type: 'keep' }
  | { readonly type: 'drop' }
  /** Taken from an owner that may not know yet: who it is stays readable, because it may still act. */
  | { readonly type: 'revoke' }
  | { readonly type: 'take'; readonly owner: string; readonly boot: string };

export interface RowChange {
  readonly patch: RunPatch;
  readonly lease: LeaseChange;
  readonly drafts: readonly EventDraft[];
}

/** A run that wants an owner. */
export interface DueRun {
  readonly id: string;
  readonly tenantId: string;
}

/** A leased run, and the process that holds its lease. */
export interface LeasedRow extends DueRun {
  readonly leaseOwner: string;
  readonly leaseBoot: string;
}

const COLUMNS = columnsOf(HarnessRun);

const LEASE_STATE = `CASE WHEN lease_owner IS NULL THEN 'NONE' WHEN lease_until > now() THEN 'HELD' ELSE 'EXPIRED' END
  AS "leaseState"`;

const JSON_COLUMNS: ReadonlySet<string> = new Set([
  'budget',
  'plan',
  'planReceipt',
  'question',
  'compaction',
  'errorMessage',
]);

/** Times that a write says have come; which ones they are, the database's clock says, like all others. */
const STAMPS: ReadonlySet<string> = new Set(['cancelRequestedAt', 'endedAt']);

/** Milliseconds since the lease was taken or last renewed; 0 when it is over: when its owner was lost is not known. */
const UNCOUNTED_MS = `CASE WHEN lease_until > now()
  THEN greatest(0, round(extract(epoch FROM now() - lease_until) * 1000) + ${LEASE_SECONDS * 1_000}) ELSE 0 END`;

const APPEND = `WITH held AS (
    UPDATE harness_run SET next_event_sequence = next_event_sequence + $5
     WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 AND fence = $4 AND lease_until > now()
     RETURNING tenant_id, id, session_id, user_id, next_event_sequence - $5 AS first
  ) ${insertedEvents('held', '$6')} RETURNING sequence, user_id AS "userId"`;

/** The rows of runs. What changes one goes through the ledger, but for leases and places in the queue. */
@Injectable()
export class RunRepository {
  constructor(
    private readonly database: Database,
    private readonly mask: SecretMask,
  ) {}

  async find(tenantId: string, sessionId: string, runId: string): Promise<HarnessRun | undefined> {
    const [row] = await this.database.prepared<HarnessRun>(
      `SELECT ${COLUMNS} FROM harness_run WHERE tenant_id = $1 AND session_id = $2 AND id = $3`,
      [tenantId, sessionId, runId],
    );
    return row;
  }

  /** The session's run with the key. */
  async byKey(tenantId: string, sessionId: string, key: string): Promise<HarnessRun | undefined> {
    const [row] = await this.database.prepared<HarnessRun>(
      `SELECT ${COLUMNS} FROM harness_run
        WHERE tenant_id = $1 AND session_id = $2 AND idempotency_key = $3`,
      [tenantId, sessionId, key],
    );
    return row;
  }

  /** The id of the session's unfinished run. */
  async liveId(tenantId: string, sessionId: string): Promise<string | undefined> {
    const [row] = await this.database.prepared<{ id: string }>(
      `SELECT id FROM harness_run
        WHERE tenant_id = $1 AND session_id = $2 AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')`,
      [tenantId, sessionId],
    );
    return row?.id;
  }

  /** The runs of a session, the newest first. */
  async page(
    tenantId: string,
    sessionId: string,
    { limit, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<HarnessRun[]> {
    const runs = this.database.repository(HarnessRun);
    const where = { tenantId, sessionId };
    return runs.find({ where, order: { id: 'DESC' }, take: limit, skip: offset });
  }

  /** Number of runs that wait for an owner, over all tenants. */
  async queued(): Promise<number> {
    const [row] = await acrossTenants('limit of the queue', () =>
      this.database.query<{ count: number }>(
        "SELECT count(*) AS count FROM harness_run WHERE status = 'QUEUED'",
      ),
    );
    return row?.count ?? 0;
  }

  /** Number of runs that wait for an owner, including those of this transaction; others do not see them yet. */
  async queuedNow(): Promise<number> {
    await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', ['harness queue']);
    return this.queued();
  }

  /**
   * A new run that waits for an owner, locked until the transaction ends. Undefined when the session has an unfinished run,
   * or one with the same key.
   */
  async insert(run: NewRun): Promise<LockedRun | undefined> {
    const { fields, values } = insertionOf({
      ...run,
      requirement: storableText(run.requirement),
      budget: JSON.stringify(run.budget),
      status: 'QUEUED',
      reason: 'created',
    });
    const [row] = await this.database.prepared<LockedRun>(
      `INSERT INTO harness_run ${fields} ON CONFLICT DO NOTHING RETURNING ${COLUMNS}, ${LEASE_STATE}`,
      values,
    );
    return row;
  }

  /** Locks the row until the transaction ends. Undefined when there is none. */
  async lock(tenantId: string, runId: string): Promise<LockedRun | undefined> {
    const [row] = await this.database.prepared<LockedRun>(
      `SELECT ${COLUMNS}, ${LEASE_STATE} FROM harness_run WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
      [tenantId, runId],
    );
    return row;
  }

  /** The same, unless it is locked. */
  async lockIfFree(tenantId: string, runId: string): Promise<LockedRun | undefined> {
    const [row] = await this.database.query<LockedRun>(
      `SELECT ${COLUMNS}, ${LEASE_STATE} FROM harness_run WHERE tenant_id = $1 AND id = $2
        FOR UPDATE SKIP LOCKED`,
      [tenantId, runId],
    );
    return row;
  }

  /** The row as it stands, while the lease holds it. */
  async heldBy({ tenantId, runId, owner, fence }: RunClaim): Promise<HarnessRun | undefined> {
    const [row] = await this.database.prepared<HarnessRun>(
      `SELECT ${COLUMNS} FROM harness_run
        WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 AND fence = $4 AND lease_until > now()`,
      [tenantId, runId, owner, fence],
    );
    return row;
  }

  /** Changes the locked row and stores its events, numbered from the one that is next. */
  async change(run: LockedRun, { patch, lease, drafts }: RowChange): Promise<void> {
    const values: unknown[] = [run.tenantId, run.id];
    const sets = Object.entries(patch).map(([name, value]) => {
      if (STAMPS.has(name) && value !== null) return `${columnName(name)} = now()`;
      values.push(JSON_COLUMNS.has(name) && value !== null ? JSON.stringify(value) : value);
      return `${columnName(name)} = $${values.length}`;
    });
    if (lease.type === 'drop' || lease.type === 'revoke') {
      sets.push('lease_owner = NULL', `active_ms = active_ms + ${UNCOUNTED_MS}`);
    }
    if (lease.type === 'drop') sets.push('lease_boot = NULL', 'lease_until = NULL');
    if (lease.type === 'take') {
      values.push(lease.owner, lease.boot);
      const [owner, boot] = [values.length - 1, values.length];
      sets.push(
        `lease_owner = $${owner}`,
        `lease_boot = $${boot}`,
        `lease_until = now() + interval '${LEASE_SECONDS} seconds'`,
      );
    }
    values.push(drafts.length);
    // The count is a value: each text is prepared and kept by each connection.
    const count = `$${values.length}::bigint`;
    sets.push(`next_event_sequence = next_event_sequence + ${count}`, 'update_time = now()');
    const update = `UPDATE harness_run SET ${sets.join(', ')} WHERE tenant_id = $1 AND id = $2`;
    if (drafts.length === 0) {
      await this.database.prepared(update, values);
      return;
    }
    values.push(this.wire(drafts));
    await this.database.prepared(
      `WITH changed AS (
         ${update} RETURNING tenant_id, id, session_id, user_id, next_event_sequence - ${count} AS first
       ) ${insertedEvents('changed', `$${values.length}`)}`,
      values,
    );
  }

  /** Numbers and stores events for the holder of the lease; the last one, or undefined when the lease is lost. */
  async append(
    lease: RunClaim,
    drafts: readonly EventDraft[],
  ): Promise<{ readonly sequence: number; readonly userId: number } | undefined> {
    const rows = await this.database.prepared<{ sequence: number; userId: number }>(APPEND, [
      lease.tenantId,
      lease.runId,
      lease.owner,
      lease.fence,
      drafts.length,
      this.wire(drafts),
    ]);
    return rows.at(-1);
  }

  /**
   * Renews the lease and adds the time since the last time; undefined when it is lost. A user who is disabled, or suspended
   * by the provider of their sign-in, counts as one who cancels.
   */
  async renew(lease: RunClaim): Promise<{ cancelRequested: boolean } | undefined> {
    const [row] = await this.database.prepared<{ cancelRequested: boolean }>(
      `UPDATE harness_run
          SET lease_until = now() + interval '${LEASE_SECONDS} seconds', active_ms = active_ms + ${UNCOUNTED_MS}
        WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 AND fence = $4 AND lease_until > now()
        RETURNING cancel_requested_at IS NOT NULL OR EXISTS (
                    SELECT 1 FROM user_account u
                     WHERE u.tenant_id = harness_run.home_tenant_id AND u.id = harness_run.user_id
                       AND u.status <> '0') AS "cancelRequested"`,
      [lease.tenantId, lease.runId, lease.owner, lease.fence],
    );
    return row;
  }

  /** Lets one claim of the user's at a time go on, until the transaction ends. */
  async lockUser(tenantId: string, userId: number): Promise<void> {
    await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
      `harness ${tenantId} ${userId}`,
    ]);
  }

  /** Number of other runs of the user that are leased now. */
  async heldOf(tenantId: string, userId: number, exceptRunId: string): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT count(*) AS count FROM harness_run
        WHERE tenant_id = $1 AND user_id = $2 AND id <> $3 AND status = 'RUNNING' AND lease_until > now()`,
      [tenantId, userId, exceptRunId],
    );
    return row?.count ?? 0;
  }

  /** Waiting runs that are due, and leased ones whose lease is over; the longest waiting first. */
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

  /** Runs of all tenants that wait for an owner, the seconds that the oldest is due, and those whose owner has not renewed its lease. */
  async backlog(): Promise<{
    readonly waiting: number;
    readonly oldestSeconds: number;
    readonly expired: number;
  }> {
    const [row] = await acrossTenants('metric of runs', () =>
      this.database.query<{ waiting: number; oldestSeconds: number; expired: number }>(
        `SELECT count(*) FILTER (WHERE status = 'QUEUED') AS waiting,
                coalesce(extract(epoch FROM now() - min(due_at) FILTER (WHERE status = 'QUEUED')), 0)::float8
                  AS "oldestSeconds",
                count(*) FILTER (WHERE lease_until < now()) AS expired
           FROM harness_run WHERE status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND due_at <= now()`,
      ),
    );
    return row ?? { waiting: 0, oldestSeconds: 0, expired: 0 };
  }

  /** Whether the run waits for an owner. */
  async isWaiting(tenantId: string, id: string): Promise<boolean> {
    const runs = this.database.repository(HarnessRun);
    return (await runs.countBy({ tenantId, id, status: 'QUEUED' })) > 0;
  }

  /** Unfinished runs that were cancelled at least `seconds` ago, with or without an owner. */
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

  /** At most `limit` leased runs, longest since renewal first. */
  async leasedRuns(limit: number): Promise<LeasedRow[]> {
    return acrossTenants('sweep of lost leases', () =>
      this.database.query<LeasedRow>(
        `SELECT id, tenant_id AS "tenantId", lease_owner AS "leaseOwner", lease_boot AS "leaseBoot" FROM harness_run
        WHERE status = 'RUNNING' AND lease_until > now() ORDER BY lease_until LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Ends the lease of an owner that is gone, so that no run waits for it to run out. */
  async expire({ tenantId, id, leaseOwner }: LeasedRow): Promise<void> {
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

  /** Whatever a model, a tool or a person has written: no event shows a secret of the service. */
  private wire(drafts: readonly EventDraft[]): string {
    const events = drafts.map(({ type, data, subject }) => ({
      type,
      data: this.mask.applyIn(data),
      ...subject,
    }));
    return storableJson(events);
  }
}

/** Stores the events of a list as JSON for the run's row that a statement before it answers. */
function insertedEvents(row: string, list: string): string {
  return `INSERT INTO harness_event
      (tenant_id, run_id, session_id, user_id, sequence, type, step_id, tool_call_id, approval_id, data, create_time)
    SELECT ${row}.tenant_id, ${row}.id, ${row}.session_id, ${row}.user_id, ${row}.first + e.ordinality - 1,
           e.event ->> 'type', e.event ->> 'stepId', (e.event ->> 'toolCallId')::uuid,
           (e.event ->> 'approvalId')::uuid, e.event -> 'data', clock_timestamp()
      FROM ${row}, jsonb_array_elements(${list}::jsonb) WITH ORDINALITY AS e (event, ordinality)`;
}
