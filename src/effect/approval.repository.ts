import { Injectable } from '@nestjs/common';
import { v7 } from 'uuid';
import { IsNull } from 'typeorm';
import {
  acrossTenants,
  columnsOf,
  Database,
  insertionOf,
  storableJson,
  storableText,
} from '../platform/database/index.js';
import type { Message } from '../platform/message/index.js';
import { Grants, hashOf } from './consent.js';
import type { ApprovalPreview, ApprovalState, Decision, GrantSubject } from './consent.js';
import { Approval, ConsentGrant } from './effect.entity.js';
import type { EffectOwner, RunApproval, RunKey, RunOwner, SessionGrant } from './effect.entity.js';

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

/** An approval, and whether its time is over by the database's clock. */
export type ApprovalRow = Approval & { readonly isDue: boolean };
export type RunApprovalRow = RunApproval & ApprovalRow;

export interface DecisionValues {
  readonly state: ApprovalState;
  readonly decision: Decision;
  readonly decisionId: string;
  readonly note: string | null;
  readonly decidedBy: number;
}

type SessionKey = Pick<RunApproval, 'tenantId' | 'sessionId'>;

/** Width of the column, in characters. */
const MAX_SUMMARY_CHARS = 2_000;
/** Limits of an inbox per kind; the entry whose arguments reach the byte limit is the last one. */
export const MAX_INBOX_ENTRIES = 500;
export const MAX_INBOX_BYTES = 16 * 1024 * 1024;

const COLUMNS = `${columnsOf(Approval)}, expires_at <= now() AS "isDue"`;

/** Age at which an undecided approval expires. */
const APPROVAL_HOURS = 24;

/** Approvals, and the consents that hold for a session. Call every change while the owner's row is locked. */
@Injectable()
export class ApprovalRepository {
  constructor(private readonly database: Database) {}

  /** Stores asks as pending, in their order. */
  insert(run: RunOwner, asks: readonly ApprovalAsk[]): Promise<RunApprovalRow[]>;
  insert(owner: EffectOwner, asks: readonly ApprovalAsk[]): Promise<ApprovalRow[]>;
  async insert(owner: EffectOwner, asks: readonly ApprovalAsk[]): Promise<ApprovalRow[]> {
    const values = asks.map((ask) => ({
      ...ask,
      id: v7(),
      summary: [...ask.summary].slice(0, MAX_SUMMARY_CHARS).join(''),
      argumentsSha256: hashOf(ask.argumentsJson),
    }));
    const isTurn = 'turnId' in owner;
    const rows = await this.database.query<ApprovalRow>(
      `INSERT INTO harness_approval
          (tenant_id, session_id, run_id, turn_id, message_id, user_id, id, tool_call_id, tool_name, summary,
           model_description, preview, arguments_json, arguments_sha256, subject_hash, grantable, grants, notes, state,
           expires_at)
       SELECT $1, $2, $3, $4, $5::bigint, $6, (a ->> 'id')::uuid, (a ->> 'toolCallId')::uuid, a ->> 'toolName',
              a ->> 'summary', a ->> 'modelDescription', a -> 'preview', a ->> 'argumentsJson', a ->> 'argumentsSha256',
              a ->> 'subjectHash', a -> 'grants' <> '[]', a -> 'grants', a -> 'notes', 'PENDING',
              now() + make_interval(hours => ${APPROVAL_HOURS})
         FROM jsonb_array_elements($7::jsonb) AS a
       RETURNING ${COLUMNS}`,
      [
        owner.tenantId,
        isTurn ? null : owner.sessionId,
        isTurn ? null : owner.id,
        isTurn ? owner.turnId : null,
        isTurn ? owner.messageId : null,
        owner.userId,
        storableJson(values),
      ],
    );
    return values.flatMap(({ id }) => rows.filter((row) => row.id === id));
  }

  /** The approvals of a turn, the oldest first. */
  async ofTurn(tenantId: string, turnId: string): Promise<ApprovalRow[]> {
    return this.database.query<ApprovalRow>(
      `SELECT ${COLUMNS} FROM harness_approval WHERE tenant_id = $1 AND turn_id = $2 ORDER BY id`,
      [tenantId, turnId],
    );
  }

  async ofRun({ tenantId, id }: RunKey): Promise<RunApprovalRow[]> {
    return this.database.query<RunApprovalRow>(
      `SELECT ${COLUMNS} FROM harness_approval WHERE tenant_id = $1 AND run_id = $2 ORDER BY id`,
      [tenantId, id],
    );
  }

