import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CODER, freshKey, startHarness } from '../../support/harness.js';
import type { Harness, SessionView } from '../../support/harness.js';
import { createModel } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import type { Answer, Session } from '../../support/session.js';

const SESSIONS = '/coding/harness/sessions';
const NO_ID = '00000000-0000-7000-8000-000000000000';

let harness: Harness;
let reader: Person;
let writer: Person;
let stranger: Session;

beforeAll(async () => {
  // One place, which a run that never ends takes where a test needs runs that stay in the queue.
  harness = await startHarness({ environment: { HARNESS_RUNS: '1' } });
  const { plinth, session: admin } = harness;
  const use = await makeRole(admin, 'harness-reader', ['coding:harness:use']);
  const write = await makeRole(admin, 'harness-writer', [
    'coding:harness:use',
    'coding:harness:write',
  ]);
  reader = await makeUser(plinth, admin, 'reader', [use]);
  writer = await makeUser(plinth, admin, 'writer', [write]);
  stranger = (await makeTenant(plinth, admin, '300001')).admin;
});

afterAll(() => harness.stop());

beforeEach(() => harness.simulator.reset());

function create(by: Session, over: object = {}): Promise<Answer<SessionView>> {
  return by.post<SessionView>(SESSIONS, { ...harness.sessionBody(), ...over });
}

async function idsOf(by: Session, query = ''): Promise<string[]> {
  return done(await by.get<SessionView[]>(SESSIONS + query)).data.map(({ sessionId }) => sessionId);
}

function model(modelName: string, over: object = {}): Promise<number> {
  const { url: apiHost } = harness.simulator;
  return createModel(harness.session, { modelName, apiHost, apiKey: 'none', ...over });
}

describe('POST /coding/harness/sessions', () => {
  it('answers the session with every field that existing clients parse', async () => {
    const { data } = done(await create(writer.session, { title: 'Fix the shop' }));

    expect(data).toEqual({
      schemaVersion: 5,
      sessionId: expect.stringMatching(/^[\da-f-]{36}$/),
      tenantId: '000000',
      userId: writer.id,
      workspace: harness.workspace,
      model: CODER,
      permissionMode: 'WORKSPACE_WRITE',
      approvalPolicy: 'ON_REQUEST',
      planPolicy: 'ALWAYS',
      planFiles: 0,
      title: 'Fix the shop',
      activeRunId: null,
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      revision: 1,
      pinnedAt: null,
      deletedAt: null,
    });
    expect(Math.abs(Date.now() - Number(data['createdAt']))).toBeLessThan(60_000);
    expect((await writer.session.get(`${SESSIONS}/${data.sessionId}`)).data).toEqual(data);
  });

  it('asks by default, and is named after its workspace', async () => {
    const { data } = done(
      await create(writer.session, { approvalPolicy: undefined, title: undefined }),
    );

    expect(data).toMatchObject({ approvalPolicy: 'ON_REQUEST' });
    expect(data['title']).toBe(basename(harness.workspace));
  });

  it.each([
    ['model', 'model is required', { model: undefined }],
    ['permissionMode', 'permissionMode must be one of', { permissionMode: 'EVERYTHING' }],
    ['approvalPolicy', 'approvalPolicy must be one of', { approvalPolicy: 'ALWAYS' }],
    ['planPolicy', 'planPolicy must be one of', { planPolicy: 'SOMETIMES' }],
    ['planFiles', 'planFiles must be at most 200', { planPolicy: 'ABOVE_FILES', planFiles: 201 }],
    ['idempotencyKey', 'idempotencyKey must not be empty', { idempotencyKey: '' }],
    ['idempotencyKey', 'at most 256', { idempotencyKey: 'k'.repeat(257) }],
    ['title', 'at most 200', { title: 't'.repeat(201) }],
  ])('refuses a wrong %s: %s', async (_, message, over) => {
    const answer = await create(writer.session, over);

    expect(answer).toMatchObject({ code: 400, data: { errorCode: 'INVALID_INPUT' } });
    expect(answer.msg).toContain(message);
  });

  it('works only below the roots of the tenant', async () => {
    mkdirSync(join(harness.root, '.git'), { recursive: true });
    for (const workspacePath of ['/', '/etc', harness.plinth.dataDir, `${harness.root}-evil`]) {
      expect(await create(writer.session, { workspacePath })).toMatchObject({
        code: 404,
        data: { errorCode: 'WORKSPACE_NOT_FOUND' },
      });
    }
    expect(
      await create(writer.session, { workspacePath: join(harness.root, '.git') }),
    ).toMatchObject({ code: 400, data: { errorCode: 'WORKSPACE_NOT_ALLOWED' } });
    expect(await create(stranger, {})).toMatchObject({ data: { errorCode: expect.any(String) } });
  });
});

