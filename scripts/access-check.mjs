// Tries who may reach what on a running installation, from outside: `npm run access:check -- --url https://plinth.example.com`.
// It makes users, groups, a role, knowledge bases, agents and a model of its own, tries them against scripts/access-levels.json,
// removes them again, and writes a dated report. Exit code 0: as the table says; 1: not so; 2: it could not be tried or cleaned up.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const HELP = `npm run access:check -- --url ADDRESS [--tenant ID] [--model NAME] [--embedding NAME] [--report FOLDER]

PLINTH_KEY        API key of an administrator, or
PLINTH_USER       name of an administrator without a second factor, with
PLINTH_PASSWORD   the password
--url, PLINTH_URL the installation
--tenant          tenant of the sign-in, 000000 when absent
--model           chat model that answers; without it, questions are tried as far as whether they are let in
--embedding       embedding model; without it, searches are tried as far as whether they are let in
--report          folder of the reports, access-reports when absent`;

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    tenant: { type: 'string', default: '000000' },
    model: { type: 'string' },
    embedding: { type: 'string' },
    report: { type: 'string', default: 'access-reports' },
    help: { type: 'boolean', default: false },
  },
});
const address = (options.url ?? process.env['PLINTH_URL'] ?? '').replace(/\/$/, '');
if (options.help || address === '') {
  console.log(HELP);
  process.exit(options.help ? 0 : 2);
}

const CONSOLE_CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const PREFIX = 'access-check-';
/** What a killed run has left is removed after this time; a younger run may still be under way. */
const LEFT_OVER_MS = 3_600_000;
const ANSWER_LIMIT_MS = 120_000;
const MAX_THROTTLED_TRIES = 20;
const PARSING_LIMIT_MS = 120_000;

/** Permissions that the doors ask for; grants decide on the rest. */
const READER = [
  ...['list', 'query', 'edit', 'add'].map((action) => `system:info:${action}`),
  ...['list', 'query'].map((action) => `system:attach:${action}`),
  ...['list', 'query'].map((action) => `system:fragment:${action}`),
  ...['list', 'query', 'edit'].map((action) => `agent:agent:${action}`),
  'access:grant',
  'system:apikey:add',
];

const isRefusal = (code) => code === 403 || code === 404;
const LEVELS = ['none', 'use', 'read', 'write', 'manage'];
const table = JSON.parse(readFileSync(new URL('access-levels.json', import.meta.url), 'utf8'));

const begun = new Date();
const run = `${PREFIX}${begun.getTime()}-${randomBytes(3).toString('hex')}`;
/** The word that only canary documents have. */
const canary = `canary${randomBytes(8).toString('hex')}`;
const results = [];
/** Undo steps of what was made, latest first. */
const undo = [];

let admin;
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (interrupted = true));

try {
  const { PLINTH_KEY: key, PLINTH_USER: user, PLINTH_PASSWORD: password } = process.env;
  admin = key ? client({ authorization: `Bearer ${key}` }) : await signIn(user, password);
  await removeLeftOvers();
  const world = await makeWorld();
  await tryMatrix(world);
  await tryLimitedKey(world);
} catch (error) {
  process.exitCode = 2;
  report({ failure: error.message });
  console.error(`The check could not be completed: ${error.message}`);
} finally {
  const remaining = await cleanUp();
  if (remaining.length > 0) {
    process.exitCode = 2;
    console.error(`Could not remove: ${remaining.join('; ')}. Remove what is named ${run}.`);
  }
}
if (process.exitCode === undefined) {
  const wrong = results.filter(({ passed }) => !passed);
  console.log(`${results.length} tried, ${results.length - wrong.length} passed. ${report({})}`);
  for (const { what } of wrong) console.error(`  ${what}`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
}

/** One client: a sign-in, or an API key. */
function client(headers) {
  /** Waits where the installation throttles. */
  async function send(method, path, body) {
    for (let attempt = 1; ; attempt += 1) {
      if (interrupted && method !== 'DELETE') throw new Error('It was interrupted.');
      const isForm = body instanceof FormData;
      const response = await fetch(address + path, {
        method,
        headers: {
          ...headers,
          ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      });
      const text = await response.text();
      const code = codeOf(response.status, text);
      if (code !== 429 || attempt >= MAX_THROTTLED_TRIES) return { code, text };
      const seconds = Number(response.headers.get('retry-after')) || 5;
      await sleep(Math.min(seconds, 60) * 1_000);
    }
  }
  async function call(method, path, body) {
    const { code, text } = await send(method, path, body);
    if (code !== 200) throw new Error(`${method} ${path}: ${code} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  }
  return { send, call };
}

