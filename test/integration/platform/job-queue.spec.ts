import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigModule, loadConfig } from '../../../src/platform/config/index.js';
import { JobQueue, QueueModule } from '../../../src/platform/queue/index.js';
import { RedisProcess } from '../../support/redis-process.js';
import { SECRET_KEY } from '../../support/template.js';
import { TcpRelay } from '../../support/tcp-relay.js';
import { eventually } from '../../support/wait.js';
import { describeJobQueue, job, KINDS } from './job-queue.contract.js';
import type { OpenOptions, OpenQueue } from './job-queue.contract.js';

const redisUrl = process.env['REDIS_URL'];

/** How long a Redis freezes. */
const FREEZE_MS = 9_000;

/** What would keep the process alive, the sockets aside. */
const timers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

/** Queues do not meet unless they have the same prefix. */
const newPrefix = (): string => `test-${randomBytes(6).toString('hex')}`;

/** The module of the queue as the application has it. */
async function openQueue(
  environment: Record<string, string>,
  { role = 'all', concurrency = 1 }: OpenOptions = {},
): Promise<OpenQueue> {
  // A role needs a database; the queue opens none.
  const common = { SECRET_KEY, SHUTDOWN_GRACE_SECONDS: '1', DATABASE_URL: 'postgres://none' };
  const config = loadConfig({ ...common, ROLE: role, ...environment });
  const kinds = Object.fromEntries(KINDS.map((kind) => [kind, concurrency]));
  const module = await Test.createTestingModule({
    imports: [ConfigModule.for(config), QueueModule.for(config, kinds)],
  }).compile();
  await module.init();
  return { queue: module.get(JobQueue), close: () => module.close() };
}

describeJobQueue('in process', async () => ({
  open: (options) => openQueue({}, options),
}));

