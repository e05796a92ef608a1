import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { STATEMENT_LIMIT } from '../../../src/platform/database/statement-limit.js';
import {
  createDataSource,
  Database,
  isConnectionFailure,
  isOutage,
} from '../../../src/platform/database/index.js';
import { startSimulator } from '../../../simulator/index.js';
import { createKnowledge, PARSED, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { changesOf, dependencyUp, errorsSince, readiness } from '../../support/outages.js';
import { ownStore } from '../../support/own-store.js';
import type { OwnStore } from '../../support/own-store.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { embeddedTemplate } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const UNAVAILABLE = {
  code: 503,
  msg: 'The database is not available at the moment. Try again in a few seconds.',
  data: null,
};

const LATE = [['late.txt', 'Uploaded after the thaw.']] as const;

const POOL_SIZE = 3;
const LIMIT_SECONDS = 3;

const onServer = process.env['DATABASE_URL'] ? describe : describe.skip;

onServer('a database that goes away', () => {
  let store: OwnStore;
  let relay: TcpRelay;
  let plinth: Plinth;
  let root: Session;

  // Making the template starts a silent service, which would take the log of this one.
  beforeAll(async () => {
    await embeddedTemplate();
  });

  overrideConstants(STATEMENT_LIMIT, { ms: LIMIT_SECONDS * 1_000 });

  beforeEach(async () => {
    store = await ownStore();
    relay = new TcpRelay(new URL(store.databaseUrl ?? ''));
    plinth = await Plinth.start({
      ...store.environment,
      DATABASE_URL: await relay.open(),
      DATABASE_POOL_SIZE: String(POOL_SIZE),
    });
    root = await plinth.signIn();
  });

  afterEach(async () => {
    await plinth.stop();
    await relay.cut();
    await store.drop();
  });

  const list = () => root.get('/system/permission/list');
  const recovered = () => eventually(list, ({ code }) => code === 200);

  it('is answered as 503 with the time to wait, and leaves one line in the log', async () => {
    const position = plinth.log.length;
    await relay.cut();
    const answers = await Promise.all(Array.from({ length: 10 }, list));
    const { status, headers, text } = await root.raw('GET', '/system/user/list');
    const coded = await root.get('/coding/harness/sessions');

    expect(answers).toEqual(answers.map(() => UNAVAILABLE));
    expect([status, headers['retry-after']]).toEqual([200, '5']);
    expect(JSON.parse(text)).toEqual(UNAVAILABLE);
    expect(coded).toEqual({ ...UNAVAILABLE, data: { errorCode: 'UNAVAILABLE' } });
    expect(await readiness(plinth)).toMatchObject({
      status: 503,
      body: { status: 'down', checks: { store: { status: 'down' } } },
    });
    expect(await dependencyUp(plinth, 'store')).toBe(0);
    expect(errorsSince(plinth, position)).toEqual([]);
    expect(changesOf(plinth, 'store')).toEqual(['unavailable']);

    await relay.open();
    // Without a request: the probe of this process notices it.
    await eventually(
      () => dependencyUp(plinth, 'store'),
      (up) => up === 1,
    );
    await recovered();
    expect(await readiness(plinth)).toMatchObject({ status: 200, body: { status: 'up' } });
    expect(changesOf(plinth, 'store')).toEqual(['unavailable', 'recovered']);
  });

  it('is told to a client of the chat stream in the same words', async () => {
    await relay.cut();
    const { text } = await root.raw('POST', '/chat/send', { content: 'Hello', model: 'none' });
    expect(JSON.parse(text)).toEqual(UNAVAILABLE);
  });

  it('without a word is given up by every connection, and the next ones work', async () => {
    // All of them are open and idle.
    await Promise.all(Array.from({ length: 4 * POOL_SIZE }, list));
    relay.silence();
    const probes = Promise.all(Array.from({ length: 4 * POOL_SIZE }, () => readiness(plinth)));
    const answers = await Promise.all(Array.from({ length: 4 * POOL_SIZE }, list));

    expect(new Set(answers.map(({ code }) => code))).not.toContain(500);
    expect(answers.map(({ code }) => code)).toContain(503);
    await probes;
    await recovered();
    await eventually(
      () => readiness(plinth),
      ({ status }) => status === 200,
    );
    // With all connections at once.
    await eventually(
      () => Promise.all(Array.from({ length: 4 * POOL_SIZE }, list)),
      (after) => after.every(({ code }) => code === 200),
    );
  });

  it('for a while and for new connections, too, is found again by itself', async () => {
    relay.silence({ silent: true });
    await eventually(
      () => readiness(plinth),
      ({ status }) => status === 503,
    );
    expect(await list()).toEqual(UNAVAILABLE);
    relay.speak();
    await eventually(
      () => dependencyUp(plinth, 'store'),
      (up) => up === 1,
    );
    await recovered();
  });

  it('by freezing is answered in seconds, and used again by the same process, also while it is slow', async () => {
    const simulator = await startSimulator();
    try {
      await createProvider(root, 'custom_api');
      const model = { modelName: 'sim-embed-64', category: 'vector', modelDimension: 64 };
      await createModel(root, { ...model, apiHost: `${simulator.url}/v1`, apiKey: 'key' });
      const base = { name: 'Frozen', embeddingModel: model.modelName };
      const knowledgeId = await createKnowledge(root, base);
      await upload(root, knowledgeId, [['early.txt', 'Uploaded before the database froze.']]);

      relay.freeze();
      expect(await Promise.all([list(), list(), upload(root, knowledgeId, LATE)])).toEqual(
        Array.from({ length: 3 }, () => UNAVAILABLE),
      );
      expect(await readiness(plinth)).toMatchObject({
        ...{ status: 503, body: { status: 'down', checks: { store: { status: 'down' } } } },
      });
      relay.thaw();
      await recovered();
      await eventually(
        () => readiness(plinth),
        ({ status }) => status === 200,
      );
      await eventually(
        () => upload(root, knowledgeId, LATE),
        ({ code }) => code === 200,
      );
      const rows = await settled(root, knowledgeId);
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => PARSED));

      await relay.cut();
      relay.slow(50);
      await relay.open();
      await recovered();
      const changes = changesOf(plinth, 'store');
      expect(await list()).toMatchObject({ code: 200 });
      expect(changesOf(plinth, 'store')).toEqual(changes);
      relay.slow(0);
    } finally {
      await simulator.close();
    }
  }, 150_000);

  it('in the middle of a transaction fails it as an outage and frees its connection', async () => {
    const database = plinth.app.get(Database);
    const failures: unknown[] = [];
    const outages = [
      { begin: () => relay.silence(), end: () => undefined },
      { begin: () => relay.cut(), end: () => relay.open() },
    ];
    for (const { begin, end } of outages) {
      const broken = database.transaction(async () => {
        await database.query('SELECT 1');
        await begin();
        await database.query('SELECT 2').catch((error: unknown) => failures.push(error));
        // Work that goes on in it learns the same.
        await database.prepared('SELECT 3', []);
      });
      failures.push(await broken.catch((error: unknown) => error));
      await end();
      await recovered();
    }

    expect(failures.map((error) => [isOutage(error), isConnectionFailure(error)])).toEqual(
      failures.map(() => [true, true]),
    );
    expect(failures).toHaveLength(4);
    await eventually(
      () => database.poolUse(),
      ({ total, idle, waiting }) => total === idle && waiting === 0,
    );
  });

  it('is away while it is read-only, and used again once it takes writes', async () => {
    const database = plinth.app.get(Database);
    let written = 0;
    const write = () => {
      const dictType = `colours_${written++}`;
      return root.post('/system/dict/type', { dictName: 'Colours', dictType });
    };
    const ready = () => readiness(plinth);
    const name = new URL(store.databaseUrl ?? '').pathname.slice(1);
    const server = await createDataSource({ url: store.databaseUrl, poolSize: 1 }).initialize();

    await server.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    let taken = 0;
    const connection = (): Promise<void> =>
      database.transaction(async () => {
        await database.query('SET default_transaction_read_only = on');
        taken += 1;
        await eventually(
          () => taken,
          (count) => count === POOL_SIZE,
        );
      });
    await Promise.all(Array.from({ length: POOL_SIZE }, connection));
    expect([await write(), await write()]).toEqual([UNAVAILABLE, UNAVAILABLE]);
    await eventually(ready, ({ status }) => status === 503);

    await server.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await server.destroy();
    await eventually(write, ({ code }) => code === 200);
    await eventually(ready, ({ status }) => status === 200);
    expect(changesOf(plinth, 'store').at(0)).toBe('unavailable');
    expect(changesOf(plinth, 'store').at(-1)).toBe('recovered');
  });

  it('has longer for statements that are known to be long', async () => {
    const database = plinth.app.get(Database);
    const sleep = (seconds: number) => database.query('SELECT pg_sleep($1)', [seconds]);
    expect(isOutage(await sleep(60).catch((error: unknown) => error))).toBe(true);
    await recovered();
    expect(await database.longTransaction(() => sleep(LIMIT_SECONDS + 1))).toHaveLength(1);
  });
});
