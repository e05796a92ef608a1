import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { localized } from '../../platform/http/index.js';
import { DayUseView, ModelUseView, TurnFailureView, UseView } from './use.dto.js';
import type { Message } from '../../platform/message/index.js';

/** Ended answers of the tenant since the beginning of the first day; the index chat_message_answer_time has them. */
const ANSWERS = `chat_message answer
  WHERE answer.tenant_id = $1 AND answer.role = 'assistant' AND answer.state <> 'writing'
    AND answer.create_time >= (date_trunc('day', now() AT TIME ZONE $2) - make_interval(days => $3 - 1)) AT TIME ZONE $2`;

const FIGURES = `count(*)::int AS turns,
  count(*) FILTER (WHERE state = 'failed')::int AS failures,
  coalesce(sum(input_tokens), 0)::bigint AS "inputTokens",
  coalesce(sum(output_tokens), 0)::bigint AS "outputTokens",
  count(first_token_ms)::int AS "firstTokens",
  avg(first_token_ms)::float8 AS "firstTokenMs"`;

const DAYS = `
  SELECT to_char(day, 'YYYY-MM-DD') AS day, coalesce(turns, 0) AS turns, coalesce(failures, 0) AS failures,
         coalesce("inputTokens", 0) AS "inputTokens", coalesce("outputTokens", 0) AS "outputTokens",
         coalesce("firstTokens", 0) AS "firstTokens", "firstTokenMs"
    FROM generate_series(date_trunc('day', now() AT TIME ZONE $2) - make_interval(days => $3 - 1),
                         date_trunc('day', now() AT TIME ZONE $2), interval '1 day') AS calendar (day)
    LEFT JOIN (SELECT date_trunc('day', create_time AT TIME ZONE $2) AS day, ${FIGURES} FROM ${ANSWERS} GROUP BY 1) used
      USING (day)
   ORDER BY day`;

const MODELS = `
  SELECT used.*, (SELECT min(provider_code) FROM model
                   WHERE model.tenant_id = $1 AND model.model_name = used."modelName") AS "providerCode"
    FROM (SELECT model_name AS "modelName", ${FIGURES} FROM ${ANSWERS} GROUP BY 1) used
   ORDER BY turns DESC, "modelName" LIMIT 20`;

const FAILURES = `
  SELECT id, model_name AS "modelName", error, create_time AS "createTime" FROM ${ANSWERS} AND state = 'failed'
   ORDER BY create_time DESC LIMIT 10`;

interface FailedAnswer {
  readonly id: number;
  readonly modelName: string | null;
  readonly error: Message | null;
  readonly createTime: Date;
}

/** Figures of the answers of a tenant, from the stored messages. */
@Injectable()
export class UseRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async report(tenantId: string, days: number): Promise<UseView> {
    const values = [tenantId, this.config.TZ, days];
    const failures = await this.database.query<FailedAnswer>(FAILURES, values);
    return UseView.of({
      days: await this.database.query<DayUseView>(DAYS, values),
      models: await this.database.query<ModelUseView>(MODELS, values),
      failures: failures.map((answer) =>
        TurnFailureView.of(answer, { error: localized(answer.error) }),
      ),
    });
  }
}
