import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { TenantRevision } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { messagesAsked, OpenChat, sendChat } from '../../support/chat.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import {
  done,
  makeRole,
  makeUser,
  PERMISSIONS_WITHOUT_ADMINISTERING,
} from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const LEVELS = ['use', 'read', 'write', 'manage'] as const;
type Level = (typeof LEVELS)[number];

const SLOW = 'sim--chunks-500--delay-10';
const FACT = 'The canary sings at noon.';

interface Grant {
  readonly subject: string;
  readonly level: Level;
}
interface Access {
  readonly grants: (Grant & { readonly name: string | null })[];
}

let plinth: Plinth;
let simulator: Simulator;
let root: Session;
/** Everything that a role can have, so that grants alone decide. */
let everyRole: number;
let owner: Person;
let member: Person;
let memberRole: number;
let memberGroup: number;
let chatModel: number;
let echoModel: number;
let base: number;
let documentId: number;
let agent: number;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  root = await plinth.signIn();
  await createProvider(root, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  chatModel = await createModel(root, { ...service, modelName: 'sim-chat' });
  await createModel(root, { ...service, modelName: SLOW });
  echoModel = await createModel(root, { ...service, modelName: 'sim--echo' });
  const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
  await createModel(root, { ...service, ...embedding });
  everyRole = await makeRole(root, 'every', PERMISSIONS_WITHOUT_ADMINISTERING);
  memberRole = await makeRole(root, 'plain', []);
  owner = await makeUser(plinth, root, 'owner', [everyRole]);
  member = await makeUser(plinth, root, 'member', [everyRole, memberRole]);
  memberGroup = await makeGroup(member.id);
  const fields = { name: 'Canaries', enableHybrid: 1, embeddingModel: 'sim-embed-256' };
  base = await createKnowledge(owner.session, fields);
  const { data } = done(await upload(owner.session, base, [['canary.txt', FACT]]));
  documentId = data[0]?.id ?? 0;
  await settled(owner.session, base);
  const body = { knowledgeIds: [base], knowledgeAs: 'caller', share: 0 };
  agent = (await createAgent(owner.session, chatModel, body)).id;
}, 120_000);

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

/** A group with the user, as a directory would leave it. */
async function makeGroup(userId: number): Promise<number> {
  const database = plinth.app.get(Database);
  const [group] = await database.query<{ id: number }>(
    `INSERT INTO user_group (tenant_id, source, display_name) VALUES ('000000', 'local', 'Birds') RETURNING id`,
  );
  await database.query(
    `INSERT INTO group_membership (tenant_id, group_id, user_id) VALUES ('000000', $1, $2)`,
    [group?.id, userId],
  );
  await plinth.app.get(TenantRevision).incrementAccess('000000');
  return group?.id ?? 0;
}

const OWNER = (): Grant => ({ subject: `user:${owner.id}`, level: 'manage' });

async function grant(type: string, id: number, grants: readonly Grant[], by = owner.session) {
  return by.put<Access>(`/access/${type}/${id}`, { grants });
}

/** The kinds of subjects through which the member is reached. */
const subjects: Record<string, () => string> = {
  tenant: () => 'tenant',
  user: () => `user:${member.id}`,
  role: () => `role:${memberRole}`,
  group: () => `group:${memberGroup}`,
};

/** A way to the base or agent, the level that it needs, and whether it lets the session in. */
interface Door {
  readonly needs: Level;
  readonly opens: (session: Session) => Promise<boolean>;
}

const isDone = ({ code }: { code: number }): boolean => code === 200;
const holds = (rows: readonly { id: number }[], id: number): boolean =>
  rows.some((row) => row.id === id);

