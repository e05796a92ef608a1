import { randomUUID } from 'node:crypto';
import { Database } from '../../../src/platform/database/index.js';
import { done } from '../people.js';
import type { Plinth } from '../plinth.js';
import type { Session } from '../session.js';
import { fresh } from './records.js';
import type { RecordKind } from './records.js';
import { COMMON_MODEL } from './world.js';

/** A session with one of everything that it can hold, by the names that paths give their ids. */
export interface HarnessParts {
  readonly sessionId: string;
  readonly runId: string;
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly grantId: string;
  readonly artifactId: string;
}

export const NO_UUID = '00000000-0000-7000-8000-000000000000';

const made = new Map<string, HarnessParts>();

/** What is in a session that was made here; ids that name nothing for another one. */
export function partsOf(sessionId: string): HarnessParts {
  const nothing = { runId: NO_UUID, approvalId: NO_UUID, toolCallId: NO_UUID };
  return made.get(sessionId) ?? { sessionId, ...nothing, grantId: NO_UUID, artifactId: NO_UUID };
}

const HASH = 'a'.repeat(64);
const DAY_MS = 86_400_000;

/**
 * Makes a session of the user with a run that waits for consent to a tool call, as rows: no model is asked and no
 * workspace is there, so that nobody takes the run up while a test looks at what changes.
 */
export async function recordSession(
  plinth: Plinth,
  session: Session,
  text: string,
): Promise<HarnessParts> {
  interface Own {
    readonly user: { readonly userId: number; readonly tenantId: string };
  }
  const { userId, tenantId } = done(await session.get<Own>('/system/user/getInfo')).data.user;
  const [sessionId, runId, approvalId, toolCallId, grantId, artifactId] = [...Array(6).keys()].map(
    () => randomUUID(),
  ) as [string, string, string, string, string, string];
  const parts = { sessionId, runId, approvalId, toolCallId, grantId, artifactId };
  const database = plinth.app.get(Database);
  await database.transaction(async () => {
    await insertRun(database, parts, { tenantId, userId, text });
    await insertParts(database, parts, { tenantId, userId, text });
  });
  made.set(sessionId, parts);
  return parts;
}

interface Whose {
  readonly tenantId: string;
  readonly userId: number;
  readonly text: string;
}

async function insert(
  database: Database,
  table: string,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  const places = Object.keys(values).map((_, index) => `$${index + 1}`);
  await database.query(
    `INSERT INTO ${table} (${Object.keys(values).join(', ')}) VALUES (${places.join(', ')})`,
    Object.values(values),
  );
}

async function insertRun(
  database: Database,
  { sessionId, runId }: HarnessParts,
  { tenantId, userId, text }: Whose,
): Promise<void> {
  const owner = { tenant_id: tenantId, user_id: userId, home_tenant_id: tenantId };
  const policy = { permission_mode: 'WORKSPACE_WRITE', approval_policy: 'ON_REQUEST' };
  await insert(database, 'harness_session', {
    ...{ id: sessionId, ...owner, ...policy, title: text, model_name: COMMON_MODEL },
    ...{ workspace: `/srv/${text}`, workspace_identity: '1:1', next_message_sequence: 2 },
    ...{ idempotency_key: sessionId, idempotency_hash: HASH },
  });
  await insert(database, 'harness_run', {
    ...{ id: runId, session_id: sessionId, ...owner, ...policy, requirement: text, budget: '{}' },
    ...{ status: 'WAITING_FOR_APPROVAL', phase: 'BUILD', wait_kind: 'TOOL' },
    ...{ next_event_sequence: 2, idempotency_key: runId, idempotency_hash: HASH },
  });
  const place = { tenant_id: tenantId, session_id: sessionId, run_id: runId, sequence: 1 };
  const data = JSON.stringify({ requirement: text });
  const [numbers] = await database.query<{ next: number }>(
    `INSERT INTO harness_stream (tenant_id, user_id, next_sequence) VALUES ($1, $2, 2)
         ON CONFLICT (tenant_id, user_id) DO UPDATE SET next_sequence = harness_stream.next_sequence + 1
     RETURNING next_sequence AS next`,
    [tenantId, userId],
  );
  const ofUser = { user_id: userId, user_sequence: (numbers?.next ?? 2) - 1 };
  await insert(database, 'harness_event', { ...place, ...ofUser, type: 'run.created', data });
  const message = { id: randomUUID(), role: 'USER', content: text };
  await insert(database, 'harness_message', { ...place, ...message });
}

async function insertParts(
  database: Database,
  parts: HarnessParts,
  { tenantId, userId, text }: Whose,
): Promise<void> {
  const { sessionId, runId, approvalId, toolCallId, grantId, artifactId } = parts;
  const run = { tenant_id: tenantId, run_id: runId, tool_call_id: toolCallId };
  const call = { tool_name: 'shell', arguments_json: text, arguments_sha256: HASH };
  await insert(database, 'harness_effect', {
    ...{ ...run, ...call, session_id: sessionId, iteration: 1, ordinal: 0, input: '{}' },
    ...{ provider_call_id: 'call', effect_class: 'SHELL', state: 'PREPARED' },
  });
  await insert(database, 'harness_approval', {
    ...{ ...run, ...call, id: approvalId, session_id: sessionId, user_id: userId },
    ...{ summary: text, subject_hash: HASH, grantable: true, state: 'PENDING' },
    expires_at: new Date(Date.now() + DAY_MS),
  });
  await insert(database, 'harness_grant', {
    ...{ id: grantId, tenant_id: tenantId, session_id: sessionId, kind: 'COMMAND' },
    ...{ subject: text, subject_hash: HASH, approval_id: approvalId, granted_by: userId },
  });
  await insert(database, 'harness_artifact', {
    ...{ ...run, id: artifactId, kind: 'output', media_type: 'text/plain' },
    ...{ byte_size: 1, sha256: HASH },
  });
}

/** Nobody but its user, and super administrators who act in the tenant. */
function kindOf(part: keyof HarnessParts): RecordKind {
  return {
    owner: 'user',
    supervised: true,
    missing: NO_UUID,
    make: async ({ session }, { plinth }) =>
      (await recordSession(plinth, session, fresh('To do ')))[part],
  };
}

export const harnessSession = kindOf('sessionId');
export const harnessRun = kindOf('runId');
export const harnessApproval = kindOf('approvalId');
export const harnessEffect = kindOf('toolCallId');
export const harnessGrant = kindOf('grantId');
export const harnessArtifact = kindOf('artifactId');
