import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { acrossTenants, Database } from '../../platform/database/index.js';
import { canonicalJson, Grants } from '../protocol/policy.js';
import type {
  ApprovalPreview,
  ApprovalState,
  Decision,
  FileSubject,
  GrantSubject,
} from '../protocol/policy.js';
import { newId, sha256 } from '../protocol/values.js';
import { columnsOf, insertionOf, storableJson, storableText } from './columns.repository.js';
import type { RunKey } from './event.repository.js';
import { HarnessApproval, HarnessGrant } from './harness.entity.js';
import type { HarnessEffect, HarnessRun } from './harness.entity.js';
import type { FileOperation } from '../protocol/tool-call.js';
import type { Message } from '../../platform/message/index.js';

/** A tool call that may go on only with the consent of a person. */
export interface ApprovalAsk {
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments as the model wrote them, but for secrets of the service: what the person sees. */
  readonly argumentsJson: string;
  /** One line for people, made from the arguments by the server. */
  readonly summary: string;
  /** The model's description of the call's purpose: no decision may rely on it. */
  readonly modelDescription: string | null;
  readonly preview: ApprovalPreview;
  /** Result of `subjectHash` when the call was decided: the approval holds for this alone. */
  readonly subjectHash: string;
  /** Grants of APPROVE_SESSION (`pathGrants`, `commandGrant`); empty when each call must be asked again. */
  readonly grants: readonly GrantSubject[];
  /** Notes for the approver, such as that the changes cannot be undone. */
  readonly notes: readonly Message[];
}

export interface ApprovalSubject {
  readonly toolName: string;
  /** Input as the model wrote it. */
  readonly input: unknown;
  /** Planned changes of files; empty for all but file tools. */
  readonly operations: readonly Pick<FileOperation, 'path' | 'before'>[];
}

/**
 * Binds an approval to what was asked: SHA-256, lower-case hex, of the tool, its input and the contents that the files
 * have before it. Another hash at the time of execution means that something has changed: APPROVAL_STALE.
 */
