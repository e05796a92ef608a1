import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { acrossTenants, Database, storableJson } from '../platform/database/index.js';
import { processId, stateOfProcess } from '../platform/lease/index.js';
import { msg } from '../platform/message/index.js';
import { ENDED_WITH_TURN } from '../effect/index.js';
import type { ContentPart, ProviderState } from '../provider/index.js';
import type { ChatFile } from './file/chat-file.js';
import { WRITING } from './message.entity.js';
import type { MessageState, StoredRequest, StoredSource, StoredStep } from './message.entity.js';
import type { Message } from '../platform/message/index.js';

/** Position of a turn that does not follow the current branch. */
export type TurnPlace =
  /** A question after this message; null for the first one. */
  | { readonly kind: 'question'; readonly parentId: number | null }
  /** Another answer to a stored question, which follows `parentId`. */
  | { readonly kind: 'answer'; readonly questionId: number; readonly parentId: number | null };

export interface Question {
  /** Undefined appends to the current branch. */
  readonly place?: TurnPlace | undefined;
  readonly turnId: string;
  readonly sessionId: number | undefined;
  readonly content: string;
  readonly modelName: string;
  readonly idempotencyKey?: string | undefined;
  readonly requestHash?: string | undefined;
}

/** A turn that has begun. */
export interface BegunTurn {
  /** Id of the first row: the question, or the answer if the question already existed. */
  readonly id: number;
  /** The message before the question in a session with branches; otherwise undefined. */
  readonly before: number | null | undefined;
}

/** Tokens of one turn. `estimated` is true when the provider did not count. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly estimated: boolean;
}

/** Caller of the turn. */
export interface AnswerOwner {
  readonly tenantId: string;
  readonly userId: number;
}

export interface TurnAnswer {
  readonly turnId: string;
  readonly questionId: number;
  readonly sessionId?: number | undefined;
  readonly content: string;
  readonly reasoning: string;
  readonly modelName: string;
  readonly agentId?: number | undefined;
  readonly state: MessageState;
  readonly finishReason: string;
  readonly error?: Message | undefined;
  readonly usage: TurnUsage;
  readonly firstTokenMs?: number | undefined;
  /** Undefined while the answer waits: one with a duration is not changed any more. */
  readonly durationMs?: number | undefined;
  /** The request of a waiting answer. */
  readonly request?: StoredRequest | undefined;
  /** Undefined for an answer without retrieval. */
  readonly sources?: readonly StoredSource[] | undefined;
  /** The steps that are not stored yet. */
  readonly steps?: readonly StoredStep[] | undefined;
  /** Provider state of the last text. */
  readonly providerState?: ProviderState | undefined;
  /** The content was checked against a schema. */
  readonly structured?: boolean | undefined;
  /** The trace of the turn. */
  readonly traceId?: string | undefined;
}

/** An answer that is not stored yet, with all that storing it needs. */
export interface KeptAnswer {
  readonly owner: AnswerOwner;
  readonly answer: TurnAnswer;
}

/** An answer that waits for its user, with its question. */
export interface WaitingAnswer {
  readonly answerId: number;
  readonly sessionId: number | null;
  readonly content: string;
  readonly reasoning: string | null;
  readonly sources: readonly StoredSource[] | null;
  readonly request: StoredRequest | null;
  readonly questionId: number;
  /** The message before the question. */
  readonly before: number | null;
  readonly branched: boolean | null;
  readonly question: string;
  readonly files: readonly ChatFile[] | null;
  /** Whether the conversation has not gone on. */
  readonly isLast: boolean;
}

/** The text so far of a running turn. */
export interface PartialAnswer {
  readonly tenantId: string;
  readonly questionId: number;
  readonly content: string;
  readonly reasoning: string;
  readonly modelName: string;
}

export interface StoredTurn {
  readonly turnId: string;
  readonly requestHash: string | null;
  readonly ageSeconds: number;
  readonly answer: StoredAnswer | undefined;
}

