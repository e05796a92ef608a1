import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { EventBus, RateLimiter } from '../../../src/platform/event/index.js';
import { createKnowledge, PARSED, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { errorsSince, changesOf, dependencyUp, readiness } from '../../support/outages.js';
import { ownStore } from '../../support/own-store.js';
import type { OwnStore } from '../../support/own-store.js';
import { makeUser, PASSWORD } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { embeddedTemplate, WEB_CLIENT } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const MODEL = 'sim-embed-64';

const redisUrl = process.env['REDIS_URL'];
const overRedis = redisUrl ? describe : describe.skip;

const WRONG = 'The user name or the password is wrong.';
const LOCKED = 'Too many wrong passwords or codes for this user. Wait 600 seconds, then try again.';

overRedis('Redis that goes away', () => {
  let store: OwnStore;
  let relay: TcpRelay;
  let plinth: Plinth;
  let root: Session;

  // Making the template starts a silent service, which would take the log of this one.
  beforeAll(async () => {
    await embeddedTemplate();
  });

  beforeEach(async () => {
    store = await ownStore();
    relay = new TcpRelay(new URL(redisUrl ?? ''));
    const environment = { ...store.environment, REDIS_URL: await relay.open() };
    plinth = await Plinth.start({
      ...environment,
      CAPTCHA: 'off',
      LOGIN_ATTEMPTS_PER_MINUTE: '100',
    });
    root = await plinth.signIn();
  });

  afterEach(async () => {
    // First: a stop waits some seconds for a Redis that has gone silent.
    await relay.cut();
    await plinth.stop();
    await store.drop();
  });

  const login = async (username: string, password: string): Promise<string> => {
    const body = {
      tenantId: '000000',
      username,
      password,
      clientId: WEB_CLIENT,
      grantType: 'password',
    };
    const { code, msg } = await plinth.anonymous().post('/auth/login', body);
    return code === 200 ? 'in' : msg;
  };
  const isDown = () =>
    eventually(
      () => dependencyUp(plinth, 'queue'),
      (up) => up === 0,
    );
  const isUp = () =>
    eventually(
      () => dependencyUp(plinth, 'queue'),
      (up) => up === 1,
    );

  it('leaves the process in service, says so once, and is used again when it is back', async () => {
    const position = plinth.log.length;
    await relay.cut();
    await isDown();
    expect(await readiness(plinth)).toMatchObject({
      status: 200,
      body: {
        status: 'degraded',
        checks: { store: { status: 'up' }, queue: { status: 'degraded', kind: 'redis' } },
      },
    });
    expect(await plinth.signIn()).toBeDefined();
    expect(await root.get('/system/permission/list')).toMatchObject({ code: 200 });
    expect(errorsSince(plinth, position)).toEqual([]);
    expect(changesOf(plinth, 'queue')).toEqual(['unavailable']);

    await relay.open();
    await isUp();
    expect(await readiness(plinth)).toMatchObject({ status: 200, body: { status: 'up' } });
    expect(changesOf(plinth, 'queue')).toEqual(['unavailable', 'recovered']);
  });

  it('without a word is found out, and new connections replace the silent ones', async () => {
    const bus = plinth.app.get(EventBus);
    const heard: number[] = [];
    bus.subscribe('chat.stop', ({ sessionId }) => heard.push(sessionId));
    relay.silence();
    await isDown();
    await isUp();
    await eventually(
      async () => {
        await bus.publish('chat.stop', { tenantId: '000000', sessionId: 7 });
        return heard.length;
      },
      (count) => count > 0,
    );
    expect(await plinth.signIn()).toBeDefined();
  });

  it('does not give new attempts to one who guesses passwords, while it is away or afterwards', async () => {
    await makeUser(plinth, root, 'victim');
    // Counted in Redis, and seen by this process.
    expect(await login('victim', 'guess-1')).toBe(WRONG);
    expect(await login('victim', 'guess-2')).toBe(WRONG);
    await relay.cut();
    await isDown();
    expect(await login('victim', 'guess-3')).toBe(WRONG);
    expect(await login('victim', 'guess-4')).toBe(WRONG);
    expect(await login('victim', 'guess-5')).toBe(WRONG);
    expect(await login('victim', PASSWORD)).toBe(LOCKED);

    await relay.open();
    await isUp();
    expect(await login('victim', PASSWORD)).toBe(LOCKED);
  });

  it('loses no document: one that is uploaded while it is away or frozen is parsed meanwhile', async () => {
    const simulator = await startSimulator();
    try {
      await createProvider(root, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
      await createModel(root, { ...model, modelName: MODEL });
      const id = await createKnowledge(root, { name: 'Outage', embeddingModel: MODEL });
      await relay.cut();
      await isDown();
      await upload(root, id, [['meanwhile.txt', 'Uploaded while Redis was away.']]);
      expect(await settled(root, id)).toMatchObject([{ name: 'meanwhile.txt', status: PARSED }]);
      expect(await dependencyUp(plinth, 'queue')).toBe(0);

      await relay.open();
      await isUp();
      relay.freeze();
      await isDown();
      expect(await readiness(plinth)).toMatchObject({
        ...{ status: 200, body: { checks: { queue: { status: 'degraded', kind: 'redis' } } } },
      });
      await upload(root, id, [['frozen.txt', 'Uploaded while Redis was frozen.']]);
      expect((await settled(root, id)).map(({ status }) => status)).toEqual([PARSED, PARSED]);
      expect(await dependencyUp(plinth, 'queue')).toBe(0);

      relay.thaw();
      await isUp();
      await upload(root, id, [['thawed.txt', 'Uploaded after the thaw.']]);
      expect((await settled(root, id)).map(({ status }) => status)).toEqual(
        Array.from({ length: 3 }, () => PARSED),
      );
      expect(errorsSince(plinth, 0)).toEqual([]);
    } finally {
      await simulator.close();
    }
  }, 180_000);

  it('makes no call wait for it, and limits hold', async () => {
    const limiter = plinth.app.get(RateLimiter);
    const limit = { name: 'outage', points: 3, seconds: 600 };
    await limiter.consume(limit, 'key');
    relay.silence({ silent: true });
    await isDown();
    await limiter.consume(limit, 'key');
    await limiter.consume(limit, 'key');
    await expect(limiter.consume(limit, 'key')).rejects.toThrow('Too many requests');
    await expect(limiter.check(limit, 'key')).rejects.toThrow('Too many requests');
    await limiter.reset(limit, 'key');
    await limiter.check(limit, 'key');
    relay.speak();
    await isUp();
  });
});

overRedis('a start while Redis is away', () => {
  let store: OwnStore;
  let relay: TcpRelay;
  let plinth: Plinth;
  let simulator: Simulator;

  beforeAll(async () => {
    await embeddedTemplate();
    simulator = await startSimulator();
  });

  afterAll(() => simulator.close());

  beforeEach(async () => {
    store = await ownStore();
    relay = new TcpRelay(new URL(redisUrl ?? ''));
  });

  afterEach(async () => {
    await plinth.stop();
    await relay.cut();
    await store.drop();
  });

  it.each([
    ['refuses connections', true],
    ['does not answer', false],
  ])(
    'that %s succeeds, and Redis is used when it is back',
    async (_, isCut) => {
      const REDIS_URL = await relay.open();
      if (isCut) await relay.cut();
      else relay.silence({ silent: true });
      plinth = await Plinth.start({ ...store.environment, REDIS_URL });
      const bus = plinth.app.get(EventBus);
      const heard: number[] = [];
      bus.subscribe('chat.stop', ({ sessionId }) => heard.push(sessionId));
      expect(await readiness(plinth)).toMatchObject({
        status: 200,
        body: { status: 'degraded', checks: { queue: { status: 'degraded', kind: 'redis' } } },
      });
      const root = await plinth.signIn();
      await createProvider(root, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
      await createModel(root, { ...model, modelName: MODEL });
      const id = await createKnowledge(root, { name: 'Start', embeddingModel: MODEL });
      await upload(root, id, [['away.txt', 'Uploaded while Redis was away.']]);
      expect(await settled(root, id)).toMatchObject([{ status: PARSED }]);
      await bus.publish('chat.stop', { tenantId: '000000', sessionId: 1 });
      expect(heard).toEqual([1]);

      relay.speak();
      if (isCut) await relay.open();
      await eventually(
        () => dependencyUp(plinth, 'queue'),
        (up) => up === 1,
      );
      // Published by another process, and enqueued in Redis.
      const DATA_DIR = plinth.dataDir;
      const other = await Plinth.start({ ...store.environment, REDIS_URL, DATA_DIR });
      try {
        await eventually(
          async () => {
            await other.app
              .get(EventBus)
              .publish('chat.stop', { tenantId: '000000', sessionId: 2 });
            return heard.includes(2);
          },
          (isHeard) => isHeard,
        );
      } finally {
        await other.stop();
      }
      await upload(root, id, [['back.txt', 'Uploaded when Redis was back.']]);
      expect((await settled(root, id)).map(({ status }) => status)).toEqual([PARSED, PARSED]);
      expect(changesOf(plinth, 'queue')).toEqual(['unavailable', 'recovered']);
      expect(errorsSince(plinth, 0)).toEqual([]);
    },
    180_000,
  );
});
