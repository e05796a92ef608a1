import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { FileKeys } from './file-key.js';
import { FileStorage } from './file-storage.js';
import { StorageRepository } from './storage.repository.js';

const HOUR_MS = 60 * 60_000;

/** Keys looked up in one statement. */
const BATCH = 500;

/**
 * Removes files without a record: what is left when a process dies between writing a file and recording it, or between
 * deleting a record and removing its file. An hour is longer than any upload takes.
 */
@Injectable()
export class OrphanSweep implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(OrphanSweep.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private stopping = false;

  constructor(
    private readonly files: FileStorage,
    private readonly keys: FileKeys,
    private readonly repository: StorageRepository,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => {
      this.running = this.running.then(() => this.sweepAndLog());
    }, HOUR_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    clearInterval(this.timer);
    await this.running;
  }

  /** One round; answers how many files it removed. */
  async sweep(now = new Date()): Promise<number> {
    const before = new Date(now.getTime() - HOUR_MS);
    let removed = await this.files.removeUnfinished(before);
    let batch: string[] = [];
    for await (const key of this.files.list(await this.keys.prefix(), before)) {
      if (this.stopping) return removed;
      batch.push(key);
      if (batch.length < BATCH) continue;
      removed += await this.removeUnknown(batch);
      batch = [];
    }
    return removed + (await this.removeUnknown(batch));
  }

  private async removeUnknown(keys: readonly string[]): Promise<number> {
    if (keys.length === 0) return 0;
    const known = await this.repository.knownKeys(keys);
    const unknown = keys.filter((key) => !known.has(key));
    for (const key of unknown) await this.files.remove(key);
    return unknown.length;
  }

  private async sweepAndLog(): Promise<void> {
    try {
      const removed = await this.sweep();
      if (removed > 0) this.logger.log({ msg: 'Files without a record were removed', removed });
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Files without a record could not be removed', err: error });
    }
  }
}
