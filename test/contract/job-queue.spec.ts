import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { JobQueue } from '../../src/platform/queue/index.js';
import { BullJobQueue } from '../../src/platform/queue/bull/bull.job-queue.js';
import { InProcessJobQueue } from '../../src/platform/queue/in-process/in-process.job-queue.js';
import { TcpRelay } from '../support/tcp-relay.js';
import { eventually } from '../support/wait.js';
import { describeJobQueue, job } from './job-queue.contract.js';

const redisUrl = process.env['REDIS_URL'];

/** What would keep the process alive, the sockets aside. */
const timers = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

/** Queues do not meet unless they have the same prefix. */
const newPrefix = (): string => `test-${randomBytes(6).toString('hex')}`;

function bullQueue(prefix: string, url: string, role: 'all' | 'api' = 'all'): BullJobQueue {
  return new BullJobQueue({
    ROLE: role,
    REDIS_PREFIX: prefix,
    REDIS_URL: url,
    SHUTDOWN_GRACE_SECONDS: 1,
  });
}

describeJobQueue('in process', async () => ({
  open: ({ role = 'all' } = {}) => new InProcessJobQueue({ ROLE: role, SHUTDOWN_GRACE_SECONDS: 1 }),
}));

if (redisUrl !== undefined) {
  describeJobQueue('over Redis', async () => {
    const prefix = newPrefix();
    return { open: ({ role } = {}) => bullQueue(prefix, redisUrl, role) };
  });

  describe('queues over Redis', () => {
    const queues: JobQueue[] = [];
    const relays: TcpRelay[] = [];

    afterEach(async () => {
      for (const queue of queues.splice(0)) {
        await queue.stop();
        await queue.close();
      }
      for (const relay of relays.splice(0)) await relay.cut();
    });

    function open(prefix: string, url: string = redisUrl ?? ''): JobQueue {
      const queue = bullQueue(prefix, url);
      queues.push(queue);
      return queue;
    }

    it('of two processes run a job once, whichever has it', async () => {
      const prefix = newPrefix();
      const seen: string[] = [];
      const [here, there] = [open(prefix), open(prefix)];
      for (const queue of [here, there]) {
        queue.handle('parse', { concurrency: 2 }, async ({ id }) => void seen.push(id));
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
      const [here, there] = [open(prefix), open(prefix)];
      await Promise.all([here, there, here, there].map((queue) => queue.add('parse', job('1'))));
      await there.add('parse', job('1'), { delayMs: 3_600_000 });
      expect(await here.counts('parse')).toEqual({ waiting: 1, active: 0 });
    });

    it('leave a job that waits to the other process when one stops', async () => {
      const prefix = newPrefix();
      const here = open(prefix);
      const seen: string[] = [];
      here.handle('parse', { concurrency: 1 }, (given, signal) => {
        seen.push(`here ${given.id}`);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      });
      for (const id of ['1', '2', '3']) await here.add('parse', job(id));
      await eventually(
        () => seen.length,
        (count) => count === 1,
      );
      await here.stop();
      const there = open(prefix);
      there.handle('parse', { concurrency: 1 }, async ({ id }) => void seen.push(`there ${id}`));
      await eventually(
        () => seen,
        (runs) => runs.length === 3,
      );
      expect(seen).toEqual(['here 1', 'there 2', 'there 3']);
    });

    it('survive an outage: adding never throws, and handlers go on afterwards', async () => {
      const relay = new TcpRelay(new URL(redisUrl));
      relays.push(relay);
      const queue = open(newPrefix(), await relay.open());
      const seen: string[] = [];
      queue.handle('parse', { concurrency: 1 }, async ({ id }) => void seen.push(id));
      await queue.add('parse', job('before'));
      await eventually(
        () => seen.length,
        (count) => count === 1,
      );
      await relay.cut();
      await expect(queue.add('parse', job('meanwhile'))).resolves.toBeUndefined();
      await expect(queue.counts('parse')).rejects.toThrow();
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

    it('stop and close at any moment after they began', async () => {
      for (let round = 0; round < 60; round += 1) {
        const queue = bullQueue(newPrefix(), redisUrl);
        for (const kind of ['parse', 'run', 'clear']) {
          queue.handle(kind, { concurrency: 2 }, async () => undefined);
        }
        await sleep(round);
        await queue.stop();
        await queue.close();
      }
    });

    it('stop and close while Redis is away', async () => {
      const relay = new TcpRelay(new URL(redisUrl));
      relays.push(relay);
      const queue = open(newPrefix(), await relay.open());
      const before = timers();
      let aborted = false;
      let started = false;
      queue.handle('parse', { concurrency: 1 }, async (_, signal) => {
        started = true;
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted = true;
      });
      await queue.add('parse', job('1'));
      await eventually(
        () => started,
        (yes) => yes,
      );
      await relay.cut();
      await queue.stop();
      await queue.close();
      expect(aborted).toBe(true);
      // Commands that were under way are given up after their time-out.
      await eventually(timers, (count) => count <= before, 20_000);
    });

    it('leave nothing of a job that has ended, and no connection', async () => {
      const prefix = newPrefix();
      const redis = new Redis(redisUrl);
      const queue = open(prefix);
      let ran = 0;
      queue.handle('parse', { concurrency: 1 }, async () => void (ran += 1));
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
      expect(await connections()).toBe(3);
      await queue.stop();
      await queue.close();
      await eventually(connections, (count) => count === 0);
      redis.disconnect();
    });
  });
}
