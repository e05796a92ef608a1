import { Injectable } from '@nestjs/common';
import { Any, In, MoreThan } from 'typeorm';
import type { Repository } from 'typeorm';
import {
  columnName,
  Database,
  storableJson,
  storableList,
  storableText,
} from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { Effect } from './effect.entity.js';
import type { EffectOwner, RunEffect, RunKey, TurnOwner } from './effect.entity.js';
import type {
  EffectState,
  FileOperation,
  Resolution,
  SeenFile,
  SettledEffectState,
} from './effect.state.js';

/** A tool call as it is written down with the message that asked for it. */
export type NewEffect = Pick<
  Effect,
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

/** A call by its tool and arguments. */
export type CallContent = Pick<Effect, 'toolName' | 'argumentsSha256'>;

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

type EffectPlace = Pick<Effect, 'iteration' | 'ordinal'>;

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
export type ShownEffect = Pick<RunEffect, (typeof SHOWN_COLUMNS)[number]>;

const SHOWN = SHOWN_COLUMNS.map((name) => `${columnName(name)} AS "${name}"`).join(', ');

/** Number of folders above the path that a call has made or removed, from the innermost on. */
export interface MadeFolders {
  readonly path: string;
  readonly count: number;
}

/** Fields of a settled call that reveal loops. */
export type PastCall = Pick<
  Effect,
  'toolName' | 'argumentsSha256' | 'iteration' | 'state' | 'errorCode'
>;

/** Outcomes of calls that have not begun, unless their row says when. */
const NEVER_BEGUN: readonly EffectState[] = ['DENIED', 'INVALID', 'NOT_EXECUTED'];

/** Order in which the model requested the calls; undo and redo have iterations below 0 and come last. */
export const IN_ORDER = 'iteration < 0, abs(iteration), ordinal';

/**
 * Assignments for the open calls of a turn that is over, by a crash or otherwise: what had not begun is not executed any more,
 * and the outcome of what had is unknown unless it may be repeated.
 */
export const ENDED_WITH_TURN = `state = CASE WHEN state = 'PREPARED' THEN 'NOT_EXECUTED'
     WHEN effect_class = 'TOOL' THEN 'UNCERTAIN' ELSE 'FAILED' END, ended_at = now()`;

/** Tool calls and their outcomes. Call every change while the owner's row is locked. */
@Injectable()
export class EffectRepository {
  constructor(private readonly database: Database) {}

  /** The rows of runs. */
  private rows(): Repository<RunEffect> {
    return this.database.repository<RunEffect>(Effect);
  }

  async prepare(owner: EffectOwner, effects: readonly NewEffect[]): Promise<void> {
    const isTurn = 'turnId' in owner;
    await this.database.prepared(
      `INSERT INTO harness_effect
          (tenant_id, session_id, run_id, turn_id, message_id, user_id, tool_call_id, iteration, ordinal, provider_call_id,
           tool_name, effect_class, arguments_json, arguments_sha256, input, state)
       SELECT $1, $2, $3, $4, $5::bigint, $6::bigint, (e ->> 'toolCallId')::uuid, (e ->> 'iteration')::integer,
              (e ->> 'ordinal')::integer, e ->> 'providerCallId', e ->> 'toolName', e ->> 'effectClass', e ->> 'argumentsJson',
              e ->> 'argumentsSha256', e -> 'input', 'PREPARED'
         FROM jsonb_array_elements($7::jsonb) AS e`,
      [
        owner.tenantId,
        isTurn ? null : owner.sessionId,
        isTurn ? null : owner.id,
        isTurn ? owner.turnId : null,
        isTurn ? owner.messageId : null,
        isTurn ? owner.userId : null,
        storableJson(effects),
      ],
    );
  }

  /** The calls of a turn, in the order of their numbers. */
  ofTurn(tenantId: string, turnId: string): Promise<Effect[]> {
    const where = { tenantId, turnId };
    return this.database.repository(Effect).find({ where, order: { ordinal: 'ASC' } });
  }

  /** The calls with these ids. */
  ofCalls(tenantId: string, toolCallIds: readonly string[]): Promise<Effect[]> {
    return this.database.repository(Effect).findBy({ tenantId, toolCallId: Any([...toolCallIds]) });
  }

  /** Whether the outcome of the same call in a turn of the user is unknown: it must not be repeated. */
  async isUnknown({ tenantId, userId }: TurnOwner, call: CallContent): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM harness_effect
        WHERE tenant_id = $1 AND user_id = $2 AND tool_name = $3 AND arguments_sha256 = $4 AND effect_class = 'TOOL'
          AND state IN ('STARTED', 'UNCERTAIN') LIMIT 1`,
      [tenantId, userId, call.toolName, call.argumentsSha256],
    );
    return rows.length > 0;
  }

  /** Replaces the arguments of a call that has not begun. */
  async changeArguments(
    tenantId: string,
    toolCallId: string,
    {
      argumentsJson,
      argumentsSha256,
      input,
    }: Pick<Effect, 'argumentsJson' | 'argumentsSha256' | 'input'>,
  ): Promise<void> {
    await this.database.query(
      `UPDATE harness_effect SET arguments_json = $3, arguments_sha256 = $4, input = $5::jsonb
        WHERE tenant_id = $1 AND tool_call_id = $2 AND state = 'PREPARED' RETURNING tool_call_id`,
      [tenantId, toolCallId, storableText(argumentsJson), argumentsSha256, storableJson(input)],
    );
  }

  /** Ends the open calls of a turn that is over. */
  async endTurn(tenantId: string, turnId: string): Promise<void> {
    await this.database.query(
      `UPDATE harness_effect SET ${ENDED_WITH_TURN}
        WHERE tenant_id = $1 AND turn_id = $2 AND state IN ('PREPARED', 'STARTED') RETURNING tool_call_id`,
      [tenantId, turnId],
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
    const place = await this.database.repository(Effect).findOne({
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
  async openOf(tenantId: string, runIds: readonly string[]): Promise<RunEffect[]> {
    return this.rows().find({
      where: { tenantId, runId: Any([...runIds]), state: In(['PREPARED', 'STARTED', 'UNCERTAIN']) },
      order: { iteration: 'ASC', ordinal: 'ASC' },
    });
  }

  async find({ tenantId, id: runId }: RunKey, toolCallId: string): Promise<RunEffect | null> {
    return this.rows().findOneBy({ tenantId, runId, toolCallId });
  }

  /** Stores what a person has said about an uncertain effect. */
  async resolve(
    { tenantId }: Pick<RunKey, 'tenantId'>,
    toolCallId: string,
    by: ToolCallResolution,
  ): Promise<void> {
    await this.database.repository(Effect).update(
      { tenantId, toolCallId, state: 'UNCERTAIN' },
      {
        ...by,
        note: by.note === null ? null : storableText(by.note),
        result: storableText(by.result),
        endedAt: () => 'coalesce(ended_at, now())',
      },
    );
  }

  /** Writes down what is about to happen; false when the effect is no longer prepared. Commit before acting. */
  async start(
    { tenantId }: Pick<RunKey, 'tenantId'>,
    toolCallId: string,
    start: EffectStart,
  ): Promise<boolean> {
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
    await this.database.repository(Effect).update(started, { boot: null });
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
    { tenantId }: Pick<RunKey, 'tenantId'>,
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
    { tenantId }: Pick<RunKey, 'tenantId'>,
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
}
