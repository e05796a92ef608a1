import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { TurnRepository } from '../../../src/chat/turn.repository.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { messagesAsked, OpenChat, sendChat } from '../../support/chat.js';
import type { ChatReply } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';

const ECHO = 'sim--echo';
const SLOW = 'sim--chunks-500--delay-10';
const TENANT = '000000';

interface Message {
  readonly id: string;
  readonly parentId: string | null;
  readonly siblings: string[];
  readonly role: string;
  readonly content: string;
  readonly state: string;
}

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let database: Database;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  database = plinth.app.get(Database);
  await createProvider(admin, 'custom_api');
  for (const modelName of [ECHO, SLOW]) {
    await createModel(admin, { modelName, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
  }
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(() => simulator.reset());

async function newSession(): Promise<string> {
  return done(await admin.post<string>('/system/session', {})).data;
}

async function send(body: object, headers: Record<string, string> = {}): Promise<ChatReply> {
  return sendChat(admin, { model: ECHO, ...body }, headers);
}

async function ask(sessionId: string, content: string, more: object = {}): Promise<void> {
  const reply = await send({ sessionId, content, ...more });
  expect([reply.error, reply.done]).toEqual([undefined, true]);
}

async function regenerate(sessionId: string, id: string | undefined): Promise<void> {
  const reply = await send({ sessionId, regenerate: id });
  expect([reply.error, reply.done]).toEqual([undefined, true]);
}

async function messages(sessionId: string, query = ''): Promise<Message[]> {
  const list = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}${query}`);
  return done(list).rows;
}

async function texts(sessionId: string, query = ''): Promise<string[]> {
  return (await messages(sessionId, query)).map(({ role, content }) => `${role} ${content}`);
}

function choose(sessionId: string, messageId: string | undefined): Promise<Answer<null>> {
  return admin.post('/system/session/branch', { sessionId, messageId });
}

/** As the session itself and the list of sessions say it. */
async function isAnswering(sessionId: string): Promise<(boolean | undefined)[]> {
  const { data } = await admin.get<{ answering: boolean }>(`/system/session/${sessionId}`);
  const { rows } = await admin.get<{ id: string; answering: boolean }[]>('/system/session/list');
  return [data.answering, rows.find(({ id }) => id === sessionId)?.answering];
}

/** What the model was asked in the last call. */
function asked(): string[] {
  return messagesAsked(simulator).map(({ content }) => content);
}

describe('a session without branches', () => {
  it('lists what it did, with parents and without other messages beside them', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'one');
    await ask(sessionId, 'two');
    const note = { sessionId, role: 'user', content: 'a note' };
    const noteId = done(await admin.post<string>('/system/message', note)).data;
    await ask(sessionId, 'three');

    const rows = await messages(sessionId);
    const said = ['one', 'one', 'two', 'two', 'a note', 'three', 'three'];
    expect(rows.map(({ content }) => content)).toEqual(said);
    expect(rows.map(({ parentId }) => parentId)).toEqual([
      null,
      ...rows.slice(0, -1).map(({ id }) => id),
    ]);
    expect(rows.map(({ siblings }) => siblings)).toEqual(rows.map(({ id }) => [id]));
    expect(rows[4]?.id).toBe(noteId);
    expect(await messages(sessionId, '&all=true')).toEqual(rows);
    const page = await messages(sessionId, '&pageNum=2&pageSize=2');
    expect(page).toEqual(rows.slice(2, 4));
    const { data } = await admin.get<Message>(`/system/message/${rows[1]?.id}`);
    expect(data).toMatchObject({ parentId: rows[0]?.id, siblings: [rows[1]?.id] });
  });

  it('gives the parent of an answer outside of a session', async () => {
    await send({ content: 'alone' });
    const { rows } = await admin.get<Message[]>('/system/message/list?pageNum=1&pageSize=2');
    const [answer, question] = rows;
    expect(answer).toMatchObject({ role: 'assistant', parentId: question?.id });
    expect(question).toMatchObject({ role: 'user', parentId: null, siblings: [question?.id] });
  });
});

describe('regenerate', () => {
  it.each(['answer', 'question'])(
    'answers beside an earlier answer, by the id of the %s',
    async (by) => {
      const sessionId = await newSession();
      await ask(sessionId, 'first');
      await ask(sessionId, 'second');
      const [, , question, answer] = await messages(sessionId);

      await regenerate(sessionId, by === 'answer' ? answer?.id : question?.id);
      expect(asked()).toEqual(['first', 'first', 'second']);
      const rows = await messages(sessionId);
      expect(rows.map(({ content }) => content)).toEqual(['first', 'first', 'second', 'second']);
      const newer = rows[3];
      expect(newer?.id).not.toBe(answer?.id);
      expect(newer).toMatchObject({
        parentId: question?.id,
        siblings: [answer?.id, newer?.id],
        state: 'complete',
      });
      expect(rows[2]?.siblings).toEqual([question?.id]);
      expect((await messages(sessionId, '&all=true')).length).toBe(5);
    },
  );

  it('continues from the new answer, and from the old one when that branch is chosen', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    const [, old] = await messages(sessionId);
    await admin.put('/system/message', { id: old?.id, content: 'the old answer' });
    await regenerate(sessionId, old?.id);
    await ask(sessionId, 'on the new one');
    expect(asked()).toEqual(['first', 'first', 'on the new one']);

    done(await choose(sessionId, old?.id));
    expect(await texts(sessionId)).toEqual(['user first', 'assistant the old answer']);
    await ask(sessionId, 'on the old one');
    expect(asked()).toEqual(['first', 'the old answer', 'on the old one']);
    expect(await texts(sessionId)).toEqual([
      'user first',
      'assistant the old answer',
      'user on the old one',
      'assistant on the old one',
    ]);
    const [first] = await messages(sessionId);
    done(await choose(sessionId, first?.id));
    expect((await texts(sessionId)).at(-1)).toBe('assistant on the old one');
    expect(await texts(sessionId, '&role=assistant')).toEqual([
      'assistant the old answer',
      'assistant on the old one',
    ]);
  });

  it('repeats the stored answer for a repeated key, and refuses the key for another message', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    const [question] = await messages(sessionId);
    const key = { 'idempotency-key': `again-${sessionId}` };
    const body = { sessionId, regenerate: question?.id };
    const calls = (): number => simulator.requests.length;
    expect((await send(body, key)).text).toBe('first');
    const before = calls();
    const repeated = await send(body, key);
    expect([repeated.text, repeated.done, calls()]).toEqual(['first', true, before]);
    expect((await messages(sessionId, '&all=true')).length).toBe(3);
    const other = await send({ sessionId, content: 'else' }, key);
    expect(other.error).toMatch(/used with another message/);
  });

  it('stores the text so far when it is stopped, and is not listed before', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    const [question, old] = await messages(sessionId);
    const chat = await OpenChat.send(admin, {
      model: SLOW,
      sessionId,
      regenerate: old?.id,
    });
    await chat.until('tok3');
    expect(await texts(sessionId)).toEqual(['user first']);
    expect((await messages(sessionId, '&all=true')).map(({ id }) => id)).toEqual([
      question?.id,
      old?.id,
    ]);
    expect((await choose(sessionId, old?.id)).code).toBe(409);
    expect(await isAnswering(sessionId)).toEqual([true, true]);
    done(await admin.post(`/chat/stop/${sessionId}`));
    await chat.rest();
    expect(await isAnswering(sessionId)).toEqual([false, false]);
    const newer = (await messages(sessionId))[1];
    expect(newer).toMatchObject({ state: 'stopped', siblings: [old?.id, newer?.id] });
    expect(newer?.content).toContain('tok3');
  });

  it('ends as an interrupted answer in its branch when its process dies', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    const [question, old] = await messages(sessionId);
    await regenerate(sessionId, old?.id);
    // A turn as a process begins it that dies afterwards.
    const turns = plinth.app.get(TurnRepository);
    const info = await admin.get<{ user: { userId: number } }>('/system/user/getInfo');
    const caller = { tenantId: TENANT, userId: info.data.user.userId };
    const begun = await inTenant(TENANT, () =>
      turns.begin(caller as never, {
        turnId: crypto.randomUUID(),
        sessionId: Number(sessionId),
        content: 'first',
        modelName: ECHO,
        idempotencyKey: undefined,
        requestHash: undefined,
        place: { kind: 'answer', questionId: Number(question?.id), parentId: null },
      }),
    );
    expect(begun?.before).toBeNull();
    expect(await turns.sweep(true)).toBe(1);
    const rows = await messages(sessionId);
    expect(rows.map(({ state }) => state)).toEqual(['complete', 'failed']);
    expect(rows[1]).toMatchObject({ id: String(begun?.id), parentId: question?.id });
    expect(rows[1]?.siblings.length).toBe(3);
    await ask(sessionId, 'after that');
    expect((await messages(sessionId))[2]?.parentId).toBe(rows[1]?.id);
  });
});

describe('another question', () => {
  it('takes the place of an earlier one, also of the first', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    await ask(sessionId, 'second');
    const [first, , second] = await messages(sessionId);
    await ask(sessionId, 'second, but better', { editOf: second?.id });
    expect(asked()).toEqual(['first', 'first', 'second, but better']);
    const edited = await messages(sessionId);
    expect(edited[2]?.siblings).toEqual([second?.id, edited[2]?.id]);

    await ask(sessionId, 'another first', { editOf: first?.id });
    expect(asked()).toEqual(['another first']);
    const rows = await messages(sessionId);
    expect(rows.map(({ content }) => content)).toEqual(['another first', 'another first']);
    expect(rows[0]).toMatchObject({ parentId: null, siblings: [first?.id, rows[0]?.id] });
    done(await choose(sessionId, first?.id));
    expect((await texts(sessionId)).at(-1)).toBe('assistant second, but better');
  });

  it('can follow any message', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    await ask(sessionId, 'second');
    const [, answer] = await messages(sessionId);
    await ask(sessionId, 'instead', { parentId: answer?.id });
    expect(asked()).toEqual(['first', 'first', 'instead']);
    expect((await texts(sessionId)).slice(2)).toEqual(['user instead', 'assistant instead']);
  });

  it('keeps the history bounded', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'q0');
    const [first] = await messages(sessionId);
    await regenerate(sessionId, first?.id);
    const values = [TENANT, Number(sessionId)];
    await database.query(
      `WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 60)
       INSERT INTO chat_message (tenant_id, user_id, session_id, role, content, parent_id)
       SELECT session.tenant_id, session.user_id, session.id,
         CASE WHEN n % 2 = 1 THEN 'user' ELSE 'assistant' END, 'text ' || n, NULL
       FROM numbers, chat_session session WHERE session.tenant_id = $1 AND session.id = $2 ORDER BY n`,
      values,
    );
    await database.query(
      `UPDATE chat_message message SET parent_id = linked.before
       FROM (SELECT id, lag(id) OVER (ORDER BY id) AS before FROM chat_message
             WHERE tenant_id = $1 AND session_id = $2) linked
       WHERE message.tenant_id = $1 AND message.id = linked.id AND message.content LIKE 'text %'`,
      values,
    );
    const rows = await messages(sessionId, '&all=true');
    done(await choose(sessionId, rows.at(-1)?.id));
    await ask(sessionId, 'last');
    const sent = asked();
    const limit = 20;
    expect(sent.length).toBeLessThanOrEqual(limit + 1);
    expect(sent.slice(-3)).toEqual(['text 59', 'text 60', 'last']);
  });
});

describe('what cannot be a branch', () => {
  let sessionId: string;
  let rows: Message[];

  beforeAll(async () => {
    sessionId = await newSession();
    await ask(sessionId, 'first');
    done(await admin.post('/system/message', { sessionId, role: 'system', content: 'rule' }));
    rows = await messages(sessionId);
  });

  it('is refused with what to send instead', async () => {
    const [question, answer, system] = rows.map(({ id }) => id);
    const cases: [object, RegExp][] = [
      [{ regenerate: answer, content: 'x', sessionId }, /takes no content/],
      [{ regenerate: answer }, /sessionId is required/],
      [{ editOf: question, content: 'x' }, /sessionId is required/],
      [{ regenerate: system, sessionId }, /id of a question or of its answer/],
      [{ editOf: answer, content: 'x', sessionId }, /editOf must be the id of a question/],
      [{ editOf: question, parentId: answer, content: 'x', sessionId }, /only one of/],
      [{ editOf: question, sessionId }, /content is required/],
      [{ regenerate: answer, sessionId: await newSession() }, /message was not found/],
      [{ parentId: 987_654, content: 'x', sessionId }, /message was not found/],
      [{ sessionId }, /content is required/],
    ];
    for (const [body, error] of cases) {
      const reply = await send(body);
      expect([body, reply.error, reply.done]).toEqual([body, expect.stringMatching(error), false]);
    }
    expect((await messages(sessionId)).map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect((await choose(sessionId, '987654')).code).toBe(404);
    expect((await choose('987654', question)).code).toBe(404);
  });

  it('begins while another answer is written', async () => {
    const chat = await OpenChat.send(admin, { model: SLOW, content: 'slow', sessionId });
    await chat.until('tok3');
    const reply = await send({ sessionId, regenerate: rows[1]?.id });
    expect(reply.error).toMatch(/still being written/);
    done(await admin.post(`/chat/stop/${sessionId}`));
    await chat.rest();
  });
});

describe('a deleted message', () => {
  it('leaves its children to its parent', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    await ask(sessionId, 'second');
    const [first, answer, second] = await messages(sessionId);
    await regenerate(sessionId, answer?.id);
    done(await choose(sessionId, second?.id));
    done(await admin.delete(`/system/message/${answer?.id},${first?.id}`));
    const rows = await messages(sessionId);
    expect(rows.map(({ content, parentId }) => [content, parentId])).toEqual([
      ['second', null],
      ['second', second?.id],
    ]);
    await ask(sessionId, 'third');
    expect(asked()).toEqual(['second', 'second', 'third']);
  });

  it('at the end of the branch leaves the newest one through what is before it', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    const [, old] = await messages(sessionId);
    await regenerate(sessionId, old?.id);
    const newer = (await messages(sessionId))[1];
    done(await admin.delete(`/system/message/${newer?.id}`));
    expect((await messages(sessionId)).map(({ id }) => id).at(-1)).toBe(old?.id);
    done(await admin.delete(`/system/message/${old?.id}`));
    expect(await texts(sessionId)).toEqual(['user first']);
    const [question] = await messages(sessionId);
    done(await admin.delete(`/system/message/${question?.id}`));
    expect(await messages(sessionId)).toEqual([]);
    await ask(sessionId, 'anew');
    expect((await messages(sessionId)).map(({ parentId }) => parentId === null)).toEqual([
      true,
      false,
    ]);
  });

  it('may be the question that is being answered', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    const chat = await OpenChat.send(admin, { model: SLOW, content: 'slow', sessionId });
    await chat.until('tok3');
    const [, answer, question] = await messages(sessionId);
    done(await admin.delete(`/system/message/${question?.id}`));
    done(await admin.post(`/chat/stop/${sessionId}`));
    await chat.rest();
    const rows = await messages(sessionId);
    expect(rows.length).toBe(3);
    expect(rows[2]).toMatchObject({ role: 'assistant', parentId: answer?.id });
  });
});

describe('messages without a parent', () => {
  it('are linked when the first branch begins', async () => {
    const sessionId = await newSession();
    await ask(sessionId, 'first');
    await ask(sessionId, 'second');
    const values = [TENANT, Number(sessionId)];
    await database.query(
      'UPDATE chat_message SET parent_id = NULL WHERE tenant_id = $1 AND session_id = $2',
      values,
    );
    await database.query(
      'UPDATE chat_session SET leaf_id = NULL WHERE tenant_id = $1 AND id = $2',
      values,
    );
    await ask(sessionId, 'third');
    expect(asked()).toEqual(['first', 'first', 'second', 'second', 'third']);
    const rows = await messages(sessionId);
    expect(rows.length).toBe(6);
    await regenerate(sessionId, rows[5]?.id);
    expect(asked()).toEqual(['first', 'first', 'second', 'second', 'third']);
    expect((await texts(sessionId)).length).toBe(6);
  });
});
