import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { notOnHold } from '../../platform/retention/index.js';
import type { HarnessRun } from './harness.entity.js';

/** An event as it is read from its table. */
export interface StoredEvent {
  /** Number in the source that it was read from. */
  readonly position: number;
  readonly sessionId: string;
  readonly runId: string;
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly type: string;
  readonly stepId: string | null;
  readonly toolCallId: string | null;
  readonly approvalId: string | null;
  /** A JSON object as text without line breaks, as PostgreSQL writes it. */
  readonly data: string;
}

/** Names one run. */
export type RunKey = Pick<HarnessRun, 'tenantId' | 'id'>;

/** Names one user's runs of a tenant. */
export interface RunsOfUser {
  readonly tenantId: string;
  readonly ownerId: number;
}

/** What numbers events: a run, or a user over all runs. */
export type EventSource = RunKey | RunsOfUser;

/** Names the source among those of all tenants. */
export function sourceKey(source: EventSource): string {
  return 'ownerId' in source ? `${source.tenantId} ${source.ownerId}` : source.id;
}

export interface EventRange {
  /** Number of the last event that is not wanted. */
  readonly after: number;
  readonly limit: number;
  /** A page ends with the event with which its data reach this size, however few there are. */
  readonly bytes: number;
}

export interface SourceProgress {
  /** Number of the last event, 0 when there was none yet. */
  readonly last: number;
  /** Whether a run is over, so that nothing but an undo adds events. */
  readonly ended: boolean;
}

export interface PrunableRun extends RunKey {
  /** Timestamp in PostgreSQL's format, with all its digits. */
  readonly endedAt: string;
}

interface EventRow extends StoredEvent {
  readonly reached: number;
}

/** A page of the events whose column `position` is above $3, as far as the size of their data lets. */
function page(position: string, source: string): string {
  return `SELECT page.*
    FROM (SELECT candidate.*, sum(octet_length(candidate.data)) OVER (ORDER BY candidate.position) AS reached
            FROM (SELECT ${position} AS position, session_id AS "sessionId", run_id AS "runId", sequence,
                         floor(extract(epoch FROM create_time) * 1000)::bigint AS timestamp, type,
                         step_id AS "stepId", tool_call_id AS "toolCallId", approval_id AS "approvalId",
                         data::text AS data
                    FROM harness_event WHERE tenant_id = $1 AND ${source} = $2 AND ${position} > $3
                   ORDER BY ${position} LIMIT $4) AS candidate) AS page
   WHERE page.reached - octet_length(page.data) < $5
   ORDER BY page.position`;
}

const PAGE_OF_RUN = page('sequence', 'run_id');
const PAGE_OF_USER = page('user_sequence', 'user_id');

const NUMBERED_AT_ONCE = 10_000;

/** Numbers events from $3 on, by their time, those of one run in their order. */
const NUMBER = `WITH fresh AS (
    SELECT run_id, sequence, row_number() OVER (ORDER BY moment, run_id, sequence) AS nth
      FROM (SELECT run_id, sequence, max(create_time) OVER (PARTITION BY run_id ORDER BY sequence) AS moment
              FROM harness_event WHERE tenant_id = $1 AND user_id = $2 AND user_sequence IS NULL) AS event
     ORDER BY nth LIMIT $4
  ), numbered AS (
    UPDATE harness_event SET user_sequence = $3 + fresh.nth - 1 FROM fresh
     WHERE harness_event.tenant_id = $1 AND harness_event.run_id = fresh.run_id
       AND harness_event.sequence = fresh.sequence
    RETURNING user_sequence
  ), counted AS (
    UPDATE harness_stream SET next_sequence = $3 + (SELECT count(*) FROM numbered)
     WHERE tenant_id = $1 AND user_id = $2
  )
  SELECT user_sequence FROM numbered`;

/** The events of runs, to be read and at last to be removed; they are written with the runs (ledger). */
@Injectable()
export class EventRepository {
  constructor(private readonly database: Database) {}

  /** Events in their order, and whether the range may hold more. */
  async page(
    source: EventSource,
    { after, limit, bytes }: EventRange,
  ): Promise<{ readonly events: StoredEvent[]; readonly more: boolean }> {
    if ('ownerId' in source) await this.number(source);
    const [statement, id] =
      'ownerId' in source ? [PAGE_OF_USER, source.ownerId] : [PAGE_OF_RUN, source.id];
    const events = await this.database.prepared<EventRow>(statement, [
      source.tenantId,
      id,
      after,
      limit,
      bytes,
    ]);
    const reached = events.at(-1)?.reached ?? 0;
    return { events, more: events.length === limit || reached >= bytes };
  }

