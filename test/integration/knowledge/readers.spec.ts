import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { AgentTools, TurnSources } from '../../../src/agent/index.js';
import { UserCallers } from '../../../src/identity/index.js';
import { KnowledgeService } from '../../../src/knowledge/index.js';
import { MetadataRepository } from '../../../src/metadata/index.js';
import { permissionCatalogue, TenantRevision } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { messagesAsked, sendChat } from '../../support/chat.js';
import { createKnowledge, fragmentsOf, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const TENANT = '000000';
const WORD = 'marigold';
const SECRET = `The vault opens with the word ${WORD}.`;
const OPEN = 'The vault stands in the cellar of the old house.';
const NAME = 'combination.txt';
const QUESTION = 'Which word opens the vault?';

interface Access {
  readonly grants: readonly { readonly subject: string; readonly name: string | null }[] | null;
}

let plinth: Plinth;
let simulator: Simulator;
let root: Session;
let owner: Person;
let member: Person;
let memberRole: number;
let memberGroup: number;
let base: number;
let secret: { readonly id: number; readonly docId: string; readonly ossId: string };
let secretFragment: number;
let agent: number;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  root = await plinth.signIn();
  await createProvider(root, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  const chatModel = await createModel(root, { ...service, modelName: 'sim-chat' });
  const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
  await createModel(root, { ...service, ...embedding });
  const assignable = permissionCatalogue.filter(({ installation }) => !installation);
  const everyRole = await makeRole(
    root,
    'every',
    assignable.map(({ permission }) => permission),
  );
  memberRole = await makeRole(root, 'plain', []);
  owner = await makeUser(plinth, root, 'owner', [everyRole]);
  member = await makeUser(plinth, root, 'member', [everyRole, memberRole]);
  memberGroup = await makeGroup(member.id);
  const fields = { name: 'House', enableHybrid: 1, embeddingModel: 'sim-embed-256' };
  base = await createKnowledge(owner.session, fields);
  await upload(owner.session, base, [
    ['house.txt', OPEN],
    [NAME, SECRET],
  ]);
  await settled(owner.session, base);
  const { rows } = await owner.session.get<(typeof secret)[]>(`/system/attach/list?name=${NAME}`);
  if (!rows[0]) throw new Error(`There is no document ${NAME}.`);
  secret = rows[0];
  secretFragment = (await fragmentsOf(owner.session, secret.docId))[0]?.id ?? 0;
  const metadata = { combination: 1 };
  done(await owner.session.put(`/system/attach/${secret.id}/metadata`, { metadata }));
  const expected = [{ docId: secret.docId }];
  done(await owner.session.post(`/system/info/${base}/testset`, { query: QUESTION, expected }));
  const body = { knowledgeIds: [base], knowledgeAs: 'caller', share: 1 };
  agent = (await createAgent(owner.session, chatModel, body)).id;
  await grantBase('read');
}, 120_000);

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(() => simulator.reset());
afterEach(async () => {
  jest.restoreAllMocks();
  done(await setReaders(null));
});

/** A group with the user, as a directory would leave it. */
async function makeGroup(userId: number): Promise<number> {
  const [group] = await sql<{ id: number }>(
    `INSERT INTO user_group (tenant_id, source, display_name) VALUES ($1, 'local', $2) RETURNING id`,
    [TENANT, `Group of ${userId}`],
  );
  const id = group?.id ?? 0;
  const membership = [TENANT, id, userId];
  await sql(
    'INSERT INTO group_membership (tenant_id, group_id, user_id) VALUES ($1, $2, $3)',
    membership,
  );
  await plinth.app.get(TenantRevision).incrementAccess(TENANT);
  return id;
}

function sql<Row = unknown>(statement: string, parameters: unknown[]): Promise<Row[]> {
  return plinth.app.get(Database).query<Row>(statement, parameters);
}

/** Gives the member the level on the base beside its owner. */
async function grantBase(level: string): Promise<void> {
  const grants = [
    { subject: `user:${owner.id}`, level: 'manage' },
    { subject: `user:${member.id}`, level },
  ];
  done(await owner.session.put(`/access/knowledge/${base}`, { grants }));
}

function setReaders(readers: readonly string[] | null, by = owner.session) {
  const grants = readers && readers.map((subject) => ({ subject, level: 'read' }));
  return by.put<Access>(`/access/document/${secret.id}`, { grants });
}

