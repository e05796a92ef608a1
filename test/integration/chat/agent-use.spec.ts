import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AgentService } from '../../../src/agent/index.js';
import { systemCaller } from '../../../src/platform/access/index.js';
import { agentBody, agentForChat, agentOptions, createAgent } from '../../support/agents.js';
import type { AgentRow } from '../../support/agents.js';
import { createKnowledge } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const PROMPT = 'You are the voice of the walrus.';
const WITHOUT_TOOLS = { runtime: 'direct', tools: [], mcpToolIds: [], skills: [] };
const ADDRESS = { apiHost: 'http://127.0.0.1:9' };

describe('agents and those who use them', () => {
  let plinth: Plinth;
  let admin: Session;
  let stranger: Session;
  let anybody: Session;
  let modelId: number;
  let strangersModel: number;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    ({ admin: stranger } = await makeTenant(plinth, admin, '700030'));
    for (const session of [admin, stranger]) await createProvider(session, 'custom_api');
    modelId = await createModel(admin, { ...ADDRESS, modelName: 'chat-one' });
    strangersModel = await createModel(stranger, { ...ADDRESS, modelName: 'theirs' });
    ({ session: anybody } = await makeUser(plinth, admin, 'anybody'));
  });

  afterAll(() => plinth.stop());

  describe('rights', () => {
    it('are asked for by every route but the options', async () => {
      const { id } = await createAgent(admin, modelId);
      const grants = [{ subject: 'tenant', level: 'manage' }];
      done(await admin.put(`/access/agent/${id}`, { grants }));
      const calls: Record<string, (session: Session) => Promise<{ code: number }>> = {
        list: (session) => session.get('/agent/agent/list'),
        query: (session) => session.get(`/agent/agent/${id}`),
        add: (session) => session.post('/agent/agent', agentBody(modelId)),
        edit: (session) => session.put('/agent/agent', { id, remark: 'x' }),
        remove: (session) => session.delete(`/agent/agent/${id}`),
      };
      const behindList = [
        '/agent/agent/queryList',
        '/agent/agent/skillOptions',
        '/agent/agent/toolOptions',
        '/agent/agent/runtimeOptions',
        '/mcp/tool/all',
      ];
      for (const action of Object.keys(calls)) {
        const role = await makeRole(admin, `only-${action}`, [`agent:agent:${action}`]);
        const { session } = await makeUser(plinth, admin, `only-${action}`, [role]);
        for (const [other, call] of Object.entries(calls)) {
          if (other === 'remove') continue;
          expect([other, (await call(session)).code]).toEqual([
            other,
            other === action ? 200 : 403,
          ]);
        }
        for (const path of behindList) {
          expect((await session.get(path)).code).toBe(action === 'list' ? 200 : 403);
        }
        const removed = await calls['remove']?.(session);
        expect(removed?.code).toBe(action === 'remove' ? 200 : 403);
      }
      expect(await plinth.anonymous().get('/agent/agent/agentOptions')).toMatchObject({
        code: 401,
      });
      expect(await plinth.anonymous().get('/workflow/public/search')).toMatchObject({ code: 401 });
    });

    it('let everybody of the tenant see enabled agents, without what they are made of', async () => {
      const base = await createKnowledge(admin, { name: 'The cellar' });
      const shown = await createAgent(admin, modelId, {
        agentDescribe: 'Shown',
        agentShow: 'x',
        systemPrompt: PROMPT,
        knowledgeIds: [base],
      });
      const hidden = await createAgent(admin, modelId, { status: '1' });
      const answer = await anybody.raw('GET', '/agent/agent/agentOptions');
      const options = await agentOptions(anybody);

      expect(options.find(({ id }) => id === shown.id)).toEqual({
        id: shown.id,
        agentName: shown.agentName,
        agentDescribe: 'Shown',
        agentShow: 'x',
        modelName: 'chat-one',
      });
      expect(options.map(({ id }) => id)).not.toContain(hidden.id);
      expect(answer.text).not.toMatch(/voice of the|cellar|prompt|knowledge|modelId/i);
      done(await admin.put('/agent/agent', { id: hidden.id, status: '0' }));
      expect((await agentOptions(anybody))[0]?.id).toBe(hidden.id);
    });

    it('end at the tenant', async () => {
      const { id, agentName } = await createAgent(admin, modelId);
      const own = await createAgent(stranger, strangersModel);

      expect(await stranger.get(`/agent/agent/${id}`)).toMatchObject({ code: 404 });
      expect(await stranger.put('/agent/agent', { id, remark: 'x' })).toMatchObject({ code: 404 });
      expect(await stranger.delete(`/agent/agent/${own.id},${id}`)).toMatchObject({ code: 404 });
      expect((await stranger.get<AgentRow[]>('/agent/agent/list')).rows).toEqual([own]);
      expect((await agentOptions(stranger)).map((one) => one.id)).toEqual([own.id]);
      expect(await admin.get(`/agent/agent/${id}`)).toMatchObject({
        data: { agentName, remark: '' },
      });
      await expect(agentForChat(plinth, id, '700030')).rejects.toThrow('The agent was not found.');
      await expect(agentForChat(plinth, own.id)).rejects.toThrow('The agent was not found.');
    });
  });

  describe('the bases that its creator may no longer read', () => {
    let creator: Session;
    let creatorId: number;

    beforeAll(async () => {
      const permissions = ['agent:agent:*', 'system:info:*', 'access:*'];
      const role = await makeRole(admin, 'makes-agents', permissions);
      ({ session: creator, id: creatorId } = await makeUser(plinth, admin, 'maker', [role]));
    });

    async function searched(id: number): Promise<number[]> {
      const agents = plinth.app.get(AgentService, { strict: false });
      const agent = await agentForChat(plinth, id);
      const user = {
        ...systemCaller('000000', 0),
        userId: 987_654,
        permissions: new Set<string>(),
      };
      return (await agents.basesOf(user, agent)).map((base) => base.id);
    }

    const share = (id: number, value: 0 | 1) => admin.put('/system/info', { id, share: value });

    it('are no longer searched when they are not shared any more, and are named', async () => {
      const base = await createKnowledge(admin, { name: 'Shared for a while', share: 1 });
      const other = await createKnowledge(admin, { name: 'Always shared', share: 1 });
      const bound = { knowledgeIds: [base, other], knowledgeAs: 'creator' };
      const { id } = await createAgent(creator, modelId, { ...bound, agentName: 'Loses one' });
      const ofAdmin = await createAgent(admin, modelId, { ...bound, agentName: 'Keeps both' });
      expect(await searched(id)).toEqual([base, other]);

      const { msg } = done(await share(base, 0));
      expect(msg).toContain('only for users with access of their own: Loses one.');
      expect(await searched(id)).toEqual([other]);
      expect(await searched(ofAdmin.id)).toEqual([base, other]);

      done(await creator.put('/agent/agent', { id, remark: 'saved', ...bound }));
      expect(await searched(id)).toEqual([other]);
      done(await share(base, 1));
      expect(await searched(id)).toEqual([base, other]);
    });

    it('are the private ones while the creator is disabled, and after the user is deleted', async () => {
      const own = await createKnowledge(creator, { name: 'Own' });
      const shared = await createKnowledge(admin, { name: 'Of all', share: 1 });
      const { id } = await createAgent(creator, modelId, {
        knowledgeIds: [own, shared],
        knowledgeAs: 'creator',
      });
      expect(await searched(id)).toEqual([own, shared]);
      const status = (value: string) =>
        admin.put('/system/user/changeStatus', { userId: creatorId, status: value });
      done(await status('1'));
      expect(await searched(id)).toEqual([shared]);
      done(await status('0'));
      expect(await searched(id)).toEqual([own, shared]);
      done(await admin.delete(`/system/user/${creatorId}`));
      expect(await searched(id)).toEqual([shared]);
    });
  });

  describe('in a conversation', () => {
    it('is all that it needs', async () => {
      const base = await createKnowledge(admin, { name: 'Of a conversation' });
      const { id } = await createAgent(admin, modelId, {
        agentName: 'Speaker',
        systemPrompt: PROMPT,
        knowledgeIds: [base],
        skillNames: ['pdf'],
        enableThinking: '1',
        temperature: 0,
        topP: 1,
        maxTokens: 7,
      });

      expect(await agentForChat(plinth, id)).toEqual({
        id,
        userId: 1,
        name: 'Speaker',
        modelId,
        systemPrompt: PROMPT,
        knowledgeIds: [base],
        knowledgeAs: 'caller',
        skillNames: ['pdf'],
        generation: { thinking: true, temperature: 0, topP: 1, maxTokens: 7 },
        ...WITHOUT_TOOLS,
      });
    });

    it('leaves to the model what nobody has set', async () => {
      const { id, agentName } = await createAgent(admin, modelId, { systemPrompt: ' ' });

      expect(await agentForChat(plinth, id)).toEqual({
        id,
        userId: 1,
        name: agentName,
        modelId,
        knowledgeIds: [],
        knowledgeAs: 'caller',
        skillNames: [],
        generation: {},
        ...WITHOUT_TOOLS,
      });
    });

    it('is refused while it is disabled', async () => {
      const { id } = await createAgent(admin, modelId, { agentName: 'Asleep', status: '1' });

      await expect(agentForChat(plinth, id)).rejects.toThrow(
        'The agent Asleep is disabled. Choose another agent, or ask an administrator to enable it.',
      );
    });
  });

  it('has the built-in skills to choose from', async () => {
    const { data } = done(
      await admin.get<{ name: string; description: string }[]>('/agent/agent/skillOptions'),
    );

    expect(data.map(({ name }) => name)).toEqual(['docx', 'pdf', 'xlsx']);
    for (const option of data) {
      expect(Object.keys(option)).toEqual(['name', 'description']);
      expect(option.description).toMatch(/^Reads, creates, changes and checks \w+/);
    }
  });

  it('answers empty lists of what does not exist yet', async () => {
    expect(await admin.get('/mcp/tool/all')).toEqual({ code: 200, msg: 'Done.', data: [] });
    expect(await anybody.get('/workflow/public/search?currentPage=1&pageSize=20')).toEqual({
      code: 200,
      msg: 'Done.',
      data: { records: [], total: 0 },
    });
  });
});
