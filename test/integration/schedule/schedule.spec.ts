import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { ScheduleRunner } from '../../../src/schedule/schedule.runner.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { CODER, Harness } from '../../support/harness.js';
import { createModel } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { READ_ONLY } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const TENANT = '000000';
/** Answers tok0 tok1 tok2. */
const MODEL = 'sim--chunks-3';
const DAILY = { cron: '0 6 * * *', timeZone: 'Asia/Shanghai' };

interface Schedule {
  readonly id: number;
  readonly revision: number;
  readonly nextDue: string | null;
}

interface Fire {
  readonly dueTime: string;
  readonly state: string;
  readonly failure: string | null;
  readonly chatSessionId: number | null;
  readonly runId: string | null;
}

let world: Harness;
let admin: Session;
let runner: ScheduleRunner;

function sql<Row>(text: string, values: unknown[]): Promise<Row[]> {
  return world.plinth.app.get(Database).query<Row & object>(text, values);
}

async function create(fields: object = {}, by = admin): Promise<Schedule> {
  const task = { name: 'Report', kind: 'chat', message: 'What is new?', model: MODEL };
  const body = { ...task, ...DAILY, ...fields };
  return done(await by.post<Schedule>('/schedule', body)).data;
}

/** Lets the schedule be due since the given minutes. */
async function makeDue({ id }: Schedule, minutes = 1): Promise<void> {
  await sql(
    'UPDATE schedule SET next_due = now() - make_interval(mins => $3) WHERE tenant_id = $1 AND id = $2',
    [TENANT, id, minutes],
  );
}

function sweep(): Promise<void> {
  return runner.sweep(new AbortController().signal);
}

async function fires({ id }: Schedule, by = admin): Promise<Fire[]> {
  return done(await by.get<Fire[]>(`/schedule/fire/list?scheduleId=${id}`)).rows;
}

/** The last time of the schedule once it is over. */
async function ended(schedule: Schedule, by = admin): Promise<Fire> {
  const [last] = await eventually(
    () => fires(schedule, by),
    ([first]) => first !== undefined && first.state !== 'open',
  );
  if (!last) throw new Error('There is no time.');
  return last;
}

async function messagesOf(
  chatSessionId: number | null,
): Promise<{ role: string; content: string }[]> {
  return sql(
    'SELECT role, content, state FROM chat_message WHERE tenant_id = $1 AND session_id = $2 ORDER BY id',
    [TENANT, chatSessionId],
  );
}

beforeAll(async () => {
  world = await Harness.start();
  admin = world.session;
  runner = world.plinth.app.get(ScheduleRunner, { strict: false });
  await createModel(admin, {
    modelName: MODEL,
    apiHost: world.simulator.url,
    apiKey: 'simulated-key',
  });
});

afterAll(() => world.stop());

beforeEach(() => sql('DELETE FROM schedule WHERE tenant_id = $1', [TENANT]));

