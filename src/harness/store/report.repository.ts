import { Injectable } from '@nestjs/common';
import { Database, columnName } from '../../platform/database/index.js';
import type { RunEffect } from '../../effect/index.js';
import { IN_ORDER } from '../../effect/index.js';
import type { RunKey } from './event.repository.js';
import { HarnessModelCall } from './harness.entity.js';
import type { HarnessEvent } from './harness.entity.js';

/** A tool call without what it was given and what it answered, which may be long. */
const CALL = [
  'toolCallId',
  'iteration',
  'toolName',
  'effectClass',
  'state',
  'errorCode',
  'exitCode',
  'reconciled',
  'resolution',
  'resolvedBy',
  'note',
  'startedAt',
  'endedAt',
] as const;

export type ReportedCall = Pick<RunEffect, (typeof CALL)[number]> & {
  /** Subject of the call, as far as one of its arguments names it. */
  readonly subject: string | null;
};

export type ReportedEvent = Pick<HarnessEvent, 'type' | 'toolCallId' | 'data' | 'createTime'>;

export interface ReportedSkill {
  readonly name: string;
  readonly source: string;
  readonly sha256: string;
}

/** Maximum length of a tool call's subject. */
const MAX_SUBJECT_CHARS = 2_000;

/** Events that say what no row says. */
const EVENTS = ['run.started', 'plan.approved', 'plan.revision.requested', 'tool.started'];

/** Everything that a run has left behind, as a report needs it. */
@Injectable()
export class ReportRepository {
  constructor(private readonly database: Database) {}

  /** The tool calls in the order in which the model asked for them, then what was undone and redone. */
  async calls({ tenantId, id }: RunKey): Promise<ReportedCall[]> {
    return this.database.query<ReportedCall>(
      `SELECT ${CALL.map((name) => `${columnName(name)} AS "${name}"`).join(', ')},
              left(coalesce(input ->> 'command', input ->> 'path', input ->> 'name', input ->> 'pattern'), ${MAX_SUBJECT_CHARS})
                AS subject
         FROM harness_effect WHERE tenant_id = $1 AND run_id = $2 ORDER BY ${IN_ORDER}`,
      [tenantId, id],
    );
  }

  /** The calls of the model service, oldest first. */
  async modelCalls({ tenantId, id: runId }: RunKey): Promise<HarnessModelCall[]> {
    const calls = this.database.repository(HarnessModelCall);
    return calls.find({ where: { tenantId, runId }, order: { id: 'ASC' } });
  }

  /** Oldest first; none once the run's events were pruned. */
  async events({ tenantId, id }: RunKey): Promise<ReportedEvent[]> {
    return this.database.query<ReportedEvent>(
      `SELECT type, tool_call_id AS "toolCallId", create_time AS "createTime",
              CASE type WHEN 'tool.started' THEN jsonb_build_object('title', data -> 'title') ELSE data END AS data
         FROM harness_event
        WHERE tenant_id = $1 AND run_id = $2 AND type = ANY($3) ORDER BY sequence`,
      [tenantId, id, EVENTS],
    );
  }

  async skills({ tenantId, id }: RunKey): Promise<ReportedSkill[]> {
    return this.database.query<ReportedSkill>(
      `SELECT name, source, sha256 FROM harness_skill WHERE tenant_id = $1 AND run_id = $2 ORDER BY position`,
      [tenantId, id],
    );
  }

  /** The last thing that the model said without calling a tool. */
  async lastAnswer({ tenantId, id }: RunKey): Promise<string | undefined> {
    const [row] = await this.database.query<{ content: string }>(
      `SELECT content FROM harness_message
        WHERE tenant_id = $1 AND run_id = $2 AND role = 'ASSISTANT' AND tool_calls = '[]' AND content <> ''
        ORDER BY sequence DESC LIMIT 1`,
      [tenantId, id],
    );
    return row?.content;
  }

  /** Names of users of the tenant. */
  async names(tenantId: string, userIds: readonly number[]): Promise<Map<number, string>> {
    const rows = await this.database.query<{ id: number; userName: string }>(
      `SELECT id, user_name AS "userName" FROM user_account WHERE tenant_id = $1 AND id = ANY($2)`,
      [tenantId, userIds],
    );
    return new Map(rows.map(({ id, userName }) => [id, userName]));
  }
}
