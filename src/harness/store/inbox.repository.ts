import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { HarnessEffect, HarnessRun } from './harness.entity.js';

/** A run that waits for a person. */
export type WaitingRun = Pick<
  HarnessRun,
  'id' | 'sessionId' | 'waitKind' | 'plan' | 'question' | 'errorCode' | 'errorMessage'
> & {
  readonly waitingSince: Date;
};

/** A tool call with an unknown outcome, in a run that waits for its resolution. */
export type UncertainEffect = Pick<
  HarnessEffect,
  'toolCallId' | 'sessionId' | 'runId' | 'toolName' | 'argumentsJson' | 'startedAt' | 'artifactId'
> & { readonly waitingSince: Date };

const INBOX_LENGTH = 500;

/** When the run r parked: its row changes also while it waits, such as with what is said to it. */
const WAITING_SINCE = `coalesce((SELECT v.create_time FROM harness_event v
     WHERE v.tenant_id = $1 AND v.run_id = r.id AND v.type IN ('run.waiting_for_input', 'run.suspended')
     ORDER BY v.sequence DESC LIMIT 1), r.update_time) AS "waitingSince"`;

/** What waits for a user, beside the approvals of tool calls. */
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
        ORDER BY "waitingSince", r.id LIMIT ${INBOX_LENGTH}`,
      [tenantId, userId],
    );
  }

  async uncertainEffects(tenantId: string, userId: number): Promise<UncertainEffect[]> {
    return this.database.query<UncertainEffect>(
      `SELECT e.tool_call_id AS "toolCallId", e.session_id AS "sessionId", e.run_id AS "runId",
              e.tool_name AS "toolName", e.arguments_json AS "argumentsJson", e.started_at AS "startedAt",
              e.artifact_id AS "artifactId", ${WAITING_SINCE}
         FROM harness_run r
         JOIN harness_effect e ON e.tenant_id = $1 AND e.run_id = r.id AND e.state = 'UNCERTAIN'
        WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.status = 'SUSPENDED' AND r.wait_kind = 'EFFECT'
        ORDER BY "waitingSince", r.id, e.iteration, e.ordinal LIMIT ${INBOX_LENGTH}`,
      [tenantId, userId],
    );
  }
}
