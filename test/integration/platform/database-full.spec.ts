import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { OpenChat } from '../../support/chat.js';
import { attachmentsOf, createKnowledge, FAILED, PARSED, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { errorsSince, readiness } from '../../support/outages.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { createServerDatabase } from '../../support/server-database.js';
import type { ServerDatabase } from '../../support/server-database.js';
import type { Session } from '../../support/session.js';
import { SmallDisk } from '../../support/small-disk.js';
import { SECRET_KEY } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const FULL = {
  code: 503,
  msg: 'The disk of the database is full. Ask an administrator to free space on it; no restart is needed then.',
  data: null,
};
/** More than one page of a table has room for, and nothing that PostgreSQL could compress. */
const LONG = randomBytes(50_000).toString('hex');

const disk = await SmallDisk.start(96);

if (!disk) {
  it.skip('a database whose disk is full (needs PostgreSQL and the right to mount a file system)', () =>
    undefined);
} else {
  describe('a database whose disk is full', () => {
    let database: ServerDatabase;
    let plinth: Plinth;
    let simulator: Simulator;
    let root: Session;
    let base: number;
    let written = 0;

    overrideConstants(CHAT_LIMITS, { attempts: 1 });

    beforeAll(async () => {
      database = await createServerDatabase(disk.url, disk.tablespace);
      simulator = await startSimulator();
      plinth = await Plinth.start({ DATABASE_URL: database.url, SECRET_KEY });
      root = await plinth.signIn();
      await createProvider(root, 'custom_api');
      const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
      await createModel(root, { modelName: 'talks', ...service });
      const vector = { category: 'vector', modelDimension: 8 };
      await createModel(root, { modelName: 'embeds-8', ...service, ...vector });
      base = await createKnowledge(root, { name: 'Shelf', embeddingModel: 'embeds-8' });
    });

    beforeEach(() => simulator.reset());

    afterEach(() => disk.free());

    afterAll(async () => {
      await plinth?.stop();
      await simulator?.close();
      await disk.stop();
    });

    const store = async () => (await readiness(plinth)).body.checks['store'];
    const write = () => {
      written += 1;
      const dictType = `colours_${written}`;
      return root.post('/system/dict/type', { dictName: 'C', dictType, remark: 'x'.repeat(500) });
    };
    /** Fills the disk and returns the first refusal: pages that are there take a few more rows. */
    const full = async (): Promise<unknown> => {
      disk.fill();
      return eventually(write, ({ code }) => code === 503);
    };
    const recovered = async (): Promise<void> => {
      disk.free();
      await eventually(store, (check) => check?.status === 'up');
    };

    it('is answered as 503 with the cause, read all the same, and written again without a restart', async () => {
      const position = plinth.log.length;
      expect(await full()).toEqual(FULL);
      expect(await readiness(plinth)).toMatchObject({
        status: 200,
        body: { status: 'degraded', checks: { store: { status: 'degraded', reason: FULL.msg } } },
      });
      expect(await root.get('/system/permission/list')).toMatchObject({ code: 200 });
      expect(errorsSince(plinth, position)).toEqual([]);

      await recovered();
      expect(await write()).toMatchObject({ code: 200 });
      expect(plinth.log.slice(position).join('\n')).toContain('Dependency no longer limited');
    });

    it('does not lose the answer that is being streamed', async () => {
      const { data: sessionId } = done(
        await root.post<string>('/system/session', { sessionTitle: 'Full' }),
      );
      simulator.script({ text: LONG, hold: true });
      const chat = OpenChat.send(root, { model: 'talks', content: 'x', sessionId });
      await eventually(
        () => simulator.held,
        (held) => held === 1,
      );
      await full();
      simulator.release();
      const reply = await (await chat).rest();
      expect([reply.error, reply.text.trim(), reply.done]).toEqual([undefined, LONG, true]);

      await recovered();
      const messages = async () =>
        (
          await root.get<{ role: string; content: string; state: string }[]>(
            `/system/message/list?sessionId=${sessionId}`,
          )
        ).rows;
      const stored = await eventually(messages, (rows) =>
        rows.some(({ role, state }) => role === 'assistant' && state === 'complete'),
      );
      expect(stored.at(-1)?.content.trim()).toBe(LONG);
    });

    it('is waited for by documents', async () => {
      const text = Array.from({ length: 200 }, (_, at) => `${at} ${LONG.slice(at, at + 400)}`);
      simulator.script({ match: { model: 'embeds-8' }, hold: true });
      done(await upload(root, base, [['long.txt', text.join('\n\n')]]));
      await eventually(
        () => simulator.held,
        (held) => held === 1,
      );
      await full();
      simulator.release();
      await eventually(
        () => simulator.held,
        (held) => held === 0,
      );
      // Work in the meantime may have freed some pages.
      expect(await full()).toEqual(FULL);
      await recovered();
      const documents = await eventually(
        () => attachmentsOf(root, base),
        (rows) => rows.every(({ status }) => status === PARSED || status === FAILED),
      );
      expect(documents).toMatchObject([{ status: PARSED }]);
    });
  });
}
