import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The scopes of limits as branches of CASE, with their conditions. */
const SCOPES = [
  [`WHEN 'user' THEN`, 'AND user_id = subject'],
  [`WHEN 'key' THEN`, 'AND api_key_id = subject'],
  [`WHEN 'model' THEN`, 'AND model_id = subject'],
  [`WHEN 'group' THEN`, 'AND subject = ANY (group_ids)'],
  [`WHEN 'tag' THEN`, 'AND subject_tag = ANY (tags)'],
  ['ELSE', ''],
] as const;

/** Ids of reservations below this stand for a second, in which the calls of a minute are counted. */
const SECONDS = `'00000001-0000-0000-0000-000000000000'::uuid`;

const RESERVE_20261127 =
  'reserve_usage(varchar, uuid, bigint[], bigint, bigint, bigint, integer, numeric, numeric, numeric, text)';

/** Groups and tags of calls, and limits by group, by tag, of the tokens of a minute and of concurrent calls. */
export class Departments2026120600001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE upstream_call ADD COLUMN group_ids bigint[], ADD COLUMN tags text[];
      COMMENT ON COLUMN upstream_call.group_ids IS 'Groups of the user when the call was made, ascending; null: none';
      COMMENT ON COLUMN upstream_call.tags IS 'Tags of the request, ascending; null: none';
      ALTER TABLE api_key ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
      COMMENT ON COLUMN api_key.tags IS 'The tags that requests with the key may have';

      ALTER TABLE usage_limit
        ADD COLUMN group_id bigint REFERENCES user_group (id) ON DELETE CASCADE, ADD COLUMN tag varchar(64);
      DROP INDEX usage_limit_subject;
      CREATE UNIQUE INDEX usage_limit_subject ON usage_limit
        (tenant_id, scope, measure, coalesce(user_id, 0), coalesce(api_key_id, 0), coalesce(model_id, 0),
         coalesce(group_id, 0), coalesce(tag, ''));
      CREATE INDEX usage_limit_group ON usage_limit (group_id);
      ALTER TABLE usage_counter
        ADD COLUMN group_id bigint REFERENCES user_group (id) ON DELETE CASCADE, ADD COLUMN tag varchar(64);
      CREATE INDEX usage_counter_group ON usage_counter (group_id);
      COMMENT ON COLUMN usage_counter.subject_id IS 'The id of the user, key, model or group, or the hash of the tag; 0 for the tenant';

      -- The counters of a limit in which a call counts: one of most scopes, one for each group and tag of the call.
      CREATE FUNCTION usage_subjects(
        of_limit usage_limit, caller_user bigint, caller_key bigint, called_model bigint, caller_groups bigint[], call_tags text[]
      ) RETURNS TABLE (subject_id bigint, tag text)
      LANGUAGE sql STABLE AS $$
        SELECT CASE of_limit.scope WHEN 'user' THEN caller_user WHEN 'key' THEN caller_key
                                   WHEN 'model' THEN called_model ELSE 0 END, NULL::text
         WHERE of_limit.scope NOT IN ('group', 'tag')
        UNION ALL
        SELECT g.id, NULL FROM user_group g
         WHERE of_limit.scope = 'group' AND g.tenant_id = of_limit.tenant_id AND g.id = ANY (caller_groups)
           AND g.id = coalesce(of_limit.group_id, g.id)
        UNION ALL
        SELECT hashtextextended(t, 0), t FROM unnest(call_tags) t
         WHERE of_limit.scope = 'tag' AND t = coalesce(of_limit.tag, t)
      $$;

      -- As in 20261201-prices.ts, with groups and tags. Limits count costs in the currency of the installation.
      CREATE FUNCTION booked_usage(
        tenant varchar, measure text, since timestamptz, in_scope text, subject bigint, subject_tag text
      ) RETURNS numeric
      LANGUAGE plpgsql STABLE
      SET plan_cache_mode = force_custom_plan
      AS $$
      DECLARE
        booked_tokens numeric;
        booked_cost numeric;
      BEGIN
        IF measure NOT LIKE '%-day' AND measure NOT LIKE '%-month' THEN
          RETURN 0;
        END IF;
        CASE in_scope
          ${SCOPES.map(
            ([branch, condition]) => `${branch}
            SELECT sum(input_tokens + output_tokens), sum(cost) FILTER (WHERE currency IS NULL) INTO booked_tokens, booked_cost
              FROM upstream_call WHERE tenant_id = tenant ${condition} AND call_time >= since;`,
          ).join('\n          ')}
        END CASE;
        RETURN coalesce(CASE WHEN measure LIKE 'tokens-%' THEN booked_tokens ELSE booked_cost END, 0);
      END
      $$;

      -- The release before this one passes every limit of a tenant: those that it does not know are left out.
      ALTER FUNCTION ${RESERVE_20261127} RENAME TO reserve_usage_20261127;
      CREATE FUNCTION reserve_usage(
        tenant varchar, reservation uuid, limits bigint[], caller_user bigint, caller_key bigint, called_model bigint,
        requests integer, tokens numeric, cost numeric, lease_seconds numeric, zone text
      ) RETURNS TABLE (
        id bigint, scope varchar, measure varchar, cap numeric, used numeric, reserved numeric, needed numeric,
        is_passing boolean, retry_seconds integer
      )
      LANGUAGE sql AS $$
        SELECT * FROM reserve_usage_20261127(tenant, reservation,
          ARRAY(SELECT l.id FROM usage_limit l WHERE l.tenant_id = tenant AND l.id = ANY (limits)
                   AND l.scope NOT IN ('group', 'tag') AND l.measure NOT IN ('tokens-minute', 'calls-concurrent')),
          caller_user, caller_key, called_model, requests, tokens, cost, lease_seconds, zone)
      $$;

      -- What a call counts of a measure.
      CREATE FUNCTION usage_amount(measure text, tokens numeric, cost numeric) RETURNS numeric
      LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN measure LIKE 'requests-%' OR measure LIKE 'calls-%' THEN 1
                    WHEN measure LIKE 'tokens-%' THEN tokens ELSE cost END
      $$;

      -- Reserves what a call may use, in all of the limits or in none: returns no row then, else the limits that refuse it. Each
      -- statement of the function sees what was committed before it; the rows of the counters are locked in one order, so that
      -- what is read after that stays as it is until the end. Requests of a minute are counted by second; what was used of the
      -- tokens of a minute too (settle_limits). Concurrent calls are reservations of one.
      CREATE FUNCTION reserve_limits(
        tenant varchar, reservation uuid, limits bigint[], caller_user bigint, caller_key bigint, called_model bigint,
        caller_groups bigint[], call_tags text[], tokens numeric, cost numeric, lease_seconds numeric, zone text
      ) RETURNS TABLE (
        id bigint, scope varchar, measure varchar, cap numeric, used numeric, reserved numeric, needed numeric,
        is_passing boolean, retry_seconds integer
      )
      LANGUAGE plpgsql AS $$
      #variable_conflict use_column
      DECLARE
        one record;
        moment timestamptz;
        period timestamptz;
        amount numeric;
        of_seconds numeric;
        of_calls numeric;
        next_free timestamptz;
        refused boolean := false;
        this_second uuid;
      BEGIN
        INSERT INTO usage_counter (limit_id, subject_id, tenant_id, user_id, api_key_id, model_id, group_id, tag,
                                   period_start, used, used_time)
        SELECT l.id, s.subject_id, l.tenant_id,
               CASE WHEN l.scope = 'user' THEN caller_user END, CASE WHEN l.scope = 'key' THEN caller_key END,
               CASE WHEN l.scope = 'model' THEN called_model END, CASE WHEN l.scope = 'group' THEN s.subject_id END, s.tag,
               '-infinity', 0, clock_timestamp()
          FROM usage_limit l
         CROSS JOIN LATERAL usage_subjects(l, caller_user, caller_key, called_model, caller_groups, call_tags) s
         WHERE l.tenant_id = tenant AND l.id = ANY (limits)
           AND NOT EXISTS (SELECT FROM usage_counter c WHERE c.limit_id = l.id AND c.subject_id = s.subject_id)
         ORDER BY l.id, s.subject_id
        ON CONFLICT DO NOTHING;

        FOR one IN
          SELECT c.limit_id, c.subject_id, c.period_start, c.used, c.tag, l.scope, l.measure, l.cap
            FROM usage_limit l
           CROSS JOIN LATERAL usage_subjects(l, caller_user, caller_key, called_model, caller_groups, call_tags) s
            JOIN usage_counter c ON c.limit_id = l.id AND c.subject_id = s.subject_id
           WHERE l.tenant_id = tenant AND l.id = ANY (limits)
           ORDER BY c.limit_id, c.subject_id FOR NO KEY UPDATE OF c
        LOOP
          moment := clock_timestamp();
          period := usage_period(one.measure, zone, moment);
          amount := usage_amount(one.measure, tokens, cost);
          IF one.period_start < period THEN
            one.used := booked_usage(tenant, one.measure, period, one.scope, one.subject_id, one.tag);
            UPDATE usage_counter c SET period_start = period, used = one.used
             WHERE c.limit_id = one.limit_id AND c.subject_id = one.subject_id;
          END IF;
          IF one.measure LIKE '%-minute' THEN
            DELETE FROM usage_reservation r
             WHERE r.limit_id = one.limit_id AND r.subject_id = one.subject_id AND r.expire_time <= moment AND r.id < ${SECONDS};
          END IF;
          SELECT coalesce(sum(r.amount) FILTER (WHERE r.id < ${SECONDS}), 0),
                 coalesce(sum(r.amount) FILTER (WHERE r.id >= ${SECONDS}), 0), min(r.expire_time)
            INTO of_seconds, of_calls, next_free
            FROM usage_reservation r
           WHERE r.limit_id = one.limit_id AND r.subject_id = one.subject_id
             AND r.period_start = period AND r.expire_time > moment;
          CONTINUE WHEN coalesce(amount, 0) <= 0 OR one.used + of_seconds + of_calls + amount <= one.cap;
          refused := true;
          id := one.limit_id;
          scope := one.scope;
          measure := one.measure;
          cap := one.cap;
          used := one.used + of_seconds;
          reserved := of_calls;
          needed := amount;
          is_passing := one.measure LIKE 'requests-%' OR one.used + amount <= one.cap;
          retry_seconds := greatest(1, ceil(extract(epoch FROM CASE
            WHEN one.measure LIKE '%-minute' THEN coalesce(next_free, moment + interval '1 minute') - moment
            WHEN is_passing THEN least(next_free - moment, interval '5 seconds')
            ELSE coalesce(usage_period_end(one.measure, zone, moment) - moment, interval '1 minute') END)));
          RETURN NEXT;
        END LOOP;
        IF refused THEN
          RETURN;
        END IF;

        moment := clock_timestamp();
        this_second := lpad(to_hex(floor(extract(epoch FROM moment))::bigint), 32, '0')::uuid;
        INSERT INTO usage_reservation AS r (limit_id, subject_id, id, tenant_id, period_start, amount, expire_time)
        SELECT c.limit_id, c.subject_id, CASE WHEN l.measure LIKE 'requests-%' THEN this_second ELSE reservation END, l.tenant_id, c.period_start,
               a.amount,
               CASE WHEN l.measure LIKE 'requests-%' THEN date_trunc('second', moment) + interval '61 seconds'
                    ELSE moment + make_interval(secs => lease_seconds::double precision) END
          FROM usage_limit l
         CROSS JOIN LATERAL usage_subjects(l, caller_user, caller_key, called_model, caller_groups, call_tags) s
          JOIN usage_counter c ON c.limit_id = l.id AND c.subject_id = s.subject_id
         CROSS JOIN LATERAL (SELECT usage_amount(l.measure, tokens, cost) AS amount) a
         WHERE l.tenant_id = tenant AND l.id = ANY (limits) AND a.amount > 0
        ON CONFLICT (limit_id, subject_id, id) DO UPDATE SET amount = r.amount + EXCLUDED.amount;
        UPDATE usage_counter c SET used_time = moment
          FROM usage_limit l
         CROSS JOIN LATERAL usage_subjects(l, caller_user, caller_key, called_model, caller_groups, call_tags) s
         WHERE l.id = c.limit_id AND c.subject_id = s.subject_id AND l.tenant_id = tenant AND l.id = ANY (limits);
      END
      $$;

      -- Replaces what calls have reserved by what they have used, and returns the counters of days and months that have grown.
      CREATE FUNCTION settle_limits(calls uuid[], tokens numeric[], costs numeric[]) RETURNS TABLE (
        limit_id bigint, subject_id bigint, period_start timestamptz, used numeric
      )
      LANGUAGE plpgsql AS $$
      #variable_conflict use_column
      DECLARE
        moment timestamptz;
      BEGIN
        PERFORM FROM usage_counter c
          WHERE (c.limit_id, c.subject_id) IN (
            SELECT r.limit_id, r.subject_id FROM usage_reservation r WHERE r.id = ANY (calls))
          ORDER BY c.limit_id, c.subject_id FOR NO KEY UPDATE;
        moment := clock_timestamp();
        INSERT INTO usage_reservation AS r (limit_id, subject_id, id, tenant_id, period_start, amount, expire_time)
        SELECT o.limit_id, o.subject_id, lpad(to_hex(floor(extract(epoch FROM moment))::bigint), 32, '0')::uuid, o.tenant_id,
               o.period_start, sum(u.tokens), date_trunc('second', moment) + interval '61 seconds'
          FROM usage_reservation o
          JOIN usage_limit l ON l.id = o.limit_id AND l.measure = 'tokens-minute'
          JOIN unnest(calls, tokens) AS u (id, tokens) ON u.id = o.id
         WHERE u.tokens > 0
         GROUP BY o.limit_id, o.subject_id, o.tenant_id, o.period_start
        ON CONFLICT (limit_id, subject_id, id) DO UPDATE SET amount = r.amount + EXCLUDED.amount;
        RETURN QUERY
          UPDATE usage_counter c SET used = c.used + s.amount
            FROM (SELECT r.limit_id, r.subject_id, r.period_start,
                         sum(CASE WHEN l.measure LIKE 'tokens-%' THEN u.tokens ELSE coalesce(u.cost, 0) END) AS amount
                    FROM usage_reservation r
                    JOIN usage_limit l ON l.id = r.limit_id AND (l.measure LIKE '%-day' OR l.measure LIKE '%-month')
                    JOIN unnest(calls, tokens, costs) AS u (id, tokens, cost) ON u.id = r.id
                   GROUP BY 1, 2, 3) s
           WHERE c.limit_id = s.limit_id AND c.subject_id = s.subject_id AND c.period_start = s.period_start
          RETURNING c.limit_id, c.subject_id, c.period_start, c.used;
        DELETE FROM usage_reservation r WHERE r.id = ANY (calls);
      END
      $$;

      -- Null for measures without a period.
      CREATE OR REPLACE FUNCTION usage_period_end(measure text, zone text, moment timestamptz) RETURNS timestamptz
      LANGUAGE sql STABLE AS $$
        SELECT CASE
          WHEN measure LIKE '%-day'
            THEN (date_trunc('day', moment AT TIME ZONE zone) + interval '1 day') AT TIME ZONE zone
          WHEN measure LIKE '%-month'
            THEN (date_trunc('month', moment AT TIME ZONE zone) + interval '1 month') AT TIME ZONE zone END
      $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM usage_limit WHERE scope IN ('group', 'tag') OR measure IN ('tokens-minute', 'calls-concurrent');
      DROP FUNCTION settle_limits(uuid[], numeric[], numeric[]);
      DROP FUNCTION reserve_limits(varchar, uuid, bigint[], bigint, bigint, bigint, bigint[], text[], numeric, numeric, numeric, text);
      DROP FUNCTION usage_amount(text, numeric, numeric);
      DROP FUNCTION ${RESERVE_20261127};
      ALTER FUNCTION ${RESERVE_20261127.replace('reserve_usage', 'reserve_usage_20261127')} RENAME TO reserve_usage;
      DROP FUNCTION booked_usage(varchar, text, timestamptz, text, bigint, text);
      DROP FUNCTION usage_subjects(usage_limit, bigint, bigint, bigint, bigint[], text[]);
      ALTER TABLE usage_counter DROP COLUMN group_id, DROP COLUMN tag;
      DROP INDEX usage_limit_subject;
      ALTER TABLE usage_limit DROP COLUMN group_id, DROP COLUMN tag;
      CREATE UNIQUE INDEX usage_limit_subject ON usage_limit
        (tenant_id, scope, measure, coalesce(user_id, 0), coalesce(api_key_id, 0), coalesce(model_id, 0));
      COMMENT ON COLUMN usage_counter.subject_id IS 'The id of the user, key or model; 0 for the tenant';
      ALTER TABLE api_key DROP COLUMN tags;
      ALTER TABLE upstream_call DROP COLUMN group_ids, DROP COLUMN tags;
      CREATE OR REPLACE FUNCTION usage_period_end(measure text, zone text, moment timestamptz) RETURNS timestamptz
      LANGUAGE sql STABLE AS $$
        SELECT CASE
          WHEN measure LIKE '%-day'
            THEN (date_trunc('day', moment AT TIME ZONE zone) + interval '1 day') AT TIME ZONE zone
          ELSE (date_trunc('month', moment AT TIME ZONE zone) + interval '1 month') AT TIME ZONE zone END
      $$;
    `);
  }
}
