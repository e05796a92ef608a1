import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';
import type { Swept } from '../../../platform/queue/index.js';
import { notOnHold } from '../../../platform/retention/index.js';
import type { DueRecords } from '../../../platform/retention/index.js';
import { ResponseConversation, ResponseConversationItem } from './conversation.entity.js';
import type { JsonObject } from './stored-response.entity.js';

type Owner = Pick<Caller, 'tenantId' | 'userId'>;

/** A page of items, oldest first or newest first. */
export interface ItemPage {
  readonly order: 'asc' | 'desc';
  /** The id of the last item of the previous page. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** Rows removed by one sweep statement. */
const SWEPT_AT_ONCE = 500;

/** Statements are scoped to one user of one tenant. */
@Injectable()
export class ConversationRepository {
  constructor(private readonly database: Database) {}

  async insert({ tenantId, userId }: Owner, id: string, metadata: JsonObject): Promise<Date> {
    const [row] = await this.database.query<{ createTime: Date }>(
      `INSERT INTO response_conversation (tenant_id, user_id, id, metadata) VALUES ($1, $2, $3, $4::json)
       RETURNING create_time AS "createTime"`,
      [tenantId, userId, id, JSON.stringify(metadata)],
    );
    return row?.createTime ?? new Date();
  }

  async find({ tenantId, userId }: Owner, id: string): Promise<ResponseConversation | null> {
    return this.database.repository(ResponseConversation).findOneBy({ tenantId, userId, id });
  }

  async update({ tenantId, userId }: Owner, id: string, metadata: JsonObject): Promise<void> {
    await this.database.query(
      `UPDATE response_conversation SET metadata = $4::json, last_used_time = now()
        WHERE tenant_id = $1 AND user_id = $2 AND id = $3`,
      [tenantId, userId, id, JSON.stringify(metadata)],
    );
  }

  /** Whether the row existed. */
  async remove({ tenantId, userId }: Owner, id: string): Promise<boolean> {
    const { affected } = await this.database
      .repository(ResponseConversation)
      .delete({ tenantId, userId, id });
    return (affected ?? 0) > 0;
  }

  /** Appends items to a conversation of the user. Does nothing if it was deleted. */
  async append(
    { tenantId, userId }: Owner,
    conversationId: string,
    items: readonly JsonObject[],
  ): Promise<void> {
    const rows = items.map((item) => {
      const text = JSON.stringify(item);
      return { id: item['id'], text, size: Buffer.byteLength(text) };
    });
    await this.database.query(
      `WITH used AS (
         UPDATE response_conversation SET last_used_time = now()
          WHERE tenant_id = $1 AND user_id = $2 AND id = $3 RETURNING id
       )
       INSERT INTO response_conversation_item (tenant_id, conversation_id, id, item, size)
       SELECT $1, used.id, one.id, one.item::json, one.size
         FROM used, unnest($4::text[], $5::text[], $6::integer[]) WITH ORDINALITY AS one (id, item, size, place)
        ORDER BY one.place`,
      [
        ...[tenantId, userId, conversationId],
        ...[rows.map(({ id }) => id), rows.map(({ text }) => text), rows.map(({ size }) => size)],
      ],
    );
  }

  async page(
    { tenantId, userId }: Owner,
    conversationId: string,
    { order, after, limit }: ItemPage,
  ): Promise<JsonObject[]> {
    const [beyond, direction] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
    const rows = await this.database.query<{ item: JsonObject }>(
      `SELECT i.item FROM response_conversation_item i JOIN response_conversation c ON c.id = i.conversation_id
        WHERE c.tenant_id = $1 AND c.user_id = $2 AND i.tenant_id = $1 AND i.conversation_id = $3
          AND ($4::text IS NULL OR i.number ${beyond}
               (SELECT max(a.number) FROM response_conversation_item a
                 WHERE a.tenant_id = $1 AND a.conversation_id = $3 AND a.id = $4))
        ORDER BY i.number ${direction} LIMIT $5`,
      [tenantId, userId, conversationId, after ?? null, limit],
    );
    return rows.map(({ item }) => item);
  }

  /** All items, oldest first; undefined if they exceed the limits. */
  async items(
    owner: Owner,
    conversationId: string,
    { count, bytes }: { readonly count: number; readonly bytes: number },
  ): Promise<JsonObject[] | undefined> {
    const [sum] = await this.database.query<{ size: string }>(
      `SELECT coalesce(sum(i.size), 0) AS size FROM response_conversation_item i
         JOIN response_conversation c ON c.id = i.conversation_id
        WHERE c.tenant_id = $1 AND c.user_id = $2 AND i.tenant_id = $1 AND i.conversation_id = $3`,
      [owner.tenantId, owner.userId, conversationId],
    );
    if (Number(sum?.size ?? 0) > bytes) return undefined;
    const page = { order: 'asc', after: undefined, limit: count + 1 } as const;
    const items = await this.page(owner, conversationId, page);
    return items.length > count ? undefined : items;
  }

  /** Items of any conversation of the user by their ids. */
  async itemsById({ tenantId, userId }: Owner, ids: readonly string[]): Promise<JsonObject[]> {
    const rows = await this.database.query<{ item: JsonObject }>(
      `SELECT i.item FROM response_conversation_item i JOIN response_conversation c ON c.id = i.conversation_id
        WHERE c.tenant_id = $1 AND c.user_id = $2 AND i.tenant_id = $1 AND i.id = ANY ($3::text[])
        ORDER BY i.number LIMIT $4`,
      [tenantId, userId, ids, ids.length],
    );
    return rows.map(({ item }) => item);
  }

  async findItem(
    { tenantId, userId }: Owner,
    conversationId: string,
    id: string,
  ): Promise<JsonObject | undefined> {
    const [row] = await this.database.query<{ item: JsonObject }>(
      `SELECT i.item FROM response_conversation_item i JOIN response_conversation c ON c.id = i.conversation_id
        WHERE c.tenant_id = $1 AND c.user_id = $2 AND i.tenant_id = $1 AND i.conversation_id = $3 AND i.id = $4
        LIMIT 1`,
      [tenantId, userId, conversationId, id],
    );
    return row?.item;
  }

  /** Call only for a conversation that `find` returned for its user. */
  async removeItem({ tenantId }: Owner, conversationId: string, id: string): Promise<boolean> {
    const { affected } = await this.database
      .repository(ResponseConversationItem)
      .delete({ tenantId, conversationId, id });
    return (affected ?? 0) > 0;
  }

  /** Removes at most 500 conversations without new items for these days. */
  async sweep({ tenantId, userId, days }: DueRecords): Promise<Swept> {
    const rows = await this.database.query<{ id: string }>(
      `DELETE FROM response_conversation WHERE tenant_id = $1 AND id IN (
         SELECT c.id FROM response_conversation c
          WHERE c.tenant_id = $1 AND ($2::bigint IS NULL OR c.user_id = $2)
            AND c.last_used_time < now() - make_interval(days => $3) AND ${notOnHold('c')} LIMIT $4
       ) RETURNING id`,
      [tenantId, userId, days, SWEPT_AT_ONCE],
    );
    return { removed: rows.length, isDone: rows.length < SWEPT_AT_ONCE };
  }
}
