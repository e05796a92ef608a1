import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { acrossTenants, Database } from '../../../platform/database/index.js';
import type { Swept } from '../../../platform/queue/index.js';
import { notOnHold } from '../../../platform/retention/index.js';
import type { StoredResponseEvent } from './stored-response.entity.js';

export type EventOwner = Pick<Caller, 'tenantId' | 'userId'>;

export type EventRow = Pick<StoredResponseEvent, 'sequence' | 'frame'>;

/** Rows removed by one sweep statement. */
const SWEPT_AT_ONCE = 5_000;

/** Events of background responses. Statements are scoped to one user of one tenant. */
@Injectable()
export class ResponseEventRepository {
  constructor(private readonly database: Database) {}

  /** Adds events, numbered from `first`. Nothing is added to a response that has ended. */
  async append(
    { tenantId, userId }: EventOwner,
    responseId: string,
    first: number,
    frames: readonly string[],
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO stored_response_event (tenant_id, user_id, response_id, sequence, frame)
       SELECT stored.tenant_id, stored.user_id, stored.id, $4::integer + appended.place::integer - 1, appended.frame
         FROM stored_response stored, unnest($5::text[]) WITH ORDINALITY AS appended (frame, place)
        WHERE stored.tenant_id = $1 AND stored.user_id = $2 AND stored.id = $3 AND stored.running_until IS NOT NULL`,
      [tenantId, userId, responseId, first, frames],
    );
  }

  /** Events after the number, in their order. */
  async page(
    { tenantId, userId }: EventOwner,
    responseId: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<EventRow[]> {
    return this.database.query<EventRow>(
      `SELECT sequence, frame FROM stored_response_event
        WHERE tenant_id = $1 AND user_id = $2 AND response_id = $3 AND sequence > $4 ORDER BY sequence LIMIT $5`,
      [tenantId, userId, responseId, after, limit],
    );
  }

  /** The number of the last event; undefined if none is stored. */
  async last({ tenantId, userId }: EventOwner, responseId: string): Promise<number | undefined> {
    const [row] = await this.database.query<{ last: number | null }>(
      `SELECT max(sequence) AS last FROM stored_response_event
        WHERE tenant_id = $1 AND user_id = $2 AND response_id = $3`,
      [tenantId, userId, responseId],
    );
    return row?.last ?? undefined;
  }

  /** Removes events of all tenants that are older than the hours and whose response has ended. */
  async sweep(hours: number): Promise<Swept> {
    const rows = await acrossTenants('sweep of events of responses', () =>
      this.database.query<{ sequence: number }>(
        `DELETE FROM stored_response_event WHERE (tenant_id, user_id, response_id, sequence) IN (
           SELECT event.tenant_id, event.user_id, event.response_id, event.sequence FROM stored_response_event event
             JOIN stored_response stored ON stored.tenant_id = event.tenant_id AND stored.user_id = event.user_id
                                        AND stored.id = event.response_id
            WHERE event.create_time < now() - make_interval(hours => $1) AND stored.running_until IS NULL AND ${notOnHold('stored')}
            LIMIT $2
         ) RETURNING sequence`,
        [hours, SWEPT_AT_ONCE],
      ),
    );
    return { removed: rows.length, isDone: rows.length < SWEPT_AT_ONCE };
  }
}
