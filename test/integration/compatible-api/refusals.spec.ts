import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { CODER, startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { createMediaModels } from '../../support/media/media-models.js';
import { createModel } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

/** Of the role; those of keys alone come on top. */
const GRANTED = [
  'system:apikey:add',
  'system:apikey:remove',
  'system:model:test',
  'coding:harness:use',
  'coding:harness:write',
];
const PERMISSIONS = [...GRANTED.slice(2), 'chat:chat:use', 'media:media:use'];

let harness: Harness;
let owner: Person;
/** Ids by name, of one model for each category. */
const ids: Record<string, number> = {};
/** A model that no request names. */
let otherId: number;
let roleOf: number;

beforeAll(async () => {
  harness = await startHarness();
  const { session: admin, simulator } = harness;
  const apiHost = `${simulator.url}/v1`;
  await createMediaModels(admin, simulator);
  const service = { apiHost, apiKey: 'key' };
  await createModel(admin, { ...service, category: 'rerank', modelName: 'sim-rerank' });
  const vector = { category: 'vector', modelDimension: 64 };
  await createModel(admin, { ...service, ...vector, modelName: 'sim-embed-64' });
  otherId = await createModel(admin, { ...service, modelName: 'another' });
  const { rows } = done(
    await admin.get<{ id: number; modelName: string }[]>('/system/model/list?pageSize=100'),
  );
  for (const { id, modelName } of rows) ids[modelName] = id;
  // What is paid by other units than tokens has a price, so that it can be over a budget.
  for (const [modelName, price] of Object.entries(PRICES)) {
    const model = rows.find((row) => row.modelName === modelName);
    done(await admin.put('/system/model', { ...model, ...price }));
  }
  roleOf = await makeRole(admin, 'programs', GRANTED);
  owner = await person();
});

beforeEach(() => harness.simulator.reset());

afterAll(() => harness.stop());

const PRICES = { 'sync-image': { imagePrice: 1 }, 'sync-speech': { characterPrice: 1 } };

interface CompatibleRoute {
  readonly path: string;
  readonly model: string;
  readonly body: (model: string) => object;
  /** A request like this calls no model. */
  readonly callsNone?: true;
}

const HELLO = [{ role: 'user', content: 'Hello' }];
const interfaces: Record<string, CompatibleRoute> = {
  REST: { path: '/system/model/:id/test', model: CODER, body: () => ({}) },
  chat: { path: '/chat/send', model: CODER, body: (model) => ({ model, content: 'Hello' }) },
  media: {
    path: '/media/image',
    model: 'sync-image',
    body: (model) => ({ model, prompt: 'A house' }),
  },
  harness: {
    path: '/coding/harness/sessions',
    model: CODER,
    body: (model) => ({ ...harness.sessionBody(), model }),
    callsNone: true,
  },
  'v1 chat': {
    path: '/v1/chat/completions',
    model: CODER,
    body: (model) => ({ model, messages: HELLO }),
  },
  'v1 messages': {
    path: '/v1/messages',
    model: CODER,
    body: (model) => ({ model, max_tokens: 100, messages: HELLO }),
  },
  'v1 token counts': {
    path: '/v1/messages/count_tokens',
    model: CODER,
    body: (model) => ({ model, messages: HELLO }),
    callsNone: true,
  },
  'v1 responses': {
    path: '/v1/responses',
    model: CODER,
    body: (model) => ({ model, input: 'Hello', store: false }),
  },
  'v1 embeddings': {
    path: '/v1/embeddings',
    model: 'sim-embed-64',
    body: (model) => ({ model, input: 'Hello' }),
  },
  'v1 rerank': {
    path: '/v1/rerank',
    model: 'sim-rerank',
    body: (model) => ({ model, query: 'Hello', documents: ['Hello'] }),
  },
  'v1 images': {
    path: '/v1/images/generations',
    model: 'sync-image',
    body: (model) => ({ model, prompt: 'A house' }),
  },
  'v1 speech': {
    path: '/v1/audio/speech',
    model: 'sync-speech',
    body: (model) => ({ model, input: 'Hello' }),
  },
};

/** How an interface is called with a wrong key or a wrong model, and the codes that refuse it. */
interface Fault {
  readonly codes: readonly number[];
  /** A client of its own; the fault of one must not be that of the next. */
  readonly client: () => Promise<Session>;
  /** Refuses calls of models, and so leaves requests alone that make none. */
  readonly ofCalls?: true;
}

/** A client with a key of the owner. */
async function keyOf(fields: object = {}, by: Person = owner): Promise<Session> {
  return withKey(by.session, await makeKey(by.session, { permissions: PERMISSIONS, ...fields }));
}

let people = 0;
async function person(): Promise<Person> {
  people += 1;
  return makeUser(harness.plinth, harness.session, `program${people}`, [roleOf]);
}

const faults: Record<string, Fault> = {
  'no key': { codes: [401], client: async () => new Session(owner.session.url, {}) },
  'a mistyped key': {
    codes: [401],
    client: async () => {
      const { key } = await makeKey(owner.session, { permissions: PERMISSIONS });
      return withKey(owner.session, { key: `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}` });
    },
  },
  'a revoked key': {
    codes: [401],
    client: async () => {
      const made = await makeKey(owner.session, { permissions: PERMISSIONS });
      done(await owner.session.delete(`/system/apikey/${made.id}`));
      return withKey(owner.session, made);
    },
  },
  'an expired key': {
    codes: [401],
    client: async () => {
      const made = await makeKey(owner.session, { permissions: PERMISSIONS });
      await harness.plinth.app
        .get(Database)
        .query(
          `UPDATE api_key SET expire_time = now() - interval '1 second' WHERE tenant_id = '000000' AND id = $1`,
          [made.id],
        );
      return withKey(owner.session, made);
    },
  },
  'a disabled user': {
    codes: [401],
    client: async () => {
      const disabled = await person();
      const client = await keyOf({}, disabled);
      const { id: userId } = disabled;
      done(await harness.session.put('/system/user/changeStatus', { userId, status: '1' }));
      return client;
    },
  },
  'a disabled tenant': {
    codes: [401],
    client: async () => {
      const { id, admin } = await makeTenant(harness.plinth, harness.session, '300002');
      const made = await makeKey(admin, { permissions: PERMISSIONS });
      done(await harness.session.put('/system/tenant/changeStatus', { id, status: '1' }));
      return withKey(admin, made);
    },
  },
  'a wrong address': { codes: [403], client: () => keyOf({ addresses: ['192.0.2.0/24'] }) },
  'a key without permissions': { codes: [403], client: () => keyOf({ permissions: [] }) },
  'a model beyond the limits of the key': {
    codes: [403, 404],
    client: () => keyOf({ modelIds: [otherId] }),
  },
  'a model of another tenant': {
    codes: [400, 404],
    client: async () => {
      const { admin } = await makeTenant(harness.plinth, harness.session, '300001');
      return withKey(admin, await makeKey(admin, { permissions: PERMISSIONS }));
    },
  },
  'a key over its budget': {
    codes: [429],
    ofCalls: true,
    client: () => limitedKey(['tokens-day', 'cost-month']),
  },
  'a key that has made its requests': {
    codes: [429],
    ofCalls: true,
    client: () => limitedKey(['requests-minute']),
  },
};

/** A client with a key that has nothing left of the measures. */
async function limitedKey(measures: readonly string[]): Promise<Session> {
  const made = await makeKey(owner.session, { permissions: PERMISSIONS });
  for (const measure of measures) {
    const fields = { scope: 'key', apiKeyId: made.id, measure, cap: 0 };
    done(await harness.session.post('/system/limit', fields));
  }
  return withKey(owner.session, made);
}

describe.each(Object.entries(faults))('%s', (_, { codes, client, ofCalls }) => {
  it('is refused at every interface, in the shape of the interface, before any model is called', async () => {
    const session = await client();
    const answers: Record<string, number> = {};
    for (const [name, api] of Object.entries(interfaces)) {
      if (ofCalls && api.callsNone) continue;
      answers[name] = refusalOf(api, await call(session, api));
    }

    const wrong = Object.entries(answers).filter(([, code]) => !codes.includes(code));
    expect(wrong).toEqual([]);
    expect(harness.simulator.requests).toEqual([]);
  });
});

it('a run of a user over the budget waits with the reason', async () => {
  const session = await keyOf();
  // A run goes on without its key, for the user.
  const budget = { scope: 'user', userId: owner.id, measure: 'tokens-day', cap: 0 };
  const { id } = done(await harness.session.post<{ id: number }>('/system/limit', budget)).data;
  const { sessionId } = await harness.createSession({}, session);
  const run = await harness.createRun(sessionId, {}, session);
  const parked = await eventually(
    () => harness.run(run, session),
    ({ status }) => status === 'SUSPENDED',
  );
  expect(parked.error?.message).toMatch(/limit of 0 tokens per day for the user/);
  expect(harness.simulator.requests).toEqual([]);
  done(await harness.session.delete(`/system/limit/${id}`));
  done(await session.post(harness.path(run, '/resume'), {}));
  await eventually(
    () => harness.run(run, session),
    ({ status }) => status === 'COMPLETED',
  );
});

it('a good key is accepted at every interface', async () => {
  const session = await keyOf();
  for (const api of Object.values(interfaces)) {
    const { status, text } = await call(session, api);
    expect([api.path, status]).toEqual([api.path, 200]);
    if (text.startsWith('{')) expect(JSON.parse(text)).not.toHaveProperty('code', 401);
  }

  // A harness session calls no model before its first run, and tokens of this protocol are counted without the service.
  expect(harness.simulator.requests).toHaveLength(Object.keys(interfaces).length - 2);
});

type Seen = Awaited<ReturnType<typeof call>>;

function call(session: Session, { path, model, body }: CompatibleRoute) {
  return session.raw('POST', path.replace(':id', String(ids[model])), body(model));
}

/** The code of a refusal; throws when it is not in the shape of the interface. */
function refusalOf({ path }: CompatibleRoute, { status, text, headers }: Seen): number {
  const type = String(headers['content-type']);
  if (path.startsWith('/v1/messages')) {
    expect(JSON.parse(text)).toEqual({
      type: 'error',
      error: {
        message: expect.stringMatching(/\.$/),
        type: expect.stringMatching(/_error$/),
      },
      request_id: expect.any(String),
    });
    return status;
  }
  if (path.startsWith('/v1/')) {
    expect(JSON.parse(text)).toEqual({
      error: {
        message: expect.stringMatching(/\.$/),
        type: expect.stringMatching(/_error$|^insufficient_quota$/),
        param: status === 404 ? 'model' : null,
        code: expect.any(String),
      },
    });
    return status;
  }
  expect(status).toBe(200);
  if (type.startsWith('text/event-stream')) {
    // Streams say no codes; only a model is looked up after they have begun.
    expect(text).toMatch(/^event: \[ERROR\]\ndata: {"msg":".+\."}$/m);
    return text.includes('"code":429,"data":{"limit":{') ? 429 : 404;
  }
  const { code, msg, data } = JSON.parse(text) as { code: number; msg: string; data: unknown };
  expect(msg).toMatch(/\.$/);
  if (path.startsWith('/coding/harness')) {
    expect(data).toMatchObject({ errorCode: expect.stringMatching(/^[A-Z_]+$/) });
  } else if (code === 429) expect(data).toMatchObject({ limit: { scope: 'key', cap: 0 } });
  else expect(data).toBeNull();
  return code;
}