if (redisUrl !== undefined) {
  describeJobQueue('over Redis', async () => {
    const environment = { REDIS_URL: redisUrl, REDIS_PREFIX: newPrefix() };
    return { open: (options) => openQueue(environment, options) };
  });

  describe('queues over Redis', () => {
    const opened: OpenQueue[] = [];
    const relays: TcpRelay[] = [];

    afterEach(async () => {
      for (const process of opened.splice(0)) await process.close();
      for (const relay of relays.splice(0)) await relay.cut();
    });

    async function open(
      prefix: string,
      { url = redisUrl ?? '', concurrency = 1 } = {},
    ): Promise<JobQueue> {
      const process = await openQueue({ REDIS_URL: url, REDIS_PREFIX: prefix }, { concurrency });
      opened.push(process);
      return process.queue;
    }

    it('of two processes run a job once, whichever has it', async () => {
      const prefix = newPrefix();
      const seen: string[] = [];
      const here = await open(prefix, { concurrency: 2 });
      const there = await open(prefix, { concurrency: 2 });
      for (const queue of [here, there]) {
        queue.handle('parse', async ({ id }) => void seen.push(id));
      }
      const ids = Array.from({ length: 40 }, (_, number) => String(number + 10));
      await Promise.all(ids.map((id) => here.add('parse', job(id))));
      await eventually(
        () => there.counts('parse'),
        ({ waiting, active }) => waiting + active === 0,
      );
      expect(seen.sort()).toEqual(ids);
    });

    it('of two processes hold what waits once', async () => {
      const prefix = newPrefix();
      const [here, there] = [await open(prefix), await open(prefix)];
      await Promise.all([here, there, here, there].map((queue) => queue.add('parse', job('1'))));
      await there.add('parse', job('1'), { delayMs: 3_600_000 });
      expect(await here.counts('parse')).toEqual({ waiting: 1, active: 0 });
    });

    it('leave a job that waits to the other process when one stops', async () => {
      const prefix = newPrefix();
      const here = await open(prefix);
      const seen: string[] = [];
      here.handle('parse', (given, signal) => {
        seen.push(`here ${given.id}`);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      });
      for (const id of ['1', '2', '3']) await here.add('parse', job(id));
      await eventually(
        () => seen.length,
        (count) => count === 1,
      );
      await here.stop();
      const there = await open(prefix);
      there.handle('parse', async ({ id }) => void seen.push(`there ${id}`));
      await eventually(
        () => seen,
        (runs) => runs.length === 3,
      );
      expect(seen).toEqual(['here 1', 'there 2', 'there 3']);
    });

    it('survive an outage: adding never throws, and handlers go on afterwards', async () => {
      const relay = new TcpRelay(new URL(redisUrl));
      relays.push(relay);
      const queue = await open(newPrefix(), { url: await relay.open() });
      const seen: string[] = [];
      queue.handle('parse', async ({ id }) => void seen.push(id));
      await queue.add('parse', job('before'));
      await eventually(
        () => seen.length,
        (count) => count === 1,
      );
      await relay.cut();
      await expect(queue.add('parse', job('meanwhile'))).resolves.toBeUndefined();
      await expect(queue.counts('parse')).rejects.toThrow();
      // This process runs what it adds itself, as a sweep does with the rows that wait.
      await eventually(
        () => seen.includes('meanwhile'),
        (yes) => yes,
      );
      await relay.open();
      await eventually(
        async () => {
          await queue.add('parse', job('after'));
          return seen.includes('after');
        },
        (yes) => yes,
        20_000,
      );
    });

    it('that go silent are connected again, and handlers go on afterwards', async () => {
      const relay = new TcpRelay(new URL(redisUrl));
      relays.push(relay);
      const prefix = newPrefix();
      const queue = await open(prefix, { url: await relay.open() });
      const seen: string[] = [];
      queue.handle('parse', async ({ id }) => void seen.push(id));
      await queue.add('parse', job('before'));
      await eventually(
        () => seen.length,
        (count) => count === 1,
      );
      relay.silence();
      const other = await open(prefix);
      await other.add('parse', job('from another process'));
      await eventually(
        async () => {
          await queue.add('parse', job('again'));
          return seen.includes('from another process');
        },
        (yes) => yes,
      );
    });

    it('that freeze for some seconds take jobs again when they go on, and close', async () => {
      const redis = await RedisProcess.start();
      try {
        const prefix = newPrefix();
        const queue = await open(prefix, { url: redis.url, concurrency: 2 });
        const seen: string[] = [];
        const held = Promise.withResolvers<undefined>();
        queue.handle('parse', async ({ id }) => {
          seen.push(id);
          if (id === 'before') await held.promise;
        });
        await queue.add('parse', job('before'));
        await eventually(
          () => seen.length,
          (count) => count === 1,
        );
        redis.freeze();
        held.resolve(undefined);
        // Longer than the limit of a command, so that connections are replaced, more than once, by ones that are not
        // answered either. The metrics ask for the counts all the while.
        let number = 0;
        const asking = setInterval(() => {
          void queue.add('parse', job(`meanwhile ${++number}`));
          void queue.counts('parse').catch(() => undefined);
        }, 400);
        try {
          await Promise.all([queue.add('parse', job('meanwhile')), sleep(FREEZE_MS)]);
          await eventually(
            () => seen,
            (ids) => ids.includes('meanwhile'),
          );
        } finally {
          clearInterval(asking);
        }
        redis.thaw();
        const other = await open(prefix, { url: redis.url });
        await eventually(
          async () => {
            await other.add('parse', job('from another process'));
            return seen;
          },
          (ids) => ids.includes('from another process'),
        );
        // The counts have no answer where a connection never comes back.
        await eventually(
          () => queue.counts('parse').catch(() => undefined),
          (counts) => counts !== undefined && counts.waiting + counts.active === 0,
        );
        for (const process of opened.splice(0)) await process.close();
      } finally {
        await redis.stop();
      }
    });

    it('stop and close at any moment after they began', async () => {
      const rounds = Array.from({ length: 60 }, async (_, round) => {
        const { queue, close } = await openQueue({
          REDIS_URL: redisUrl,
          REDIS_PREFIX: newPrefix(),
        });
        for (const kind of KINDS) queue.handle(kind, async () => undefined);
        await sleep(round);
        await close();
      });
      await Promise.all(rounds);
    });

    it.each([
      ['is away', (relay: TcpRelay) => relay.cut()],
      ['is silent', async (relay: TcpRelay) => relay.silence({ silent: true })],
    ])('stop and close while Redis %s', async (_, interrupt) => {
      const relay = new TcpRelay(new URL(redisUrl));
      relays.push(relay);
      const queue = await open(newPrefix(), { url: await relay.open() });
      const before = timers();
      let aborted = false;
      let started = false;
      queue.handle('parse', async (_, signal) => {
        started = true;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted = true;
      });
      await queue.add('parse', job('1'));
      await eventually(
        () => started,
        (yes) => yes,
      );
      await interrupt(relay);
      for (const process of opened.splice(0)) await process.close();
      expect(aborted).toBe(true);
      // Commands that were under way are given up after their time-out.
      await eventually(timers, (count) => count <= before, 20_000);
    });

    it('leave nothing of a job that has ended, and no connection', async () => {
      const prefix = newPrefix();
      const redis = new Redis(redisUrl);
      const queue = await open(prefix);
      let ran = 0;
      queue.handle('parse', async () => void (ran += 1));
      await queue.add('parse', job('1'));
      await eventually(
        () => queue.counts('parse'),
        ({ waiting, active }) => ran === 1 && waiting + active === 0,
      );
      expect((await redis.keys(`${prefix}:*`)).filter((key) => key.includes(':a:'))).toEqual([]);
      const connections = async (): Promise<number> =>
        String(await redis.client('LIST'))
          .split('\n')
          .filter((line) => line.includes(`name=${prefix}:queue`)).length;
      // The third of each queue only receives events, and takes no command that would name it.
      await eventually(connections, (count) => count === 2 * KINDS.length);
      for (const process of opened.splice(0)) await process.close();
      await eventually(connections, (count) => count === 0);
      redis.disconnect();
    });
  });
}
