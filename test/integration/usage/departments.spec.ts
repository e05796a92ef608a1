import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { acrossTenants, Database } from '../../../src/platform/database/index.js';
import { UsageLedger } from '../../../src/usage/usage.ledger.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

/** 30 tokens a call, as the service reports them. */
const FIXED = 'sim-fixed--inputtokens-10--outputtokens-20';
const SLOW = 'sim-paced--chunks-40--delay-20';
/** More than a call reserves. */
const ROOM = 500;

interface Row {
  readonly groups: readonly { readonly key: string | null; readonly name: string | null }[];
  readonly calls: number;
}

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let member: Person;
let outsider: Person;
let research: number;
let company: number;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key', inputPrice: 1_000 };
  for (const modelName of [FIXED, SLOW]) await createModel(admin, { ...service, modelName });
  const role = await makeRole(admin, 'programs', ['system:apikey:add']);
  member = await makeUser(plinth, admin, 'member', [role]);
  outsider = await makeUser(plinth, admin, 'outsider', [role]);
  const group = async (displayName: string): Promise<number> =>
    done(await admin.post<number>('/system/group', { displayName })).data;
  research = await group('Research');
  company = await group('Company');
  const add = async (groupId: number, fields: object): Promise<void> => {
    done(await admin.put('/system/group/member', { groupId, ...fields }));
  };
  await add(research, { addedUserIds: [member.id] });
  await add(company, { addedGroupIds: [research] });
});

beforeEach(async () => {
  simulator.reset();
  await recorded();
  await query('DELETE FROM upstream_call');
});