describe('planPolicy', () => {
  it.each([
    [{}, 'ALWAYS', 0],
    [{ planPolicy: 'NEVER', planFiles: 7 }, 'NEVER', 0],
    [{ planPolicy: 'ABOVE_FILES' }, 'ABOVE_FILES', 3],
    [{ planPolicy: 'ABOVE_FILES', planFiles: 7 }, 'ABOVE_FILES', 7],
  ])('of %j is %s, %s', async (over, planPolicy, planFiles) => {
    expect(done(await create(writer.session, over)).data).toMatchObject({ planPolicy, planFiles });
  });
});

describe('PUT /coding/harness/sessions/{sessionId}/title', () => {
  it('renames the session', async () => {
    const { sessionId } = done(await create(writer.session, { title: 'Old' })).data;
    const path = `${SESSIONS}/${sessionId}`;
    const renamed = await writer.session.put<SessionView>(`${path}/title`, { title: ' New ' });
    expect(done(renamed).data).toMatchObject({ title: 'New', revision: 2 });
    expect((await writer.session.get(path)).data).toMatchObject({ title: 'New' });
    expect(await writer.session.put(`${path}/title`, { title: ' ' })).toMatchObject({ code: 400 });
    const tooLong = { title: 't'.repeat(201) };
    expect(await writer.session.put(`${path}/title`, tooLong)).toMatchObject({ code: 400 });
    expect(await stranger.put(`${path}/title`, { title: 'Theirs' })).toMatchObject({
      data: { errorCode: 'SESSION_NOT_FOUND' },
    });
  });
});

describe('an idempotencyKey', () => {
  it('is the same session with the same body, and a conflict with another', async () => {
    const body = harness.sessionBody();
    const first = done(await create(writer.session, body)).data;
    const again = done(await create(writer.session, body)).data;

    expect(again).toEqual({ ...first, replayed: true });
    for (const over of [
      { title: 'Other' },
      { permissionMode: 'READ_ONLY' },
      { approvalPolicy: 'NEVER' },
      { planPolicy: 'NEVER' },
      { planPolicy: 'ABOVE_FILES' },
      { model: 'other' },
      { workspacePath: harness.root },
    ]) {
      expect(await create(writer.session, { ...body, ...over })).toMatchObject({
        code: 409,
        data: { errorCode: 'IDEMPOTENCY_CONFLICT' },
      });
    }
  });

  it('belongs to its user', async () => {
    const body = { ...harness.sessionBody(), permissionMode: 'READ_ONLY' };
    const first = done(await create(writer.session, body)).data;
    const other = done(await create(reader.session, body)).data;

    expect(other.sessionId).not.toBe(first.sessionId);
    expect(other).not.toHaveProperty('replayed');
  });

  it('gives one session to however many ask at once', async () => {
    const body = harness.sessionBody();
    const before = await idsOf(writer.session);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => create(writer.session, body)),
    );
    const ids = new Set(answers.map((answer) => done(answer).data.sessionId));

    expect(ids.size).toBe(1);
    expect(answers.filter(({ data }) => !data['replayed'])).toHaveLength(1);
    expect(await idsOf(writer.session)).toHaveLength(before.length + 1);
  });

  it('still finds its session when the model is gone', async () => {
    const id = await model('short-lived', { supportsTools: true });
    const body = { ...harness.sessionBody(), model: 'short-lived' };
    const first = done(await create(writer.session, body)).data;
    done(await harness.session.delete(`/system/model/${id}`));

    expect(done(await create(writer.session, body)).data.sessionId).toBe(first.sessionId);
    expect(await create(writer.session, { model: 'short-lived' })).toMatchObject({ code: 400 });
  });
});

