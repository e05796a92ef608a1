import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { EventBus } from '../../../src/platform/event/index.js';
import { withoutPolls } from '../../support/event-polls.js';
import { EventReader } from '../../support/event-reader.js';
import { FollowReader } from '../../support/follow-reader.js';
import { complete, ownRun, upTo } from '../../support/harness-run.js';
import type { OwnRun } from '../../support/harness-run.js';
import { makeRole, makeUser, PASSWORD } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';
import { WatchedRuns, write } from '../../support/watched-runs.js';

let watched: WatchedRuns;
let plinth: Plinth;
let admin: Session;
let user: Person;

beforeAll(async () => {
  watched = await WatchedRuns.start();
  ({ plinth, admin, user } = watched);
});

afterAll(() => plinth.stop());

describe('the stream of a run', () => {
  it('has the headers that keep it open and unchanged on its way', async () => {
    const run = await ownRun(plinth, user.session);
    await complete(run);
    const { status, headers, text } = await user.session.raw('GET', run.stream, undefined, {
      'accept-encoding': 'gzip, br',
    });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(headers['content-encoding']).toBeUndefined();
    expect(text).toMatch(
      /^: connected\n\nid: 1\nevent: run\.completed\ndata: \{[^\n]+\}\n\n: sync 1\n\n$/,
    );
  });

  it('replays, says where the replay ends, goes on live and ends with the run', async () => {
    const run = await ownRun(plinth, user.session);
    await write(run, 1_234);
    const reader = await watched.open(run);
    await reader.said('sync 1234');
    expect(reader.sequences).toEqual(upTo(1_234));
    await withoutPolls(plinth, async () => {
      await write(run, 3, () => 'live ');
      await reader.reaches(1_237);
    });
    expect(reader.closed).toBe(false);
    await complete(run);
    await reader.end();
    expect(reader.sequences).toEqual(upTo(1_238));
    expect(reader.comments).toEqual(['connected', 'sync 1234']);
    expect(reader.text).toBe(
      `${upTo(1_234)
        .map((number) => number - 1)
        .join('')}live live live `,
    );
    await watched.isQuiet();
  });

  it('goes on after the larger of Last-Event-ID and afterSequence', async () => {
    const run = await ownRun(plinth, user.session);
    await write(run, 10);
    const first = async (query: string, id?: string): Promise<number | undefined> => {
      const reader = await watched.open(
        run,
        query,
        id === undefined ? {} : { 'Last-Event-ID': id },
      );
      await eventually(
        () => reader.comments.length,
        (comments) => comments > 1,
      );
      reader.leave();
      return reader.sequences[0];
    };
    expect(await first('')).toBe(1);
    expect(await first('?afterSequence=4')).toBe(5);
    expect(await first('', '6')).toBe(7);
    expect(await first('?afterSequence=4', '6')).toBe(7);
    expect(await first('?afterSequence=8', '6')).toBe(9);
    expect(await first('?afterSequence=', '')).toBe(1);
    expect(await first('?afterSequence=10')).toBeUndefined();
    for (const id of ['abc', '-1', '1.5', '0x10', '9'.repeat(40), '1e3']) {
      const headers = { 'Last-Event-ID': id };
      const answer = await user.session.raw('GET', run.stream, undefined, headers);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(JSON.parse(answer.text)).toMatchObject({
        code: 400,
        data: { errorCode: 'INVALID_INPUT' },
      });
    }
    for (const number of ['abc', '-1', '1.5']) {
      const answer = await user.session.get(`${run.stream}?afterSequence=${number}`);
      expect(answer).toMatchObject({ code: 400 });
    }
    await watched.isQuiet();
  });

  it('does not wait for ever for who says to have more than there is', async () => {
    const run = await ownRun(plinth, user.session);
    await write(run, 2);
    const reader = await watched.open(run, '?afterSequence=1000');
    await reader.said('sync 2');
    await complete(run);
    await reader.end();
    expect(reader.sequences).toEqual([3]);
  });

  it('of a run that is over replays and ends, and answers 204 to who has everything', async () => {
    const run = await ownRun(plinth, user.session);
    await write(run, 700);
    await complete(run);
    const reader = await watched.open(run);
    await reader.end();
    expect(reader.sequences).toEqual(upTo(701));
    const late = await watched.open(run, '', { 'Last-Event-ID': '700' });
    await late.end();
    expect(late.sequences).toEqual([701]);
    for (const query of ['?afterSequence=701', '?afterSequence=9999']) {
      const answer = await user.session.raw('GET', run.stream + query);
      expect(answer).toMatchObject({ status: 204, text: '' });
    }
    await run.ledger.updateRun(run.lease.tenantId, run.runId, (writer) =>
      writer.event('limit.warning', { kind: 'after', count: 1, limit: 1 }),
    );
    const later = await watched.open(run, '?afterSequence=700');
    await later.end();
    expect(later.events.map(({ type }) => type)).toEqual(['run.completed', 'limit.warning']);
    await watched.isQuiet();
  });

  it('answers a HEAD with the headers alone', async () => {
    const run = await ownRun(plinth, user.session);
    const { status, headers } = await user.session.raw('HEAD', run.stream);
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^text\/event-stream/);
    await watched.isQuiet();
  });

  it('finds what no notification has told of', async () => {
    const run = await ownRun(plinth, user.session);
    const reader = await watched.open(run);
    await reader.said('sync 0');
    const bus = plinth.app.get(EventBus);
    const { publish } = bus;
    bus.publish = () => Promise.resolve();
    try {
      await write(run, 5);
      await complete(run);
    } finally {
      bus.publish = publish;
    }
    await reader.end();
    expect(reader.sequences).toEqual(upTo(6));
  });

  it('ends when the run is deleted under it', async () => {
    const run = await ownRun(plinth, user.session);
    const reader = await watched.open(run);
    await reader.said('sync 0');
    await plinth.app
      .get(Database)
      .query('DELETE FROM harness_session WHERE tenant_id = $1 AND id = $2', [
        run.lease.tenantId,
        run.sessionId,
      ]);
    await reader.end();
    await watched.isQuiet();
  });

  it('pings its reader when there has been nothing to say for ten seconds', async () => {
    const run = await ownRun(plinth, user.session);
    const reader = await watched.open(run);
    await reader.said('sync 0');
    const { now } = Date;
    Date.now = () => now() + 10_000;
    try {
      await reader.said('ping');
    } finally {
      Date.now = now;
    }
    await complete(run);
    await reader.end();
    expect(reader.sequences).toEqual([1]);
  });
});

