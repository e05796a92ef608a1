import type { MigrationInterface, QueryRunner } from 'typeorm';

const PRICE_COLUMNS = `
  ADD COLUMN cache_write_price numeric(14, 6),
  ADD COLUMN cache_write_hour_price numeric(14, 6),
  ADD COLUMN audio_input_price numeric(14, 6),
  ADD COLUMN audio_output_price numeric(14, 6),
  ADD COLUMN web_search_price numeric(14, 6),
  ADD COLUMN code_run_price numeric(14, 6),
  ADD COLUMN minimum_price numeric(14, 6),
  ADD COLUMN context_tiers jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN service_tier_factors jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN currency varchar(3),
  ADD COLUMN price_source varchar(500)`;

const CALL_COLUMNS = `
  ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_hour_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN audio_input_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN audio_output_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN web_searches integer NOT NULL DEFAULT 0,
  ADD COLUMN code_runs integer NOT NULL DEFAULT 0,
  ADD COLUMN service_tier varchar(20),
  ADD COLUMN service_cost numeric(24, 12),
  ADD COLUMN service_currency varchar(3),
  ADD COLUMN currency varchar(3),
  ADD COLUMN estimated_cost numeric(24, 12),
  ADD COLUMN unpriced integer NOT NULL DEFAULT 0`;

/** Statements that take the columns away again. */
const withoutColumns = (columns: string): string =>
  [...columns.matchAll(/ADD (COLUMN \w+)/g)].map(([, column]) => `DROP ${column}`).join(', ');

/** The scopes of limits as branches of CASE, with their conditions. */
const SCOPES = [
  [`WHEN 'user' THEN`, 'AND user_id = subject'],
  [`WHEN 'key' THEN`, 'AND api_key_id = subject'],
  [`WHEN 'model' THEN`, 'AND model_id = subject'],
  ['ELSE', ''],
] as const;

/** The function of the baseline (20261127-model.ts), which sums up the given costs. */
const bookedUsage = (cost: string): string => `
  CREATE OR REPLACE FUNCTION booked_usage(
    tenant varchar, measure text, since timestamptz, in_scope text, subject bigint
  ) RETURNS numeric
  LANGUAGE plpgsql STABLE
  SET plan_cache_mode = force_custom_plan
  AS $$
  DECLARE
    booked_tokens numeric;
    booked_cost numeric;
  BEGIN
    IF measure LIKE 'requests-%' THEN
      RETURN 0;
    END IF;
    CASE in_scope
      ${SCOPES.map(
        ([branch, condition]) => `${branch}
        SELECT sum(input_tokens + output_tokens), ${cost} INTO booked_tokens, booked_cost
          FROM upstream_call WHERE tenant_id = tenant ${condition} AND call_time >= since;`,
      ).join('\n      ')}
    END CASE;
    RETURN coalesce(CASE WHEN measure LIKE 'tokens-%' THEN booked_tokens ELSE booked_cost END, 0);
  END
  $$;`;

