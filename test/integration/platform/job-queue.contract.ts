import { setImmediate as turn } from 'node:timers/promises';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { JobHandler, JobQueue, QueuedJob } from '../../../src/platform/queue/index.js';
import { eventually } from '../../support/wait.js';

export interface OpenOptions {
  readonly role?: 'all' | 'api';
  /** How many jobs of a kind the process runs at once; default 1. */
  readonly concurrency?: number;
}

/** A queue as one process has it. */
export interface OpenQueue {
  readonly queue: JobQueue;
  /** Ends what the process has of the queue, as its shutdown does. */
  close(): Promise<void>;
}

export interface QueueSubject {
  /** All of one test share what processes share. */
  open(options?: OpenOptions): Promise<OpenQueue>;
}

/** The kinds of jobs in these tests. */
export const KINDS = ['parse', 'other', 'clear'];

/** A handler whose jobs run until they are let go or aborted. */
class Held {
  readonly started: string[] = [];
  readonly aborted: string[] = [];
  private readonly releases: (() => void)[] = [];

  readonly handler: JobHandler = async ({ id }, signal) => {
    this.started.push(id);
    await new Promise<void>((resolve) => {
      this.releases.push(resolve);
      signal.addEventListener('abort', () => {
        this.aborted.push(id);
        resolve();
      });
    });
  };

  releaseAll(): void {
    for (const release of this.releases.splice(0)) release();
  }
}

export function job(id: string, data: QueuedJob['data'] = {}): QueuedJob {
  return { id, data };
}

