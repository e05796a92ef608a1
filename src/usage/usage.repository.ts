import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database } from '../platform/database/index.js';
import { AUXILIARY_KINDS } from './usage.entry.js';
import type { UsageFilter, UsageGroup, UsageView } from './usage.dto.js';

/** A group of a report, as its key and its name. */
interface GroupSql {
  readonly key: string;
  readonly name?: string;
  /** A join with a row for each group or tag of a call; one with null for a call without. */
  readonly join?: string;
}

const DAY = `to_char(call_time AT TIME ZONE $2, 'YYYY-MM-DD')`;
const HOUR = `to_char(call_time AT TIME ZONE $2, 'YYYY-MM-DD HH24:00')`;
/** The latest of the names that a record had. */
const latest = (column: string): string => `(array_agg(${column} ORDER BY call_time DESC))[1]`;

/** Users and keys are erased with their names; those of users of another tenant are not shown. */
const userName = (id: string): string =>
  `(SELECT user_name FROM user_account account WHERE account.tenant_id = $1 AND account.id = ${id})`;
const keyName = (id: string): string =>
  `(SELECT name FROM api_key WHERE api_key.tenant_id = $1 AND api_key.id = ${id})`;

const SQL_OF: Readonly<Record<UsageGroup, GroupSql>> = {
  day: { key: DAY },
  hour: { key: HOUR },
  user: { key: 'user_id::text', name: userName('min(upstream_call.user_id)') },
  key: { key: 'api_key_id::text', name: keyName('min(upstream_call.api_key_id)') },
  group: {
    key: 'member.group_id::text',
    name: `(SELECT display_name FROM user_group WHERE user_group.tenant_id = $1 AND user_group.id = min(member.group_id))`,
    join: 'LEFT JOIN LATERAL unnest(group_ids) AS member (group_id) ON true',
  },
  tag: { key: 'tagged.tag', join: 'LEFT JOIN LATERAL unnest(tags) AS tagged (tag) ON true' },
  model: { key: 'model_id::text', name: latest('model_name') },
  provider: { key: 'provider_code' },
  agent: { key: 'agent_id::text', name: latest('agent_name') },
  door: { key: 'door' },
  feature: { key: 'feature' },
  kind: { key: 'kind' },
};
const BY_TIME: readonly UsageGroup[] = ['day', 'hour'];

const COLUMN_OF = {
  userId: 'user_id',
  apiKeyId: 'api_key_id',
  modelId: 'model_id',
  providerCode: 'provider_code',
  agentId: 'agent_id',
  door: 'door',
  feature: 'feature',
  kind: 'kind',
} as const;

/** The conditions of filters that compare with one of several values. */
const ARRAY_OF = { groupId: 'group_ids', tag: 'tags' } as const;

/** Excludes auxiliary calls, which reports show only on request. */
const NOT_AUXILIARY = `kind NOT IN (${AUXILIARY_KINDS.map((kind) => `'${kind}'`).join(', ')})`;

/** Rows of releases before 1.1 have no count of their calls without a price. */
const UNPRICED = `CASE WHEN cost IS NULL AND ${NOT_AUXILIARY} THEN calls ELSE unpriced END`;

const FIGURES = `coalesce(sum(calls), 0) AS calls, coalesce(sum(failures), 0) AS failures,
  coalesce(sum(aborts), 0) AS aborts, coalesce(sum(estimates), 0) AS estimates,
  coalesce(sum(input_tokens), 0)::bigint AS "inputTokens", coalesce(sum(output_tokens), 0)::bigint AS "outputTokens",
  coalesce(sum(cached_tokens), 0)::bigint AS "cachedTokens", coalesce(sum(reasoning_tokens), 0)::bigint AS "reasoningTokens",
  coalesce(sum(cache_write_tokens), 0)::bigint AS "cacheWriteTokens",
  coalesce(sum(cache_write_hour_tokens), 0)::bigint AS "cacheWriteHourTokens",
  coalesce(sum(audio_input_tokens), 0)::bigint AS "audioInputTokens",
  coalesce(sum(audio_output_tokens), 0)::bigint AS "audioOutputTokens",
  coalesce(sum(web_searches), 0) AS "webSearches", coalesce(sum(code_runs), 0) AS "codeRuns",
  coalesce(sum(images), 0) AS images, coalesce(sum(seconds), 0)::float8 AS seconds,
  coalesce(sum(characters), 0)::bigint AS characters,
  coalesce(sum(${UNPRICED}), 0) AS "unpriced", trim_scale(sum(service_cost))::text AS "serviceCost",
  (sum(first_token_ms) / nullif(sum(first_tokens), 0))::float8 AS "firstTokenMs",
  (sum(duration_ms) / nullif(sum(calls), 0))::float8 AS "durationMs"`;

const ROWS_AT_ONCE = 1_000;

