import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import type { Caller } from '../../../src/platform/access/index.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { processId } from '../../../src/platform/lease/index.js';
import { TurnRepository } from '../../../src/chat/turn.repository.js';
import type { TurnAnswer } from '../../../src/chat/turn.repository.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const TENANT = '000000';
const SLOW = 'sim--chunks-5000--delay-50';

interface Message {
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly error: string | null;
  readonly totalTokens: number;
}

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let caller: Caller;
let turns: TurnRepository;
let database: Database;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  turns = plinth.app.get(TurnRepository);
  database = plinth.app.get(Database);
  await createProvider(admin, 'custom_api');
  for (const modelName of ['plain', 'sim--echo', SLOW]) {
    await createModel(admin, { modelName, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
  }
  const info = await admin.get<{ user: { userId: number } }>('/system/user/getInfo');
  caller = { tenantId: TENANT, userId: info.data.user.userId } as Caller;
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(() => simulator.reset());

async function newSession(): Promise<number> {
  return Number((await admin.post<string>('/system/session', {})).data);
}

async function messages(sessionId?: number): Promise<Message[]> {
  const query =
    sessionId === undefined
      ? '?orderByColumn=id&isAsc=desc&pageNum=1&pageSize=2'
      : `?sessionId=${sessionId}`;
  const { rows } = await admin.get<{ id: string }[]>(`/system/message/list${query}`);
  // As they are stored: lists may add how an answer ended.
  const details = rows.map(({ id }) => admin.get<Message>(`/system/message/${id}`));
  return (await Promise.all(details)).map(({ data }) => data);
}

/** A turn as a process begins it. */
async function begin(sessionId?: number): Promise<{ turnId: string; questionId: number }> {
  const turnId = randomUUID();
  const begun = await inTenant(TENANT, () =>
    turns.begin(caller, {
      turnId,
      sessionId,
      content: 'question',
      modelName: 'plain',
      idempotencyKey: undefined,
      requestHash: undefined,
    }),
  );
  if (begun === undefined) throw new Error('The session is not free.');
  return { turnId, questionId: begun.id };
}

async function saveText(questionId: number, content: string): Promise<void> {
  const text = { tenantId: TENANT, questionId, content, reasoning: '', modelName: 'plain' };
  await turns.saveTexts([text]);
}

function finish(answer: Pick<TurnAnswer, 'turnId' | 'questionId' | 'content' | 'sessionId'>) {
  return inTenant(TENANT, () =>
    turns.finish(caller, {
      ...answer,
      reasoning: '',
      modelName: 'plain',
      state: 'complete',
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2, estimated: false },
      durationMs: 5,
    }),
  );
}

/** The leases of the turns that run now, as if their processes had died half a minute ago. */
async function expireLeases(): Promise<void> {
  await database.query(
    `UPDATE chat_session SET turn_lease = now() - interval '1 second' WHERE turn_id IS NOT NULL`,
  );
  await database.query(`UPDATE chat_turn_lease SET lease = now() - interval '1 second'`);
}

/** Gives the running turns to a process of this host that has ended; their leases still hold. */
async function endProcess(): Promise<void> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const [namespace = ''] = processId.split(':');
  const ended = `${namespace}:${String(child.pid)}:1`;
  await database.query(
    `UPDATE chat_session SET turn_process = $1, turn_lease = now() + interval '1 hour' WHERE turn_id IS NOT NULL`,
    [ended],
  );
  await database.query(
    `UPDATE chat_turn_lease SET process = $1, lease = now() + interval '1 hour'`,
    [ended],
  );
}

