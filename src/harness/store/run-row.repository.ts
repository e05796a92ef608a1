import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { EventDraft } from './event.catalogue.js';
import { storableJson, storableText } from './storable.js';
import { LEASE_SECONDS } from '../protocol/lease.js';
import type { RunLease } from '../protocol/lease.js';
import type { LeaseState } from '../protocol/run.state.js';
import type { HarnessRun } from './harness.entity.js';
import { SecretMask } from './secret-mask.js';

/** What a run is created with. */
export type NewRun = Pick<
  HarnessRun,
  | 'id'
  | 'tenantId'
  | 'sessionId'
  | 'userId'
  | 'homeTenantId'
  | 'requirement'
  | 'permissionMode'
  | 'approvalPolicy'
  | 'budget'
  | 'phase'
  | 'idempotencyKey'
  | 'idempotencyHash'
>;

/** A run as it was read under its lock. */
export type LockedRun = HarnessRun & { readonly leaseState: LeaseState };

/** The columns that a write may change; lease and numbers have methods of their own. */
export type RunPatch = Partial<
  Omit<
    HarnessRun,
    | 'id'
    | 'tenantId'
    | 'sessionId'
    | 'leaseOwner'
    | 'leaseUntil'
    | 'leaseBoot'
    | 'activeMs'
    | 'nextEventSequence'
  >
>;

export type LeaseChange =
  | { readonly type: 'keep' }
  | { readonly type: 'drop' }
  /** Taken from an owner that may not know yet: who it is stays readable, because it may still act. */
  | { readonly type: 'revoke' }
  | { readonly type: 'take'; readonly owner: string; readonly boot: string };

export interface RowChange {
  readonly patch: RunPatch;
  readonly lease: LeaseChange;
  readonly drafts: readonly EventDraft[];
}

export const RUN_COLUMNS = `id, tenant_id AS "tenantId", session_id AS "sessionId", user_id AS "userId",
  home_tenant_id AS "homeTenantId", requirement, permission_mode AS "permissionMode",
  approval_policy AS "approvalPolicy", budget, status, phase, wait_kind AS "waitKind", recovering, reason,
  stop_reason AS "stopReason", error_code AS "errorCode", error_message AS "errorMessage",
  cancel_requested_at AS "cancelRequestedAt", cancel_requested_by AS "cancelRequestedBy", plan,
  plan_receipt AS "planReceipt", question, iteration, tool_calls AS "toolCalls", input_tokens AS "inputTokens",
  output_tokens AS "outputTokens", cached_tokens AS "cachedTokens", cost, context_used AS "contextUsed",
  context_limit AS "contextLimit", compaction, active_ms AS "activeMs", event_bytes AS "eventBytes",
  artifact_bytes AS "artifactBytes", lease_owner AS "leaseOwner", lease_boot AS "leaseBoot",
  lease_until AS "leaseUntil", fence, recovery_attempts AS "recoveryAttempts", due_at AS "dueAt", revision,
  next_event_sequence AS "nextEventSequence", idempotency_key AS "idempotencyKey",
  idempotency_hash AS "idempotencyHash", create_time AS "createTime", update_time AS "updateTime",
  ended_at AS "endedAt"`;

const LEASE_STATE = `CASE WHEN lease_owner IS NULL THEN 'NONE' WHEN lease_until > now() THEN 'HELD' ELSE 'EXPIRED' END
  AS "leaseState"`;

/** What the columns are called, for statements that change whichever a write names. */
const NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  [...RUN_COLUMNS.matchAll(/(\w+)(?: AS "(\w+)")?(?:,|$)/g)].map(([, column = '', name]) => [
    name ?? column,
    column,
  ]),
);
const JSON_COLUMNS: ReadonlySet<string> = new Set([
  'budget',
  'plan',
  'planReceipt',
  'question',
  'compaction',
]);

/** Times that a write says have come; which ones they are, the database's clock says, like all others. */
const STAMPS: ReadonlySet<string> = new Set(['cancelRequestedAt', 'endedAt']);

/** Milliseconds since the lease was taken or last renewed; 0 when it is over: when its owner was lost is not known. */
const UNCOUNTED_MS = `CASE WHEN lease_until > now()
  THEN greatest(0, round(extract(epoch FROM now() - lease_until) * 1000) + ${LEASE_SECONDS * 1_000}) ELSE 0 END`;

const APPEND = `WITH held AS (
    UPDATE harness_run SET next_event_sequence = next_event_sequence + $5
     WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 AND fence = $4 AND lease_until > now()
     RETURNING tenant_id, id, session_id, next_event_sequence - $5 AS first
  ) ${insertedEvents('held', '$6')} RETURNING sequence`;

/** The statements that change a run's row and number its events. */
@Injectable()
export class RunRowRepository {
  constructor(
    private readonly database: Database,
    private readonly mask: SecretMask,
  ) {}

  /**
   * A new run that waits for an owner, locked until the transaction ends. Undefined when the session has an unfinished run,
   * or one with the same key.
   */
  async insert(run: NewRun): Promise<LockedRun | undefined> {
    const [row] = await this.database.prepared<LockedRun>(
      `INSERT INTO harness_run
          (tenant_id, id, session_id, user_id, home_tenant_id, requirement, permission_mode, approval_policy, budget,
           phase, idempotency_key, idempotency_hash, status, reason)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12, 'QUEUED', 'created')
        ON CONFLICT DO NOTHING RETURNING ${RUN_COLUMNS}, ${LEASE_STATE}`,
      [
        run.tenantId,
        run.id,
        run.sessionId,
        run.userId,
        run.homeTenantId,
        storableText(run.requirement),
        run.permissionMode,
        run.approvalPolicy,
        JSON.stringify(run.budget),
        run.phase,
        run.idempotencyKey,
        run.idempotencyHash,
      ],
    );
    return row;
  }

