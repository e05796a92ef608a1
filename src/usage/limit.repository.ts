import { Inject, Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { FindOptionsWhere } from 'typeorm';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { acrossTenants, Database, TenantScoped } from '../platform/database/index.js';
import { defined } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { LimitListQuery } from './limit.dto.js';
import { UsageLimit } from './limit.entity.js';
import type { LimitScope } from './limit.entity.js';

/** The fields of a limit that apply to a call; they do not change. */
export type SetLimit = Pick<
  UsageLimit,
  'id' | 'scope' | 'userId' | 'apiKeyId' | 'modelId' | 'groupId' | 'tag' | 'measure'
>;

/** The usage of a limit in the current period; of a limit per subject, that of the subject with the most. */
export interface LimitUse {
  readonly limitId: number;
  /** 0 for the tenant; null without any use, and for a tag. */
  readonly subjectId: number | null;
  readonly tag: string | null;
  readonly used: number | null;
  readonly reserved: number;
  /** The highest threshold, in percent, that was reached in the period. */
  readonly threshold: number | null;
  readonly periodEnd: Date | null;
}

interface Named {
  readonly scope: LimitScope;
  readonly id: number;
  readonly name: string;
}

const SET = `
  SELECT id, scope, user_id AS "userId", api_key_id AS "apiKeyId", model_id AS "modelId", group_id AS "groupId", tag,
         measure
    FROM usage_limit WHERE tenant_id = $1 ORDER BY id`;

/** A period has no counter before its first call: the usage ledger says what was used. */
const USES = `
  SELECT l.id AS "limitId", CASE WHEN l.scope <> 'tag' THEN coalesce(c.subject_id, own.subject_id) END AS "subjectId",
         coalesce(c.tag, l.tag) AS tag,
         coalesce(c.used, CASE WHEN own.subject_id IS NOT NULL
           THEN booked_usage(l.tenant_id, l.measure, own.start, l.scope, own.subject_id, l.tag) END)::float8 AS used,
         coalesce(c.reserved, 0)::float8 AS reserved,
         (SELECT max(percent) FROM usage_threshold r WHERE r.tenant_id = $1 AND r.limit_id = l.id
             AND r.subject_id = coalesce(c.subject_id, own.subject_id) AND r.period_start = own.start) AS threshold, usage_period_end(l.measure, $2, now()) AS "periodEnd"
    FROM usage_limit l
   CROSS JOIN LATERAL (
     SELECT usage_period(l.measure, $2, now()) AS start,
            CASE l.scope WHEN 'tenant' THEN 0 WHEN 'tag' THEN hashtextextended(l.tag, 0)
                         ELSE coalesce(l.user_id, l.api_key_id, l.model_id, l.group_id) END AS subject_id) own
    LEFT JOIN LATERAL (
     SELECT c.subject_id, c.tag, c.used + r.of_seconds AS used, r.amount - r.of_seconds AS reserved
       FROM usage_counter c
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(amount), 0) AS amount,
               coalesce(sum(amount) FILTER (WHERE r.id < '00000001-0000-0000-0000-000000000000'), 0) AS of_seconds
          FROM usage_reservation r
         WHERE r.tenant_id = $1 AND r.limit_id = c.limit_id AND r.subject_id = c.subject_id
           AND r.period_start = c.period_start AND r.expire_time > now()) r
      WHERE c.tenant_id = $1 AND c.limit_id = l.id AND c.period_start = own.start
      ORDER BY c.used + r.amount DESC, c.subject_id LIMIT 1) c ON true
   WHERE l.tenant_id = $1 AND l.id = ANY ($3::bigint[])`;

const NAMES = `
  SELECT 'user' AS scope, id, user_name AS name FROM user_account WHERE tenant_id = $1 AND id = ANY ($2::bigint[])
  UNION ALL
  SELECT 'key', id, name FROM api_key WHERE tenant_id = $1 AND id = ANY ($3::bigint[])
  UNION ALL
  SELECT 'model', id, model_name FROM model WHERE tenant_id = $1 AND id = ANY ($4::bigint[])
  UNION ALL
  SELECT 'group', id, display_name FROM user_group WHERE tenant_id = $1 AND id = ANY ($5::bigint[])`;

/** The records of limits. What is used of them is changed by UsageLimiter and the usage ledger. */
@Injectable()
export class LimitRepository {
  readonly limits: TenantScoped<UsageLimit>;

  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.limits = new TenantScoped(database, UsageLimit, msg`The limit`);
  }

  /** All limits of the tenant, for its calls. */
  async set(tenantId: string): Promise<readonly SetLimit[]> {
    return this.database.query<SetLimit>(SET, [tenantId]);
  }

  async page(tenantId: string, query: LimitListQuery): Promise<Page<UsageLimit>> {
    const { scope, measure, userId, apiKeyId, modelId, groupId, tag } = query;
    const where: FindOptionsWhere<UsageLimit> = defined({
      scope,
      measure,
      userId,
      apiKeyId,
      modelId,
      groupId,
      tag: tag || undefined,
    });
    return this.limits.page(tenantId, query, where, { id: 'DESC' });
  }

  async withIds(tenantId: string, ids: readonly number[]): Promise<UsageLimit[]> {
    return this.limits.find(tenantId, { id: In([...ids]) }, { id: 'ASC' });
  }

  /** Limits of costs and tokens of all tenants of which nine tenths are used in the current period. */
  async nearEnd(): Promise<number> {
    const [row] = await acrossTenants('metric of budgets', () =>
      this.database.query<{ count: number }>(
        `SELECT count(DISTINCT l.id) AS count FROM usage_limit l
           JOIN usage_counter c ON c.tenant_id = l.tenant_id AND c.limit_id = l.id
            AND c.period_start = usage_period(l.measure, $1, now())
          WHERE l.measure NOT LIKE '%minute%' AND l.cap > 0 AND c.used >= 0.9 * l.cap`,
        [this.config.TZ],
      ),
    );
    return row?.count ?? 0;
  }

  async uses(tenantId: string, limits: readonly UsageLimit[]): Promise<Map<number, LimitUse>> {
    const ids = limits.map(({ id }) => id);
    const rows = await this.database.query<LimitUse>(USES, [tenantId, this.config.TZ, ids]);
    return new Map(rows.map((row) => [row.limitId, row]));
  }

  /** Names of users, keys, models and groups of the tenant, by scope and id. */
  async names(
    tenantId: string,
    ids: Readonly<Partial<Record<LimitScope, readonly number[]>>>,
  ): Promise<(scope: LimitScope, id: number | null) => string | null> {
    const { user = [], key = [], model = [], group = [] } = ids;
    const rows = await this.database.query<Named>(NAMES, [tenantId, user, key, model, group]);
    const names = new Map(rows.map(({ scope, id, name }) => [`${scope} ${id}`, name]));
    return (scope, id) => names.get(`${scope} ${id}`) ?? null;
  }
}
