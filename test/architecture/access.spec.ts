import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { ALL_PERMISSIONS, TenantRevision } from '../../src/platform/access/index.js';
import { Database } from '../../src/platform/database/index.js';
import { KnowledgeService } from '../../src/knowledge/index.js';
import { createKnowledge, upload } from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { done, makeRole, makeUser, PERMISSIONS_WITHOUT_ADMINISTERING } from '../support/people.js';
import type { Person } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import { routeTable } from '../support/route-table.js';
import type { Route } from '../support/route-table.js';
import {
  attachment,
  documentName,
  fragment,
  knowledgeBase,
  sourceFile,
  testQuery,
} from '../support/isolation/library.records.js';
import { agent, fresh, model, modelName } from '../support/isolation/records.js';
import type { RecordKind } from '../support/isolation/records.js';
import {
  listedReferences,
  neutral,
  prepare,
  toolReferences,
} from '../support/isolation/requests.js';
import type { ListedReference, Seen } from '../support/isolation/requests.js';
import { COMMON_MODEL, COMMON_PROVIDER } from '../support/isolation/world.js';
import type { Member, World } from '../support/isolation/world.js';

/** The levels that grants have, from none at all. */
const LEVELS = ['none', 'use', 'read', 'write', 'manage'] as const;
type Level = (typeof LEVELS)[number];
const rank = (level: Level): number => LEVELS.indexOf(level);

/**
 * Who may do what: the level that each route needs on each record that it names. `permission`: records of the tenant are
 * administered by permission. `own`: what is the caller's own, or shown with it. `never`: a record of another one is refused. `lists`
 * has the routes that show records without being given an id. `npm run access:check` tries the same table on a running
 * installation.
 */
interface Table {
  readonly routes: Readonly<Record<string, Readonly<Record<string, Needed>>>>;
  readonly lists: Readonly<Record<string, Readonly<Record<string, Needed>>>>;
}
type Needed = Level | 'permission' | 'own' | 'never';
const table = JSON.parse(readFileSync('scripts/access-levels.json', 'utf8')) as Table;

const OF_DOCUMENTS: readonly RecordKind[] = [attachment, documentName, sourceFile, fragment];
const OF_BASES: readonly RecordKind[] = [knowledgeBase, testQuery, ...OF_DOCUMENTS];
const GRANTED: readonly RecordKind[] = [...OF_BASES, agent, model, modelName];

/** Routes that administer records, or report on them, by permission over all of the tenant. */
const BY_PERMISSION = /^\w+ \/(system\/(model|limit)|monitor)\b/;

/** Parameters that name a record with grants. */
const named = listedReferences.filter(
  ({ key, reference }) => GRANTED.includes(reference.kind) && !BY_PERMISSION.test(key),
);

/** Categories of the models that routes call; all others call chat models. */
const CATEGORIES: Readonly<Record<string, string>> = {
  'POST /v1/moderations': 'moderation',
  'POST /v1/embeddings': 'vector',
  'POST /v1/rerank': 'rerank',
  'POST /v1/images/generations': 'image',
  'POST /v1/images/edits': 'image',
  'POST /media/image': 'image',
  'POST /v1/audio/speech': 'audio',
  'POST /media/speech': 'audio',
  'POST /v1/audio/transcriptions': 'transcription',
  'POST /v1/audio/translations': 'transcription',
  'POST /media/transcription': 'transcription',
  'POST /media/video': 'video',
  'GET /media/video': 'video',
  'GET /media/prediction': 'image',
  'GET /media/content': 'image',
};