const DETAIL = `id, call_time AS "callTime", user_id AS "userId", ${userName('upstream_call.user_id')} AS "userName",
  api_key_id AS "apiKeyId", ${keyName('upstream_call.api_key_id')} AS "apiKeyName", door, feature, agent_id AS "agentId", agent_name AS "agentName",
  asked_model AS "askedModel", model_id AS "modelId", model_name AS "modelName", provider_code AS "providerCode", kind,
  attempt, outcome, calls, failures, aborts, estimates, ${UNPRICED} AS unpriced, input_tokens AS "inputTokens", output_tokens AS "outputTokens",
  cached_tokens AS "cachedTokens", reasoning_tokens AS "reasoningTokens", cache_write_tokens AS "cacheWriteTokens",
  cache_write_hour_tokens AS "cacheWriteHourTokens", audio_input_tokens AS "audioInputTokens",
  audio_output_tokens AS "audioOutputTokens", web_searches AS "webSearches", code_runs AS "codeRuns",
  service_tier AS "serviceTier", images, seconds::text, characters, trim_scale(cost)::text AS cost,
  CASE WHEN cost IS NOT NULL THEN coalesce(currency, $5) END AS currency, trim_scale(service_cost)::text AS "serviceCost",
  service_currency AS "serviceCurrency", price_version AS "priceVersion", first_token_ms AS "firstTokenMs",
  duration_ms AS "durationMs", array_to_string(group_ids, '; ') AS "groupIds",
  (SELECT string_agg(display_name, '; ' ORDER BY user_group.id) FROM user_group
    WHERE user_group.tenant_id = $1 AND user_group.id = ANY (group_ids)) AS "groupNames", array_to_string(tags, '; ') AS tags`;

export type ExportedValue = string | number | Date | null | undefined;

/** A row of the usage ledger as it is exported. */
export interface ExportedCall extends Readonly<Record<string, ExportedValue>> {
  readonly id: string;
  readonly callTime: Date;
}

type Figures = UsageView['total'];

/** Figures as they are read: of each currency the cost, and its part that is of estimated calls. */
type FiguresRead = Omit<Figures, 'cost' | 'costs'> & {
  readonly costs: Readonly<Record<string, readonly [cost: string, estimated: string | null]>>;
};

/** What a user, key, model or agent owes for a month in one currency, or all of them together. */
export type Charge = Omit<Figures, 'costs'> & {
  readonly key: string | null;
  readonly name: string | null;
  readonly currency: string;
  readonly estimatedCost: string | null;
};

/** Charges of one report at most. */
export const MAX_CHARGE_COUNT = 50_000;

/** The sums of a group, and of each `groupBy` its key and name: `key0`, `name0`, `key1`, `name1`. */
export type GroupSums = Figures & Readonly<Record<`key${number}` | `name${number}`, string | null>>;

