import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { acrossTenants, Database } from '../platform/database/index.js';
import type { Swept } from '../platform/queue/index.js';
import { notOnHold } from '../platform/retention/index.js';
import type { DueRecords } from '../platform/retention/index.js';
import { AUXILIARY_KINDS } from './usage.entry.js';
import type { UsageEntry } from './usage.entry.js';

/** The exact arithmetic of the database (20261201-prices.ts), rounded to the 12 decimals of the column. */
const COST = `round(coalesce(entry.cost, call_cost(price, entry.input_tokens, entry.output_tokens, entry.cached_tokens, entry.cache_write_tokens,
    entry.cache_write_hour_tokens, entry.audio_input_tokens, entry.audio_output_tokens, entry.images, entry.seconds,
    entry.characters, entry.web_searches, entry.code_runs, entry.service_tier, entry.door = 'batch')), 12)`;

/** Whether the call has used something without a price. A medium is paid by one of its units, other calls by each of them. */
const UNPRICED = `entry.cost IS NULL AND entry.kind NOT IN (${AUXILIARY_KINDS.map((kind) => `'${kind}'`).join(', ')}) AND (price.id IS NULL
    OR CASE WHEN entry.kind IN ('media', 'transcript') THEN
         entry.input_tokens + entry.output_tokens + entry.images + entry.seconds + entry.characters > 0 AND coalesce(
           CASE WHEN entry.input_tokens > 0 THEN price.input_price END, CASE WHEN entry.output_tokens > 0 THEN price.output_price END,
           CASE WHEN entry.images > 0 THEN price.image_price END, CASE WHEN entry.seconds > 0 THEN price.second_price END,
           CASE WHEN entry.characters > 0 THEN price.character_price END) IS NULL
       ELSE (entry.input_tokens > 0 AND price.input_price IS NULL)
         OR (entry.output_tokens > 0 AND price.output_price IS NULL) END
    OR (entry.web_searches > 0 AND price.web_search_price IS NULL)
    OR (entry.code_runs > 0 AND price.code_run_price IS NULL))`;

/** Entries of a tenant that was deleted meanwhile are left out. Writing an entry twice changes nothing. */
const ADD = `
  INSERT INTO upstream_call (id, tenant_id, call_time, user_id, api_key_id, group_ids, tags, door, feature,
      agent_id, agent_name, asked_model, model_id, model_name, provider_code, kind, attempt, outcome, failures, aborts,
      estimates, input_tokens, output_tokens, cached_tokens, reasoning_tokens, cache_write_tokens,
      cache_write_hour_tokens, audio_input_tokens, audio_output_tokens, web_searches, code_runs, service_tier, images, seconds,
      characters, cost, estimated_cost, currency, unpriced, service_cost, service_currency, price_version, first_token_ms,
      first_tokens, duration_ms)
  SELECT entry.id, entry.tenant_id, entry.call_time, entry.user_id, entry.api_key_id,
         entry.group_ids, entry.tags, entry.door, entry.feature, entry.agent_id, agent.agent_name, left(entry.asked_model, 200), entry.model_id,
         entry.model_name, entry.provider_code, entry.kind, entry.attempt, entry.outcome,
         (entry.outcome NOT IN ('ok', 'aborted'))::int, (entry.outcome = 'aborted')::int, entry.estimated::int,
         entry.input_tokens, entry.output_tokens, entry.cached_tokens, entry.reasoning_tokens, entry.cache_write_tokens,
         entry.cache_write_hour_tokens, entry.audio_input_tokens, entry.audio_output_tokens, entry.web_searches,
         entry.code_runs, entry.service_tier, entry.images, entry.seconds, entry.characters, priced.cost,
         CASE WHEN entry.estimated THEN priced.cost END, price.currency, (${UNPRICED})::int, entry.service_cost,
         entry.service_currency, entry.price_version, entry.first_token_ms, (entry.first_token_ms IS NOT NULL)::int,
         entry.duration_ms
    FROM json_to_recordset($1::json) AS entry (id uuid, tenant_id varchar, call_time timestamptz, user_id bigint,
           api_key_id bigint, group_ids bigint[], tags text[], door varchar, feature varchar, agent_id bigint, asked_model varchar,
           model_id bigint, model_name varchar, provider_code varchar, kind varchar, attempt smallint, outcome varchar,
           estimated boolean, input_tokens bigint, output_tokens bigint, cached_tokens bigint, reasoning_tokens bigint,
           cache_write_tokens bigint, cache_write_hour_tokens bigint, audio_input_tokens bigint, audio_output_tokens bigint,
           web_searches integer, code_runs integer, service_tier varchar, service_cost numeric, service_currency varchar, cost numeric,
           images integer, seconds numeric, characters bigint, price_version bigint, first_token_ms bigint, duration_ms bigint)
    JOIN tenant ON tenant.tenant_id = entry.tenant_id
    LEFT JOIN model_price price ON price.tenant_id = entry.tenant_id AND price.id = entry.price_version
   CROSS JOIN LATERAL (SELECT ${COST} AS cost) priced
    LEFT JOIN agent ON agent.tenant_id = entry.tenant_id AND agent.id = entry.agent_id
  ON CONFLICT (id) DO NOTHING`;

/** The shares of a limit, in percent, of which addresses are told. */
const THRESHOLDS = '(50), (80), (100)';

/**
 * The same, with calls among them that have reserved something of a limit: ledger and limits change in one statement, and an
 * entry that was written already settles nothing. Limits count costs in the currency of the installation. A threshold that is
 * reached is a row once a period, and with it the outbox gets a row for each address that is told (src/notice).
 */
