import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { notOnHold } from '../../platform/retention/index.js';
import type { HarnessRun } from './harness.entity.js';

/** An event as it is read from its table. */
export interface StoredEvent {
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

export interface EventRange {
  /** Number of the last event that is not wanted. */
  readonly after: number;
  readonly limit: number;
  /** A page ends with the event with which its data reach this size, however few there are. */
  readonly bytes: number;
}

/** Progress of a run. */
export interface RunProgress {
  readonly id: string;
  /** Number of its last event, 0 when there was none yet. */
  readonly last: number;
  /** Whether the run is over, so that nothing but an undo adds events. */
  readonly ended: boolean;
}

export interface PrunableRun extends RunKey {
  /** Timestamp in PostgreSQL's format, with all its digits. */
  readonly endedAt: string;
}

interface EventRow extends StoredEvent {
  readonly reached: number;
}

const PAGE = `SELECT page.*
    FROM (SELECT candidate.*, sum(octet_length(candidate.data)) OVER (ORDER BY candidate.sequence) AS reached
            FROM (SELECT session_id AS "sessionId", run_id AS "runId", sequence,
                         floor(extract(epoch FROM create_time) * 1000)::bigint AS timestamp, type,
                         step_id AS "stepId", tool_call_id AS "toolCallId", approval_id AS "approvalId",
                         data::text AS data
                    FROM harness_event WHERE tenant_id = $1 AND run_id = $2 AND sequence > $3
                   ORDER BY sequence LIMIT $4) AS candidate) AS page
   WHERE page.reached - octet_length(page.data) < $5
   ORDER BY page.sequence`;

/** The events of runs, to be read and at last to be removed; they are written with the runs (ledger). */
@Injectable()
export class EventRepository {
  constructor(private readonly database: Database) {}

  /** Events in their order, and whether the range may hold more. */
  async page(
    { tenantId, id }: RunKey,
    { after, limit, bytes }: EventRange,
  ): Promise<{ readonly events: StoredEvent[]; readonly more: boolean }> {
    const events = await this.database.prepared<EventRow>(PAGE, [
      tenantId,
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

  /** Progress of the runs; deleted runs are left out. */
  async progress(runs: readonly RunKey[]): Promise<RunProgress[]> {
    return acrossTenants('poll of followed runs', () =>
      this.database.query<RunProgress>(
        `SELECT run.id, run.next_event_sequence - 1 AS last,
              run.status IN ('COMPLETED', 'FAILED', 'CANCELLED') AS ended
         FROM unnest($1::text[], $2::uuid[]) AS followed (tenant_id, id)
         JOIN harness_run run ON run.tenant_id = followed.tenant_id AND run.id = followed.id`,
        [runs.map(({ tenantId }) => tenantId), runs.map(({ id }) => id)],
      ),
    );
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