let plinth: Plinth;
let simulator: Simulator;
let database: Database;
let world: World;
let owner: Person;
let member: Person;
let routes: Map<string, Route>;
/** Models by category, which all combinations share: their grants are replaced. */
let models: Map<string, { readonly id: number; readonly name: string }>;
let subjects: Record<string, { readonly subject: string; readonly asks: Member }>;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  database = plinth.app.get(Database);
  routes = new Map(routeTable(plinth.app).map((route) => [route.key, route]));
  const root = await plinth.signIn();
  await createProvider(root, COMMON_PROVIDER);
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  await createModel(root, { ...service, modelName: COMMON_MODEL, supportsTools: true });
  const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
  await createModel(root, { ...service, ...embedding });
  models = new Map();
  for (const category of new Set(['chat', ...Object.values(CATEGORIES)])) {
    const name = `ibis-${category}-model`;
    const fields = { ...service, category, modelName: name, modelDimension: 256 };
    models.set(category, { id: await createModel(root, fields), name });
  }
  const every = await makeRole(root, 'every', PERMISSIONS_WITHOUT_ADMINISTERING);
  const named = await makeRole(root, 'named', []);
  owner = await makeUser(plinth, root, 'owner', [every]);
  for (const { id } of models.values()) {
    const grants = [{ subject: `user:${owner.id}`, level: 'use' }];
    done(await root.put(`/access/model/${id}`, { grants }));
  }
  member = await makeUser(plinth, root, 'member', [every, named]);
  const asks: Member = { session: member.session, name: 'member', tenantId: '000000' };
  const group = async (change: object): Promise<number> => {
    const { data: groupId } = done(
      await root.post<number>('/system/group', { displayName: fresh('group') }),
    );
    done(await root.put('/system/group/member', { groupId, ...change }));
    return groupId;
  };
  const inner = await group({ addedUserIds: [member.id] });
  const direct = await group({ addedUserIds: [member.id] });
  const outer = await group({ addedGroupIds: [inner] });
  subjects = {
    tenant: { subject: 'tenant', asks },
    user: { subject: `user:${member.id}`, asks },
    role: { subject: `role:${named}`, asks },
    group: { subject: `group:${direct}`, asks },
    'nested group': { subject: `group:${outer}`, asks },
  };
  world = { plinth, owner: { ...asks, session: owner.session } } as World;
}, 120_000);

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

/** Records of their own kind, and the id that requests name each by. */
interface Records {
  readonly ids: ReadonlyMap<RecordKind, string>;
  /** Texts by which lists are searched. */
  readonly marks: Readonly<Record<string, string>>;
}

/** A base with a document, a fragment and a test query, and an agent, of the owner. */
async function makeRecords(): Promise<Records> {
  const { session } = owner;
  const marks = {
    knowledge: `${fresh('heron')}x`,
    document: `${fresh('egret')}x`,
    agent: `${fresh('stork')}x`,
    model: models.get('chat')?.name ?? '',
  };
  const base = await createKnowledge(session, { name: marks.knowledge, ...EMBEDDED });
  const { data } = done(
    await upload(session, base, [[`${marks.document}.txt`, fresh('Text ')]], false),
  );
  const { docId, ossId, id } = done(
    await session.get<{ id: number; docId: string; ossId: string }>(
      `/system/attach/${data[0]?.id}`,
    ),
  ).data;
  const created = async (path: string, body: object): Promise<string> =>
    String(done(await session.post<{ id: number }>(path, body)).data.id);
  const part = await created('/system/fragment', { docId, content: marks.document });
  const question = { query: fresh('What '), expected: [{ docId }] };
  const asked = await created(`/system/info/${base}/testset`, question);
  const { id: modelId, name } = models.get('chat') ?? { id: 0, name: '' };
  const agentId = await created('/agent/agent', {
    ...{ agentName: marks.agent, modelId, knowledgeIds: [base], share: 0 },
  });
  const ids = new Map<RecordKind, string>([
    [knowledgeBase, String(base)],
    [attachment, String(id)],
    [documentName, docId],
    [sourceFile, ossId],
    [fragment, part],
    [testQuery, asked],
    [agent, agentId],
    [model, String(modelId)],
    [modelName, name],
  ]);
  return { ids, marks };
}

const EMBEDDED = { embeddingModel: 'sim-embed-256' };

/** Gives the subject alone the level on the records, of the models the level use, and takes away what others had. */
async function grant(subject: string, level: Level, { ids }: Records): Promise<void> {
  const modelIds = [...models.values()].map(({ id }) => id);
  const manager = `user:${owner.id}`;
  // Records that requests make for themselves are the asker's, as the common models are the tenant's.
  await database.query(
    `DELETE FROM access_grant AS g WHERE subject <> $1
        AND (EXISTS (SELECT FROM access_grant AS o WHERE o.resource_type = g.resource_type
                AND o.resource_id = g.resource_id AND o.subject = $1)
          OR resource_type = 'model' AND resource_id = ANY ($2))`,
    [manager, modelIds],
  );
  const levels = [
    ['knowledge', Number(ids.get(knowledgeBase)), rank(level)],
    ['agent', Number(ids.get(agent)), rank(level)],
    ...modelIds.map((id) => ['model', id, 1]),
  ];
  for (const [type, id, number] of level === 'none' ? [] : levels) {
    await database.query(
      `INSERT INTO access_grant (tenant_id, resource_type, resource_id, subject, level)
         VALUES ('000000', $1, $2, $3, $4)`,
      [type, id, subject, number],
    );
  }
  await plinth.app.get(TenantRevision).incrementAccess('000000');
}