/** Reads the usage ledger of a tenant. */
@Injectable()
export class UsageRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Returns at most `limit` groups. */
  async report(
    tenantId: string,
    filter: UsageFilter,
    { groups, limit }: { readonly groups: readonly UsageGroup[]; readonly limit: number },
  ): Promise<{ total: Figures; rows: GroupSums[]; more: boolean }> {
    const { where, values } = this.whereOf(tenantId, filter);
    const columns = groups.flatMap((group, at) => {
      const { key, name = 'NULL::text' } = SQL_OF[group];
      return [`${key} AS key${at}`, `${name} AS name${at}`];
    });
    const keys = groups.map((_, at) => `key${at}`);
    const byTime = groups.flatMap((group, at) => (BY_TIME.includes(group) ? [`key${at}`] : []));
    const order = [...byTime, 'calls DESC', ...keys].join(', ');
    const places = groups.map((group) => SQL_OF[group].key).join(', ');
    const joins = groups.map((group) => SQL_OF[group].join ?? '').join(' ');
    const figures = `${FIGURES}, ${await this.costsOf(tenantId)} AS costs`;
    const rows = await this.database.query<FiguresRead & Omit<GroupSums, keyof Figures>>(
      `SELECT ${columns.join(', ')}, ${figures} FROM upstream_call ${joins} WHERE ${where}
        GROUP BY ${places} ORDER BY ${order} LIMIT ${limit + 1}`,
      values,
    );
    const [total] = await this.database.query<FiguresRead>(
      `SELECT ${figures} FROM upstream_call WHERE ${where}`,
      values,
    );
    if (!total) throw new Error('The sum of the usage ledger has no row.');
    return {
      total: this.withCosts(total),
      rows: rows.slice(0, limit).map((row) => this.withCosts(row)),
      more: rows.length > limit,
    };
  }

  /** The charges of the group, at most MAX_CHARGE_COUNT, and their sums in each currency, which include those left out. */
  async charges(
    tenantId: string,
    filter: UsageFilter,
    group: UsageGroup,
  ): Promise<{ charges: Charge[]; sums: Charge[] }> {
    const { where, values } = this.whereOf(tenantId, filter);
    const { key, name = 'NULL::text', join = '' } = SQL_OF[group];
    const figures = `${FIGURES}, coalesce(currency, $5) AS currency, trim_scale(sum(cost))::text AS cost,
      trim_scale(sum(estimated_cost))::text AS "estimatedCost"`;
    const charges = await this.database.query<Charge>(
      `SELECT ${key} AS key, ${name} AS name, ${figures} FROM upstream_call ${join} WHERE ${where}
        GROUP BY ${key}, currency ORDER BY name, key, currency LIMIT ${MAX_CHARGE_COUNT}`,
      values,
    );
    const sums = await this.database.query<Charge>(
      `SELECT NULL::text AS key, NULL::text AS name, ${figures} FROM upstream_call WHERE ${where}
        GROUP BY currency ORDER BY upstream_call.currency NULLS FIRST LIMIT ${MAX_CHARGE_COUNT}`,
      values,
    );
    return { charges, sums };
  }

  /** An expression for the costs by currency, of the currencies that prices of the tenant had. They are never added. */
  private async costsOf(tenantId: string): Promise<string> {
    const others = await this.database.query<{ currency: string }>(
      `SELECT DISTINCT currency FROM model_price
        WHERE tenant_id = $1 AND currency ~ '^[A-Z]{3}$' ORDER BY currency LIMIT 50`,
      [tenantId],
    );
    const costs = (currency: string, condition: string): string =>
      `CASE WHEN count(cost) FILTER (WHERE ${condition}) > 0 THEN jsonb_build_object('${currency}', jsonb_build_array(
         trim_scale(sum(cost) FILTER (WHERE ${condition}))::text,
         trim_scale(sum(estimated_cost) FILTER (WHERE ${condition}))::text)) ELSE '{}' END`;
    return [
      costs(this.config.CURRENCY, 'currency IS NULL'),
      ...others.map(({ currency }) => costs(currency, `currency = '${currency}'`)),
    ].join(' || ');
  }

  private withCosts<Row extends FiguresRead>({ costs, ...row }: Row) {
    const { CURRENCY } = this.config;
    const isOwn = (currency: string): number => (currency === CURRENCY ? 0 : 1);
    const sorted = Object.entries(costs).sort(
      ([one], [other]) => isOwn(one) - isOwn(other) || one.localeCompare(other),
    );
    return {
      ...row,
      cost: costs[CURRENCY]?.[0] ?? null,
      costs: sorted.map(([currency, [cost, estimatedCost]]) => ({
        currency,
        cost,
        estimatedCost,
      })),
    };
  }

  /** All rows of the filter, page by page, by time. */
  async *rows(tenantId: string, filter: UsageFilter): AsyncGenerator<readonly ExportedCall[]> {
    const { where, values } = this.whereOf(tenantId, filter);
    let after: ExportedCall | undefined;
    for (;;) {
      const next = after
        ? ` AND (call_time, id) > ($${values.length + 1}::timestamptz, $${values.length + 2}::uuid)`
        : '';
      const page = await this.database.query<ExportedCall>(
        `SELECT ${DETAIL} FROM upstream_call WHERE ${where}${next}
          ORDER BY call_time, id LIMIT ${ROWS_AT_ONCE}`,
        after ? [...values, after.callTime, after.id] : values,
      );
      if (page.length > 0) yield page;
      if (page.length < ROWS_AT_ONCE) return;
      after = page.at(-1);
    }
  }

  /** The second value is the zone of days and hours, the fifth the currency of the installation. */
  private whereOf(
    tenantId: string,
    { from, until, ...fields }: UsageFilter,
  ): { readonly where: string; readonly values: readonly unknown[] } {
    const { TZ, CURRENCY } = this.config;
    const values: unknown[] = [tenantId, TZ, from, until, CURRENCY];
    const parts = ['tenant_id = $1', 'call_time >= $3', 'call_time < $4'];
    parts.push('$2::text IS NOT NULL', '$5::text IS NOT NULL');
    if (!fields.kind) parts.push(NOT_AUXILIARY);
    for (const [field, column] of Object.entries(COLUMN_OF)) {
      const value: unknown = fields[field as keyof typeof COLUMN_OF];
      if (value === undefined || value === null || value === '') continue;
      values.push(value);
      parts.push(`${column} = $${values.length}`);
    }
    for (const [field, column] of Object.entries(ARRAY_OF)) {
      const value = fields[field as keyof typeof ARRAY_OF];
      if (!value) continue;
      values.push(value);
      parts.push(`$${values.length} = ANY (${column})`);
    }
    return { where: parts.join(' AND '), values };
  }
}