describe('the stream of several runs', () => {
  const asked = ({ sessionId, runId }: OwnRun, afterSequence = 0): object => ({
    sessionId,
    runId,
    afterSequence,
  });

  it('replays each from its place, goes on live, and says which are over', async () => {
    const [long, short, over] = [
      await ownRun(plinth, user.session),
      await ownRun(plinth, user.session),
      await ownRun(plinth, user.session),
    ];
    await write(long, 1_100);
    await write(short, 5);
    await complete(over);
    const reader = await FollowReader.open(user.session, [
      asked(long),
      asked(short, 3),
      asked(over),
    ]);
    expect(await reader.has('run.synced', long.runId)).toMatchObject({ sequence: 1_100 });
    expect(await reader.has('run.synced', short.runId)).toMatchObject({ sequence: 5 });
    expect(await reader.has('run.over', over.runId)).toMatchObject({ sequence: 1 });
    // A long replay does not delay the others: its second page comes after their first.
    const places = reader.frames.map(({ event, data }) => `${event} ${String(data['runId'])}`);
    expect(places.indexOf(`run.synced ${short.runId}`)).toBeLessThan(
      places.indexOf(`run.synced ${long.runId}`),
    );
    await withoutPolls(plinth, async () => {
      await write(short, 2);
      await complete(long);
      expect(await reader.has('run.over', long.runId)).toMatchObject({ sequence: 1_101 });
      await complete(short);
      await reader.has('run.over', short.runId);
    });
    expect(reader.sequencesOf(long.runId)).toEqual(upTo(1_101));
    expect(reader.sequencesOf(short.runId)).toEqual([4, 5, 6, 7, 8]);
    expect(reader.closed).toBe(false);
    reader.leave();
    await watched.isQuiet();
  });

  it('counts what waits for a decision as soon as it changes', async () => {
    const run = await ownRun(plinth, user.session);
    const reader = await FollowReader.open(user.session, []);
    await reader.counts(0);
    await run.ledger.asOwner(run.lease, (writer) => {
      writer.park('QUESTION');
      writer.event('run.waiting_for_input', { ...writer.statusData, reason: 'question' });
    });
    await reader.counts(1);
    await run.ledger.updateRun(run.lease.tenantId, run.runId, (writer) => {
      writer.end({ status: 'CANCELLED', stopReason: 'USER_CANCEL' });
    });
    await reader.counts(0);
    reader.leave();
    await watched.isQuiet();
  });

  it('names the run that is not the caller’s, and keeps to its limits', async () => {
    const run = await ownRun(plinth, user.session);
    const foreign = await ownRun(plinth, admin);
    const path = '/coding/harness/events/stream';
    const refused = await user.session.post(path, { runs: [asked(run), asked(foreign)] });
    expect(refused).toMatchObject({
      code: 404,
      data: { errorCode: 'RUN_NOT_FOUND', field: 'runs.1' },
    });
    const many = Array.from({ length: 21 }, () => asked(run));
    const tooMany = await user.session.post(path, { runs: many });
    expect(tooMany).toMatchObject({ code: 400 });
    expect(tooMany.msg).toContain('more than 20 entries');
    expect(await user.session.post(path, {})).toMatchObject({ code: 400 });
    await watched.isQuiet();
  });

  it('ends when its user signs out', async () => {
    const second = await plinth.signIn(user.name, PASSWORD);
    const reader = await FollowReader.open(second, []);
    await reader.counts(0);
    await second.post('/auth/logout');
    await reader.end();
    await watched.isQuiet();
  });
});