describe('the model of a session', () => {
  function refusal(errorCode: string): object {
    return { code: 400, data: { errorCode } };
  }

  it('is a chat model of exactly that name', async () => {
    await model('finder', { category: 'vector', modelDimension: 64 });

    expect(await create(writer.session, { model: 'no-such-model' })).toMatchObject(
      refusal('MODEL_NOT_FOUND'),
    );
    expect(await create(writer.session, { model: 'Coder' })).toMatchObject(
      refusal('MODEL_NOT_FOUND'),
    );
    expect(await create(writer.session, { model: 'finder' })).toMatchObject(
      refusal('MODEL_NOT_CHAT'),
    );
  });

  it('is of an enabled provider', async () => {
    const setStatus = async (status: number): Promise<void> => {
      const { rows } = done(
        await harness.session.get<{ id: number; providerCode: string }[]>('/system/provider/list'),
      );
      const provider = rows.find(({ providerCode }) => providerCode === 'custom_api');
      done(await harness.session.put('/system/provider', { ...provider, status }));
    };
    await setStatus(1);
    const answer = await create(writer.session);
    await setStatus(0);

    expect(answer).toMatchObject({ code: 400 });
    expect(answer.msg).toContain('Enable the provider');
    done(await create(writer.session));
  });

  it('calls tools: nobody asks one that is known to call none', async () => {
    await model('toolless', { supportsTools: false });

    expect(await create(writer.session, { model: 'toolless' })).toMatchObject(
      refusal('MODEL_NO_TOOLS'),
    );
    expect(harness.simulator.requests).toHaveLength(0);
  });

  async function supportsTools(id: number): Promise<unknown> {
    const { data } = done(
      await harness.session.get<{ supportsTools: unknown }>(`/system/model/${id}`),
    );
    return data.supportsTools;
  }

  it('is asked once where nobody has said it, however many sessions begin at once', async () => {
    const id = await model('untried');
    harness.script({
      match: { model: 'untried' },
      toolCalls: [{ name: 'ping', arguments: { word: 'ready' } }],
      delayMs: 50,
    });
    const answers = await Promise.all(
      [1, 2, 3].map(() => create(writer.session, { model: 'untried' })),
    );

    expect(answers.map(({ code }) => code)).toEqual([200, 200, 200]);
    expect(await supportsTools(id)).toBe(true);
    done(await create(writer.session, { model: 'untried' }));
    expect(harness.simulator.requests).toHaveLength(1);
  });

  it('is asked for each user that begins at once: the limits of one refuse no other', async () => {
    await model('wanted');
    const called = { match: { model: 'wanted' }, toolCalls: [{ name: 'ping', arguments: {} }] };
    harness.script(called);
    const nothing = { scope: 'user', userId: writer.id, measure: 'tokens-day', cap: 0 };
    const { id } = done(await harness.session.post<{ id: number }>('/system/limit', nothing)).data;
    const answers = await Promise.all(
      [writer.session, harness.session].map((by) => create(by, { model: 'wanted' })),
    );
    done(await harness.session.delete(`/system/limit/${id}`));

    expect(answers[0]).toMatchObject(refusal('MODEL_UNAVAILABLE'));
    expect(answers[1]).toMatchObject({ code: 200 });
  });

  it('is refused when it answers with text instead, from then on without asking', async () => {
    const id = await model('chatty');
    harness.script({ match: { model: 'chatty' }, text: 'I would rather talk.' });

    expect(await create(writer.session, { model: 'chatty' })).toMatchObject(
      refusal('MODEL_NO_TOOLS'),
    );
    expect(await supportsTools(id)).toBe(false);
    expect(await create(writer.session, { model: 'chatty' })).toMatchObject(
      refusal('MODEL_NO_TOOLS'),
    );
    expect(harness.simulator.requests).toHaveLength(1);
  });

  it('may know tools without being made to call one', async () => {
    await model('relaxed');
    harness.script(
      { match: { model: 'relaxed' }, status: 400 },
      { match: { model: 'relaxed' }, toolCalls: [{ name: 'ping', arguments: { word: 'x' } }] },
    );

    done(await create(writer.session, { model: 'relaxed' }));
  });

  it.each([
    ['refuses the key', { status: 401 }],
    ['is overloaded', { status: 503 }],
    ['hangs up', { reset: 0 }],
  ])('stays unknown when its service %s', async (name, behaviour) => {
    const modelName = `away-${name.replaceAll(' ', '-')}`;
    const id = await model(modelName);
    harness.script({ match: { model: modelName }, ...behaviour });
    const answer = await create(writer.session, { model: modelName });

    expect(answer).toMatchObject(refusal('MODEL_UNAVAILABLE'));
    expect(answer.msg).toContain(modelName);
    expect(await supportsTools(id)).toBeNull();
  });
});

