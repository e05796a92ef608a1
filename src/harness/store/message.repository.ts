import { Injectable } from '@nestjs/common';
import {
  Database,
  columnsOf,
  insertionOf,
  storableJson,
  storableText,
} from '../../platform/database/index.js';
import type { ProviderState } from '../../provider/index.js';
import type { SkillInfo } from '../../skill/index.js';
import type { MessageRole, MessageToolCall, MessageUsage } from '../protocol/run.state.js';
import { newId } from '../protocol/values.js';
import { Effect } from '../../effect/index.js';
import type { RunEffect } from '../../effect/index.js';
import type { RunKey } from './event.repository.js';
import { HarnessMessage } from './harness.entity.js';
import type { HarnessRun, HarnessSkill } from './harness.entity.js';

/** A message before it has its id and number. */
export interface MessageDraft {
  readonly role: MessageRole;
  readonly content: string;
  readonly thinking?: string;
  readonly toolCalls?: readonly MessageToolCall[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly toolError?: boolean;
  readonly finishReason?: string;
  readonly usage?: MessageUsage;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly providerState?: ProviderState | undefined;
}

/** The conversation whose messages are numbered together. */
export type Conversation = Pick<HarnessRun, 'tenantId' | 'sessionId' | 'id'>;

/** A message of an earlier run; long texts are cut. CONTROL: a note of what the user has undone or redone since. */
export interface EarlierText {
  readonly role: 'USER' | 'ASSISTANT' | 'CONTROL';
  readonly content: string;
}

/** Kinds of notes for the next run of a session. */
export const NOTE_KINDS = { undo: 'UNDO', redo: 'REDO' } as const;

/** Maximum number of a session's newest texts that are read. */
const MAX_TEXTS = 200;

export const SKILL_TOOL = 'activate_skill';

/** Smallest output that is pruned: a shorter one takes hardly more than the pointer to it. */
export const MIN_PRUNED_BYTES = 400;

/** The part of a stored message that the model needs. */
export type TurnMessage = Pick<
  HarnessMessage,
  | 'id'
  | 'sequence'
  | 'role'
  | 'content'
  | 'toolCalls'
  | 'toolCallId'
  | 'toolName'
  | 'toolError'
  | 'usage'
  | 'metadata'
  | 'providerState'
> & {
  /** Whether only the beginning of the content was read, because it is no longer sent. */
  readonly pruned: boolean;
};

/** A message for its user. */
export type ShownMessage = Omit<HarnessMessage, 'providerState'>;

/** Characters read of a pruned output: enough for a summary. */
const PRUNED_OUTPUT_CHARS = 2_400;

/** All columns but the state that only a model's service reads. */
const EFFECT_COLUMNS = columnsOf(Effect);
const COLUMNS = columnsOf(HarnessMessage, undefined, ['providerState']);

/** The messages of sessions. None is ever changed. */
@Injectable()
export class MessageRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores a message with the next number of its session; answers its id. Call it while the run's row is locked: that
   * is what makes the numbers of a session follow each other.
   */
  async append(
    { tenantId, sessionId, id: runId }: Conversation,
    draft: MessageDraft,
  ): Promise<string> {
    const id = newId();
    await this.database.prepared(
      `WITH numbered AS (
         UPDATE harness_session SET next_message_sequence = next_message_sequence + 1, update_time = now()
          WHERE tenant_id = $1 AND id = $2 RETURNING next_message_sequence - 1 AS sequence
       )
       INSERT INTO harness_message
           (id, tenant_id, session_id, run_id, sequence, role, content, thinking, tool_calls, tool_call_id, tool_name,
            tool_error, finish_reason, usage, metadata, provider_state)
       SELECT $3, $1, $2, $4, numbered.sequence, $5, $6, $7, $8::jsonb, $9, $10, $11, $12, $13::jsonb, $14::jsonb, $15::jsonb
         FROM numbered`,
      [
        tenantId,
        sessionId,
        id,
        runId,
        draft.role,
        storableText(draft.content),
        draft.thinking === undefined ? null : storableText(draft.thinking),
        storableJson(draft.toolCalls ?? []),
        draft.toolCallId ?? null,
        draft.toolName ?? null,
        draft.toolError ?? false,
        draft.finishReason ?? null,
        draft.usage ? JSON.stringify(draft.usage) : null,
        storableJson(draft.metadata ?? {}),
        draft.providerState ? storableJson(draft.providerState) : null,
      ],
    );
    return id;
  }