  async find({ tenantId, id }: RunKey, approvalId: string): Promise<RunApprovalRow | undefined> {
    const [row] = await this.database.query<RunApprovalRow>(
      `SELECT ${COLUMNS} FROM harness_approval WHERE tenant_id = $1 AND run_id = $2 AND id = $3`,
      [tenantId, id, approvalId],
    );
    return row;
  }

  /** The last approval of each tool call that is still open. */
  async ofOpenCalls({ tenantId, id }: RunKey): Promise<RunApprovalRow[]> {
    return this.database.query<RunApprovalRow>(
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
  async pendingOfUser(tenantId: string, userId: number): Promise<RunApprovalRow[]> {
    return this.database.query<RunApprovalRow>(
      `WITH oldest AS (
         SELECT id, octet_length(arguments_json) AS bytes FROM harness_approval
          WHERE tenant_id = $1 AND user_id = $2 AND state = 'PENDING' AND run_id IS NOT NULL ORDER BY id LIMIT ${MAX_INBOX_ENTRIES}
       ), sized AS (SELECT id, bytes, sum(bytes) OVER (ORDER BY id) AS reached FROM oldest)
       SELECT ${COLUMNS} FROM harness_approval
        WHERE tenant_id = $1 AND id IN (SELECT id FROM sized WHERE reached - bytes < ${MAX_INBOX_BYTES})
        ORDER BY id`,
      [tenantId, userId],
    );
  }

  async countPending({ tenantId, id }: RunKey): Promise<number> {
    const approvals = this.database.repository(Approval);
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
  async cancelPending(run: RunKey): Promise<RunApprovalRow[]> {
    return this.close(run, 'CANCELLED');
  }

  /** Expires what was not decided in time. */
  async expire(run: RunKey): Promise<RunApprovalRow[]> {
    return this.close(run, 'EXPIRED', 'AND expires_at <= now()');
  }

  private async close(
    { tenantId, id }: RunKey,
    state: ApprovalState,
    condition = '',
  ): Promise<RunApprovalRow[]> {
    return this.database.query<RunApprovalRow>(
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
        WHERE state = 'PENDING' AND expires_at <= now() AND run_id IS NOT NULL
        GROUP BY tenant_id, run_id ORDER BY min(expires_at) LIMIT $1`,
        [limit],
      ),
    );
  }

  /** Grants what the approval names, in its session or in this chat; what is granted already stays as it is. */
  async grant(approval: Approval, grantedBy: number, chatSessionId?: number): Promise<void> {
    const { tenantId, sessionId, id: approvalId } = approval;
    const scope = chatSessionId === undefined ? { sessionId } : { chatSessionId };
    const unique = chatSessionId === undefined ? 'session_id' : 'chat_session_id';
    const isOfChat = chatSessionId === undefined ? '' : 'AND chat_session_id IS NOT NULL';
    for (const { kind, subject } of approval.grants) {
      const { fields, values } = insertionOf({
        id: v7(),
        tenantId,
        ...scope,
        approvalId,
        grantedBy,
        kind,
        subjectHash: hashOf(subject),
        subject: storableText(subject),
      });
      await this.database.query(
        `INSERT INTO harness_grant ${fields}
         ON CONFLICT (${unique}, kind, subject_hash) WHERE revoked_at IS NULL ${isOfChat} DO NOTHING`,
        values,
      );
    }
  }

  /** Current grants of a chat. */
  async allowedInChat(tenantId: string, chatSessionId: number): Promise<Grants> {
    const where = { tenantId, chatSessionId, revokedAt: IsNull() };
    return new Grants(await this.database.repository(ConsentGrant).findBy(where));
  }

  /** The grants that hold, the oldest first. */
  async grantsOf(tenantId: string, sessionId: string): Promise<SessionGrant[]> {
    const where = { tenantId, sessionId, revokedAt: IsNull() };
    return this.database
      .repository<SessionGrant>(ConsentGrant)
      .find({ where, order: { id: 'ASC' } });
  }

  /** Current grants of the session. Read before each decision, so that a revoked grant no longer counts. */
  async allowed({ tenantId, sessionId }: SessionKey): Promise<Grants> {
    return new Grants(await this.grantsOf(tenantId, sessionId));
  }

  /** Takes a grant back; false when the session has none with this id that holds. */
  async revokeGrant(session: SessionKey, grantId: string, revokedBy: number): Promise<boolean> {
    const { tenantId, sessionId } = session;
    const grants = this.database.repository(ConsentGrant);
    const holding = { tenantId, sessionId, id: grantId, revokedAt: IsNull() };
    const { affected } = await grants.update(holding, { revokedAt: () => 'now()', revokedBy });
    return affected === 1;
  }
}