function idFor({ key, reference }: ListedReference, { ids }: Records): string {
  const category = CATEGORIES[key];
  if (reference.kind === modelName && category) return models.get(category)?.name ?? '';
  return ids.get(reference.kind) ?? '';
}

const missingAnswers = new Map<string, string>();

/** What the asker is answered for a record that does not exist; asked once. */
async function answerForMissing(one: ListedReference, by: Member): Promise<string> {
  const { missing } = one.reference.kind;
  const key = `${one.name} ${one.field} ${by.session.headers['authorization']}`;
  const answered = missingAnswers.get(key);
  if (answered !== undefined) return answered;
  const ask = await prepare(one, missing, by, world);
  const text = JSON.stringify(neutral(await ask(by.session), missing));
  missingAnswers.set(key, text);
  return text;
}

/** Whether the answer is neither that for a record which does not exist nor a refusal. */
function isOpen(seen: Seen, id: string, forMissing: string): boolean {
  const isHidden = JSON.stringify(neutral(seen, id)) === forMissing;
  return !isHidden && seen.status !== 403 && !/"code":"?403\b/.test(seen.text);
}

/** Requests that remove a record, or who may reach it, come last, and what contains others last of these. */
const LAST = [
  'DELETE /system/fragment',
  // Replaces the fragments.
  'POST /system/attach/parse',
  'POST /system/attach/reparse',
  'PUT /access',
  'DELETE /system/info/:knowledgeId',
  'DELETE /system/attach',
  'DELETE /agent',
  'DELETE /system/info/:ids',
];
const place = ({ key }: ListedReference): number =>
  LAST.findIndex((start) => key.startsWith(start));
const ofTools = toolReferences.filter(({ reference }) => GRANTED.includes(reference.kind));
const ordered = [...named, ...ofTools].toSorted((one, other) => place(one) - place(other));

/** A way to a record: a parameter of a route, or the kind of records that a list shows. */
interface Door {
  readonly name: string;
  readonly needed: Needed;
  readonly isOpenTo: (by: Member, records: Records) => Promise<boolean>;
}

const ofReferences: readonly (Door & Pick<ListedReference, 'reference'>)[] = ordered.map((one) => ({
  name: `${one.name} ${one.field}`,
  needed: table.routes[one.key]?.[one.field] ?? 'none',
  reference: one.reference,
  isOpenTo: async (by, records) => {
    const id = idFor(one, records);
    const asked = await (await prepare(one, id, by, world))(by.session);
    return isOpen(asked, id, await answerForMissing(one, by));
  },
}));

const ofLists: readonly Door[] = Object.entries(table.lists).flatMap(([key, shown]) =>
  Object.entries(shown).map(([kind, needed]) => ({
    name: `${key} ${kind}`,
    needed,
    isOpenTo: async (by, { marks }) => (await readList(key, by)).includes(marks[kind] ?? ''),
  })),
);

async function readList(key: string, { session }: Member): Promise<string> {
  return (await session.raw('GET', `${key.replace('GET ', '')}?pageSize=1000`)).text;
}

function isLevel(needed: Needed): needed is Level {
  return LEVELS.some((level) => level === needed);
}

/** What is open to the asker although it should be closed, or the other way round. */
async function deviations(
  doors: readonly Door[],
  { by, level, records }: { by: Member; level: Level; records: Records },
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name, needed, isOpenTo } of doors) {
    const expected = isLevel(needed) && rank(level) >= rank(needed);
    const open = await isOpenTo(by, records);
    if (open !== expected) wrong.push(`${name} is ${open ? 'open' : 'closed'} with ${level}`);
  }
  return wrong;
}

/** The doors whose answer changes with the level: those that need it, and those that need the next one. */
function near(doors: readonly Door[], level: Level): Door[] {
  return doors.filter(
    ({ needed }) => isLevel(needed) && [0, 1].includes(rank(needed) - rank(level)),
  );
}

function subjectOf(kind: string): { readonly subject: string; readonly asks: Member } {
  const chosen = subjects[kind];
  if (!chosen) throw new Error(`There is no subject ${kind}.`);
  return chosen;
}

