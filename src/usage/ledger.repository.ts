import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { acrossTenants, Database } from '../platform/database/index.js';
import type { Swept } from '../platform/queue/index.js';
import { notOnHold } from '../platform/retention/index.js';
import type { DueRecords } from '../platform/retention/index.js';
import type { UsageEntry } from './usage.entry.js';

/**
 * The cost is the database's exact arithmetic: prices per million tokens or characters have 6 decimals, so that a product has
 * at most 12, as the column does. A cached token without a price of its own costs as much as any other,
 * and a call of a batch the part that the prices say.
 */
const COST = `CASE WHEN price.id IS NOT NULL THEN (
    (greatest(entry.input_tokens - entry.cached_tokens, 0) * coalesce(price.input_price, 0)
     + entry.cached_tokens * coalesce(price.cached_input_price, price.input_price, 0)
     + entry.output_tokens * coalesce(price.output_price, 0)
     + entry.characters * coalesce(price.character_price, 0)) * 0.000001
    + entry.images * coalesce(price.image_price, 0)
    + entry.seconds * coalesce(price.second_price, 0))
    * CASE entry.door WHEN 'batch' THEN coalesce(price.batch_price_factor, 1) ELSE 1 END END`;

/** Entries of a tenant that was deleted meanwhile are left out. Writing an entry twice changes nothing. */
const ADD = `
  INSERT INTO upstream_call (id, tenant_id, call_time, user_id, api_key_id, door, feature,
      agent_id, agent_name, asked_model, model_id, model_name, provider_code, kind, attempt, outcome, failures, aborts,
      estimates, input_tokens, output_tokens, cached_tokens, reasoning_tokens, images, seconds, characters, cost,
      price_version, first_token_ms, first_tokens, duration_ms)
  SELECT entry.id, entry.tenant_id, entry.call_time, entry.user_id, entry.api_key_id,
         entry.door, entry.feature, entry.agent_id, agent.agent_name, left(entry.asked_model, 200), entry.model_id,
         entry.model_name, entry.provider_code, entry.kind, entry.attempt, entry.outcome,
         (entry.outcome NOT IN ('ok', 'aborted'))::int, (entry.outcome = 'aborted')::int, entry.estimated::int,
         entry.input_tokens, entry.output_tokens, entry.cached_tokens, entry.reasoning_tokens, entry.images, entry.seconds,
         entry.characters, ${COST}, entry.price_version, entry.first_token_ms,
         (entry.first_token_ms IS NOT NULL)::int, entry.duration_ms
    FROM json_to_recordset($1::json) AS entry (id uuid, tenant_id varchar, call_time timestamptz, user_id bigint,
           api_key_id bigint, door varchar, feature varchar, agent_id bigint, asked_model varchar,
           model_id bigint, model_name varchar, provider_code varchar, kind varchar, attempt smallint, outcome varchar,
           estimated boolean, input_tokens bigint, output_tokens bigint, cached_tokens bigint, reasoning_tokens bigint,
           images integer, seconds numeric, characters bigint, price_version bigint, first_token_ms bigint,
           duration_ms bigint)
    JOIN tenant ON tenant.tenant_id = entry.tenant_id
    LEFT JOIN model_price price ON price.tenant_id = entry.tenant_id AND price.id = entry.price_version
    LEFT JOIN agent ON agent.tenant_id = entry.tenant_id AND agent.id = entry.agent_id
  ON CONFLICT (id) DO NOTHING`;

/**
 * The same, with calls among them that have reserved something of a limit: ledger and limits change in one statement, and an
 * entry that was written already settles nothing.
 */
const ADD_LIMITED = `
  WITH recorded AS (${ADD} RETURNING id, input_tokens + output_tokens AS tokens, cost)
  SELECT settle_usage(array_agg(id), array_agg(tokens::numeric), array_agg(cost)) FROM recorded`;

/** Rows of one batch of a sweep. */
const MAX_SWEPT_COUNT = 5_000;

/** Days whose rows are to become sums, the oldest first. */
const ROLLABLE = `
  SELECT tenant_id AS "tenantId", to_char(call_time AT TIME ZONE $1, 'YYYY-MM-DD') AS day
    FROM upstream_call
   WHERE attempt IS NOT NULL AND ${notOnHold('upstream_call')}
     AND call_time < (date_trunc('day', now() AT TIME ZONE $1) - make_interval(days => $2)) AT TIME ZONE $1
   GROUP BY 1, 2 ORDER BY 2, 1 LIMIT $3`;

const SAME = `tenant_id, user_id, api_key_id, door, feature, agent_id, agent_name, asked_model,
  model_id, model_name, provider_code, kind, price_version`;
const SUMMED = [
  ...[
    'calls',
    'failures',
    'aborts',
    'estimates',
    'input_tokens',
    'output_tokens',
    'cached_tokens',
    'reasoning_tokens',
  ],
  ...['images', 'seconds', 'characters', 'cost', 'first_token_ms', 'first_tokens', 'duration_ms'],
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