async function text(session: Session, method: string, path: string, body?: object) {
  return (await session.raw(method, path, body)).text;
}

/** The sheet of a workbook. */
async function exported({ url, headers }: Session, path: string): Promise<string> {
  const response = await fetch(url + path, { method: 'POST', headers });
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  return strFromU8(files['xl/worksheets/sheet1.xml'] ?? new Uint8Array());
}

/** What the tool of an agent answers to the member. */
async function tool(person: Person, name: string, input: object): Promise<string> {
  const caller = await plinth.app.get(UserCallers).working({ userId: person.id, tenantId: TENANT });
  if (!caller) throw new Error('The user may not sign in.');
  const tools = plinth.app.get(AgentTools);
  const { content } = await tools.run(name, JSON.stringify(input), {
    caller,
    bases: await plinth.app.get(KnowledgeService).ofTenant(TENANT, [base]),
    skills: [],
    signal: new AbortController().signal,
    sources: new TurnSources(),
    offered: tools.all.map(({ name: one }) => one),
  });
  return content;
}

async function asked(session: Session, body: object): Promise<boolean> {
  const reply = await sendChat(session, body);
  expect(reply.error).toBeUndefined();
  return JSON.stringify(messagesAsked(simulator)).includes(WORD);
}

const search = (fields: object = {}) => ({ knowledgeId: base, query: QUESTION, ...fields });

/** Every way to the text, name or count of the restricted document; each answers whether it shows it. */
const doors: Record<string, (person: Person) => Promise<boolean>> = {
  retrieval: async ({ session }) =>
    (await text(session, 'POST', '/system/fragment/retrieval', search())).includes(WORD),
  'explained retrieval': async ({ session }) => {
    const body = search({ explain: true, topK: 1 });
    return (await text(session, 'POST', '/system/fragment/retrieval', body)).includes(WORD);
  },
  'retrieval with a filter': async ({ session }) => {
    const body = search({ filter: { key: 'combination', op: 'exists' } });
    return (await text(session, 'POST', '/system/fragment/retrieval', body)).includes(WORD);
  },
  'a question to the base': ({ session }) =>
    asked(session, { model: 'sim-chat', content: QUESTION, knowledgeId: base }),
  'a question to the agent': ({ session }) => asked(session, { agentId: agent, content: QUESTION }),
  'the agent behind /v1': async ({ session }) => {
    const messages = [{ role: 'user', content: QUESTION }];
    const body = { model: `agent-${agent}`, messages };
    const { status } = await session.raw('POST', '/v1/chat/completions', body);
    expect(status).toBe(200);
    return JSON.stringify(messagesAsked(simulator)).includes(WORD);
  },
  search_knowledge: async (person) =>
    (await tool(person, 'search_knowledge', { query: QUESTION })).includes(WORD),
  'search_knowledge in the document': async (person) =>
    (await tool(person, 'search_knowledge', { query: QUESTION, document: NAME })).includes(WORD),
  'the keys that search_knowledge names': async (person) => {
    const filter = [{ key: 'unknown', op: 'exists' }];
    return (await tool(person, 'search_knowledge', { query: QUESTION, filter })).includes(
      'combination',
    );
  },
  'read_document by name': async (person) =>
    (await tool(person, 'read_document', { document: 'combination' })).includes(WORD),
  'read_document by docId': async (person) =>
    (await tool(person, 'read_document', { document: secret.docId })).includes(WORD),
  'the count of documents': async ({ session }) =>
    done(await session.get<{ documentCount: number }>(`/system/info/${base}`)).data
      .documentCount === 2,
  'the list of documents': async ({ session }) =>
    (await text(session, 'GET', `/system/attach/list?knowledgeId=${base}`)).includes(NAME),
  'the total of documents': async ({ session }) =>
    done(await session.get<unknown[]>('/system/attach/list?pageSize=1')).total === 2,
  'the export of documents': async ({ session }) =>
    (await exported(session, '/system/attach/export')).includes(NAME),
  'the document': async ({ session }) =>
    (await session.get(`/system/attach/${secret.id}`)).code === 200,
  'its file': async ({ session }) =>
    (await text(session, 'GET', `/system/attach/${secret.id}/content`)).includes(WORD),
  'its preview': async ({ session }) => {
    const body = { attachmentId: secret.id, textBlockSize: 500 };
    return (await text(session, 'POST', `/system/info/${base}/preview`, body)).includes(WORD);
  },
  'the keys of metadata': async ({ session }) =>
    (await text(session, 'GET', `/system/attach/metadata/${base}`)).includes('combination'),
  'the stored file by id': async ({ session }) =>
    (await text(session, 'GET', `/resource/oss/listByIds/${secret.ossId}`)).includes(NAME),
  'the download of the stored file': async ({ session }) =>
    (await text(session, 'GET', `/resource/oss/download/${secret.ossId}`)).includes(WORD),
  'the list of fragments': async ({ session }) =>
    (await text(session, 'GET', `/system/fragment/list?knowledgeId=${base}`)).includes(WORD),
  'the fragments by text': async ({ session }) =>
    done(await session.get<unknown[]>(`/system/fragment/list?content=${WORD}`)).total === 1,
  'the fragment': async ({ session }) =>
    (await session.get(`/system/fragment/${secretFragment}`)).code === 200,
  'the export of fragments': async ({ session }) =>
    (await exported(session, '/system/fragment/export')).includes(WORD),
  'the names of the test set': async ({ session }) =>
    (await text(session, 'GET', `/system/info/${base}/testset/list`)).includes(NAME),
};

