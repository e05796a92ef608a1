import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import pg from 'pg';
import { UpstreamHealth } from '../../../src/model/calls/upstream.health.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Database, SealedColumns } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { canary } from '../../support/canary.js';
import { sendChat } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { columnOf } from '../../support/secret-keys.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

interface Key {
  readonly id: number;
  readonly label: string;
  readonly weight: number;
  readonly enabled: boolean;
}
interface Model {
  readonly id: number;
  readonly fallbackIds: readonly number[];
  readonly keys: readonly Key[];
}

const TENANT = '000000';
const BROKEN = 'sim--status-503';
const GOOD = 'sim--chunks-3';
/** Of two models. */
const EMBEDDING = 'sim-embed-8';
let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let good: number;
let broken: number;

overrideConstants(CHAT_LIMITS, { attempts: 1 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  plinth.app.get(UpstreamHealth).maxFailures = 1_000;
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages', 'ollama', 'image_sdk']) {
    await createProvider(admin, code);
  }
  good = await createModel(admin, { modelName: GOOD, apiHost: simulator.url, apiKey: 'key' });
  broken = await createModel(admin, {
    ...{ modelName: BROKEN, apiHost: `${simulator.url}/v1`, apiKey: 'key', fallbackIds: [good] },
  });
  for (const [modelName, fault, kind] of [
    // A rerank model is called twice where the failure may pass.
    ['sim-rank', 'status-404', { category: 'rerank' }],
    ['sim-count', 'status-503', { providerCode: 'custom_messages' }],
  ] as const) {
    const service = { ...kind, apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    const fallbackIds = [await createModel(admin, { ...service, modelName })];
    await createModel(admin, { ...service, modelName: `${modelName}--${fault}`, fallbackIds });
  }
  const embedding = { category: 'vector', modelDimension: 8, modelName: EMBEDDING, apiKey: 'key' };
  const asked = await createModel(admin, { ...embedding, apiHost: `${simulator.url}/v1` });
  const other = await save({ ...embedding, apiHost: `${simulator.url}/other/v1` });
  await admin.put('/system/model', { id: asked, fallbackIds: [other.data.id] });
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

const MESSAGES = [{ role: 'user', content: 'Hello' }];

/** The fallback of a model of `beforeAll`. */
function standsInFor(model: string): string {
  if (model === BROKEN) return GOOD;
  return model.replace(/--status-\d+$/, '');
}

let counter = 0;
const save = (fields: object) =>
  admin.post<Model>('/system/model', {
    ...{ providerCode: 'custom_api', category: 'chat', modelName: `model-${(counter += 1)}` },
    ...{ apiHost: `${simulator.url}/v1`, ...fields },
  });

/** The attempts of the calls that were recorded for the asked model, the newest last. */
async function recorded(asked: string): Promise<readonly unknown[]> {
  await plinth.app.get(UsageLedger).flush();
  return plinth.app.get(Database).query(
    `SELECT attempt, model_name AS model, outcome FROM upstream_call
        WHERE tenant_id = $1 AND asked_model = $2 ORDER BY call_time, attempt`,
    [TENANT, asked],
  );
}

describe('the fallbacks of a model', () => {
  it('answer a chat, and usage, message and usage ledger say so', async () => {
    const { data: sessionId } = await admin.post<string>('/system/session', {
      sessionTitle: 'Chat',
    });
    const reply = await sendChat(admin, { model: BROKEN, content: 'Hello', sessionId });
    expect(reply.error).toBeUndefined();
    expect(reply.text.trim()).toBe('tok0 tok1 tok2');
    const usage = reply.frames.find(({ event }) => event === 'usage');
    const provider = 'custom_api';
    expect(usage?.data['attempts']).toEqual([
      { model: BROKEN, provider, outcome: 'overloaded' },
      { model: GOOD, provider, outcome: 'ok' },
    ]);
    const list = await admin.get<object[]>(`/system/message/list?sessionId=${sessionId}`);
    expect(list.rows).toContainEqual(
      expect.objectContaining({ role: 'assistant', modelName: GOOD }),
    );
    expect(await recorded(BROKEN)).toEqual([
      { attempt: 1, model: BROKEN, outcome: 'overloaded' },
      { attempt: 2, model: GOOD, outcome: 'ok' },
    ]);
    const plain = await sendChat(admin, { model: GOOD, content: 'Hello' });
    expect(plain.frames.find(({ event }) => event === 'usage')?.data).not.toHaveProperty(
      'attempts',
    );
  });

  it.each([true, false])('answer at /v1, named in headers, with stream %s', async (stream) => {
    const body = { model: BROKEN, messages: [{ role: 'user', content: 'Hello' }], stream };
    const { status, text, headers } = await admin.raw('POST', '/v1/chat/completions', body);
    expect(status).toBe(200);
    expect(text).toContain('tok');
    expect(headers).toMatchObject({ 'x-plinth-model': GOOD, 'x-plinth-attempts': '2' });
    const direct = await admin.raw('POST', '/v1/chat/completions', { ...body, model: GOOD });
    expect(direct.headers).not.toHaveProperty('x-plinth-model');
  });

  describe('of another protocol', () => {
    const OTHER = 'sim--chunks-4';
    const CHATS = { model: 'sim--status-500', messages: MESSAGES };
    const CLAUDE = { model: 'sim--status-529', max_tokens: 50, messages: MESSAGES };

    beforeAll(async () => {
      const address = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
      const messages = { ...address, providerCode: 'custom_messages' };
      const other = await createModel(admin, { ...messages, modelName: OTHER });
      const { model: chats } = CHATS;
      await createModel(admin, { ...address, modelName: chats, fallbackIds: [other] });
      const { model: claude } = CLAUDE;
      await createModel(admin, { ...messages, modelName: claude, fallbackIds: [good] });
    });

    it.each([
      ['/v1/chat/completions', CHATS, OTHER, '"role":"assistant"'],
      ['/v1/messages', CLAUDE, GOOD, '"type":"message"'],
    ])('answer %s in its own form', async (path, body, fallback, form) => {
      const answered = { 'x-plinth-model': fallback, 'x-plinth-attempts': '2' };
      const whole = await admin.raw('POST', path, body);
      expect([whole.status, whole.text]).toEqual([200, expect.stringContaining(form)]);
      expect(whole.text).toContain('tok0 tok1');
      expect(whole.headers).toMatchObject(answered);
      const stream = await admin.raw('POST', path, { ...body, stream: true });
      expect(stream.headers).toMatchObject({
        ...answered,
        'content-type': expect.stringContaining('text/event-stream'),
      });
      expect(stream.text).toContain(form);
      expect(stream.text).toMatch(/tok1[^]*(\[DONE\]|message_stop)/);
    });

    it('are passed over where they cannot honour the request', async () => {
      const body = { ...CHATS, modalities: ['text', 'audio'] };
      const { status, text } = await admin.raw('POST', '/v1/chat/completions', body);
      expect([status, text]).toEqual([503, expect.stringContaining('(500)')]);
    });

    it('leave hints out that they do not know, unless the key is strict', async () => {
      const body = { ...CHATS, seed: 1 };
      const { status, headers } = await admin.raw('POST', '/v1/chat/completions', body);
      expect([status, headers['x-plinth-ignored']]).toEqual([200, 'seed']);
      const made = await makeKey(admin, { permissions: ['chat:chat:use'], strictParameters: true });
      const strict = await withKey(admin, made).raw('POST', '/v1/chat/completions', body);
      expect(strict.status).toBe(503);
    });

    describe.each([false, true])('asked for JSON, with stream %s', (stream) => {
      const schema = { type: 'object', required: ['a'] };
      const json_schema = { name: 'one', schema };
      const body = { ...CHATS, stream, response_format: { type: 'json_schema', json_schema } };
      const match = { model: OTHER };

      it('answer it once it fits', async () => {
        simulator.script({ match, text: '{"b":1}' }, { match, text: ' {"a":1} ' });
        const { text, headers } = await admin.raw('POST', '/v1/chat/completions', body);
        expect(text).toContain(JSON.stringify({ content: '{"a":1}' }).slice(1, -1));
        expect(text).not.toContain('\\"b\\"');
        expect(headers).toMatchObject({ 'x-plinth-model': OTHER, 'x-plinth-attempts': '3' });
      });

      it('fail where it never fits', async () => {
        simulator.script({ match, text: 'No JSON', times: 2 });
        const { status, text } = await admin.raw('POST', '/v1/chat/completions', body);
        expect([status, text]).toEqual([422, expect.stringContaining('json_validate_failed')]);
      });
    });

    it('answer in full what the client is to be told of its usage', async () => {
      const body = { ...CHATS, stream: true, stream_options: { include_usage: true } };
      const { text } = await admin.raw('POST', '/v1/chat/completions', body);
      expect(text).toContain('"completion_tokens":');
    });
  });

  it.each([
    ['/v1/responses', { model: BROKEN, input: 'Hello', store: false }, 'tok'],
    ['/v1/messages', { model: BROKEN, max_tokens: 50, messages: MESSAGES }, 'tok'],
    ['/v1/rerank', { model: 'sim-rank--status-404', query: 'x', documents: ['x'] }, 'relevance'],
    ['/v1/messages/count_tokens', { model: 'sim-count--status-503', messages: MESSAGES }, 'input'],
  ])('are named in the headers of %s', async (path, body, said) => {
    const { status, text, headers } = await admin.raw('POST', path, body);
    expect([status, text]).toEqual([200, expect.stringContaining(said)]);
    expect(headers).toMatchObject({
      'x-plinth-model': standsInFor(body.model),
      'x-plinth-attempts': '2',
    });
    const own = await admin.raw('POST', path, { ...body, model: standsInFor(body.model) });
    expect(own.status).toBe(200);
    expect(own.headers).not.toHaveProperty('x-plinth-attempts');
  });

  it('are counted in the headers of /v1/embeddings, all calls of a request together', async () => {
    // More texts than one call takes.
    const texts = Array.from({ length: 100 }, (_, at) => `Text ${at}`);
    const body = { model: EMBEDDING, input: texts };
    const direct = await admin.raw('POST', '/v1/embeddings', body);
    expect(direct.headers).not.toHaveProperty('x-plinth-attempts');
    const calls = simulator.requests.length;
    expect(calls).toBeGreaterThan(1);
    simulator.script({ status: 404 });
    const { status, headers } = await admin.raw('POST', '/v1/embeddings', body);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'x-plinth-model': EMBEDDING,
      'x-plinth-attempts': String(calls + 1),
    });
  });

  it('are no part of a test of the model', async () => {
    const { data } = await admin.post<{ ok: boolean }>(`/system/model/${broken}/test`, {});
    expect(data.ok).toBe(false);
  });

  it('must be other models of the category', async () => {
    const base = `${simulator.url}/v1`;
    const embed = { category: 'vector', modelDimension: 8, apiHost: base };
    const vector = await createModel(admin, { ...embed, modelName: 'embed-a' });
    const refusals = [
      [{ fallbackIds: [vector] }, /not of category chat/],
      [{ fallbackIds: [9_999_999] }, /no model with the id 9999999/],
      [{ fallbackIds: [1, 2, 3, 4, 5, 6] }, /more than 5 entries/],
      [{ ...embed, modelName: 'embed-b', fallbackIds: [vector] }, /other vectors/],
      [
        { category: 'image', providerCode: 'image_sdk', fallbackIds: [good] },
        /neither further keys/,
      ],
      [{ keys: [{ label: 'Second' }] }, /needs its apiKey/],
    ] as const;
    for (const [fields, message] of refusals) {
      const { code, msg } = await save(fields);
      expect([code, msg]).toEqual([400, expect.stringMatching(message)]);
    }
    const itself = await admin.put('/system/model', { id: broken, fallbackIds: [broken] });
    expect(itself.msg).toMatch(/its own fallback/);
    const same = await save({ ...embed, modelName: 'embed-a', fallbackIds: [vector] });
    expect(same.data.fallbackIds).toEqual([vector]);
  });

  it('leave the list when they are deleted', async () => {
    const one = (await save({})).data.id;
    const two = (await save({})).data.id;
    const { id } = (await save({ fallbackIds: [one, two] })).data;
    await admin.delete(`/system/model/${one}`);
    const { data } = await admin.get<Model>(`/system/model/${id}`);
    expect(data.fallbackIds).toEqual([two]);
  });

  it('keep nobody from saving something else when they have changed', async () => {
    const [one, two] = [(await save({})).data.id, (await save({})).data.id];
    const { id } = (await save({ fallbackIds: [one, two] })).data;
    const embedding = { category: 'vector', modelDimension: 8 };
    expect((await admin.put('/system/model', { id: one, ...embedding })).code).toBe(200);
    const put = (fields: object) => admin.put<Model>('/system/model', { id, ...fields });
    expect((await put({ apiKey: canary.plant('replaced') })).code).toBe(200);
    // As the console does.
    const kept = { apiKey: canary.plant('again'), category: 'chat', fallbackIds: [one, two] };
    expect((await put(kept)).data.fallbackIds).toEqual([one, two]);
    expect((await put({ fallbackIds: [two, one] })).data.fallbackIds).toEqual([two, one]);

    expect((await put({ fallbackIds: [one, 9_999_999] })).msg).toMatch(/no model with the id/);
    expect((await put({ fallbackIds: [one] })).code).toBe(200);
    expect((await put({ fallbackIds: [] })).code).toBe(200);
    expect((await put({ fallbackIds: [one] })).msg).toMatch(/not of category chat/);
  });

  it('are looked at when what they must suit changes', async () => {
    const fields = { ...{ category: 'vector', modelDimension: 8 }, modelName: 'embed-kept' };
    const one = (await save(fields)).data.id;
    const { id } = (await save({ ...fields, fallbackIds: [one] })).data;
    const put = (change: object) => admin.put<Model>('/system/model', { id, ...change });
    expect((await put({ remark: 'x', modelName: fields.modelName })).code).toBe(200);
    expect((await put({ modelDimension: 16 })).msg).toMatch(/other vectors/);
    expect((await put({ modelName: 'embed-renamed' })).msg).toMatch(/other vectors/);
    expect((await put({ category: 'chat' })).msg).toMatch(/not of category chat/);
  });

  (process.env['DATABASE_URL'] ? it : it.skip)(
    'are deleted from a list that is being saved with them',
    async () => {
      const [one, two] = [(await save({})).data.id, (await save({})).data.id];
      const { id } = (await save({})).data;
      const { DATABASE_URL: connectionString } = plinth.app.get<Config>(CONFIG);
      const other = new pg.Client({ connectionString });
      await other.connect();
      const waits = (statements: number): Promise<unknown> =>
        eventually(
          () =>
            other.query(`SELECT 1 FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'`),
          ({ rowCount }) => rowCount === statements,
        );
      try {
        await other.query('BEGIN');
        // Who saves waits with what it has changed.
        await other.query('LOCK TABLE audit_entry IN EXCLUSIVE MODE');
        const saving = admin.put('/system/model', { id, fallbackIds: [one, two] });
        await waits(1);
        const removing = admin.delete(`/system/model/${one}`);
        await waits(2);
        await other.query('ROLLBACK');
        expect(await Promise.all([saving, removing])).toMatchObject([{ code: 200 }, { code: 200 }]);
      } finally {
        await other.end();
      }
      const { data } = await admin.get<Model>(`/system/model/${id}`);
      expect(data.fallbackIds).toEqual([two]);
    },
  );

  it('answer for an API key that is limited to models where it names them, and only then', async () => {
    const answerOf = async (modelIds: number[] | undefined): Promise<unknown[]> => {
      const made = await makeKey(admin, {
        permissions: ['chat:chat:use'],
        ...(modelIds && { modelIds }),
      });
      const body = { model: BROKEN, messages: MESSAGES };
      const answers = [];
      for (const [path, more] of [
        ['/v1/chat/completions', {}],
        ['/v1/messages', { max_tokens: 9 }],
      ] as const) {
        const { status } = await withKey(admin, made).raw('POST', path, { ...body, ...more });
        answers.push(status);
      }
      const { error } = await sendChat(withKey(admin, made), { model: BROKEN, content: 'Hello' });
      return [...answers, error === undefined];
    };
    expect(await answerOf([broken, good])).toEqual([200, 200, true]);
    expect(await answerOf(undefined)).toEqual([200, 200, true]);
    simulator.reset();
    expect(await answerOf([broken])).toEqual([503, 529, false]);
    expect(
      simulator.requests.every(({ body }) => (body as { model?: unknown }).model === BROKEN),
    ).toBe(true);
  });
});