describe('a stream ends', () => {
  it('when its user signs out', async () => {
    const run = await ownRun(plinth, user.session);
    const second = await plinth.signIn(user.name, PASSWORD);
    const [staying, leaving] = [
      await watched.open(run),
      await EventReader.open(second, run.stream),
    ];
    await leaving.said('sync 0');
    await second.post('/auth/logout');
    await leaving.end();
    expect(staying.closed).toBe(false);
    expect(await second.get(run.stream)).toMatchObject({ code: 401 });
    await complete(run);
    await staying.end();
    await watched.isQuiet();
  });

  it('when its user may no longer use the harness', async () => {
    const role = await makeRole(admin, 'short-lived', ['coding:harness:use']);
    const person = await makeUser(plinth, admin, 'short-lived', [role]);
    const run = await ownRun(plinth, person.session);
    const reader = await EventReader.open(person.session, run.stream);
    await reader.said('sync 0');
    const changed = { roleId: role, roleName: 'x', roleKey: 'short-lived', permissions: [] };
    expect(await admin.put('/system/role', changed)).toMatchObject({ code: 200 });
    await reader.end();
    expect(await person.session.get(run.stream)).toMatchObject({ code: 403 });
    await watched.isQuiet();
  });
});

it('a stop of the service ends its streams', async () => {
  // Longer than the test may take: the stop must not wait for them.
  const own = await Plinth.start({ SHUTDOWN_GRACE_SECONDS: '3600' });
  const session = await own.signIn();
  const run = await ownRun(own, session);
  const reader = await EventReader.open(session, run.stream);
  await reader.said('sync 0');
  await own.stop();
  await reader.end();
});