  /** Messages of the session after a number, in their order; fewer than `limit` where they have more than `bytes`. */
  async page(
    { tenantId, id }: { readonly tenantId: string; readonly id: string },
    {
      after,
      limit,
      bytes,
    }: { readonly after: number; readonly limit: number; readonly bytes: number },
  ): Promise<ShownMessage[]> {
    return this.database.query<ShownMessage>(
      `WITH sized AS (
         SELECT id, sum(octet_length(content) + coalesce(octet_length(thinking), 0) + pg_column_size(tool_calls))
                    OVER (ORDER BY sequence) AS total,
                row_number() OVER (ORDER BY sequence) AS place
           FROM (SELECT id, sequence, content, thinking, tool_calls FROM harness_message
                  WHERE tenant_id = $1 AND session_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4) few
       )
       SELECT ${COLUMNS} FROM harness_message
        WHERE tenant_id = $1 AND id IN (SELECT id FROM sized WHERE total <= $5 OR place = 1) ORDER BY sequence`,
      [tenantId, id, after, limit, bytes],
    );
  }

  /** Number of the run's last answers in a row that cannot be used; reads `limit` of them. */
  async incompleteAtEnd(tenantId: string, runId: string, limit: number): Promise<number> {
    const rows = await this.database.prepared<{ incomplete: boolean }>(
      `SELECT metadata ? 'incomplete' AS incomplete FROM harness_message
        WHERE tenant_id = $1 AND run_id = $2 AND role = 'ASSISTANT' ORDER BY sequence DESC LIMIT $3`,
      [tenantId, runId, limit],
    );
    const whole = rows.findIndex(({ incomplete }) => !incomplete);
    return whole === -1 ? rows.length : whole;
  }

  /**
   * The calls of the last turn that have no result, in their order. Earlier ones have theirs: the model is asked again
   * only when every call is answered.
   */
  async unansweredCalls({ tenantId, id }: RunKey): Promise<RunEffect[]> {
    return this.database.prepared<RunEffect>(
      `SELECT ${EFFECT_COLUMNS} FROM harness_effect e
        WHERE e.tenant_id = $1 AND e.run_id = $2 AND e.iteration > 0
          AND e.iteration = (SELECT max(iteration) FROM harness_effect WHERE tenant_id = $1 AND run_id = $2)
          AND NOT EXISTS (SELECT 1 FROM harness_message m
                           WHERE m.tenant_id = $1 AND m.run_id = $2 AND m.role = 'TOOL'
                             AND m.tool_call_id = e.tool_call_id)
        ORDER BY e.iteration, e.ordinal`,
      [tenantId, id],
    );
  }

  /**
   * All messages of the run in order, with the fields that a model needs. Long outputs up to the sequence are cut to their
   * beginning: reading them completely before each turn would dominate the cost of a long run.
   */
  async ofRun(
    { tenantId, id }: Pick<HarnessRun, 'tenantId' | 'id'>,
    prunedThrough: number,
  ): Promise<TurnMessage[]> {
    return this.database.prepared<TurnMessage>(
      `SELECT id, sequence, role, CASE WHEN pruned THEN left(content, ${PRUNED_OUTPUT_CHARS}) ELSE content END AS content, pruned,
              tool_calls AS "toolCalls", tool_call_id AS "toolCallId", tool_name AS "toolName",
              tool_error AS "toolError", usage, metadata, provider_state AS "providerState"
         FROM (SELECT *, role = 'TOOL' AND sequence <= $3 AND octet_length(content) > ${MIN_PRUNED_BYTES}
                         AND (tool_error OR tool_name IS DISTINCT FROM '${SKILL_TOOL}') AS pruned
                 FROM harness_message WHERE tenant_id = $1 AND run_id = $2) AS message
        ORDER BY sequence`,
      [tenantId, id, prunedThrough],
    );
  }

