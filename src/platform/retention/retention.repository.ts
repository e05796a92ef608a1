import { Injectable } from '@nestjs/common';
import { Raw } from 'typeorm';
import type { FindOperator } from 'typeorm';
import type { Caller } from '../access/index.js';
import { acrossTenants, Database, isBackupRunning } from '../database/index.js';
import type { RecordClass, SweptClass, TemporaryChatPolicy } from './retention.entity.js';

export interface StoredRule {
  readonly recordClass: RecordClass;
  readonly days: number;
}

/** The rule of a tenant, or of one of its users. */
export interface SubjectRule {
  readonly userId: number | null;
  readonly days: number;
}

export interface HeldUser {
  readonly userId: number;
  readonly userName: string;
  readonly reason: string;
  readonly placedBy: string | null;
  readonly createTime: Date;
}

/** Lease of a sweep since its last renewal. */
const LEASE_SECONDS = 60;
/** Tenants of one round. */
const MAX_TENANT_COUNT = 10_000;
const MAX_HOLD_COUNT = 1_000;

/**
 * The SQL condition of a row whose user is not under legal hold. `row` is the alias of a table with tenant_id and user_id. Every
 * statement that removes what is due has it.
 */
export function notOnHold(row: string): string {
  return `NOT EXISTS (SELECT FROM legal_hold hold
     WHERE hold.tenant_id = ${row}.tenant_id AND hold.user_id = ${row}.user_id)`;
}

/** The parameters with the tenant and one of its users in a statement. */
interface UserPlaces {
  readonly tenant: string;
  readonly user: string;
}

/**
 * The SQL of the time before which records of the class of a user are due; -infinity without a rule and under legal hold. Lists
 * and searches leave out what is due and not swept yet. A statement evaluates it once.
 */
export function dueBefore(recordClass: RecordClass, { tenant, user }: UserPlaces): string {
  return `coalesce((SELECT max(now() - make_interval(days => rule.days)) FROM retention_rule rule
     WHERE rule.tenant_id = ${tenant} AND rule.record_class = '${recordClass}'
       AND (rule.user_id IS NULL OR rule.user_id = ${user})
       AND NOT EXISTS (SELECT FROM legal_hold hold
             WHERE hold.tenant_id = ${tenant} AND hold.user_id = ${user})), '-infinity')`;
}