/** Prices as the services have them, what the usage ledger needs for them, and the one arithmetic of costs. */
export class Prices2026120100001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ${PRICE_COLUMNS};
      ALTER TABLE model_price ${PRICE_COLUMNS};
      ALTER TABLE upstream_call ${CALL_COLUMNS};
      COMMENT ON COLUMN model_price.cache_write_price IS 'Per million tokens written for 5 minutes; null: 1.25 times the input price';
      COMMENT ON COLUMN model_price.cache_write_hour_price IS 'Per million tokens written for an hour; null: twice the input price';
      COMMENT ON COLUMN model_price.context_tiers IS 'Prices of calls that read more than a number of tokens: [{above, inputPrice, …}]';
      COMMENT ON COLUMN model_price.service_tier_factors IS 'What calls in a tier of the service cost, as a multiple of these prices: [{tier, factor}]';
      COMMENT ON COLUMN model_price.currency IS 'Null: the currency of the installation (CURRENCY)';
      COMMENT ON COLUMN upstream_call.currency IS 'As model_price.currency. Limits count costs with null only';
      COMMENT ON COLUMN upstream_call.estimated_cost IS 'The part of cost that is of calls with estimated counts';
      COMMENT ON COLUMN upstream_call.unpriced IS 'Calls that have used something without a price';
      COMMENT ON COLUMN upstream_call.service_cost IS 'The cost as the services have stated it';

      -- What a million tokens of a call cost that reads so many. Prices that a tier of the context does not name are those before it;
      -- cache prices follow the input price. Cache writes without a price cost the multiples that Anthropic, OpenAI and Alibaba
      -- document: 1.25 for 5 minutes, 2 for an hour.
      CREATE FUNCTION token_prices(
        price model_price, input_tokens numeric,
        OUT input numeric, OUT cached numeric, OUT written numeric, OUT written_hour numeric,
        OUT output numeric, OUT audio_input numeric, OUT audio_output numeric
      )
      LANGUAGE plpgsql IMMUTABLE AS $$
      DECLARE
        tier jsonb;
      BEGIN
        input := coalesce(price.input_price, 0);
        output := coalesce(price.output_price, 0);
        cached := price.cached_input_price;
        written := price.cache_write_price;
        written_hour := price.cache_write_hour_price;
        IF price.context_tiers <> '[]' THEN
          SELECT t INTO tier FROM jsonb_array_elements(price.context_tiers) t
           WHERE (t ->> 'above')::numeric < input_tokens ORDER BY (t ->> 'above')::numeric DESC LIMIT 1;
        END IF;
        IF tier IS NOT NULL THEN
          output := coalesce((tier ->> 'outputPrice')::numeric, output);
          input := coalesce((tier ->> 'inputPrice')::numeric, input);
          cached := coalesce((tier ->> 'cachedInputPrice')::numeric, cached * input / nullif(price.input_price, 0));
          written := coalesce((tier ->> 'cacheWritePrice')::numeric, written * input / nullif(price.input_price, 0));
          written_hour := coalesce((tier ->> 'cacheWriteHourPrice')::numeric,
                                   written_hour * input / nullif(price.input_price, 0));
        END IF;
        cached := coalesce(cached, input);
        written := coalesce(written, input * 1.25);
        written_hour := coalesce(written_hour, input * 2);
        audio_input := coalesce(price.audio_input_price, input);
        audio_output := coalesce(price.audio_output_price, output);
      END
      $$;

      -- The cost of a call; null without a price. Tools of the service cost the same in every tier and in batches.
      CREATE FUNCTION call_cost(
        price model_price, input_tokens numeric, output_tokens numeric, cached numeric, written numeric, written_hour numeric,
        audio_input numeric, audio_output numeric, images numeric, seconds numeric, characters numeric,
        web_searches numeric, code_runs numeric, service_tier text, is_batch boolean
      ) RETURNS numeric
      LANGUAGE plpgsql IMMUTABLE AS $$
      DECLARE
        tokens record;
        factor numeric := 1;
      BEGIN
        IF price.id IS NULL THEN
          RETURN NULL;
        END IF;
        IF input_tokens + output_tokens + images + seconds + characters + web_searches + code_runs = 0 THEN
          RETURN 0;
        END IF;
        tokens := token_prices(price, input_tokens);
        IF service_tier IS NOT NULL AND price.service_tier_factors <> '[]' THEN
          factor := coalesce((SELECT (f ->> 'factor')::numeric FROM jsonb_array_elements(price.service_tier_factors) f
                               WHERE f ->> 'tier' = service_tier LIMIT 1), 1);
        END IF;
        IF is_batch THEN
          factor := factor * coalesce(price.batch_price_factor, 1);
        END IF;
        RETURN greatest(
          ((greatest(input_tokens - cached - written - written_hour - audio_input, 0) * tokens.input
             + cached * tokens.cached + written * tokens.written + written_hour * tokens.written_hour
             + audio_input * tokens.audio_input
             + greatest(output_tokens - audio_output, 0) * tokens.output + audio_output * tokens.audio_output
             + characters * coalesce(price.character_price, 0)) * 0.000001
            + images * coalesce(price.image_price, 0) + seconds * coalesce(price.second_price, 0)) * factor
          + web_searches * coalesce(price.web_search_price, 0) + code_runs * coalesce(price.code_run_price, 0),
          price.minimum_price);
      END
      $$;

      -- The most that a call can cost, whatever is cached, spoken or served in another tier, without tools of the service.
      CREATE FUNCTION worst_cost(
        price model_price, input_tokens numeric, output_tokens numeric, images numeric, seconds numeric, characters numeric,
        cache_write text, is_batch boolean
      ) RETURNS numeric
      LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN price.id IS NOT NULL THEN greatest(price.minimum_price,
          ((input_tokens * max(greatest(tokens.input, tokens.cached, tokens.audio_input,
              CASE WHEN cache_write IS NOT NULL THEN tokens.written END,
              CASE WHEN cache_write = 'hour' THEN tokens.written_hour END))
            + output_tokens * max(greatest(tokens.output, tokens.audio_output))
            + characters * coalesce(price.character_price, 0)) * 0.000001
           + images * coalesce(price.image_price, 0) + seconds * coalesce(price.second_price, 0))
          * greatest(1, (SELECT max((f ->> 'factor')::numeric) FROM jsonb_array_elements(price.service_tier_factors) f))
          * CASE WHEN is_batch THEN coalesce(price.batch_price_factor, 1) ELSE 1 END) END
          FROM (SELECT 0::numeric AS length
                UNION ALL
                SELECT (t ->> 'above')::numeric + 1 FROM jsonb_array_elements(price.context_tiers) t
                 WHERE (t ->> 'above')::numeric < input_tokens) reached
         CROSS JOIN LATERAL token_prices(price, reached.length) tokens
      $$;

      -- Limits count costs in the currency of the installation.
      ${bookedUsage('sum(cost) FILTER (WHERE currency IS NULL)')}
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${bookedUsage('sum(cost)')}
      DROP FUNCTION worst_cost(model_price, numeric, numeric, numeric, numeric, numeric, text, boolean);
      DROP FUNCTION call_cost(model_price, numeric, numeric, numeric, numeric, numeric, numeric, numeric, numeric, numeric,
        numeric, numeric, numeric, text, boolean);
      DROP FUNCTION token_prices(model_price, numeric);
      ALTER TABLE upstream_call ${withoutColumns(CALL_COLUMNS)};
      ALTER TABLE model_price ${withoutColumns(PRICE_COLUMNS)};
      ALTER TABLE model ${withoutColumns(PRICE_COLUMNS)};
    `);
  }
}
