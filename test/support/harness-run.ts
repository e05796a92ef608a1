import { randomUUID } from 'node:crypto';
import { Database } from '../../src/platform/database/index.js';
import type { EventDraft } from '../../src/harness/store/event.catalogue.js';
import { RunLedger } from '../../src/harness/store/run.ledger.js';
import { newId } from '../../src/harness/protocol/values.js';
import type { RunBudget, RunClaim } from '../../src/harness/protocol/run.state.js';
import type { Plinth } from './plinth.js';
import type { Session } from './session.js';

const BUDGET: RunBudget = {
  maxIterations: 50,
  maxToolCalls: 200,
  maxInputTokens: 1_000_000,
  maxOutputTokens: 100_000,
  maxWallTimeMillis: 3_600_000,
};

/** A run that the test itself carries on, in the place of a worker: nobody else takes it up while its lease holds. */
export interface OwnRun {
  readonly sessionId: string;
  readonly runId: string;
  readonly lease: RunClaim;
  /** Its event stream. */
  readonly stream: string;
  readonly ledger: RunLedger;
}

/** Puts a session with a held run straight into the tables, for the user of the session. */
export async function ownRun(
  plinth: Plinth,
  by: Session,
  { leaseSeconds = 3_600 }: { readonly leaseSeconds?: number } = {},
): Promise<OwnRun> {
  const database = plinth.app.get(Database);
  const { data } = await by.get<{ user: { userId: number; tenantId: string } }>(
    '/system/user/getInfo',
  );
  const { userId, tenantId } = data.user;
  const [sessionId, runId, owner] = [newId(), newId(), randomUUID()];
  await database.query(
    `INSERT INTO harness_session
        (id, tenant_id, user_id, home_tenant_id, title, workspace, workspace_identity, model_name, permission_mode,
         approval_policy, idempotency_key, idempotency_hash)
     VALUES ($1, $2, $3, $2, 'Own', '/nowhere', '0:0', 'none', 'READ_ONLY', 'NEVER', $4, repeat('0', 64))`,
    [sessionId, tenantId, userId, sessionId],
  );
  await database.query(
    `INSERT INTO harness_run
        (id, tenant_id, session_id, user_id, home_tenant_id, requirement, model_name, permission_mode, approval_policy, budget,
         status, phase, lease_owner, lease_boot, lease_until, fence, idempotency_key, idempotency_hash)
     VALUES ($1, $2, $3, $4, $2, 'Own', 'none', 'READ_ONLY', 'NEVER', $8, 'RUNNING', 'BUILD', $5, 'test',
             now() + make_interval(secs => $6), 1, $7, repeat('0', 64))`,
    [runId, tenantId, sessionId, userId, owner, leaseSeconds, runId, JSON.stringify(BUDGET)],
  );
  return {
    sessionId,
    runId,
    lease: { tenantId, runId, owner, fence: 1 },
    stream: `/coding/harness/sessions/${sessionId}/runs/${runId}/events/stream`,
    ledger: plinth.app.get(RunLedger, { strict: false }),
  };
}

/** A piece of text of the model, as an event. */
export function delta(text: string): EventDraft {
  return { type: 'assistant.text.delta', data: { effectId: 'effect', delta: text } };
}

/** So many events at once, each with a text of its own. */
export function deltas(count: number, text: (number: number) => string): EventDraft[] {
  return Array.from({ length: count }, (_, number) => delta(text(number)));
}

/** Ends the run as its owner does. */
export async function complete({ ledger, lease }: OwnRun): Promise<void> {
  await ledger.asOwner(lease, (writer) =>
    writer.end({ status: 'COMPLETED', stopReason: 'END_TURN' }),
  );
}

/** The numbers from 1 to the last one. */
export function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