/** The predicate for TypeORM's find, on the time from which the days of the class count: the user's rows that are not due. */
export function notDue(
  recordClass: RecordClass,
  { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
): FindOperator<Date> {
  const limit = dueBefore(recordClass, { tenant: ':tenant', user: ':owner' });
  const parameters = { tenant: tenantId, owner: userId };
  return Raw((time) => `${time} >= ${limit}`, parameters) as FindOperator<Date>;
}

@Injectable()
export class RetentionRepository {
  constructor(private readonly database: Database) {}

  /** The rules of the tenant or, with a user, those of the user. */
  rules(tenantId: string, userId: number | null): Promise<StoredRule[]> {
    return this.database.query(
      `SELECT record_class AS "recordClass", days FROM retention_rule
        WHERE tenant_id = $1 AND user_id IS NOT DISTINCT FROM $2::bigint ORDER BY record_class LIMIT 100`,
      [tenantId, userId],
    );
  }

  /** Replaces the rules of the tenant or of the user, in the open transaction. */
  async replace(
    tenantId: string,
    userId: number | null,
    rules: readonly StoredRule[],
  ): Promise<void> {
    await this.database.query(
      'DELETE FROM retention_rule WHERE tenant_id = $1 AND user_id IS NOT DISTINCT FROM $2::bigint',
      [tenantId, userId],
    );
    await this.database.query(
      `INSERT INTO retention_rule (tenant_id, user_id, record_class, days)
       SELECT $1, $2::bigint, rule.record_class, rule.days
         FROM unnest($3::text[], $4::integer[]) AS rule (record_class, days)`,
      [
        ...[tenantId, userId],
        ...[rules.map(({ recordClass }) => recordClass), rules.map(({ days }) => days)],
      ],
    );
  }

  /** The rules of the class, of the tenant and of its users. */
  ofClass(tenantId: string, recordClass: SweptClass): Promise<SubjectRule[]> {
    return this.database.query(
      `SELECT user_id AS "userId", days FROM retention_rule
        WHERE tenant_id = $1 AND record_class = $2 ORDER BY user_id NULLS FIRST`,
      [tenantId, recordClass],
    );
  }

  /** Whether the sweep has to wait for a backup, which reads contents that it would remove. */
  isPaused(): Promise<boolean> {
    return isBackupRunning(this.database);
  }

  /**
   * The tenants whose records of the class are to be swept: with a rule of their own after `pauseSeconds`, and where the
   * installation has a limit all others after 15 times as long.
   */
  async tenantsToSweep(
    recordClass: SweptClass,
    { isLimited, pauseSeconds }: { readonly isLimited: boolean; readonly pauseSeconds: number },
  ): Promise<string[]> {
    const rows = await acrossTenants('tenants whose records are swept', () =>
      this.database.query<{ tenantId: string }>(
        `SELECT t.tenant_id AS "tenantId" FROM tenant t
           LEFT JOIN retention_sweep s ON s.tenant_id = t.tenant_id AND s.record_class = $1
          WHERE coalesce(s.lease_until, '-infinity') < now()
            AND coalesce(s.swept_time, '-infinity') < now() - make_interval(secs => CASE
              WHEN EXISTS (SELECT FROM retention_rule r WHERE r.tenant_id = t.tenant_id AND r.record_class = $1) THEN $3::integer
              WHEN $2::boolean THEN $3::integer * 15 END)
          ORDER BY s.swept_time NULLS FIRST LIMIT $4`,
        [recordClass, isLimited, pauseSeconds, MAX_TENANT_COUNT],
      ),
    );
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Takes the lease of a sweep, unless another process has it or has swept meanwhile. */
  async claim(
    tenantId: string,
    recordClass: SweptClass,
    { token, pauseSeconds }: { readonly token: string; readonly pauseSeconds: number },
  ): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO retention_sweep AS s (tenant_id, record_class, lease_token, lease_until)
       VALUES ($1, $2, $3, now() + make_interval(secs => ${LEASE_SECONDS}))
       ON CONFLICT (tenant_id, record_class) DO UPDATE SET lease_token = EXCLUDED.lease_token, lease_until = EXCLUDED.lease_until
         WHERE coalesce(s.lease_until, '-infinity') < now()
           AND coalesce(s.swept_time, '-infinity') < now() - make_interval(secs => $4)
       RETURNING s.tenant_id`,
      [tenantId, recordClass, token, pauseSeconds],
    );
    return rows.length > 0;
  }

  /** Renews the lease; false if another process has it. */
  async renew(tenantId: string, recordClass: SweptClass, token: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE retention_sweep SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
        WHERE tenant_id = $1 AND record_class = $2 AND lease_token = $3 RETURNING tenant_id`,
      [tenantId, recordClass, token],
    );
    return rows.length > 0;
  }

  /** Gives the lease back. A sweep that is not complete is continued by the next round. */
  async release(
    tenantId: string,
    recordClass: SweptClass,
    { token, isComplete }: { readonly token: string; readonly isComplete: boolean },
  ): Promise<void> {
    await this.database.query(
      `UPDATE retention_sweep SET lease_token = NULL, lease_until = NULL,
              swept_time = CASE WHEN $4 THEN now() ELSE swept_time END
        WHERE tenant_id = $1 AND record_class = $2 AND lease_token = $3`,
      [tenantId, recordClass, token, isComplete],
    );
  }

  async temporaryChats(tenantId: string): Promise<TemporaryChatPolicy> {
    const [row] = await this.database.query<{ policy: TemporaryChatPolicy }>(
      'SELECT temporary_chats AS policy FROM tenant WHERE tenant_id = $1',
      [tenantId],
    );
    return row?.policy ?? 'allowed';
  }

  async setTemporaryChats(tenantId: string, policy: TemporaryChatPolicy): Promise<void> {
    await this.database.query('UPDATE tenant SET temporary_chats = $2 WHERE tenant_id = $1', [
      tenantId,
      policy,
    ]);
  }

  async traceContent(tenantId: string): Promise<boolean> {
    const [row] = await this.database.query<{ isOn: boolean }>(
      'SELECT trace_content AS "isOn" FROM tenant WHERE tenant_id = $1',
      [tenantId],
    );
    return row?.isOn ?? false;
  }

  async setTraceContent(tenantId: string, isOn: boolean): Promise<void> {
    await this.database.query('UPDATE tenant SET trace_content = $2 WHERE tenant_id = $1', [
      tenantId,
      isOn,
    ]);
  }

  holds(tenantId: string): Promise<HeldUser[]> {
    return this.database.query(
      `SELECT hold.user_id AS "userId", u.user_name AS "userName", hold.reason, placer.user_name AS "placedBy",
              hold.create_time AS "createTime"
         FROM legal_hold hold
         JOIN user_account u ON u.tenant_id = $1 AND u.id = hold.user_id
         LEFT JOIN user_account placer ON placer.tenant_id = $1 AND placer.id = hold.placed_by
        WHERE hold.tenant_id = $1 ORDER BY hold.create_time DESC, hold.user_id LIMIT ${MAX_HOLD_COUNT}`,
      [tenantId],
    );
  }

  /** Throws LegalHoldError while the user is under legal hold, as the triggers of deletions do. */
  async requireNotHeld(tenantId: string, userId: number): Promise<void> {
    await this.database.query('SELECT refuse_held_deletion($1, ARRAY[$2::bigint])', [
      tenantId,
      userId,
    ]);
  }

  /** Places the hold, or changes its reason. False if the tenant has no such user. */
  async hold(
    tenantId: string,
    userId: number,
    { reason, placedBy }: { readonly reason: string; readonly placedBy: number },
  ): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO legal_hold (tenant_id, user_id, reason, placed_by)
       SELECT tenant_id, id, $3, $4 FROM user_account WHERE tenant_id = $1 AND id = $2
       ON CONFLICT (tenant_id, user_id) DO UPDATE SET reason = EXCLUDED.reason RETURNING user_id`,
      [tenantId, userId, reason, placedBy],
    );
    return rows.length > 0;
  }

  /** Lifts the hold. False if there was none. */
  async lift(tenantId: string, userId: number): Promise<boolean> {
    const rows = await this.database.query(
      'DELETE FROM legal_hold WHERE tenant_id = $1 AND user_id = $2 RETURNING user_id',
      [tenantId, userId],
    );
    return rows.length > 0;
  }
}
