import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { systemCaller, TenantRevision } from '../../../src/platform/access/index.js';
import { Database, SealedColumns } from '../../../src/platform/database/index.js';
import { ModelResolver } from '../../../src/model/index.js';
import { canary } from '../../support/canary.js';
import { OpenChat } from '../../support/chat.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { columnOf } from '../../support/secret-keys.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

interface Diagnosis {
  ok: boolean;
  normalizedAddress: string;
  url: string;
  steps: { step: string; ok: boolean; ms: number; detail: string }[];
  status?: number;
  fault?: string;
  advice: string;
  firstTokenMs?: number;
  dimension?: number;
  answerPreview?: string;
}

const TENANT = '000000';

describe('model credentials', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let database: Database;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    database = plinth.app.get(Database);
    admin = await plinth.signIn();
    for (const providerCode of [
      'custom_api',
      'custom_messages',
      'ollama',
      'mystery',
      'image_sdk',
    ]) {
      await admin.post('/system/provider', { providerName: providerCode, providerCode });
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  let counter = 0;
  async function create(fields: object): Promise<{ id: number; modelName: string }> {
    counter += 1;
    const answer = await admin.post<{ id: number; modelName: string }>('/system/model', {
      providerCode: 'custom_api',
      category: 'chat',
      modelName: `model-${counter}`,
      apiHost: `${simulator.url}/v1`,
      ...fields,
    });
    expect(answer.msg).toBe('Done.');
    return answer.data;
  }

  async function keyOf(modelName: string): Promise<string | undefined> {
    const revision = await plinth.app.get(TenantRevision).current(TENANT);
    const resolver = plinth.app.get(ModelResolver, { strict: false });
    const model = await resolver.resolveChat(systemCaller(TENANT, revision), modelName);
    return model.connection.credential;
  }

  async function stored(id: number): Promise<string | null> {
    const rows = await database.query<{ credential: string | null }>(
      'SELECT credential FROM model WHERE tenant_id = $1 AND id = $2',
      [TENANT, id],
    );
    return rows[0]?.credential ?? null;
  }

  async function storedKey(id: number): Promise<string> {
    const column = columnOf(plinth.app.get(SealedColumns), 'model');
    return column.open(TENANT, id, (await stored(id)) ?? '') ?? '';
  }

  /** Writes past the service, as somebody with access to the database could. */
  async function overwrite(id: number, credential: string | null): Promise<void> {
    await database.query('UPDATE model SET credential = $3 WHERE tenant_id = $1 AND id = $2', [
      TENANT,
      id,
      credential,
    ]);
    await plinth.app.get(TenantRevision).increment(TENANT);
  }

  async function test(id: number, body: object = {}): Promise<Diagnosis> {
    const answer = await admin.post<Diagnosis>(`/system/model/${id}/test`, body);
    expect([answer.code, answer.msg]).toEqual([200, 'Done.']);
    return answer.data;
  }

  function stepsOf(diagnosis: Diagnosis): string[] {
    return diagnosis.steps.map(({ step, ok }) => (ok ? step : `${step} failed`));
  }

  describe('storage', () => {
    it('is encrypted, and differs for equal keys', async () => {
      const apiKey = canary.plant('stored');
      const one = await create({ apiKey: `  ${apiKey}\n` });
      const other = await create({ apiKey });
      const texts = [await stored(one.id), await stored(other.id)];
      expect(texts[0]).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]+$/);
      expect(texts[0]).not.toBe(texts[1]);
      expect(texts.join()).not.toContain(apiKey);
      expect(await keyOf(one.modelName)).toBe(apiKey);
      const detail = await admin.get<object>(`/system/model/${one.id}`);
      expect(detail.data).not.toHaveProperty('apiKey');
      expect(detail.data).not.toHaveProperty('credential');
      expect(JSON.stringify(detail)).not.toContain(texts[0]);
    });

    it('stays empty without a key, and such a model is called without one', async () => {
      const { id, modelName } = await create({
        apiKey: ' ',
        providerCode: 'ollama',
        apiHost: simulator.url,
      });
      expect(await stored(id)).toBeNull();
      expect(await keyOf(modelName)).toBeUndefined();
      expect((await test(id)).ok).toBe(true);
      expect(simulator.requests[0]?.headers).not.toHaveProperty('authorization');
    });

    it('keeps the key on an edit without one, and uses a new one at the next call', async () => {
      const first = canary.plant('first');
      const second = canary.plant('second');
      const { id } = await create({ apiKey: first });
      await admin.put('/system/model', { id, remark: 'edited', apiKey: '' });
      await admin.put('/system/model', { id, remark: 'edited again', apiKey: null });
      await test(id);
      expect(simulator.requests.at(-1)?.headers.authorization).toBe(`Bearer ${first}`);
      await admin.put('/system/model', { id, apiKey: second });
      await test(id);
      expect(simulator.requests.at(-1)?.headers.authorization).toBe(`Bearer ${second}`);
    });

    it('cannot be moved to another row, nor changed in place, and says what to do', async () => {
      const victim = await create({ apiKey: canary.plant('victim') });
      const thief = await create({ apiKey: canary.plant('thief') });
      await overwrite(thief.id, await stored(victim.id));
      await expect(keyOf(thief.modelName)).rejects.toThrow('Enter the API key again.');
      const sealed = await stored(victim.id);
      await overwrite(victim.id, `${sealed?.slice(0, -2)}AA`);
      await expect(keyOf(victim.modelName)).rejects.toThrow('Enter the API key again.');
      const answer = await admin.post(`/system/model/${victim.id}/test`, {});
      expect([answer.code, answer.msg]).toEqual([
        500,
        'The stored API key of this model cannot be decrypted, probably because SECRET_KEY was changed. Enter the API key again.',
      ]);
      const apiKey = canary.plant('again');
      await admin.put('/system/model', { id: victim.id, apiKey });
      expect(await keyOf(victim.modelName)).toBe(apiKey);
    });

    it('changes the keys of all models of a provider code, each sealed for itself', async () => {
      const one = await create({ providerCode: 'custom_messages', apiKey: canary.plant('one') });
      const other = await create({ providerCode: 'custom_messages' });
      const untouched = await create({ apiKey: 'other' });
      const apiKey = canary.plant('batch');
      const answer = await admin.put('/system/model/batchKeyByProvider', {
        providerCode: 'custom_messages',
        apiKey,
      });
      expect(answer).toEqual({
        code: 200,
        msg: 'The API key of 2 models of custom_messages was replaced.',
        data: null,
      });
      expect(await keyOf(one.modelName)).toBe(apiKey);
      expect(await keyOf(other.modelName)).toBe(apiKey);
      expect(await keyOf(untouched.modelName)).toBe('other');
      const empty = await admin.put('/system/model/batchKeyByProvider', {
        providerCode: 'custom_messages',
        apiKey: ' ',
      });
      expect(empty.msg).toBe('apiKey must not be empty');
    });

    it.each([
      ['a line break', 'sk-one\nsk-two', 7],
      ['a tab', 'sk-one\tsk-two', 7],
      ['a control character of Latin-1', 'sk-\u0085-one', 4],
      ['an invisible space', 'sk-\u200b-one', 4],
      ['another alphabet', 'ключ-к-модели', 1],
      ['half a character', 'sk-one-\ud83d', 8],
    ])('takes no key with %s, which could never be sent', async (_, apiKey, position) => {
      const refusal = `apiKey cannot be sent: character ${position} is a control character or is outside Latin-1. Copy the key again, without line breaks and invisible characters.`;
      const kept = canary.plant('sendable');
      const { id } = await create({ providerCode: 'mystery', apiKey: kept });
      const answers = [
        await admin.post('/system/model', {
          providerCode: 'mystery',
          category: 'image',
          modelName: 'unsendable',
          apiHost: `${simulator.url}/v1`,
          apiKey,
        }),
        await admin.put('/system/model', { id, apiKey }),
        await admin.put('/system/model/batchKeyByProvider', { providerCode: 'mystery', apiKey }),
      ];
      expect(answers.map(({ code, msg }) => [code, msg])).toEqual(
        answers.map(() => [400, refusal]),
      );
      const { total } = await admin.get('/system/model/list?modelName=unsendable');
      expect(total).toBe(0);
      expect(await storedKey(id)).toBe(kept);
    });

    it('takes what a header can carry, without the white space around it', async () => {
      const { id } = await create({ apiKey: '\n \ufeffkey of ünits\u00a0\n' });
      await test(id);
      const sent = simulator.requests.at(-1)?.headers.authorization ?? '';
      expect(Buffer.from(sent, 'latin1').toString('latin1')).toBe('Bearer key of ünits');
    });

    it('is audited as a change, without the key', async () => {
      const { id } = await create({ apiKey: canary.plant('audited') });
      await admin.put('/system/model', { id, remark: 'x' });
      await admin.put('/system/model', { id, apiKey: canary.plant('audited-again') });
      const entries = await admin.get<{ action: string; detail: object }[]>(
        `/monitor/audit/list?targetType=model&targetId=${id}`,
      );
      expect(entries.rows.map(({ action, detail }) => [action, detail])).toEqual([
        ['credential-change', {}],
        ['update', { fields: [] }],
        ['update', { fields: ['remark'] }],
        ['credential-change', {}],
        ['create', expect.objectContaining({ category: 'chat' })],
      ]);
    });
  });

  describe('diagnosis', () => {
    it('answers the way, the time and the beginning of the answer', async () => {
      const { id } = await create({ apiHost: simulator.url, apiKey: 'key' });
      const diagnosis = await test(id, { prompt: 'Hello there' });
      expect(diagnosis).toMatchObject({
        ok: true,
        status: 200,
        normalizedAddress: `${simulator.url}/v1`,
        url: `${simulator.url}/v1/chat/completions`,
        advice: 'The model can be used.',
      });
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect', 'http', 'answer']);
      expect(diagnosis.firstTokenMs).toBeGreaterThanOrEqual(0);
      expect(diagnosis.answerPreview).not.toBe('');
      expect(simulator.requests).toHaveLength(1);
      expect(JSON.stringify(simulator.requests[0]?.body)).toContain('Hello there');
    });

    it('tells a client that reads a stream of each step as it happens', async () => {
      const { id } = await create({ apiKey: 'key' });
      simulator.script({ text: 'Hello.', hold: true });
      const stream = await OpenChat.send(admin.inLanguage('zh'), {}, `/system/model/${id}/test`);

      await stream.until('event: start\ndata: {"step":"http"}');
      await eventually(
        () => simulator.held,
        (held) => held === 1,
      );
      simulator.release();
      const { frames } = await stream.rest();

      const steps = ['address', 'dns', 'connect', 'http', 'answer'];
      expect(frames.map(({ event, data }) => [event, data['step']])).toEqual([
        ...steps.flatMap((step) => [
          ['start', step],
          ['step', step],
        ]),
        ['done', undefined],
      ]);
      const ends = frames.filter(({ event }) => event === 'step').map(({ data }) => data);
      expect(frames.at(-1)?.data).toMatchObject({ ok: true, answerPreview: 'Hello.', steps: ends });
      expect(ends[2]).toMatchObject({ step: 'connect', ok: true, detail: '已连接。' });
    });

    it('answers a refusal as JSON, also to a client that reads a stream', async () => {
      const headers = { accept: 'text/event-stream' };
      const { text } = await admin.raw('POST', '/system/model/999999/test', {}, headers);
      expect(JSON.parse(text)).toMatchObject({ code: 404, data: null });
    });

    it('says in a frame why a test was refused that has begun', async () => {
      const { id: modelId } = await create({ apiKey: 'key' });
      const limit = { scope: 'model', modelId, measure: 'requests-minute', cap: 1 };
      done(await admin.post('/system/limit', limit));
      await test(modelId);

      const stream = await OpenChat.send(admin, {}, `/system/model/${modelId}/test`);
      const { frames } = await stream.rest();

      expect(frames[0]).toMatchObject({ event: 'start', data: { step: 'address' } });
      expect(frames.at(-1)).toMatchObject({
        event: 'error',
        data: { code: 429, msg: expect.stringContaining('requests per minute') },
      });
    });

    it('ends the call when the client of a stream leaves', async () => {
      const { id } = await create({ apiKey: 'key' });
      simulator.script({ text: 'Hello.', hold: true });
      const stream = await OpenChat.send(admin, {}, `/system/model/${id}/test`);
      await eventually(
        () => simulator.held,
        (held) => held === 1,
      );

      stream.leave();

      await eventually(
        () => simulator.openConnections(),
        (open) => open === 0,
      );
    });

    it('stops a long answer once it has seen enough', async () => {
      const { id } = await create({ modelName: 'long--chunks-2000--delay-5', apiKey: 'key' });
      const diagnosis = await test(id);
      expect(diagnosis.ok).toBe(true);
      expect(diagnosis.answerPreview).toHaveLength(200);
      expect(simulator.requests[0]?.ended).not.toBe('completed');
    });

    it.each([
      ['key', { apiKey: 'wrong-key' }, 401, 'Check the key of this model.'],
      ['model', { modelName: 'no-such-model', apiKey: 'key' }, 404, 'does not know this model id'],
      ['rate-limit', { modelName: 'busy--status-429', apiKey: 'key' }, 429, 'rate limit'],
      ['provider', { modelName: 'down--status-503', apiKey: 'key' }, 503, 'overloaded or failing'],
    ])('finds a wrong %s', async (fault, fields, status, advice) => {
      const { id } = await create(fields);
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: false, fault, status });
      expect(diagnosis.advice).toContain(advice);
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect', 'http failed']);
    });

    it('tells a wrong path from a wrong model id', async () => {
      const answers: Record<string, [number, string]> = {
        '/page': [200, '<html><body>Our models</body></html>'],
        '/lost': [404, '<html><body>No such model page</body></html>'],
        '/empty': [404, ''],
        '/json': [404, '{"error":{"message":"Cannot POST /json/chat/completions"}}'],
        '/messages-error': [
          404,
          '{"error":{"type":"not_found_error","message":"model: x not found"}}',
        ],
        '/bad-request': [400, '{"error":{"message":"The model `x` does not exist"}}'],
        '/other-error': [400, '{"error":{"message":"temperature must be 1 for this model"}}'],
      };
      const server = createServer((request, response) => {
        const prefix = request.url?.replace('/chat/completions', '') ?? '';
        const [status, body] = answers[prefix] ?? [500, ''];
        const type = body.startsWith('{') ? 'application/json' : 'text/html';
        response.writeHead(status, { 'content-type': type });
        response.end(body);
      });
      const url = await listening(server);
      const faults: Record<string, string | undefined> = {};
      for (const prefix of Object.keys(answers)) {
        const { id } = await create({ apiHost: url + prefix, apiKey: 'key' });
        const diagnosis = await test(id);
        faults[prefix] = diagnosis.fault;
        const last = prefix === '/page' ? ['http', 'answer failed'] : ['http failed'];
        expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect', ...last]);
        if (diagnosis.fault === 'path') expect(diagnosis.advice).toContain('not at this path');
      }
      expect(faults).toEqual({
        '/page': 'path',
        '/lost': 'path',
        '/empty': 'path',
        '/json': 'path',
        '/messages-error': 'model',
        '/bad-request': 'model',
        '/other-error': 'provider',
      });
      server.close();
    });

    it('finds that nobody listens', async () => {
      const server = createTcpServer();
      const url = await listening(server);
      server.close();
      await once(server, 'close');
      const { id } = await create({ apiHost: `${url}/v1` });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: false, fault: 'connection' });
      expect(diagnosis.advice).toBe(
        'The service could not be reached. Check its address and that it is running.',
      );
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect failed']);
      const { data: read } = await admin
        .inLanguage('zh')
        .post<Diagnosis>(`/system/model/${id}/test`, {});
      expect(read.advice).toBe('无法连接服务。请检查地址以及服务是否在运行。');
      expect(read.steps.map(({ detail }) => detail)).toEqual([
        `调用地址为 ${url}/v1/chat/completions。`,
        '该名称有 1 个地址。',
        '无法连接服务。请检查地址以及服务是否在运行。',
      ]);
    });

    it('finds that the name does not exist', async () => {
      const { id } = await create({ apiHost: 'http://no-such-host.invalid/v1' });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({
        ok: false,
        fault: 'dns',
        url: 'http://no-such-host.invalid/v1/chat/completions',
      });
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns failed']);
    });

    it('finds that the service does not speak TLS', async () => {
      const { id } = await create({ apiHost: `https://127.0.0.1:${simulator.port}/v1` });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: false, fault: 'tls' });
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect', 'tls failed']);
      expect(simulator.requests).toHaveLength(0);
    });

    it('finds that the code has no adapter', async () => {
      const { id } = await create({ providerCode: 'mystery' });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: false, fault: 'unsupported', url: '' });
      expect(stepsOf(diagnosis)).toEqual(['address failed']);
    });

    it('counts the dimensions of a vector model', async () => {
      const fields = { category: 'vector', apiKey: 'key', modelName: 'embedding-256' };
      const right = await create({ ...fields, modelDimension: 256 });
      const wrong = await create({ ...fields, modelName: 'embedding-128', modelDimension: 1024 });
      const good = await test(right.id);
      expect(good).toMatchObject({
        ok: true,
        dimension: 256,
        url: `${simulator.url}/v1/embeddings`,
      });
      expect(stepsOf(good)).toEqual(['address', 'dns', 'connect', 'http', 'answer']);
      const bad = await test(wrong.id);
      expect(bad).toMatchObject({ ok: false, fault: 'dimension', dimension: 128 });
      expect(bad.advice).toBe(
        'modelDimension is 1024, but the model answers 128 dimensions. Set modelDimension to 128.',
      );
      await admin.put('/system/model', { id: right.id, apiKey: 'wrong-key' });
      expect(await test(right.id)).toMatchObject({ ok: false, fault: 'key', status: 401 });
    });

    it('reads vectors in the protocol of the provider', async () => {
      const fields = { category: 'vector', modelName: 'embedding-64', modelDimension: 64 };
      const { id } = await create({ ...fields, providerCode: 'ollama', apiHost: simulator.url });
      expect(await test(id)).toMatchObject({
        ok: true,
        normalizedAddress: simulator.url,
        url: `${simulator.url}/api/embed`,
        dimension: 64,
      });
    });

    it('finds an answer without vectors, and a code without an adapter for them', async () => {
      const fields = { category: 'vector', modelDimension: 384, apiKey: 'key' };
      const odd = await create({ ...fields, modelName: 'odd--toofew' });
      const diagnosis = await test(odd.id);
      expect(diagnosis).toMatchObject({ ok: false, fault: 'path' });
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect', 'http', 'answer failed']);
      const { id } = await create({ ...fields, providerCode: 'mystery' });
      expect(await test(id)).toMatchObject({ ok: false, fault: 'unsupported', url: '' });
    });

    it('has a rerank model put documents in order', async () => {
      const { id } = await create({ category: 'rerank', apiKey: 'key' });
      const good = await test(id);
      expect(good).toMatchObject({
        ok: true,
        normalizedAddress: `${simulator.url}/v1`,
        url: `${simulator.url}/v1/rerank`,
        advice: 'The model can be used.',
      });
      expect(stepsOf(good)).toEqual(['address', 'dns', 'connect', 'http', 'answer']);
      expect(good.steps.at(-1)).toMatchObject({ detail: 'It scored 2 of 2 documents.' });
      const missing = await create({
        category: 'rerank',
        apiKey: 'key',
        modelName: 'no-such-reranker',
      });
      expect(await test(missing.id)).toMatchObject({ ok: false, fault: 'model', status: 404 });
    });

    it('tries only the way for a category without a cheap call', async () => {
      const { id } = await create({ category: 'image', apiHost: `${simulator.url}/v1/` });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: true, url: `${simulator.url}/v1` });
      expect(stepsOf(diagnosis)).toEqual(['address', 'dns', 'connect']);
      expect(simulator.requests).toHaveLength(0);
    });

    it('has nothing to connect to when the adapter knows the address', async () => {
      const { id } = await create({ providerCode: 'image_sdk', category: 'image', apiHost: '' });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: true, url: '' });
      expect(stepsOf(diagnosis)).toEqual(['address']);
    });

    it('never repeats the key, even when the service does', async () => {
      const { id } = await create({ modelName: 'chatty--leak', apiKey: canary.plant('leaked') });
      const diagnosis = await test(id);
      expect(diagnosis).toMatchObject({ ok: false, fault: 'key', status: 401 });
    });
  });
});

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
