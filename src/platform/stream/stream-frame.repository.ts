import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../database/index.js';
import type { Swept } from '../queue/index.js';
import { notOnHold } from '../retention/index.js';
import type { StreamFrame } from './stream-frame.entity.js';

/** A stream of one user of a tenant. */
export type StreamKey = Pick<StreamFrame, 'tenantId' | 'userId'> & { readonly id: string };

/** The row that the frames of a stream are deleted with. */
export type StreamSubject = { readonly responseId: string } | { readonly messageId: number };

export type StoredFrame = Pick<StreamFrame, 'sequence' | 'frame'>;

/** Streams removed by one sweep statement. */
const SWEPT_AT_ONCE = 50;

/** The condition of one stream: $1 to $3. */
const OF_STREAM = 'tenant_id = $1 AND user_id = $2 AND stream_id = $3';

/** Statements are scoped to one user of one tenant. */
@Injectable()
export class StreamFrameRepository {
  constructor(private readonly database: Database) {}

  /** Adds frames, numbered from `first`; those that are stored already stay. Fails if the subject is deleted. */
  async append(
    { tenantId, userId, id }: StreamKey,
    subject: StreamSubject,
    { first, frames }: { readonly first: number; readonly frames: readonly string[] },
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO stream_frame (tenant_id, user_id, stream_id, sequence, frame, response_id, message_id)
       SELECT $1, $2::bigint, $3, $4::integer + appended.place::integer - 1, appended.frame, $6, $7::bigint
         FROM unnest($5::text[]) WITH ORDINALITY AS appended (frame, place)
       ON CONFLICT DO NOTHING`,
      [
        ...[tenantId, userId, id, first, frames],
        ...('responseId' in subject ? [subject.responseId, null] : [null, subject.messageId]),
      ],
    );
  }

  /** Frames after the number, in their order. */
  async page(
    { tenantId, userId, id }: StreamKey,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<StoredFrame[]> {
    return this.database.query<StoredFrame>(
      `SELECT sequence, frame FROM stream_frame WHERE ${OF_STREAM} AND sequence > $4 ORDER BY sequence LIMIT $5`,
      [tenantId, userId, id, after, limit],
    );
  }

  /** The last frame; undefined if none is stored. */
  async last({ tenantId, userId, id }: StreamKey): Promise<StoredFrame | undefined> {
    const [row] = await this.database.query<StoredFrame>(
      `SELECT sequence, frame FROM stream_frame WHERE ${OF_STREAM} ORDER BY sequence DESC LIMIT 1`,
      [tenantId, userId, id],
    );
    return row;
  }

  /** Removes streams of a user. */
  async remove({ tenantId, userId }: Omit<StreamKey, 'id'>, ids: readonly string[]): Promise<void> {
    await this.database.query(
      'DELETE FROM stream_frame WHERE tenant_id = $1 AND user_id = $2 AND stream_id = ANY($3::text[])',
      [tenantId, userId, ids],
    );
  }

  /** Removes streams of all tenants whose last frame is older than the hours. */
  async sweep(hours: number): Promise<Swept> {
    const [row] = await acrossTenants('sweep of stored streams', () =>
      this.database.query<{ removed: number; streams: number }>(
        `WITH due AS (
           SELECT frame.tenant_id, frame.user_id, frame.stream_id FROM stream_frame frame
            WHERE frame.sequence = 0 AND frame.create_time < now() - make_interval(hours => $1) AND ${notOnHold('frame')}
              AND now() - make_interval(hours => $1) > (
                SELECT newest.create_time FROM stream_frame newest
                 WHERE newest.tenant_id = frame.tenant_id AND newest.user_id = frame.user_id AND newest.stream_id = frame.stream_id
                 ORDER BY newest.sequence DESC LIMIT 1)
            LIMIT $2
         ), removed AS (
           DELETE FROM stream_frame frame USING due
            WHERE frame.tenant_id = due.tenant_id AND frame.user_id = due.user_id AND frame.stream_id = due.stream_id
           RETURNING frame.sequence
         )
         SELECT count(*)::integer AS removed, count(*) FILTER (WHERE sequence = 0)::integer AS streams FROM removed`,
        [hours, SWEPT_AT_ONCE],
      ),
    );
    const { removed = 0, streams = 0 } = row ?? {};
    return { removed, isDone: streams < SWEPT_AT_ONCE };
  }
}
