import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import type { ChatMessage, MessageRole } from '../message.entity.js';
import { WRITING } from '../message.entity.js';
import type { ChatFile } from '../file/chat-file.js';
import type { Link } from './branch.js';

/** A session, locked until the transaction ends. */
export interface LockedSession {
  readonly leafId: number | null;
  /** Whether a turn runs in it. */
  readonly running: boolean;
}

/** A message that has ended. */
export interface PlacedMessage extends Link {
  readonly role: MessageRole;
  readonly content: string;
  readonly files: readonly ChatFile[] | null;
}

interface SiblingRow {
  readonly sessionId: number;
  readonly parentId: number | null;
  readonly role: MessageRole;
  readonly ids: number[];
}

/** Reads and changes how the messages of a session follow each other; a turn appends its own (TurnRepository). */
@Injectable()
export class BranchRepository {
  constructor(private readonly database: Database) {}

  /** The ids of the current branch; undefined for a session with one branch, which has all its messages. */
  async current(
    { tenantId, userId }: Caller,
    sessionId: number,
  ): Promise<readonly number[] | undefined> {
    const [session] = await this.database.query<{ leafId: number | null }>(
      `SELECT leaf_id AS "leafId" FROM chat_session
       WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND branched`,
      [tenantId, userId, sessionId],
    );
    if (!session) return undefined;
    const rows = await this.database.query<{ id: number }>(
      `WITH RECURSIVE branch AS (
         SELECT id, parent_id FROM chat_message
         WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND id = $4
         UNION
         SELECT parent.id, parent.parent_id FROM branch CROSS JOIN LATERAL (
           SELECT id, parent_id FROM chat_message
           WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND id = branch.parent_id LIMIT 1
         ) parent
       )
       SELECT id FROM branch`,
      [tenantId, userId, sessionId, session.leafId],
    );
    return rows.map(({ id }) => id);
  }

  /** Undefined for a message that is not the caller's, not in the session, or still being written. */
  async message(
    { tenantId, userId }: Caller,
    sessionId: number,
    id: number,
  ): Promise<PlacedMessage | undefined> {
    const [row] = await this.database.query<PlacedMessage>(
      `SELECT id, parent_id AS "parentId", role, content, files FROM chat_message
       WHERE tenant_id = $1 AND user_id = $2 AND session_id = $3 AND id = $4 AND state <> '${WRITING}'`,
      [tenantId, userId, sessionId, id],
    );
    return row;
  }

  /** Undefined for a session that is not the caller's. */
  async lock({ tenantId, userId }: Caller, sessionId: number): Promise<LockedSession | undefined> {
    const [row] = await this.database.query<LockedSession>(
      `SELECT leaf_id AS "leafId", turn_id IS NOT NULL AS running FROM chat_session
       WHERE tenant_id = $1 AND user_id = $2 AND id = $3 FOR UPDATE`,
      [tenantId, userId, sessionId],
    );
    return row;
  }

  /**
   * Prepares a session without branches and without a running turn for its first one: its messages follow each other in
   * the order of their ids. Most are linked so already, but not those of a process of an earlier release.
   */
  async open({ tenantId, userId }: Caller, sessionId: number): Promise<void> {
    await this.database.transaction(async () => {
      const opened = await this.database.query(
        `UPDATE chat_session SET branched = true, leaf_id = (
           SELECT max(id) FROM chat_message
           WHERE tenant_id = $1 AND session_id = $3 AND state <> '${WRITING}'
         )
         WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND NOT branched AND turn_id IS NULL RETURNING id`,
        [tenantId, userId, sessionId],
      );
      if (opened.length === 0) return;
      await this.database.query(
        `UPDATE chat_message message SET parent_id = linked.before
         FROM (
           SELECT id, lag(id) OVER (ORDER BY id) AS before FROM chat_message
           WHERE tenant_id = $1 AND session_id = $2 AND state <> '${WRITING}'
         ) linked
         WHERE message.tenant_id = $1 AND message.id = linked.id AND message.parent_id IS DISTINCT FROM linked.before`,
        [tenantId, sessionId],
      );
    });
  }

  async links({ tenantId }: Caller, sessionId: number): Promise<Link[]> {
    return this.database.query<Link>(
      `SELECT id, parent_id AS "parentId" FROM chat_message
       WHERE tenant_id = $1 AND session_id = $2 ORDER BY id`,
      [tenantId, sessionId],
    );
  }

  async setLeaf({ tenantId }: Caller, sessionId: number, leafId: number | null): Promise<void> {
    await this.database.query(
      'UPDATE chat_session SET leaf_id = $3 WHERE tenant_id = $1 AND id = $2',
      [tenantId, sessionId, leafId],
    );
  }

  async move({ tenantId }: Caller, links: readonly Link[]): Promise<void> {
    await this.database.query(
      `UPDATE chat_message message SET parent_id = moved.parent_id
       FROM unnest($2::bigint[], $3::bigint[]) AS moved (id, parent_id)
       WHERE message.tenant_id = $1 AND message.id = moved.id`,
      [tenantId, links.map(({ id }) => id), links.map(({ parentId }) => parentId)],
    );
  }

  /** Siblings with the same role by message id; messages without siblings are missing. */
  async siblings(
    { tenantId, userId }: Caller,
    messages: readonly ChatMessage[],
  ): Promise<ReadonlyMap<number, readonly number[]>> {
    const sessions = new Set(messages.flatMap(({ sessionId }) => sessionId ?? []));
    if (sessions.size === 0) return new Map();
    const rows = await this.database.query<SiblingRow>(
      `SELECT message.session_id AS "sessionId", message.parent_id AS "parentId", message.role,
         json_agg(message.id ORDER BY message.id) AS ids
       FROM chat_session session JOIN chat_message message
         ON message.tenant_id = session.tenant_id AND message.session_id = session.id
       WHERE session.tenant_id = $1 AND session.user_id = $2 AND session.id = ANY ($3::bigint[]) AND session.branched
         AND message.state <> '${WRITING}'
       GROUP BY message.session_id, message.parent_id, message.role HAVING count(*) > 1`,
      [tenantId, userId, [...sessions]],
    );
    return new Map(rows.flatMap(({ ids }) => ids.map((id): [number, number[]] => [id, ids])));
  }
}
