import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { OpenStreams } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { StreamRetention } from '../../../src/platform/stream/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { seededRandom } from '../../support/seeded-random.js';
import { createServerDatabase } from '../../support/server-database.js';
import type { ServerDatabase } from '../../support/server-database.js';
import type { Session } from '../../support/session.js';
import { TurnReader } from '../../support/turn-reader.js';
import { eventually } from '../../support/wait.js';

const MODEL = 'sim--chunks-300--delay-10';
const SLOW = 'sim--chunks-5000--delay-50';
const CUTS = 50;

interface Message {
  readonly id: string;
  readonly role: string;
  readonly turnId: string;
  readonly content: string;
  readonly state: string;
  readonly finishReason: string | null;
}

interface ChatSession {
  readonly answering: boolean;
  readonly turnId: string | null;
}

const server = process.env['DATABASE_URL'];
const redis = process.env['REDIS_URL'];

let simulator: Simulator;
let plinth: Plinth;
/** Another process on the same database; the same one on the embedded store. */
let other: Plinth;
let database: ServerDatabase | undefined;
let admin: Session;
let elsewhere: Session;

beforeAll(async () => {
  simulator = await startSimulator();
  if (server !== undefined && redis !== undefined) {
    database = await createServerDatabase(server);
    const shared = {
      DATABASE_URL: database.url,
      REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}`,
    };
    plinth = await Plinth.start(shared);
    other = await Plinth.start({ ...shared, DATA_DIR: plinth.dataDir });
  } else {
    plinth = await Plinth.start();
    other = plinth;
  }
  admin = await plinth.signIn();
  elsewhere = await other.signIn();
  await createProvider(admin, 'custom_api');
  for (const modelName of [MODEL, SLOW, 'plain']) {
    await createModel(admin, { modelName, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
  }
});

afterEach(() => simulator.reset());

afterAll(async () => {
  if (other !== plinth) await other.stop();
  await plinth.stop();
  await database?.drop();
  await simulator.close();
});

async function newSession(by = admin): Promise<string> {
  return done(await by.post<string>('/system/session', {})).data;
}

async function sessionNow(sessionId: string): Promise<ChatSession> {
  return done(await admin.get<ChatSession>(`/system/session/${sessionId}`)).data;
}

async function answerIn(sessionId: string): Promise<Message> {
  const rows = await eventually(
    async () => (await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`)).rows,
    (messages) => messages.at(-1)?.role === 'assistant',
  );
  return rows.at(-1) as Message;
}

/** Numbers without gap or repeat. */
function upTo(numbers: readonly number[]): number[] {
  return numbers.map((_, index) => index);
}

function refusal(by: Session, turnId: string, headers: Record<string, string> = {}) {
  return by
    .raw('GET', `/chat/turns/${turnId}/stream`, undefined, headers)
    .then(({ text }) => JSON.parse(text) as { code: number; msg: string });
}