describe.each([
  ['in a session', newSession],
  ['without a session', async () => undefined],
])('a turn %s whose process died', (_, session) => {
  it('ends in a row with its text so far and how it ended', async () => {
    const sessionId = await session();
    const { questionId } = await begin(sessionId);
    await saveText(questionId, 'Half an');
    await saveText(questionId, 'Half an answer');
    await expireLeases();
    await turns.sweep(false);

    const rows = await messages(sessionId);
    expect(rows.find(({ role }) => role === 'assistant')).toMatchObject({
      content: 'Half an answer',
      state: 'failed',
      error: 'The service stopped while this answer was being written. Send the message again.',
    });
    expect(rows).toHaveLength(2);
    expect(await turns.sweep(true)).toBe(0);
  });

  it('is ended at once where the process is known to have ended, and not while it runs', async () => {
    const sessionId = await session();
    await begin(sessionId);
    expect(await turns.sweep(false)).toBe(0);
    await endProcess();
    expect(await turns.sweep(false)).toBe(1);
    expect(await turns.sweep(true)).toBe(0);
  });

  it('ends in a row although it had no text yet', async () => {
    const sessionId = await session();
    await begin(sessionId);
    await expireLeases();
    await turns.sweep(false);

    const answer = (await messages(sessionId)).find(({ role }) => role === 'assistant');
    expect(answer).toMatchObject({ content: '', state: 'failed' });
  });

  it('has the answer that its process stores after all, once', async () => {
    const sessionId = await session();
    const { turnId, questionId } = await begin(sessionId);
    await saveText(questionId, 'Half');
    await expireLeases();
    await turns.sweep(false);
    const answer = { turnId, questionId, ...(sessionId !== undefined && { sessionId }) };
    await finish({ ...answer, content: 'The whole answer' });
    await finish({ ...answer, content: 'The whole answer, again' });
    // A text that was on its way while the turn ended.
    await saveText(questionId, 'Half');

    const rows = await messages(sessionId);
    expect(rows).toHaveLength(2);
    expect(rows.find(({ role }) => role === 'assistant')).toMatchObject({
      content: 'The whole answer',
      state: 'complete',
      error: null,
    });
  });

  it('is not swept while its lease is renewed, and shows no answer before its end', async () => {
    const sessionId = await session();
    const before = (await admin.get('/system/message/list')).total;
    const body = { model: SLOW, content: 'x', ...(sessionId !== undefined && { sessionId }) };
    const chat = await OpenChat.send(admin, body);
    await chat.until('tok1');
    const texts = await eventually(
      () =>
        database.query<{ id: number; content: string }>(
          `SELECT id, content FROM chat_message WHERE tenant_id = $1 AND state = 'writing'`,
          [TENANT],
        ),
      (rows) => rows.length === 1,
    );
    const id = texts[0]?.id ?? 0;
    expect(await turns.sweep(false)).toBe(0);
    const shown = await admin.get(`/system/message/list`);
    const hidden = await admin.get(`/system/message/${id}`);
    const kept = await admin.delete(`/system/message/${id}`);
    chat.leave();

    expect(texts[0]?.content).toMatch(/^tok0 /);
    expect(shown.total).toBe(before + 1);
    expect([hidden.code, kept.code]).toEqual([404, 404]);
    const stored = await eventually(
      () => admin.get<Message>(`/system/message/${id}`),
      ({ code }) => code === 200,
    );
    expect(stored.data).toMatchObject({ state: 'stopped' });
    expect(stored.data.content.startsWith(texts[0]?.content ?? '?')).toBe(true);
  });
});

describe('the next message', () => {
  it('stores first how the turn before ended, when that died with its process', async () => {
    const sessionId = await newSession();
    const { questionId } = await begin(sessionId);
    await saveText(questionId, 'Half an answer');
    await expireLeases();
    const next = await sendChat(admin, { model: 'sim--echo', content: 'next', sessionId });

    expect(next.text).toBe('next');
    expect(await messages(sessionId)).toMatchObject([
      { role: 'user', content: 'question' },
      { role: 'assistant', content: 'Half an answer', state: 'failed' },
      { role: 'user', content: 'next' },
      { role: 'assistant', content: 'next', state: 'complete' },
    ]);
  });
});

describe('an answer that a column could not hold', () => {
  it('is stored as it was streamed, without the NUL character', async () => {
    simulator.script({ text: 'a\0b' });
    const sessionId = await newSession();
    const reply = await sendChat(admin, { model: 'plain', content: 'x', sessionId });

    expect([reply.text, reply.done]).toEqual(['ab', true]);
    expect((await messages(sessionId))[1]).toMatchObject({ content: 'ab', state: 'complete' });
  });
});
