import { Injectable } from '@nestjs/common';
import {
  acrossTenants,
  Database,
  SealedColumns,
  TenantScoped,
} from '../platform/database/index.js';
import type { SealedColumn } from '../platform/database/index.js';
import { msg } from '../platform/message/index.js';
import { NoticeTarget } from './notice.entity.js';
import type { NoticeDelivery, TargetKind } from './notice.entity.js';

/** A delivery that this process has claimed, with what it tells. */
export interface DueDelivery {
  readonly id: string;
  readonly tenantId: string;
  readonly attempts: number;
  readonly ageSeconds: number;
  readonly kind: TargetKind;
  readonly address: string;
  readonly secret: string | null;
  readonly percent: number;
  readonly limitId: number;
  readonly scope: string;
  readonly measure: string;
  /** The name of the user, key, model or group, or the tag; null for the tenant. */
  readonly subject: string | null;
  readonly used: number;
  readonly cap: number;
  readonly periodStart: Date;
  readonly reachedTime: Date;
}

/** The last delivery of a target. */
export interface LastDelivery extends Pick<NoticeDelivery, 'state' | 'error'> {
  readonly targetId: number;
  readonly time: Date;
}

/** An attempt ends long before the time after which another process repeats it. */
const CLAIM = `
  UPDATE notice_delivery d SET attempts = d.attempts + 1, due_time = now() + interval '2 minutes'
    FROM (SELECT id FROM notice_delivery WHERE state = 'waiting' AND due_time <= now()
           ORDER BY due_time LIMIT $1 FOR UPDATE SKIP LOCKED) due,
         notice_target t, usage_threshold r, usage_limit l, usage_counter c
   WHERE d.id = due.id AND t.id = d.target_id AND l.id = d.limit_id
     AND c.limit_id = d.limit_id AND c.subject_id = d.subject_id
     AND r.limit_id = d.limit_id AND r.subject_id = d.subject_id AND r.period_start = d.period_start AND r.percent = d.percent
  RETURNING d.id, d.tenant_id AS "tenantId", d.attempts, extract(epoch FROM now() - d.create_time)::float8 AS "ageSeconds",
            t.kind, t.address, t.secret, d.percent, l.id AS "limitId", l.scope, l.measure,
            CASE l.scope
              WHEN 'user' THEN (SELECT user_name FROM user_account u WHERE u.tenant_id = d.tenant_id AND u.id = d.subject_id)
              WHEN 'key' THEN (SELECT name FROM api_key k WHERE k.tenant_id = d.tenant_id AND k.id = d.subject_id)
              WHEN 'model' THEN (SELECT model_name FROM model m WHERE m.tenant_id = d.tenant_id AND m.id = d.subject_id)
              WHEN 'group' THEN (SELECT display_name FROM user_group g WHERE g.tenant_id = d.tenant_id AND g.id = d.subject_id)
              WHEN 'tag' THEN c.tag END AS subject,
            r.used::float8 AS used, r.cap::float8 AS cap, d.period_start AS "periodStart", r.create_time AS "reachedTime"`;

/** Only the last claim may write: of a process that was too slow another one has taken over. */
const END = `
  UPDATE notice_delivery SET state = $4, error = left($5, 500), due_time = now() + make_interval(secs => $6)
   WHERE tenant_id = $1 AND id = $2 AND attempts = $3`;

const LAST = `
  SELECT DISTINCT ON (target_id) target_id AS "targetId", state, error,
         CASE state WHEN 'waiting' THEN create_time ELSE due_time END AS time
    FROM notice_delivery WHERE tenant_id = $1 AND target_id = ANY ($2::bigint[])
   ORDER BY target_id, create_time DESC`;

@Injectable()
export class NoticeRepository {
  readonly targets: TenantScoped<NoticeTarget>;
  /** The secrets of webhooks, each bound to its address. */
  readonly secrets: SealedColumn;

  constructor(
    private readonly database: Database,
    sealed: SealedColumns,
  ) {
    this.secrets = sealed.add('notice_target', 'secret', { owner: 'address' });
    this.targets = new TenantScoped(database, NoticeTarget, msg`The address for notices`);
  }

  async claim(limit: number): Promise<DueDelivery[]> {
    return acrossTenants('deliveries of notices', () =>
      this.database.query<DueDelivery>(CLAIM, [limit]),
    );
  }

  /** Records how an attempt has ended; `seconds`: the time until the next one. */
  async end(
    { tenantId, id, attempts }: DueDelivery,
    state: NoticeDelivery['state'],
    error: string | null = null,
    seconds = 0,
  ): Promise<void> {
    await this.database.query(END, [tenantId, id, attempts, state, error, seconds]);
  }

  async last(tenantId: string, targetIds: readonly number[]): Promise<Map<number, LastDelivery>> {
    const rows = await this.database.query<LastDelivery>(LAST, [tenantId, targetIds]);
    return new Map(rows.map((row) => [row.targetId, row]));
  }
}