describe('a detached turn', () => {
  it(`is read on after ${CUTS} cuts at random bytes, from both processes`, async () => {
    const random = seededRandom(7);
    const sessionId = await newSession();
    const body = { model: MODEL, content: 'Count.', sessionId };
    const first = await TurnReader.send(admin, body, { bytes: 900 });
    let reader = first;
    let cuts = 1;
    const complete: TurnReader[] = [];
    while (cuts < CUTS) {
      await reader.readOn(1 + Math.floor(random() * 1_500), random() < 0.5 ? admin : elsewhere);
      cuts += 1;
      if (!reader.isOver) continue;
      complete.push(reader);
      reader = new TurnReader(admin, first.turnId);
    }
    complete.push(reader.isOver ? reader : await reader.readOn());
    const { content, turnId, state } = await answerIn(sessionId);
    expect({ turnId, state }).toEqual({ turnId: first.turnId, state: 'complete' });
    expect(content).toContain('tok299');
    for (const one of complete) {
      expect(one.reply.text).toBe(content);
      expect(one.numbers).toEqual(upTo(one.numbers));
      expect(one.reply.events.slice(-2)).toEqual(['usage', 'done']);
    }
    expect(simulator.requests).toHaveLength(1);
  }, 120_000);

  it('is read by several readers at once, one of them late and of another process', async () => {
    const sessionId = await newSession();
    const first = await TurnReader.send(
      admin,
      { model: MODEL, content: 'Count.', sessionId },
      { bytes: 300 },
    );
    const { answering, turnId } = await sessionNow(sessionId);
    expect({ answering, turnId }).toEqual({ answering: true, turnId: first.turnId });
    const readers = [
      new TurnReader(admin, first.turnId).readOn(),
      new TurnReader(elsewhere, first.turnId).readOn(),
      first.readOn(),
    ];
    const { content } = await answerIn(sessionId);
    readers.push(new TurnReader(elsewhere, first.turnId).readOn());
    for (const reader of await Promise.all(readers)) {
      expect(reader.reply.text).toBe(content);
      expect(reader.numbers).toEqual(upTo(reader.numbers));
      expect(reader.reply.done).toBe(true);
    }
    expect(await sessionNow(sessionId)).toMatchObject({ answering: false, turnId: null });
  }, 60_000);

  it('is stopped from another connection, and holds its place until then', async () => {
    const sessionId = await newSession();
    const body = { model: SLOW, content: 'Count.', sessionId };
    const reader = await TurnReader.send(admin, body, { bytes: 600 });
    // The client has left.
    const streams = plinth.app.get(OpenStreams);
    expect(streams.countsOf('chat').size).toBe(1);
    const rest = reader.readOn(Infinity, elsewhere);
    await eventually(
      () => other.app.get(OpenStreams).countsOf('reader').size,
      (count) => count === 1,
    );
    const stopped = await elsewhere.post<{ stopped: boolean }>(`/chat/stop/${sessionId}`);
    expect(stopped.data.stopped).toBe(true);
    await rest;
    const { content, state } = await answerIn(sessionId);
    expect(state).toBe('stopped');
    expect(reader.reply.text).toBe(content);
    expect(reader.reply.frames.at(-1)?.data).toMatchObject({ finishReason: 'stopped' });
    expect(reader.numbers).toEqual(upTo(reader.numbers));
    await eventually(
      () => streams.countsOf('chat').size + other.app.get(OpenStreams).countsOf('reader').size,
      (count) => count === 0,
    );
  });

  it('ends with the rights of its user', async () => {
    const role = await makeRole(admin, 'chatting', ['system:session:add']);
    const person = await makeUser(plinth, admin, 'leaving', [role]);
    const sessionId = await newSession(person.session);
    const body = { model: SLOW, content: 'Count.', sessionId };
    const reader = await TurnReader.send(person.session, body, { bytes: 300 });
    const rest = new TurnReader(person.session, reader.turnId).readOn();
    done(await person.session.post('/auth/logout'));
    await rest;
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect(await refusal(person.session, reader.turnId ?? '')).toMatchObject({ code: 401 });
  });

  it('is the same turn when its key is sent again', async () => {
    const sessionId = await newSession();
    const body = { model: MODEL, content: 'Count.', sessionId };
    const headers = { 'idempotency-key': 'again' };
    const first = await TurnReader.send(admin, body, { bytes: 300, headers });
    const again = await TurnReader.send(elsewhere, body, { headers });
    const later = await TurnReader.send(admin, body, { headers });
    const { content } = await answerIn(sessionId);
    for (const reader of [await first.readOn(), again, later]) {
      expect([reader.turnId, reader.reply.text]).toEqual([first.turnId, content]);
      expect(reader.numbers).toEqual(upTo(reader.numbers));
    }
    // A client that does not know of detach gets the stored answer.
    const plain = await sendChat(admin, body, headers);
    expect([plain.text, plain.raw.includes('id: ')]).toEqual([content, false]);
    expect(simulator.requests).toHaveLength(1);
  }, 60_000);

  it('says how a failed answer has ended', async () => {
    simulator.script({ status: 401 });
    const sessionId = await newSession();
    const reader = await TurnReader.send(admin, { model: 'plain', content: 'Hi', sessionId });
    const late = await new TurnReader(elsewhere, reader.turnId).readOn();
    expect(reader.reply.error).toBeTruthy();
    expect(late.reply.error).toBe(reader.reply.error);
    expect(late.numbers).toEqual(reader.numbers);
  });

  it('is not to be read by others, nor when it was not detached or is not kept any more', async () => {
    const sessionId = await newSession();
    const body = { model: 'plain', content: 'Hi', sessionId };
    const { turnId = '' } = await TurnReader.send(admin, body);
    const lost = {
      code: 404,
      msg: 'The stream of this answer is not kept. Load the messages of the chat.',
    };
    const colleague = await makeUser(plinth, admin, 'colleague');
    const tenant = await makeTenant(plinth, admin, '000077');
    for (const by of [colleague.session, tenant.admin]) {
      expect(await refusal(by, turnId)).toMatchObject(lost);
    }
    const key = await makeKey(admin, { permissions: ['chat:chat:use'] });
    const program = await new TurnReader(withKey(admin, key), turnId).readOn();
    expect(program.reply.done).toBe(true);

    await sendChat(admin, body);
    const plain = await answerIn(sessionId);
    expect(await refusal(admin, plain.turnId)).toMatchObject(lost);
    expect(await refusal(admin, turnId, { 'last-event-id': 'x' })).toMatchObject({ code: 400 });

    const store = plinth.app.get(Database);
    await store.query(
      "UPDATE stream_frame SET create_time = now() - interval '25 h' WHERE stream_id = $1",
      [turnId],
    );
    await plinth.app.get(StreamRetention, { strict: false }).prune();
    expect(await refusal(admin, turnId)).toMatchObject(lost);
  });

  it('leaves no frame when its messages or its session are deleted', async () => {
    const frames = async (turnId = ''): Promise<number> => {
      const store = plinth.app.get(Database);
      const rows = await store.query('SELECT 1 FROM stream_frame WHERE stream_id = $1', [turnId]);
      return rows.length;
    };
    for (const what of ['answer', 'session'] as const) {
      const sessionId = await newSession();
      const reader = await TurnReader.send(admin, { model: 'plain', content: 'Hi', sessionId });
      const { id } = await answerIn(sessionId);
      expect(await frames(reader.turnId)).toBeGreaterThan(2);
      const path = what === 'answer' ? `/system/message/${id}` : `/system/session/${sessionId}`;
      done(await admin.delete(path));
      expect([what, await frames(reader.turnId)]).toEqual([what, 0]);
    }
    const sessionId = await newSession();
    const body = { model: SLOW, content: 'Count.', sessionId };
    const reader = await TurnReader.send(admin, body, { bytes: 600 });
    const rest = reader.readOn();
    done(await admin.delete(`/system/session/${sessionId}`));
    await rest;
    expect(reader.reply.error).toContain('Load the messages');
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect(await frames(reader.turnId)).toBe(0);
  });

  it('needs a session, by which it is stopped', async () => {
    const refused = await sendChat(admin, { model: 'plain', content: 'Hi', detach: true });
    expect(refused.failure).toMatchObject({ code: 400 });
    expect(refused.error).toContain('sessionId');
  });
});