/** The code of an envelope, of an event stream that ends with an error, or of HTTP. */
function codeOf(status, text) {
  const failure = /^event: ?error\ndata: ?(\{.*\})$/m.exec(text)?.[1];
  if (failure !== undefined) return Number(JSON.parse(failure).code) || 500;
  if (status !== 200 || !text.startsWith('{')) return status;
  return Number(/^\{"code":(\d+)/.exec(text)?.[1] ?? status);
}

async function signIn(username, password) {
  const { data } = await client({}).call('POST', '/auth/login', {
    tenantId: options.tenant,
    username,
    password,
    clientId: CONSOLE_CLIENT,
    grantType: 'password',
  });
  return client({ authorization: `Bearer ${data.access_token}`, clientid: CONSOLE_CLIENT });
}

/** The kinds of records that are made: how they are listed and deleted. What contains others comes last. */
function kinds() {
  return [
    { path: '/agent/agent', name: 'agentName', id: 'id' },
    { path: '/system/info', name: 'name', id: 'id' },
    { path: '/system/user', name: 'userName', id: 'userId' },
    { path: '/system/group', name: 'displayName', id: 'groupId' },
    { path: '/system/role', name: 'roleName', id: 'roleId' },
    { path: '/system/model', name: 'modelName', id: 'id' },
    { path: '/system/provider', name: 'providerName', id: 'id' },
  ];
}

async function idsOf({ path, name, id }, isMeant) {
  const query = path === '/system/provider' ? '' : `&${name}=${PREFIX}`;
  const { rows } = await admin.call('GET', `${path}/list?pageSize=1000${query}`);
  return rows.filter((row) => isMeant(String(row[name]))).map((row) => row[id]);
}

async function removeLeftOvers() {
  const isOld = (name) => {
    const [, time] = new RegExp(`^${PREFIX}(\\d{13})-`).exec(name) ?? [];
    return time !== undefined && Number(time) < begun.getTime() - LEFT_OVER_MS;
  };
  for (const kind of kinds()) {
    for (const id of await idsOf(kind, isOld)) await admin.call('DELETE', `${kind.path}/${id}`);
  }
}

/** Removes what this run made, by what is listed under its name: a request may have been answered too late. */
async function cleanUp() {
  const remaining = [];
  if (!admin) return remaining;
  for (const step of undo.reverse()) await step().catch((error) => remaining.push(error.message));
  for (const kind of kinds()) {
    try {
      for (const id of await idsOf(kind, (name) => name.startsWith(run))) {
        await admin.call('DELETE', `${kind.path}/${id}`);
      }
    } catch (error) {
      remaining.push(error.message);
    }
  }
  return remaining;
}

async function makeWorld() {
  const role = await named('/system/role', 'role', { roleKey: run, permissions: READER });
  const { id: reader, session, makeKey } = await makeReader(role);
  const group = async (change) => {
    const displayName = `${run}-${undo.length}-${randomBytes(2).toString('hex')}`;
    const { data: groupId } = await admin.call('POST', '/system/group', { displayName });
    await admin.call('PUT', '/system/group/member', { groupId, ...change });
    return groupId;
  };
  const direct = await group({ addedUserIds: [reader] });
  const outer = await group({ addedGroupIds: [await group({ addedUserIds: [reader] })] });
  const model = await makeModel();
  const knowledge = await makeBase('base');
  const fields = { modelId: model.chatId, knowledgeIds: [knowledge.id], share: 0 };
  const tools = ['search_knowledge', 'read_document'];
  const agent = await named('/agent/agent', 'agent', { ...fields, runtime: 'tools', tools });
  const other = await makeBase('other');
  const reading = { subject: `user:${reader}`, level: 'read' };
  const grants = [...(await ownersOf('knowledge', other.id)), reading];
  await admin.call('PUT', `/access/knowledge/${other.id}`, { grants });
  return {
    reader: session,
    limited: await makeKey({ knowledgeIds: [other.id] }),
    knowledge,
    agent,
    model,
    subjects: {
      tenant: 'tenant',
      user: `user:${reader}`,
      role: `role:${role}`,
      group: `group:${direct}`,
      'nested group': `group:${outer}`,
    },
    owners: {
      knowledge: await ownersOf('knowledge', knowledge.id),
      agent: await ownersOf('agent', agent),
      model: [],
    },
  };
}

/**
 * The user who tries the doors: a service account with API keys. Only people make keys, so with PLINTH_KEY it is a user with a
 * password, who signs in and makes them.
 */
async function makeReader(role) {
  const userName = `${run}-reader`;
  const permissions = [...READER, 'chat:chat:use'];
  const makeKey = async (by, fields) => {
    const { data } = await by.call('POST', '/system/apikey', { name: run, permissions, ...fields });
    return client({ authorization: `Bearer ${data.key}` });
  };
  if (process.env['PLINTH_KEY']) {
    const password = randomBytes(18).toString('base64url');
    const id = await named('/system/user', 'reader', { password, roleIds: [role] });
    const session = await signIn(userName, password);
    return { id, session, makeKey: (limits) => makeKey(session, limits) };
  }
  const account = { userName, roleIds: [role] };
  const { data: id } = await admin.call('POST', '/system/user/service', account);
  const session = await makeKey(admin, { userId: id });
  return { id, session, makeKey: (limits) => makeKey(admin, { userId: id, ...limits }) };
}

/** Makes a record with the name of the run, and answers its id. */
async function named(path, what, fields) {
  const kind = kinds().find((one) => one.path === path);
  await admin.call('POST', path, { [kind.name]: `${run}-${what}`, ...fields });
  const [id] = await idsOf(kind, (name) => name === `${run}-${what}`);
  if (id === undefined) throw new Error(`What was made is not in ${path}/list.`);
  return id;
}

/** A base with a document of the canary word, and one that no one but its writers may read. */
async function makeBase(what) {
  const embedded = options.embedding !== undefined;
  const id = await named('/system/info', what, {
    ...{ textBlockSize: 500, overlapChar: 0, similarityThreshold: 0, enableHybrid: 0 },
    ...(embedded && { embeddingModel: options.embedding }),
  });
  const upload = async (name, readers) => {
    const form = new FormData();
    form.append('knowledgeId', String(id));
    form.append('autoParse', String(embedded));
    if (readers) form.append('readers', JSON.stringify(readers));
    form.append(
      'file',
      new Blob([`The ${canary} sings at noon. ${name}`]),
      `${run}-${what}-${name}.txt`,
    );
    const { data } = await admin.call('POST', '/system/attach/upload', form);
    return data[0].id;
  };
  const document = await upload('open');
  const restricted = await upload('restricted', []);
  const isParsed = async () => {
    const { rows } = await admin.call('GET', `/system/attach/list?knowledgeId=${id}`);
    return rows.every(({ status }) => status >= 2);
  };
  for (const end = Date.now() + PARSING_LIMIT_MS; embedded && !(await isParsed());) {
    if (Date.now() > end) throw new Error('The canary documents were not parsed in time.');
    await sleep(500);
  }
  return { id, document, restricted };
}

/** A model of its own, which is granted; and the one that agents call: that of the option, or the same. */
async function makeModel() {
  const { rows } = await admin.call('GET', '/system/provider/list?pageSize=1000');
  const enabled = rows.find(({ status }) => String(status) === '0');
  if (!enabled) throw new Error('There is no enabled provider. Create one.');
  const name = `${run}-model`;
  const id = await named('/system/model', 'model', {
    ...{
      providerCode: enabled.providerCode,
      category: 'chat',
      apiHost: 'https://access-check.invalid/v1',
    },
    apiKey: 'access-check',
  });
  if (options.model === undefined) return { id, name, chatId: id, chatName: name };
  const found = await admin.call(
    'GET',
    `/system/model/list?pageSize=1000&modelName=${encodeURIComponent(options.model)}`,
  );
  const chat = found.rows.find(({ modelName }) => modelName === options.model);
  if (!chat) throw new Error(`There is no model ${options.model}.`);
  return { id, name, chatId: chat.id, chatName: chat.modelName };
}

async function ownersOf(type, id) {
  const { data } = await admin.call('GET', `/access/${type}/${id}`);
  const owners = data.grants.filter(({ level }) => level === 'manage');
  return owners.map(({ subject, level }) => ({ subject, level }));
}

/**
 * The doors: a parameter of a route, or a list that shows records, as the table names them. `ask` sends the request; a list is
 * open when its text has the `mark`. `reads` says that an open door may show the canary word.
 */
function doors({ knowledge, agent, model }) {
  const question = `Search for ${canary} and read the documents you find. When does the ${canary} sing?`;
  const chat = (fields) => (by) => by.send('POST', '/chat/send', { content: question, ...fields });
  const completion = (name) => (by) =>
    by.send('POST', '/v1/chat/completions', {
      model: name,
      messages: [{ role: 'user', content: question }],
    });
  const get = (path) => (by) => by.send('GET', path);
  const base = `/system/info/${knowledge.id}`;
  const answering = model.chatId === model.id ? {} : { model: model.chatName };
  const list = (path, mark) => ({ ask: get(`${path}?pageSize=1000`), mark });
  return [
    [
      'knowledge',
      'POST /system/fragment/retrieval',
      'knowledgeId',
      {
        ask: (by) =>
          by.send('POST', '/system/fragment/retrieval', {
            knowledgeId: knowledge.id,
            query: canary,
          }),
      },
    ],
    [
      'knowledge',
      'POST /chat/send',
      'knowledgeId',
      { ask: chat({ ...answering, knowledgeId: knowledge.id }), needsModel: true },
    ],
    ['knowledge', 'GET /system/info/list', 'knowledge', list('/system/info/list', `${run}-base"`)],
    ['knowledge', 'GET /system/info/:id', 'id', { ask: get(base) }],
    [
      'knowledge',
      'GET /system/attach/list',
      'document',
      list('/system/attach/list', `${run}-base-open.txt`),
    ],
    [
      'knowledge',
      'GET /system/attach/:id',
      'id',
      { ask: get(`/system/attach/${knowledge.document}`) },
    ],
    [
      'knowledge',
      'GET /system/attach/:id/content',
      'id',
      { ask: get(`/system/attach/${knowledge.document}/content`) },
    ],
    [
      'knowledge',
      'GET /system/fragment/list',
      'knowledgeId',
      {
        ask: get(`/system/fragment/list?knowledgeId=${knowledge.id}`),
        mark: options.embedding ? canary : undefined,
        skip: !options.embedding,
      },
    ],
    [
      'knowledge',
      'GET /system/info/:knowledgeId/testset/list',
      'knowledgeId',
      { ask: get(`${base}/testset/list`) },
    ],
    [
      'knowledge',
      'PUT /system/info',
      'id',
      { ask: (by) => by.send('PUT', '/system/info', { id: knowledge.id, remark: 'Tried' }) },
    ],
    [
      'knowledge',
      'GET /access/:resourceType/:id',
      'id',
      { ask: get(`/access/knowledge/${knowledge.id}`) },
    ],
    ['agent', 'POST /chat/send', 'agentId', { ask: chat({ agentId: agent }) }],
    ['agent', 'POST /v1/chat/completions', 'messages', { ask: completion(`agent-${agent}`) }],
    [
      'agent',
      'GET /agent/agent/agentOptions',
      'agent',
      list('/agent/agent/agentOptions', `${run}-agent`),
    ],
    ['agent', 'GET /v1/models', 'agent', list('/v1/models', `agent-${agent}"`)],
    ['agent', 'GET /agent/agent/list', 'agent', list('/agent/agent/list', `${run}-agent`)],
    ['agent', 'GET /agent/agent/:id', 'id', { ask: get(`/agent/agent/${agent}`) }],
    [
      'agent',
      'PUT /agent/agent',
      'id',
      { ask: (by) => by.send('PUT', '/agent/agent', { id: agent, remark: 'Tried' }) },
    ],
    ['model', 'POST /chat/send', 'model', { ask: chat({ model: model.name }) }],
    ['model', 'POST /v1/chat/completions', 'model', { ask: completion(model.name) }],
    ['model', 'GET /v1/models', 'model', list('/v1/models', `"${model.name}"`)],
  ].map(([type, route, field, door]) => ({ type, route, field, ...door }));
}

/** Each door with the level that it needs and with the one below, by each kind of subject. */
async function tryMatrix(world) {
  const all = doors(world).filter(({ skip }) => !skip);
  for (const [kind, subject] of Object.entries(world.subjects)) {
    for (const level of LEVELS) {
      await grant(world, subject, level);
      for (const door of all) {
        const needed = neededBy(door);
        const isNear = level === needed || level === LEVELS[LEVELS.indexOf(needed) - 1];
        if (!isNear) continue;
        const canAsk =
          !door.needsModel || world.model.chatId !== world.model.id || level === 'none';
        if (canAsk) await tryDoor(world, door, { kind, level, isOpen: level === needed });
      }
      if (LEVELS.indexOf(level) < LEVELS.indexOf('write')) {
        await tryRestricted(world, { kind, level });
      }
    }
    await grant(world, subject, 'none');
  }
}

function neededBy({ route, field }) {
  const needed = table.routes[route]?.[field] ?? table.lists[route]?.[field];
  if (!LEVELS.includes(needed))
    throw new Error(`access-levels.json has no level for ${route} ${field}.`);
  return needed;
}

async function tryDoor(world, door, { kind, level, isOpen: expected }) {
  const { code, text } = await door.ask(world.reader);
  const isOpen = door.mark === undefined ? !isRefusal(code) : text.includes(door.mark);
  // The question itself has the canary word, and a completion does not repeat it.
  const leaks = !expected && door.type !== 'model' && text.includes(`${canary} sings`);
  enter({
    door: `${door.route} ${door.field}`,
    kind,
    level,
    expected,
    isOpen: isOpen || leaks,
    code,
  });
}

/** The document without readers: neither itself nor its text may be reached below the level write. */
async function tryRestricted({ reader, knowledge }, { kind, level }) {
  const asks = [
    ['GET /system/attach/:id', reader.send('GET', `/system/attach/${knowledge.restricted}`)],
    [
      'GET /system/attach/:id/content',
      reader.send('GET', `/system/attach/${knowledge.restricted}/content`),
    ],
    [
      'GET /system/attach/list',
      reader.send('GET', `/system/attach/list?knowledgeId=${knowledge.id}`),
    ],
    [
      'POST /system/fragment/retrieval',
      reader.send('POST', '/system/fragment/retrieval', {
        knowledgeId: knowledge.id,
        query: canary,
      }),
    ],
  ];
  for (const [door, asked] of asks) {
    const { code, text } = await asked;
    const isDocument = /:id/.test(door);
    const isOpen = isDocument ? !isRefusal(code) : text.includes(`${run}-base-restricted`);
    enter({ door: `${door} (restricted document)`, kind, level, expected: false, isOpen, code });
  }
}

/** A key that is limited to another base reaches this one at no level. */
async function tryLimitedKey(world) {
  await grant(world, world.subjects.user, 'manage');
  const mine = doors(world).filter(({ type, skip }) => type === 'knowledge' && !skip);
  for (const door of mine) {
    await tryDoor({ ...world, reader: world.limited }, door, {
      kind: 'key limited to another base',
      level: 'manage',
      isOpen: false,
    });
  }
}

async function grant({ knowledge, agent, model, owners }, subject, level) {
  const given = level === 'none' ? [] : [{ subject, level }];
  const put = (type, id, grants) => admin.call('PUT', `/access/${type}/${id}`, { grants });
  await put('knowledge', knowledge.id, [...owners.knowledge, ...given]);
  await put('agent', agent, [...owners.agent, ...given]);
  await put(
    'model',
    model.id,
    given.map((one) => ({ ...one, level: 'use' })),
  );
}

function enter({ door, kind, level, expected, isOpen, code }) {
  const passed = expected === isOpen;
  const state = isOpen ? 'open' : 'closed';
  const problem = passed
    ? state
    : `${isOpen ? 'LEAK: open' : 'closed'} instead of ${expected ? 'open' : 'closed'}`;
  const what = `${door}, ${kind} with ${level}: ${problem} (${code})`;
  results.push({
    door,
    subject: kind,
    level,
    expected: expected ? 'open' : 'closed',
    was: state,
    code,
    passed,
    what,
  });
}

/** Writes the reports and answers where they are. */
function report({ failure }) {
  mkdirSync(options.report, { recursive: true });
  const stem = join(options.report, `access-check-${begun.toISOString().replace(/[:.]/g, '-')}`);
  const wrong = results.filter(({ passed }) => !passed);
  const leaks = wrong.filter(({ was }) => was === 'open');
  const summary = {
    ...{
      address,
      tenant: options.tenant,
      begun: begun.toISOString(),
      ended: new Date().toISOString(),
    },
    ...{ model: options.model ?? null, embedding: options.embedding ?? null },
    ...{ tried: results.length, passed: results.length - wrong.length, failed: wrong.length },
    ...{ leaks: leaks.length, failure: failure ?? null },
  };
  writeFileSync(`${stem}.json`, `${JSON.stringify({ ...summary, results }, null, 2)}\n`);
  const lines = (rows) => rows.map(({ what }) => `- ${what}`);
  const verdict = failure ?? (wrong.length === 0 ? 'As the table says.' : `${leaks.length} leaks.`);
  const text = [
    `# Access check of ${address}, ${summary.begun}`,
    '',
    `${verdict} Tried ${summary.tried}, passed ${summary.passed}, failed ${summary.failed}.`,
    ...(options.model === undefined
      ? ['', 'Without `--model`: questions were tried as far as whether they are let in.']
      : []),
    ...(options.embedding === undefined
      ? ['', 'Without `--embedding`: nothing was searched by meaning.']
      : []),
    ...(wrong.length > 0 ? ['', '## Failed', '', ...lines(wrong)] : []),
    '',
    '## Passed',
    '',
    ...lines(results.filter(({ passed }) => passed)),
    '',
  ];
  writeFileSync(`${stem}.md`, text.join('\n'));
  return `Report: ${stem}.md`;
}