describe('who may', () => {
  it('nobody without a login, and nobody from another site', async () => {
    const { sessionId } = await harness.createSession();
    const nobody = harness.plinth.anonymous();
    for (const [method, path] of [
      ['POST', SESSIONS],
      ['GET', SESSIONS],
      ['GET', `${SESSIONS}/${sessionId}`],
      ['PUT', `${SESSIONS}/${sessionId}/pin`],
      ['DELETE', `${SESSIONS}/${sessionId}`],
      ['POST', `${SESSIONS}/${sessionId}/restore`],
    ] as const) {
      const headers = { origin: 'https://evil.example' };
      const seen = await nobody.raw(method, path, method === 'GET' ? undefined : {}, headers);

      expect(JSON.parse(seen.text)).toMatchObject({ code: 401 });
      expect(seen.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('nobody without coding:harness:use', async () => {
    const role = await makeRole(harness.session, 'no-harness', ['system:session:list']);
    const outsider = await makeUser(harness.plinth, harness.session, 'outsider', [role]);

    expect(await create(outsider.session, { permissionMode: 'READ_ONLY' })).toMatchObject({
      code: 403,
    });
    expect(await outsider.session.get(SESSIONS)).toMatchObject({ code: 403 });
  });

  it('without coding:harness:write: read only', async () => {
    for (const permissionMode of ['WORKSPACE_WRITE', 'FULL_ACCESS']) {
      const answer = await create(reader.session, { permissionMode });

      expect(answer).toMatchObject({ code: 403 });
      expect(answer.msg).toContain('coding:harness:write');
    }
    done(await create(reader.session, { permissionMode: 'READ_ONLY' }));
  });

  it('see only the own ones, but for super administrators of the tenant', async () => {
    const { sessionId } = await harness.createSession({}, writer.session);
    const path = `${SESSIONS}/${sessionId}`;
    for (const other of [reader.session, stranger]) {
      const missing = await other.get(`${SESSIONS}/${NO_ID}`);

      expect(missing).toMatchObject({ code: 404 });
      expect(await other.get(path)).toEqual(missing);
      expect(await other.put(`${path}/pin`, { pinned: true })).toEqual(missing);
      expect(await other.delete(path)).toEqual(missing);
      expect(await other.post(`${path}/restore`)).toEqual(missing);
      expect(await idsOf(other)).not.toContain(sessionId);
    }
    expect(done(await harness.session.get<SessionView>(path)).data.sessionId).toBe(sessionId);
    expect(await idsOf(harness.session)).not.toContain(sessionId);
  });

  it('finds nothing under an id of another form', async () => {
    for (const id of ['1', 'x', `${NO_ID}0`, "'--", '%F0%9F%92%A5']) {
      expect(await writer.session.get(`${SESSIONS}/${id}`)).toMatchObject({ code: 404 });
    }
    const { sessionId } = await harness.createSession({}, writer.session);

    done(await writer.session.get(`${SESSIONS}/${sessionId.toUpperCase()}`));
  });
});

describe('the list', () => {
  let people = 0;

  it('shows pinned sessions first, then the newest, in pages', async () => {
    const { session } = await freshUser();
    const made: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      made.push((await harness.createSession({}, session)).sessionId);
    }
    const [first = '', second = '', third = '', fourth = ''] = made;
    const pin = async (id: string, pinned: boolean): Promise<SessionView> =>
      done(await session.put<SessionView>(`${SESSIONS}/${id}/pin`, { pinned })).data;
    const pinned = await pin(second, true);

    expect(pinned).toMatchObject({ revision: 2, pinnedAt: expect.any(Number) });
    expect(await pin(second, true)).toEqual(pinned);
    expect(await idsOf(session)).toEqual([second, fourth, third, first]);
    expect(await idsOf(session, '?pageSize=3')).toEqual([second, fourth, third]);
    expect(await idsOf(session, '?pageSize=3&pageNum=2')).toEqual([first]);
    expect(await pin(second, false)).toMatchObject({ pinnedAt: null, revision: 3 });
    expect(await idsOf(session)).toEqual([fourth, third, second, first]);
    expect(await session.put(`${SESSIONS}/${second}/pin`, {})).toMatchObject({ code: 400 });
  });

  it('shows the sessions of another user to super administrators alone', async () => {
    const { session } = await freshUser();
    const { sessionId, userId } = await harness.createSession({}, session);
    const own = done(await harness.session.get<SessionView[]>(SESSIONS)).data;

    const ofThem = `?userId=${String(userId)}`;
    expect(await idsOf(harness.session, ofThem)).toEqual([sessionId]);
    expect(own.map((one) => one.sessionId)).not.toContain(sessionId);
    expect(await idsOf(session, ofThem)).toEqual([sessionId]);
    expect(await idsOf(writer.session, ofThem)).toEqual([]);
  });

  it('hides what is deleted, until it is restored', async () => {
    const { session } = await freshUser();
    const { sessionId } = await harness.createSession({}, session);
    const path = `${SESSIONS}/${sessionId}`;
    const deleted = done(await session.delete<SessionView>(path)).data;

    expect(deleted).toMatchObject({ sessionId, deletedAt: expect.any(Number), revision: 2 });
    expect(await idsOf(session)).toEqual([]);
    expect(await idsOf(session, '?deleted=true')).toEqual([sessionId]);
    expect(done(await session.get(path)).data).toEqual(deleted);
    expect(done(await session.delete(path)).data).toEqual(deleted);
    expect(done(await session.post(`${path}/restore`)).data).toMatchObject({ deletedAt: null });
    expect(await idsOf(session)).toEqual([sessionId]);
    expect(await idsOf(session, '?deleted=true')).toEqual([]);
  });

  it('cancels the unfinished run of a session that is deleted, which takes no other', async () => {
    harness.script({ match: { model: CODER }, firstMs: 60_000 });
    const { sessionId } = await harness.createSession({}, writer.session);
    const run = await harness.createRun(sessionId, {}, writer.session);
    const path = `${SESSIONS}/${sessionId}`;

    expect(done(await writer.session.get(path)).data).toMatchObject({ activeRunId: run.runId });
    done(await writer.session.delete(path));
    expect(await harness.waitFor(run, 'CANCELLED')).toMatchObject({
      stopReason: 'SESSION_CLOSED',
    });
    const body = { requirement: 'More', idempotencyKey: freshKey() };
    expect(await writer.session.post(`${path}/runs`, body)).toMatchObject({
      code: 409,
      data: { errorCode: 'SESSION_DELETED' },
    });
    done(await writer.session.post(`${path}/restore`));
    const next = await harness.createRun(sessionId, {}, writer.session);
    done(await writer.session.post(harness.path(next, '/cancel')));
  });

  async function freshUser(): Promise<Person> {
    people += 1;
    const name = `person-${people}`;
    const permissions = ['coding:harness:use', 'coding:harness:write'];
    const role = await makeRole(harness.session, `role-${people}`, permissions);
    return makeUser(harness.plinth, harness.session, name, [role]);
  }
});

describe('the audit log', () => {
  it('says who made, deleted and restored a session, and nothing of its texts', async () => {
    const { sessionId } = await harness.createSession({ title: 'Secret plans' });
    done(await harness.session.delete(`${SESSIONS}/${sessionId}`));
    done(await harness.session.post(`${SESSIONS}/${sessionId}/restore`));
    const { rows } = done(
      await harness.session.get<{ action: string }[]>(
        `/monitor/audit/list?targetType=harness_session&targetId=${sessionId}`,
      ),
    );

    expect(rows.map(({ action }) => action).sort()).toEqual(['create', 'delete', 'update']);
    expect(JSON.stringify(rows)).not.toContain('Secret plans');
  });
});