export interface StoredAnswer {
  readonly id: number;
  readonly content: string;
  readonly reasoning: string | null;
  readonly state: MessageState;
  readonly finishReason: string | null;
  readonly error: Message | null;
  readonly usage: TurnUsage;
  readonly sources: readonly StoredSource[] | null;
  readonly structured: boolean;
}

/** A message of a history. */
export interface StoredMessage {
  readonly id?: number;
  readonly role: string;
  /** Stored content, or a question with its files. */
  readonly content: string | readonly ContentPart[];
  /** Files of the question. */
  readonly files?: readonly ChatFile[] | null;
  /** Whether the session has a knowledge base with large files; the same for every message. */
  readonly hasSessionBase?: boolean;
  /** Provider state of an answer's last text, for a turn that sends tool calls. */
  readonly providerState?: ProviderState | null | undefined;
  /** Steps of an answer with tools, for a turn that sends them. */
  readonly steps?: readonly StoredStep[] | undefined;
}

/** Lease of a turn on its session. A crashed process loses the session after this time. */
export const LEASE_SECONDS = 30;

/** The process id as a literal of the statements: only letters, digits, hyphens and colons. */
const PROCESS = processId.replaceAll(/[^\w:-]/g, '');

const INTERRUPTED = msg`The service stopped while this answer was being written. Send the message again.`;

const INSERT_QUESTION = `WITH question AS (
      INSERT INTO chat_message
        (tenant_id, user_id, turn_id, role, content, model_name, idempotency_key, request_hash)
      VALUES ($1, $2, $3, 'user', $4, $5, $6, $7) RETURNING id
    )
    INSERT INTO chat_turn_lease (tenant_id, question_id, lease, process)
    SELECT $1, id, now() + interval '${LEASE_SECONDS} seconds', '${PROCESS}' FROM question RETURNING question_id AS id`;

/** The session if no turn runs in it. The lock keeps its branch unchanged. */
const FREE_SESSION = `SELECT id, leaf_id, branched FROM chat_session
      WHERE tenant_id = $1 AND user_id = $2 AND id = $8 AND turn_id IS NULL`;

const QUESTION_COLUMNS = `tenant_id, user_id, turn_id, role, content, model_name, idempotency_key, request_hash,
  session_id, parent_id`;

/** Starts the turn in the session of the row that was inserted. The branch ends with the question while it is answered. */
function claim(leaf: string): string {
  return `UPDATE chat_session session
    SET turn_id = $3, turn_lease = now() + interval '${LEASE_SECONDS} seconds', turn_process = '${PROCESS}',
      stop_requested = false, update_time = now(), leaf_id = ${leaf}
    FROM inserted WHERE session.tenant_id = $1 AND session.user_id = $2 AND session.id = $8`;
}

const CLAIM_AND_INSERT_QUESTION = `WITH free AS (${FREE_SESSION} FOR UPDATE), inserted AS (
      INSERT INTO chat_message (${QUESTION_COLUMNS})
      SELECT $1, $2, $3::uuid, 'user', $4, $5, $6, $7, id, leaf_id FROM free RETURNING id, parent_id
    )
    ${claim('inserted.id')} RETURNING inserted.id, inserted.parent_id AS "before", session.branched`;

/** Other placements are in sessions whose messages are linked. */
const CLAIM_AND_INSERT_QUESTION_BELOW = `WITH free AS (${FREE_SESSION} AND branched FOR UPDATE), inserted AS (
      INSERT INTO chat_message (${QUESTION_COLUMNS})
      SELECT $1, $2, $3::uuid, 'user', $4, $5, $6, $7, id, $9::bigint FROM free RETURNING id
    )
    ${claim('inserted.id')} RETURNING inserted.id, $9::bigint AS "before", session.branched`;

/** The turn adds no question, so the answer's row stores the key. */
const CLAIM_AND_INSERT_ANSWER = `WITH free AS (${FREE_SESSION} AND branched FOR UPDATE), inserted AS (
      INSERT INTO chat_message (${QUESTION_COLUMNS}, state)
      SELECT $1, $2, $3::uuid, 'assistant', $4, $5, $6, $7, id, $10::bigint, '${WRITING}' FROM free RETURNING id
    )
    ${claim('$10')} RETURNING inserted.id, $9::bigint AS "before", session.branched`;

