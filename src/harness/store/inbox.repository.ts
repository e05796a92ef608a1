import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { MAX_INBOX_BYTES, MAX_INBOX_ENTRIES } from '../../effect/index.js';
import type { RunEffect } from '../../effect/index.js';
import type { HarnessRun } from './harness.entity.js';

/** A run that waits for a person. */
export type WaitingRun = Pick<
  HarnessRun,
  'id' | 'sessionId' | 'waitKind' | 'plan' | 'question' | 'errorCode' | 'errorMessage'
> & {
  readonly waitingSince: Date;
};

/** A tool call with an unknown outcome, in a run that waits for its resolution. */
export type UncertainEffect = Pick<
  RunEffect,
  'toolCallId' | 'sessionId' | 'runId' | 'toolName' | 'argumentsJson' | 'startedAt' | 'artifactId'
> & { readonly waitingSince: Date };

/** When the run r parked: its row changes also while it waits, such as with what is said to it. */
const WAITING_SINCE = `coalesce((SELECT v.create_time FROM harness_event v
     WHERE v.tenant_id = $1 AND v.run_id = r.id AND v.type IN ('run.waiting_for_input', 'run.suspended')
     ORDER BY v.sequence DESC LIMIT 1), r.update_time) AS "waitingSince"`;

/** What waits for a person besides approvals: runs, and tool calls with an unknown outcome. */
@Injectable()
export class InboxRepository {
  constructor(private readonly database: Database) {}

  /** The user's runs that wait for a review, an answer or their model service, the longest waiting first. */
  async waitingRuns(tenantId: string, userId: number): Promise<WaitingRun[]> {
    return this.database.query<WaitingRun>(
      `SELECT r.id, r.session_id AS "sessionId", r.wait_kind AS "waitKind", r.plan, r.question,
              r.error_code AS "errorCode", r.error_message AS "errorMessage", ${WAITING_SINCE}
         FROM harness_run r
        WHERE r.tenant_id = $1 AND r.user_id = $2
          AND (r.status = 'WAITING_FOR_INPUT' OR (r.status = 'SUSPENDED' AND r.wait_kind = 'PROVIDER'))
        ORDER BY "waitingSince", r.id LIMIT ${MAX_INBOX_ENTRIES}`,
      [tenantId, userId],
    );
  }

  async uncertainEffects(tenantId: string, userId: number): Promise<UncertainEffect[]> {
    return this.database.query<UncertainEffect>(
      `WITH longest AS (
         SELECT e.tool_call_id AS "toolCallId", e.session_id AS "sessionId", e.run_id AS "runId",
                e.tool_name AS "toolName", e.arguments_json AS "argumentsJson", e.started_at AS "startedAt",
                e.artifact_id AS "artifactId", ${WAITING_SINCE}, e.iteration, e.ordinal
           FROM harness_run r
           JOIN harness_effect e ON e.tenant_id = $1 AND e.run_id = r.id AND e.state = 'UNCERTAIN'
          WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.status = 'SUSPENDED' AND r.wait_kind = 'EFFECT'
          ORDER BY "waitingSince", r.id, e.iteration, e.ordinal LIMIT ${MAX_INBOX_ENTRIES}
       ), sized AS (
         SELECT longest.*, octet_length("argumentsJson") AS bytes,
                sum(octet_length("argumentsJson")) OVER (ORDER BY "waitingSince", "runId", iteration, ordinal) AS reached
           FROM longest
       )
       SELECT * FROM sized WHERE reached - bytes < ${MAX_INBOX_BYTES}
        ORDER BY "waitingSince", "runId", iteration, ordinal`,
      [tenantId, userId],
    );
  }

  /** Number of items that wait for the user: approvals, reviews, answers, model services and uncertain calls. */
  async countWaiting(tenantId: string, userId: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT (SELECT count(*) FROM harness_approval
                WHERE tenant_id = $1 AND user_id = $2 AND state = 'PENDING' AND run_id IS NOT NULL)
            + (SELECT count(*) FROM harness_run r
                WHERE r.tenant_id = $1 AND r.user_id = $2
                  AND (r.status = 'WAITING_FOR_INPUT' OR (r.status = 'SUSPENDED' AND r.wait_kind = 'PROVIDER')))
            + (SELECT count(*) FROM harness_run r
                 JOIN harness_effect e ON e.tenant_id = $1 AND e.run_id = r.id AND e.state = 'UNCERTAIN'
                WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.status = 'SUSPENDED' AND r.wait_kind = 'EFFECT')
         AS count`,
      [tenantId, userId],
    );
    return row?.count ?? 0;
  }
}