const doors: Record<string, Door> = {
  retrieval: {
    needs: 'use',
    opens: async (session) =>
      isDone(
        await session.post('/system/fragment/retrieval', { knowledgeId: base, query: 'canary' }),
      ),
  },
  'a question to the base': {
    needs: 'use',
    opens: async (session) => {
      const message = {
        model: 'sim-chat',
        content: 'When does the canary sing?',
        knowledgeId: base,
      };
      const reply = await sendChat(session, message);
      return reply.error === undefined && JSON.stringify(messagesAsked(simulator)).includes(FACT);
    },
  },
  'binding to an agent': {
    needs: 'use',
    opens: async (session) => {
      const body = { agentName: 'bound', modelId: chatModel, knowledgeIds: [base], share: 0 };
      const answer = await session.post<{ id: number }>('/agent/agent', body);
      if (isDone(answer)) done(await session.delete(`/agent/agent/${answer.data.id}`));
      return isDone(answer);
    },
  },
  'the list of bases': {
    needs: 'read',
    opens: async (session) =>
      holds(done(await session.get<{ id: number }[]>('/system/info/list')).rows, base),
  },
  'the base': {
    needs: 'read',
    opens: async (session) => isDone(await session.get(`/system/info/${base}`)),
  },
  'the list of documents': {
    needs: 'read',
    opens: async (session) =>
      holds(done(await session.get<{ id: number }[]>('/system/attach/list')).rows, documentId),
  },
  'a document': {
    needs: 'read',
    opens: async (session) => isDone(await session.get(`/system/attach/${documentId}`)),
  },
  'the list of fragments': {
    needs: 'read',
    opens: async (session) =>
      done(await session.get<unknown[]>(`/system/fragment/list?knowledgeId=${base}`)).rows.length >
      0,
  },
  'the test set': {
    needs: 'read',
    opens: async (session) => isDone(await session.get(`/system/info/${base}/testset/list`)),
  },
  'a change of the base': {
    needs: 'write',
    opens: async (session) =>
      isDone(await session.put('/system/info', { id: base, remark: 'New' })),
  },
  'an upload': {
    needs: 'write',
    opens: async (session) =>
      isDone(await upload(session, base, [[`${randomUUID()}.txt`, randomUUID()]], false)),
  },
  'its grants': {
    needs: 'manage',
    opens: async (session) => isDone(await session.get(`/access/knowledge/${base}`)),
  },
};

const agentDoors: Record<string, Door> = {
  'a question to the agent': {
    needs: 'use',
    opens: async (session) =>
      (await sendChat(session, { agentId: agent, content: 'Hello' })).error === undefined,
  },
  'the options': {
    needs: 'use',
    opens: async (session) =>
      holds(done(await session.get<{ id: number }[]>('/agent/agent/agentOptions')).data, agent),
  },
  '/v1/models': {
    needs: 'use',
    opens: async (session) =>
      (await session.raw('GET', '/v1/models')).text.includes(`agent-${agent}`),
  },
  'the list of agents': {
    needs: 'read',
    opens: async (session) =>
      holds(done(await session.get<{ id: number }[]>('/agent/agent/list')).rows, agent),
  },
  'the agent': {
    needs: 'read',
    opens: async (session) => isDone(await session.get(`/agent/agent/${agent}`)),
  },
  'a change of the agent': {
    needs: 'write',
    opens: async (session) =>
      isDone(await session.put('/agent/agent', { id: agent, remark: 'New' })),
  },
  'its grants': {
    needs: 'manage',
    opens: async (session) => isDone(await session.get(`/access/agent/${agent}`)),
  },
};

function includes(level: Level | undefined, needs: Level): boolean {
  return level !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(needs);
}

describe.each(Object.keys(subjects))('a grant to the %s', (kind) => {
  it.each([undefined, ...LEVELS])(
    'of the level %s opens what the level includes',
    async (level) => {
      const wrong: string[] = [];
      for (const [type, id, all] of [
        ['knowledge', base, doors],
        ['agent', agent, agentDoors],
      ] as const) {
        const given = level === undefined ? [] : [{ subject: subjects[kind]?.() ?? '', level }];
        done(await grant(type, id, [OWNER(), ...given]));
        for (const [name, { needs, opens }] of Object.entries(all)) {
          simulator.reset();
          const isOpen = await opens(member.session);
          if (isOpen !== includes(level, needs))
            wrong.push(`${type}: ${name} is ${isOpen ? 'open' : 'closed'}`);
        }
        done(await grant(type, id, [OWNER()]));
      }
      expect(wrong).toEqual([]);
    },
  );
});

