import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { agentBody, agentForChat, agentOptions, createAgent } from '../../support/agents.js';
import type { AgentRow } from '../../support/agents.js';
import { createKnowledge } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const PROMPT = 'You are the voice of the walrus.';
const ADDRESS = { apiHost: 'http://127.0.0.1:9' };
const ALL = ['list', 'query', 'add', 'edit', 'remove'].map((action) => `agent:agent:${action}`);

describe('agents', () => {
  let plinth: Plinth;
  let admin: Session;
  let stranger: Session;
  let editor: Session;
  let modelId: number;
  let strangersModel: number;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    ({ admin: stranger } = await makeTenant(plinth, admin, '700030'));
    for (const session of [admin, stranger]) await createProvider(session, 'custom_api');
    modelId = await createModel(admin, { ...ADDRESS, modelName: 'chat-one' });
    strangersModel = await createModel(stranger, { ...ADDRESS, modelName: 'theirs' });
    const mayKnow = ['list', 'query', 'add', 'edit', 'remove'].map((one) => `system:info:${one}`);
    const role = await makeRole(admin, 'editor', [...ALL, ...mayKnow]);
    ({ session: editor } = await makeUser(plinth, admin, 'editor', [role]));
  });

  afterAll(() => plinth.stop());

  function create(fields: object = {}, session = admin): Promise<AgentRow> {
    return createAgent(session, modelId, fields);
  }

  async function get(id: number): Promise<AgentRow> {
    return done(await admin.get<AgentRow>(`/agent/agent/${id}`)).data;
  }

  describe('records', () => {
    it('keep all fields, and read the spellings of existing forms', async () => {
      const first = await createKnowledge(admin, { name: 'First base' });
      const second = await createKnowledge(admin, { name: 'Second base' });
      const created = await create({
        agentName: ' Walrus ',
        agentDescribe: 'Speaks',
        agentShow: 'walrus.png',
        modelId: String(modelId),
        enableThinking: 1,
        systemPrompt: PROMPT,
        mcpToolIds: [],
        skillNames: ['xlsx', 'docx', 'xlsx'],
        knowledgeIds: [String(second), first, second],
        temperature: '0.3',
        topP: 0.9,
        maxTokens: '512',
        status: '0',
        remark: 'note',
      });

      expect(created).toEqual({
        id: expect.any(Number),
        level: 'manage',
        unreadableKnowledgeIds: [],
        agentName: 'Walrus',
        agentDescribe: 'Speaks',
        agentShow: 'walrus.png',
        modelId,
        modelName: 'chat-one',
        enableThinking: '1',
        systemPrompt: PROMPT,
        mcpToolIds: [],
        mcpToolNames: [],
        skillNames: ['xlsx', 'docx'],
        knowledgeIds: [second, first],
        knowledgeNames: ['Second base', 'First base'],
        knowledgeAs: 'caller',
        share: 1,
        filter: null,
        temperature: 0.3,
        topP: 0.9,
        maxTokens: 512,
        responseFormat: null,
        runtime: 'direct',
        tools: [],
        useSkills: false,
        maxSteps: null,
        status: '0',
        remark: 'note',
        revision: 1,
        createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        updateTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      });
      expect(await get(created.id)).toEqual(created);
      const list = await admin.get<AgentRow[]>('/agent/agent/list?agentName=walr');
      expect(list).toMatchObject({ code: 200, total: 1 });
      expect(list.rows).toEqual([created]);
      expect(list).not.toHaveProperty('data');
    });

    it('refuse a picture that could run in a page', async () => {
      const { id } = await create();
      const agentShow = 'javascript:alert(1)';
      expect(await admin.put('/agent/agent', { id, agentShow })).toMatchObject({
        code: 400,
        msg: expect.stringContaining('agentShow must not be a javascript:'),
      });
    });

    it('need no more than a name and a model', async () => {
      expect(await create()).toMatchObject({
        agentDescribe: '',
        agentShow: '',
        enableThinking: '0',
        systemPrompt: '',
        mcpToolIds: [],
        skillNames: [],
        knowledgeIds: [],
        knowledgeNames: [],
        temperature: null,
        topP: null,
        maxTokens: null,
        status: '0',
        remark: '',
      });
    });

    it('keep a filter by metadata until it is cleared, and refuse one that cannot be read', async () => {
      const filter = { and: [{ key: 'year', op: 'gte', value: 2024 }] };
      const { id } = await create({ filter });
      expect(await get(id)).toMatchObject({ filter });
      const kept = await admin.put<AgentRow>('/agent/agent', { id, remark: 'x' });
      expect(kept.data).toMatchObject({ filter });
      const wrong = { and: [{ key: 'year', op: 'gte', value: 'new' }] };
      expect(await admin.put('/agent/agent', { id, filter: wrong })).toMatchObject({
        code: 400,
        msg: expect.stringContaining('filter.and[0].value must be a number or a date'),
      });
      const cleared = await admin.put<AgentRow>('/agent/agent', { id, filter: '' });
      expect(cleared).toMatchObject({ code: 200, data: { filter: null } });
    });

    it('change in what is sent, and empty what is sent empty', async () => {
      const base = await createKnowledge(admin, { name: 'Of a change' });
      const filled = { systemPrompt: PROMPT, temperature: 1, topP: 0.5, maxTokens: 5, remark: 'x' };
      const lists = { skillNames: ['pdf'], knowledgeIds: [base] };
      const before = await create({ ...filled, ...lists });
      const kept = await admin.put<AgentRow>('/agent/agent', {
        id: String(before.id),
        status: 1,
        temperature: null,
        systemPrompt: null,
      });
      const { updateTime: _, revision: __, ...rest } = before;
      expect(kept).toMatchObject({ code: 200, msg: 'Done.', data: { ...rest, status: '1' } });

      const emptied = { systemPrompt: '', remark: '', temperature: '', topP: '', maxTokens: '' };
      const put = { id: before.id, ...emptied, skillNames: [], knowledgeIds: [] };
      expect(done(await admin.put<AgentRow>('/agent/agent', put)).data).toMatchObject({
        agentName: before.agentName,
        systemPrompt: '',
        remark: '',
        temperature: null,
        topP: null,
        maxTokens: null,
        skillNames: [],
        knowledgeIds: [],
      });
    });

    it('are listed with the one changed last first, by name and status, as rows or as data', async () => {
      const names = ['pelican-1', 'pelican-2', 'pelican-3'];
      const made: AgentRow[] = [];
      for (const agentName of names) made.push(await create({ agentName }));
      done(await admin.put('/agent/agent', { id: made[0]?.id, status: '1' }));
      const found = async (query: string): Promise<string[]> => {
        const { rows, total } = done(await admin.get<AgentRow[]>(`/agent/agent/list?${query}`));
        const { data } = done(await admin.get<AgentRow[]>(`/agent/agent/queryList?${query}`));
        expect(data).toEqual(rows);
        expect(total).toBeGreaterThanOrEqual(rows.length);
        return rows.map(({ agentName }) => agentName);
      };

      expect(await found('agentName=PELICAN')).toEqual(['pelican-1', 'pelican-3', 'pelican-2']);
      expect(await found('agentName=pelican&status=1')).toEqual(['pelican-1']);
      expect(await found('agentName=pelican&status=0')).toEqual(['pelican-3', 'pelican-2']);
      expect(await found('agentName=pelican&status=')).toHaveLength(3);
      expect(await found('agentName=pelican&pageNum=2&pageSize=1')).toEqual(['pelican-3']);
      expect(await found('agentName=pelican&orderByColumn=agentName&isAsc=asc')).toEqual(names);
      expect(await found('agentName=%25')).toEqual([]);
    });

    it('are deleted all or none', async () => {
      const [a, b] = [await create(), await create()];

      expect(await admin.delete(`/agent/agent/${a.id},987654321`)).toMatchObject({ code: 404 });
      expect(await get(a.id)).toEqual(a);
      done(await admin.delete(`/agent/agent/${a.id},${b.id}`));
      expect(await admin.get(`/agent/agent/${a.id}`)).toMatchObject({
        code: 404,
        msg: 'The agent was not found. It may have been deleted.',
      });
    });

    it.each([
      [{ agentName: undefined }, 'agentName must not be empty'],
      [{ agentName: ' ' }, 'agentName must not be empty'],
      [{ agentName: 'x'.repeat(201) }, 'agentName must have at most 200 characters'],
      [{ agentDescribe: 'x'.repeat(501) }, 'agentDescribe must have at most 500 characters'],
      [{ modelId: undefined }, 'modelId is missing: choose the chat model that the agent uses'],
      [{ modelId: '' }, 'modelId is missing: choose the chat model that the agent uses'],
      [{ modelId: 'chat-one' }, 'modelId must be'],
      [{ enableThinking: 'yes' }, 'enableThinking must be one of 0, 1'],
      [{ status: '2' }, 'status must be one of 0, 1'],
      [{ temperature: 2.1 }, 'temperature must be at most 2'],
      [{ topP: -0.1 }, 'topP must be at least 0'],
      [{ maxTokens: 0 }, 'maxTokens must be at least 1'],
      [{ mcpToolIds: [5] }, 'There is no accepted tool with the id 5'],
      [
        { skillNames: ['pdf', 'PDF', '../pdf'] },
        'There is no skill named "PDF", "../pdf". The skills are docx, pdf, xlsx.',
      ],
      [
        { skillNames: Array.from({ length: 51 }, (_, n) => `skill-${n}`) },
        'An agent can have at most 50 skills, and 51 were given. Remove some.',
      ],
      [
        { knowledgeIds: Array.from({ length: 21 }, (_, n) => n + 1) },
        'An agent can have at most 20 knowledge bases, and 21 were given. Remove some.',
      ],
    ])('refuse %j', async (fields, msg) => {
      const answer = await admin.post('/agent/agent', agentBody(modelId, fields));

      expect(answer.msg).toContain(msg);
      expect(answer.code).toBe(400);
    });

    it('keep their name on an edit that brings an empty one', async () => {
      const { id } = await create();

      expect(await admin.put('/agent/agent', { id, agentName: '  ' })).toMatchObject({ code: 400 });
    });
  });

  describe('the model', () => {
    it('is one of the tenant, of category chat', async () => {
      const vector = { ...ADDRESS, category: 'vector', modelDimension: 8, modelName: 'embedding' };
      const embedding = await createModel(admin, vector);
      const { id } = await create();
      for (const [chosen, code, msg] of [
        [
          embedding,
          400,
          'The model embedding is of category vector and cannot answer for an agent.',
        ],
        [strangersModel, 404, 'The model was not found.'],
        [987654321, 404, 'The model was not found.'],
      ] as const) {
        for (const answer of [
          await admin.post('/agent/agent', agentBody(chosen)),
          await admin.put('/agent/agent', { id, modelId: chosen }),
        ]) {
          expect(answer).toMatchObject({ code, msg: expect.stringContaining(msg) });
        }
      }
    });

    it('may be deleted; its agents say so', async () => {
      const doomed = await createModel(admin, { ...ADDRESS, modelName: 'doomed' });
      const { id } = await create({ agentName: 'Orphan', modelId: doomed });
      done(await admin.delete(`/system/model/${doomed}`));

      expect(await get(id)).toMatchObject({ modelId: doomed, modelName: null });
      expect((await agentOptions(admin)).find((one) => one.id === id)).toMatchObject({
        modelName: null,
      });
      await expect(agentForChat(plinth, id)).rejects.toThrow(
        'The model of the agent Orphan was deleted. Choose another agent, or ask an administrator to give it another model.',
      );
      done(await admin.put('/agent/agent', { id, agentName: 'Still an orphan' }));
      done(await admin.put('/agent/agent', { id, modelId }));
      expect(await agentForChat(plinth, id)).toMatchObject({ modelId });
    });
  });

  describe('knowledge bases', () => {
    let secret: number;
    let shared: number;
    let own: number;

    beforeAll(async () => {
      secret = await createKnowledge(admin, { name: 'Secret' });
      shared = await createKnowledge(admin, { name: 'Shared', share: 1 });
      own = await createKnowledge(editor, { name: 'Own' });
    });

    it('are bound by those who may read them', async () => {
      const agent = await create({ knowledgeIds: [own, shared] }, editor);
      const theirs = await createKnowledge(stranger, { name: 'Theirs', share: 1 });
      const notFound = { code: 404, msg: expect.stringContaining('was not found') };
      for (const id of [secret, theirs, 987654321]) {
        const knowledgeIds = [own, id];
        expect(
          await editor.post('/agent/agent', agentBody(modelId, { knowledgeIds })),
        ).toMatchObject(notFound);
        expect(
          await editor.put('/agent/agent', { id: agent.id, agentName: 'x', knowledgeIds }),
        ).toMatchObject(notFound);
      }

      expect(await get(agent.id)).toEqual(agent);
    });

    it('stay bound when somebody edits the agent who may not read them', async () => {
      const { id } = await create({ knowledgeIds: [secret, shared] });
      const grants = [{ subject: 'tenant', level: 'manage' }];
      done(await admin.put(`/access/agent/${id}`, { grants }));
      const put = { id, agentName: 'Edited', knowledgeIds: [own, secret] };

      expect(done(await editor.put<AgentRow>('/agent/agent', put)).data).toMatchObject({
        agentName: 'Edited',
        knowledgeNames: ['Own', 'Secret'],
      });
      done(await editor.put('/agent/agent', { id, knowledgeIds: [own] }));
      expect(await editor.put('/agent/agent', put)).toMatchObject({ code: 404 });
    });

    it('stay bound when they are no longer shared', async () => {
      const passing = await createKnowledge(admin, { name: 'Passing', share: 1 });
      const { id } = await create({ knowledgeIds: [passing] }, editor);
      done(await admin.put('/system/info', { id: passing, share: 0 }));

      expect(await agentForChat(plinth, id)).toMatchObject({ knowledgeIds: [passing] });
    });

    it('are gone from agents once they are deleted', async () => {
      const doomed = await createKnowledge(admin, { name: 'Doomed' });
      const { id } = await create({ knowledgeIds: [shared, doomed, own] });
      const alone = await create({ knowledgeIds: [doomed] });
      const { updateTime } = await get(id);
      done(await admin.delete(`/system/info/${doomed}`));
      const rows = await plinth.app
        .get(Database)
        .query<{ knowledgeIds: number[] }>(
          `SELECT knowledge_ids AS "knowledgeIds" FROM agent WHERE id IN ($1, $2) ORDER BY id`,
          [id, alone.id],
        );

      expect(rows).toEqual([{ knowledgeIds: [shared, own] }, { knowledgeIds: [] }]);
      expect(await get(id)).toMatchObject({ knowledgeNames: ['Shared', 'Own'], updateTime });
    });

    it('are left out when they are gone in another way', async () => {
      const { id } = await create({ knowledgeIds: [shared, own] });
      await plinth.app
        .get(Database)
        .query('UPDATE agent SET knowledge_ids = $2 WHERE id = $1', [
          id,
          JSON.stringify([987654321, own, shared]),
        ]);

      expect(await get(id)).toMatchObject({
        knowledgeIds: [own, shared],
        knowledgeNames: ['Own', 'Shared'],
      });
      expect(await agentForChat(plinth, id)).toMatchObject({ knowledgeIds: [own, shared] });
    });
  });

  it('tells the audit log what was changed, but no prompt', async () => {
    const { id } = await create({ systemPrompt: PROMPT });
    const change = { id, systemPrompt: `${PROMPT} Louder.`, status: '1', knowledgeIds: [] };
    done(await admin.put('/agent/agent', change));
    done(await admin.delete(`/agent/agent/${id}`));
    const { rows } = done(
      await admin.get<{ action: string; detail: object }[]>(
        `/monitor/audit/list?targetType=agent&targetId=${id}`,
      ),
    );

    expect(rows.map(({ action }) => action).sort()).toEqual(['create', 'delete', 'update']);
    expect(rows.find(({ action }) => action === 'update')?.detail).toEqual({
      fields: ['systemPrompt', 'status'],
      status: '1',
    });
    expect(JSON.stringify(rows)).not.toContain('walrus');
  });
});

