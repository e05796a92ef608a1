import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { acrossTenants, Database } from '../platform/database/index.js';
import type { LimitMeasure, LimitScope } from './limit.entity.js';
import type { Refusal } from './limit.errors.js';
import type { MediaUnits } from './usage.entry.js';

/** The most that a call can use. */
export interface WorstCase extends MediaUnits {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** For how long the call may write its input to the cache of the service; absent: not at all. */
  readonly cacheWrite?: 'short' | 'hour';
  /** Calls of tools of the service. */
  readonly webSearches?: number;
  readonly codeRuns?: number;
  /** The cost where no price version says it, in the currency of the installation. */
  readonly cost?: number;
}

/** The remainder of a limit, and the time until its reset. */
export interface LimitLeft {
  readonly cap: number;
  /** The remaining amount without the reservations of running calls; not below 0. */
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** The limits of a call, and whose usage they count. */
export interface LimitSubjects {
  readonly tenantId: string;
  /** The ids of the limits. */
  readonly limits: readonly number[];
  readonly userId: number;
  readonly apiKeyId: number | null;
  readonly modelId: number;
  readonly groupIds: readonly number[];
  readonly tags: readonly string[];
}

/** A reservation of limits for one call. Limits of requests count one more. */
export interface ReservationRequest extends LimitSubjects {
  /** The id of the reservation. */
  readonly id: string;
  readonly priceVersion: number | null;
  readonly worst: WorstCase;
  /** The call is a line of a batch: it costs what the prices say of those. */
  readonly isOfBatch: boolean;
  /** Among the limits are requests of a minute, of which the line leaves half to others. */
  readonly leavesHalf: boolean;
}

interface MeasuredLimit extends LimitLeft {
  readonly id: number;
  readonly scope: LimitScope;
  readonly measure: LimitMeasure;
}

/** Without a price in the currency of the installation, which limits have, there is no cost. */
const RESERVE = `
  SELECT r.id, r.scope, r.measure, r.cap::float8 AS cap, r.used::float8 AS used, r.reserved::float8 AS reserved,
         r.needed::float8 AS needed, r.is_passing AS "isPassing", r.retry_seconds AS "retrySeconds"
    FROM (VALUES ($7::numeric, $8::numeric, $9::numeric, $10::numeric, $11::numeric))
           AS most (input_tokens, output_tokens, images, seconds, characters)
    LEFT JOIN model_price price ON price.tenant_id = $1 AND price.id = $12
   CROSS JOIN LATERAL reserve_limits($1, $2, $3, $4, $5, $6, $17, $18, most.input_tokens + most.output_tokens,
      coalesce($19::numeric, CASE WHEN price.currency IS NULL THEN worst_cost(price, most.input_tokens, most.output_tokens,
        most.images, most.seconds, most.characters, $16, $15::boolean)
        + $20::integer * coalesce(price.web_search_price, 0) + $21::integer * coalesce(price.code_run_price, 0) END),
      $13, $14) r`;

/** The remaining limits, counted as the functions of the database do (20261206-departments.ts): those of a minute are reservations of the last minute, those of days and months have counters. */
const LEFT = `
  SELECT l.id, l.scope, l.measure, l.cap::float8 AS cap,
         greatest(0, l.cap - coalesce(reserved.amount, 0) - coalesce(c.used, 0))::float8 AS remaining,
         greatest(0, extract(epoch FROM
           coalesce(usage_period_end(l.measure, $6, now()), reserved.until, now()) - now()))::float8 AS "resetSeconds"
    FROM usage_limit l
   CROSS JOIN LATERAL (SELECT usage_period(l.measure, $6, now()) AS start) period
   CROSS JOIN LATERAL usage_subjects(l, $3, $4, $5, $7, $8) subject
    LEFT JOIN usage_counter c ON c.tenant_id = $1 AND c.limit_id = l.id AND c.subject_id = subject.subject_id
                             AND c.period_start = period.start
    LEFT JOIN LATERAL (
     SELECT sum(amount) AS amount, max(expire_time) AS until FROM usage_reservation r
      WHERE r.tenant_id = $1 AND r.limit_id = l.id AND r.subject_id = subject.subject_id
        AND r.period_start = period.start AND r.expire_time > now()) reserved ON true
   WHERE l.tenant_id = $1 AND l.id = ANY ($2::bigint[])`;

const RELEASE = 'DELETE FROM usage_reservation WHERE tenant_id = $1 AND id = $2';

/** Passes rows over that are being settled, so that it never waits while it holds others. */
const RENEW = `
  WITH held AS (
    SELECT limit_id, subject_id, id FROM usage_reservation WHERE id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED)
  UPDATE usage_reservation r SET expire_time = now() + make_interval(secs => $2::double precision)
    FROM held WHERE r.limit_id = held.limit_id AND r.subject_id = held.subject_id AND r.id = held.id`;

/** A day is longer than any call: its settlement finds what it has reserved, also after its lease. */
const EXPIRED = `
  DELETE FROM usage_reservation WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage_reservation WHERE expire_time < now() - interval '1 day' LIMIT $1)) RETURNING limit_id`;

/** Deletes counters of past periods: a missing counter costs the sum of its period in the usage ledger. */
const UNUSED = `
  DELETE FROM usage_counter WHERE ctid = ANY (ARRAY(
    SELECT c.ctid FROM usage_counter c JOIN usage_limit l ON l.id = c.limit_id
     WHERE c.used_time < now() - interval '2 days'
       AND coalesce(usage_period_end(l.measure, $2, c.period_start) <= now(), true)
     LIMIT $1)) AND used_time < now() - interval '2 days' RETURNING limit_id`;

/** The longest period is a month. */
const OLD_THRESHOLDS = `
  DELETE FROM usage_threshold WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage_threshold WHERE create_time < now() - interval '62 days' LIMIT $1)) RETURNING limit_id`;

/** The wait of a batch line while less than half of the requests of a minute are left. */
const HALF_USED_SECONDS = 5;

/** Whether lines of batches have used their half of the requests of a minute, together with all other calls. */
function beyondHalf({ id, scope, measure, cap, remaining }: MeasuredLimit): Refusal[] {
  if (measure !== 'requests-minute') return [];
  const used = cap - remaining;
  if (used + 1 <= Math.max(1, Math.floor(cap / 2))) return [];
  return [
    {
      id,
      scope,
      measure,
      cap,
      used,
      reserved: 0,
      needed: 1,
      isPassing: true,
      retrySeconds: HALF_USED_SECONDS,
    },
  ];
}

/**
 * A reservation ends without a sign of life of its process for `leaseSeconds`. `answerTokens` are reserved for the answer of a
 * call where neither the call nor the record of the model has a limit.
 */
export const RESERVATION = { leaseSeconds: 60, answerTokens: 4_096 };

/** Reservations of limits by running calls. The functions that it calls are in the migration 20261206-departments.ts. */
@Injectable()
export class ReservationRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Reserves in all of the limits, or in none: answers those that refuse it. */
  async reserve(request: ReservationRequest): Promise<readonly Refusal[]> {
    if (!request.leavesHalf) return this.reserveAtOnce(request);
    return this.database.transaction(async () => {
      // Lines of a tenant check the remaining limits one at a time.
      await this.database.query('SELECT pg_advisory_xact_lock(hashtext($1))', [
        `batches ${request.tenantId}`,
      ]);
      const refusals = (await this.remaining(request)).flatMap(beyondHalf);
      return refusals.length > 0 ? refusals : this.reserveAtOnce(request);
    });
  }

