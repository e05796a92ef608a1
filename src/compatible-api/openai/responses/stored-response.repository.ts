import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { acrossTenants, Database } from '../../../platform/database/index.js';
import type { Swept } from '../../../platform/queue/index.js';
import { notOnHold } from '../../../platform/retention/index.js';
import type { DueRecords } from '../../../platform/retention/index.js';
import { StoredResponse } from './stored-response.entity.js';
import type { JsonObject } from './stored-response.entity.js';

type Owner = Pick<Caller, 'tenantId' | 'userId' | 'apiKey'>;

/** A response with its owner. */
export type ResponseKey = Pick<StoredResponse, 'tenantId' | 'userId' | 'id'>;

/** One turn of a conversation. */
export type StoredTurn = Pick<
  StoredResponse,
  'id' | 'previousId' | 'conversationId' | 'input' | 'response'
>;

export interface NewResponse {
  readonly id: string;
  /** Lease of a background response. */
  readonly runningMs?: number;
  readonly modelName: string;
  readonly previous: Pick<StoredTurn, 'id' | 'conversationId'> | undefined;
  readonly input: readonly JsonObject[];
  readonly response: JsonObject;
}

export type EndedResponse = Pick<NewResponse, 'id' | 'input' | 'response'>;

/** Maximum responses whose items one request references. */
const MAX_REFERRED_RESPONSES = 500;

/** The items of a response and of its request. */
export function itemsIn({
  input,
  response,
}: Pick<NewResponse, 'input' | 'response'>): readonly JsonObject[] {
  const { output } = response;
  return [...input, ...(Array.isArray(output) ? (output as readonly JsonObject[]) : [])];
}

function idsIn(stored: Pick<NewResponse, 'input' | 'response'>): string[] {
  return itemsIn(stored).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
}

/** Rows removed by one sweep statement. */
const SWEPT_AT_ONCE = 500;

/** Statements are scoped to one user of one tenant. */
@Injectable()
export class StoredResponseRepository {
  constructor(private readonly database: Database) {}

  async find({ tenantId, userId }: Owner, id: string): Promise<StoredResponse | null> {
    return this.database.repository(StoredResponse).findOneBy({ tenantId, userId, id });
  }