/** An answer that waits for its user, if it is the last message of its session. */
const WAITING_ANSWER = `SELECT answer.id AS "answerId", answer.session_id AS "sessionId", answer.content, answer.reasoning,
        answer.sources, answer.request, answer.parent_id AS "questionId", question.parent_id AS "before", session.branched,
        question.content AS question, question.files,
        session.id IS NULL OR session.leaf_id = answer.id AS "isLast"
      FROM chat_message answer
      JOIN chat_message question ON question.tenant_id = answer.tenant_id AND question.id = answer.parent_id
      LEFT JOIN chat_session session ON session.tenant_id = answer.tenant_id AND session.id = answer.session_id
     WHERE answer.tenant_id = $1 AND answer.user_id = $2 AND answer.turn_id = $3 AND answer.role = 'assistant'
       AND answer.state = 'waiting'`;

/** Takes the session for the turn of its last answer, which is written on. */
const RESUME = `WITH free AS (
      SELECT session.id, session.leaf_id FROM chat_session session
       WHERE session.tenant_id = $1 AND session.user_id = $2 AND session.id = $4 AND session.turn_id IS NULL FOR UPDATE
    ), answer AS (
      UPDATE chat_message SET state = '${WRITING}' FROM free
       WHERE chat_message.tenant_id = $1 AND chat_message.id = free.leaf_id AND chat_message.turn_id = $3
         AND chat_message.state = 'waiting' RETURNING chat_message.id, chat_message.parent_id
    )
    UPDATE chat_session session
    SET turn_id = $3, turn_lease = now() + interval '${LEASE_SECONDS} seconds', turn_process = '${PROCESS}',
      stop_requested = false, update_time = now(), leaf_id = answer.parent_id
    FROM answer WHERE session.tenant_id = $1 AND session.id = $4 RETURNING answer.id`;

const RESUME_SESSIONLESS = `WITH answer AS (
      UPDATE chat_message SET state = '${WRITING}'
       WHERE tenant_id = $1 AND user_id = $2 AND turn_id = $3 AND role = 'assistant' AND state = 'waiting'
         AND session_id IS NULL RETURNING id, parent_id
    )
    INSERT INTO chat_turn_lease (tenant_id, question_id, lease, process)
    SELECT $1, parent_id, now() + interval '${LEASE_SECONDS} seconds', '${PROCESS}' FROM answer RETURNING question_id AS id`;

const ANSWER_COLUMNS = `tenant_id, user_id, turn_id, role, content, reasoning, model_name, state,
  finish_reason, error, input_tokens, output_tokens, total_tokens, usage_estimated, first_token_ms, duration_ms,
  sources, agent_id, structured, provider_state, trace_id, request`;
const ANSWER_VALUES = `$1, $2::bigint, $3::uuid, 'assistant', $4, $5, $6, $7, $8, $9::jsonb, $10::integer, $11::integer, $12::integer,
  $13::boolean, $14::integer, $15::integer, $16::jsonb, $17::bigint, $19::boolean, $20::jsonb, $21, $22::jsonb`;

/** The answer row of a turn in any state. */
const ANSWER_OF_TURN = `(tenant_id, turn_id) WHERE role = 'assistant' AND turn_id IS NOT NULL`;

/** Replaces a partial text or the sweep's result. A finished answer, which alone has a duration, is not changed. */
const REPLACE_UNFINISHED = `ON CONFLICT ${ANSWER_OF_TURN} DO UPDATE SET
      content = EXCLUDED.content, reasoning = EXCLUDED.reasoning, model_name = EXCLUDED.model_name,
      state = EXCLUDED.state, finish_reason = EXCLUDED.finish_reason, error = EXCLUDED.error,
      input_tokens = EXCLUDED.input_tokens, output_tokens = EXCLUDED.output_tokens,
      total_tokens = EXCLUDED.total_tokens, usage_estimated = EXCLUDED.usage_estimated,
      first_token_ms = EXCLUDED.first_token_ms, duration_ms = EXCLUDED.duration_ms,
      sources = EXCLUDED.sources, agent_id = EXCLUDED.agent_id, structured = EXCLUDED.structured,
      provider_state = EXCLUDED.provider_state, trace_id = EXCLUDED.trace_id, request = EXCLUDED.request, create_time = EXCLUDED.create_time, parent_id = coalesce(EXCLUDED.parent_id, chat_message.parent_id)
    WHERE chat_message.duration_ms IS NULL`;

