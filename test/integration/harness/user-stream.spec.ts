import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { withoutPolls } from '../../support/event-polls.js';
import { EventReader } from '../../support/event-reader.js';
import { complete, delta, ownRun, upTo } from '../../support/harness-run.js';
import { PASSWORD } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import type { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { WatchedRuns, write } from '../../support/watched-runs.js';

const PATH = '/coding/harness/events/stream';

let watched: WatchedRuns;
let plinth: Plinth;
let admin: Session;
let user: Person;

beforeAll(async () => {
  watched = await WatchedRuns.start();
  ({ plinth, admin, user } = watched);
});

afterAll(() => plinth.stop());

/** Reads the events of all runs of the user. */
function open(query = '', headers: Record<string, string> = {}): Promise<EventReader> {
  return EventReader.open(user.session, PATH + query, headers, 'user');
}

/** Number of the user's last event. */
async function lastNumber(): Promise<number> {
  const reader = await open('?afterSequence=0');
  const last = await reader.synced();
  reader.leave();
  return last;
}

describe('the stream of a user', () => {
  it('has the events of all runs, numbered without gaps, also of those that begin later', async () => {
    const first = await ownRun(plinth, user.session);
    await write(first, 2);
    const before = await lastNumber();
    const reader = await open();
    expect(await reader.synced()).toBe(before);
    await withoutPolls(plinth, async () => {
      const second = await ownRun(plinth, user.session);
      await write(first, 2, () => 'a');
      await write(second, 3, () => 'b');
      await complete(first);
      await write(second, 1, () => 'c');
      await reader.reaches(before + 7);
    });
    expect(reader.positions).toEqual(upTo(7).map((number) => before + number));
    expect(reader.text).toBe('aabbbc');
    // Each event names its run and its number there.
    expect(reader.sequences).toEqual([3, 4, 1, 2, 3, 5, 4]);
    expect(new Set(reader.events.map(({ runId }) => runId)).size).toBe(2);
    expect(reader.closed).toBe(false);
    reader.leave();
    await watched.isQuiet();
  });

  it('goes on after the larger of Last-Event-ID and afterSequence, and begins now without them', async () => {
    const run = await ownRun(plinth, user.session);
    await write(run, 10);
    const last = await lastNumber();
    const firstOf = async (query: string, id?: string): Promise<number | undefined> => {
      const reader = await open(query, id === undefined ? {} : { 'Last-Event-ID': id });
      expect(await reader.synced()).toBe(last);
      reader.leave();
      return reader.positions[0];
    };
    expect(await firstOf('')).toBeUndefined();
    expect(await firstOf('?afterSequence=0')).toBe(1);
    expect(await firstOf('', String(last - 3))).toBe(last - 2);
    expect(await firstOf(`?afterSequence=${last - 1}`, String(last - 3))).toBe(last);
    expect(await firstOf('', String(last + 1_000))).toBeUndefined();
    const headers = { 'Last-Event-ID': 'abc' };
    const refused = await user.session.raw('GET', PATH, undefined, headers);
    expect(JSON.parse(refused.text)).toMatchObject({ code: 400 });
    await watched.isQuiet();
  });

  it('numbers what runs write at once in the order of the commits', async () => {
    const before = await lastNumber();
    const reader = await open('', { 'Last-Event-ID': String(before) });
    const runs = await Promise.all(upTo(6).map(() => ownRun(plinth, user.session)));
    await Promise.all(
      runs.map(async (run) => {
        for (let round = 0; round < 10; round += 1) {
          await write(run, 2);
          await run.ledger.updateRun(run.lease.tenantId, run.runId, (writer) => {
            writer.events([delta('x')]);
          });
        }
      }),
    );
    await reader.reaches(before + 180);
    expect(reader.positions).toEqual(upTo(180).map((number) => before + number));
    for (const { runId } of runs) {
      const own = reader.events.filter((event) => event.runId === runId);
      expect(own.map(({ sequence }) => sequence)).toEqual(upTo(30));
    }
    reader.leave();
    await watched.isQuiet();
  });

  it('has nothing of other users, nor of a failed write', async () => {
    const before = await lastNumber();
    const reader = await open('', { 'Last-Event-ID': String(before) });
    const foreign = await ownRun(plinth, admin);
    await write(foreign, 3);
    const run = await ownRun(plinth, user.session);
    const failing = run.ledger.updateRun(run.lease.tenantId, run.runId, (writer) => {
      writer.events([delta('lost')]);
      throw new Error('No.');
    });
    await expect(failing).rejects.toThrow('No.');
    await write(run, 1, () => 'own');
    await reader.reaches(before + 1);
    expect(reader.text).toBe('own');
    reader.leave();
    await watched.isQuiet();
  });

  it('leaves out the events of a release that did not number them', async () => {
    const run = await ownRun(plinth, user.session);
    const before = await lastNumber();
    const { tenantId, runId } = run.lease;
    await plinth.app.get(Database).query(
      `INSERT INTO harness_event (tenant_id, run_id, session_id, sequence, type, data)
       SELECT tenant_id, id, session_id, 1, 'usage.updated', '{}' FROM harness_run WHERE tenant_id = $1 AND id = $2`,
      [tenantId, runId],
    );
    expect(await lastNumber()).toBe(before);
  });

  it('ends when its user signs out', async () => {
    const second = await plinth.signIn(user.name, PASSWORD);
    const reader = await EventReader.open(second, PATH, {}, 'user');
    await reader.synced();
    await second.post('/auth/logout');
    await reader.end();
    expect(await second.get(PATH)).toMatchObject({ code: 401 });
    await watched.isQuiet();
  });
});
