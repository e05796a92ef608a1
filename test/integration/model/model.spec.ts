import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { systemCaller, TenantRevision } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { ModelResolver } from '../../../src/model/index.js';
import type { ResolvedChatModel } from '../../../src/model/index.js';
import { canary } from '../../support/canary.js';
import { makeKey } from '../../support/api-keys.js';
import { createAgent } from '../../support/agents.js';
import { createKnowledge } from '../../support/knowledge.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Model {
  id: number;
  modelName: string;
  modelDescribe: string;
  category: string;
  hasApiKey: boolean;
}

const TENANT = '000000';

describe('models', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let stranger: Session;
  let apiHost: string;

  beforeAll(async () => {
    simulator = await startSimulator();
    apiHost = `${simulator.url}/v1`;
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    for (const providerCode of [
      'custom_api',
      'custom_messages',
      'mystery',
      'image_sdk',
      'ollama',
    ]) {
      await admin.post('/system/provider', { providerName: providerCode, providerCode });
    }
    const tenant = { companyName: 'Other', tenantId: '700011' };
    await admin.post('/system/tenant', {
      ...tenant,
      username: 'other',
      password: 'other-password',
    });
    stranger = await plinth.signIn('other', 'other-password', '700011');
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  let counter = 0;
  function body(fields: object = {}): Record<string, unknown> {
    counter += 1;
    const modelName = `model-${counter}`;
    return { providerCode: 'custom_api', category: 'chat', modelName, apiHost, ...fields };
  }

  async function create(fields: object = {}): Promise<Model> {
    const answer = await admin.post<Model>('/system/model', body(fields));
    expect(answer.msg).toBe('Done.');
    return answer.data;
  }

  async function setProvider(providerCode: string, change: object): Promise<void> {
    const list = await admin.get<{ id: number }[]>(
      `/system/provider/list?providerCode=${providerCode}`,
    );
    const answer = await admin.put('/system/provider', { id: list.rows[0]?.id, ...change });
    expect(answer.code).toBe(200);
  }

  async function resolve(modelName: string | undefined): Promise<ResolvedChatModel> {
    const revision = await plinth.app.get(TenantRevision).current(TENANT);
    return plinth.app
      .get(ModelResolver, { strict: false })
      .resolveChat(systemCaller(TENANT, revision), modelName);
  }

  describe('records', () => {
    it('keeps all fields, reads digit strings, and never answers the key', async () => {
      const apiKey = canary.plant('model');
      const created = await admin.post<Model>(
        '/system/model',
        body({
          modelName: ' vendor/name-with-slash ',
          modelDescribe: 'Shown',
          category: 'vector',
          modelDimension: '384',
          apiHost: ` ${apiHost} `,
          apiKey,
          remark: 'note',
          contextWindow: '128000',
          maxOutput: 4096,
          supportsTools: 'true',
          supportsVision: 0,
          strictParameters: 'true',
          inputPrice: '0.15',
          outputPrice: 0,
          cachedInputPrice: '0.01',
        }),
      );
      const detail = await admin.get<Model>(`/system/model/${created.data.id}`);
      expect(detail.data).toEqual({
        id: created.data.id,
        revision: 1,
        providerCode: 'custom_api',
        category: 'vector',
        modelName: 'vendor/name-with-slash',
        modelDescribe: 'Shown',
        modelShow: 'Y',
        modelDimension: 384,
        apiHost,
        hasApiKey: true,
        authType: 'bearer',
        keyWeight: 1,
        keys: [],
        fallbackIds: [],
        remark: 'note',
        contextWindow: 128000,
        maxOutput: 4096,
        supportsTools: true,
        supportsVision: false,
        strictParameters: true,
        inputPrice: 0.15,
        outputPrice: 0,
        cachedInputPrice: 0.01,
        imagePrice: null,
        secondPrice: null,
        characterPrice: null,
        batchPriceFactor: null,
        ...{ cacheWritePrice: null, cacheWriteHourPrice: null, minimumPrice: null },
        ...{ audioInputPrice: null, audioOutputPrice: null },
        ...{ webSearchPrice: null, codeRunPrice: null, currency: null, priceSource: null },
        ...{ contextTiers: [], serviceTierFactors: [] },
        createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d /),
        updateTime: expect.stringMatching(/^\d{4}-\d\d-\d\d /),
      });
      expect(created.data).toEqual(detail.data);
    });

    it('calls nobody when a model is saved, changed, listed or deleted', async () => {
      const { id } = await create({ apiKey: canary.plant('silent') });
      await admin.put('/system/model', { id, apiHost: `${simulator.url}/other`, apiKey: 'new' });
      await admin.get('/system/model/list');
      await admin.get('/system/model/modelList');
      await admin.put('/system/model/batchKeyByProvider', {
        providerCode: 'custom_api',
        apiKey: 'x',
      });
      await admin.delete(`/system/model/${id}`);
      expect(simulator.requests).toHaveLength(0);
    });

    it.each([
      [{ category: 'vector' }, 'modelDimension is required for a model of category vector'],
      [{ category: 'vector', modelDimension: 0 }, 'modelDimension must be at least 1'],
      [{ category: 'vector', modelDimension: 'many' }, 'modelDimension must be a whole number'],
      [{ category: 'poetry' }, 'category must be one of chat, vector, rerank'],
      [{ category: undefined }, 'category must be one of'],
      [{ modelName: ' ' }, 'modelName must not be empty'],
      [{ modelName: 'x'.repeat(201) }, 'modelName must have at most 200 characters'],
      [{ apiHost: undefined }, 'apiHost must not be empty. Enter the address of the service'],
      [{ apiHost: '  ' }, 'apiHost must not be empty. Enter the address of the service'],
      [{ apiHost: 'api.example.com' }, 'The service address must be a valid http or https address'],
      [{ apiHost: 'ftp://example.com', providerCode: 'mystery' }, 'neither http nor https'],
      [{ apiHost: 'http://169.254.169.254/v1' }, 'This address is refused (cloud metadata)'],
      [{ apiHost: 'https://x.com/v1/messages' }, 'does not match the protocol'],
      [
        { apiHost: 'https://x.com/v1/chat/completions', providerCode: 'custom_messages' },
        'does not match the protocol',
      ],
      [
        { providerCode: 'nobody' },
        'The provider nobody does not exist or is not enabled. Enable the provider, or choose another one.',
      ],
      [{ inputPrice: -1 }, 'inputPrice must be at least 0'],
      [{ inputPrice: 0.000_000_4 }, 'inputPrice must be 0 or at least 0.000001'],
    ])('refuses %j', async (fields, msg) => {
      const answer = await admin.post('/system/model', body(fields));
      expect(answer.code).toBe(400);
      expect(answer.msg).toContain(msg);
    });

    it.each(['http://example.com\0.evil/', 'http://127.0.0.1\0.example.com/'])(
      'refuses the address %j, of which two programs could read two hosts',
      async (address) => {
        const answer = await admin.post('/system/model', body({ apiHost: address }));
        expect(answer.code).toBe(400);
      },
    );

    it('needs no address for the provider code whose adapter knows it', async () => {
      const fields = { providerCode: 'image_sdk', category: 'image', apiHost: undefined };
      const { id } = await create(fields);
      expect((await admin.get<{ apiHost: string }>(`/system/model/${id}`)).data.apiHost).toBe('');
    });

    it('accepts a full endpoint address of the chosen protocol', async () => {
      const { id } = await create({ apiHost: `${apiHost}/chat/completions/` });
      const test = await admin.post<{ ok: boolean; url: string }>(`/system/model/${id}/test`, {});
      expect(test.data.url).toBe(`${apiHost}/chat/completions`);
    });

    it('stores reranker as rerank, and finds it by either word', async () => {
      const { id, category, modelName } = await create({ category: 'reranker' });
      expect(category).toBe('rerank');
      for (const word of ['rerank', 'reranker']) {
        const list = await admin.get<Model[]>(
          `/system/model/list?category=${word}&modelName=${modelName}`,
        );
        expect(list.rows.map((row) => row.id)).toEqual([id]);
        const shown = await admin.get<Model[]>(`/system/model/modelList?category=${word}`);
        expect(shown.data.map((row) => row.id)).toContain(id);
      }
    });

    it('keeps absent and null fields on an edit, and empties those that come empty', async () => {
      const { id } = await create({
        apiKey: canary.plant('kept'),
        remark: 'note',
        modelDescribe: 'Shown',
        contextWindow: 1000,
        maxOutput: 100,
        supportsTools: true,
        inputPrice: 1,
      });
      const { data } = await admin.put<Model>('/system/model', {
        id: String(id),
        apiKey: '',
        remark: '',
        modelDescribe: null,
        contextWindow: '',
        maxOutput: null,
        supportsTools: '',
        inputPrice: '',
      });
      expect(data).toMatchObject({
        hasApiKey: true,
        remark: '',
        modelDescribe: 'Shown',
        contextWindow: null,
        maxOutput: 100,
        supportsTools: null,
        inputPrice: null,
      });
      const refused = await admin.put('/system/model', { id, apiHost: '' });
      expect(refused.msg).toContain('apiHost must not be empty');
      const nameless = await admin.put('/system/model', { id, modelName: ' ' });
      expect(nameless.msg).toBe('modelName must not be empty');
      const vector = await admin.put('/system/model', { id, category: 'vector' });
      expect(vector.msg).toContain('modelDimension is required');
    });

    it('allows a name twice and warns of it', async () => {
      const first = await create({ modelName: 'twice' });
      const answer = await admin.post<Model>('/system/model', body({ modelName: 'twice' }));
      expect(answer.code).toBe(200);
      expect(answer.msg).toBe(
        `Done. 2 models are named twice; requests by name use the one with id ${first.id}. Give each its own name.`,
      );
      expect((await resolve('twice')).id).toBe(first.id);
      await admin.delete(`/system/model/${first.id}`);
      expect((await resolve('twice')).id).toBe(answer.data.id);
    });

    it('lists pages newest first, with filters', async () => {
      const ids = [];
      for (const modelName of ['pg-One', 'pg-two', 'pg-three']) {
        ids.push((await create({ modelName, modelDescribe: `About ${modelName}` })).id);
      }
      const page = await admin.get<Model[]>(
        '/system/model/list?modelName=PG-&pageNum=2&pageSize=2',
      );
      expect(page).not.toHaveProperty('data');
      expect(page.total).toBe(3);
      expect(page.rows.map((row) => row.id)).toEqual([ids[0]]);
      const described = await admin.get<Model[]>('/system/model/list?modelDescribe=about pg-t');
      expect(described.rows.map((row) => row.modelName)).toEqual(['pg-three', 'pg-two']);
      const coded = await admin.get<Model[]>('/system/model/list?providerCode=custom_m');
      expect(coded.total).toBe(0);
    });

    it('says what used a deleted model and has none any more', async () => {
      const vector = { category: 'vector', modelDimension: 8 };
      const embedding = await create({ ...vector, modelName: 'embed' });
      const again = body({ ...vector, modelName: 'embed', apiHost });
      const reranking = await create({ category: 'rerank', modelName: 'rerank' });
      const reading = await create({ modelName: 'reads', supportsVision: true });
      const base = { embeddingModel: 'embed', rerankModel: 'rerank' };
      await createKnowledge(admin, { ...base, name: 'Ranked', enableRerank: 1 });
      const read = { ...base, name: 'Read', enableOcr: 1, ocrModel: 'reads' };
      await createKnowledge(admin, read);
      await createAgent(admin, reading.id);
      const settings = 'Choose another model in its settings, or create one of the same name.';

      expect((await admin.delete(`/system/model/${reranking.id}`)).msg).toBe(
        `Done. 1 knowledge base uses rerank. ${settings}`,
      );
      expect((await admin.delete(`/system/model/${reading.id}`)).msg).toBe(
        `Done. 1 knowledge base uses reads. ${settings} 1 agent uses reads. Choose another model for it.`,
      );
      const { data: second } = await admin.post<Model>('/system/model', again);
      // The other one answers to the name.
      expect((await admin.delete(`/system/model/${second.id}`)).msg).toBe('Done.');
      expect((await admin.delete(`/system/model/${embedding.id}`)).msg).toBe(
        `Done. 2 knowledge bases use embed. ${settings.replace('its', 'their')}`,
      );
    });

    it('says what used a model that was renamed, moved or resized', async () => {
      const vector = { category: 'vector', modelDimension: 8 };
      const embedding = await create({ ...vector, modelName: 'moves' });
      const twin = await create({ ...vector, modelName: 'twin' });
      const chat = await create({ modelName: 'chats' });
      await create({ modelName: 'falls-back', fallbackIds: [chat.id] });
      const context = { contextModel: 'chats' };
      await createKnowledge(admin, { name: 'Moved', embeddingModel: 'moves', ...context });
      await createAgent(admin, chat.id);
      await createAgent(admin, chat.id);
      await makeKey(admin, { permissions: ['chat:chat:use'], modelIds: [chat.id] });
      const save = async (id: number, fields: object): Promise<string> =>
        (await admin.put('/system/model', { id, ...fields })).msg;
      const settings = 'Choose another model in its settings, or create one of the same name.';
      const lost = (name: string): string => `Done. 1 knowledge base uses ${name}. ${settings}`;
      const apiKey = '1 API key limited to chosen models';

      expect(await save(embedding.id, { remark: 'x', modelDescribe: 'Moves' })).toBe('Done.');
      expect(await save(embedding.id, { modelDimension: 16 })).toBe(
        'Done. 1 knowledge base uses moves, whose vectors have another dimension now. Parse its documents again.',
      );
      expect(await save(embedding.id, { modelName: 'moved' })).toBe(lost('moves'));
      // The one that has the name now answers to it.
      expect(await save(twin.id, { modelName: 'moves' })).toBe('Done.');
      expect(await save(embedding.id, { category: 'chat' })).toBe('Done.');

      // Agents and fallbacks name it by its id.
      expect(await save(chat.id, { modelName: 'talks' })).toBe(
        `${lost('chats')} Also affected: ${apiKey}.`,
      );
      expect(await save(chat.id, { modelName: 'chats' })).toBe(`Done. Also affected: ${apiKey}.`);
      expect(await save(chat.id, { category: 'rerank' })).toBe(
        `${lost('chats')} 2 agents use chats. Choose another model for them. Also affected: ${apiKey} and 1 model that loses a fallback.`,
      );
    });

    it('deletes all of a list or none, for good', async () => {
      const one = await create();
      const other = await create();
      expect((await admin.delete(`/system/model/${one.id},999999`)).code).toBe(404);
      expect((await admin.get(`/system/model/${one.id}`)).code).toBe(200);
      expect((await admin.delete(`/system/model/${one.id},${other.id}`)).code).toBe(200);
      expect((await admin.get(`/system/model/${one.id}`)).msg).toBe(
        'The model was not found. It may have been deleted.',
      );
    });

    it('answers records of another tenant like missing ones', async () => {
      const { id } = await create();
      const missing = 'The model was not found. It may have been deleted.';
      for (const answer of [
        await stranger.get(`/system/model/${id}`),
        await stranger.put('/system/model', { id, remark: 'mine' }),
        await stranger.delete(`/system/model/${id}`),
        await stranger.post(`/system/model/${id}/test`, {}),
      ]) {
        expect(answer).toEqual({ code: 404, msg: missing, data: null });
      }
      expect((await stranger.get('/system/model/list')).total).toBe(0);
    });
  });

  describe('choices', () => {
    it('answers entries as data, rows and total, with a label for each', async () => {
      const { id, modelName } = await create({ modelDescribe: '  ', remark: 'secret note' });
      const hidden = await create({ modelShow: 'N' });
      const vector = await create({ category: 'vector', modelDimension: 3 });
      const answer = await admin.get<Model[]>('/system/model/modelList');
      expect(answer.rows).toEqual(answer.data);
      expect(answer.total).toBe(answer.data.length);
      const entry = answer.data.find((one) => one.id === id);
      expect(entry).toEqual({
        id,
        modelName,
        modelDescribe: modelName,
        providerCode: 'custom_api',
      });
      const ids = answer.data.map((one) => one.id);
      expect(ids).toEqual([...ids].sort((a, b) => a - b));
      expect(ids).not.toContain(hidden.id);
      expect(ids).not.toContain(vector.id);
      const vectors = await admin.get<Model[]>(
        '/system/model/modelList?category=vector&pageSize=1000',
      );
      expect(vectors.data.map((one) => one.id)).toContain(vector.id);
    });

    it.each(['\u200b', ' \u2060\ufeff\t', '\u00ad'])(
      'names a model by its modelName where the display name %j shows nothing',
      async (modelDescribe) => {
        const { id, modelName } = await create({ modelDescribe });
        const { data } = await admin.get<Model[]>('/system/model/modelList');
        expect(data.find((one) => one.id === id)).toMatchObject({ modelDescribe: modelName });
      },
    );

    it('takes a category of blanks as none, and one with blanks around it as it is', async () => {
      const chat = await create();
      const vector = await create({ category: 'vector', modelDimension: 3 });
      const idsOf = async (path: string): Promise<number[]> =>
        (await admin.get<Model[]>(path)).rows.map(({ id }) => id);
      const defaults = await idsOf('/system/model/modelList');
      expect(defaults).toContain(chat.id);
      expect(await idsOf('/system/model/modelList?category=%20%20')).toEqual(defaults);
      expect(await idsOf('/system/model/modelList?category=%20vector%20')).toContain(vector.id);
      const all = await idsOf('/system/model/list');
      expect(all).toEqual(expect.arrayContaining([chat.id, vector.id]));
      expect(await idsOf('/system/model/list?category=%20')).toEqual(all);
    });

    it('names the codes that have an adapter', async () => {
      const { data } = await stranger.get<
        { label: string; value: string; defaultAddress: string | null }[]
      >('/system/model/providerOptions');
      const values = data.map((option) => option.value);
      expect(values).toEqual(expect.arrayContaining(['custom_api', 'custom_messages', 'ollama']));
      expect(values).toEqual(expect.arrayContaining(['media_sync', 'media_async', 'image_sdk']));
      expect(new Set(values).size).toBe(values.length);
      expect(values).not.toContain('mystery');
      expect(data.every((option) => option.label !== '')).toBe(true);
      const defaults = new Map(data.map((option) => [option.value, option.defaultAddress]));
      expect([defaults.get('custom_api'), defaults.get('image_sdk')]).toEqual([null, '']);
    });
  });

  describe('a disabled provider', () => {
    const unavailable =
      'The provider custom_messages does not exist or is not enabled. Enable the provider, or choose another one.';

    it('hides its models and refuses saving and calling until it is enabled again', async () => {
      const { id, modelName } = await create({ providerCode: 'custom_messages' });
      await resolve(modelName);
      await setProvider('custom_messages', { status: 1 });
      const listed = await admin.get<Model[]>('/system/model/modelList');
      expect(listed.data.map((one) => one.id)).not.toContain(id);
      const records = await admin.get<Model[]>(`/system/model/list?modelName=${modelName}`);
      expect(records.total).toBe(1);
      for (const answer of [
        await admin.post('/system/model', body({ providerCode: 'custom_messages' })),
        await admin.put('/system/model', { id, remark: 'x' }),
        await admin.put('/system/model/batchKeyByProvider', {
          providerCode: 'custom_messages',
          apiKey: 'x',
        }),
      ]) {
        expect(answer).toMatchObject({ code: 400, msg: unavailable });
      }
      await expect(resolve(modelName)).rejects.toThrow(
        `The model ${modelName} cannot be called. ${unavailable}`,
      );
      expect(simulator.requests).toHaveLength(0);
      await setProvider('custom_messages', { status: 0 });
      expect((await resolve(modelName)).id).toBe(id);
    });
  });

  describe('resolution', () => {
    it('gives record, adapter and connection; unknown facts are undefined', async () => {
      const apiKey = canary.plant('resolved');
      const created = await create({ apiKey, modelDescribe: 'Label', supportsTools: false });
      await setProvider('custom_api', { protocolVersion: '2099-01-01' });
      const model = await resolve(created.modelName);
      const { adapter, ...rest } = model;
      expect(adapter.code).toBe('custom_api');
      expect(rest).toEqual({
        id: created.id,
        tenantId: '000000',
        keyVersion: expect.any(String),
        keyWeight: 1,
        revision: expect.any(Number),
        modelName: created.modelName,
        label: 'Label',
        category: 'chat',
        providerCode: 'custom_api',
        connection: { address: apiHost, credential: apiKey, protocolVersion: '2099-01-01' },
        modelDimension: undefined,
        contextWindow: undefined,
        maxOutput: undefined,
        supportsTools: false,
        supportsVision: undefined,
        strictParameters: false,
      });
    });

    it('takes the first model that end users may choose when no name is given', async () => {
      const shown = await admin.get<Model[]>('/system/model/modelList');
      expect((await resolve('')).id).toBe(shown.data[0]?.id);
      expect((await resolve(undefined)).id).toBe(shown.data[0]?.id);
      const other = plinth.app.get(ModelResolver, { strict: false });
      await expect(other.resolveChat(systemCaller('700011', 1), ' ')).rejects.toThrow(
        'There is no chat model yet.',
      );
    });

    it('says which name is unknown, of another category, or without an adapter', async () => {
      const rerank = await create({ category: 'rerank' });
      const mystery = await create({ providerCode: 'mystery' });
      await expect(resolve('no-such')).rejects.toThrow('There is no model named no-such.');
      await expect(resolve(rerank.modelName)).rejects.toThrow(
        `The model ${rerank.modelName} is of category rerank and cannot be used for chat.`,
      );
      await expect(resolve(mystery.modelName)).rejects.toThrow(
        'Unsupported model category: mystery.',
      );
    });

    it('asks the database once per revision, and again after any change', async () => {
      const { id, modelName } = await create({ apiKey: canary.plant('first') });
      const first = await resolve(modelName);
      expect(await resolve(modelName)).toBe(first);
      const second = canary.plant('second');
      await admin.put('/system/model', { id, apiKey: second });
      const next = await resolve(modelName);
      expect(next).not.toBe(first);
      expect(next.connection.credential).toBe(second);
    });

    it('does not keep for a revision what was read while it moved', async () => {
      const { id, modelName } = await create({ modelDescribe: 'before' });
      const resolver = plinth.app.get(ModelResolver, { strict: false });
      const revision = await plinth.app.get(TenantRevision).current(TENANT);
      const caller = systemCaller(TENANT, revision);
      await admin.put('/system/model', { id, modelDescribe: 'after' });
      const late = await resolver.resolveChat(caller, modelName);
      expect(late.label).toBe('after');
      expect(await resolver.resolveChat(caller, modelName)).not.toBe(late);
      const current = await resolve(modelName);
      expect(await resolver.resolveChat(caller, modelName)).not.toBe(current);
      expect(await resolve(modelName)).toBe(current);
    });

    it('shares one reading among those who ask at once, and forgets failures', async () => {
      const { modelName } = await create();
      const [one, other] = await Promise.all([resolve(modelName), resolve(modelName)]);
      expect(one).toBe(other);
      await expect(resolve('comes-later')).rejects.toThrow('no model named comes-later');
      const database = plinth.app.get(Database);
      await database.query(
        "INSERT INTO model (tenant_id, provider_code, category, model_name, api_host) VALUES ('000000', 'custom_api', 'chat', 'comes-later', $1)",
        [apiHost],
      );
      expect((await resolve('comes-later')).modelName).toBe('comes-later');
    });
  });
});
