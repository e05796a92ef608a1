import { Injectable } from '@nestjs/common';
import { IsNull, Raw } from 'typeorm';
import type { FindOperator, FindOptionsWhere } from 'typeorm';
import type { Caller } from '../platform/access/index.js';
import { Database, noneOf } from '../platform/database/index.js';
import { dueBefore, notDue, notOnHold } from '../platform/retention/index.js';
import type { DueRecords } from '../platform/retention/index.js';
import type { ChatMessage } from './message.entity.js';

/** Sessions or messages of one user. */
export interface DueOfUser {
  readonly userId: number;
  readonly ids: number[];
}

/** What the lists of messages leave out. */
interface HiddenChats {
  readonly isEnforced: boolean;
  /** Whether messages without a session may be due. */
  readonly hasRule: boolean;
  readonly sessionIds: number[];
}

/** The sessions of a user whose retention has ended. Where the tenant has no rule, no session is looked at. */
function dueSessions({ tenant, user }: { readonly tenant: string; readonly user: string }): string {
  const due = dueBefore('chats', { tenant, user });
  return `SELECT session.id FROM chat_session session
     WHERE EXISTS (SELECT FROM retention_rule rule WHERE rule.tenant_id = ${tenant} AND rule.record_class = 'chats')
       AND session.tenant_id = ${tenant} AND session.user_id = ${user} AND session.update_time < ${due}
       AND NOT EXISTS (SELECT FROM chat_message message
             WHERE message.tenant_id = ${tenant} AND message.session_id = session.id AND message.create_time >= ${due})`;
}

/** The predicate for TypeORM's find: the caller's sessions that are not due. */
export function notDueSession({
  tenantId,
  userId,
}: Pick<Caller, 'tenantId' | 'userId'>): FindOperator<number> {
  const due = dueSessions({ tenant: ':tenant', user: ':owner' });
  const parameters = { tenant: tenantId, owner: userId };
  return Raw((id) => `${id} NOT IN (${due})`, parameters) as FindOperator<number>;
}

/** The chats whose retention has ended, and temporary ones. */
@Injectable()
export class ChatRetentionRepository {
  constructor(private readonly database: Database) {}

  /** Sessions that had neither a turn nor a new message in the days. */
  sessions({ tenantId, userId, days }: DueRecords, limit: number): Promise<DueOfUser[]> {
    return this.database.query(
      `SELECT due.user_id AS "userId", array_agg(due.id) AS ids FROM (
         SELECT session.user_id, session.id FROM chat_session session
          WHERE session.tenant_id = $1 AND ($2::bigint IS NULL OR session.user_id = $2)
            AND session.update_time < now() - make_interval(days => $3) AND ${notOnHold('session')}
            AND NOT EXISTS (SELECT FROM chat_message message
                  WHERE message.tenant_id = session.tenant_id AND message.session_id = session.id
                    AND message.create_time >= now() - make_interval(days => $3))
          LIMIT $4) due
        GROUP BY due.user_id`,
      [tenantId, userId, days, limit],
    );
  }

  /** Temporary sessions, and messages without a session where the tenant enforces temporary chats, of that age. */
  async temporary(
    { tenantId }: DueRecords,
    { hours, limit }: { readonly hours: number; readonly limit: number },
  ): Promise<{ readonly sessions: DueOfUser[]; readonly messages: DueOfUser[] }> {
    const sessions = await this.database.query<DueOfUser>(
      `SELECT due.user_id AS "userId", array_agg(due.id) AS ids FROM (
         SELECT session.user_id, session.id FROM chat_session session
          WHERE session.tenant_id = $1 AND session.temporary
            AND session.create_time < now() - make_interval(hours => $2) AND ${notOnHold('session')}
          LIMIT $3) due
        GROUP BY due.user_id`,
      [tenantId, hours, limit],
    );
    const messages = await this.database.query<DueOfUser>(
      `SELECT due.user_id AS "userId", array_agg(due.id) AS ids FROM (
         SELECT message.user_id, message.id FROM tenant t
           JOIN chat_message message ON message.tenant_id = t.tenant_id
          WHERE t.tenant_id = $1 AND t.temporary_chats = 'enforced' AND message.session_id IS NULL
            AND message.state <> 'writing' AND message.create_time < now() - make_interval(hours => $2)
            AND ${notOnHold('message')}
          LIMIT $3) due
        GROUP BY due.user_id`,
      [tenantId, hours, limit],
    );
    return { sessions, messages };
  }

  /**
   * The caller's sessions whose messages are in no list: temporary ones, and those whose retention has ended; and whether the
   * tenant enforces temporary ones, which hides messages without a session as well.
   */
  private async hidden({
    tenantId,
    userId,
  }: Pick<Caller, 'tenantId' | 'userId'>): Promise<HiddenChats> {
    const places = { tenant: '$1', user: '$2' };
    const [row] = await this.database.query<HiddenChats>(
      `SELECT t.temporary_chats = 'enforced' AS "isEnforced", ${dueBefore('chats', places)} > '-infinity' AS "hasRule", ARRAY(
                SELECT session.id FROM chat_session session
                 WHERE session.tenant_id = $1 AND session.user_id = $2 AND session.temporary
                UNION ALL ${dueSessions(places)}) AS "sessionIds"
         FROM tenant t WHERE t.tenant_id = $1`,
      [tenantId, userId],
    );
    return row ?? { isEnforced: false, hasRule: false, sessionIds: [] };
  }

  /** The condition of a list of messages without those of temporary chats, and those whose retention has ended. */
  async listed(
    caller: Pick<Caller, 'tenantId' | 'userId'>,
    where: FindOptionsWhere<ChatMessage>,
  ): Promise<FindOptionsWhere<ChatMessage> | FindOptionsWhere<ChatMessage>[]> {
    const { isEnforced, hasRule, sessionIds } = await this.hidden(caller);
    const ofSessions = { ...where, sessionId: noneOf(sessionIds) };
    if (isEnforced) return ofSessions;
    const alone = { ...where, sessionId: IsNull(), createTime: notDue('chats', caller) };
    if (hasRule) return [ofSessions, alone];
    if (sessionIds.length === 0) return where;
    return { ...where, sessionId: noneOf(sessionIds, { orAbsent: true }) };
  }

  async isTemporary(tenantId: string, sessionId: number): Promise<boolean> {
    const rows = await this.database.query(
      'SELECT 1 FROM chat_session WHERE tenant_id = $1 AND id = $2 AND temporary',
      [tenantId, sessionId],
    );
    return rows.length > 0;
  }

  /** Messages without a session. */
  messages({ tenantId, userId, days }: DueRecords, limit: number): Promise<DueOfUser[]> {
    return this.database.query(
      `SELECT due.user_id AS "userId", array_agg(due.id) AS ids FROM (
         SELECT message.user_id, message.id FROM chat_message message
          WHERE message.tenant_id = $1 AND ($2::bigint IS NULL OR message.user_id = $2) AND message.session_id IS NULL
            AND message.state <> 'writing' AND message.create_time < now() - make_interval(days => $3)
            AND ${notOnHold('message')}
          LIMIT $4) due
        GROUP BY due.user_id`,
      [tenantId, userId, days, limit],
    );
  }
}
