import { Injectable } from '@nestjs/common';
import { Any, In, LessThan, MoreThan } from 'typeorm';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { EffectState, Resolution, SettledEffectState } from '../protocol/run.state.js';
import { sha256 } from '../protocol/values.js';
import {
  columnOf,
  columnsOf,
  storableJson,
  storableList,
  storableText,
} from './columns.repository.js';
import type { RunKey } from './event.repository.js';
import { HarnessArtifact, HarnessEffect, HarnessFileChange } from './harness.entity.js';
import type { HarnessRun } from './harness.entity.js';
import type { FileOperation, SeenFile } from '../protocol/tool-call.js';

/** A tool call as it is written down with the message that asked for it. */
export type NewEffect = Pick<
  HarnessEffect,
  | 'toolCallId'
  | 'iteration'
  | 'ordinal'
  | 'providerCallId'
  | 'toolName'
  | 'effectClass'
  | 'argumentsJson'
  | 'argumentsSha256'
  | 'input'
>;

/** Outcome of a call. */
export interface EffectOutcome {
  readonly state: SettledEffectState | 'UNCERTAIN';
  readonly result: string;
  readonly errorCode?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly artifactId?: string | undefined;
  readonly seen?: readonly SeenFile[] | undefined;
  readonly operations?: readonly FileOperation[] | undefined;
  /** Settled by a new owner from what it found. */
  readonly reconciled?: boolean;
}

/** A person's finding about an uncertain effect. */
export interface ToolCallResolution {
  readonly state: 'SUCCEEDED' | 'NOT_EXECUTED';
  readonly resolution: Resolution;
  readonly resolvedBy: number;
  readonly note: string | null;
  readonly result: string;
  readonly errorCode: string | null;
}

/** Traces of an interrupted call. */
export interface EffectTraces {
  /** The files that have changed since it began; those that it was to change stay where this is left out. */
  readonly operations?: readonly FileOperation[] | undefined;
  /** Its output until the interruption. */
  readonly artifactId?: string | undefined;
}

export interface EffectStart {
  /** Fence of the run's owner; null for an undo, which needs none. */
  readonly fence: number | null;
  readonly boot: string;
  readonly operations: readonly FileOperation[];
  readonly snapshotSha256?: string | undefined;
}

/** Selects tool calls of a run. */
export interface EffectRange {
  /** The last call that is not wanted. */
  readonly after?: string | undefined;
  readonly state?: EffectState | undefined;
  readonly limit: number;
  /** Maximum size of arguments and operations. */
  readonly bytes: number;
}

type EffectPlace = Pick<HarnessEffect, 'iteration' | 'ordinal'>;

/** Position before the first call of a run. */
const FIRST: EffectPlace = { iteration: 0, ordinal: -1 };

const SHOWN_COLUMNS = [
  'toolCallId',
  'runId',
  'toolName',
  'effectClass',
  'state',
  'iteration',
  'argumentsJson',
  'argumentsSha256',
  'errorCode',
  'exitCode',
  'artifactId',
  'operations',
  'reconciled',
  'resolution',
  'resolvedBy',
  'note',
  'createTime',
  'startedAt',
  'endedAt',
] as const;

/** A tool call without its result and what it has seen of files. */
export type ShownEffect = Pick<HarnessEffect, (typeof SHOWN_COLUMNS)[number]>;

const SHOWN = SHOWN_COLUMNS.map((name) => `${columnOf(name)} AS "${name}"`).join(', ');

/** Number of folders above the path that a call has made or removed, from the innermost on. */
export interface MadeFolders {
  readonly path: string;
  readonly count: number;
}

/** Fields of a settled call that reveal loops. */
export type PastCall = Pick<
  HarnessEffect,
  'toolName' | 'argumentsSha256' | 'iteration' | 'state' | 'errorCode'
>;

/** Outcomes of calls that have not begun, unless their row says when. */
const NEVER_BEGUN: readonly EffectState[] = ['DENIED', 'INVALID', 'NOT_EXECUTED'];

/** Order in which the model requested the calls; undo and redo have iterations below 0 and come last. */
export const IN_ORDER = 'iteration < 0, abs(iteration), ordinal';

const COLUMNS = columnsOf(HarnessEffect);

/** Newest calls of a session whose read files count. */
const MAX_READ_RECORDS = 2_000;

/** The tool calls of runs and their outcomes. Call every change while the run's row is locked. */
@Injectable()
export class EffectRepository {
  constructor(private readonly database: Database) {}

  async prepare(run: HarnessRun, effects: readonly NewEffect[]): Promise<void> {
    await this.database.prepared(
      `INSERT INTO harness_effect
          (tenant_id, session_id, run_id, tool_call_id, iteration, ordinal, provider_call_id, tool_name, effect_class,
           arguments_json, arguments_sha256, input, state)
       SELECT $1, $2, $3, (e ->> 'toolCallId')::uuid, (e ->> 'iteration')::integer, (e ->> 'ordinal')::integer,
              e ->> 'providerCallId', e ->> 'toolName', e ->> 'effectClass', e ->> 'argumentsJson',
              e ->> 'argumentsSha256', e -> 'input', 'PREPARED'
         FROM jsonb_array_elements($4::jsonb) AS e`,
      [run.tenantId, run.sessionId, run.id, storableJson(effects)],
    );
  }

