import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { sendChat } from '../../support/chat.js';
import { createKnowledge } from '../../support/knowledge.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Provider {
  id: number;
  providerName: string;
  name: string;
  providerCode: string;
  providerIcon: string;
  icon: string;
  providerDesc: string;
  description: string;
  apiHost: string;
  protocolVersion: string;
  sortOrder: number;
  status: number;
  remark: string;
}

describe('providers', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let stranger: Session;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    const tenant = { companyName: 'Other', tenantId: '700010' };
    await admin.post('/system/tenant', {
      ...tenant,
      username: 'other',
      password: 'other-password',
    });
    stranger = await plinth.signIn('other', 'other-password', '700010');
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  let counter = 0;
  function newCode(): string {
    counter += 1;
    return `code_${counter}`;
  }

  async function create(fields: object = {}, session = admin): Promise<Provider> {
    const answer = await session.post<Provider>('/system/provider', {
      providerName: 'A provider',
      providerCode: newCode(),
      ...fields,
    });
    expect(answer.msg).toBe('Done.');
    return answer.data;
  }

  async function codes(query: string, session = admin): Promise<string[]> {
    const list = await session.get<Provider[]>(`/system/provider/list?${query}`);
    expect(list).not.toHaveProperty('data');
    expect(list.total).toBe(list.rows.length);
    return list.rows.map((row) => row.providerCode);
  }

  it('takes the names of the console and answers both spellings', async () => {
    const providerCode = newCode();
    const created = await create({
      providerName: 'Gateway',
      providerCode,
      providerIcon: 'https://example.com/icon.png',
      providerDesc: 'Ours',
      apiHost: simulator.url,
      sortOrder: '7',
      remark: 'note',
    });
    const { data } = await admin.get<Provider>(`/system/provider/${created.id}`);
    expect(data).toEqual({
      id: created.id,
      revision: 1,
      providerName: 'Gateway',
      name: 'Gateway',
      providerCode,
      providerIcon: 'https://example.com/icon.png',
      icon: 'https://example.com/icon.png',
      providerDesc: 'Ours',
      description: 'Ours',
      apiHost: simulator.url,
      protocolVersion: '',
      sortOrder: 7,
      status: 0,
      remark: 'note',
      createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      updateTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
    expect(simulator.requests).toHaveLength(0);
  });

  it('takes the names of the specification as well', async () => {
    const created = await create({
      providerName: undefined,
      name: 'By its other name',
      icon: 'data:image/png;base64,AAAA',
      description: 'Also ours',
    });
    expect(created).toMatchObject({
      providerName: 'By its other name',
      providerIcon: 'data:image/png;base64,AAAA',
      providerDesc: 'Also ours',
    });
  });

  it('refuses an icon that could run in a page', async () => {
    const { id } = await create();
    for (const field of ['providerIcon', 'icon']) {
      for (const icon of ['javascript:alert(1)', 'data:text/html,<script>alert(1)</script>']) {
        const answer = await admin.put('/system/provider', { id, [field]: icon });
        expect(answer).toMatchObject({
          code: 400,
          msg: expect.stringContaining(`${field} must not be a javascript:`),
        });
      }
    }
  });

  it('takes an unnecessary pair as what was changed in it, and refuses a contradiction', async () => {
    const created = await create({ providerName: 'Old' });
    const renamed = await admin.put<Provider>('/system/provider', { ...created, name: 'New' });
    expect(renamed.data).toMatchObject({ name: 'New', providerName: 'New' });
    const again = await admin.put<Provider>('/system/provider', {
      ...renamed.data,
      providerName: 'Newest',
    });
    expect(again.data).toMatchObject({ name: 'Newest', providerName: 'Newest' });
    const contradiction = await admin.put('/system/provider', {
      id: created.id,
      name: 'One',
      providerName: 'Two',
    });
    expect(contradiction.code).toBe(400);
    expect(contradiction.msg).toBe(
      'providerName and name mean the same field, but they differ. Send one of them.',
    );
  });

  it.each([
    [{ providerCode: 'x' }, 'providerName must not be empty.'],
    [{ providerCode: 'x', name: '  ' }, 'providerName must not be empty.'],
    [{ name: 'x' }, 'providerCode is required'],
    [{ providerCode: 'x', name: '\u200b\u2060' }, 'providerName must not be empty.'],
    [
      { name: 'x', providerCode: 'a b' },
      'providerCode must not be empty or hold spaces or invisible characters',
    ],
    [
      { name: 'x', providerCode: 'custom\u200b_api' },
      'providerCode must not be empty or hold spaces or invisible characters',
    ],
    [
      { name: 'x', providerCode: 'custom_api\u00ad' },
      'providerCode must not be empty or hold spaces or invisible characters',
    ],
    [{ name: 'x', providerCode: 'x', status: 2 }, 'status must be 0 (enabled) or 1 (disabled)'],
    [{ name: 'x', providerCode: 'x', sortOrder: 'first' }, 'sortOrder must be a whole number'],
    [
      { name: 'x', providerCode: 'x', apiHost: 'ftp://example.com' },
      'apiHost must be an http or https address such as https://api.example.com/v1.',
    ],
    [
      { name: 'x', providerCode: 'x', apiHost: 'api.example.com' },
      'apiHost must be an http or https address such as https://api.example.com/v1.',
    ],
  ])('refuses %j', async (body, msg) => {
    expect(await admin.post('/system/provider', body)).toEqual({ code: 400, msg, data: null });
  });

  it('refuses true and false as a status, which would mean the opposite', async () => {
    const { id } = await create({});
    for (const status of [true, false]) {
      expect(await admin.put('/system/provider', { id, status })).toMatchObject({
        code: 400,
        msg: 'status must be 0 (enabled) or 1 (disabled)',
      });
    }
    expect((await admin.get<Provider>(`/system/provider/${id}`)).data.status).toBe(0);
  });

  it('keeps absent and null fields on an edit, and empties those that come empty', async () => {
    const created = await create({
      remark: 'note',
      providerDesc: 'text',
      sortOrder: 3,
      status: '1',
    });
    expect(created.status).toBe(1);
    const { data } = await admin.put<Provider>('/system/provider', {
      id: String(created.id),
      remark: '',
      providerDesc: null,
      sortOrder: '',
      status: 0,
    });
    expect(data).toMatchObject({ remark: '', providerDesc: 'text', sortOrder: 3, status: 0 });
    const nameless = await admin.put('/system/provider', { id: created.id, providerName: '' });
    expect(nameless.msg).toBe('providerName must not be empty.');
  });

  it('lists by sortOrder and id, disabled ones included, and filters', async () => {
    const third = await create({ providerName: 'Sorted %_ one', sortOrder: 902 });
    const first = await create({ providerName: 'sorted two', sortOrder: 901 });
    const second = await create({ providerName: 'SORTED three', sortOrder: 901, status: 1 });
    const inOrder = [first, second, third].map((one) => one.providerCode);
    expect(await codes('providerName=sorted')).toEqual(inOrder);
    expect(await codes('name=sorted&status=0')).toEqual([inOrder[0], inOrder[2]]);
    expect(await codes('providerName=sorted&status=1')).toEqual([inOrder[1]]);
    expect(await codes('providerName=%25_')).toEqual([third.providerCode]);
    expect(await codes(`providerCode=${first.providerCode}&providerName=`)).toEqual([inOrder[0]]);
    const page = await admin.get<Provider[]>(
      '/system/provider/list?providerName=sorted&pageNum=2&pageSize=2',
    );
    expect(page.total).toBe(3);
    expect(page.rows.map((row) => row.providerCode)).toEqual([third.providerCode]);
  });

  it('refuses a code twice, on creation and on an edit, but not the own one', async () => {
    const one = await create();
    const other = await create();
    const duplicate = {
      code: 409,
      msg: `The provider code ${one.providerCode} is configured already; do not configure it twice. Change the existing provider instead.`,
      data: null,
    };
    const body = { name: 'Twice', providerCode: one.providerCode };
    expect(await admin.post('/system/provider', body)).toEqual(duplicate);
    expect(await admin.put('/system/provider', { id: other.id, ...body })).toEqual(duplicate);
    const own = await admin.put<Provider>('/system/provider', { id: one.id, ...body });
    expect(own.data.name).toBe('Twice');
    await admin.put('/system/provider', { id: one.id, status: 1 });
    expect(await admin.post('/system/provider', body)).toEqual(duplicate);
  });

  it('lets one of many simultaneous creations of a code win', async () => {
    const body = { name: 'Racer', providerCode: newCode() };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => admin.post('/system/provider', body)),
    );
    const tally = answers.map((answer) => answer.code).sort();
    expect(tally).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
    expect(await codes(`providerCode=${body.providerCode}`)).toEqual([body.providerCode]);
  });

  it('says the same when the index finds the duplicate', async () => {
    const { providerCode } = await create();
    const { ProviderRepository } = await import('../../../src/provider/provider.repository.js');
    const repository = plinth.app.get(ProviderRepository, { strict: false });
    await expect(
      repository.insert('000000', { providerName: 'Racer', providerCode }),
    ).rejects.toThrow('do not configure it twice');
  });

  it('frees a code by deletion, any number of times', async () => {
    const providerCode = newCode();
    for (let round = 0; round < 3; round += 1) {
      const { id } = await create({ providerCode });
      const answer = await admin.delete(`/system/provider/${id}`);
      expect(answer).toEqual({ code: 200, msg: 'Done.', data: null });
      const gone = await admin.get(`/system/provider/${id}`);
      expect(gone.code).toBe(404);
      expect((await admin.put('/system/provider', { id, name: 'Ghost' })).code).toBe(404);
      expect((await admin.delete(`/system/provider/${id}`)).code).toBe(404);
    }
    const rows = await plinth.app
      .get(Database)
      .query<{ count: number }>(
        "SELECT count(*) AS count FROM provider WHERE tenant_id = '000000' AND provider_code = $1 AND deleted_time IS NOT NULL",
        [providerCode],
      );
    expect(rows[0]?.count).toBe(3);
  });

  it('deletes all of a list or none', async () => {
    const one = await create();
    const other = await create();
    const failed = await admin.delete(`/system/provider/${one.id},${other.id},999999`);
    expect(failed.msg).toBe('The provider was not found. It may have been deleted.');
    expect((await admin.get(`/system/provider/${one.id}`)).code).toBe(200);
    expect((await admin.delete(`/system/provider/${one.id},${other.id}`)).code).toBe(200);
    expect((await admin.get(`/system/provider/${other.id}`)).code).toBe(404);
  });

  it('says how many models lose their provider, and says so for a disabled or renamed code too', async () => {
    const provider = await create();
    const { id, providerCode } = provider;
    for (const modelName of ['a', 'b']) {
      const model = { providerCode, modelName, category: 'chat', apiHost: simulator.url };
      expect((await admin.post('/system/model', model)).code).toBe(200);
    }
    const sentence = `Done. 2 models use ${providerCode} and cannot be called until they can use an enabled provider again.`;
    expect((await admin.put('/system/provider', { id, status: 1 })).msg).toBe(sentence);
    expect((await admin.put('/system/provider', { id, status: 0 })).msg).toBe('Done.');
    const moved = { id, providerCode: newCode() };
    expect((await admin.put('/system/provider', moved)).msg).toBe(sentence);
    expect((await admin.put('/system/provider', { id, providerCode })).msg).toBe('Done.');
    expect((await admin.delete(`/system/provider/${id}`)).msg).toBe(sentence);
    const kept = await admin.get<{ id: number }[]>(
      `/system/model/list?providerCode=${providerCode}`,
    );
    expect(kept.total).toBe(2);
    const refused = await admin.post(`/system/model/${kept.rows[0]?.id}/test`, {});
    expect([refused.code, refused.msg]).toEqual([
      400,
      `The model b cannot be called. The provider ${providerCode} does not exist or is not enabled. Enable the provider, or choose another one.`,
    ]);
    expect(simulator.requests).toHaveLength(0);
  });

  it('says what used the models of a provider, and calls of them name the model', async () => {
    const { id, providerCode } = await create();
    const model = async (fields: object): Promise<number> => {
      const body = { providerCode, apiHost: simulator.url, ...fields };
      return done(await admin.post<{ id: number }>('/system/model', body)).data.id;
    };
    const chat = await model({ modelName: 'lost-chat', category: 'chat' });
    const vector = { category: 'vector', modelDimension: 8 };
    await model({ ...vector, modelName: 'lost-embed' });
    const base = await createKnowledge(admin, { name: 'Lost', embeddingModel: 'lost-embed' });
    const agent = await createAgent(admin, chat, { knowledgeIds: [base] });
    const reason = `The provider ${providerCode} does not exist or is not enabled. Enable the provider, or choose another one.`;

    expect((await admin.put('/system/provider', { id, status: 1 })).msg).toBe(
      `Done. 2 models use ${providerCode} and cannot be called until they can use an enabled provider again. Affected: 1 knowledge base and 1 agent.`,
    );
    const asked = await sendChat(admin, { agentId: agent.id, content: 'x' });
    expect(asked.error).toBe(`The model lost-chat cannot be called. ${reason}`);
    const searched = await admin.post('/system/fragment/retrieval', {
      knowledgeId: base,
      query: 'x',
    });
    expect(searched).toMatchObject({
      code: 400,
      msg: `The model lost-embed cannot be called. ${reason}`,
    });
  });

  it('answers records of another tenant like missing ones, and lets both have the same code', async () => {
    const { id, providerCode } = await create();
    const missing = 'The provider was not found. It may have been deleted.';
    for (const answer of [
      await stranger.get(`/system/provider/${id}`),
      await stranger.put('/system/provider', { id, name: 'Mine' }),
      await stranger.delete(`/system/provider/${id}`),
    ]) {
      expect(answer).toEqual({ code: 404, msg: missing, data: null });
    }
    expect(await codes(`providerCode=${providerCode}`, stranger)).toEqual([]);
    await create({ providerCode }, stranger);
    expect(await codes(`providerCode=${providerCode}`, stranger)).toEqual([providerCode]);
  });

  it('increments the revision of its tenant only, and keeps an audit entry without texts', async () => {
    const revision = (): Promise<{ revision: number }[]> =>
      plinth.app
        .get(Database)
        .query("SELECT revision FROM tenant WHERE tenant_id IN ('000000', '700010') ORDER BY id");
    const [before, otherBefore] = await revision();
    const { id } = await create();
    await admin.put('/system/provider', { id, remark: 'new', status: 1 });
    await admin.delete(`/system/provider/${id}`);
    const [after, otherAfter] = await revision();
    expect(after?.revision).toBe((before?.revision ?? 0) + 3);
    expect(otherAfter).toEqual(otherBefore);
    const entries = await admin.get<{ action: string; detail: object }[]>(
      `/monitor/audit/list?targetType=provider&targetId=${id}`,
    );
    expect(entries.rows.map(({ action, detail }) => [action, detail])).toEqual([
      ['delete', {}],
      ['update', { fields: ['status', 'remark'], status: 1 }],
      ['create', { providerCode: expect.any(String) }],
    ]);
  });

  it('needs the permissions of the route', async () => {
    const role = { roleName: 'Reader', roleKey: 'reader', permissions: ['system:provider:list'] };
    await admin.post('/system/role', role);
    const roles = await admin.get<{ roleId: number; id: number; roleKey: string }[]>(
      '/system/role/list?roleKey=reader',
    );
    const roleId = roles.rows[0]?.roleId ?? roles.rows[0]?.id;
    const user = { userName: 'reader', password: 'reader-password', roleIds: [roleId] };
    expect((await admin.post('/system/user', user)).code).toBe(200);
    const reader = await plinth.signIn('reader', 'reader-password');
    expect((await reader.get('/system/provider/list')).code).toBe(200);
    const { id } = await create();
    for (const [answer, permission] of [
      [await reader.get(`/system/provider/${id}`), 'query'],
      [await reader.post('/system/provider', {}), 'add'],
      [await reader.put('/system/provider', {}), 'edit'],
      [await reader.delete(`/system/provider/${id}`), 'remove'],
    ] as const) {
      expect(answer.code).toBe(403);
      expect(answer.msg).toContain(`system:provider:${permission}`);
    }
    expect((await plinth.anonymous().get('/system/provider/list')).code).toBe(401);
  });
});