describe('the grants of a record', () => {
  it('are named, and replaced as a whole', async () => {
    const given = [OWNER(), { subject: `role:${memberRole}`, level: 'read' as const }];
    expect(done(await grant('knowledge', base, given)).data.grants).toEqual([
      { ...OWNER(), kind: 'user', name: 'owner' },
      { subject: `role:${memberRole}`, level: 'read', kind: 'role', name: 'plain' },
    ]);
    const after = done(await grant('knowledge', base, [OWNER()])).data.grants;
    expect(after.map(({ subject }) => subject)).toEqual([`user:${owner.id}`]);
    const { rows } = done(
      await root.get<{ detail: object }[]>(
        `/monitor/audit/list?action=permission-change&targetType=knowledge_base&targetId=${base}`,
      ),
    );
    expect(rows[0]?.detail).toMatchObject({ granted: [], removed: [`role:${memberRole}`] });
  });

  it.each([
    ['without a manager', () => [{ subject: 'tenant', level: 'read' }], 409, /level manage/],
    [
      'for a user who is not there',
      () => [OWNER(), { subject: 'user:987654321', level: 'use' }],
      400,
      /access\/subjects/,
    ],
    ['for a subject twice', () => [OWNER(), OWNER()], 400, /twice/],
    ['for a word', () => [OWNER(), { subject: 'everyone', level: 'use' }], 400, /user:ID/],
    [
      'of another level',
      () => [OWNER(), { subject: 'tenant', level: 'own' }],
      400,
      /use, read, write/,
    ],
  ])('are refused %s', async (_, grants, code, msg) => {
    const answer = await owner.session.put(`/access/knowledge/${base}`, { grants: grants() });
    expect(answer).toMatchObject({ code, msg: expect.stringMatching(msg) });
  });

  it('of a model have the level use alone', async () => {
    const answer = await grant('model', echoModel, [{ subject: 'tenant', level: 'read' }]);
    expect(answer).toMatchObject({ code: 400, msg: expect.stringMatching(/level use only/) });
  });

  it('go to the whole tenant only with access:publish, and to nobody without access:grant', async () => {
    const granting = await makeRole(root, 'granting', [
      'system:info:add',
      'system:info:list',
      'access:grant',
    ]);
    const { session, id } = await makeUser(plinth, root, 'granter', [granting]);
    expect(await session.post('/system/info', { name: 'Mine', share: 1 })).toMatchObject({
      code: 403,
    });
    const own = await createKnowledge(session, { name: 'Mine' });
    const manages = { subject: `user:${id}`, level: 'manage' as const };
    const toAll = await grant(
      'knowledge',
      own,
      [manages, { subject: 'tenant', level: 'use' }],
      session,
    );
    expect(toAll).toMatchObject({ code: 403, msg: expect.stringMatching(/access:publish/) });
    done(
      await grant(
        'knowledge',
        own,
        [manages, { subject: `user:${member.id}`, level: 'read' }],
        session,
      ),
    );
    expect(await member.session.get(`/system/info/${own}`)).toMatchObject({ code: 200 });
    const creating = await makeRole(root, 'creating', ['system:info:add', 'system:info:list']);
    const other = await makeUser(plinth, root, 'creator', [creating]);
    const its = await createKnowledge(other.session, { name: 'Its own' });
    expect(await other.session.get(`/access/knowledge/${its}`)).toMatchObject({ code: 403 });
  });

  it('of the level write do not let delete', async () => {
    done(await grant('knowledge', base, [OWNER(), { subject: 'tenant', level: 'write' }]));
    done(await grant('agent', agent, [OWNER(), { subject: 'tenant', level: 'write' }]));
    for (const path of [`/system/info/${base}`, `/agent/agent/${agent}`]) {
      expect(await member.session.delete(path)).toMatchObject({
        code: 403,
        msg: expect.stringMatching(/access level manage/),
      });
    }
    done(await grant('knowledge', base, [OWNER()]));
    done(await grant('agent', agent, [OWNER()]));
  });

  it('go with the record, the user and the role', async () => {
    const leaver = await makeUser(plinth, root, 'leaver', [everyRole]);
    const passing = await makeRole(root, 'passing', []);
    const short = await createKnowledge(owner.session, { name: 'Short-lived' });
    const given = [`user:${leaver.id}`, `role:${passing}`].map((subject) => ({
      subject,
      level: 'read' as const,
    }));
    done(await grant('knowledge', short, [OWNER(), ...given]));
    const rows = (): Promise<{ subject: string }[]> =>
      plinth.app
        .get(Database)
        .query('SELECT subject FROM access_grant WHERE resource_type = $1 AND resource_id = $2', [
          'knowledge',
          short,
        ]);
    expect(await rows()).toHaveLength(3);
    done(await root.delete(`/system/user/${leaver.id}`));
    done(await root.delete(`/system/role/${passing}`));
    expect(await rows()).toEqual([{ subject: `user:${owner.id}` }]);
    done(await owner.session.delete(`/system/info/${short}`));
    expect(await rows()).toEqual([]);
  });
});