  private reserveAtOnce(request: ReservationRequest): Promise<readonly Refusal[]> {
    const { tenantId, id, limits, userId, apiKeyId, modelId, groupIds, tags } = request;
    const { priceVersion, isOfBatch } = request;
    const { inputTokens, outputTokens, images = 0, seconds = 0, characters = 0 } = request.worst;
    const { cacheWrite, webSearches = 0, codeRuns = 0, cost } = request.worst;
    const most = [inputTokens, outputTokens, images, seconds, characters];
    return this.database.prepared<Refusal>(RESERVE, [
      ...[tenantId, id, limits, userId, apiKeyId, modelId, ...most, priceVersion],
      ...[RESERVATION.leaseSeconds, this.config.TZ, isOfBatch, cacheWrite ?? null, groupIds, tags],
      ...[cost ?? null, webSearches, codeRuns],
    ]);
  }

  /** The remaining limits for the caller and model. */
  async remaining(subjects: LimitSubjects): Promise<readonly MeasuredLimit[]> {
    const { tenantId, limits, userId, apiKeyId, modelId, groupIds, tags } = subjects;
    return this.database.prepared<MeasuredLimit>(LEFT, [
      ...[tenantId, limits, userId, apiKeyId, modelId, this.config.TZ, groupIds, tags],
    ]);
  }

  async release(tenantId: string, id: string): Promise<void> {
    await this.database.prepared(RELEASE, [tenantId, id]);
  }

  async renew(ids: readonly string[]): Promise<void> {
    await acrossTenants('renewal of reservations', () =>
      this.database.query(RENEW, [ids, RESERVATION.leaseSeconds]),
    );
  }

  /** Removes at most the given number of unneeded rows each; returns the larger number removed. */
  async sweep(limit: number): Promise<number> {
    const expired = await acrossTenants('sweep of reservations', () =>
      this.database.query(EXPIRED, [limit]),
    );
    const unused = await acrossTenants('sweep of counters', () =>
      this.database.query(UNUSED, [limit, this.config.TZ]),
    );
    const old = await acrossTenants('sweep of thresholds', () =>
      this.database.query(OLD_THRESHOLDS, [limit]),
    );
    return Math.max(expired.length, unused.length, old.length);
  }
}
