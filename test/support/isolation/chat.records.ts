import { randomUUID } from 'node:crypto';
import { contentFrame } from '../../../src/chat/chat.frames.js';
import { Database } from '../../../src/platform/database/index.js';
import { done } from '../people.js';
import { chatSession, fresh } from './records.js';
import type { RecordKind } from './records.js';
import type { Member, World } from './world.js';

const NO_UUID = '00000000-0000-4000-8000-000000000000';
const HASH = 'a'.repeat(64);

interface Calls {
  /** Waits for a decision. */
  readonly waiting: string;
  /** Its outcome is unknown. */
  readonly uncertain: string;
}

const made = new Map<string, Calls>();

/** The calls of a turn that was made here; ids that name nothing for another one. */
export function callsOf(turnId: string): Calls {
  return made.get(turnId) ?? { waiting: NO_UUID, uncertain: NO_UUID };
}

/** A turn of the user whose answer waits, as rows: no model is asked. */
async function makeTurn(by: Member, world: World): Promise<string> {
  const sessionId = await chatSession.make(by, world);
  interface Own {
    readonly user: { readonly userId: number; readonly tenantId: string };
  }
  const { userId, tenantId } = done(await by.session.get<Own>('/system/user/getInfo')).data.user;
  const turnId = randomUUID();
  const calls = { waiting: randomUUID(), uncertain: randomUUID() };
  const database = world.plinth.app.get(Database);
  const text = fresh('What is asked ');
  await database.transaction(async () => {
    const [question] = await database.query<{ id: number }>(
      `INSERT INTO chat_message (tenant_id, user_id, session_id, turn_id, role, content)
       VALUES ($1, $2, $3, $4, 'user', $5) RETURNING id`,
      [tenantId, userId, sessionId, turnId, text],
    );
    const [answer] = await database.query<{ id: number }>(
      `INSERT INTO chat_message (tenant_id, user_id, session_id, turn_id, role, content, state, parent_id, request)
       VALUES ($1, $2, $3, $4, 'assistant', '', 'waiting', $5, '{}') RETURNING id`,
      [tenantId, userId, sessionId, turnId, question?.id],
    );
    await database.query(
      'UPDATE chat_session SET leaf_id = $3 WHERE tenant_id = $1 AND id = $2 RETURNING id',
      [tenantId, sessionId, answer?.id],
    );
    await database.query(
      `INSERT INTO harness_effect (tenant_id, turn_id, message_id, user_id, tool_call_id, iteration, ordinal, provider_call_id,
         tool_name, effect_class, arguments_json, arguments_sha256, input, state)
       SELECT $1, $2, $3::bigint, $4::bigint, call.id, 1, call.place, 'call', 'order', 'TOOL', $5, '${HASH}', '{}', call.state
         FROM (VALUES ($6::uuid, 1, 'PREPARED'), ($7::uuid, 2, 'UNCERTAIN')) AS call (id, place, state)`,
      [tenantId, turnId, question?.id, userId, text, calls.waiting, calls.uncertain],
    );
    await database.query(
      `INSERT INTO harness_approval (tenant_id, turn_id, message_id, user_id, id, tool_call_id, tool_name, summary,
         arguments_json, arguments_sha256, subject_hash, grantable, state, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, 'order', 'call order', $7, '${HASH}', '${HASH}', true, 'PENDING', now() + interval '1 day')`,
      [tenantId, turnId, question?.id, userId, randomUUID(), calls.waiting, text],
    );
    // Sent with detach, with the last frame that is stored.
    await database.query(
      `INSERT INTO stream_frame (tenant_id, user_id, stream_id, sequence, frame, message_id)
       VALUES ($1, $2, $3, 0, $4, $5), ($1, $2, $3, 1, '', $5)`,
      [tenantId, userId, turnId, `id: 0\n${contentFrame(text)}`, question?.id],
    );
  });
  made.set(turnId, calls);
  return turnId;
}

/** Only of its user: super administrators do not read chats either. */
export const waitingTurn: RecordKind = { owner: 'user', missing: NO_UUID, make: makeTurn };

export const uncertainCall: RecordKind = {
  owner: 'user',
  missing: NO_UUID,
  make: async (by, world) => callsOf(await makeTurn(by, world)).uncertain,
};

/** The turn of a call that was made here. */
export function turnOf(callId: string): string {
  for (const [turnId, calls] of made) if (calls.uncertain === callId) return turnId;
  return NO_UUID;
}

export const decisionAbout = (turnId: string): object => ({
  decisions: [
    { callId: callsOf(turnId).waiting, decision: 'deny', argumentsSha256: HASH, reason: 'No' },
  ],
});
