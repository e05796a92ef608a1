import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { RESERVATION } from '../../../src/usage/reservation.repository.js';
import { UpstreamHealth } from '../../../src/model/calls/upstream.health.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { ModelResolver, UpstreamCalls } from '../../../src/model/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { ReservationRetention } from '../../../src/usage/usage.retention.js';
import { systemCaller, TenantRevision } from '../../../src/platform/access/index.js';
import { acrossTenants, Database, inTenant } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { attachmentsOf, createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createMediaModels } from '../../support/media/media-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { statementsOf } from '../../support/statement-recorder.js';
import { eventually } from '../../support/wait.js';

/** 30 tokens a call, as the service reports them. */
const FIXED = 'sim-fixed--inputtokens-10--outputtokens-20';
const OTHER = 'sim-other--inputtokens-10--outputtokens-20';
const PRICED = 'sim-priced--inputtokens-10--outputtokens-20';
/** With a context window of 40,000 tokens. */
const WINDOW = 'sim-window--inputtokens-10--outputtokens-20';
/** What one call costs: 10 tokens for 1,000 and 20 for 2,000 a million. */
const COST = 0.05;
const ANSWER_TOKENS = 100;
/** More than a call of `ask` reserves, and less than two of them do. */
const ONE = 350;

interface Limit {
  readonly id: number;
  readonly scope: string;
  readonly measure: string;
  readonly cap: number;
  readonly name: string | null;
  readonly use: {
    readonly subjectName: string | null;
    readonly used: number;
    readonly reserved: number;
  } | null;
  readonly periodEnd: string | null;
}

interface Explained {
  readonly Plan: Readonly<Record<'Shared Hit Blocks' | 'Shared Read Blocks', number>>;
}

interface Entry {
  readonly action: string;
  readonly targetId: string;
  readonly detail: object;
}

const AUDIT = '/monitor/audit/list?targetType=limit&pageSize=100';

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let user: Person;
const models: Record<string, number> = {};

overrideConstants(RESERVATION, { leaseSeconds: 30, answerTokens: ANSWER_TOKENS });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  plinth.app.get(UpstreamHealth).maxFailures = 1_000;
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator);
  for (const code of ['custom_api', 'custom_messages', 'custom_responses']) {
    await createProvider(admin, code);
  }
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  const prices = { inputPrice: 1_000, outputPrice: 2_000 };
  models[FIXED] = await createModel(admin, { ...service, modelName: FIXED });
  models[OTHER] = await createModel(admin, { ...service, modelName: OTHER });
  models[PRICED] = await createModel(admin, { ...service, ...prices, modelName: PRICED });
  await createModel(admin, { ...service, modelName: WINDOW, contextWindow: 40_000 });
  await createModel(admin, { ...service, modelName: 'sim-short', maxOutput: 77 });
  await createModel(admin, { ...service, modelName: 'sim-paced--chunks-40--delay-20' });
  await createModel(admin, { ...service, modelName: 'sim-failing--status-503' });
  await createModel(admin, {
    ...service,
    modelName: 'sim-messages',
    providerCode: 'custom_messages',
  });
  await createModel(admin, {
    ...service,
    modelName: 'sim-responses',
    providerCode: 'custom_responses',
  });
  const embed = { ...service, category: 'vector', modelDimension: 64 };
  models['sim-embed-64'] = await createModel(admin, { ...embed, modelName: 'sim-embed-64' });
  await createModel(admin, { ...service, category: 'rerank', modelName: 'sim-rerank' });
  const role = await makeRole(admin, 'programs', ['system:apikey:add']);
  user = await makeUser(plinth, admin, 'programmer', [role]);
});

beforeEach(async () => {
  simulator.reset();
  await calls();
  await query('DELETE FROM upstream_call');
});

