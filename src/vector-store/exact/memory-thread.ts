import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { Piscina } from 'piscina';
import type { VectorHit } from '../vector-store.js';
import type {
  ForgetTask,
  MissingTask,
  SearchAnswer,
  SearchTask,
  UpdateTask,
} from './vector-memory.js';

const WORKER = fileURLToPath(new URL('./vector-memory.worker.js', import.meta.url));

/**
 * The one thread that keeps vectors in memory and searches them, one task at a time. It starts with the first search.
 * If it fails, the next search starts a new one with an empty memory.
 */
export class MemoryThread {
  private readonly logger = new Logger(MemoryThread.name);
  private pool: Piscina | undefined;

  search(task: SearchTask): Promise<SearchAnswer | undefined> {
    return this.run('search', task) as Promise<SearchAnswer | undefined>;
  }

  missing(task: MissingTask): Promise<number[]> {
    return this.run('missing', task) as Promise<number[]>;
  }

  /** Transfers the added vectors to the thread: they are unusable here afterwards. */
  update(task: UpdateTask): Promise<VectorHit[] | undefined> {
    return this.run('update', task, [task.added.vectors.buffer as ArrayBuffer]) as Promise<
      VectorHit[] | undefined
    >;
  }

  async forget(task: ForgetTask): Promise<void> {
    if (this.pool) await this.run('forget', task);
  }

  async stop(): Promise<void> {
    await this.pool?.destroy();
  }

  private run(name: string, task: object, transferList: ArrayBuffer[] = []): Promise<unknown> {
    this.pool ??= this.start();
    return this.pool.run(task, { name, transferList });
  }

  private start(): Piscina {
    const pool = new Piscina({
      filename: WORKER,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Infinity,
    });
    // A failure between tasks; during a task the task is rejected.
    return pool.on('error', (error: unknown) => {
      this.logger.error({ msg: 'Vector search thread failed', err: error });
    });
  }
}

/** Runs one piece of work per key at a time, in the order of the calls. */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key)?.catch(() => undefined);
    const mine = before ? before.then(work) : work();
    this.last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.last.get(key) === mine) this.last.delete(key);
    }
  }
}