  /** Locks the row until the transaction ends. Undefined when there is none. */
  async lock(tenantId: string, runId: string): Promise<LockedRun | undefined> {
    const [row] = await this.database.prepared<LockedRun>(
      `SELECT ${RUN_COLUMNS}, ${LEASE_STATE} FROM harness_run WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
      [tenantId, runId],
    );
    return row;
  }

  /** The same, unless it is locked. */
  async lockIfFree(tenantId: string, runId: string): Promise<LockedRun | undefined> {
    const [row] = await this.database.query<LockedRun>(
      `SELECT ${RUN_COLUMNS}, ${LEASE_STATE} FROM harness_run WHERE tenant_id = $1 AND id = $2
        FOR UPDATE SKIP LOCKED`,
      [tenantId, runId],
    );
    return row;
  }

  /** The row as it stands, while the lease holds it. */
  async held({ tenantId, runId, owner, fence }: RunLease): Promise<HarnessRun | undefined> {
    const [row] = await this.database.prepared<HarnessRun>(
      `SELECT ${RUN_COLUMNS} FROM harness_run
        WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 AND fence = $4 AND lease_until > now()`,
      [tenantId, runId, owner, fence],
    );
    return row;
  }

  /** Changes the locked row and stores its events, numbered from the one that is next. */
  async change(run: LockedRun, { patch, lease, drafts }: RowChange): Promise<void> {
    const values: unknown[] = [run.tenantId, run.id];
    const sets = Object.entries(patch).map(([name, value]) => {
      if (STAMPS.has(name) && value !== null) return `${NAMES[name] ?? name} = now()`;
      values.push(JSON_COLUMNS.has(name) && value !== null ? JSON.stringify(value) : value);
      return `${NAMES[name] ?? name} = $${values.length}`;
    });
    if (lease.type === 'drop' || lease.type === 'revoke') {
      sets.push('lease_owner = NULL', `active_ms = active_ms + ${UNCOUNTED_MS}`);
    }
    if (lease.type === 'drop') sets.push('lease_boot = NULL', 'lease_until = NULL');
    if (lease.type === 'take') {
      values.push(lease.owner, lease.boot);
      const [owner, boot] = [values.length - 1, values.length];
      sets.push(
        `lease_owner = $${owner}`,
        `lease_boot = $${boot}`,
        `lease_until = now() + interval '${LEASE_SECONDS} seconds'`,
      );
    }
    values.push(drafts.length);
    // The count is a value: each text is prepared and kept by each connection.
    const count = `$${values.length}::bigint`;
    sets.push(`next_event_sequence = next_event_sequence + ${count}`, 'update_time = now()');
    const update = `UPDATE harness_run SET ${sets.join(', ')} WHERE tenant_id = $1 AND id = $2`;
    if (drafts.length === 0) {
      await this.database.prepared(update, values);
      return;
    }
    values.push(this.wire(drafts));
    await this.database.prepared(
      `WITH changed AS (
         ${update} RETURNING tenant_id, id, session_id, next_event_sequence - ${count} AS first
       ) ${insertedEvents('changed', `$${values.length}`)}`,
      values,
    );
  }

  /** Numbers and stores events for the holder of the lease; the last number, or undefined when the lease is lost. */
  async append(lease: RunLease, drafts: readonly EventDraft[]): Promise<number | undefined> {
    const rows = await this.database.prepared<{ sequence: number }>(APPEND, [
      lease.tenantId,
      lease.runId,
      lease.owner,
      lease.fence,
      drafts.length,
      this.wire(drafts),
    ]);
    return rows.at(-1)?.sequence;
  }

  /** Renews the lease and adds the time since the last time; undefined when it is lost. */
  async renew(lease: RunLease): Promise<{ cancelRequested: boolean } | undefined> {
    const [row] = await this.database.prepared<{ cancelRequested: boolean }>(
      `UPDATE harness_run
          SET lease_until = now() + interval '${LEASE_SECONDS} seconds', active_ms = active_ms + ${UNCOUNTED_MS}
        WHERE tenant_id = $1 AND id = $2 AND lease_owner = $3 AND fence = $4 AND lease_until > now()
        RETURNING cancel_requested_at IS NOT NULL AS "cancelRequested"`,
      [lease.tenantId, lease.runId, lease.owner, lease.fence],
    );
    return row;
  }

  /** Whatever a model, a tool or a person has written: no event shows a secret of the service. */
  private wire(drafts: readonly EventDraft[]): string {
    const events = drafts.map(({ type, data, subject }) => ({
      type,
      data: this.mask.applyIn(data),
      ...subject,
    }));
    return storableJson(events);
  }
}

/** Stores the events of a list as JSON for the run's row that a statement before it answers. */
function insertedEvents(row: string, list: string): string {
  return `INSERT INTO harness_event
      (tenant_id, run_id, session_id, sequence, type, step_id, tool_call_id, approval_id, data, create_time)
    SELECT ${row}.tenant_id, ${row}.id, ${row}.session_id, ${row}.first + e.ordinality - 1, e.event ->> 'type',
           e.event ->> 'stepId', (e.event ->> 'toolCallId')::uuid, (e.event ->> 'approvalId')::uuid,
           e.event -> 'data', clock_timestamp()
      FROM ${row}, jsonb_array_elements(${list}::jsonb) WITH ORDINALITY AS e (event, ordinality)`;
}