  /** Texts of earlier runs, and what of them was undone, newest first, each cut to `characters` characters. */
  async before(
    { tenantId, sessionId, id }: Conversation,
    characters: number,
  ): Promise<EarlierText[]> {
    return this.database.query<EarlierText>(
      `SELECT role, left(content, $4) AS content FROM harness_message
        WHERE tenant_id = $1 AND session_id = $2 AND run_id <> $3 AND content <> ''
          AND (role IN ('USER', 'ASSISTANT')
               OR (role = 'CONTROL' AND metadata ->> 'kind' IN ('${NOTE_KINDS.undo}', '${NOTE_KINDS.redo}')))
        ORDER BY sequence DESC LIMIT ${MAX_TEXTS}`,
      [tenantId, sessionId, id, characters],
    );
  }
}

export interface ModelCallStart {
  readonly iteration: number;
  readonly attempt: number;
  readonly purpose: 'TURN' | 'SUMMARY';
  /** Estimated tokens, which count for a call whose end was not recorded. */
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
      id,
      tenantId,
      runId,
      iteration,
      attempt,
      purpose,
      fence,
      inputTokens,
      estimated: true,
      state: 'STARTED',
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

/** The source of the skills that come with the service. */
export const BUILT_IN = 'built-in';

/** A stored skill as far as a run needs it. */
export type StoredSkill = Omit<HarnessSkill, 'runId' | 'position' | 'tenantId'>;

/** Facts about a skill that a model sees before it uses it. */
export type SkillSummary = Pick<StoredSkill, 'name' | 'description' | 'source' | 'sha256'>;

/** The skills of one run as they were when it began: a file that changes meanwhile changes nothing here. */
export class RunSkills {
  private readonly byName: ReadonlyMap<string, StoredSkill>;

  /** `list`: in the order in which they were found; each name once. */
  constructor(readonly list: readonly StoredSkill[]) {
    this.byName = new Map(list.map((skill) => [skill.name, skill]));
  }

  /** Text of the skill's SKILL.md after the frontmatter, unchanged. Undefined when there is no such skill. */
  body(name: string): string | undefined {
    return this.byName.get(name)?.body;
  }

  /** Location of the skill's files, for readSkillResource. Undefined when there is no such skill. */
  info(name: string): SkillInfo | undefined {
    const skill = this.byName.get(name);
    if (!skill) return undefined;
    const { description, source, base, path } = skill;
    return { name, description, source, base, path, warnings: [] };
  }
}

/** Skills of runs, as they were when each run began. */
@Injectable()
export class SkillRepository {
  constructor(private readonly database: Database) {}

  /** The skills of the run in the order in which they were found. */
  async of({ tenantId, id }: RunKey): Promise<StoredSkill[]> {
    return this.database.query<StoredSkill>(
      `SELECT name, description, source, base, path, sha256, body
         FROM harness_skill WHERE tenant_id = $1 AND run_id = $2 ORDER BY position`,
      [tenantId, id],
    );
  }

  /** Keeps the skills of a run that has none yet. Call it while the run's row is locked. */
  async keep({ tenantId, id }: RunKey, skills: readonly StoredSkill[]): Promise<void> {
    await this.database.query(
      `INSERT INTO harness_skill
          (tenant_id, run_id, position, name, description, source, base, path, sha256, body)
       SELECT $1::varchar, $2::uuid, s.ordinality, s.skill ->> 'name', s.skill ->> 'description', s.skill ->> 'source',
              s.skill ->> 'base', s.skill ->> 'path', s.skill ->> 'sha256', s.skill ->> 'body'
         FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS s (skill, ordinality)`,
      [tenantId, id, JSON.stringify(skills)],
    );
  }

  /** Whether a call of the run other than this one has been answered with the body of the skill. */
  async isActive({ tenantId, id }: RunKey, name: string, toolCallId: string): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM harness_effect
        WHERE tenant_id = $1 AND run_id = $2 AND tool_name = '${SKILL_TOOL}' AND state = 'SUCCEEDED'
          AND tool_call_id <> $3 AND input ->> 'name' = $4 LIMIT 1`,
      [tenantId, id, toolCallId, name],
    );
    return rows.length > 0;
  }
}