/** The doors that are not as expected. */
async function wrongDoors(person: Person, isOpen: boolean): Promise<string[]> {
  const wrong: string[] = [];
  for (const [name, shows] of Object.entries(doors)) {
    simulator.reset();
    if ((await shows(person)) !== isOpen) wrong.push(name);
  }
  return wrong;
}

const lists: Record<string, readonly [readers: () => readonly string[] | null, isOpen: boolean]> = {
  'no list': [() => null, true],
  'an empty list': [() => [], false],
  'a list of others': [() => [`user:${owner.id}`], false],
  'the tenant': [() => ['tenant'], true],
  'the user': [() => [`user:${member.id}`], true],
  'a role': [() => [`role:${memberRole}`], true],
  'a group': [() => [`group:${memberGroup}`], true],
};

describe('the readers of a document', () => {
  it.each(Object.keys(lists))('with %s decide at every door', async (name) => {
    const [readers, isOpen] = lists[name] ?? [() => null, true];
    done(await setReaders(readers()));
    expect(await wrongDoors(member, isOpen)).toEqual([]);
    // The document without a list is never hidden.
    expect(await text(member.session, 'GET', '/system/attach/list')).toContain('house.txt');
    expect(await text(member.session, 'POST', '/system/fragment/retrieval', search())).toContain(
      'cellar',
    );
  });

  it('hide it from changes, too', async () => {
    done(await setReaders([]));
    const { session } = member;
    const fragment = { id: secretFragment, content: 'Other.' };
    const answers = [
      await session.post('/system/fragment', { docId: secret.docId, content: 'More.' }),
      await session.put('/system/fragment', fragment),
      await session.delete(`/system/fragment/${secretFragment}`),
      await session.put('/system/attach', { id: secret.id, name: 'other' }),
      await session.post(`/system/attach/parse/${secret.id}`),
      await session.delete(`/system/attach/${secret.id}`),
    ];
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 404));
  });

  it('never hide it from those who may write to the base', async () => {
    done(await setReaders([]));
    expect(await wrongDoors(owner, true)).toEqual([]);
    await grantBase('write');
    expect(await wrongDoors(member, true)).toEqual([]);
    await grantBase('read');
    expect(await text(root, 'POST', '/system/fragment/retrieval', search())).toContain(WORD);
  });

  it('reach nothing without a right to the base', async () => {
    const stranger = await makeUser(plinth, root, 'stranger', [
      await makeRole(root, 'reading', ['system:attach:*', 'system:fragment:*', 'system:info:*']),
    ]);
    done(await setReaders([`user:${stranger.id}`, 'tenant']));
    const { session } = stranger;
    expect(await session.get(`/system/attach/${secret.id}`)).toMatchObject({ code: 404 });
    expect(await session.get(`/system/fragment/${secretFragment}`)).toMatchObject({ code: 404 });
    expect(await session.post('/system/fragment/retrieval', search())).toMatchObject({ code: 404 });
    expect(await text(session, 'GET', '/system/attach/list')).not.toContain(NAME);
    expect(await text(session, 'GET', '/access/list')).not.toContain(NAME);
  });

  it('bind API keys as their owner', async () => {
    const session = withKey(
      root,
      await makeKey(member.session, { permissions: ['system:fragment:list'] }),
    );
    done(await setReaders([]));
    const path = '/system/fragment/retrieval';
    const hidden = await text(session, 'POST', path, search());
    expect(hidden).toContain('cellar');
    expect(hidden).not.toContain(WORD);
    done(await setReaders([`user:${member.id}`]));
    expect(await text(session, 'POST', path, search())).toContain(WORD);
  });

  it('stay closed when the last of them is deleted', async () => {
    const leaver = await makeUser(plinth, root, 'leaver');
    const passing = await makeRole(root, 'passing', []);
    const group = await makeGroup(leaver.id);
    done(await setReaders([`user:${leaver.id}`, `role:${passing}`, `group:${group}`]));
    done(await root.delete(`/system/user/${leaver.id}`));
    done(await root.delete(`/system/role/${passing}`));
    await sql('DELETE FROM user_group WHERE id = $1', [group]);
    const access = done(await owner.session.get<Access>(`/access/document/${secret.id}`));
    expect(access.data.grants).toEqual([]);
    expect(await wrongDoors(member, false)).toEqual([]);
  });

  it('close the search when they cannot be read', async () => {
    done(await setReaders([`user:${member.id}`]));
    const metadata = plinth.app.get(MetadataRepository);
    jest.spyOn(metadata, 'hidesSome').mockRejectedValue(new Error('The database is gone.'));
    const answer = await text(member.session, 'POST', '/system/fragment/retrieval', search());
    expect(answer).not.toContain(WORD);
    expect(answer).not.toContain('cellar');
  });

  it('cost a base without any no statement', async () => {
    const metadata = plinth.app.get(MetadataRepository);
    const asks = [jest.spyOn(metadata, 'hidesSome'), jest.spyOn(metadata, 'documents')];
    expect(await text(member.session, 'POST', '/system/fragment/retrieval', search())).toContain(
      WORD,
    );
    for (const ask of asks) expect(ask).not.toHaveBeenCalled();
  });

  it('are not asked by an agent that passes on the base of its creator, as long as that user manages it', async () => {
    const { data } = done(
      await owner.session.get<Record<string, unknown>>(`/agent/agent/${agent}`),
    );
    const save = (knowledgeAs: string) =>
      owner.session.put('/agent/agent', { id: agent, revision: data['revision'], knowledgeAs });
    done(await save('creator'));
    done(await setReaders([]));
    const question = { agentId: agent, content: QUESTION };
    expect(await asked(member.session, question)).toBe(true);
    const manager = { subject: `user:${member.id}`, level: 'manage' };
    const reader = { subject: `user:${owner.id}`, level: 'read' };
    done(
      await owner.session.put(`/access/knowledge/${base}`, {
        grants: [{ subject: `user:${owner.id}`, level: 'manage' }, manager],
      }),
    );
    done(await member.session.put(`/access/knowledge/${base}`, { grants: [reader, manager] }));
    const asker = await makeUser(plinth, root, 'asker', [
      await makeRole(root, 'asking', ['chat:*', 'system:fragment:list']),
    ]);
    simulator.reset();
    done(
      await member.session.put(`/access/knowledge/${base}`, {
        grants: [manager, reader, { subject: `user:${asker.id}`, level: 'use' }],
      }),
    );
    expect(await asked(asker.session, question)).toBe(false);
    done(
      await member.session.put(`/access/knowledge/${base}`, {
        grants: [manager, { subject: `user:${owner.id}`, level: 'manage' }],
      }),
    );
    await grantBase('read');
    const { data: now } = done(
      await owner.session.get<Record<string, unknown>>(`/agent/agent/${agent}`),
    );
    done(
      await owner.session.put('/agent/agent', {
        id: agent,
        revision: now['revision'],
        knowledgeAs: 'caller',
      }),
    );
  });
});

