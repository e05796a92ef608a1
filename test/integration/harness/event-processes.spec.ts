import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkBrokenReading } from '../../support/broken-reading.js';
import { withoutPolls } from '../../support/event-polls.js';
import { EventReader } from '../../support/event-reader.js';
import { complete, deltas, ownRun, upTo } from '../../support/harness-run.js';
import { Plinth } from '../../support/plinth.js';
import { createServerDatabase } from '../../support/server-database.js';
import type { ServerDatabase } from '../../support/server-database.js';
import type { Session } from '../../support/session.js';

const server = process.env['DATABASE_URL'];
const redis = process.env['REDIS_URL'];

(server !== undefined && redis !== undefined ? describe : describe.skip)(
  'two services on one PostgreSQL and one Redis',
  () => {
    let database: ServerDatabase;
    let writing: Plinth;
    let reading: Plinth;
    let session: Session;

    beforeAll(async () => {
      database = await createServerDatabase(server ?? '');
      const shared = {
        DATABASE_URL: database.url,
        REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}`,
        CHAT_STREAMS_PER_USER: '80',
      };
      writing = await Plinth.start(shared);
      reading = await Plinth.start({ ...shared, DATA_DIR: writing.dataDir });
      session = await reading.signIn();
    });

    afterAll(async () => {
      await reading.stop();
      await writing.stop();
      await database.drop();
    });

    it('hand an event of the one to the readers of the other at once', async () => {
      const run = await ownRun(writing, await writing.signIn());
      const readers = await Promise.all([1, 2, 3].map(() => EventReader.open(session, run.stream)));
      for (const reader of readers) await reader.said('sync 0');
      await withoutPolls(reading, async () => {
        await run.ledger.append(run.lease, deltas(1, String));
        for (const reader of readers) await reader.reaches(1);
      });
      await complete(run);
      for (const reader of readers) await reader.end();
      expect(readers.map(({ sequences }) => sequences)).toEqual([upTo(2), upTo(2), upTo(2)]);
    });

    it('number the events of both in one row, and every reader gets all', async () => {
      const run = await ownRun(writing, await writing.signIn());
      const other = await ownRun(reading, session);
      const { tenantId } = run.lease;
      const readers = await Promise.all([
        EventReader.open(session, run.stream),
        EventReader.open(await writing.signIn(), run.stream),
      ]);
      const write = async (by: typeof run): Promise<void> => {
        for (let turn = 0; turn < 100; turn += 1) {
          await by.ledger.updateRun(tenantId, run.runId, (writer) =>
            writer.events(deltas(1 + (turn % 4), String)),
          );
        }
      };
      await Promise.all([write(run), write(other)]);
      await complete(run);
      for (const reader of readers) await reader.end();
      expect(readers.map(({ sequences }) => sequences)).toEqual([upTo(501), upTo(501)]);
    });

    it('hand a reader over to each other, who misses nothing and gets nothing twice', async () => {
      const other = await writing.signIn();
      await checkBrokenReading(() => ownRun(writing, other), [session, other]);
    }, 180_000);
  },
);
