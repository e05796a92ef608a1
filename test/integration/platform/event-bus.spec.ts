import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Dependency } from '../../../src/platform/dependency/index.js';
import type { EventBus } from '../../../src/platform/event/event-bus.js';
import { InProcessEventBus } from '../../../src/platform/event/event-bus.js';
import { RateLimiter } from '../../../src/platform/event/rate-limiter.js';
import { RedisEventBus } from '../../../src/platform/event/redis/redis.event-bus.js';
import { SharedRedis } from '../../../src/platform/redis/index.js';
import { msg } from '../../../src/platform/message/index.js';
import { UpstreamError } from '../../../src/provider/index.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { TestHealth } from '../../support/upstream-calls.js';
import { eventually } from '../../support/wait.js';

const redisUrl = process.env['REDIS_URL'];

interface Kind {
  readonly name: string;
  /** Two ends of one bus, as two processes would have them; the same one where there is but one process. */
  open(): Promise<{ here: EventBus; there: EventBus; redis: SharedRedis }>;
}

const inProcess: Kind = {
  name: 'in process',
  open: () => {
    const bus = new InProcessEventBus();
    const redis = new SharedRedis(undefined, new Dependency('queue'));
    return Promise.resolve({ here: bus, there: bus, redis });
  },
};

const overRedis: Kind = {
  name: 'over Redis',
  open: async () => {
    const redis = sharedRedis(redisUrl ?? '');
    const [here, there] = await Promise.all([busOver(redis), busOver(redis)]);
    return { here, there, redis };
  },
};

function sharedRedis(url: string): SharedRedis {
  const redis = new Redis(url, { maxRetriesPerRequest: 1, commandTimeout: 3_000 });
  return new SharedRedis(redis, new Dependency('queue'));
}

async function busOver(redis: SharedRedis): Promise<EventBus> {
  const receiver = redis.openReceiver();
  if (!receiver) throw new Error('There is no Redis.');
  const bus = new RedisEventBus(redis, receiver);
  await bus.start();
  return bus;
}

describe.each(redisUrl ? [inProcess, overRedis] : [inProcess])('events $name', (kind) => {
  let close: (() => Promise<void>) | undefined;
  afterEach(async () => close?.());

  async function open(): ReturnType<Kind['open']> {
    const ends = await kind.open();
    close = async () => {
      await ends.here.close();
      await ends.there.close();
      ends.redis.close();
    };
    return ends;
  }

  it('reach every listener of their name, on every end, until it unsubscribes', async () => {
    const { here, there } = await open();
    const heard: string[] = [];
    const stop = there.subscribe('chat.stop', ({ tenantId, sessionId }) => {
      heard.push(`there ${tenantId} ${sessionId}`);
    });
    here.subscribe('chat.stop', ({ sessionId }) => heard.push(`here ${sessionId}`));
    here.subscribe('access.changed', () => heard.push('not this'));

    await here.publish('chat.stop', { tenantId: '000000', sessionId: 7 });
    await eventually(
      () => heard.length,
      (count) => count === 2,
    );
    expect(heard.sort()).toEqual(['here 7', 'there 000000 7']);

    stop();
    await here.publish('chat.stop', { tenantId: '000000', sessionId: 8 });
    await eventually(
      () => heard.length,
      (count) => count === 3,
    );
    expect(heard).toContain('here 8');
    expect(heard).not.toContain('there 000000 8');
  });

  it('tell other processes which keys and addresses of models cool down', async () => {
    const { here, there } = await open();
    const [ours, theirs] = [new TestHealth(here), new TestHealth(there)];
    const model = { tenantId: '000000', id: 1, connection: { address: randomUUID() } } as never;
    const other = { tenantId: '000000', id: 2, connection: { address: randomUUID() } } as never;
    const failure = (kind: 'rate-limit' | 'connection', retryAfterMs?: number): UpstreamError =>
      new UpstreamError({ kind, message: msg`No.`, ...(retryAfterMs && { retryAfterMs }) });
    ours.failed(model, failure('rate-limit', 60_000));
    for (let at = 0; at < 5; at++) ours.failed(other, failure('connection'));
    await eventually(
      () => [model, other].map((one) => theirs.isAvailable(one)),
      (available) => !available.includes(true),
    );
    expect(theirs.cooldownsOf([model, other])).toMatchObject([
      { reason: 'busy', milliseconds: 60_000 },
      { reason: 'failing', milliseconds: 30_000 },
    ]);
    ours.succeeded(other);
    await eventually(
      () => theirs.isAvailable(other),
      (isAvailable) => isAvailable,
    );
    expect(theirs.isAvailable(model)).toBe(false);
  });

  it('limit a key and no other, and give its points back', async () => {
    const { redis } = await open();
    const limiter = new RateLimiter(redis);
    const limit = { name: `test-${process.pid}-${Date.now()}`, points: 2, seconds: 60 };
    await limiter.consume(limit, 'a');
    await limiter.check(limit, 'a');
    await limiter.consume(limit, 'a');
    await expect(limiter.check(limit, 'a')).rejects.toThrow(/Try again in \d+ seconds/);
    await expect(limiter.consume(limit, 'a')).rejects.toThrow(/Too many requests/);
    await limiter.consume(limit, 'b');
    await limiter.reset(limit, 'a');
    await limiter.consume(limit, 'a');
  });
});

