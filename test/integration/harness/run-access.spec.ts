import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { MODEL_CALL_LIMITS } from '../../../src/harness/context/compaction.js';
import { BegunRuns, runsOf } from '../../support/begun-runs.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView, SessionView } from '../../support/harness.js';
import { occupy, ONE_PLACE, putRun } from '../../support/harness-states.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import type { Session } from '../../support/session.js';

let harness: Harness;
let reader: Person;
let writer: Person;
let writeRole: number;
let stranger: Session;

overrideConstants(MODEL_CALL_LIMITS, { idleMs: 600_000 });

beforeAll(async () => {
  harness = await startHarness({
    environment: ONE_PLACE,
  });
  const { plinth, session: admin } = harness;
  const use = await makeRole(admin, 'harness-reader', ['coding:harness:use']);
  writeRole = await makeRole(admin, 'harness-writer', [
    'coding:harness:use',
    'coding:harness:write',
  ]);
  reader = await makeUser(plinth, admin, 'reader', [use]);
  writer = await makeUser(plinth, admin, 'writer', [writeRole]);
  stranger = (await makeTenant(plinth, admin, '300001')).admin;
  await occupy(harness);
});

afterAll(() => harness.stop());

const begun = new BegunRuns();

afterEach(() => begun.cancelAll(harness));

function newSession(over: Record<string, unknown> = {}, by = writer.session): Promise<SessionView> {
  return harness.createSession(over, by);
}

describe('who may', () => {
  const post = ['', '/inputs', '/cancel', '/resume'];

  it('nobody without a login, and nobody from another site', async () => {
    const session = await newSession();
    const { data: run } = done(await begun.start(writer.session, session));
    const nobody = harness.plinth.anonymous();
    const headers = { origin: 'https://evil.example' };
    const asked = [
      ['POST', runsOf(session)],
      ['GET', runsOf(session)],
      ['GET', harness.path(run)],
      ['GET', `/coding/harness/sessions/${session.sessionId}/messages`],
      ...post.slice(1).map((below) => ['POST', harness.path(run, below)]),
    ];
    for (const [method = '', path = ''] of asked) {
      const body = method === 'GET' ? undefined : {};
      const seen = await nobody.raw(method, path, body, headers);

      expect(JSON.parse(seen.text)).toMatchObject({ code: 401 });
      expect(seen.headers).not.toHaveProperty('access-control-allow-origin');
    }
  });

  it('only the user of the session, and super administrators of the tenant', async () => {
    const session = await newSession();
    const { data: run } = done(await begun.start(writer.session, session));
    const other = await newSession({ permissionMode: 'READ_ONLY' }, reader.session);
    for (const by of [reader.session, stranger]) {
      expect(await by.get(runsOf(session))).toMatchObject({ code: 404 });
      expect(await by.get(harness.path(run))).toMatchObject({ code: 404 });
      expect(await begun.start(by, session)).toMatchObject({ code: 404 });
      const path = `/coding/harness/sessions/${session.sessionId}/messages`;
      expect(await by.get(path)).toMatchObject({ code: 404 });
      const input = { kind: 'STEER', content: 'Stop', idempotencyKey: freshKey() };
      for (const below of post.slice(1)) {
        const body = below === '/inputs' ? input : {};
        expect(await by.post(harness.path(run, below), body)).toMatchObject({ code: 404 });
        const through = { ...run, sessionId: other.sessionId };
        expect(await by.post(harness.path(through, below), body)).toMatchObject({ code: 404 });
      }
    }
    expect((await harness.run(run)).status).toBe('QUEUED');
    done(await harness.session.get(runsOf(session)));
  });

  it('starts and steers nothing that writes once the permission is taken away', async () => {
    const person = await makeUser(harness.plinth, harness.session, 'demoted', [writeRole]);
    const session = await harness.createSession({}, person.session);
    const { data: run } = done(await begun.start(person.session, session));
    const use = await makeRole(harness.session, 'harness-use-only', ['coding:harness:use']);
    const change = { userId: person.id, roleIds: [use] };
    done(await harness.session.put('/system/user', change));
    const refused = { code: 403, msg: expect.stringContaining('coding:harness:write') };
    const body = { kind: 'STEER', content: 'Go on', idempotencyKey: freshKey() };
    const { session: by } = person;

    expect(await by.post(harness.path(run, '/inputs'), body)).toMatchObject(refused);
    expect(await by.post(harness.path(run, '/resume'))).toMatchObject(refused);
    done(await by.post(harness.path(run, '/cancel')));
    expect(await begun.start(by, session)).toMatchObject(refused);
    const reading = await harness.createSession({ permissionMode: 'READ_ONLY' }, by);
    done(await begun.start(by, reading));
  });
});

describe('cancel', () => {
  it('ends a run that waits at once, and changes nothing the second time', async () => {
    const { data: run } = done(await begun.start(writer.session, await newSession()));
    const cancel = async (): Promise<RunView> =>
      done(await writer.session.post<RunView>(harness.path(run, '/cancel'))).data;

    expect(await cancel()).toMatchObject({
      ...{ runId: run.runId, status: 'CANCELLED', changed: true, stopReason: 'USER_CANCEL' },
      endedAt: expect.any(Number),
    });
    expect(await cancel()).toMatchObject({ status: 'CANCELLED', changed: false });
    const events = await harness.events(run, writer.session);
    expect(events.at(-1)).toMatchObject({ type: 'run.cancelled' });
  });

  it.each([
    ['WAITING_FOR_APPROVAL', 'TOOL'],
    ['WAITING_FOR_INPUT', 'PLAN'],
    ['SUSPENDED', 'EFFECT'],
  ])('works from %s (%s)', async (status, waitKind) => {
    const { data: run } = done(await begun.start(writer.session, await newSession()));
    await putRun(harness.plinth, run, { status, waitKind });

    expect(done(await writer.session.post(harness.path(run, '/cancel'))).data).toMatchObject({
      status: 'CANCELLED',
      changed: true,
    });
  });
});

describe('resume', () => {
  async function suspended(waitKind: string): Promise<RunView> {
    const { data: run } = done(await begun.start(writer.session, await newSession()));
    await putRun(harness.plinth, run, { status: 'SUSPENDED', waitKind });
    return run;
  }

  it('puts a run back into the queue whose model service had stayed away', async () => {
    const run = await suspended('PROVIDER');

    expect(done(await writer.session.post(harness.path(run, '/resume'))).data).toMatchObject({
      status: 'QUEUED',
      reason: 'resumed',
      error: null,
    });
    const events = await harness.events(run, writer.session);
    expect(events.at(-1)).toMatchObject({ type: 'run.queued', data: { reason: 'resumed' } });
  });

  it('waits until uncertain tool calls are resolved', async () => {
    const run = await suspended('EFFECT');

    expect(await writer.session.post(harness.path(run, '/resume'))).toMatchObject({
      code: 409,
      data: { errorCode: 'EFFECTS_UNRESOLVED' },
    });
  });

  it('is for suspended runs alone', async () => {
    const { data: run } = done(await begun.start(writer.session, await newSession()));

    expect(await writer.session.post(harness.path(run, '/resume'))).toMatchObject({
      code: 409,
      data: { errorCode: 'NOT_RESUMABLE', status: 'QUEUED' },
    });
    done(await writer.session.post(harness.path(run, '/cancel')));
    expect(await writer.session.post(harness.path(run, '/resume'))).toMatchObject({
      data: { errorCode: 'NOT_RESUMABLE', status: 'CANCELLED' },
    });
  });
});
