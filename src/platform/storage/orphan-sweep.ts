import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { PeriodicRound } from '../queue/index.js';
import { FileKeys, FileStorage } from './file-storage.js';
import { Installation } from './installation.js';
import { StorageRepository } from './storage.repository.js';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** Keys looked up in one statement. */
const BATCH = 500;

/** Limit of the keys that a dry run logs. */
const MAX_SAMPLE_KEY_COUNT = 20;

/** The counts of one round; with ORPHAN_SWEEP=dry-run those of what it would do. */
export interface SweepResult {
  /** Files without a record that were set aside. */
  readonly quarantined: number;
  /** Files that have a record again and were put back. */
  readonly restored: number;
  /** Files that were removed after their time in quarantine, and incomplete uploads. */
  readonly removed: number;
}

const QUARANTINE_MS = 14 * DAY_MS;

const NOTHING: SweepResult = { quarantined: 0, restored: 0, removed: 0 };

/**
 * Sets files without a record aside, which remain when a process dies between writing a file and inserting its record, or
 * between deleting a record and removing its file. An hour is longer than any upload takes. A file that is set aside is put
 * back as soon as a record names it, and removed after two weeks. Nothing is done while it is uncertain whose the
 * files are.
 */
@Injectable()
export class OrphanSweep extends PeriodicRound {
  private pausedBy: string | undefined;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly files: FileStorage,
    private readonly keys: FileKeys,
    private readonly repository: StorageRepository,
    private readonly installation: Installation,
  ) {
    super(config, 'Failed to sweep files without a record');
  }

  /** Runs one round and returns its counts. */
  async sweep(ending?: AbortSignal): Promise<SweepResult> {
    if (!this.isOn || (await this.isPaused())) return NOTHING;
    const before = new Date(Date.now() - HOUR_MS);
    const expired = new Date(Date.now() - QUARANTINE_MS);
    const prefix = await this.keys.prefix();
    const isDry = this.config.ORPHAN_SWEEP === 'dry-run';
    const orphans = new Action(isDry, (key) => this.files.quarantine(key));
    const restored = new Action(isDry, (key) => this.files.restore(key));
    const outdated = new Action(isDry, (key) => this.files.remove(key));
    const removed = isDry ? 0 : await this.files.removeUnfinished(before);

    for await (const keys of batches(this.files.listQuarantined(prefix, new Date()), ending)) {
      const storedKeys = await this.repository.recordedKeys(keys);
      await restored.on(keys.filter((key) => storedKeys.has(key)));
    }
    for await (const keys of batches(this.files.listQuarantined(prefix, expired), ending)) {
      await outdated.on(await this.unknown(keys));
    }
    for await (const keys of batches(this.files.list(prefix, before), ending)) {
      await orphans.on(await this.unknown(keys));
    }
    if (isDry && orphans.count + restored.count + outdated.count > 0) {
      this.logger.log({
        msg: 'Dry run of the orphan sweep',
        quarantine: orphans.sampleKeys,
        restore: restored.sampleKeys,
        remove: outdated.sampleKeys,
      });
    }
    return {
      quarantined: orphans.count,
      restored: restored.count,
      removed: removed + outdated.count,
    };
  }

  private async unknown(keys: readonly string[]): Promise<string[]> {
    const storedKeys = await this.repository.recordedKeys(keys);
    return keys.filter((key) => !storedKeys.has(key));
  }

  /** Whether the sweep is paused; logs one line for each change of the reason. */
  private async isPaused(): Promise<boolean> {
    const reason = await this.installation.uncertainty();
    if (reason !== this.pausedBy) {
      if (reason === undefined) this.logger.log({ msg: 'Orphan sweep resumed' });
      else this.logger.warn({ msg: 'Orphan sweep paused', reason });
    }
    this.pausedBy = reason;
    return reason !== undefined;
  }

  protected override get isOn(): boolean {
    return this.config.ORPHAN_SWEEP !== 'off';
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const { quarantined, restored, removed } = await this.sweep(ending);
    if (quarantined + restored + removed > 0 && this.config.ORPHAN_SWEEP === 'on') {
      this.logger.log({ msg: 'Swept files without a record', quarantined, restored, removed });
    }
  }
}

/** An action on files, which a dry run only counts. */
class Action {
  count = 0;
  readonly sampleKeys: string[] = [];

  constructor(
    private readonly isDry: boolean,
    private readonly run: (key: string) => Promise<void>,
  ) {}

  async on(keys: readonly string[]): Promise<void> {
    this.count += keys.length;
    this.sampleKeys.push(...keys.slice(0, MAX_SAMPLE_KEY_COUNT - this.sampleKeys.length));
    if (this.isDry) return;
    for (const key of keys) await this.run(key);
  }
}

async function* batches(
  keys: AsyncIterable<string>,
  ending: AbortSignal | undefined,
): AsyncGenerator<readonly string[], void> {
  let batch: string[] = [];
  for await (const key of keys) {
    if (ending?.aborted) return;
    batch.push(key);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