(redisUrl ? describe : describe.skip)('while Redis is away', () => {
  let relay: TcpRelay;
  let redis: SharedRedis;
  let dependency: Dependency;
  let raw: Redis;
  let bus: EventBus;

  beforeEach(async () => {
    relay = new TcpRelay(new URL(redisUrl ?? ''));
    raw = new Redis(await relay.open(), { maxRetriesPerRequest: 1, commandTimeout: 3_000 });
    dependency = new Dependency('queue');
    redis = new SharedRedis(raw, dependency);
    bus = await busOver(redis);
  });

  afterEach(async () => {
    await bus.close();
    redis.close();
    await relay.cut();
  });

  const until = (up: boolean) =>
    eventually(
      () => dependency.isUp,
      (isUp) => isUp === up,
    );

  it('nothing is sent to it: what the process does otherwise is done at once', async () => {
    await relay.cut();
    await until(false);
    let sent = 0;
    const answers = Array.from({ length: 100 }, () =>
      redis.run(
        async () => `${(sent += 1)}`,
        () => 'own',
      ),
    );
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['own']));
    expect(sent).toBe(0);
  });

  it('what was sent before fails with the first failure, not with its own time limit', async () => {
    const forever = Array.from({ length: 10 }, () =>
      redis.run(
        () => new Promise<string>(() => undefined),
        () => 'own',
      ),
    );
    await relay.cut();
    expect(await Promise.all(forever)).toEqual(forever.map(() => 'own'));
  });

  it('events reach this process, and it learns when those of others may have been lost', async () => {
    const heard: number[] = [];
    let resumed = 0;
    bus.subscribe('chat.stop', ({ sessionId }) => heard.push(sessionId));
    const stop = bus.onResumed(() => (resumed += 1));
    await relay.cut();
    await until(false);
    await bus.publish('chat.stop', { tenantId: '000000', sessionId: 1 });
    expect([heard, resumed]).toEqual([[1], 0]);

    await relay.open();
    await until(true);
    expect(resumed).toBe(1);
    stop();
    await eventually(
      async () => {
        await raw.publish('event:chat.stop', JSON.stringify({ tenantId: '000000', sessionId: 2 }));
        return heard.includes(2);
      },
      (isHeard) => isHeard,
    );
  });

  it('counts go on from those of all processes, and are added to them when it is back', async () => {
    const limit = { name: `outage-${process.pid}-${Date.now()}`, points: 5, seconds: 60 };
    const here = new RateLimiter(redis);
    const other = sharedRedis(redisUrl ?? '');
    const there = new RateLimiter(other);
    await there.consume(limit, 'a');
    await there.consume(limit, 'a');
    await here.consume(limit, 'a');
    await here.consume(limit, 'given back');

    await relay.cut();
    await until(false);
    await here.consume(limit, 'a');
    await here.consume(limit, 'a');
    await expect(here.check(limit, 'a')).rejects.toThrow('Too many requests');
    await here.reset(limit, 'given back');
    await there.check(limit, 'a');

    await relay.open();
    await until(true);
    await expect(here.check(limit, 'a')).rejects.toThrow('Too many requests');
    await expect(there.check(limit, 'a')).rejects.toThrow('Too many requests');
    for (let points = 0; points < 5; points += 1) await there.consume(limit, 'given back');
    other.close();
  });
});