afterEach(async () => {
  const { rows } = done(await admin.get<{ id: number }[]>('/system/limit/list'));
  const ids = rows.map(({ id }) => id).join(',');
  if (ids !== '') done(await admin.delete(`/system/limit/${ids}`));
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

async function recorded(): Promise<void> {
  const ledger = plinth.app.get(UsageLedger, { strict: false });
  await ledger.settled();
  await ledger.flush();
}

function query<Result>(sql: string): Promise<Result[]> {
  return acrossTenants('a test', () => plinth.app.get(Database).query<Result>(sql));
}

async function limit(fields: object): Promise<number> {
  const body = { scope: 'tenant', measure: 'tokens-day', cap: ROOM, ...fields };
  return done(await admin.post<{ id: number }>('/system/limit', body)).data.id;
}

async function limitNow(id: number) {
  await recorded();
  const answer = await admin.get<{
    name: string | null;
    use: { used: number; reserved: number; subjectName: string | null } | null;
  }>(`/system/limit/${id}`);
  return done(answer).data;
}

function ask(by: Session, fields: object = {}, tags?: string) {
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: FIXED, messages, max_tokens: 50, ...fields };
  const headers = tags === undefined ? undefined : { 'x-plinth-tags': tags };
  return by.raw('POST', '/v1/chat/completions', body, headers);
}

const statusOf = async (asking: ReturnType<typeof ask>): Promise<number> => (await asking).status;

async function keyWith(tags?: readonly string[], by = admin): Promise<Session> {
  const key = await makeKey(by, { permissions: ['chat:chat:use'], ...(tags && { tags }) });
  return withKey(by, key);
}

async function report(groupBy: string): Promise<Record<string, number>> {
  await recorded();
  const { rows } = done(await admin.get<{ rows: Row[] }>(`/monitor/usage?groupBy=${groupBy}`)).data;
  const nameOf = ({ groups: [group] }: Row): string => group?.name ?? group?.key ?? 'none';
  return Object.fromEntries(rows.map((row) => [nameOf(row), row.calls]));
}

describe('groups', () => {
  it('are recorded with each call, those around a group of the user included', async () => {
    await ask(member.session);
    await ask(outsider.session);
    expect(await report('group')).toEqual({ Research: 1, Company: 1, none: 1 });
    done(
      await admin.put('/system/group/member', { groupId: research, removedUserIds: [member.id] }),
    );
    try {
      await ask(member.session);
      expect(await report('group')).toEqual({ Research: 1, Company: 1, none: 2 });
    } finally {
      const members = { groupId: research, addedUserIds: [member.id] };
      done(await admin.put('/system/group/member', members));
    }
    const usage = await admin.get<{ total: { calls: number } }>(
      `/monitor/usage?groupId=${company}&groupBy=group,user`,
    );
    expect(done(usage).data.total.calls).toBe(1);
    const { text } = await admin.raw('GET', '/monitor/usage/export');
    expect(text).toMatch(new RegExp(`,${research}; ${company},Research; Company,\r\n`));
    const { text: charges } = await admin.raw('GET', '/monitor/usage/charges?groupBy=group');
    // A call counts for both of its groups, and once in the sum.
    expect(charges).toMatch(/charge,\d+,Company,USD,0\.01,,1,/);
    expect(charges).toMatch(/charge,\d+,Research,USD,0\.01,,1,/);
    expect(charges).toMatch(/sum,,,USD,0\.03,,3,/);
  });

  it('have limits together, that of a group around included, and each its own', async () => {
    const one = await limit({ scope: 'group', groupId: company });
    const each = await limit({ scope: 'group', measure: 'cost-month', cap: 100 });
    expect(await limitNow(one)).toMatchObject({ name: 'Company', use: { used: 0 } });
    await ask(member.session);
    await ask(outsider.session);
    expect(await limitNow(one)).toMatchObject({ use: { used: 30, reserved: 0 } });
    expect(await limitNow(each)).toMatchObject({ name: null, use: { used: 0.01 } });
    expect(await query(`SELECT group_id FROM usage_counter WHERE limit_id = ${each}`)).toHaveLength(
      2,
    );
    done(await admin.put('/system/limit', { id: one, cap: 31 }));
    const refused = await ask(member.session);
    expect(refused.status).toBe(429);
    expect(refused.text).toContain('for the group');
    expect(await statusOf(ask(outsider.session))).toBe(200);
  });

  it('count what was used before the limit, and take their limits with them', async () => {
    await ask(member.session);
    const temporary = done(await admin.post<number>('/system/group', { displayName: 'Gone' })).data;
    const own = await limit({ scope: 'group', groupId: research });
    expect(await limitNow(own)).toMatchObject({ use: { used: 30 } });
    await limit({ scope: 'group', groupId: temporary });
    done(await admin.delete(`/system/group/${temporary}`));
    expect(await query('SELECT FROM usage_limit')).toHaveLength(1);
    const strange = { scope: 'group', measure: 'tokens-day', cap: 1 };
    expect((await admin.post('/system/limit', { ...strange, groupId: 999_999 })).code).toBe(404);
    expect((await admin.post('/system/limit', { ...strange, tag: 'x' })).code).toBe(400);
  });
});

describe('tags', () => {
  it('are those that the key may use, from the header and from metadata', async () => {
    const program = await keyWith(['team-a', 'Projekt 7', '研发']);
    await ask(program, {}, 'team-a, Projekt 7');
    await ask(program, { metadata: { tags: ['team-a', '研发'], trace: '1' } });
    // A list is not for services, which take texts.
    expect(simulator.requests.at(-1)?.body).toMatchObject({ metadata: { trace: '1' } });
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('metadata.tags');
    await ask(program, { metadata: { tags: 'team-a,Projekt 7' } });
    expect(simulator.requests.at(-1)?.body).toMatchObject({
      metadata: { tags: 'team-a,Projekt 7' },
    });
    await ask(program);
    expect(await report('tag')).toEqual({ 'team-a': 3, 'Projekt 7': 2, 研发: 1, none: 1 });
    const { text } = await admin.raw('GET', '/monitor/usage/export');
    expect(text).toContain(',Projekt 7; team-a\r\n');
    const { text: charges } = await admin.raw('GET', '/monitor/usage/charges?groupBy=tag');
    expect(charges).toMatch(/charge,team-a,,USD,0\.03,,3,/);
  });

  it('are refused where the key may not use them, are too many, or none has a key', async () => {
    const program = await keyWith(['team-a']);
    const wrong = await ask(program, {}, 'team-a,team-b');
    expect([wrong.status, wrong.text]).toEqual([
      403,
      expect.stringContaining('The tag team-b is not among those that this API key may use.'),
    ]);
    expect(await statusOf(ask(program, { metadata: { tags: ['team-b'] } }))).toBe(403);
    const many = Array.from({ length: 11 }, (_, at) => `t${at}`);
    expect(await statusOf(ask(program, {}, many.join(',')))).toBe(400);
    expect((await ask(member.session, {}, 'team-a')).text).toContain('Only API keys have tags.');
    expect(simulator.requests).toEqual([]);
    // What a client sends that has a key without tags goes on to the service.
    expect(await statusOf(ask(await keyWith(), { metadata: { tags: 'team-b' } }))).toBe(200);
    expect(await report('tag')).toEqual({ none: 1 });
    const fields = { permissions: ['chat:chat:use'], name: 'Wrong' };
    for (const tag of ['a,b', ' a', 'x'.repeat(65)]) {
      expect((await admin.post('/system/apikey', { ...fields, tags: [tag] })).code).toBe(400);
    }
  });

  it('have limits, one or each', async () => {
    const program = await keyWith(['team-a', 'team-b']);
    await ask(program, {}, 'team-a');
    const one = await limit({ scope: 'tag', tag: 'team-a' });
    const each = await limit({ scope: 'tag', measure: 'tokens-month' });
    expect(await limitNow(one)).toMatchObject({ name: 'team-a', use: { used: 30 } });
    await ask(program, {}, 'team-a,team-b');
    expect(await limitNow(one)).toMatchObject({ use: { used: 60 } });
    expect(await limitNow(each)).toMatchObject({ use: { used: 60, subjectName: 'team-a' } });
    done(await admin.put('/system/limit', { id: one, cap: 61 }));
    expect((await ask(program, {}, 'team-a')).text).toContain('for the tag');
    expect(await statusOf(ask(program, {}, 'team-b'))).toBe(200);
    expect(await statusOf(ask(program))).toBe(200);
  });
});

describe('tokens of a minute', () => {
  it('count the reservations of running calls and what ended calls have used in the last minute', async () => {
    const minute = await limit({ measure: 'tokens-minute' });
    const { headers } = await ask(member.session);
    expect(headers['x-ratelimit-limit-tokens']).toBe(String(ROOM));
    await ask(member.session);
    expect(await limitNow(minute)).toMatchObject({
      use: { used: 60, reserved: 0 },
      periodEnd: null,
    });
    await query(`UPDATE usage_reservation SET amount = ${ROOM - 50}`);
    const refused = await ask(member.session);
    expect(refused.status).toBe(429);
    expect(refused.text).toContain('tokens per minute for the tenant is reached. Try again in');
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(61);
    await query(`UPDATE usage_reservation SET expire_time = now() - interval '1 second'`);
    expect(await statusOf(ask(member.session))).toBe(200);
    const tooLong = await ask(member.session, { max_tokens: 1_000 });
    expect(tooLong.text).toContain('This call may use more than the limit');
  });
});

describe('concurrent calls', () => {
  it('are refused beyond the limit until one ends, whether it failed or its client has left', async () => {
    const concurrent = await limit({ scope: 'user', measure: 'calls-concurrent', cap: 1 });
    const running = ask(member.session, { model: SLOW });
    await eventually(
      () => query('SELECT FROM usage_reservation'),
      (rows) => rows.length === 1,
    );
    expect(await limitNow(concurrent)).toMatchObject({
      use: { reserved: 1, subjectName: 'member' },
    });
    const refused = await ask(member.session);
    expect(refused.status).toBe(429);
    expect(refused.text).toContain('1 concurrent calls for the user is reached.');
    expect(await statusOf(ask(outsider.session))).toBe(200);
    expect((await running).status).toBe(200);
    expect(await statusOf(ask(member.session))).toBe(200);
    simulator.script({ match: { path: '/chat/completions' }, status: 400 });
    expect(await statusOf(ask(member.session))).toBe(400);
    expect(await statusOf(ask(member.session))).toBe(200);
    await recorded();
    expect(await query('SELECT FROM usage_reservation')).toEqual([]);
    expect(await query('SELECT used::int FROM usage_counter WHERE used <> 0')).toEqual([]);
  });
});
