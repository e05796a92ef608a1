import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { EventBus } from '../../src/platform/event/event-bus.js';
import { InProcessEventBus } from '../../src/platform/event/in-process/in-process.event-bus.js';
import { RateLimiter } from '../../src/platform/event/rate-limiter.js';
import { RedisEventBus } from '../../src/platform/event/redis/redis.event-bus.js';
import { eventually } from '../support/wait.js';

const redisUrl = process.env['REDIS_URL'];

interface Kind {
  readonly name: string;
  /** Two ends of one bus, as two processes would have them; the same one where there is but one process. */
  open(): Promise<{ here: EventBus; there: EventBus; redis: Redis | undefined }>;
}

const inProcess: Kind = {
  name: 'in process',
  open: () => {
    const bus = new InProcessEventBus();
    return Promise.resolve({ here: bus, there: bus, redis: undefined });
  },
};

const overRedis: Kind = {
  name: 'over Redis',
  open: async () => {
    const redis = new Redis(redisUrl ?? '');
    const here = new RedisEventBus(redis);
    const there = new RedisEventBus(redis);
    await Promise.all([here.start(), there.start()]);
    return { here, there, redis };
  },
};

describe.each(redisUrl ? [inProcess, overRedis] : [inProcess])('events $name', (kind) => {
  let close: (() => Promise<void>) | undefined;
  afterEach(async () => close?.());

  async function open(): ReturnType<Kind['open']> {
    const ends = await kind.open();
    close = async () => {
      await ends.here.close();
      await ends.there.close();
      ends.redis?.disconnect();
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
