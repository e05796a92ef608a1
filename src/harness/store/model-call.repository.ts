import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { newId } from '../protocol/ids.js';
import { insertionOf } from './columns.repository.js';
import type { RunKey } from './event.repository.js';
import type { HarnessRun } from './harness.entity.js';

export interface ModelCallStart {
  readonly iteration: number;
  readonly attempt: number;
  readonly purpose: 'TURN' | 'SUMMARY';
  /** As estimated: what stays of a call whose end is not written down. */
  readonly sentTokens: number;
}

export interface ModelCallEnd {
  readonly state: 'DONE' | 'FAILED' | 'ABANDONED';
  /** Undefined when the service has not taken the request. */
  readonly used: UsedTokens | undefined;
  readonly cost: number | undefined;
  readonly durationMs?: number;
  readonly errorCode?: string;
}

interface UsedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens?: number | undefined;
  /** A number that the service has not counted is ours. */
  readonly estimated: boolean;
}

/** The calls of model services that runs have made. */
@Injectable()
export class ModelCallRepository {
  constructor(private readonly database: Database) {}

  /** Writes down that a call begins; answers its id, which events call effectId. */
  async start(
    run: Pick<HarnessRun, 'tenantId' | 'id' | 'fence'>,
    call: ModelCallStart,
  ): Promise<string> {
    const { iteration, attempt, purpose, sentTokens: inputTokens } = call;
    const { tenantId, id: runId, fence } = run;
    const id = newId();
    const { fields, values } = insertionOf({
      ...{ id, tenantId, runId, iteration, attempt, purpose, fence, inputTokens },
      ...{ estimated: true, state: 'STARTED' },
    });
    await this.database.prepared(`INSERT INTO harness_model_call ${fields}`, values);
    return id;
  }

  async end({ tenantId }: Pick<RunKey, 'tenantId'>, id: string, end: ModelCallEnd): Promise<void> {
    await this.database.prepared(
      `UPDATE harness_model_call
          SET state = $3, input_tokens = $4, output_tokens = $5, cached_tokens = $6, cost = $7, estimated = $8,
              duration_ms = $9, error_code = $10, ended_at = now()
        WHERE tenant_id = $1 AND id = $2 AND state = 'STARTED'`,
      [
        tenantId,
        id,
        end.state,
        end.used?.inputTokens ?? null,
        end.used?.outputTokens ?? null,
        end.used?.cachedInputTokens ?? null,
        end.cost ?? null,
        end.used?.estimated ?? false,
        end.durationMs === undefined ? null : Math.round(end.durationMs),
        end.errorCode ?? null,
      ],
    );
  }

  /** Marks calls that a lost owner has left; answers their ids. What they were sent stays counted as estimated. */
  async abandonOpen({ tenantId, id }: RunKey): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `UPDATE harness_model_call SET state = 'ABANDONED', ended_at = now()
        WHERE tenant_id = $1 AND run_id = $2 AND state = 'STARTED' RETURNING id`,
      [tenantId, id],
    );
    return rows.map((row) => row.id);
  }
}