export function subjectHash({ toolName, input, operations }: ApprovalSubject): string {
  const files = operations
    .map(({ path, before }) => ({ path, before: before?.sha256 ?? null }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  return sha256(canonicalJson({ tool: toolName, input, files }));
}

/** Grants of a session-wide consent to these files: each path that neither the plan nor a grant allows yet. */
export function pathGrants(files: readonly FileSubject[]): GrantSubject[] {
  return files
    .filter(({ planned, granted }) => !planned && !granted)
    .map(({ path }) => ({ kind: 'PATH', subject: path }));
}

/** Grant of a session-wide consent to this command: the very same text, and no other command. */
export function commandGrant(command: string): GrantSubject {
  return { kind: 'COMMAND', subject: command };
}

/** An approval, and whether its time is over by the database's clock. */
export type ApprovalRow = HarnessApproval & { readonly isDue: boolean };

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

export interface DecisionValues {
  readonly state: ApprovalState;
  readonly decision: Decision;
  readonly decisionId: string;
  readonly note: string | null;
  readonly decidedBy: number;
}

type SessionKey = Pick<HarnessGrant, 'tenantId' | 'sessionId'>;

/** Width of the column, in characters. */
const MAX_SUMMARY_CHARS = 2_000;
/** Limits of an inbox per kind; the entry whose arguments reach the byte limit is the last one. */
const MAX_INBOX_ENTRIES = 500;
const MAX_INBOX_BYTES = 16 * 1024 * 1024;

const COLUMNS = `${columnsOf(HarnessApproval)}, expires_at <= now() AS "isDue"`;

/** When the run r parked: its row changes also while it waits, such as with what is said to it. */
const WAITING_SINCE = `coalesce((SELECT v.create_time FROM harness_event v
     WHERE v.tenant_id = $1 AND v.run_id = r.id AND v.type IN ('run.waiting_for_input', 'run.suspended')
     ORDER BY v.sequence DESC LIMIT 1), r.update_time) AS "waitingSince"`;

/** Age at which an undecided approval expires. */
const APPROVAL_HOURS = 24;

/** The approvals of runs, what else waits for a person, and the consents that hold for a session. Call every change while the run's row is locked. */
@Injectable()
export class ApprovalRepository {
  constructor(private readonly database: Database) {}

  /** Stores asks as pending, in their order. */
  async insert(run: HarnessRun, asks: readonly ApprovalAsk[]): Promise<ApprovalRow[]> {
    const values = asks.map((ask) => ({
      ...ask,
      id: newId(),
      summary: [...ask.summary].slice(0, MAX_SUMMARY_CHARS).join(''),
      argumentsSha256: sha256(ask.argumentsJson),
    }));
    const rows = await this.database.query<ApprovalRow>(
      `INSERT INTO harness_approval
          (tenant_id, session_id, run_id, user_id, id, tool_call_id, tool_name, summary, model_description, preview,
           arguments_json, arguments_sha256, subject_hash, grantable, grants, notes, state, expires_at)
       SELECT $1, $2, $3, $4, (a ->> 'id')::uuid, (a ->> 'toolCallId')::uuid, a ->> 'toolName', a ->> 'summary',
              a ->> 'modelDescription', a -> 'preview', a ->> 'argumentsJson', a ->> 'argumentsSha256', a ->> 'subjectHash', a -> 'grants' <> '[]',
              a -> 'grants', a -> 'notes', 'PENDING', now() + make_interval(hours => ${APPROVAL_HOURS})
         FROM jsonb_array_elements($5::jsonb) AS a
       RETURNING ${COLUMNS}`,
      [run.tenantId, run.sessionId, run.id, run.userId, storableJson(values)],
    );
    return values.flatMap(({ id }) => rows.filter((row) => row.id === id));
  }

  async ofRun({ tenantId, id }: RunKey): Promise<ApprovalRow[]> {
    return this.database.query<ApprovalRow>(
      `SELECT ${COLUMNS} FROM harness_approval WHERE tenant_id = $1 AND run_id = $2 ORDER BY id`,
      [tenantId, id],
    );
  }

  async find({ tenantId, id }: RunKey, approvalId: string): Promise<ApprovalRow | undefined> {
    const [row] = await this.database.query<ApprovalRow>(
      `SELECT ${COLUMNS} FROM harness_approval WHERE tenant_id = $1 AND run_id = $2 AND id = $3`,
      [tenantId, id, approvalId],
    );
    return row;
  }

  /** The last approval of each tool call that is still open. */
  async ofOpenCalls({ tenantId, id }: RunKey): Promise<ApprovalRow[]> {
    return this.database.query<ApprovalRow>(
      `SELECT DISTINCT ON (tool_call_id) ${COLUMNS} FROM harness_approval a
        WHERE a.tenant_id = $1 AND a.run_id = $2
          AND EXISTS (SELECT 1 FROM harness_effect e
                       WHERE e.tenant_id = $1 AND e.run_id = $2 AND e.tool_call_id = a.tool_call_id
                         AND e.state IN ('PREPARED', 'STARTED', 'UNCERTAIN'))
        ORDER BY tool_call_id, id DESC`,
      [tenantId, id],
    );
  }

  /** The pending approvals of a user's runs, the oldest first. */
  async pendingOfUser(tenantId: string, userId: number): Promise<ApprovalRow[]> {
    return this.database.query<ApprovalRow>(
      `WITH oldest AS (
         SELECT id, octet_length(arguments_json) AS bytes FROM harness_approval
          WHERE tenant_id = $1 AND user_id = $2 AND state = 'PENDING' ORDER BY id LIMIT ${MAX_INBOX_ENTRIES}
       ), sized AS (SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS reached FROM oldest)
       SELECT ${COLUMNS} FROM harness_approval
        WHERE tenant_id = $1 AND id IN (SELECT id FROM sized WHERE reached - bytes < ${MAX_INBOX_BYTES})
        ORDER BY id`,
      [tenantId, userId],
    );
  }

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
                WHERE tenant_id = $1 AND user_id = $2 AND state = 'PENDING')
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

  async countPending({ tenantId, id }: RunKey): Promise<number> {
    const approvals = this.database.repository(HarnessApproval);
    return approvals.countBy({ tenantId, runId: id, state: 'PENDING' });
  }

  /** Writes the decision down; undefined when there is one already. */
  async decide(approval: ApprovalRow, values: DecisionValues): Promise<ApprovalRow | undefined> {
    const [row] = await this.database.query<ApprovalRow>(
      `UPDATE harness_approval
          SET state = $3, decision = $4, decision_id = $5, note = $6, decided_by = $7, decided_at = now(),
              revision = revision + 1
        WHERE tenant_id = $1 AND id = $2 AND state = 'PENDING' RETURNING ${COLUMNS}`,
      [
        approval.tenantId,
        approval.id,
        values.state,
        values.decision,
        values.decisionId,
        values.note === null ? null : storableText(values.note),
        values.decidedBy,
      ],
    );
    return row;
  }

  /** Cancels what no longer needs a decision. */
  async cancelPending(run: RunKey): Promise<ApprovalRow[]> {
    return this.close(run, 'CANCELLED');
  }

  /** Expires what was not decided in time. */
  async expire(run: RunKey): Promise<ApprovalRow[]> {
    return this.close(run, 'EXPIRED', 'AND expires_at <= now()');
  }

  private async close(
    { tenantId, id }: RunKey,
    state: ApprovalState,
    condition = '',
  ): Promise<ApprovalRow[]> {
    return this.database.query<ApprovalRow>(
      `UPDATE harness_approval SET state = $3, decided_at = now(), revision = revision + 1
        WHERE tenant_id = $1 AND run_id = $2 AND state = 'PENDING' ${condition} RETURNING ${COLUMNS}`,
      [tenantId, id, state],
    );
  }

  /** The runs of any tenant with an approval whose time is over, the longest first. */
  async dueRuns(limit: number): Promise<{ readonly tenantId: string; readonly runId: string }[]> {
    return acrossTenants('sweep of expired approvals', () =>
      this.database.query(
        `SELECT tenant_id AS "tenantId", run_id AS "runId" FROM harness_approval
        WHERE state = 'PENDING' AND expires_at <= now()
        GROUP BY tenant_id, run_id ORDER BY min(expires_at) LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Grants what the approval names; what is granted already stays as it is. */
  async grant(approval: HarnessApproval, grantedBy: number): Promise<void> {
    const { tenantId, sessionId, id: approvalId } = approval;
    for (const { kind, subject } of approval.grants) {
      const { fields, values } = insertionOf({
        id: newId(),
        tenantId,
        sessionId,
        approvalId,
        grantedBy,
        kind,
        subjectHash: sha256(subject),
        subject: storableText(subject),
      });
      await this.database.query(
        `INSERT INTO harness_grant ${fields}
         ON CONFLICT (session_id, kind, subject_hash) WHERE revoked_at IS NULL DO NOTHING`,
        values,
      );
    }
  }

  /** The grants that hold, the oldest first. */
  async grantsOf(tenantId: string, sessionId: string): Promise<HarnessGrant[]> {
    const where = { tenantId, sessionId, revokedAt: IsNull() };
    return this.database.repository(HarnessGrant).find({ where, order: { id: 'ASC' } });
  }

  /** Current grants of the session. Read before each decision, so that a revoked grant no longer counts. */
  async allowed({ tenantId, sessionId }: SessionKey): Promise<Grants> {
    return new Grants(await this.grantsOf(tenantId, sessionId));
  }

  /** Takes a grant back; false when the session has none with this id that holds. */
  async revokeGrant(session: SessionKey, grantId: string, revokedBy: number): Promise<boolean> {
    const { tenantId, sessionId } = session;
    const grants = this.database.repository(HarnessGrant);
    const holding = { tenantId, sessionId, id: grantId, revokedAt: IsNull() };
    const { affected } = await grants.update(holding, { revokedAt: () => 'now()', revokedBy });
    return affected === 1;
  }
}
