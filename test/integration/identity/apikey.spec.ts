import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { newApiKey, newKeyId } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, rotateKey, withKey } from '../../support/api-keys.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { createKnowledge } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser, PASSWORD, roleId } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const SLOW = 'sim--chunks-5000--delay-10';
const CHAT = { permissions: ['chat:chat:use'] };
const SIGNED_OUT = /sign-in|signed/;
const INVALID = 'The API key is not valid. Check that it was copied whole, or create a new one.';

interface KeyRow {
  readonly id: number;
  readonly name: string;
  readonly state: string;
  readonly permissions: string[];
  readonly lastUsedTime: string | null;
  readonly userName: string;
}

describe('API keys', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let root: Session;
  let admin: Session;
  let database: Database;
  const models: Record<string, number> = {};

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    root = await plinth.signIn();
    ({ admin } = await makeTenant(plinth, root, '700001'));
    database = plinth.app.get(Database);
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    for (const modelName of ['sim--echo', 'other--echo', SLOW]) {
      models[modelName] = await createModel(admin, { modelName, apiHost, apiKey: 'key-one' });
    }
  });
  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });
  beforeEach(() => simulator.reset());

  let people = 0;
  async function person(permissions: readonly string[] = []): Promise<Person> {
    people += 1;
    const own = ['list', 'query', 'add', 'edit', 'remove'].map((one) => `system:apikey:${one}`);
    const role = await makeRole(admin, `role${people}`, [...own, ...permissions]);
    return makeUser(plinth, admin, `person${people}`, [role]);
  }

  async function keyOf(session: Session, id: number): Promise<KeyRow> {
    return done(await session.get<KeyRow>(`/system/apikey/${id}`)).data;
  }

  describe('as records', () => {
    it('are shown once, stored as a digest, and without permissions until some are chosen', async () => {
      const { session, name } = await person();
      const made = await makeKey(session, { name: 'Notebook' });

      expect(made.key).toMatch(/^sk-plinth-[\da-f]{16}-[\da-f]{64}-[\da-f]{8}$/);
      expect(made.key.startsWith(`${made.prefix}-`)).toBe(true);
      expect(await keyOf(session, made.id)).toMatchObject({
        ...{ name: 'Notebook', prefix: made.prefix, userName: name, permissions: [] },
        ...{ state: 'active', modelIds: null, doors: null, expireTime: null, lastUsedTime: null },
      });
      const own = withKey(session, made);
      expect(await own.get('/system/apikey/list')).toMatchObject({ code: 403 });
      expect(await own.post('/chat/send', { model: 'sim--echo', content: 'x' })).toMatchObject({
        code: 403,
        msg: 'This API key lacks the permission chat:chat:use. Add it to the key, or use another key.',
      });
      expect(done(await own.get('/system/user/getInfo')).data).toMatchObject({ permissions: [] });
    });

    it('are seen by their user and by who manages those of others', async () => {
      const one = await person();
      const two = await person();
      const { id } = await makeKey(one.session, { name: 'Mine' });
      const missing = { code: 404, msg: 'The API key was not found. It may have been deleted.' };

      expect(await two.session.get(`/system/apikey/${id}`)).toMatchObject(missing);
      expect(await two.session.put('/system/apikey', { id, name: 'Yours' })).toMatchObject(missing);
      expect(await two.session.delete(`/system/apikey/${id}`)).toMatchObject(missing);
      const rotate = { overlapSeconds: 0 };
      expect(await two.session.post(`/system/apikey/${id}/rotate`, rotate)).toMatchObject(missing);
      expect(await two.session.get('/system/apikey/list')).toMatchObject({ total: 0 });
      expect(await two.session.get('/system/apikey/list?scope=tenant')).toMatchObject({
        code: 403,
        msg: 'You need the permission system:apikey:others for API keys of others. Ask an administrator for it.',
      });
      const all = `/system/apikey/list?scope=tenant&userId=${one.id}`;
      expect(done(await admin.get<KeyRow[]>(all)).rows).toMatchObject([
        { id, userName: one.name, name: 'Mine' },
      ]);
      done(await admin.delete(`/system/apikey/${id}`));
      expect(await keyOf(one.session, id)).toMatchObject({ state: 'revoked' });
    });

    it('cannot have what their maker has not, and never everything', async () => {
      const { session } = await person(['system:model:list']);
      const asked = (permissions: string[]) =>
        session.post('/system/apikey', { name: 'x', permissions });

      expect(await asked(['system:role:list'])).toMatchObject({ code: 403 });
      expect(await asked(['system:model:*'])).toMatchObject({ code: 403 });
      expect(await asked(['*:*:*'])).toMatchObject({
        code: 400,
        msg: 'permissions: an API key cannot have *:*:*. GET /system/apikey/permissions names those that it can have.',
      });
      const { data } = done(
        await session.get<{ permission: string }[]>('/system/apikey/permissions'),
      );
      const offered = data.map(({ permission }) => permission);
      expect(offered).toEqual(expect.arrayContaining(['chat:chat:use', 'system:model:list']));
      expect(offered).not.toContain('system:role:list');
      await makeKey(session, { permissions: offered });
    });

    it('are refused with limits that make no sense', async () => {
      const { session } = await person();
      const asked = async (fields: object) => {
        const { code, msg } = await session.post('/system/apikey', { name: 'x', ...fields });
        return [code, msg];
      };

      expect(await asked({ addresses: ['10.0.0.0/8', 'office'] })).toEqual([
        400,
        'addresses: office is neither an address nor a network. Write 192.0.2.7 or 192.0.2.0/24.',
      ]);
      expect(await asked({ doors: ['back'] })).toEqual([
        400,
        'each entry of doors must be one of rest, v1, scim, mcp.',
      ]);
      expect(await asked({ expireTime: '2020-01-01' })).toEqual([
        400,
        'expireTime must be in the future.',
      ]);
      expect(await asked({ modelIds: [987_654] })).toEqual([
        404,
        'The model was not found. It may have been deleted.',
      ]);
    });

    it('can be changed, and lose a limit only by name', async () => {
      const { session } = await person();
      const limits = { addresses: ['192.0.2.0/24'], modelIds: [models['sim--echo']] };
      const { id } = await makeKey(session, { ...CHAT, ...limits });
      done(await session.put('/system/apikey', { id, name: 'Other' }));
      expect(await keyOf(session, id)).toMatchObject({ name: 'Other', ...limits, ...CHAT });
      done(await session.put('/system/apikey', { id, withoutLimits: ['addresses'] }));
      expect(await keyOf(session, id)).toMatchObject({
        addresses: null,
        modelIds: limits.modelIds,
      });
      expect(await session.put('/system/apikey', { id, withoutLimits: ['all'] })).toMatchObject({
        code: 400,
      });
      done(await session.delete(`/system/apikey/${id}`));
      expect(await session.put('/system/apikey', { id, name: 'Again' })).toMatchObject({
        code: 409,
      });
    });

    it('make no other keys and serve no account', async () => {
      const { session } = await person(['system:apikey:others']);
      const permissions = ['system:apikey:*'];
      const made = await makeKey(session, { permissions });
      const own = withKey(session, made);

      expect(await own.post('/system/apikey', { name: 'x' })).toMatchObject({ code: 403 });
      expect(await own.put('/system/apikey', { id: made.id, permissions })).toMatchObject({
        code: 403,
      });
      expect(await own.post(`/system/apikey/${made.id}/rotate`, {})).toMatchObject({ code: 403 });
      expect(await own.put('/system/user/profile', { nickName: 'x' })).toMatchObject({
        code: 403,
        msg: 'API keys cannot be used for this. Sign in instead.',
      });
      expect(await own.get('/monitor/online')).toMatchObject({ code: 403 });
      done(await own.post('/auth/logout', {}));
      expect(await own.get('/system/apikey/list')).toMatchObject({ code: 200, total: 1 });
    });

    it('are written to the audit log, and so is what was done with them', async () => {
      const { session } = await person(['system:role:add', 'system:role:list']);
      const made = await makeKey(session, { permissions: ['system:role:add', 'system:role:list'] });
      await makeRole(withKey(session, made), 'bykey', []);
      await rotateKey(session, made.id);
      done(await session.delete(`/system/apikey/${made.id}`));

      const list = `/monitor/audit/list?targetType=api_key&targetId=${made.id}`;
      const { rows } = done(await admin.get<{ action: string }[]>(list));
      expect(rows.map(({ action }) => action)).toEqual(['revoke', 'credential-change', 'create']);
      const roles = done(await admin.get('/monitor/audit/list?targetType=role&action=create'));
      expect(roles.rows[0]).toMatchObject({ detail: { byApiKey: made.id } });
    });
  });

  describe('at a request', () => {
    it('work without clientid, also as the header of another vendor', async () => {
      const { session } = await person();
      const made = await makeKey(session, CHAT);
      const reply = await sendChat(withKey(session, made), { model: 'sim--echo', content: 'hi' });
      expect(reply.text).toBe('hi');
      const other = new Session(session.url, { 'x-api-key': made.key });
      expect((await sendChat(other, { model: 'sim--echo', content: 'ho' })).text).toBe('ho');
    });

    it('are refused with one wrong character before the database is asked', async () => {
      const { session } = await person();
      const { key } = await makeKey(session, CHAT);
      const wrong = key.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
      const queries = jest.spyOn(database, 'query');
      const prepared = jest.spyOn(database, 'prepared');
      expect(await withKey(session, { key: wrong }).get('/system/user/getInfo')).toEqual({
        ...{ code: 401, msg: INVALID, data: null },
      });
      expect([...queries.mock.calls, ...prepared.mock.calls]).toEqual([]);
      queries.mockRestore();
      prepared.mockRestore();
      const unknown = withKey(session, { key: newApiKey(newKeyId()) });
      expect(await unknown.get('/system/user/getInfo')).toMatchObject({ code: 401, msg: INVALID });
      // The id of a stored key, with another secret.
      const forged = newApiKey(key.slice('sk-plinth-'.length).slice(0, 16));
      expect(await withKey(session, { key: forged }).get('/system/user/getInfo')).toMatchObject({
        ...{ code: 401, msg: INVALID },
      });
    });

    it('have what both the key and its owner have at that moment', async () => {
      const { session, id } = await person(['system:role:list']);
      const permissions = ['system:role:list', 'system:apikey:list'];
      const made = await makeKey(session, { permissions });
      const own = withKey(session, made);
      expect(await own.get('/system/role/list')).toMatchObject({ code: 200 });
      expect(await own.get('/system/user/list')).toMatchObject({ code: 403 });
      done(await admin.put(`/system/user/authRole?userId=${id}&roleIds=`));
      expect(await own.get('/system/role/list')).toMatchObject({ code: 403 });
      done(
        await admin.put(
          `/system/user/authRole?userId=${id}&roleIds=${await roleId(admin, 'admin')}`,
        ),
      );
      expect(await own.get('/system/role/list')).toMatchObject({ code: 200 });
      done(await session.put('/system/apikey', { id: made.id, permissions: [] }));
      expect(await own.get('/system/role/list')).toMatchObject({ code: 403 });
    });

    it('are no super administrator, whoever owns them', async () => {
      const made = await makeKey(root, { permissions: ['system:client:list'] });
      const own = withKey(root, made);
      expect(await own.get('/system/client/list')).toMatchObject({ code: 200 });
      expect(await own.get('/system/user/list')).toMatchObject({ code: 403 });
    });

    it('say why they are refused when they, their owner or its tenant have ended', async () => {
      const { session, id } = await person();
      const made = await makeKey(session, CHAT);
      const own = withKey(session, made);
      const refusal = async () => {
        const { code, msg } = await own.get('/system/user/getInfo');
        return [code, msg];
      };
      done(await admin.put('/system/user/changeStatus', { userId: id, status: '1' }));
      const disabled = [401, 'The owner of the API key is disabled. Ask an administrator.'];
      expect(await refusal()).toEqual(disabled);
      done(await admin.put('/system/user/changeStatus', { userId: id, status: '0' }));
      expect(await refusal()).toEqual([200, 'Done.']);
      const setEnd = (end: string) =>
        database.query(
          `UPDATE api_key SET expire_time = ${end} WHERE tenant_id = '700001' AND id = $1`,
          [made.id],
        );
      await setEnd("now() - interval '1 second'");
      expect(await refusal()).toEqual([401, 'The API key has expired. Create a new one.']);
      await setEnd('NULL');
      done(await admin.delete(`/system/apikey/${made.id}`));
      expect(await refusal()).toEqual([401, 'The API key has been revoked. Create a new one.']);
      done(await admin.delete(`/system/user/${id}`));
      expect(await refusal()).toEqual([401, INVALID]);
    });

    it('end with their tenant', async () => {
      const { id, admin: boss } = await makeTenant(plinth, root, '700002');
      const own = withKey(boss, await makeKey(boss));
      done(await own.get('/system/user/getInfo'));
      done(await root.put('/system/tenant/changeStatus', { id, status: '1' }));
      expect(await own.get('/system/user/getInfo')).toMatchObject({ code: 401 });
      done(await root.delete(`/system/tenant/${id}`));
      expect(await own.get('/system/user/getInfo')).toMatchObject({ code: 401, msg: INVALID });
    });

    it('record their last use, at most once a minute', async () => {
      const { session } = await person();
      const made = await makeKey(session);
      const own = withKey(session, made);
      const writes = jest.spyOn(database, 'query');
      done(await own.get('/system/user/getInfo'));
      const { lastUsedTime } = await eventually(
        () => keyOf(session, made.id),
        (key) => key.lastUsedTime !== null,
      );
      done(await own.get('/system/user/getInfo'));
      done(await own.get('/system/user/getInfo'));
      const uses = writes.mock.calls.filter(([text]) => text.includes('SET last_used_time'));
      writes.mockRestore();
      expect(uses.length).toBe(1);
      expect((await keyOf(session, made.id)).lastUsedTime).toBe(lastUsedTime);
    });
  });

  describe('with limits', () => {
    it('are used from their addresses and for their interfaces alone', async () => {
      const { session } = await person();
      const elsewhere = await makeKey(session, { addresses: ['192.0.2.0/24'] });
      expect(await withKey(session, elsewhere).get('/system/user/getInfo')).toMatchObject({
        code: 403,
        msg: expect.stringMatching(/cannot be used from the address .*127\.0\.0\.1\./),
      });
      const here = await makeKey(session, { addresses: ['127.0.0.0/8'], doors: ['rest'] });
      expect(await withKey(session, here).get('/system/user/getInfo')).toMatchObject({ code: 200 });
      const other = await makeKey(session, { doors: ['v1'] });
      expect(await withKey(session, other).get('/system/user/getInfo')).toMatchObject({
        code: 403,
        msg: 'This API key cannot be used for the interface rest. Add the interface to the key, or use another key.',
      });
    });

    it('call only their models, by whatever way, also after others were called', async () => {
      const permissions = ['system:model:list', 'system:model:query', 'system:model:add'];
      const { session } = await person([...permissions, 'agent:agent:list', 'agent:agent:add']);
      const limit = { modelIds: [models['sim--echo']] };
      const made = await makeKey(session, {
        permissions: [...permissions, ...CHAT.permissions, 'agent:agent:list', 'agent:agent:add'],
        ...limit,
      });
      const own = withKey(session, made);
      // The resolved models of the tenant are cached for all callers.
      expect((await sendChat(session, { model: 'other--echo', content: 'a' })).text).toBe('a');
      const refused =
        'This API key cannot use the model other--echo. Add the model to the key, or use another model.';
      const asked = { model: 'other--echo', content: 'x' };
      expect((await sendChat(own, asked)).raw).toContain(refused);
      expect((await sendChat(own, { model: 'sim--echo', content: 'b' })).text).toBe('b');
      expect((await sendChat(own, { content: 'c' })).text).toBe('c');
      const { id: agentId } = await createAgent(admin, models['other--echo'] ?? 0);
      expect((await sendChat(own, { agentId, content: 'x' })).raw).toContain(refused);

      const names = done(await own.get<{ modelName: string }[]>('/system/model/list')).rows;
      expect(names.map(({ modelName }) => modelName)).toEqual(['sim--echo']);
      const shown = done(await own.get<{ modelName: string }[]>('/system/model/modelList')).rows;
      expect(shown.map(({ modelName }) => modelName)).toEqual(['sim--echo']);
      expect(await own.get(`/system/model/${models['other--echo']}`)).toMatchObject({ code: 404 });
      const fields = { providerCode: 'custom_api', category: 'chat', modelName: 'new' };
      const model = { ...fields, apiHost: simulator.url };
      expect(await own.post('/system/model', model)).toMatchObject({
        code: 403,
        msg: 'This API key is limited to chosen models and cannot change others. Use a key without this limit, or sign in.',
      });
      const agent = { agentName: 'New', modelId: models['other--echo'] };
      expect(await own.post('/agent/agent', agent)).toMatchObject({ code: 404 });
      expect(simulator.requests.length).toBe(3);
    });

    it('see only their agents and knowledge bases, also by agents', async () => {
      const allowed = [
        'system:info:list',
        'system:info:query',
        'system:info:edit',
        'system:info:add',
      ];
      const { session } = await person([...allowed, 'agent:agent:list']);
      const mine = await createKnowledge(session, { name: 'Mine' });
      const other = await createKnowledge(session, { name: 'Other' });
      const modelId = models['sim--echo'] ?? 0;
      const agents = [await createAgent(admin, modelId), await createAgent(admin, modelId)];
      const [agentId, otherAgent] = agents.map(({ id }) => id);
      const grants = [{ subject: 'tenant', level: 'manage' }];
      for (const { id } of agents) done(await admin.put(`/access/agent/${id}`, { grants }));
      const made = await makeKey(session, {
        permissions: [...allowed, ...CHAT.permissions, 'agent:agent:list'],
        ...{ agentIds: [agentId], knowledgeIds: [mine] },
      });
      const own = withKey(session, made);

      const bases = done(await own.get<{ id: number }[]>('/system/info/list')).rows;
      expect(bases.map(({ id }) => id)).toEqual([mine]);
      expect(await own.get(`/system/info/${other}`)).toMatchObject({ code: 404 });
      expect(await own.put('/system/info', { id: other, name: 'x' })).toMatchObject({ code: 404 });
      done(await own.put('/system/info', { id: mine, name: 'Still mine' }));
      expect(await own.post('/system/info', { name: 'New' })).toMatchObject({ code: 403 });
      const asked = { model: 'sim--echo', content: 'x', knowledgeId: other };
      expect((await sendChat(own, asked)).raw).toContain('The knowledge base was not found');

      const options = done(await own.get<{ id: number }[]>('/agent/agent/agentOptions')).data;
      expect(options.map(({ id }) => id)).toEqual([agentId]);
      const listed = done(await own.get<{ id: number }[]>('/agent/agent/list')).rows;
      expect(listed.map(({ id }) => id)).toEqual([agentId]);
      expect((await sendChat(own, { agentId, content: 'y' })).text).toBe('y');
      expect((await sendChat(own, { agentId: otherAgent, content: 'x' })).raw).toContain(
        'The agent was not found',
      );
    });
  });

  describe('and open streams', () => {
    async function streaming(fields: object = {}) {
      const owner = await person(['system:apikey:others']);
      const made = await makeKey(owner.session, { ...CHAT, ...fields });
      const chat = await OpenChat.send(withKey(owner.session, made), { model: SLOW, content: 'x' });
      await chat.until('event: content');
      return { owner, made, chat };
    }

    it.each<[string, (made: { id: number }, owner: Person) => Promise<unknown>]>([
      ['is revoked', ({ id }) => admin.delete(`/system/apikey/${id}`)],
      ['is rotated', ({ id }) => rotateKey(admin, id)],
      ['loses the permission', ({ id }) => admin.put('/system/apikey', { id, permissions: [] })],
      ['gets a limit', ({ id }) => admin.put('/system/apikey', { id, addresses: ['192.0.2.1'] })],
      [
        'has a disabled owner',
        (_, { id }) => admin.put('/system/user/changeStatus', { userId: id, status: '1' }),
      ],
      ['has a deleted owner', (_, { id }) => admin.delete(`/system/user/${id}`)],
    ])('end when the key %s', async (_, end) => {
      const { owner, made, chat } = await streaming();
      await end(made, owner);
      expect((await chat.rest()).error).toMatch(SIGNED_OUT);
    });

    it('end when the key expires, by its own clock', async () => {
      const { made, chat } = await streaming();
      await database.query(
        `UPDATE api_key SET expire_time = now() + interval '1 second' WHERE tenant_id = '700001' AND id = $1`,
        [made.id],
      );
      // Any change of the tenant lets the streams look at their ends again.
      await person();
      expect((await chat.rest()).error).toMatch(SIGNED_OUT);
    });

    it('stay open for the overlap of a rotation, and for other changes', async () => {
      const { owner, made, chat } = await streaming();
      const next = await rotateKey(owner.session, made.id, 600);
      done(await owner.session.put('/system/apikey', { id: made.id, name: 'Renamed' }));
      for (const key of [made, next]) {
        const own = withKey(owner.session, key);
        expect(await own.get('/system/user/getInfo')).toMatchObject({ code: 200 });
      }
      const last = await rotateKey(owner.session, made.id);
      expect((await chat.rest()).error).toMatch(SIGNED_OUT);
      const codes = [];
      for (const key of [made, next, last]) {
        codes.push((await withKey(owner.session, key).get('/system/user/getInfo')).code);
      }
      expect(codes).toEqual([401, 401, 200]);
    });
  });

  describe('of service accounts', () => {
    it('act for a user who has no password and cannot sign in', async () => {
      const role = await makeRole(admin, 'reader', ['system:role:list']);
      const account = { userName: 'reports', roleIds: [role] };
      const { data: userId } = done(await admin.post<number>('/system/user/service', account));
      const made = await makeKey(admin, { userId, permissions: ['system:role:list'] });
      const own = withKey(admin, made);

      expect(await own.get('/system/role/list')).toMatchObject({ code: 200 });
      expect(await keyOf(admin, made.id)).toMatchObject({
        ...{ userName: 'reports', isServiceAccount: true },
      });
      for (const password of ['', PASSWORD]) {
        await expect(plinth.signIn('reports', password, '700001')).rejects.toThrow(
          /Sign-in failed/,
        );
      }
      expect(
        await admin.put('/system/user/resetPwd', { userId, password: PASSWORD }),
      ).toMatchObject({
        code: 409,
        msg: 'A service account has no password. Create an API key for it.',
      });
    });

    it('cannot be made for users who may more than the maker', async () => {
      const { session } = await person(['system:apikey:others', 'system:user:list']);
      const { rows } = done(
        await session.get<{ userId: number }[]>('/system/user/list?userName=boss'),
      );
      const userId = rows[0]?.userId;
      expect(await session.post('/system/apikey', { name: 'x', userId })).toMatchObject({
        code: 403,
      });
      const { id } = await makeKey(admin);
      expect(await session.post(`/system/apikey/${id}/rotate`, {})).toMatchObject({ code: 403 });
      expect(await session.delete(`/system/apikey/${id}`)).toMatchObject({ code: 403 });
    });
  });
});