describe('the table of needed levels', () => {
  it('has every parameter that names a record with grants, and nothing else', () => {
    const inTable = Object.entries(table.routes).flatMap(([key, fields]) =>
      Object.keys(fields).map((field) => `${key} ${field}`),
    );
    const inRoutes = named.map(({ key, field }) => `${key} ${field}`);

    expect(inTable.toSorted()).toEqual(inRoutes.toSorted());
    const values = [table.routes, table.lists].flatMap((part) =>
      Object.values(part).flatMap((fields) => Object.values(fields)),
    );
    expect(values.filter((one) => !isLevel(one) && !OTHERS.includes(one))).toEqual([]);
    expect(values).not.toContain('none');
  });

  it('has every list that shows such records', async () => {
    const { subject, asks } = subjectOf('user');
    const records = await makeRecords();
    await grant(subject, 'manage', records);
    const shown: string[] = [];
    for (const { key, method, path } of routes.values()) {
      if (method !== 'GET' || path.includes(':') || /(sse|stream)$|authUser|dynamic/.test(path))
        continue;
      const text = await readList(key, asks);
      for (const [kind, mark] of Object.entries(records.marks)) {
        if (text.includes(mark)) shown.push(`${key} ${kind}`);
      }
    }
    const listed = ofLists.map(({ name }) => name);
    expect(shown.filter((name) => !listed.includes(name))).toEqual([]);
  });
});

const OTHERS: readonly Needed[] = ['permission', 'own', 'never'];

const KINDS = ['user', 'tenant', 'role', 'group', 'nested group'];
/** A user is tried at every door; the other kinds share the doors, because one predicate reads all subjects alike; `all` tries each (docs/TESTING.md). */
const SHARES = process.env['PLINTH_ACCESS_DOORS'] === 'all' ? 1 : 3;

describe.each(KINDS)('a grant to the %s', (kind) => {
  it('opens what its level includes, and nothing above it', async () => {
    const { subject, asks: by } = subjectOf(kind);
    const wrong: string[] = [];
    for (const level of LEVELS) {
      const records = await makeRecords();
      await grant(subject, level, records);
      const doors = near([...ofLists, ...ofReferences], level).filter(
        (_, at) => kind === 'user' || at % SHARES === KINDS.indexOf(kind) % SHARES,
      );
      wrong.push(...(await deviations(doors, { by, level, records })));
    }
    expect(wrong).toEqual([]);
  }, 300_000);
});

it('a document with readers is open to these and to those who may write to its base', async () => {
  const { subject, asks: by } = subjectOf('user');
  const ofDocuments = ofReferences.filter(({ reference: { kind } }) => OF_DOCUMENTS.includes(kind));
  const reading = ofDocuments.filter(({ needed }) => needed === 'read');
  const records = await makeRecords();
  const readers = `/access/document/${records.ids.get(attachment)}`;
  done(await owner.session.put(readers, { grants: [] }));
  await grant(subject, 'read', records);
  expect(await deviations(reading, { by, level: 'none', records })).toEqual([]);
  done(await owner.session.put(readers, { grants: [{ subject, level: 'read' }] }));
  expect(await deviations(reading, { by, level: 'read', records })).toEqual([]);
  done(await owner.session.put(readers, { grants: [] }));
  await grant(subject, 'write', records);
  expect(await deviations(reading, { by, level: 'write', records })).toEqual([]);
}, 120_000);

it('finds a route that lets in too many, and one that lets in too few', async () => {
  const { subject, asks: by } = subjectOf('group');
  const service = plinth.app.get(KnowledgeService);
  const records = await makeRecords();
  await grant(subject, 'use', records);
  const original = service.get;
  const planted = (permissions: readonly string[]): typeof original =>
    function (this: KnowledgeService, caller, id) {
      const subjectless = { ...caller, subjects: [], permissions: new Set(permissions) };
      return original.call(service, subjectless, id);
    };
  const door = ofReferences.filter(({ name }) => name === 'GET /system/info/:id id');
  try {
    service.get = planted([ALL_PERMISSIONS]);
    expect(await deviations(door, { by, level: 'use', records })).toEqual([
      'GET /system/info/:id id is open with use',
    ]);
    service.get = planted([]);
    await grant(subject, 'read', records);
    expect(await deviations(door, { by, level: 'read', records })).toEqual([
      'GET /system/info/:id id is closed with read',
    ]);
  } finally {
    service.get = original;
  }
});