describe('share', () => {
  it('is the grant of the tenant to read', async () => {
    const shared = await createKnowledge(owner.session, { name: 'Shared', share: 1 });
    const { grants } = done(await owner.session.get<Access>(`/access/knowledge/${shared}`)).data;
    expect(grants.map(({ subject, level }) => [subject, level])).toEqual([
      [`user:${owner.id}`, 'manage'],
      ['tenant', 'read'],
    ]);
    expect(await member.session.get(`/system/info/${shared}`)).toMatchObject({
      data: { share: 1 },
    });
    const listed = async (query: string): Promise<number[]> =>
      done(await member.session.get<{ id: number }[]>(`/system/info/list?${query}`)).rows.map(
        ({ id }) => id,
      );
    expect(await listed('share=1')).toContain(shared);
    expect(await listed('share=0')).not.toContain(shared);
    done(await owner.session.put('/system/info', { id: shared, share: 0 }));
    expect(await member.session.get(`/system/info/${shared}`)).toMatchObject({ code: 404 });
    done(await grant('knowledge', shared, [OWNER(), { subject: 'tenant', level: 'write' }]));
    expect(await member.session.put('/system/info', { id: shared, remark: 'x' })).toMatchObject({
      code: 200,
    });
    expect(await member.session.put('/system/info', { id: shared, share: 0 })).toMatchObject({
      code: 403,
      msg: expect.stringMatching(/level manage/),
    });
  });
});

describe('explanations and listings', () => {
  it('say by which grant, and what is missing', async () => {
    done(
      await grant('knowledge', base, [OWNER(), { subject: `role:${memberRole}`, level: 'read' }]),
    );
    const path = `/access/explain?user=${member.id}&type=knowledge&id=${base}`;
    const { data } = done(await owner.session.get<{ level: string; missing: string[] }>(path));
    expect(data).toMatchObject({
      level: 'read',
      isSuperAdmin: false,
      grants: [{ subject: `role:${memberRole}`, level: 'read', name: 'plain' }],
    });
    expect(data.missing).toEqual([
      expect.stringMatching(/^write: no grant/),
      expect.stringMatching(/^manage: no grant/),
    ]);
    // One's own access may be asked without managing the record, and that of others may not.
    expect(await member.session.get(path)).toMatchObject({ code: 200 });
    const ofOwner = `/access/explain?user=${owner.id}&type=knowledge&id=${base}`;
    expect(await member.session.get(ofOwner)).toMatchObject({ code: 403 });
  });

  it('list what a subject is granted, as far as the caller may know', async () => {
    const path = `/access/list?subject=user:${member.id}&type=knowledge`;
    const idsFor = async (session: Session): Promise<number[]> =>
      done(await session.get<{ id: number }[]>(path)).rows.map(({ id }) => id);
    expect(await idsFor(member.session)).toContain(base);
    expect(await idsFor(owner.session)).toContain(base);
    const other = await makeUser(plinth, root, 'other', [everyRole]);
    expect(await idsFor(other.session)).not.toContain(base);
    const { data } = done(
      await owner.session.get<{ subject: string }[]>('/access/subjects?name=plain'),
    );
    expect(data).toEqual([{ subject: `role:${memberRole}`, kind: 'role', name: 'plain' }]);
  });
});

