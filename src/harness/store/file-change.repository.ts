import { Injectable } from '@nestjs/common';
import { Any, LessThan } from 'typeorm';
import { acrossTenants, columnsOf, Database, storableJson } from '../../platform/database/index.js';
import { Effect, EffectRepository } from '../../effect/index.js';
import type { EffectState, FileOperation, NewEffect, SeenFile } from '../../effect/index.js';
import { sha256 } from '../protocol/values.js';
import type { RunKey } from './event.repository.js';
import { HarnessArtifact, HarnessFileChange } from './harness.entity.js';
import type { HarnessRun } from './harness.entity.js';

export type NewFileChange = Omit<HarnessFileChange, 'id' | 'createTime' | 'undone'>;

/** Newest calls of a session whose read files count. */
const MAX_READ_RECORDS = 2_000;

const CHANGE_COLUMNS = columnsOf(HarnessFileChange);
/** Rows that are read at once. */
const ROWS_PER_READ = 1_000;

/** Files whose content a call has shown or written. */
export function observedFiles({
  reads,
  operations,
  state,
  effectClass,
}: {
  readonly reads: readonly SeenFile[];
  readonly operations: readonly FileOperation[];
  readonly state: EffectState;
  readonly effectClass: string;
}): SeenFile[] {
  if (state !== 'SUCCEEDED' || effectClass !== 'FILE') return [...reads];
  const written = operations.flatMap(({ path, after }) =>
    after ? [{ path, sha256: after.sha256 }] : [],
  );
  return [...reads, ...written];
}

/** The changed files of runs, in the order of the changes, and the files that their calls have read. */
@Injectable()
export class FileChangeRepository {
  constructor(private readonly database: Database) {}

  async insert(changes: readonly NewFileChange[]): Promise<void> {
    const [first] = changes;
    if (!first) return;
    await this.database.query(
      `INSERT INTO harness_file_change (tenant_id, run_id, tool_call_id, path, op, before_sha256, after_sha256,
          before_mode, after_mode, additions, deletions, restorable)
        SELECT $1, $2, $3, c.path, c.op, c."beforeSha256", c."afterSha256", c."beforeMode", c."afterMode",
               c.additions, c.deletions, c.restorable
          FROM ROWS FROM (jsonb_to_recordset($4::jsonb) AS (path text, op text, "beforeSha256" text,
                 "afterSha256" text, "beforeMode" integer, "afterMode" integer, additions integer,
                 deletions integer, restorable boolean)) WITH ORDINALITY AS c
         ORDER BY c.ordinality`,
      [first.tenantId, first.runId, first.toolCallId, storableJson(changes)],
    );
  }

  /** Changes of one run, oldest first, undone ones included. Read in chunks, so that many do not block the process. */
  async ofRun(tenantId: string, runId: string): Promise<HarnessFileChange[]> {
    const changes: HarnessFileChange[] = [];
    for (;;) {
      const after = changes.at(-1)?.id ?? 0;
      const piece = await this.database.prepared<HarnessFileChange>(
        `SELECT ${CHANGE_COLUMNS} FROM harness_file_change
          WHERE tenant_id = $1 AND run_id = $2 AND id > $3 ORDER BY id LIMIT ${ROWS_PER_READ}`,
        [tenantId, runId, after],
      );
      changes.push(...piece);
      if (piece.length < ROWS_PER_READ) return changes;
    }
  }

  /** Marks changes of one run as undone, or as done again. */
  async mark(
    { tenantId, id: runId }: { readonly tenantId: string; readonly id: string },
    changeIds: readonly number[],
    undone: boolean,
  ): Promise<void> {
    const changes = this.database.repository(HarnessFileChange);
    await changes.update({ tenantId, runId, id: Any([...changeIds]) }, { undone });
  }

  /**
   * Files read by the run and the earlier runs of its session, by path: from the newest 2,000 calls that have read any.
   * The last read of a file counts.
   */
  async seenFiles({
    tenantId,
    sessionId,
  }: Pick<HarnessRun, 'tenantId' | 'sessionId'>): Promise<Map<string, string>> {
    const rows = await this.database.query<
      Pick<Effect, 'reads' | 'operations' | 'state' | 'effectClass'>
    >(
      `SELECT reads, CASE WHEN effect_class = 'FILE' THEN operations ELSE '[]' END AS operations, state,
              effect_class AS "effectClass"
         FROM harness_effect
        WHERE tenant_id = $1 AND iteration > 0
          AND run_id IN (SELECT id FROM harness_run WHERE tenant_id = $1 AND session_id = $2)
          AND (reads <> '[]' OR (effect_class = 'FILE' AND operations <> '[]'))
        ORDER BY ended_at DESC, iteration DESC, ordinal DESC LIMIT ${MAX_READ_RECORDS}`,
      [tenantId, sessionId],
    );
    const files = new Map<string, string>();
    for (const row of rows.toReversed()) {
      for (const { path, sha256 } of observedFiles(row)) files.set(path, sha256);
    }
    return files;
  }
}

export type StoredContent = Pick<HarnessArtifact, 'tenantId' | 'sha256'>;

/** The records of artifacts, and the remaining allowance of each run. */
@Injectable()
export class ArtifactRepository {
  constructor(private readonly database: Database) {}

  /** Reserves bytes of the run's allowance; false, with nothing reserved, when too few remain. */
  async takeRoom(
    { tenantId, id }: { readonly tenantId: string; readonly id: string },
    byteSize: number,
    limitBytes: number,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_run SET artifact_bytes = artifact_bytes + $3
        WHERE tenant_id = $1 AND id = $2 AND artifact_bytes + $3 <= $4 RETURNING id`,
      [tenantId, id, byteSize, limitBytes],
    );
    return rows.length > 0;
  }

  async insert(artifact: Omit<HarnessArtifact, 'createTime'>): Promise<void> {
    await this.database.repository(HarnessArtifact).insert({ ...artifact });
  }

  /** Artifacts of one run, oldest first. */
  async ofRun(tenantId: string, runId: string): Promise<HarnessArtifact[]> {
    const artifacts = this.database.repository(HarnessArtifact);
    return artifacts.find({ where: { tenantId, runId }, order: { id: 'ASC' } });
  }

  /** Contents of artifacts and changes, of every tenant, after the last one, in order. */
  async contentsAfter(last: StoredContent | undefined, limit: number): Promise<StoredContent[]> {
    return acrossTenants('move of stored contents', () =>
      this.database.query<StoredContent>(
        `SELECT tenant_id AS "tenantId", sha256 FROM (
           SELECT tenant_id, sha256::text FROM harness_artifact
           UNION SELECT tenant_id, before_sha256::text FROM harness_file_change
           UNION SELECT tenant_id, after_sha256::text FROM harness_file_change) content
          WHERE sha256 IS NOT NULL AND (tenant_id::text, sha256) > ($1, $2)
          ORDER BY tenant_id::text, sha256 LIMIT $3`,
        [last?.tenantId ?? '', last?.sha256 ?? '', limit],
      ),
    );
  }

  async find(tenantId: string, runId: string, id: string): Promise<HarnessArtifact | null> {
    return this.database.repository(HarnessArtifact).findOneBy({ tenantId, runId, id });
  }
}

export type UndoDirection = 'undo' | 'redo';

export interface NewUndo {
  readonly toolCallId: string;
  readonly direction: UndoDirection;
  /** The undone changes in a form that JSON can hold. */
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
  /** Age by the database's clock. */
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
    const effects = this.database.repository(Effect);
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