  /**
   * A page of the tool calls of the run, in the order in which the model asked for them, then of what was undone and
   * redone; `more` says whether others follow. A page ends before the call with which it would be larger than `bytes`, but
   * has one call at least. NotFoundError where the run does not have the call `after`.
   */
  async page(
    { tenantId, id }: RunKey,
    { after, state, limit, bytes }: EffectRange,
  ): Promise<{ readonly effects: ShownEffect[]; readonly more: boolean }> {
    const last = after === undefined ? FIRST : await this.placeOf({ tenantId, id }, after);
    const rows = await this.database.query<ShownEffect & { isLast: boolean }>(
      `WITH few AS (
         SELECT tool_call_id, row_number() OVER places AS place, count(*) OVER () AS count,
                sum(octet_length(arguments_json) + octet_length(operations::text)) OVER places AS bytes
           FROM (SELECT * FROM harness_effect
                  WHERE tenant_id = $1 AND run_id = $2 AND (${IN_ORDER}) > ($3::integer < 0, abs($3), $4::integer)
                    AND ($5::text IS NULL OR state = $5)
                  ORDER BY ${IN_ORDER} LIMIT $6) AS next
         WINDOW places AS (ORDER BY ${IN_ORDER})
       )
       SELECT ${SHOWN}, place = count AS "isLast"
         FROM few JOIN harness_effect USING (tool_call_id)
        WHERE tenant_id = $1 AND place < $6 AND (bytes <= $7 OR place = 1)
        ORDER BY place`,
      // One row more than requested shows whether there is another page.
      [tenantId, id, last.iteration, last.ordinal, state ?? null, limit + 1, bytes],
    );
    const isWhole = rows.length === 0 || rows.at(-1)?.isLast === true;
    return { effects: rows, more: !isWhole };
  }

  /** Position of the call in the run. */
  private async placeOf({ tenantId, id: runId }: RunKey, toolCallId: string): Promise<EffectPlace> {
    const place = await this.database.repository(HarnessEffect).findOne({
      select: { iteration: true, ordinal: true },
      where: { tenantId, runId, toolCallId },
    });
    if (!place) throw new NotFoundError(msg`The tool call`);
    return place;
  }

  /** The folders that the calls have made for files, or removed with them. */
  async madeFolders(
    { tenantId, id }: RunKey,
    toolCallIds: readonly string[],
  ): Promise<MadeFolders[]> {
    return this.database.query<MadeFolders>(
      `SELECT operation ->> 'path' AS path, (operation ->> 'madeFolders')::integer AS count
         FROM harness_effect, jsonb_array_elements(operations) AS operation
        WHERE tenant_id = $1 AND run_id = $2 AND tool_call_id = ANY($3::uuid[]) AND operation ? 'madeFolders'`,
      [tenantId, id, toolCallIds],
    );
  }

  /** Calls of the runs whose outcome is not settled, in order. */
  async openOf(tenantId: string, runIds: readonly string[]): Promise<HarnessEffect[]> {
    return this.database.repository(HarnessEffect).find({
      where: { tenantId, runId: Any([...runIds]), state: In(['PREPARED', 'STARTED', 'UNCERTAIN']) },
      order: { iteration: 'ASC', ordinal: 'ASC' },
    });
  }

  async find({ tenantId, id: runId }: RunKey, toolCallId: string): Promise<HarnessEffect | null> {
    return this.database.repository(HarnessEffect).findOneBy({ tenantId, runId, toolCallId });
  }

  /** Stores what a person has said about an uncertain effect. */
  async resolve({ tenantId }: RunKey, toolCallId: string, by: ToolCallResolution): Promise<void> {
    await this.database.repository(HarnessEffect).update(
      { tenantId, toolCallId, state: 'UNCERTAIN' },
      {
        ...by,
        note: by.note === null ? null : storableText(by.note),
        result: storableText(by.result),
        endedAt: () => 'coalesce(ended_at, now())',
      },
    );
  }

  /**
   * The calls of the last turn that have no result, in their order. Earlier ones have theirs: the model is asked again
   * only when every call is answered.
   */
  async unanswered({ tenantId, id }: RunKey): Promise<HarnessEffect[]> {
    return this.database.prepared<HarnessEffect>(
      `SELECT ${COLUMNS} FROM harness_effect e
        WHERE e.tenant_id = $1 AND e.run_id = $2 AND e.iteration > 0
          AND e.iteration = (SELECT max(iteration) FROM harness_effect WHERE tenant_id = $1 AND run_id = $2)
          AND NOT EXISTS (SELECT 1 FROM harness_message m
                           WHERE m.tenant_id = $1 AND m.run_id = $2 AND m.role = 'TOOL'
                             AND m.tool_call_id = e.tool_call_id)
        ORDER BY e.iteration, e.ordinal`,
      [tenantId, id],
    );
  }