const ADD_LIMITED = `
  WITH recorded AS (
    ${ADD} RETURNING id, input_tokens + output_tokens AS tokens, CASE WHEN currency IS NULL THEN cost END AS cost),
  settled AS (
    SELECT s.* FROM (SELECT array_agg(id) AS ids, array_agg(tokens::numeric) AS tokens, array_agg(cost) AS costs FROM recorded) r
     CROSS JOIN LATERAL settle_limits(r.ids, r.tokens, r.costs) s),
  reached AS (
    INSERT INTO usage_threshold (limit_id, subject_id, period_start, percent, tenant_id, used, cap)
    SELECT s.limit_id, s.subject_id, s.period_start, t.percent, l.tenant_id, s.used, l.cap
      FROM settled s JOIN usage_limit l ON l.id = s.limit_id CROSS JOIN (VALUES ${THRESHOLDS}) AS t (percent)
     WHERE l.cap > 0 AND s.used * 100 >= l.cap * t.percent
    ON CONFLICT DO NOTHING RETURNING *)
  INSERT INTO notice_delivery (tenant_id, target_id, limit_id, subject_id, period_start, percent)
  SELECT r.tenant_id, t.id, r.limit_id, r.subject_id, r.period_start, r.percent
    FROM reached r JOIN notice_target t ON t.tenant_id = r.tenant_id`;

/** Rows of one batch of a sweep. */
const MAX_SWEPT_COUNT = 5_000;

/** Days whose rows are to become sums, the oldest first. */
const ROLLABLE = `
  SELECT tenant_id AS "tenantId", to_char(call_time AT TIME ZONE $1, 'YYYY-MM-DD') AS day
    FROM upstream_call
   WHERE attempt IS NOT NULL AND ${notOnHold('upstream_call')}
     AND call_time < (date_trunc('day', now() AT TIME ZONE $1) - make_interval(days => $2)) AT TIME ZONE $1
   GROUP BY 1, 2 ORDER BY 2, 1 LIMIT $3`;

const SAME = `tenant_id, user_id, api_key_id, group_ids, tags, door, feature, agent_id, agent_name, asked_model,
  model_id, model_name, provider_code, kind, price_version, currency, service_tier, service_currency`;
const SUMMED = [
  ...['calls', 'failures', 'aborts', 'estimates', 'unpriced', 'input_tokens', 'output_tokens'],
  ...['cached_tokens', 'reasoning_tokens', 'cache_write_tokens', 'cache_write_hour_tokens'],
  ...[
    'audio_input_tokens',
    'audio_output_tokens',
    'web_searches',
    'code_runs',
    'images',
    'seconds',
  ],
  ...['characters', 'cost', 'estimated_cost', 'service_cost', 'first_token_ms', 'first_tokens'],
  'duration_ms',
];

/** A single statement, so that no sum is ever seen twice or not at all; of two processes the second finds no rows. */
const ROLL_UP = `
  WITH removed AS (
    DELETE FROM upstream_call
     WHERE tenant_id = $1 AND attempt IS NOT NULL AND ${notOnHold('upstream_call')}
       AND call_time >= $2::timestamp AT TIME ZONE $3 AND call_time < ($2::timestamp + interval '1 day') AT TIME ZONE $3
    RETURNING *)
  INSERT INTO upstream_call (id, call_time, ${SAME}, ${SUMMED.join(', ')})
  SELECT gen_random_uuid(), $2::timestamp AT TIME ZONE $3, ${SAME}, ${SUMMED.map((one) => `sum(${one})`).join(', ')}
    FROM removed GROUP BY ${SAME}`;

const EXPIRED = `
  DELETE FROM upstream_call WHERE tenant_id = $1 AND id IN (
    SELECT call.id FROM upstream_call call
     WHERE call.tenant_id = $1 AND ($2::bigint IS NULL OR call.user_id = $2)
       AND call.call_time < now() - make_interval(days => $3) AND ${notOnHold('call')} LIMIT $4) RETURNING id`;

/** A day of a tenant's usage ledger. */
export interface LedgerDay {
  readonly tenantId: string;
  /** The day in the time zone TZ. */
  readonly day: string;
}

/** Writes the usage ledger, and rolls up old rows. */
@Injectable()
export class LedgerRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async add(entries: readonly UsageEntry[]): Promise<void> {
    const rows = JSON.stringify(entries);
    const statement = entries.some(({ limited }) => limited) ? ADD_LIMITED : ADD;
    await acrossTenants('entries of the usage ledger', () =>
      this.database.prepared(statement, [rows]),
    );
  }

  async rollable(limit: number): Promise<LedgerDay[]> {
    const { TZ, USAGE_DETAIL_DAYS } = this.config;
    return acrossTenants('roll-up of the usage ledger', () =>
      this.database.query<LedgerDay>(ROLLABLE, [TZ, USAGE_DETAIL_DAYS, limit]),
    );
  }

  /** Replaces the rows of a day by its sums. */
  async rollUp({ tenantId, day }: LedgerDay): Promise<void> {
    await this.database.query(ROLL_UP, [tenantId, day, this.config.TZ]);
  }

  /** Removes a batch of rows that are older than the days. */
  async removeExpired({ tenantId, userId, days }: DueRecords): Promise<Swept> {
    const values = [tenantId, userId, days, MAX_SWEPT_COUNT];
    const { length: removed } = await this.database.query(EXPIRED, values);
    return { removed, isDone: removed < MAX_SWEPT_COUNT };
  }
}