describe('a record that two people edit', () => {
  let plinth: Plinth;
  let admin: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
  });

  afterAll(() => plinth.stop());

  it('refuses the second save from what the first has changed, with what it is now', async () => {
    await createProvider(admin, 'custom_api');
    const modelId = await createModel(admin, { ...ADDRESS, modelName: 'chat-one' });
    const { id: agentId } = await createAgent(admin, modelId);
    const baseId = await createKnowledge(admin, { name: 'Base' });
    const role = await makeRole(admin, 'edited', []);
    const { id: userId } = await makeUser(plinth, admin, 'edited', [role]);
    const { rows: providers } = await admin.get<{ id: number }[]>('/system/provider/list');
    const type = { dictType: 'edited_type' };
    const dictId = done(
      await admin.post<number>('/system/dict/type', { ...type, dictName: 'One' }),
    ).data;
    const dictCode = done(
      await admin.post<number>('/system/dict/data', {
        ...type,
        dictLabel: 'One',
        dictValue: 'one',
      }),
    ).data;
    const ssoId = done(
      await admin.post<number>('/system/sso', {
        name: 'Company',
        issuer: 'https://login.example.com',
        clientId: 'plinth',
      }),
    ).data;
    const key = { name: 'Key', permissions: ['chat:chat:use'] };
    const { id: keyId } = done(await admin.post<{ id: number }>('/system/apikey', key)).data;
    const { rows: clients } = await admin.get<{ id: number }[]>('/system/client/list');
    const { rows: tenants } = await admin.get<{ id: number }[]>('/system/tenant/list');
    const [clientId, tenantId] = [clients[0]?.id, tenants[0]?.id];
    type Row = Record<string, unknown> & { readonly revision: number };
    const records: [path: string, id: object, record: string, field: string][] = [
      ['/agent/agent', { id: agentId }, `/agent/agent/${agentId}`, 'agentDescribe'],
      ['/system/info', { id: baseId }, `/system/info/${baseId}`, 'description'],
      ['/system/model', { id: modelId }, `/system/model/${modelId}`, 'modelDescribe'],
      [
        '/system/provider',
        { id: providers[0]?.id },
        `/system/provider/${providers[0]?.id}`,
        'remark',
      ],
      ['/system/role', { roleId: role }, `/system/role/${role}`, 'remark'],
      ['/system/user', { userId }, `/system/user/${userId}`, 'remark'],
      ['/system/tenant', { id: tenantId }, `/system/tenant/${tenantId}`, 'remark'],
      ['/system/client', { id: clientId }, `/system/client/${clientId}`, 'deviceType'],
      ['/system/dict/type', { dictId }, `/system/dict/type/${dictId}`, 'remark'],
      ['/system/dict/data', { dictCode }, `/system/dict/data/${dictCode}`, 'remark'],
      ['/system/sso', { id: ssoId }, `/system/sso/${ssoId}`, 'name'],
      ['/system/apikey', { id: keyId }, `/system/apikey/${keyId}`, 'name'],
    ];
    for (const [path, id, record, field] of records) {
      const load = async (): Promise<Row> => {
        const { data } = done(await admin.get<Row & { user?: Row }>(record));
        return data.user ?? data;
      };
      const { revision } = await load();
      const save = (text: string, from?: number) =>
        admin.put(path, { ...id, [field]: text, ...(from !== undefined && { revision: from }) });
      // Both at once: one is first.
      const saves = await Promise.all([save('one', revision), save('two', revision)]);
      expect(saves.map(({ code }) => code).sort()).toEqual([200, 409]);
      const refused = saves.find(({ code }) => code === 409);
      const now = await load();
      expect(now.revision).toBe(revision + 1);
      expect(refused).toMatchObject({
        msg: expect.stringContaining('has changed since you opened it'),
        data: {
          errorCode: 'REVISION_CONFLICT',
          revision: now.revision,
          current: { [field]: now[field], revision: now.revision },
        },
      });
      done(await save('mine', now.revision));
      // Clients that know no revisions save as before.
      done(await save('last'));
      expect((await load())[field]).toBe('last');
    }
  });
});
