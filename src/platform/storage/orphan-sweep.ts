import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { withLongStatements } from '../database/index.js';
import { IntervalJob } from '../queue/index.js';
import { FileKeys } from './file-key.js';
import { FileStorage } from './file-storage.js';
import { StorageRepository } from './storage.repository.js';

const HOUR_MS = 60 * 60_000;

/** Keys looked up in one statement. */
const BATCH = 500;

/**
 * Removes files without a record, which remain when a process dies between writing a file and inserting its record, or
 * between deleting a record and removing its file. An hour is longer than any upload takes.
 */
@Injectable()
export class OrphanSweep implements OnModuleInit, BeforeApplicationShutdown {
  private readonly logger = new Logger(OrphanSweep.name);
  private rounds: IntervalJob | undefined;

  constructor(
    private readonly files: FileStorage,
    private readonly keys: FileKeys,
    private readonly repository: StorageRepository,
  ) {}

  onModuleInit(): void {
    this.rounds = new IntervalJob(HOUR_MS, (ending) => this.sweepAndLog(ending));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** One round; returns the number of removed files. */
  async sweep(ending?: AbortSignal): Promise<number> {
    const before = new Date(Date.now() - HOUR_MS);
    let removed = await this.files.removeUnfinished(before);
    let batch: string[] = [];
    for await (const key of this.files.list(await this.keys.prefix(), before)) {
      if (ending?.aborted) return removed;
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

  private async sweepAndLog(ending: AbortSignal): Promise<void> {
    try {
      const removed = await withLongStatements(() => this.sweep(ending));
      if (removed > 0) this.logger.log({ msg: 'Removed files without a record', removed });
    } catch (error) {
      // The next round retries.
      this.logger.warn({ msg: 'Failed to remove files without a record', err: error });
    }
  }
}