describe('the list of readers', () => {
  it('is named, replaced and taken away by those who may write to the base', async () => {
    expect(done(await owner.session.get<Access>(`/access/document/${secret.id}`)).data).toEqual({
      type: 'document',
      id: secret.id,
      name: NAME,
      levels: ['read'],
      grants: null,
    });
    const set = done(await setReaders([`role:${memberRole}`])).data.grants;
    expect(set).toEqual([
      { subject: `role:${memberRole}`, kind: 'role', level: 'read', name: 'plain' },
    ]);
    expect((await owner.session.get(`/system/attach/${secret.id}`)).data).toMatchObject({
      restricted: true,
    });
    expect(done(await setReaders([])).data.grants).toEqual([]);
    expect(done(await setReaders(null)).data.grants).toBeNull();
    const { rows } = done(
      await root.get<{ detail: object }[]>(
        `/monitor/audit/list?action=permission-change&targetType=attachment&targetId=${secret.id}`,
      ),
    );
    expect(rows[0]?.detail).toMatchObject({ granted: [], removed: [], restricted: false });
    expect(rows[1]?.detail).toMatchObject({ removed: [`role:${memberRole}`], restricted: true });
  });

  it('marks the base as long as one of its documents has one', async () => {
    const marked = async (): Promise<unknown> => {
      const [row] = await sql<{ restricted: boolean }>(
        'SELECT restricted FROM knowledge_base WHERE id = $1',
        [base],
      );
      return row?.restricted;
    };
    expect(await marked()).toBe(false);
    done(await setReaders([]));
    expect(await marked()).toBe(true);
    done(await setReaders(null));
    expect(await marked()).toBe(false);
  });

  it('is refused to readers of the base, and unknown to those from whom it hides', async () => {
    const path = `/access/document/${secret.id}`;
    expect(await member.session.get(path)).toMatchObject({ code: 403 });
    done(await setReaders([]));
    expect(await member.session.get(path)).toMatchObject({ code: 404 });
    expect(await setReaders(null, member.session)).toMatchObject({ code: 404 });
    expect(await member.session.get('/access/document/987654321')).toMatchObject({ code: 404 });
  });

  it('is unknown to other tenants', async () => {
    const { admin } = await makeTenant(plinth, root, '100100');
    const path = `/access/document/${secret.id}`;
    expect(await admin.get(path)).toMatchObject({ code: 404 });
    expect(await setReaders(null, admin)).toMatchObject({ code: 404 });
  });

  it.each([
    ['another level', [{ subject: 'tenant', level: 'write' }], /level read only/],
    [
      'a user who does not exist',
      [{ subject: 'user:987654321', level: 'read' }],
      /access\/subjects/,
    ],
    ['no list', undefined, /^grants must/],
  ])('is refused with %s', async (_, grants, msg) => {
    const answer = await owner.session.put(`/access/document/${secret.id}`, { grants });
    expect(answer).toMatchObject({ code: 400, msg: expect.stringMatching(msg) });
  });

  it('cannot be taken from a base', async () => {
    const answer = await owner.session.put(`/access/knowledge/${base}`, { grants: null });
    expect(answer).toMatchObject({ code: 400, msg: expect.stringMatching(/list of grants/) });
  });

  it('comes with an upload, and goes with the document', async () => {
    const uploaded = async (readers: string, session = owner.session) => {
      const form = new FormData();
      form.append('knowledgeId', String(base));
      form.append('readers', readers);
      form.append('file', new Blob([`Pages for ${readers}.`]), `for ${readers.length}.txt`);
      return session.upload<{ id: number }[]>('/system/attach/upload', form);
    };
    for (const [readers, isOpen] of [
      ['[]', false],
      [`["group:${memberGroup}"]`, true],
    ] as const) {
      const id = done(await uploaded(readers)).data[0]?.id ?? 0;
      const { code } = await member.session.get(`/system/attach/${id}`);
      expect([readers, code]).toEqual([readers, isOpen ? 200 : 404]);
      done(await owner.session.delete(`/system/attach/${id}`));
      const rows = await sql(
        `SELECT FROM access_grant WHERE resource_type = 'document' AND resource_id = $1`,
        [id],
      );
      expect(rows).toEqual([]);
    }
    for (const readers of ['group:9', '{}', '["everyone"]', '["group:987654321"]']) {
      expect([readers, (await uploaded(readers)).code]).toEqual([readers, 400]);
    }
    const writing = await makeRole(root, 'writing', ['system:attach:add', 'system:info:list']);
    const writer = await makeUser(plinth, root, 'writer', [writing]);
    const grants = [
      { subject: `user:${owner.id}`, level: 'manage' },
      { subject: `user:${writer.id}`, level: 'write' },
    ];
    done(await owner.session.put(`/access/knowledge/${base}`, { grants }));
    expect(await uploaded('[]', writer.session)).toMatchObject({
      code: 403,
      msg: expect.stringMatching(/access:grant/),
    });
    await grantBase('read');
  });
});