describe('the permission access:administer', () => {
  interface AdministeredRecord {
    readonly type: string;
    readonly id: number;
    readonly unmanaged: boolean;
  }
  let administrator: Person;

  beforeAll(async () => {
    const administering = await makeRole(root, 'administering', ['access:administer']);
    administrator = await makeUser(plinth, root, 'keeper', [everyRole, administering]);
    done(await grant('knowledge', base, [OWNER()]));
    done(await grant('agent', agent, [OWNER()]));
  });

  async function recordsFor(query: string, session = administrator.session) {
    return done(await session.get<AdministeredRecord[]>(`/access/record/list?${query}`)).rows;
  }

  it('shows who may reach a record, and none of its contents', async () => {
    const open: string[] = [];
    for (const [name, { opens }] of [...Object.entries(doors), ...Object.entries(agentDoors)]) {
      simulator.reset();
      if (await opens(administrator.session)) open.push(name);
    }
    expect(open).toEqual(['its grants', 'its grants']);
    const readers = `/access/document/${documentId}`;
    expect(await administrator.session.get(readers)).toMatchObject({ code: 404 });
    const explained = `/access/explain?user=${owner.id}&type=knowledge&id=${base}`;
    expect(await administrator.session.get(explained)).toMatchObject({ data: { level: 'manage' } });
    const ofOwner = `/access/list?subject=user:${owner.id}&type=knowledge`;
    const { rows } = done(await administrator.session.get<{ id: number }[]>(ofOwner));
    expect(holds(rows, base)).toBe(true);

    expect(await member.session.get('/access/record/list')).toMatchObject({ code: 403 });
    const ownBase = await createKnowledge(administrator.session, { name: 'Of the keeper' });
    const permissions = ['access:administer'];
    const limited = withKey(
      administrator.session,
      await makeKey(administrator.session, { permissions, knowledgeIds: [ownBase] }),
    );
    expect(await recordsFor('type=knowledge', limited)).toMatchObject([{ id: ownBase }]);
  });

  it('finds the records of users who are gone, and gives them to others', async () => {
    const leaver = await makeUser(plinth, root, 'parting', [everyRole]);
    const leftBase = await createKnowledge(leaver.session, { name: 'Left behind' });
    const leftAgent = await createAgent(leaver.session, chatModel, {
      agentName: 'Left behind, too',
      share: 0,
    });
    const expected = { type: 'knowledge', id: leftBase, name: 'Left behind' };
    expect(await recordsFor('name=left%20BEHIND')).toEqual([
      { ...expected, ownerId: leaver.id, ownerName: 'parting', grantCount: 1, unmanaged: false },
      expect.objectContaining({ type: 'agent', id: leftAgent.id, unmanaged: false }),
    ]);
    done(await root.put('/system/user/changeStatus', { userId: leaver.id, status: '1' }));
    const unmanaged = async (): Promise<string[]> =>
      (await recordsFor('unmanaged=true&orderByColumn=type')).map(
        ({ type, id }) => `${type} ${id}`,
      );
    expect(await unmanaged()).toEqual([`agent ${leftAgent.id}`, `knowledge ${leftBase}`]);
    done(await root.delete(`/system/user/${leaver.id}`));
    expect(await recordsFor('type=knowledge&unmanaged=true')).toEqual([
      { ...expected, ownerId: null, ownerName: null, grantCount: 0, unmanaged: true },
    ]);

    const { session, id } = administrator;
    expect(await session.get(`/system/info/${leftBase}`)).toMatchObject({ code: 404 });
    const reader = { subject: `user:${id}`, level: 'read' as const };
    expect(await grant('knowledge', leftBase, [reader], session)).toMatchObject({ code: 409 });
    done(await grant('knowledge', leftBase, [{ ...reader, level: 'manage' }], session));
    expect(await session.get(`/system/info/${leftBase}`)).toMatchObject({ code: 200 });
    expect(await unmanaged()).toEqual([`agent ${leftAgent.id}`]);
  });

  it('leaves an entry in the audit log with each use', async () => {
    const { rows } = done(
      await root.get<{ action: string; targetType: string; detail: Record<string, unknown> }[]>(
        `/monitor/audit/list?actorId=${administrator.id}`,
      ),
    );
    const ofAccess = rows.filter(({ action }) => /^(access-view|permission-change)$/.test(action));
    const entries = ofAccess.map(({ action, targetType, detail }) =>
      [action, targetType, detail['byPermission']].join(' ').trim(),
    );
    expect(new Set(entries)).toEqual(
      new Set([
        'access-view access',
        'access-view agent',
        'access-view knowledge_base',
        'access-view user',
        'permission-change knowledge_base access:administer',
      ]),
    );
  });
});