afterEach(async () => {
  const { rows } = done(await admin.get<Limit[]>('/system/limit/list'));
  const ids = rows.map(({ id }) => id).join(',');
  if (ids !== '') done(await admin.delete(`/system/limit/${ids}`));
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

/** Resolves when the calls that have ended are in the usage ledger. */
async function calls(): Promise<void> {
  const ledger = plinth.app.get(UsageLedger, { strict: false });
  await ledger.settled();
  await ledger.flush();
}

function query<Result>(sql: string): Promise<Result[]> {
  return acrossTenants('a test', () => plinth.app.get(Database).query<Result>(sql));
}

async function limit(fields: object, by = admin): Promise<Limit> {
  const body = { scope: 'tenant', measure: 'tokens-day', cap: ONE, ...fields };
  return done(await by.post<Limit>('/system/limit', body)).data;
}

async function limitNow({ id }: Limit, by = admin): Promise<Limit> {
  await calls();
  return done(await by.get<Limit>(`/system/limit/${id}`)).data;
}

async function usedOf(one: Limit): Promise<number | undefined> {
  return (await limitNow(one)).use?.used;
}

function ask(session = admin, fields: object = {}) {
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: FIXED, messages, max_tokens: 50, ...fields };
  return session.raw('POST', '/v1/chat/completions', body);
}

const statusOf = async (asking: ReturnType<typeof ask>): Promise<number> => (await asking).status;

const reservations = (): Promise<{ amount: number; live: boolean }[]> =>
  query('SELECT amount, expire_time > now() AS live FROM usage_reservation');

const ended = (): Promise<unknown> =>
  eventually(
    () => simulator.openConnections(),
    (open) => open === 0,
  );

async function keyOf(by: Person | undefined = undefined): Promise<Session & { id: number }> {
  const session = by?.session ?? admin;
  const made = await makeKey(session, { permissions: ['chat:chat:use', 'media:media:use'] });
  return Object.assign(withKey(session, made), { id: made.id });
}

describe('the records of limits', () => {
  it('are created, listed with what is used, changed and removed, with entries of the audit log', async () => {
    const made = await limit({ scope: 'model', modelId: models[FIXED], cap: 10_000 });
    expect(made).toMatchObject({ name: FIXED, cap: 10_000, use: { used: 0, reserved: 0 } });
    await ask();
    await calls();
    const { rows } = done(await admin.get<Limit[]>('/system/limit/list?scope=model'));
    expect(rows).toMatchObject([{ id: made.id, use: { subjectName: FIXED, used: 30 } }]);
    const changed = done(await admin.put<Limit>('/system/limit', { id: made.id, cap: 29 })).data;
    expect(changed).toMatchObject({ cap: 29, use: { used: 30 } });
    expect(await statusOf(ask())).toBe(429);
    done(await admin.delete(`/system/limit/${made.id}`));
    expect(await statusOf(ask())).toBe(200);
    const { rows: entries } = done(await admin.get<Entry[]>(AUDIT));
    const whose = { scope: 'model', modelId: models[FIXED], measure: 'tokens-day' };
    expect(entries.map(({ action, targetId, detail }) => [action, targetId, detail])).toEqual([
      ['delete', String(made.id), { ...whose, before: 29 }],
      ['update', String(made.id), { ...whose, cap: 29, before: 10_000 }],
      ['create', String(made.id), { ...whose, cap: 10_000 }],
    ]);
  });

  it('are named in the audit log by whom they are of, those of everybody and of each too', async () => {
    const key = await keyOf();
    const made = [
      await limit({ measure: 'requests-minute', cap: 1_000 }),
      await limit({ scope: 'user', userId: user.id }),
      await limit({ scope: 'user', measure: 'cost-month', cap: 0.5 }),
      await limit({ scope: 'key', apiKeyId: key.id }),
    ];
    const ids = made.map(({ id }) => id);
    done(await admin.delete(`/system/limit/${ids.join(',')}`));
    const { rows } = done(await admin.get<Entry[]>(`${AUDIT}&action=delete`));
    const ofThese = rows.filter(({ targetId }) => ids.includes(Number(targetId)));
    expect(ofThese.map(({ detail }) => detail).toReversed()).toEqual([
      { scope: 'tenant', measure: 'requests-minute', before: 1_000 },
      { scope: 'user', userId: user.id, measure: 'tokens-day', before: ONE },
      { scope: 'user', userId: null, measure: 'cost-month', before: 0.5 },
      { scope: 'key', apiKeyId: key.id, measure: 'tokens-day', before: ONE },
    ]);
  });

  it('are refused where they contradict themselves, exist already, or name nothing', async () => {
    const tokens = { scope: 'tenant', measure: 'tokens-day', cap: 5 };
    const code = async (fields: object): Promise<number> =>
      (await admin.post('/system/limit', { ...tokens, ...fields })).code;
    await limit(tokens);
    expect(await code({})).toBe(409);
    expect(await code({ scope: 'user', modelId: models[FIXED] })).toBe(400);
    expect(await code({ modelId: models[FIXED] })).toBe(400);
    expect(await code({ measure: 'tokens-month', cap: 0.5 })).toBe(400);
    expect(await code({ cap: -1 })).toBe(400);
    expect(await code({ scope: 'model', modelId: 999_999 })).toBe(404);
    expect(await code({ scope: 'user', userId: 999_999 })).toBe(404);
    expect((await user.session.get('/system/limit/list')).code).toBe(403);
  });

  it('are of one tenant alone', async () => {
    const { admin: stranger } = await makeTenant(plinth, admin, '400001');
    const provider = { providerName: 'Own', providerCode: 'custom_api' };
    done(await stranger.post('/system/provider', provider));
    await createModel(stranger, {
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key',
      modelName: FIXED,
    });
    const own = await limit({ cap: 0 });
    expect(done(await stranger.get<Limit[]>('/system/limit/list')).rows).toEqual([]);
    expect((await stranger.put('/system/limit', { id: own.id, cap: 1 })).code).toBe(404);
    expect((await stranger.delete(`/system/limit/${own.id}`)).code).toBe(404);
    expect(await statusOf(ask())).toBe(429);
    expect(await statusOf(ask(stranger))).toBe(200);
  });

  it('go with what they are of, and with their counters', async () => {
    const role = await makeRole(admin, 'temporary', []);
    const gone = await makeUser(plinth, admin, 'temporary', [role]);
    const goneModel = await createModel(admin, {
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key',
      modelName: 'sim-gone',
    });
    await limit({ scope: 'user', userId: gone.id });
    await limit({ scope: 'user', measure: 'requests-minute', cap: 100 });
    await limit({ scope: 'model', modelId: goneModel });
    await ask(gone.session, { model: 'sim-gone', max_tokens: 5 });
    await calls();
    expect(await query('SELECT limit_id FROM usage_counter')).toHaveLength(3);
    done(await admin.delete(`/system/model/${goneModel}`));
    done(await admin.delete(`/system/user/${gone.id}`));
    expect(await query('SELECT limit_id FROM usage_counter')).toEqual([]);
    expect(await query('SELECT id FROM usage_reservation')).toEqual([]);
    expect(await query('SELECT id FROM usage_limit')).toHaveLength(1);
  });
});

describe('a limit of requests a minute', () => {
  const once = { measure: 'requests-minute', cap: 1 };

  it('of the tenant counts the requests of everybody', async () => {
    await limit({ ...once, cap: 2 });
    expect(await statusOf(ask())).toBe(200);
    expect(await statusOf(ask(user.session))).toBe(200);
    const { status, headers } = await ask();
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(61);
  });

  it.each([true, false])('of a user (each: %s) leaves others alone', async (each) => {
    await limit({ ...once, scope: 'user', ...(!each && { userId: user.id }) });
    expect(await statusOf(ask(user.session))).toBe(200);
    expect(await statusOf(ask(user.session))).toBe(429);
    expect(await statusOf(ask())).toBe(200);
    expect(await statusOf(ask())).toBe(each ? 429 : 200);
  });

  it.each([true, false])('of a key (each: %s) leaves others alone', async (each) => {
    const [one, other] = [await keyOf(), await keyOf()];
    await limit({ ...once, scope: 'key', ...(!each && { apiKeyId: one.id }) });
    expect(await statusOf(ask(one))).toBe(200);
    expect(await statusOf(ask(one))).toBe(429);
    expect(await statusOf(ask(other))).toBe(200);
    expect(await statusOf(ask(other))).toBe(each ? 429 : 200);
    expect(await statusOf(ask())).toBe(200);
    expect(await statusOf(ask())).toBe(200);
  });

  it.each([true, false])('of a model (each: %s) leaves others alone', async (each) => {
    await limit({ ...once, scope: 'model', ...(!each && { modelId: models[FIXED] }) });
    expect(await statusOf(ask())).toBe(200);
    expect(await statusOf(ask())).toBe(429);
    expect(await statusOf(ask(admin, { model: OTHER }))).toBe(200);
    expect(await statusOf(ask(admin, { model: OTHER }))).toBe(each ? 429 : 200);
  });

  it('lets no more through of a burst than it says', async () => {
    await limit({ ...once, cap: 7 });
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(ask())));
    expect(statuses.filter((status) => status === 200)).toHaveLength(7);
    expect(simulator.total).toBe(7);
  });

  it('counts a call once, however often it is tried', async () => {
    const one = await limit({ ...once, cap: 10 });
    const failed = await ask(admin, { model: 'sim-failing--status-503' });
    expect(failed.status).toBe(503);
    expect(simulator.total).toBe(3);
    expect(await usedOf(one)).toBe(1);
  });
});