describe('a schedule', () => {
  it('sends its message in a chat of its own at each time, once over all processes', async () => {
    const schedule = await create();
    expect(new Date(`${schedule.nextDue?.replace(' ', 'T')}Z`).getUTCMinutes()).toBe(0);
    await sweep();
    expect(await fires(schedule)).toEqual([]);

    await makeDue(schedule);
    await Promise.all([sweep(), sweep(), sweep()]);
    const fire = await ended(schedule);
    expect(fire).toMatchObject({ state: 'done', failure: null });
    expect(await messagesOf(fire.chatSessionId)).toEqual([
      { role: 'user', content: 'What is new?', state: 'complete' },
      { role: 'assistant', content: expect.stringContaining('tok2'), state: 'complete' },
    ]);
    expect(await fires(schedule)).toHaveLength(1);
    // As its user can follow it while it is written.
    const [turn] = await sql<{ id: string }>(
      `SELECT turn_id AS id FROM chat_message WHERE tenant_id = $1 AND session_id = $2 AND role = 'user'`,
      [TENANT, fire.chatSessionId],
    );
    const followed = await admin.raw('GET', `/chat/turns/${turn?.id}/stream`);
    expect(followed.text).toContain('event: done');
    const { data } = done(await admin.get<Schedule>(`/schedule/${schedule.id}`));
    expect(data.nextDue).not.toBeNull();

    // The ledger is written after the answer.
    const calls = await eventually(
      () =>
        sql<{ tags: string[] }>('SELECT tags FROM upstream_call WHERE tenant_id = $1', [TENANT]),
      ({ length }) => length > 0,
    );
    expect(calls.map(({ tags }) => tags)).toEqual([[`schedule:${schedule.id}`]]);
  });

  it('begins a run in its session of the harness, and goes on where a process died', async () => {
    const session = await world.createSession(READ_ONLY);
    world.script({ text: 'Nothing to do.' });
    const fields = {
      kind: 'run',
      model: CODER,
      message: 'Look',
      harnessSessionId: session.sessionId,
    };
    const schedule = await create(fields);
    await makeDue(schedule);
    await sweep();
    const { runId, state } = await ended(schedule);
    expect(state).toBe('done');
    const run = { sessionId: session.sessionId, runId: runId ?? '' };
    expect(await world.ended(run)).toMatchObject({ status: 'COMPLETED' });

    // As after a crash between the beginning of the run and its record.
    await sql(
      `UPDATE schedule_fire SET state = 'open', run_id = NULL, lease_until = NULL WHERE tenant_id = $1 AND schedule_id = $2`,
      [TENANT, schedule.id],
    );
    await sweep();
    expect(await ended(schedule)).toMatchObject({ state: 'done', runId });
  });

  it('asks nothing twice when a process dies after the answer', async () => {
    const schedule = await create();
    await makeDue(schedule);
    await sweep();
    const { chatSessionId } = await ended(schedule);
    await sql(
      `UPDATE schedule_fire SET state = 'open', lease_until = NULL WHERE tenant_id = $1 AND schedule_id = $2`,
      [TENANT, schedule.id],
    );
    await sweep();
    expect(await ended(schedule)).toMatchObject({ state: 'done', chatSessionId });
    expect(await messagesOf(chatSessionId)).toHaveLength(2);
  });

  it('fails when three processes have died', async () => {
    const schedule = await create();
    await sql(
      `INSERT INTO schedule_fire (tenant_id, schedule_id, due_time, attempts) VALUES ($1, $2, now(), 3)`,
      [TENANT, schedule.id],
    );
    await sweep();
    expect(await ended(schedule)).toMatchObject({
      state: 'failed',
      failure: 'The service stopped three times during this work. Start it again.',
    });
  });

  it('makes up for one missed time, or skips it', async () => {
    const one = await create();
    await makeDue(one, 600);
    const none = await create({ missed: 'skip' });
    await makeDue(none, 600);
    await sweep();
    expect(await ended(one)).toMatchObject({ state: 'done' });
    expect(await ended(none)).toMatchObject({
      state: 'skipped',
      failure: 'The service was stopped at this time.',
    });
    expect(await fires(none)).toHaveLength(1);
  });

  it('skips a time while the one before has not ended', async () => {
    const schedule = await create();
    await sql(
      `INSERT INTO schedule_fire (tenant_id, schedule_id, due_time, lease_until)
       VALUES ($1, $2, now() - interval '1 day', now() + interval '1 hour')`,
      [TENANT, schedule.id],
    );
    await makeDue(schedule);
    await sweep();
    expect(await ended(schedule)).toMatchObject({ state: 'skipped' });
    expect(await admin.post(`/schedule/${schedule.id}/run`)).toMatchObject({ code: 409 });
  });

  it('happens once where it names one time, does nothing while it is paused, and runs on request', async () => {
    const once = await create({ cron: undefined, timeZone: undefined, at: '2099-01-01 06:00:00' });
    expect(once.nextDue).toBe('2099-01-01 06:00:00');
    done(await admin.post(`/schedule/${once.id}/pause`, { paused: true }));
    await makeDue(once);
    await sweep();
    expect(await fires(once)).toEqual([]);
    done(await admin.post(`/schedule/${once.id}/pause`, { paused: false }));
    await sweep();
    expect(await ended(once)).toMatchObject({ state: 'done' });
    expect(done(await admin.get<Schedule>(`/schedule/${once.id}`)).data.nextDue).toBeNull();

    const daily = await create();
    done(await admin.post(`/schedule/${daily.id}/run`));
    expect(await ended(daily)).toMatchObject({ state: 'done' });
  });

  it('has the rights that its owner has in that minute', async () => {
    const roleId = await makeRole(admin, 'planner', ['chat:schedule:add']);
    const owner = await makeUser(world.plinth, admin, 'planner', [roleId]);
    const schedule = await create({}, owner.session);
    expect(await admin.get(`/schedule/${schedule.id}`)).toMatchObject({ code: 404 });
    await makeDue(schedule);
    const empty = await makeRole(admin, 'nothing', []);
    done(await admin.put('/system/user', { userId: owner.id, roleIds: [empty] }));
    await sweep();
    const { state } = await eventually(
      async () =>
        (
          await sql<{ state: string }>(
            'SELECT state FROM schedule_fire WHERE tenant_id = $1 AND schedule_id = $2',
            [TENANT, schedule.id],
          )
        )[0] ?? { state: 'open' },
      (fire) => fire.state !== 'open',
    );
    expect(state).toBe('refused');
  });

  it('tells why the answer failed', async () => {
    const refused = 'sim--status-401';
    await createModel(admin, {
      modelName: refused,
      apiHost: world.simulator.url,
      apiKey: 'simulated-key',
    });
    const schedule = await create({ model: refused });
    await makeDue(schedule);
    await sweep();
    const { state, failure } = await ended(schedule);
    expect(state).toBe('failed');
    expect(failure).toContain('key');

    const unknown = { name: 'Report', kind: 'chat', message: 'Hello', model: 'no-such-model' };
    expect(await admin.post('/schedule', { ...unknown, ...DAILY })).toMatchObject({ code: 404 });
  });

  it('is refused where it cannot be read', async () => {
    const task = { name: 'Report', kind: 'chat', message: 'Hello' };
    const refusalOf = async (fields: object) =>
      (await admin.post('/schedule', { ...task, ...fields })).msg;
    expect(await refusalOf({})).toBe('Enter cron for many times, or at for one.');
    expect(await refusalOf({ ...DAILY, at: '2099-01-01 00:00:00' })).toContain('Enter cron');
    expect(await refusalOf({ cron: 'daily' })).toContain('The schedule is not valid.');
    expect(await refusalOf({ cron: '* * * * * *' })).toContain('The schedule is not valid.');
    expect(await refusalOf({ cron: '0 6 * * *', timeZone: 'Nowhere/Town' })).toContain('timeZone');
    expect(await refusalOf({ at: '2020-01-01 00:00:00' })).toBe('at must be in the future.');
    expect(await refusalOf({ ...DAILY, kind: 'run' })).toContain('Enter harnessSessionId');
    const harnessSessionId = '00000000-0000-4000-8000-000000000000';
    expect(await refusalOf({ ...DAILY, harnessSessionId })).toContain('Leave the others out');
    const key = await makeKey(admin, { permissions: ['chat:schedule:add'] });
    expect(await withKey(admin, key).post('/schedule', { ...task, ...DAILY })).toMatchObject({
      code: 403,
      msg: 'Schedules work with all rights of their owner, so an API key cannot change them. Sign in.',
    });
  });

  it('is changed as a whole, on the revision that was read', async () => {
    const { id, revision } = await create();
    const change = { id, revision, name: 'Other', message: 'More?', at: '2099-01-01 06:00:00' };
    const { data } = done(await admin.put<Schedule>('/schedule', change));
    expect(data).toMatchObject({ name: 'Other', cron: null, model: null, message: 'More?' });
    expect(await admin.put('/schedule', change)).toMatchObject({ code: 409 });
    done(await admin.delete(`/schedule/${id}`));
    expect(await admin.get(`/schedule/${id}`)).toMatchObject({ code: 404 });
  });
});