/** What JobQueue promises, to every implementation. `subject` is asked before each test. */
export function describeJobQueue(name: string, subject: () => Promise<QueueSubject>): void {
  describe(`a queue ${name}`, () => {
    const opened: OpenQueue[] = [];

    async function open(concurrency = 1): Promise<JobQueue> {
      return openIn(await subject(), { concurrency });
    }

    async function openIn(shared: QueueSubject, options: OpenOptions): Promise<JobQueue> {
      const process = await shared.open(options);
      opened.push(process);
      return process.queue;
    }

    afterEach(async () => {
      for (const process of opened.splice(0)) await process.close();
    });

    it('hands a job with its data to the handler of its kind, once', async () => {
      const queue = await open();
      const seen: QueuedJob[] = [];
      const elsewhere: QueuedJob[] = [];
      queue.handle('other', async (given) => void elsewhere.push(given));
      queue.handle('parse', async (given) => void seen.push(given));
      await queue.add('parse', job('7', { tenant: '000000', attempt: 2 }));
      await queue.add('parse', job('8'));
      await eventually(
        () => seen.length,
        (count) => count === 2,
      );
      await eventually(
        () => queue.counts('parse'),
        ({ waiting, active }) => waiting + active === 0,
      );
      expect(seen).toEqual([
        { id: '7', data: { tenant: '000000', attempt: 2 } },
        { id: '8', data: {} },
      ]);
      expect(elsewhere).toEqual([]);
    });

    it('keeps what was added before the handler was there', async () => {
      const queue = await open();
      await queue.add('parse', job('1'));
      expect(await queue.counts('parse')).toEqual({ waiting: 1, active: 0 });
      const seen: string[] = [];
      queue.handle('parse', async ({ id }) => void seen.push(id));
      await eventually(
        () => seen,
        ([id]) => id === '1',
      );
    });

    it('runs as many at once as it is told, and no more', async () => {
      const queue = await open(2);
      const held = new Held();
      queue.handle('parse', held.handler);
      for (const id of ['1', '2', '3', '4', '5']) await queue.add('parse', job(id));
      await eventually(
        () => queue.counts('parse'),
        ({ waiting, active }) => waiting === 3 && active === 2,
      );
      expect(held.started).toEqual(['1', '2']);
      held.releaseAll();
      await eventually(
        () => held.started.length,
        (count) => count === 4,
      );
      expect(await queue.counts('parse')).toEqual({ waiting: 1, active: 2 });
      held.releaseAll();
      await eventually(
        () => held.started.length,
        (count) => count === 5,
      );
    });

    it('does not add what already waits, but adds what runs, once', async () => {
      const queue = await open();
      const held = new Held();
      queue.handle('parse', held.handler);
      await queue.add('parse', job('1'));
      await eventually(
        () => held.started.length,
        (count) => count === 1,
      );
      for (let times = 0; times < 3; times += 1) {
        await queue.add('parse', job('1'));
        await queue.add('parse', job('2'));
      }
      expect(await queue.counts('parse')).toEqual({ waiting: 2, active: 1 });
      for (const count of [2, 3]) {
        held.releaseAll();
        await eventually(
          () => held.started.length,
          (started) => started === count,
        );
      }
      // The second run of 1 is over: it can be added a third time while 2 runs.
      await queue.add('parse', job('1'));
      await queue.add('parse', job('1'));
      expect(await queue.counts('parse')).toEqual({ waiting: 1, active: 1 });
      held.releaseAll();
      await eventually(
        () => held.started,
        (started) => started.join() === '1,1,2,1',
      );
    });

    it('keeps a delayed job back, and runs it at once when it is added without delay', async () => {
      const queue = await open();
      const seen: string[] = [];
      queue.handle('parse', async ({ id }) => void seen.push(id));
      await queue.add('parse', job('late'), { delayMs: 3_600_000 });
      await queue.add('parse', job('soon'), { delayMs: 1_000 });
      await queue.add('parse', job('now'));
      await eventually(
        () => seen,
        (ids) => ids.join() === 'now,soon',
        15_000,
      );
      expect(await queue.counts('parse')).toEqual({ waiting: 1, active: 0 });
      await queue.add('parse', job('late'), { delayMs: 3_600_000 });
      expect(await queue.counts('parse')).toEqual({ waiting: 1, active: 0 });
      await queue.add('parse', job('late'));
      await eventually(
        () => seen,
        (ids) => ids.join() === 'now,soon,late',
        15_000,
      );
    });

    it('does not repeat a job that failed, and goes on with the next', async () => {
      const queue = await open();
      const seen: string[] = [];
      queue.handle('parse', async ({ id }) => {
        seen.push(id);
        if (id === 'bad') throw new Error('this document cannot be parsed');
      });
      await queue.add('parse', job('bad'));
      await queue.add('parse', job('good'));
      await eventually(
        () => queue.counts('parse'),
        ({ waiting, active }) => seen.length >= 2 && waiting + active === 0,
      );
      expect(seen).toEqual(['bad', 'good']);
      await queue.add('parse', job('bad'));
      await eventually(
        () => seen.length,
        (count) => count === 3,
      );
    });

    it('runs handlers outside of whatever their job was added in', async () => {
      const queue = await open();
      const around = new AsyncLocalStorage<string>();
      const seen: (string | undefined)[] = [];
      queue.handle('parse', async () => void seen.push(around.getStore()));
      await around.run('a transaction', () => queue.add('parse', job('1')));
      await around.run('a transaction', () => queue.add('parse', job('2'), { delayMs: 1 }));
      await eventually(
        () => seen.length,
        (count) => count === 2,
        15_000,
      );
      expect(seen).toEqual([undefined, undefined]);
    });

    it('aborts what runs when it stops, waits for its end and takes nothing more', async () => {
      const queue = await open(2);
      const ended: string[] = [];
      const held = new Held();
      queue.handle('parse', async (given, signal) => {
        await held.handler(given, signal);
        await turn();
        ended.push(given.id);
      });
      for (const id of ['1', '2', '3']) await queue.add('parse', job(id));
      await eventually(
        () => held.started.length,
        (count) => count === 2,
      );
      await queue.stop();
      expect([held.aborted, ended]).toEqual([
        ['1', '2'],
        ['1', '2'],
      ]);
      await expect(queue.add('parse', job('4'))).resolves.toBeUndefined();
      expect(held.started).toEqual(['1', '2']);
    });

    it('stops within the grace even if a handler does not listen', async () => {
      const queue = await open();
      let release = (): void => undefined;
      let started = false;
      queue.handle('parse', async () => {
        started = true;
        await new Promise<void>((resolve) => (release = resolve));
      });
      await queue.add('parse', job('1'));
      await eventually(
        () => started,
        (yes) => yes,
      );
      await queue.stop();
      for (const process of opened.splice(0)) await process.close();
      release();
    });

    it('runs nothing in a process that only answers requests', async () => {
      const shared = await subject();
      const api = await openIn(shared, { role: 'api' });
      const seen: string[] = [];
      api.handle('parse', async ({ id }) => void seen.push(`api ${id}`));
      await api.add('parse', job('1'));
      const worker = await openIn(shared, {});
      worker.handle('parse', async ({ id }) => void seen.push(`worker ${id}`));
      await worker.add('parse', job('1'));
      await eventually(
        () => seen.length,
        (count) => count > 0,
      );
      // Added again while it runs, it runs once more.
      expect([...new Set(seen)]).toEqual(['worker 1']);
    });
  });
}