describe('a limit of requests a minute of a model', () => {
  const service = () => ({ apiHost: `${simulator.url}/v1`, apiKey: 'key' });
  let count = 0;

  /** A model that is always away, and falls back to those given. */
  const away = async (fallbackIds: readonly number[] = []) => {
    const modelName = `sim-away-${(count += 1)}--status-503`;
    return { modelName, id: await createModel(admin, { ...service(), modelName, fallbackIds }) };
  };

  it('counts a call for which it stands in, and refuses it when it is reached', async () => {
    const { modelName: model } = await away([models[FIXED] ?? 0]);
    const once = { scope: 'model', measure: 'requests-minute', cap: 1 };
    const one = await limit({ ...once, modelId: models[FIXED] });
    expect(await statusOf(ask(admin, { model }))).toBe(200);
    expect(await usedOf(one)).toBe(1);
    simulator.reset();
    expect(await statusOf(ask(admin, { model }))).toBe(503);
    expect(simulator.requests.filter(({ body }) => !JSON.stringify(body).includes(model))).toEqual(
      [],
    );
    expect(await statusOf(ask())).toBe(429);
  });

  it('counts each of the models of a call once, however often it is tried', async () => {
    const second = await away();
    const first = await away([second.id, models[OTHER] ?? 0]);
    const many = { measure: 'requests-minute', cap: 100 };
    const tenant = await limit(many);
    const ofModel = await Promise.all(
      [first.id, second.id, models[OTHER]].map((modelId) =>
        limit({ ...many, scope: 'model', modelId }),
      ),
    );
    expect(await statusOf(ask(admin, { model: first.modelName }))).toBe(200);
    expect(simulator.total).toBe(7);
    expect(await Promise.all(ofModel.map(usedOf))).toEqual([1, 1, 1]);
    expect(await usedOf(tenant)).toBe(1);
  });
});