describe('further keys of a model', () => {
  const keys = () => [{ label: 'Second', apiKey: canary.plant('second'), weight: 3 }];

  it('are used, and never shown', async () => {
    const own = canary.plant('own');
    const [key] = keys();
    const modelName = 'sim--chunks-2';
    const { data } = await save({ modelName, apiKey: own, keys: [key] });
    expect(data.keys).toEqual([
      { id: expect.any(Number), label: 'Second', weight: 3, enabled: true },
    ]);
    simulator.script({ status: 401 });
    const reply = await sendChat(admin, { model: modelName, content: 'Hello' });
    expect(reply.error).toBeUndefined();
    const sent = simulator.requests.map(({ headers }) => headers['authorization']);
    expect(sent.toSorted()).toEqual([`Bearer ${own}`, `Bearer ${key?.apiKey}`].toSorted());
    const cooldowns = await admin.get<object[]>(`/system/model/${data.id}/cooldowns`);
    expect(cooldowns.data).toMatchObject([{ reason: 'refused', seconds: expect.any(Number) }]);
    const list = await admin.get(`/system/model/list?modelName=${modelName}`);
    expect(JSON.stringify([data, cooldowns, list])).not.toContain(key?.apiKey);
  });

  it('stay where they are not sent, are changed by id, and go with an empty list', async () => {
    const { data } = await save({ keys: keys() });
    const { id } = data;
    const change = async (fields: object): Promise<readonly Key[]> =>
      (await admin.put<Model>('/system/model', { id, ...fields })).data.keys;
    expect(await change({ remark: 'x' })).toEqual(data.keys);
    const kept = { id: data.keys[0]?.id, label: 'Renamed', enabled: false };
    expect(await change({ keys: [kept] })).toEqual([{ ...kept, weight: 1 }]);
    expect(await change({ keys: [] })).toEqual([]);
    const { code } = await admin.put('/system/model', { id, keys: [kept] });
    expect(code).toBe(404);
  });

  it('do not go to another host without the permission for it', async () => {
    const { data } = await save({ keys: keys() });
    const role = await makeRole(admin, 'editor', ['system:model:edit', 'system:model:query']);
    const { session: editor } = await makeUser(plinth, admin, 'editor', [role]);
    const moved = { id: data.id, apiHost: 'http://127.0.0.1:9/v1' };
    expect((await editor.put('/system/model', moved)).msg).toMatch(/entered for another service/);
    expect((await admin.put('/system/model', moved)).code).toBe(200);
  });

  it('are sealed for their own record', async () => {
    const [key] = keys();
    const { data } = await save({ keys: [key] });
    const id = data.keys[0]?.id ?? 0;
    const database = plinth.app.get(Database);
    const stored = async (): Promise<string> => {
      const [row] = await database.query<{ credential: string }>(
        'SELECT credential FROM model_key WHERE tenant_id = $1 AND id = $2',
        [TENANT, id],
      );
      return row?.credential ?? '';
    };
    const sealed = plinth.app.get(SealedColumns);
    expect(columnOf(sealed, 'model_key').open(TENANT, id, await stored())).toBe(key?.apiKey);
    expect(columnOf(sealed, 'model').open(TENANT, id, await stored())).toBeUndefined();
  });
});
