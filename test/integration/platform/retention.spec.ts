import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { RetentionSweep } from '../../../src/platform/retention/index.js';
import { sendChat } from '../../support/chat.js';
import { longText, PIXELS, uploadFile } from '../../support/chat-files.js';
import { recordSession } from '../../support/isolation/harness.records.js';
import { recordTask } from '../../support/media/recorded-task.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser, roleId } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { recordResponse } from '../../support/recorded-response.js';
import type { Session } from '../../support/session.js';
import { rowsOf } from '../../support/tables.js';
import { eventually } from '../../support/wait.js';

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;

beforeAll(async () => {
  simulator = await startSimulator();
  // Longer than batches are kept, which are of the class of responses.
  plinth = await Plinth.start({ RESPONSE_RETENTION_DAYS: '40' });
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  await createModel(admin, {
    ...{ modelName: 'sim-chat', apiHost: `${simulator.url}/v1`, apiKey: 'key' },
    supportsVision: true,
  });
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

function query<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  return plinth.app.get(Database).query<Row>(sql, values);
}

async function sweep(): Promise<void> {
  await plinth.app.get(RetentionSweep).sweep();
}

async function setRules(rules: Readonly<Record<string, number>>, session = admin): Promise<void> {
  const path = session === admin ? '/system/retention' : '/system/user/profile/retention';
  const list = Object.entries(rules).map(([recordClass, days]) => ({ recordClass, days }));
  done(await session.put(path, { rules: list }));
}

/** The tables with rows that hold the text. */
async function tablesWith(text: string): Promise<string[]> {
  const rows = (await rowsOf(plinth)).filter((row) => row.includes(text));
  return [...new Set(rows.map((row) => row.split(':', 1)[0] ?? ''))].filter(
    (table) => !['audit_entry', 'user_account'].includes(table),
  );
}

function storedFiles(): string[] {
  const folder = join(plinth.dataDir, 'files');
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

async function person(name: string): Promise<Person> {
  return makeUser(plinth, admin, name, [await roleId(admin, 'user')]);
}

/** Makes everything of the user look as if it was last used so many days ago. */
async function age(userId: number, days: number): Promise<void> {
  const past = `now() - interval '${days} days'`;
  for (const [table, columns] of Object.entries({
    chat_session: ['create_time', 'update_time'],
    chat_message: ['create_time'],
    stored_file: ['create_time'],
    api_file: ['create_time'],
    media_task: ['create_time'],
    stored_response: ['last_used_time'],
    harness_session: ['update_time'],
    harness_run: ['ended_at'],
    upstream_call: ['call_time'],
  })) {
    const changes = columns.map((column) => `${column} = ${past}`).join(', ');
    await query(`UPDATE ${table} SET ${changes} WHERE user_id = $1`, [userId]);
  }
}

interface MadeRecords {
  readonly sessionId: string;
  readonly messageIds: readonly string[];
  readonly chatFile: string;
  readonly upload: string;
  readonly responseId: string;
  readonly harnessSession: string;
}

/** One record of each class, with the mark in its texts. */
async function makeRecords({ session }: Person, mark: string): Promise<MadeRecords> {
  const title = { sessionTitle: `${mark} title`, sessionContent: mark };
  const sessionId = done(await session.post<string>('/system/session', title)).data;
  const files = [
    await uploadFile(session, `${mark}.png`, PIXELS['image/png']),
    await uploadFile(session, `${mark}.txt`, longText(mark, 20_000)),
  ];
  const content = `${mark} asked`;
  await sendChat(session, { model: 'sim-chat', content, sessionId, files });
  await sendChat(session, { model: 'sim-chat', content: `${mark} without a session` });
  const { rows } = done(
    await session.get<{ id: string; role: string }[]>(
      `/system/message/list?sessionId=${sessionId}`,
    ),
  );
  const answer = rows.find(({ role }) => role === 'assistant');
  done(await session.put(`/chat/feedback/${answer?.id}`, { vote: 'down', text: `${mark} vote` }));
  const upload = await uploadFile(session, `${mark} alone.txt`, mark);
  await recordTask(plinth, session, `${mark} film`);
  const responseId = await recordResponse(plinth, session, `${mark} response`);
  const { sessionId: harnessSession } = await recordSession(plinth, session, `${mark} run`);
  await query(
    "UPDATE harness_run SET status = 'COMPLETED', ended_at = now() WHERE session_id = $1",
    [harnessSession],
  );
  const messageIds = rows.map(({ id }) => id);
  return {
    sessionId,
    messageIds,
    chatFile: files[0] ?? '',
    upload: upload,
    responseId,
    harnessSession,
  };
}

/** Codes of the detail routes of the records, and totals of their lists and searches. */
async function traces({ session }: Person, records: MadeRecords, mark: string): Promise<unknown> {
  const codeOf = async (path: string): Promise<number> => (await session.get(path)).code;
  const totalOf = async (path: string): Promise<number> => (await session.get(path)).total;
  const file = async (id: string): Promise<number> =>
    (await admin.get<unknown[]>(`/resource/oss/listByIds/${id}`)).data.length;
  const responses = await session.raw('GET', `/v1/responses/${records.responseId}`);
  const runs = done(await session.get<unknown[]>('/coding/harness/sessions')).data.length;
  return {
    chats: [
      await codeOf(`/system/session/${records.sessionId}`),
      await codeOf(`/system/message/${records.messageIds[0]}`),
      await totalOf('/system/session/list'),
      await totalOf(`/system/session/list?sessionTitle=${mark}`),
      await totalOf('/system/message/list'),
      await totalOf(`/system/message/list?content=${mark}`),
      (await admin.get('/chat/feedback/list?vote=down')).total,
    ],
    files: await file(records.upload),
    media: await totalOf('/media/task/list'),
    responses: responses.status,
    runs: [runs, await codeOf(`/coding/harness/sessions/${records.harnessSession}`)],
  };
}

const GONE = {
  chats: [404, 404, 0, 0, 0, 0, 0],
  ...{ files: 0, media: 0, responses: 404, runs: [0, 404] },
};

describe('rules', () => {
  it('are those of the tenant, within the limits of the installation', async () => {
    const put = (rules: object): ReturnType<Session['put']> =>
      admin.put('/system/retention', rules);
    await setRules({ responses: 40 });
    await setRules({ chats: 30, audit: 180 });
    const { data } = await admin.get<{ rules: unknown[] }>('/system/retention');
    expect(data.rules).toEqual([
      { recordClass: 'chats', days: 30, minDays: 1, maxDays: null },
      { recordClass: 'files', days: null, minDays: 1, maxDays: null },
      { recordClass: 'runs', days: null, minDays: 1, maxDays: null },
      { recordClass: 'media', days: null, minDays: 1, maxDays: null },
      { recordClass: 'responses', days: null, minDays: 1, maxDays: 40 },
      { recordClass: 'calls', days: null, minDays: 62, maxDays: 1100 },
      { recordClass: 'audit', days: 180, minDays: 180, maxDays: null },
    ]);
    for (const [recordClass, days] of [
      ...[['audit', 179] as const, ['calls', 61] as const, ['responses', 41] as const],
      ...[['chats', 0] as const, ['letters', 9] as const],
    ]) {
      expect(await put({ rules: [{ recordClass, days }] })).toMatchObject({ code: 400 });
    }
    const twice = [
      { recordClass: 'chats', days: 9 },
      { recordClass: 'chats', days: 8 },
    ];
    expect(await put({ rules: twice })).toMatchObject({ code: 400 });
    expect(await put({})).toMatchObject({ code: 400 });
    await setRules({});
  });

  it('of a user are shorter than those of the tenant, and need a permission for the others', async () => {
    const ann = await person('ann');
    await setRules({ chats: 30 });
    await setRules({ chats: 7 }, ann.session);
    const { data } = await ann.session.get<{ rules: unknown[] }>('/system/user/profile/retention');
    expect(data.rules[0]).toEqual({ recordClass: 'chats', days: 7, minDays: 1, maxDays: 30 });
    const calls = { rules: [{ recordClass: 'calls', days: 100 }] };
    expect(await ann.session.put('/system/user/profile/retention', calls)).toMatchObject({
      code: 400,
    });
    expect(await ann.session.get('/system/retention')).toMatchObject({ code: 403 });
    expect(await ann.session.put('/system/retention', calls)).toMatchObject({ code: 403 });
    await setRules({});
  });
});

describe('the sweep', () => {
  it('leaves nothing of what is due, in lists, details, searches, tables and files', async () => {
    const bea = await person('bea');
    const before = storedFiles().length;
    const records = await makeRecords(bea, 'heliotrope');
    expect(await tablesWith('heliotrope')).toEqual(
      expect.arrayContaining(['chat_message', 'chat_session', 'fragment', 'media_task']),
    );
    await setRules({ chats: 30, files: 30, runs: 30, media: 30, responses: 30 });
    await age(bea.id, 29);
    await sweep();
    expect(await traces(bea, records, 'heliotrope')).toMatchObject({
      ...{ files: 1, media: 1, responses: 200, runs: [1, 200] },
      chats: [200, 200, 1, 1, 4, 4, 1],
    });
    await age(bea.id, 31);
    // Until the sweep comes, lists and searches leave out what is due.
    expect(await traces(bea, records, 'heliotrope')).toMatchObject({
      ...{ media: 0, runs: [0, 200] },
      chats: [200, 200, 0, 0, 0, 0, 1],
    });
    await sweep();

    expect(await traces(bea, records, 'heliotrope')).toEqual(GONE);
    expect(await tablesWith('heliotrope')).toEqual([]);
    expect(storedFiles().length).toBe(before);
    const entries = done(
      await admin.get<{ targetId: string; detail: object }[]>(
        '/monitor/audit/list?targetType=retention&action=delete&pageSize=50',
      ),
    ).rows;
    const ofClass = (id: string): object[] =>
      entries.filter(({ targetId }) => targetId === id).map(({ detail }) => detail);
    expect(ofClass('chats')).toEqual([
      {
        removed: {
          chat_session: 1,
          chat_message: 2,
          file: 2,
          knowledge_base: 1,
        },
      },
    ]);
    expect(ofClass('files')).toEqual([{ removed: { file: 1 } }]);
    expect(ofClass('runs')).toEqual([{ removed: { harness_session: 1 } }]);
    expect(ofClass('media')).toEqual([{ removed: { media_task: 1 } }]);
    expect(ofClass('responses')).toEqual([{ removed: { stored_response: 1 } }]);
    await setRules({});
  });

  it('is not waited for by the list of files of /v1', async () => {
    const ada = await person('ada');
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new File(['hepatica'], 'hepatica.txt'));
    const { headers } = ada.session;
    const sent = await fetch(`${plinth.url}/v1/files`, { method: 'POST', headers, body: form });
    expect(sent.status).toBe(200);
    const listed = async (): Promise<boolean> =>
      (await ada.session.raw('GET', '/v1/files')).text.includes('hepatica.txt');
    await setRules({ files: 30 });
    await age(ada.id, 29);
    expect(await listed()).toBe(true);
    await age(ada.id, 31);
    expect(await listed()).toBe(false);
    await setRules({});
    expect(await listed()).toBe(true);
  });

  it('removes calls from the usage ledger and its report', async () => {
    const cal = await person('cal');
    await sendChat(cal.session, { model: 'sim-chat', content: 'Hello' });
    const calls = async (): Promise<number> =>
      (await query('SELECT id FROM upstream_call WHERE user_id = $1', [cal.id])).length;
    await eventually(calls, (count) => count > 0);
    await setRules({ calls: 62 });
    await age(cal.id, 61);
    await sweep();
    expect(await calls()).toBe(1);
    await age(cal.id, 63);
    await sweep();
    expect(await calls()).toBe(0);
    await setRules({});
  });

  it('follows the shorter rule of a user, and only for this user', async () => {
    const [dan, eve] = [await person('dan'), await person('eve')];
    for (const { session } of [dan, eve]) {
      done(await session.post('/system/session', { sessionTitle: 'Plans' }));
    }
    await setRules({ chats: 5 }, dan.session);
    for (const { id } of [dan, eve]) await age(id, 6);
    await sweep();
    expect((await dan.session.get('/system/session/list')).total).toBe(0);
    expect((await eve.session.get('/system/session/list')).total).toBe(1);
  });

  it('keeps a chat that was used again, and those of other tenants', async () => {
    const fay = await person('fay');
    const { data: sessionId } = done(await fay.session.post<string>('/system/session', {}));
    await age(fay.id, 40);
    await sendChat(fay.session, { model: 'sim-chat', content: 'Again', sessionId });
    const other = await makeTenant(plinth, admin, '356789');
    done(await other.admin.post('/system/session', { sessionTitle: 'Old' }));
    await query(
      "UPDATE chat_session SET update_time = now() - interval '1 year' WHERE tenant_id = '356789'",
    );
    await setRules({ chats: 30 });
    await sweep();
    expect(await fay.session.get(`/system/session/${sessionId}`)).toMatchObject({ code: 200 });
    expect((await other.admin.get('/system/session/list')).total).toBe(1);
    await setRules({});
  });

  it('is done by one process at a time', async () => {
    const gil = await person('gil');
    const { data: id } = done(await gil.session.post<string>('/system/session', {}));
    const codeNow = async (): Promise<number> =>
      (await gil.session.get(`/system/session/${id}`)).code;
    await age(gil.id, 40);
    await setRules({ chats: 30 });
    const others = "lease_token = gen_random_uuid(), lease_until = now() + interval '1 minute'";
    await query(`UPDATE retention_sweep SET ${others} WHERE tenant_id = '000000'`);
    await sweep();
    expect(await codeNow()).toBe(200);
    await query("UPDATE retention_sweep SET lease_until = now() WHERE tenant_id = '000000'");
    await sweep();
    expect(await codeNow()).toBe(404);
    await setRules({});
  });
});

describe('a legal hold', () => {
  it('keeps everything of the user from the sweep, the user and administrators', async () => {
    const editor = await makeRole(admin, 'editor', ['system:message:edit']);
    const hal = await makeUser(plinth, admin, 'hal', [await roleId(admin, 'user'), editor]);
    const records = await makeRecords(hal, 'marigold');
    const before = await traces(hal, records, 'marigold');
    const hold = `/system/retention/hold/${hal.id}`;
    done(await admin.put(hold, { reason: 'Proceedings 12/2026' }));
    expect(done(await admin.get('/system/retention/hold')).data).toMatchObject([
      { userId: hal.id, userName: 'hal', reason: 'Proceedings 12/2026', placedBy: 'admin' },
    ]);
    await setRules({ chats: 1, files: 1, runs: 1, media: 1, responses: 1 });
    await setRules({ chats: 1 }, hal.session);
    await age(hal.id, 500);
    expect(await traces(hal, records, 'marigold')).toEqual(before);
    await sweep();
    expect(await traces(hal, records, 'marigold')).toEqual(before);

    const refused = { code: 409, data: { errorCode: 'LEGAL_HOLD' } };
    const tasks = done(await hal.session.get<{ id: number }[]>('/media/task/list')).rows;
    for (const path of [
      `/system/session/${records.sessionId}`,
      `/system/message/${records.messageIds.join(',')}`,
      `/media/task/${tasks[0]?.id}`,
      `/coding/harness/sessions/${records.harnessSession}`,
    ]) {
      expect([path, await hal.session.delete(path)]).toEqual([
        path,
        expect.objectContaining(refused),
      ]);
    }
    expect(await admin.delete(`/resource/oss/${records.upload}`)).toMatchObject(refused);
    const message = { id: Number(records.messageIds[0]), content: 'Not this' };
    expect(await hal.session.put('/system/message', message)).toMatchObject(refused);
    const response = await hal.session.raw('DELETE', `/v1/responses/${records.responseId}`);
    expect([response.status, response.text]).toEqual([409, expect.stringContaining('legal hold')]);
    expect(await admin.delete(`/system/user/${hal.id}`)).toMatchObject(refused);
    expect(await traces(hal, records, 'marigold')).toEqual(before);

    done(await admin.delete(hold));
    expect(await admin.delete(hold)).toMatchObject({ code: 404 });
    done(await hal.session.put('/system/message', { ...message, content: 'marigold again' }));
    await sweep();
    expect(await traces(hal, records, 'marigold')).toEqual(GONE);
    done(await admin.delete(`/system/user/${hal.id}`));
    const entries = done(
      await admin.get<{ action: string }[]>('/monitor/audit/list?targetType=legal_hold'),
    ).rows;
    expect(entries.map(({ action }) => action)).toEqual(['delete', 'create']);
    await setRules({});
  });

  it('needs its permission, and a user of the tenant', async () => {
    const officer = await makeUser(plinth, admin, 'officer', [
      await makeRole(admin, 'reader', ['system:retention:list']),
    ]);
    const own = `/system/retention/hold/${officer.id}`;
    expect(await officer.session.put(own, { reason: 'x' })).toMatchObject({ code: 403 });
    expect(await officer.session.get('/system/retention/hold')).toMatchObject({ code: 200 });
    expect(await admin.put('/system/retention/hold/987654', { reason: 'x' })).toMatchObject({
      code: 404,
    });
    expect(await admin.put(own, { reason: ' ' })).toMatchObject({ code: 400 });
  });
});

describe('a temporary chat', () => {
  interface SessionRow {
    readonly id: string;
    readonly temporary: boolean;
  }

  async function setPolicy(temporaryChats: string): Promise<void> {
    done(await admin.put('/system/retention', { rules: [], temporaryChats }));
  }

  async function open({ session }: Person, body: object = { temporary: true }): Promise<string> {
    return done(await session.post<string>('/system/session', body)).data;
  }

  it('answers and is read again, and is in no list and no search', async () => {
    const ida = await person('ida');
    const sessionId = await open(ida, { temporary: true, sessionTitle: 'saffron' });
    const files = [await uploadFile(ida.session, 'saffron.txt', longText('saffron', 20_000))];
    const body = { model: 'sim-chat', content: 'saffron asked', sessionId, files };
    const key = { 'idempotency-key': 'saffron-1' };
    const reply = await sendChat(ida.session, body, key);
    expect(reply.done).toBe(true);
    // Sent again after the connection broke: the stored answer, not a second one.
    expect((await sendChat(ida.session, body, key)).text).toBe(reply.text);

    const list = (path: string): Promise<number> =>
      ida.session.get(path).then(({ total }) => total);
    const { rows } = done(
      await ida.session.get<{ id: string; role: string }[]>(
        `/system/message/list?sessionId=${sessionId}`,
      ),
    );
    expect(rows).toHaveLength(2);
    expect(
      done(await ida.session.get<SessionRow>(`/system/session/${sessionId}`)).data,
    ).toMatchObject({ temporary: true });
    expect(await list('/system/session/list')).toBe(0);
    expect(await list('/system/session/list?sessionTitle=saffron')).toBe(0);
    expect(await list('/system/message/list')).toBe(0);
    expect(await list('/system/message/list?content=saffron')).toBe(0);
    const sheet = await ida.session.raw('POST', '/system/message/export', {});
    expect(sheet.text).not.toContain('saffron');
    const answer = rows.find(({ role }) => role === 'assistant');
    const vote = await ida.session.put(`/chat/feedback/${answer?.id}`, {
      vote: 'up',
      text: 'saffron',
    });
    expect(vote).toMatchObject({ code: 400 });

    await open(ida, { sessionTitle: 'Listed' });
    await sendChat(ida.session, { model: 'sim-chat', content: 'Without a session' });
    expect(await list('/system/session/list')).toBe(1);
    expect(await list('/system/message/list')).toBe(2);

    done(await ida.session.delete(`/system/session/${sessionId}`));
    const left = (await rowsOf(plinth)).filter((row) => row.includes('saffron'));
    expect(left).toEqual([]);
  });

  it('is removed with its files within a day', async () => {
    const jon = await person('jon');
    const files = storedFiles().length;
    const sessionId = await open(jon);
    const sent = [await uploadFile(jon.session, 'sorrel.txt', longText('sorrel', 20_000))];
    await sendChat(jon.session, { model: 'sim-chat', content: 'sorrel', sessionId, files: sent });
    const listed = await open(jon, { sessionTitle: 'Listed' });
    const past = (hours: number): Promise<unknown> =>
      query(
        `UPDATE chat_session SET create_time = now() - make_interval(hours => $2) WHERE user_id = $1`,
        [...[jon.id, hours]],
      );
    await past(21);
    await sweep();
    expect(await jon.session.get(`/system/session/${sessionId}`)).toMatchObject({ code: 200 });
    await past(23);
    await sweep();
    expect(await jon.session.get(`/system/session/${sessionId}`)).toMatchObject({ code: 404 });
    expect(await jon.session.get(`/system/session/${listed}`)).toMatchObject({ code: 200 });
    expect((await rowsOf(plinth)).filter((row) => row.includes('sorrel'))).toEqual([]);
    expect(storedFiles().length).toBe(files);
  });

  it('is what the tenant says', async () => {
    const kim = await person('kim');
    await sendChat(kim.session, { model: 'sim-chat', content: 'Before' });
    await setPolicy('enforced');
    const own = await kim.session.get<{ temporaryChats: string }>('/system/user/profile/retention');
    expect(own.data.temporaryChats).toBe('enforced');
    const sessionId = await open(kim, {});
    const { data } = done(await kim.session.get<SessionRow>(`/system/session/${sessionId}`));
    expect(data.temporary).toBe(true);
    expect(await kim.session.post('/system/session', { temporary: false })).toMatchObject({
      code: 400,
    });
    expect((await kim.session.get('/system/message/list')).total).toBe(0);
    await query(
      "UPDATE chat_message SET create_time = now() - interval '23 hours' WHERE user_id = $1",
      [kim.id],
    );
    await sweep();
    await setPolicy('forbidden');
    expect((await kim.session.get('/system/message/list')).total).toBe(0);
    expect(await kim.session.post('/system/session', { temporary: true })).toMatchObject({
      code: 400,
    });
    await open(kim, {});
    expect((await kim.session.get('/system/session/list')).total).toBe(1);
    await setPolicy('allowed');
  });
});