describe('a budget', () => {
  it.each(['tokens-day', 'tokens-month', 'cost-day', 'cost-month'])(
    'of %s counts what calls have used, and refuses what could use more',
    async (measure) => {
      const isCost = measure.startsWith('cost');
      // A call may cost 0.05 for the output that it asks for, and less than 0.25 for what it sends.
      const one = await limit({ measure, cap: isCost ? 0.4 : ONE });
      const fields = { model: PRICED, max_tokens: isCost ? 25 : 50 };
      const statuses: number[] = [];
      while (!statuses.includes(429)) statuses.push(await statusOf(ask(admin, fields)));
      const used = statuses.length - 1;
      expect(used).toBeGreaterThan(1);
      expect(simulator.total).toBe(used);
      expect(await usedOf(one)).toBeCloseTo(used * (isCost ? COST : 30), 9);
      const { status, text, headers } = await ask(admin, fields);
      expect(status).toBe(429);
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'insufficient_quota' } });
      // When the day or month is over.
      const seconds = Number(headers['retry-after']);
      const { periodEnd } = await limitNow(one);
      expect(Math.abs(Date.now() + seconds * 1_000 - Date.parse(periodEnd ?? ''))).toBeLessThan(
        60_000,
      );
    },
  );

  it('of costs leaves models without a price alone', async () => {
    await limit({ measure: 'cost-day', cap: 0 });
    expect(await statusOf(ask())).toBe(200);
    expect(await statusOf(ask(admin, { model: PRICED }))).toBe(429);
  });

  it('counts what was used before it was made', async () => {
    await ask();
    await ask(user.session);
    // They are recorded by then, although no call waits for that.
    const all = await limit({ cap: 1_000 });
    const own = await limit({ scope: 'user', userId: user.id, cap: 1_000 });
    const each = await limit({ scope: 'user', cap: 1_000 });
    expect([all.use?.used, own.use?.used, each.use]).toEqual([60, 30, null]);
    await ask(user.session);
    expect(await Promise.all([all, own, each].map(usedOf))).toEqual([90, 60, 60]);
  });

  it('is reserved by running calls at worst case, and refuses what would not fit beside them', async () => {
    const one = await limit({ cap: ONE });
    simulator.script({ hold: true });
    const running = ask();
    await eventually(
      () => simulator.held,
      (held) => held === 1,
    );
    const { status, headers, text } = await ask();
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(5);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const reserved = (await limitNow(one)).use?.reserved ?? 0;
    expect(reserved).toBeGreaterThan(50);
    simulator.release();
    expect((await running).status).toBe(200);
    expect((await limitNow(one)).use).toMatchObject({ used: 30, reserved: 0 });
    expect(await statusOf(ask())).toBe(200);
  });

  it('is never passed by calls at the same time', async () => {
    const one = await limit({ cap: 1_000 });
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(ask())));
    const made = statuses.filter((status) => status === 200).length;
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThan(40);
    expect(await usedOf(one)).toBe(made * 30);
  });

  it.each([
    ['-1', { max_tokens: -1 }],
    ['a negative number that takes the question away', { max_tokens: -100_000 }],
    ['0', { max_tokens: 0 }],
    ['a text', { max_tokens: '100000' }],
    ['a name of another service', { n_predict: -1 }],
    ['a small one of another name', { max_tokens: 100_000, max_completion_tokens: 1 }],
  ])('reserves and counts a call whose limit of the answer is %s', async (_, fields) => {
    const one = await limit({ cap: 1_000 });
    const statuses = await Promise.all(
      Array.from({ length: 60 }, () => statusOf(ask(admin, fields))),
    );
    const made = statuses.filter((status) => status === 200).length;
    expect(made).toBeLessThan(60);
    expect(await usedOf(one)).toBe(made * 30);
    for (const { body } of simulator.requests) {
      expect((body as { max_tokens: unknown }).max_tokens).toBe(ANSWER_TOKENS);
      expect(body).not.toHaveProperty('n_predict');
    }
  });

  it('is reserved in all limits or in none', async () => {
    const wide = await limit({ cap: 100_000 });
    const minute = await limit({ measure: 'requests-minute', cap: 5 });
    await limit({ scope: 'model', modelId: models[FIXED], measure: 'tokens-month', cap: 1 });
    for (let call = 0; call < 7; call += 1) expect(await statusOf(ask())).toBe(429);
    expect(await reservations()).toEqual([]);
    expect(await usedOf(wide)).toBe(0);
    expect(await usedOf(minute)).toBe(0);
    expect(await statusOf(ask(admin, { model: OTHER }))).toBe(200);
    expect(await usedOf(minute)).toBe(1);
  });

  it('limits the answer of a call that says no limit itself', async () => {
    await limit({ cap: 100_000 });
    const sent = async (model: string): Promise<unknown> => {
      expect(await statusOf(ask(admin, { model, max_tokens: undefined }))).toBe(200);
      const body = simulator.requests.at(-1)?.body as { max_tokens?: number };
      return body.max_tokens;
    };
    expect(await sent(FIXED)).toBe(ANSWER_TOKENS);
    expect(await sent('sim-short')).toBe(77);
    expect(await sent('sim-messages')).toBe(ANSWER_TOKENS);
    await sendChat(admin, { model: FIXED, content: 'Hello' });
    expect(simulator.requests.at(-1)?.body).toMatchObject({ max_tokens: ANSWER_TOKENS });
    const body = { model: 'sim-responses', input: 'Hello' };
    expect((await admin.raw('POST', '/v1/responses', body)).status).toBe(200);
    const relayed = simulator.requests.at(-1)?.body;
    expect(relayed).toMatchObject({ max_output_tokens: ANSWER_TOKENS });
    expect(relayed).not.toHaveProperty('max_tokens');
  });

  it('counts what a stream has brought whose reader leaves, and gives the rest back', async () => {
    const one = await limit({ cap: 100_000 });
    const model = 'sim-paced--chunks-40--delay-20';
    const open = await OpenChat.send(admin, { model, content: 'Hello' });
    await open.until('tok3');
    expect((await limitNow(one)).use?.reserved).toBeGreaterThan(0);
    open.leave();
    await ended();
    const left = await eventually(
      () => limitNow(one),
      ({ use }) => use?.reserved === 0,
    );
    const [row] = await query<{ outcome: string; tokens: number }>(
      'SELECT outcome, (input_tokens + output_tokens)::int AS tokens FROM upstream_call',
    );
    expect(row).toMatchObject({ outcome: 'aborted' });
    expect(left.use?.used).toBe(row?.tokens);
    expect(row?.tokens).toBeLessThan(ANSWER_TOKENS);
  });

  it('keeps what a call of many leases has reserved', async () => {
    const one = await limit({ cap: ONE });
    simulator.script({ hold: true });
    const running = ask();
    const expiry = async (): Promise<Date | undefined> =>
      (await query<{ at: Date }>('SELECT expire_time AS at FROM usage_reservation'))[0]?.at;
    await eventually(expiry, (at) => at !== undefined);
    // Longer than any lease, so that a renewal shows however late it is.
    await query(`UPDATE usage_reservation SET expire_time = now() + interval '1 hour'`);
    const set = Number(await expiry());
    await eventually(expiry, (at) => Number(at) < set);
    expect((await limitNow(one)).use?.reserved).toBeGreaterThan(0);
    expect(await statusOf(ask())).toBe(429);
    simulator.release();
    expect((await running).status).toBe(200);
    expect(await usedOf(one)).toBe(30);
  });

  it('forgets what a process has reserved that is gone, after its lease', async () => {
    const one = await limit({ cap: ONE });
    expect(await statusOf(ask())).toBe(200);
    await calls();
    await query(`INSERT INTO usage_reservation (limit_id, subject_id, id, tenant_id, period_start, amount, expire_time)
      SELECT limit_id, subject_id, gen_random_uuid(), tenant_id, period_start, 300, now() + interval '1 hour'
        FROM usage_counter`);
    expect(await statusOf(ask())).toBe(429);
    await query(`UPDATE usage_reservation SET expire_time = now() - interval '1 second'`);
    expect(await statusOf(ask())).toBe(200);
    expect(await usedOf(one)).toBe(60);
    await query(`UPDATE usage_reservation SET expire_time = now() - interval '2 days'`);
    await query(`UPDATE usage_counter SET used_time = now() - interval '3 days',
      period_start = period_start - interval '3 days'`);
    await plinth.app.get(ReservationRetention, { strict: false }).round();
    expect(await reservations()).toEqual([]);
    expect(await query('SELECT limit_id FROM usage_counter')).toEqual([]);
    // The usage ledger says it again.
    expect(await usedOf(one)).toBe(60);
    expect(await statusOf(ask())).toBe(200);
    expect(await usedOf(one)).toBe(90);
  });

  it('keeps what it has counted until its period is over, however long it is not used', async () => {
    const month = await limit({ measure: 'tokens-month', cap: 1_000 });
    const day = await limit({ measure: 'cost-day', cap: 1_000 });
    expect(await statusOf(ask(admin, { model: PRICED }))).toBe(200);
    await calls();
    const counted = async (): Promise<readonly number[]> => {
      await query(`UPDATE usage_counter SET used_time = now() - interval '20 days'`);
      await plinth.app.get(ReservationRetention, { strict: false }).round();
      const rows = await query<{ id: number }>(
        'SELECT limit_id AS id FROM usage_counter ORDER BY 1',
      );
      return rows.map(({ id }) => id);
    };
    expect(await counted()).toEqual([month.id, day.id]);
    const before = (one: Limit, time: string) =>
      query(`UPDATE usage_counter SET period_start = period_start - interval '${time}'
        WHERE limit_id = ${one.id}`);
    await before(day, '1 day');
    expect(await counted()).toEqual([month.id]);
    await before(month, '1 month');
    expect(await counted()).toEqual([]);
  });

  it('begins anew with its period', async () => {
    const one = await limit({ cap: ONE });
    await ask();
    await calls();
    await query(
      `UPDATE usage_counter SET used = 1000, period_start = period_start - interval '1 day'`,
    );
    expect(await statusOf(ask())).toBe(200);
    expect(await usedOf(one)).toBe(60);
  });

  it('reserves the context window for what is given by address', async () => {
    const one = await limit({ cap: 50_000 });
    const url = 'https://files.test/a';
    const image = { type: 'image_url', image_url: { url } };
    const about = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });
    // What their records say of a context window: nothing.
    expect(await statusOf(ask(admin, about(image)))).toBe(429);
    const document = { type: 'document', source: { type: 'url', url } };
    const body = { model: 'sim-messages', max_tokens: 50, ...about(document) };
    expect((await admin.raw('POST', '/v1/messages', body)).status).toBe(429);
    expect(simulator.requests).toEqual([]);

    expect(await statusOf(ask(admin, { model: WINDOW, ...about(image) }))).toBe(200);
    expect(await usedOf(one)).toBe(30);
    simulator.script({ hold: true });
    const running = ask(admin, { model: WINDOW, ...about(image) });
    await eventually(
      () => simulator.held,
      (held) => held === 1,
    );
    expect(await reservations()).toEqual([{ amount: 40_050, live: true }]);
    simulator.release();
    expect(await statusOf(running)).toBe(200);
  });

  it.each([0.000_000_5, 1e-9])('refuses a cost of %d, which would be stored as 0', async (cap) => {
    expect(
      await admin.post('/system/limit', { scope: 'tenant', measure: 'cost-day', cap }),
    ).toMatchObject({
      code: 400,
      msg: 'cap must be 0 or at least 0.000001',
    });
  });

  it('counts neither tokens nor a request for a count of tokens', async () => {
    await limit({ cap: 0 });
    await limit({ measure: 'requests-minute', cap: 0 });
    const body = { model: 'sim-messages', messages: [{ role: 'user', content: 'Hello' }] };
    expect((await admin.raw('POST', '/v1/messages/count_tokens', body)).status).toBe(200);
  });

  it('counts one request for an image that is waited for', async () => {
    const one = await limit({ measure: 'requests-minute', cap: 1 });
    const body = { model: 'async-image', prompt: 'A house' };
    expect((await admin.raw('POST', '/v1/images/generations', body)).status).toBe(200);
    expect(simulator.total).toBeGreaterThan(1);
    expect(await usedOf(one)).toBe(1);
    expect((await admin.raw('POST', '/v1/images/generations', body)).status).toBe(429);
  });

  it('of costs counts images and characters', async () => {
    const { rows } = done(
      await admin.get<{ id: number; modelName: string }[]>('/system/model/list?pageSize=100'),
    );
    const image = rows.find(({ modelName }) => modelName === 'sync-image');
    done(await admin.put('/system/model', { ...image, imagePrice: 0.5 }));
    const one = await limit({ measure: 'cost-day', cap: 0.7 });
    const drawn = (): Promise<{ code: number }> =>
      admin.post('/media/image', { model: 'sync-image', prompt: 'A house' });
    expect(await drawn()).toMatchObject({ code: 200 });
    expect(await usedOf(one)).toBe(0.5);
    expect(await drawn()).toMatchObject({ code: 429, data: { limit: { id: one.id, used: 0.5 } } });
  });
});