  /** Whether the response is running in the background with a valid lease. */
  async isRunning({ tenantId, userId }: Owner, id: string): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM stored_response
        WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND running_until > now()`,
      [tenantId, userId, id],
    );
    return rows.length > 0;
  }

  /**
   * The response with those that it continues, oldest first: at most so many, and none once the bytes are exceeded. An
   * oldest one with a previousId says that there are more, or that one was deleted.
   */
  async conversation(
    { tenantId, userId }: Owner,
    id: string,
    { turns, bytes }: { readonly turns: number; readonly bytes: number },
  ): Promise<StoredTurn[]> {
    return this.database.query<StoredTurn>(
      `WITH RECURSIVE turn AS (
         SELECT id, previous_id, conversation_id, input, response, 1 AS depth, size::bigint AS total
           FROM stored_response WHERE tenant_id = $1 AND user_id = $2 AND id = $3
         UNION ALL
         SELECT p.id, p.previous_id, p.conversation_id, p.input, p.response, turn.depth + 1, turn.total + p.size
           FROM turn JOIN stored_response p ON p.id = turn.previous_id
          WHERE p.tenant_id = $1 AND p.user_id = $2 AND turn.depth < $4 AND turn.total + p.size <= $5
       )
       SELECT id, previous_id AS "previousId", conversation_id AS "conversationId", input, response
         FROM turn ORDER BY depth DESC`,
      [tenantId, userId, id, turns, bytes],
    );
  }

  /**
   * Stores the response; the conversation that it continues counts as used, to the day. One of the same user with the same id is
   * replaced: the ids of relayed responses are made by their services.
   */
  async insert({ tenantId, userId, apiKey }: Owner, stored: NewResponse): Promise<void> {
    const { id, modelName, previous, runningMs } = stored;
    const input = JSON.stringify(stored.input);
    const response = JSON.stringify(stored.response);
    const conversationId = previous?.conversationId ?? id;
    await this.database.query(
      `WITH used AS (
         UPDATE stored_response SET last_used_time = now()
          WHERE tenant_id = $1 AND user_id = $2 AND conversation_id = $7
            AND last_used_time < now() - interval '1 day'
       )
       INSERT INTO stored_response
              (tenant_id, user_id, id, api_key_id, model_name, previous_id, conversation_id, input, response, size,
               item_ids, running_until)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, $9::json, $10, $11::text[],
               now() + make_interval(secs => $12::double precision / 1000))
       ON CONFLICT (tenant_id, user_id, id) DO UPDATE SET input = EXCLUDED.input, response = EXCLUDED.response, size = EXCLUDED.size,
               item_ids = EXCLUDED.item_ids, model_name = EXCLUDED.model_name, previous_id = EXCLUDED.previous_id,
               conversation_id = EXCLUDED.conversation_id, last_used_time = now()`,
      [
        ...[tenantId, userId, id, apiKey?.id ?? null, modelName, previous?.id ?? null],
        ...[
          conversationId,
          input,
          response,
          Buffer.byteLength(input) + Buffer.byteLength(response),
        ],
        ...[idsIn(stored), runningMs ?? null],
      ],
    );
  }

  /** Ends a background response unless it has ended. Returns whether it was running. */
  async end({ tenantId, userId }: Owner, stored: EndedResponse): Promise<boolean> {
    const response = JSON.stringify(stored.response);
    const rows = await this.database.query<{ id: string }>(
      `UPDATE stored_response SET response = $4::json, item_ids = $5::text[], size = size + $6, running_until = NULL
        WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND running_until IS NOT NULL RETURNING id`,
      [...[tenantId, userId, stored.id, response, idsIn(stored)], Buffer.byteLength(response)],
    );
    return rows.length > 0;
  }

  /** Renews the leases of these background responses. Returns those that still run. */
  async renew(keys: readonly ResponseKey[], runningMs: number): Promise<string[]> {
    const rows = await acrossTenants('renewal of responses in the background', () =>
      this.database.query<{ id: string }>(
        `UPDATE stored_response SET running_until = now() + make_interval(secs => $4::double precision / 1000)
          WHERE (tenant_id, user_id, id) IN (SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]))
            AND running_until IS NOT NULL RETURNING id`,
        [
          keys.map(({ tenantId }) => tenantId),
          keys.map(({ userId }) => userId),
          keys.map(({ id }) => id),
          runningMs,
        ],
      ),
    );
    return rows.map(({ id }) => id);
  }

  /** Items of the user's responses by id; the latest response wins. */
  async items(
    { tenantId, userId }: Owner,
    ids: readonly string[],
  ): Promise<Map<string, JsonObject>> {
    const rows = await this.database.query<Pick<StoredTurn, 'input' | 'response'>>(
      `SELECT input, response FROM stored_response
        WHERE tenant_id = $1 AND user_id = $2 AND item_ids && $3::text[] ORDER BY create_time, id LIMIT $4`,
      [tenantId, userId, ids, MAX_REFERRED_RESPONSES],
    );
    const wanted = new Set(ids);
    const items = rows.flatMap((row) => itemsIn(row));
    return new Map(
      items.flatMap((item): [string, JsonObject][] => {
        const id = item['id'];
        return typeof id === 'string' && wanted.has(id) ? [[id, item]] : [];
      }),
    );
  }

  /** Whether the row existed. */
  async remove({ tenantId, userId }: Owner, id: string): Promise<boolean> {
    const { affected } = await this.database
      .repository(StoredResponse)
      .delete({ tenantId, userId, id });
    return (affected ?? 0) > 0;
  }

  /** Removes at most 500 responses whose conversation was not continued for these days. */
  async sweep({ tenantId, userId, days }: DueRecords): Promise<Swept> {
    const rows = await this.database.query<{ id: string }>(
      `DELETE FROM stored_response WHERE tenant_id = $1 AND (user_id, id) IN (
         SELECT stored.user_id, stored.id FROM stored_response stored
          WHERE stored.tenant_id = $1 AND ($2::bigint IS NULL OR stored.user_id = $2)
            AND stored.last_used_time < now() - make_interval(days => $3) AND ${notOnHold('stored')} LIMIT $4
       ) RETURNING id`,
      [tenantId, userId, days, SWEPT_AT_ONCE],
    );
    return { removed: rows.length, isDone: rows.length < SWEPT_AT_ONCE };
  }
}