/** Drops the answer if its question was deleted meanwhile. */
const RELEASE_AND_INSERT_SESSIONLESS_ANSWER = `WITH released AS (
      DELETE FROM chat_turn_lease WHERE tenant_id = $1 AND question_id = $18
    )
    INSERT INTO chat_message (${ANSWER_COLUMNS}, parent_id)
    SELECT ${ANSWER_VALUES}, id FROM chat_message WHERE tenant_id = $1 AND user_id = $2 AND id = $18
    ${REPLACE_UNFINISHED}`;

/**
 * The answer of a session that was deleted meanwhile is dropped with it. While the session has the turn, the answer follows
 * the end of the branch: its question, what the user has added since, or what is left when they have deleted the question.
 */
const RELEASE_AND_INSERT_ANSWER = `WITH held AS (
      SELECT id, turn_id, leaf_id FROM chat_session WHERE tenant_id = $1 AND user_id = $2 AND id = $18 FOR UPDATE
    ), answer AS (
      INSERT INTO chat_message (${ANSWER_COLUMNS}, session_id, parent_id)
      SELECT ${ANSWER_VALUES}, id, CASE WHEN turn_id = $3 THEN leaf_id END FROM held
      ${REPLACE_UNFINISHED}
      RETURNING id
    )
    UPDATE chat_session session
    SET turn_id = NULL, turn_lease = NULL, stop_requested = false, leaf_id = answer.id
    FROM answer
    WHERE session.tenant_id = $1 AND session.user_id = $2 AND session.id = $18 AND session.turn_id = $3`;

/**
 * The messages of a branch from the one of $4 back, at most $5. One is looked up after the other by its id, also by a plan
 * that was made while the table was empty.
 */
const BRANCH_HISTORY = `WITH RECURSIVE branch AS (
      SELECT id, parent_id, role, content, files, state, provider_state, 1 AS length FROM chat_message
      WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND id = $4
      UNION ALL
      SELECT parent.id, parent.parent_id, parent.role, parent.content, parent.files, parent.state, parent.provider_state,
        branch.length + 1
      FROM branch CROSS JOIN LATERAL (
        SELECT id, parent_id, role, content, files, state, provider_state FROM chat_message
        WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND id = branch.parent_id LIMIT 1
      ) parent
      WHERE branch.length < $5
    )
    SELECT id, role, content, files, provider_state AS "providerState",
      EXISTS (SELECT 1 FROM knowledge_base WHERE tenant_id = $1 AND session_id = $3) AS "hasSessionBase"
    FROM branch
    WHERE role IN ('user', 'assistant') AND state <> '${WRITING}' ORDER BY id`;

/** The columns of StoredTurnRow about the answer. */
const ANSWER_FIELDS = `answer.id AS "answerId", answer.content, answer.reasoning,
         answer.state, answer.finish_reason AS "finishReason", answer.error,
         answer.input_tokens AS "inputTokens", answer.output_tokens AS "outputTokens",
         answer.total_tokens AS "totalTokens", answer.usage_estimated AS estimated,
         answer.sources, answer.structured`;