it('a limit of costs holds for searches of the service before they are made', async () => {
  const modelName = 'sim-search';
  const prices = { inputPrice: 0, outputPrice: 0, webSearchPrice: 1 };
  const service = {
    apiHost: `${simulator.url}/v1`,
    apiKey: 'key',
    providerCode: 'custom_messages',
  };
  await createModel(admin, { ...service, ...prices, modelName });
  await limit({ measure: 'cost-day', cap: 4 });
  const statusWith = async (limits: object): Promise<number> => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search', ...limits }];
    const messages = [{ role: 'user', content: 'What is new?' }];
    const body = { model: modelName, max_tokens: 50, messages, tools };
    return (await admin.raw('POST', '/v1/messages', body)).status;
  };
  expect(await statusWith({ max_uses: 5 })).toBe(429);
  expect(await statusWith({})).toBe(429);
  expect(await statusWith({ max_uses: 4 })).toBe(200);
});

describe('what the usage ledger says of the use of a limit', () => {
  const MANY = 20_000;
  const BUSY = { user: 1, key: 1, model: 1 };
  const QUIET = { user: 901, key: 902, model: 903, tenant: 0 };

  /** A row a minute of one user, key and model, and three of each of the quiet ones among them. */
  async function fill(): Promise<void> {
    await query(`
      INSERT INTO upstream_call (id, tenant_id, call_time, user_id, api_key_id, model_id, door, feature, asked_model,
             model_name, provider_code, kind, attempt, outcome, input_tokens, output_tokens, cached_tokens,
             reasoning_tokens, images, seconds, characters, cost, duration_ms)
      SELECT gen_random_uuid(), '000000', now() - make_interval(mins => n),
             CASE WHEN n % 7000 = 1 THEN ${QUIET.user} ELSE ${BUSY.user} END,
             CASE WHEN n % 7000 = 2 THEN ${QUIET.key} WHEN n % 2 = 0 THEN ${BUSY.key} END,
             CASE WHEN n % 7000 = 3 THEN ${QUIET.model} ELSE ${BUSY.model} END,
             'v1', 'chat', 'm', 'm', 'custom_api', 'chat', 1, 'ok', 10, 20, 0, 0, 0, 0, 0, 0.5, 1
        FROM generate_series(0, ${MANY - 1}) n`);
    await query('ANALYZE upstream_call');
  }

  /** The blocks that a statement reads once its connection has planned it. */
  const blocksOf = (sql: string): Promise<number> => {
    const database = plinth.app.get(Database);
    const read = async (): Promise<number> => {
      for (let time = 0; time < 7; time += 1) await database.query(sql);
      const [row] = await database.query<{ 'QUERY PLAN': readonly Explained[] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`,
      );
      const plan = row?.['QUERY PLAN'][0]?.Plan;
      return (plan?.['Shared Hit Blocks'] ?? NaN) + (plan?.['Shared Read Blocks'] ?? NaN);
    };
    return acrossTenants('a test', () => database.transaction(read));
  };

  it.each([
    ['user', "interval '30 days'"],
    ['key', "interval '30 days'"],
    ['model', "interval '30 days'"],
    ['tenant', "interval '150 seconds'"],
  ] as const)('is read for a %s without the rows of others', async (scope, age) => {
    await fill();
    const used = (measure: string): string =>
      `SELECT booked_usage('000000', '${measure}', now() - ${age}, '${scope}', ${QUIET[scope]}, NULL) AS used`;
    expect(await query(used('tokens-month'))).toEqual([{ used: 90 }]);
    expect(await query(used('cost-month'))).toEqual([{ used: 1.5 }]);
    expect(await query(used('requests-minute'))).toEqual([{ used: 0 }]);
    expect(await blocksOf('SELECT sum(cost) FROM upstream_call')).toBeGreaterThan(300);
    expect(await blocksOf(used('tokens-month'))).toBeLessThan(100);
  });
});

describe('a reached limit', () => {
  const MESSAGES = [{ role: 'user', content: 'Hello' }];
  let reached: Limit;

  beforeEach(async () => {
    reached = await limit({ cap: 3 });
  });

  afterEach(() => expect(simulator.requests).toEqual([]));

  it('is an envelope with the limit and Retry-After', async () => {
    const { status, text, headers } = await admin.raw(
      'POST',
      `/system/model/${models[FIXED]}/test`,
      {},
    );
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      code: 429,
      msg: expect.stringMatching(/limit of 3 tokens per day for the tenant/),
      data: {
        retryAfterSeconds: Number(headers['retry-after']),
        limit: { id: reached.id, scope: 'tenant', measure: 'tokens-day', cap: 3, used: 0 },
      },
    });
    const answer = await admin.inLanguage('zh-CN').post(`/system/model/${models[FIXED]}/test`, {});
    expect(answer.msg).toBe(
      '租户的限额（3 词元/天）的剩余部分不足以完成此次调用。请要求更短的回答，等待下一个周期，或联系管理员提高限额。',
    );
  });

  it('is an error frame of the chat', async () => {
    const reply = await sendChat(admin, { model: FIXED, content: 'Hello' });
    expect(reply.error).toMatch(/limit of 3 tokens per day/);
    expect(reply.failure).toMatchObject({
      code: 429,
      data: { limit: { id: reached.id }, retryAfterSeconds: expect.any(Number) },
    });
    expect(reply.done).toBe(false);
  });

  it.each([
    ['/v1/chat/completions', { model: FIXED, messages: MESSAGES }],
    ['/v1/chat/completions', { model: FIXED, messages: MESSAGES, stream: true }],
    ['/v1/chat/completions', { model: 'sim-messages', messages: MESSAGES, stream: true }],
    ['/v1/responses', { model: FIXED, input: 'Hello', store: false }],
    ['/v1/embeddings', { model: 'sim-embed-64', input: 'Hello' }],
    ['/v1/rerank', { model: 'sim-rerank', query: 'Hello', documents: ['Hello'] }],
  ])('is a 429 of %s', async (path, body) => {
    const { status, text, headers } = await admin.raw('POST', path, body);
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    // The SDKs would repeat the request at once: they wait for no longer than a minute.
    expect(headers['x-should-retry']).toBe('false');
    expect(JSON.parse(text)).toEqual({
      error: {
        message: expect.stringMatching(/limit of 3 tokens per day/),
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        param: null,
      },
    });
  });

  it.each([false, true])('is a 429 of /v1/messages (streamed: %s)', async (stream) => {
    const body = { model: 'sim-messages', max_tokens: 100, messages: MESSAGES, stream };
    const { status, text, headers } = await admin.raw('POST', '/v1/messages', body);
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(headers['x-should-retry']).toBe('false');
    expect(JSON.parse(text)).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', message: expect.stringMatching(/limit of 3 tokens/) },
    });
  });

  it.each(['direct', 'tools'])(
    'is the failure of an agent with the runtime %s',
    async (runtime) => {
      const tools = runtime === 'tools' ? { runtime, tools: ['current_time'] } : {};
      const agent = await createAgent(admin, models[FIXED] ?? 0, tools);
      const reply = await sendChat(admin, { agentId: agent.id, content: 'Hello' });
      expect(reply.failure).toMatchObject({
        code: 429,
        data: { limit: { id: reached.id } },
      });
      const asked = await ask(admin, { model: `agent-${agent.id}` });
      expect([asked.status, JSON.parse(asked.text)]).toMatchObject([
        429,
        { error: { code: 'insufficient_quota' } },
      ]);
    },
  );

  it('is counted, and not tried again', async () => {
    const refused = async (): Promise<number> => {
      const { text } = await plinth.anonymous().raw('GET', '/metrics');
      return Number(
        /plinth_limits_reached_total\{measure="tokens-day"\} (\d+)/.exec(text)?.[1] ?? 0,
      );
    };
    const before = await refused();
    expect(await statusOf(ask())).toBe(429);
    expect(await refused()).toBe(before + 1);
    await calls();
    expect(await query('SELECT id FROM upstream_call')).toEqual([]);
  });

  it('fails a document with the reason', async () => {
    const knowledgeId = await createKnowledge(admin, {
      name: 'Shop',
      embeddingModel: 'sim-embed-64',
    });
    await upload(admin, knowledgeId, [['note.txt', 'The warranty lasts long.']]);
    // Or has it wait with the reason, in the last hour of a day.
    await eventually(
      () => attachmentsOf(admin, knowledgeId),
      ([row]) => /limit of 3 tokens per day for the tenant/.test(JSON.stringify(row)),
    );
    done(await admin.delete(`/system/info/${knowledgeId}`));
  });
});

it('a chat goes without the fragments that a limit keeps it from finding', async () => {
  const knowledgeId = await createKnowledge(admin, { name: 'Cut', embeddingModel: 'sim-embed-64' });
  await upload(admin, knowledgeId, [['note.txt', 'The warranty lasts long.']]);
  await settled(admin, knowledgeId);
  await limit({ scope: 'model', modelId: models['sim-embed-64'], cap: 0 });
  const reply = await sendChat(admin, { model: FIXED, content: 'warranty', knowledgeId });
  expect(reply.done).toBe(true);
  expect(reply.frames.find(({ event }) => event === 'sources')?.data).toMatchObject({
    fallback: true,
  });
});

it('a document waits for a limit that will soon have room, and says so', async () => {
  const made = { name: 'Waiting', embeddingModel: 'sim-embed-64' };
  const knowledgeId = await createKnowledge(admin, made);
  await limit({ measure: 'requests-minute', cap: 0 });
  await upload(admin, knowledgeId, [['note.txt', 'The warranty lasts long.']]);
  await eventually(
    () => attachmentsOf(admin, knowledgeId),
    ([row]) => /limit of 0 requests per minute/.test(String(row?.['waitingFor'])),
  );
  // Also one whose turn has come late, or that needs more calls than an hour has room for.
  await plinth.app.get(Database).query(
    `UPDATE attachment SET due_at = now(), requested_at = now() - interval '2 hours', waiting_for = NULL
      WHERE tenant_id = '000000' AND knowledge_id = $1`,
    [knowledgeId],
  );
  await eventually(
    () => attachmentsOf(admin, knowledgeId),
    ([row]) => /limit of 0 requests per minute/.test(String(row?.['waitingFor'])),
  );
  done(await admin.delete(`/system/info/${knowledgeId}`));
});

it('asks the database nothing while there is no limit', async () => {
  const resolver = plinth.app.get(ModelResolver, { strict: false });
  const upstream = plinth.app.get(UpstreamCalls, { strict: false });
  const revision = plinth.app.get(TenantRevision, { strict: false });
  const made = async (): Promise<readonly string[]> => {
    const caller = systemCaller('000000', await revision.current('000000'));
    const model = await resolver.resolveChat(caller, FIXED);
    const options = {
      use: { caller, feature: 'test' },
      limits: { connectMs: 10_000, idleMs: 10_000, totalMs: 10_000 },
      signal: new AbortController().signal,
      isResolved: true,
    } as const;
    const call = { messages: [{ role: 'user', content: 'Hello' }] } as const;
    return statementsOf(() => upstream.complete(model, () => call, options));
  };
  expect(await inTenant('000000', made)).toEqual([]);
  expect(simulator.requests.at(-1)?.body).not.toHaveProperty('max_tokens');
  await limit({ cap: 10_000 });
  const limited = await inTenant('000000', made);
  expect(limited.filter((sql) => sql.includes('reserve_limits'))).toHaveLength(1);
});
