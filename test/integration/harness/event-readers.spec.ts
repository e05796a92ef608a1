import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OpenStreams } from '../../../src/platform/access/index.js';
import { checkBrokenReading } from '../../support/broken-reading.js';
import { EventReader } from '../../support/event-reader.js';
import { complete, ownRun, upTo } from '../../support/harness-run.js';
import type { OwnRun } from '../../support/harness-run.js';
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

describe('several readers', () => {
  it('each get everything, wherever they start', async () => {
    const run = await ownRun(plinth, user.session);
    const readers = [await watched.open(run)];
    for (let batch = 0; batch < 40; batch += 1) {
      await write(run, 1 + (batch % 5));
      if (batch % 5 === 0) readers.push(await watched.open(run, `?afterSequence=${batch}`));
    }
    await complete(run);
    for (const reader of readers) await reader.end();
    const last = 40 * 3 + 1;
    expect(readers.map(({ last: end }) => end)).toEqual(readers.map(() => last));
    for (const { sequences } of readers) {
      expect(sequences).toEqual(upTo(last).slice((sequences[0] ?? 0) - 1));
    }
    expect(readers.map(({ sequences }) => sequences[0])).toEqual([1, 1, 6, 11, 16, 21, 26, 31, 36]);
    await watched.isQuiet();
  });

  it('do not wait for a slow one, which is cut off and comes back for the rest', async () => {
    const run = await ownRun(plinth, user.session);
    const quick = await watched.open(run);
    const { slow, buffered } = await openWatched(run);
    await slow.said('sync 0');
    slow.pause();
    const piece = 'x'.repeat(100_000);
    const streams = plinth.app.get(OpenStreams);
    let last = 0;
    // How much the system's own buffers take differs from machine to machine.
    while (streams.size > 1 && last < 800) {
      await write(run, 8, (number) => `${number}${piece}`);
      last += 8;
      if (last > 160) await sleep(200);
    }
    await quick.reaches(last, 120_000);
    await eventually(
      () => streams.size,
      (open) => open === 1,
      60_000,
    );
    // One buffer, and not the 16 MB and more that the run has.
    expect(buffered()).toBeGreaterThan(10_000);
    expect(buffered()).toBeLessThan(2 ** 20);
    slow.resume();
    await slow.end();
    expect(slow.last).toBeLessThan(last);
    expect(slow.sequences).toEqual(upTo(slow.last));
    const again = await watched.open(run, '', { 'Last-Event-ID': String(slow.last) });
    await complete(run);
    await again.end(120_000);
    await quick.end(120_000);
    expect([...slow.sequences, ...again.sequences]).toEqual(upTo(last + 1));
    expect(slow.text + again.text).toBe(quick.text);
    await watched.isQuiet();
  }, 180_000);

  /** A reader, and the most that its response has held back in the service. */
  async function openWatched(
    run: OwnRun,
  ): Promise<{ readonly slow: EventReader; readonly buffered: () => number }> {
    const server = plinth.app.getHttpServer();
    let most = 0;
    server.once('request', (_, response) => {
      const watching = setInterval(() => (most = Math.max(most, response.writableLength)), 5);
      response.once('close', () => clearInterval(watching));
    });
    return { slow: await watched.open(run), buffered: () => most };
  }

  it('miss nothing and get nothing twice, however often they lose their connection', async () => {
    await checkBrokenReading(() => ownRun(plinth, user.session), [user.session]);
    await watched.isQuiet();
  }, 180_000);

  it('are limited per run and per user, with an ordinary answer', async () => {
    const run = await ownRun(plinth, user.session);
    const readers: EventReader[] = [];
    for (let count = 0; count < 20; count += 1) readers.push(await watched.open(run));
    await isRefused(run);
    expect((await EventReader.open(admin, run.stream)).status).toBe(200);
    for (let count = 0; count < 20; count += 1) {
      readers.push(await watched.open(await ownRun(plinth, user.session)));
    }
    const another = await ownRun(plinth, user.session);
    await isRefused(another);
    for (const reader of readers) reader.leave();
    await eventually(
      () => plinth.app.get(OpenStreams).size,
      (open) => open === 1,
    );
    const reader = await watched.open(another);
    expect(reader.status).toBe(200);
    reader.leave();
    await complete(run);
    await watched.isQuiet();
  });

  /** No place is left for a reader of the run, and the answer says when to come back. */
  async function isRefused(run: OwnRun): Promise<void> {
    const { text, headers } = await user.session.raw('GET', run.stream);
    expect(JSON.parse(text)).toMatchObject({ code: 429, data: { errorCode: 'TOO_MANY_STREAMS' } });
    expect(headers['retry-after']).toBe('5');
  }
});

it('a reader that leaves leaves no timer, socket or listener behind', async () => {
  const count = (): Record<string, number> => {
    const found: Record<string, number> = { Timeout: 0, TCPSocketWrap: 0 };
    for (const name of process.getActiveResourcesInfo()) {
      if (name in found) found[name] = (found[name] ?? 0) + 1;
    }
    return found;
  };
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  const run = await ownRun(plinth, user.session);
  await write(run, 2_000);
  await watched.isQuiet();
  const before = count();
  for (let round = 0; round < 12; round += 1) {
    const readers = await Promise.all(Array.from({ length: 10 }, () => watched.open(run)));
    // Some in the replay, some after it.
    if (round % 2 === 0) for (const reader of readers) await reader.said('sync 2000');
    for (const reader of readers) reader.leave();
    await watched.isQuiet();
  }
  await eventually(count, (now) =>
    Object.entries(before).every(([name, number]) => (now[name] ?? 0) <= number + 3),
  );
  process.off('warning', warned);
  expect(warnings).toEqual([]);
  await complete(run);
});
