import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { sha256 } from '../protocol/ids.js';
import { EffectRepository } from './effect.repository.js';
import type { NewEffect } from './effect.repository.js';
import type { RunKey } from './event.repository.js';
import { HarnessEffect } from './harness.entity.js';
import type { HarnessRun } from './harness.entity.js';
import type { FileOperation } from '../workspace/file-operation.js';

export type UndoDirection = 'undo' | 'redo';

export interface NewUndo {
  readonly toolCallId: string;
  readonly direction: UndoDirection;
  /** What is undone, as JSON can hold it. */
  readonly input: Readonly<Record<string, unknown>>;
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
  constructor(
    private readonly database: Database,
    private readonly effects: EffectRepository,
  ) {}

  /** Writes down what is about to happen. Call it while the run's row is locked, and commit before acting. */
  async start(run: HarnessRun, undo: NewUndo): Promise<void> {
    const { toolCallId, direction: toolName, input, boot, operations } = undo;
    const argumentsJson = JSON.stringify(input);
    const [last] = await this.database.query<{ iteration: number }>(
      `SELECT least(min(iteration), 0) AS iteration FROM harness_effect WHERE tenant_id = $1 AND run_id = $2`,
      [run.tenantId, run.id],
    );
    const effect: NewEffect = {
      toolCallId,
      iteration: (last?.iteration ?? 0) - 1,
      ordinal: 0,
      providerCallId: toolCallId,
      toolName,
      effectClass: 'FILE',
      argumentsJson,
      argumentsSha256: sha256(argumentsJson),
      input,
    };
    await this.effects.prepare(run, [effect]);
    await this.effects.start(run, toolCallId, { fence: null, boot, operations });
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