  /** Writes down what is about to happen; false when the effect is no longer prepared. Commit before acting. */
  async start({ tenantId }: RunKey, toolCallId: string, start: EffectStart): Promise<boolean> {
    const rows = await this.database.prepared(
      `UPDATE harness_effect
          SET state = 'STARTED', fence = $3, boot = $4, operations = $5::jsonb, snapshot_sha256 = $6, started_at = now()
        WHERE tenant_id = $1 AND tool_call_id = $2 AND state = 'PREPARED' RETURNING tool_call_id`,
      [
        tenantId,
        toolCallId,
        start.fence,
        start.boot,
        storableJson(start.operations),
        start.snapshotSha256 ?? null,
      ],
    );
    return rows.length > 0;
  }

  /** Records that the process no longer acts for what it has started and not finished. */
  async releaseToolCalls({ tenantId, id: runId }: RunKey, boot: string): Promise<void> {
    const started = { tenantId, runId, boot, state: 'STARTED', iteration: MoreThan(0) } as const;
    await this.database.repository(HarnessEffect).update(started, { boot: null });
  }

  /** Records that a call begins that changes nothing outside of the database; false when that is recorded already. */
  async announce({ tenantId }: RunKey, toolCallId: string): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE harness_effect SET started_at = now()
        WHERE tenant_id = $1 AND tool_call_id = $2 AND state = 'PREPARED' AND started_at IS NULL
        RETURNING tool_call_id`,
      [tenantId, toolCallId],
    );
    return rows.length > 0;
  }

  /** Stores how a call has ended, and answers whether its beginning was stored before; undefined when it had ended already. */
  async finish(
    { tenantId }: RunKey,
    toolCallId: string,
    outcome: EffectOutcome,
  ): Promise<{ readonly hadBegun: boolean } | undefined> {
    const [row] = await this.database.prepared<{ hadBegun: boolean }>(
      `UPDATE harness_effect AS effect
          SET state = $3::text, result = $4, error_code = $5, exit_code = $6, reads = $8::jsonb,
              artifact_id = coalesce($7::uuid, effect.artifact_id),
              operations = coalesce($9::jsonb, effect.operations), reconciled = $10, ended_at = now(),
              started_at = coalesce(effect.started_at, CASE WHEN $3::text <> ALL ($11::text[]) THEN now() END)
         FROM harness_effect AS before
        WHERE effect.tenant_id = $1 AND effect.tool_call_id = $2
          AND effect.state IN ('PREPARED', 'STARTED', 'UNCERTAIN')
          AND before.tenant_id = effect.tenant_id AND before.tool_call_id = effect.tool_call_id
        RETURNING before.started_at IS NOT NULL AS "hadBegun"`,
      [
        tenantId,
        toolCallId,
        outcome.state,
        storableText(outcome.result),
        outcome.errorCode ?? null,
        outcome.exitCode ?? null,
        outcome.artifactId ?? null,
        storableJson(outcome.seen ?? []),
        outcome.operations ? await storableList(outcome.operations) : null,
        outcome.reconciled ?? false,
        NEVER_BEGUN,
      ],
    );
    return row;
  }

  /** Marks a started effect as one whose outcome is unknown, with what was found of it. */
  async markUncertain(
    { tenantId }: RunKey,
    toolCallId: string,
    traces: EffectTraces = {},
  ): Promise<void> {
    const { operations, artifactId } = traces;
    await this.database.query(
      `UPDATE harness_effect
          SET state = 'UNCERTAIN', operations = coalesce($3::jsonb, operations), artifact_id = $4::uuid
        WHERE tenant_id = $1 AND tool_call_id = $2 AND state = 'STARTED' RETURNING tool_call_id`,
      [
        tenantId,
        toolCallId,
        operations ? await storableList(operations) : null,
        artifactId ?? null,
      ],
    );
  }

  /**
   * The last settled calls of the run, the oldest first: what tells of loops. Without those that are not executed because
   * their message has too many.
   */
  async lastCalls({ tenantId, id }: RunKey, limit: number): Promise<PastCall[]> {
    const rows = await this.database.prepared<PastCall>(
      `SELECT tool_name AS "toolName", arguments_sha256 AS "argumentsSha256", iteration, state,
              error_code AS "errorCode"
         FROM harness_effect
        WHERE tenant_id = $1 AND run_id = $2 AND iteration > 0
          AND state NOT IN ('PREPARED', 'STARTED', 'UNCERTAIN') AND error_code IS DISTINCT FROM 'LIMIT_REACHED'
        ORDER BY iteration DESC, ordinal DESC LIMIT $3`,
      [tenantId, id, limit],
    );
    return rows.reverse();
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
      Pick<HarnessEffect, 'reads' | 'operations' | 'state' | 'effectClass'>
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

export type NewFileChange = Omit<HarnessFileChange, 'id' | 'createTime' | 'undone'>;

const CHANGE_COLUMNS = columnsOf(HarnessFileChange);
/** Rows that are read at once. */
const ROWS_PER_READ = 1_000;

/** The changed files of runs, in the order of the changes. */
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