describe('an agent', () => {
  async function answerOf(session: Session, id: number): Promise<boolean> {
    simulator.reset();
    const reply = await sendChat(session, { agentId: id, content: 'When does the canary sing?' });
    expect(reply.error).toBeUndefined();
    return JSON.stringify(messagesAsked(simulator)).includes(FACT);
  }

  it('searches for the user who asks, or what its creator manages', async () => {
    done(await grant('knowledge', base, [OWNER()]));
    const fields = { knowledgeIds: [base] };
    const asCaller = (await createAgent(owner.session, chatModel, fields)).id;
    const asCreator = (
      await createAgent(owner.session, chatModel, { ...fields, knowledgeAs: 'creator' })
    ).id;
    expect(await answerOf(owner.session, asCaller)).toBe(true);
    expect(await answerOf(member.session, asCaller)).toBe(false);
    expect(await answerOf(member.session, asCreator)).toBe(true);
    done(await grant('knowledge', base, [OWNER(), { subject: `user:${member.id}`, level: 'use' }]));
    expect(await answerOf(member.session, asCaller)).toBe(true);
    // It ends with the right of the creator.
    const other = { subject: `user:${member.id}`, level: 'manage' as const };
    done(await grant('knowledge', base, [other, { ...OWNER(), level: 'write' }]));
    const third = await makeUser(plinth, root, 'third', [everyRole]);
    expect(await answerOf(third.session, asCreator)).toBe(false);
    done(await grant('knowledge', base, [OWNER()], member.session));
  });

  it('is of its creator alone without access:publish', async () => {
    const role = await makeRole(root, 'agents', [
      'agent:agent:add',
      'agent:agent:query',
      'system:model:query',
    ]);
    const { session } = await makeUser(plinth, root, 'agentmaker', [role]);
    const { id, share } = await createAgent(session, chatModel);
    expect(share).toBe(0);
    const refused = await sendChat(member.session, { agentId: id, content: 'x' });
    expect(refused.error).toMatch(/agent was not found/);
    expect((await createAgent(owner.session, chatModel)).share).toBe(1);
  });
});

describe('a model', () => {
  afterAll(
    async () => void done(await grant('model', echoModel, [{ subject: 'tenant', level: 'use' }])),
  );

  it('is chosen, listed and called by grant', async () => {
    const message = { model: 'sim--echo', content: 'hello' };
    expect((await sendChat(member.session, message)).text).toBe('hello');
    done(await grant('model', echoModel, [{ subject: `user:${owner.id}`, level: 'use' }]));
    expect((await sendChat(member.session, message)).error).toMatch(
      /may not use the model sim--echo/,
    );
    expect((await sendChat(owner.session, message)).text).toBe('hello');
    const shown = async (session: Session): Promise<string> =>
      (await session.raw('GET', '/v1/models')).text +
      (await session.raw('GET', '/system/model/modelList')).text;
    expect(await shown(member.session)).not.toContain('sim--echo');
    expect(await shown(owner.session)).toContain('sim--echo');
    const key = withKey(owner.session, await makeKey(owner.session, { modelIds: [chatModel] }));
    expect((await key.raw('GET', '/v1/models')).text).not.toContain('sim--echo');
    const completion = { model: 'sim--echo', messages: [{ role: 'user', content: 'x' }] };
    expect((await member.session.raw('POST', '/v1/chat/completions', completion)).status).toBe(403);
    const body = { agentName: 'echo', modelId: echoModel };
    expect(await member.session.post('/agent/agent', body)).toMatchObject({ code: 403 });
  });
});

describe('a running answer', () => {
  it.each(['knowledge', 'agent'])('ends when the right to its %s is taken away', async (type) => {
    const { rows } = done(await root.get<{ id: number }[]>(`/system/model/list?modelName=${SLOW}`));
    const id =
      type === 'knowledge' ? base : (await createAgent(owner.session, rows[0]?.id ?? 0)).id;
    const reader = { subject: `user:${member.id}`, level: 'use' as const };
    done(await grant(type, id, [OWNER(), reader]));
    const named = type === 'knowledge' ? { model: SLOW, knowledgeId: id } : { agentId: id };
    const chat = await OpenChat.send(member.session, { ...named, content: 'x' });
    await chat.until('tok3');
    done(await grant(type, id, [OWNER()]));
    expect((await chat.rest()).error).toMatch(/may no longer use/);
  });
});
