import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { acrossTenants, Database, TenantScoped } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { FireListQuery } from './schedule.dto.js';
import { Schedule, ScheduleFire } from './schedule.entity.js';
import type { FireState } from './schedule.entity.js';

/** Duration of a claim without renewal. */
export const LEASE_SECONDS = 60;
const LEASE = `now() + interval '${LEASE_SECONDS} seconds'`;
/** Processes that may lose a time before it fails. */
const MAX_ATTEMPTS = 3;
const MAX_DUE = 500;
/** Past times of a schedule that are kept. */
const MAX_FIRES = 50;
const UNCLAIMED = `fire.state = 'open' AND (fire.lease_until IS NULL OR fire.lease_until < now())`;

type FireKey = Pick<ScheduleFire, 'id' | 'tenantId'>;

@Injectable()
export class ScheduleRepository {
  readonly schedules: TenantScoped<Schedule>;
  readonly fires: TenantScoped<ScheduleFire>;

  constructor(private readonly database: Database) {
    this.schedules = new TenantScoped(database, Schedule, msg`The schedule`);
    this.fires = new TenantScoped(database, ScheduleFire, msg`The time of the schedule`);
  }

  /** The times of the user's schedules, or of one of them, the latest first. */
  async firesOf(
    tenantId: string,
    userId: number,
    { scheduleId: id, ...query }: FireListQuery,
  ): Promise<Page<ScheduleFire>> {
    const schedules = await this.schedules.find(tenantId, { userId, ...(id && { id }) });
    const where = { scheduleId: In(schedules.map((schedule) => schedule.id)) };
    return this.fires.page(tenantId, query, where, { id: 'DESC' });
  }

  /** The schedules that are due, of all tenants. */
  async due(): Promise<Pick<Schedule, 'id' | 'tenantId'>[]> {
    return acrossTenants('schedules that are due', () =>
      this.database.query(
        `SELECT id, tenant_id AS "tenantId" FROM schedule
          WHERE NOT paused AND next_due <= now() ORDER BY next_due LIMIT ${MAX_DUE}`,
      ),
    );
  }

  /** The schedule if it is still due, locked until the open transaction ends. */
  async lockDue(tenantId: string, id: number): Promise<Schedule | undefined> {
    const rows = await this.database.query(
      `SELECT id FROM schedule WHERE tenant_id = $1 AND id = $2 AND NOT paused AND next_due <= now() FOR UPDATE`,
      [tenantId, id],
    );
    return rows.length > 0 ? this.schedules.get(tenantId, id) : undefined;
  }

  async setNextDue({ tenantId, id }: Schedule, nextDue: Date | null): Promise<void> {
    await this.database.query(
      'UPDATE schedule SET next_due = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, id, nextDue],
    );
  }

  /** Adds the time, unless the schedule has it; one that follows an open one is skipped. Answers its id if it is open. */
  async add(
    { tenantId, id }: Pick<Schedule, 'tenantId' | 'id'>,
    dueTime: Date,
    skipped?: Message,
  ): Promise<number | undefined> {
    const before = msg`The time before had not ended.`;
    const [row] = await this.database.query<{ id: number; state: FireState }>(
      `WITH busy AS (
         SELECT 1 FROM schedule_fire WHERE tenant_id = $1 AND schedule_id = $2 AND state = 'open' LIMIT 1
       ), reason AS (
         SELECT coalesce($4::jsonb, CASE WHEN EXISTS (SELECT 1 FROM busy) THEN $5::jsonb END) AS failure
       )
       INSERT INTO schedule_fire (tenant_id, schedule_id, due_time, state, failure, end_time)
       SELECT $1, $2, $3, CASE WHEN failure IS NULL THEN 'open' ELSE 'skipped' END, failure,
              CASE WHEN failure IS NOT NULL THEN now() END FROM reason
           ON CONFLICT (schedule_id, due_time) DO NOTHING RETURNING id, state`,
      [tenantId, id, dueTime, skipped ?? null, before],
    );
    await this.database.query(
      `DELETE FROM schedule_fire WHERE tenant_id = $1 AND schedule_id = $2 AND state <> 'open'
          AND id < (SELECT min(id) FROM (SELECT id FROM schedule_fire WHERE tenant_id = $1 AND schedule_id = $2
                                          ORDER BY id DESC LIMIT ${MAX_FIRES}) AS last)`,
      [tenantId, id],
    );
    return row?.state === 'open' ? row.id : undefined;
  }