/** Reads and writes turns in few statements, prepared once per connection, because every turn pays for them. */
@Injectable()
export class TurnRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the question, unless it is a stored one, and in a session takes the turn. Undefined when the session is not
   * free or not the caller's.
   */
  async begin(caller: Caller, question: Question): Promise<BegunTurn | undefined> {
    const begunTurn = await this.insertQuestion(caller, question);
    if (begunTurn !== undefined || question.sessionId === undefined) return begunTurn;
    // The session may have a turn whose process died, which must not end without an answer.
    await this.sweep(false);
    return this.insertQuestion(caller, question);
  }

  private async insertQuestion(caller: Caller, question: Question): Promise<BegunTurn | undefined> {
    const { turnId, content, modelName, idempotencyKey, requestHash, sessionId, place } = question;
    const values = [
      caller.tenantId,
      caller.userId,
      turnId,
      place?.kind === 'answer' ? '' : content,
      modelName,
      idempotencyKey ?? null,
      requestHash ?? null,
      ...(sessionId === undefined ? [] : [sessionId]),
      ...(place ? [place.parentId] : []),
      ...(place?.kind === 'answer' ? [place.questionId] : []),
    ];
    const statement = sessionId === undefined ? INSERT_QUESTION : claimOf(place);
    const [row] = await this.database.prepared<BegunRow>(statement, values);
    return row && { id: row.id, before: row.branched ? row.before : undefined };
  }

  /** The answer of the caller's turn that waits; undefined when it does not. */
  async waiting({ tenantId, userId }: Caller, turnId: string): Promise<WaitingAnswer | undefined> {
    const [row] = await this.database.query<WaitingAnswer>(WAITING_ANSWER, [
      tenantId,
      userId,
      turnId,
    ]);
    return row;
  }

  /** Begins to write a waiting answer on; false when it does not wait any more or its session is not free. */
  async resume(
    { tenantId, userId }: Caller,
    turnId: string,
    sessionId: number | null,
  ): Promise<boolean> {
    const values = [tenantId, userId, turnId, ...(sessionId === null ? [] : [sessionId])];
    const statement = sessionId === null ? RESUME_SESSIONLESS : RESUME;
    return (await this.database.query(statement, values)).length > 0;
  }

  /** Whether the caller's turn is being written. */
  async isWriting({ tenantId, userId }: Caller, turnId: string): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM chat_message
        WHERE tenant_id = $1 AND user_id = $2 AND turn_id = $3 AND state = '${WRITING}'`,
      [tenantId, userId, turnId],
    );
    return rows.length > 0;
  }

  /** Stores the answer and ends the turn. Storing it again changes nothing. */
  async finish({ tenantId, userId }: AnswerOwner, answer: TurnAnswer): Promise<void> {
    const { usage, sessionId, structured = false, providerState, traceId = null } = answer;
    const request = answer.request ? storableJson(answer.request, storableText) : null;
    const state = providerState ? storableJson(providerState, storableText) : null;
    const values = [
      tenantId,
      userId,
      answer.turnId,
      answer.content,
      answer.reasoning === '' ? null : answer.reasoning,
      answer.modelName,
      answer.state,
      answer.finishReason,
      answer.error ?? null,
      usage.inputTokens,
      usage.outputTokens,
      usage.totalTokens,
      usage.estimated,
      answer.firstTokenMs ?? null,
      answer.durationMs ?? null,
      answer.sources ? JSON.stringify(answer.sources) : null,
      answer.agentId ?? null,
    ];
    if (sessionId !== undefined)
      await this.database.prepared(RELEASE_AND_INSERT_ANSWER, [
        ...values,
        sessionId,
        structured,
        state,
        traceId,
        request,
      ]);
    else
      await this.database.prepared(RELEASE_AND_INSERT_SESSIONLESS_ANSWER, [
        ...values,
        answer.questionId,
        structured,
        state,
        traceId,
        request,
      ]);
  }

  /** Stores the texts so far of running turns. Those that have ended meanwhile, or are deleted, are left out. */
  async saveTexts(answers: readonly PartialAnswer[]): Promise<void> {
    await acrossTenants('texts of running turns', () =>
      this.database.query(
        `INSERT INTO chat_message
           (tenant_id, user_id, session_id, turn_id, role, content, reasoning, model_name, state, parent_id)
         SELECT question.tenant_id, question.user_id, question.session_id, question.turn_id, 'assistant',
           running.content, nullif(running.reasoning, ''), running.model_name, '${WRITING}', question.id
         FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[])
           AS running (tenant_id, question_id, content, reasoning, model_name)
         JOIN chat_message question
           ON question.tenant_id = running.tenant_id AND question.id = running.question_id
         ON CONFLICT ${ANSWER_OF_TURN} DO UPDATE
           SET content = EXCLUDED.content, reasoning = EXCLUDED.reasoning
           WHERE chat_message.state = '${WRITING}'`,
        [
          answers.map((answer) => answer.tenantId),
          answers.map((answer) => answer.questionId),
          answers.map((answer) => answer.content),
          answers.map((answer) => answer.reasoning),
          answers.map((answer) => answer.modelName),
        ],
      ),
    );
  }

  /**
   * The newest messages of the current branch before this turn, oldest first. `before` is that of BegunTurn: a session
   * with one branch is read as it lies in the index.
   */
  async history(
    caller: Caller,
    sessionId: number,
    { turnId, limit, before }: Pick<BegunTurn, 'before'> & { turnId: string; limit: number },
  ): Promise<HistoryMessage[]> {
    const { tenantId, userId } = caller;
    if (before === null) return [];
    if (before !== undefined) {
      const values = [tenantId, userId, sessionId, before, limit];
      return this.database.prepared<HistoryMessage>(BRANCH_HISTORY, values);
    }
    const rows = await this.database.prepared<HistoryMessage>(
      `SELECT id, role, content, files, provider_state AS "providerState",
              EXISTS (SELECT 1 FROM knowledge_base WHERE tenant_id = $1 AND session_id = $3) AS "hasSessionBase"
           FROM chat_message
          WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3
            AND turn_id IS DISTINCT FROM $4 AND role IN ('user', 'assistant') AND state <> '${WRITING}'
          ORDER BY id DESC LIMIT $5`,
      [tenantId, userId, sessionId, turnId, limit],
    );
    return rows.reverse();
  }

  async ownsSession(caller: Caller, sessionId: number): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT id FROM chat_session WHERE tenant_id = $1 AND user_id = $2 AND id = $3',
      [caller.tenantId, caller.userId, sessionId],
    );
    return rows.length === 1;
  }

  /** Requests the stop of the running turn; its process reads it at the latest when it renews the lease. */
  async requestStop(caller: Caller, sessionId: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE chat_session SET stop_requested = true
       WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND turn_id IS NOT NULL
       RETURNING id`,
      [caller.tenantId, caller.userId, sessionId],
    );
    return rows.length > 0;
  }

  /** The turn that was sent with this key, if any. */
  async findByKey(caller: Caller, key: string): Promise<StoredTurn | undefined> {
    const [row] = await this.database.query<StoredTurnRow>(
      `SELECT question.turn_id AS "turnId", question.request_hash AS "requestHash",
         extract(epoch FROM now() - question.create_time)::integer AS "ageSeconds", ${ANSWER_FIELDS}
       FROM chat_message question
       LEFT JOIN chat_message answer ON answer.tenant_id = question.tenant_id
         AND answer.turn_id = question.turn_id AND answer.role = 'assistant'
         AND answer.state <> '${WRITING}'
       WHERE question.tenant_id = $1 AND question.user_id = $2 AND question.idempotency_key = $3`,
      [caller.tenantId, caller.userId, key],
    );
    if (!row) return undefined;
    const { turnId, requestHash, ageSeconds } = row;
    return { turnId, requestHash, ageSeconds, answer: storedAnswer(row) };
  }

  /** The ended answer of a turn in a session of the user; `running` while it is written, undefined where there is neither. */
  async streamedAnswer(
    { tenantId, userId }: AnswerOwner,
    turnId: string,
  ): Promise<StoredAnswer | 'running' | undefined> {
    const [row] = await this.database.query<AnswerRow & { isRunning: boolean }>(
      `SELECT ${ANSWER_FIELDS}, EXISTS (
           SELECT FROM chat_session WHERE tenant_id = $1 AND user_id = $2 AND turn_id = $3
         ) AS "isRunning"
         FROM (SELECT) AS turn LEFT JOIN chat_message answer ON answer.tenant_id = $1 AND answer.user_id = $2
           AND answer.turn_id = $3 AND answer.role = 'assistant' AND answer.state <> '${WRITING}'`,
      [tenantId, userId, turnId],
    );
    return row && (storedAnswer(row) ?? (row.isRunning ? 'running' : undefined));
  }

  /** Renews the leases of running turns in sessions. Answers the ids of those that were asked to stop. */
  async renew(turns: readonly { tenantId: string; turnId: string }[]): Promise<string[]> {
    const rows = await acrossTenants('renewal of turn leases', () =>
      this.database.query<{ turnId: string; stopRequested: boolean }>(
        `UPDATE chat_session session SET turn_lease = now() + interval '${LEASE_SECONDS} seconds'
       FROM unnest($1::text[], $2::uuid[]) AS running (tenant_id, turn_id)
       WHERE session.tenant_id = running.tenant_id AND session.turn_id = running.turn_id
       RETURNING session.turn_id AS "turnId", session.stop_requested AS "stopRequested"`,
        [turns.map((turn) => turn.tenantId), turns.map((turn) => turn.turnId)],
      ),
    );
    return rows.filter((row) => row.stopRequested).map((row) => row.turnId);
  }

  /** Renews the leases of running turns without a session. */
  async renewSessionless(
    turns: readonly { tenantId: string; questionId: number }[],
  ): Promise<void> {
    await acrossTenants('renewal of turn leases', () =>
      this.database.query(
        `UPDATE chat_turn_lease lease_row SET lease = now() + interval '${LEASE_SECONDS} seconds'
         FROM unnest($1::text[], $2::bigint[]) AS running (tenant_id, question_id)
         WHERE lease_row.tenant_id = running.tenant_id AND lease_row.question_id = running.question_id`,
        [turns.map((turn) => turn.tenantId), turns.map((turn) => turn.questionId)],
      ),
    );
  }

  /**
   * Ends the turns that died with their process, in all tenants: releases their sessions, and stores of each that the
   * answer was interrupted, with its text so far. A turn died when its lease has expired, or when its process was one of
   * this host and container that has ended. `all` includes leases that have not expired: for the start of the only
   * process of a store. Answers how many there were.
   */
  async sweep(all: boolean): Promise<number> {
    const ended = all ? [] : await this.endedProcesses();
    const rows = await acrossTenants('sweep of dead turns', () =>
      this.database.query(
        `WITH dead AS (
         SELECT tenant_id, id, user_id, turn_id, leaf_id FROM chat_session
         WHERE turn_id IS NOT NULL AND ($1 OR turn_lease < now() OR turn_process = ANY($3::text[]))
         FOR UPDATE SKIP LOCKED
       ), sessionless AS (
         SELECT tenant_id, question_id FROM chat_turn_lease WHERE $1 OR lease < now() OR process = ANY($3::text[])
         FOR UPDATE SKIP LOCKED
       ), ended AS (
         DELETE FROM chat_turn_lease expired USING sessionless
         WHERE expired.tenant_id = sessionless.tenant_id AND expired.question_id = sessionless.question_id
       ), answered AS (
         INSERT INTO chat_message
           (tenant_id, user_id, session_id, turn_id, role, content, state, finish_reason, error, parent_id)
         SELECT tenant_id, user_id, id, turn_id, 'assistant', '', 'failed', 'error', $2::jsonb, leaf_id FROM dead
         UNION ALL
         SELECT question.tenant_id, question.user_id, NULL, question.turn_id, 'assistant', '', 'failed', 'error', $2::jsonb,
           question.id
         FROM sessionless JOIN chat_message question
           ON question.tenant_id = sessionless.tenant_id AND question.id = sessionless.question_id
         ON CONFLICT ${ANSWER_OF_TURN} DO UPDATE
           SET state = EXCLUDED.state, finish_reason = EXCLUDED.finish_reason, error = EXCLUDED.error,
             parent_id = EXCLUDED.parent_id
           WHERE chat_message.state = '${WRITING}'
         RETURNING tenant_id, session_id, id
       ), over AS (
         SELECT tenant_id, turn_id FROM dead
         UNION ALL
         SELECT question.tenant_id, question.turn_id FROM sessionless JOIN chat_message question
           ON question.tenant_id = sessionless.tenant_id AND question.id = sessionless.question_id
       ), calls AS (
         UPDATE harness_effect SET ${ENDED_WITH_TURN} FROM over
         WHERE harness_effect.tenant_id = over.tenant_id AND harness_effect.turn_id = over.turn_id
           AND harness_effect.state IN ('PREPARED', 'STARTED')
       ), freed AS (
         UPDATE chat_session session
         SET turn_id = NULL, turn_lease = NULL, stop_requested = false,
           leaf_id = coalesce(answered.id, session.leaf_id)
         FROM dead LEFT JOIN answered
           ON answered.tenant_id = dead.tenant_id AND answered.session_id = dead.id
         WHERE session.tenant_id = dead.tenant_id AND session.id = dead.id
       )
       SELECT id FROM answered`,
        [all, INTERRUPTED, ended],
      ),
    );
    return rows.length;
  }

  /** Seconds until the lease of the session's turn expires, if nothing renews it; undefined when it has none. */
  async leaseSeconds(caller: Caller, sessionId: number): Promise<number | undefined> {
    const [row] = await this.database.query<{ seconds: number }>(
      `SELECT greatest(1, ceil(extract(epoch FROM turn_lease - now())))::integer AS seconds FROM chat_session
        WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND turn_lease IS NOT NULL`,
      [caller.tenantId, caller.userId, sessionId],
    );
    return row?.seconds;
  }

  /** Turns of all tenants whose process has not renewed its lease. */
  async expiredLeases(): Promise<number> {
    const [row] = await acrossTenants('metric of leases', () =>
      this.database.query<{ count: number }>(
        `SELECT (SELECT count(*) FROM chat_session WHERE turn_id IS NOT NULL AND turn_lease < now())
              + (SELECT count(*) FROM chat_turn_lease WHERE lease < now()) AS count`,
      ),
    );
    return row?.count ?? 0;
  }

  /** The processes that hold turns and are known to have ended. */
  private async endedProcesses(): Promise<string[]> {
    const rows = await acrossTenants('sweep of dead turns', () =>
      this.database.query<{ process: string }>(
        `SELECT turn_process AS process FROM chat_session WHERE turn_id IS NOT NULL AND turn_process IS NOT NULL
         UNION SELECT process FROM chat_turn_lease WHERE process IS NOT NULL`,
      ),
    );
    return rows.map(({ process }) => process).filter((id) => stateOfProcess(id) === 'ended');
  }
}

