import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { storableJson } from './storable.js';
import { HarnessEffect } from './harness.entity.js';
import type { HarnessRun } from './harness.entity.js';
import type { FileOperation } from '../workspace/file-operation.js';

export type UndoDirection = 'undo' | 'redo';

type RunKey = Pick<HarnessRun, 'tenantId' | 'id' | 'sessionId'>;

export interface NewUndo {
  readonly toolCallId: string;
  readonly direction: UndoDirection;
  readonly argumentsJson: string;
  readonly argumentsSha256: string;
  readonly boot: string;
  readonly operations: readonly FileOperation[];
}

/** An undo or redo that has begun and not ended. */
export interface OpenUndo {
  readonly toolCallId: string;
  readonly tenantId: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly boot: string;
  /** How long ago it began, by the database's clock. */
  readonly seconds: number;
}

/** Undoing and redoing as effects of a run: their iterations are below 0, where no turn of the model is. */
@Injectable()
export class UndoRepository {
  constructor(private readonly database: Database) {}

  /** Writes down what is about to happen. Call it while the run's row is locked, and commit before acting. */
  async start({ tenantId, id, sessionId }: RunKey, undo: NewUndo): Promise<void> {
    const [last] = await this.database.query<{ iteration: number }>(
      `SELECT least(min(iteration), 0) AS iteration FROM harness_effect WHERE tenant_id = $1 AND run_id = $2`,
      [tenantId, id],
    );
    await this.database.query(
      `INSERT INTO harness_effect
          (tenant_id, session_id, run_id, tool_call_id, iteration, ordinal, provider_call_id, tool_name, effect_class,
           arguments_json, arguments_sha256, input, state, boot, operations, started_at)
        VALUES ($1, $2, $3, $4, $5, 0, $6, $7, 'FILE', $8, $9, $10::jsonb, 'STARTED', $11, $12::jsonb, now())`,
      [
        tenantId,
        sessionId,
        id,
        undo.toolCallId,
        (last?.iteration ?? 0) - 1,
        undo.toolCallId,
        undo.direction,
        undo.argumentsJson,
        undo.argumentsSha256,
        undo.argumentsJson,
        undo.boot,
        storableJson(undo.operations),
      ],
    );
  }

  /** Whether an undo or redo of the run is under way. */
  async isUnderWay({ tenantId, id: runId }: RunKey): Promise<boolean> {
    const effects = this.database.repository(HarnessEffect);
    const open = { tenantId, runId, state: 'STARTED', iteration: LessThan(0) } as const;
    return (await effects.countBy(open)) > 0;
  }

  /** Every undo and redo that has begun and not ended, of all tenants. */
  async open(limit: number): Promise<OpenUndo[]> {
    return acrossTenants('sweep of interrupted undos', () =>
      this.database.query<OpenUndo>(
        `SELECT tool_call_id AS "toolCallId", tenant_id AS "tenantId", session_id AS "sessionId", run_id AS "runId",
              coalesce(boot, '') AS boot, extract(epoch FROM now() - started_at)::float8 AS seconds
         FROM harness_effect WHERE state = 'STARTED' AND iteration < 0 ORDER BY started_at LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Takes over from a process that is gone; false when another one was faster. */
  async takeOver({ tenantId, toolCallId, boot }: OpenUndo, by: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_effect SET boot = $4
        WHERE tenant_id = $1 AND tool_call_id = $2 AND coalesce(boot, '') = $3 AND state = 'STARTED'
        RETURNING tool_call_id`,
      [tenantId, toolCallId, boot, by],
    );
    return rows.length > 0;
  }
}