  /** Whether the run has an event of the type whose number is above the given one. */
  async has({ tenantId, id }: RunKey, type: string, after: number): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM harness_event WHERE tenant_id = $1 AND run_id = $2 AND sequence > $3 AND type = $4 LIMIT 1`,
      [tenantId, id, after, type],
    );
    return rows.length > 0;
  }

  /**
   * Numbers the events of the user that have none yet, and answers the last number. They are numbered when they are read, and
   * not when they are written: a number that is given in a write would hold up the other runs of the user until its commit.
   */
  async number({ tenantId, ownerId }: RunsOfUser): Promise<number> {
    for (;;) {
      const { last, isWhole } = await this.database.transaction(async () => {
        const [stream] = await this.database.query<{ next: number }>(
          `INSERT INTO harness_stream (tenant_id, user_id) VALUES ($1, $2)
               ON CONFLICT (tenant_id, user_id) DO UPDATE SET next_sequence = harness_stream.next_sequence
           RETURNING next_sequence AS next`,
          [tenantId, ownerId],
        );
        const first = stream?.next ?? 1;
        // A statement of its own sees all that was committed before the row was locked.
        const rows = await this.database.query(NUMBER, [
          tenantId,
          ownerId,
          first,
          NUMBERED_AT_ONCE,
        ]);
        return { last: first + rows.length - 1, isWhole: rows.length < NUMBERED_AT_ONCE };
      });
      if (isWhole) return last;
    }
  }

  /** Progress of the sources by their keys; deleted runs are left out. */
  async progress(sources: readonly EventSource[]): Promise<Map<string, SourceProgress>> {
    const users = sources.filter((source) => 'ownerId' in source);
    const runs = sources.filter((source) => 'id' in source);
    const rows = await acrossTenants('poll of followed runs', () =>
      this.database.query<SourceProgress & { key: string }>(
        `SELECT run.id::text AS key, run.next_event_sequence - 1 AS last,
              run.status IN ('COMPLETED', 'FAILED', 'CANCELLED') AS ended
         FROM unnest($1::text[], $2::uuid[]) AS followed (tenant_id, id)
         JOIN harness_run run ON run.tenant_id = followed.tenant_id AND run.id = followed.id
        UNION ALL
       SELECT followed.tenant_id || ' ' || followed.id,
              coalesce(stream.next_sequence, 1) - 1
                + EXISTS (SELECT 1 FROM harness_event event
                           WHERE event.tenant_id = followed.tenant_id AND event.user_id = followed.id
                             AND event.user_sequence IS NULL)::integer, false
         FROM unnest($3::text[], $4::bigint[]) AS followed (tenant_id, id)
         LEFT JOIN harness_stream stream
           ON stream.tenant_id = followed.tenant_id AND stream.user_id = followed.id`,
        [
          runs.map(({ tenantId }) => tenantId),
          runs.map(({ id }) => id),
          users.map(({ tenantId }) => tenantId),
          users.map(({ ownerId }) => ownerId),
        ],
      ),
    );
    return new Map(rows.map(({ key, last, ended }) => [key, { last, ended }]));
  }

  /**
   * Runs of any tenant that ended more than `days` days ago and still have events, by time of their end, after the given
   * one.
   */
  async prunable(
    days: number,
    { after, limit }: { readonly after: PrunableRun | undefined; readonly limit: number },
  ): Promise<PrunableRun[]> {
    return acrossTenants('retention of events', () =>
      this.database.query<PrunableRun>(
        `SELECT run.tenant_id AS "tenantId", run.id, run.ended_at::text AS "endedAt" FROM harness_run run
        WHERE run.ended_at < now() - make_interval(days => $1) AND ${notOnHold('run')}
          AND ($2::timestamptz IS NULL OR (run.ended_at, run.id) > ($2::timestamptz, $3::uuid))
          AND EXISTS (SELECT 1 FROM harness_event event
                       WHERE event.tenant_id = run.tenant_id AND event.run_id = run.id)
        ORDER BY run.ended_at, run.id LIMIT $4`,
        [days, after?.endedAt ?? null, after?.id ?? null, limit],
      ),
    );
  }

  /** Removes all events of a run; answers how many there were. */
  async prune({ tenantId, id }: RunKey): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `WITH removed AS (
         DELETE FROM harness_event WHERE tenant_id = $1 AND run_id = $2 RETURNING sequence
       )
       SELECT count(*) AS count FROM removed`,
      [tenantId, id],
    );
    return row?.count ?? 0;
  }
}