  /** Open times that no process works on. */
  async unclaimed(): Promise<FireKey[]> {
    return acrossTenants('sweep of times of schedules', () =>
      this.database.query(
        `SELECT fire.id, fire.tenant_id AS "tenantId" FROM schedule_fire AS fire
          WHERE ${UNCLAIMED} ORDER BY fire.id LIMIT ${MAX_DUE}`,
      ),
    );
  }

  async failExhausted(reason: Message): Promise<void> {
    await acrossTenants('sweep of times of schedules', () =>
      this.database.query(
        `UPDATE schedule_fire AS fire SET state = 'failed', failure = $1, end_time = now()
          WHERE ${UNCLAIMED} AND fire.attempts >= ${MAX_ATTEMPTS}`,
        [reason],
      ),
    );
  }

  /** Times of all tenants whose process has not renewed its claim. */
  async expiredLeases(): Promise<number> {
    const [row] = await acrossTenants('metric of leases', () =>
      this.database.query<{ count: number }>(
        `SELECT count(*) AS count FROM schedule_fire WHERE state = 'open' AND lease_until < now()`,
      ),
    );
    return row?.count ?? 0;
  }

  /** Releases all claims, at the start of the only process of a store. */
  async expireLeases(): Promise<void> {
    await acrossTenants('expiry of leases at the start', () =>
      this.database.query(
        `UPDATE schedule_fire SET lease_until = NULL WHERE state = 'open' AND lease_until IS NOT NULL`,
      ),
    );
  }

  /** Undefined when there is nothing to claim. */
  async claim({ tenantId, id }: FireKey, token: string): Promise<ScheduleFire | undefined> {
    const rows = await this.database.query(
      `UPDATE schedule_fire AS fire SET lease_token = $3, lease_until = ${LEASE}, attempts = fire.attempts + 1
        WHERE fire.tenant_id = $1 AND fire.id = $2 AND ${UNCLAIMED} AND fire.attempts < ${MAX_ATTEMPTS} RETURNING fire.id`,
      [tenantId, id, token],
    );
    return rows.length > 0 ? this.fires.get(tenantId, id) : undefined;
  }

  /** False when the claim is lost. */
  async renew({ tenantId, id }: FireKey, token: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE schedule_fire SET lease_until = ${LEASE}
        WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND state = 'open' RETURNING id`,
      [tenantId, id, token],
    );
    return rows.length > 0;
  }

  /** Leaves the time to a later sweep, which counts no attempt for this one. */
  async release({ tenantId, id }: FireKey, token: string): Promise<void> {
    await this.database.query(
      `UPDATE schedule_fire SET lease_until = now() + interval '15 seconds', attempts = attempts - 1
        WHERE tenant_id = $1 AND id = $2 AND lease_token = $3 AND state = 'open'`,
      [tenantId, id, token],
    );
  }

  async setChat({ tenantId, id }: FireKey, chatSessionId: number): Promise<void> {
    await this.database.query(
      'UPDATE schedule_fire SET chat_session_id = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, id, chatSessionId],
    );
  }

  async end(
    { tenantId, id }: FireKey,
    state: FireState,
    { failure = null, runId = null }: { failure?: Message | null; runId?: string | null } = {},
  ): Promise<void> {
    await this.database.query(
      `UPDATE schedule_fire SET state = $3, failure = $4, run_id = $5, end_time = now(), lease_token = NULL, lease_until = NULL
        WHERE tenant_id = $1 AND id = $2 AND state = 'open'`,
      [tenantId, id, state, failure, runId],
    );
  }
}