interface BegunRow {
  readonly id: number;
  readonly before?: number | null;
  readonly branched?: boolean;
}

function claimOf(place: TurnPlace | undefined): string {
  if (!place) return CLAIM_AND_INSERT_QUESTION;
  return place.kind === 'answer' ? CLAIM_AND_INSERT_ANSWER : CLAIM_AND_INSERT_QUESTION_BELOW;
}

/** A message of a history, with its id. */
type HistoryMessage = StoredMessage & { readonly id: number };

interface AnswerRow extends Omit<StoredAnswer, 'id' | 'usage'>, TurnUsage {
  readonly answerId: number | null;
}

type StoredTurnRow = Omit<StoredTurn, 'answer'> & AnswerRow;

function storedAnswer(row: AnswerRow): StoredAnswer | undefined {
  if (row.answerId === null) return undefined;
  const { answerId: id, content, reasoning, state, finishReason, error, sources, structured } = row;
  const { inputTokens, outputTokens, totalTokens, estimated } = row;
  const usage = { inputTokens, outputTokens, totalTokens, estimated };
  return { id, content, reasoning, state, finishReason, error, usage, sources, structured };
}

/** Removes what PostgreSQL cannot store: the NUL character, and lone surrogates, which JSON would keep as escapes. */
export function storableText(text: string): string {
  return withoutNul(text).toWellFormed();
}

/** Removes the NUL character, which PostgreSQL cannot store. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}
