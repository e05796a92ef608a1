import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { HourlyRound } from '../../platform/queue/index.js';
import { ApiFiles } from '../files/api-files.service.js';
import { ApiBatchRepository } from './api-batch.repository.js';

/** Longer than files of batches are kept, so that a client never has results of a batch that it cannot find. */
const RETENTION_DAYS = 31;

/** Removes files of /v1/files whose time is over, and batches that ended 31 days ago. Once an hour, in processes that run jobs. */
@Injectable()
export class BatchRetention extends HourlyRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly files: ApiFiles,
    private readonly batches: ApiBatchRepository,
  ) {
    super(config, 'Failed to remove old files and batches');
  }

  /** One sweep; returns the number of removed files and batches. */
  prune(ending?: AbortSignal): Promise<number> {
    return this.sweepAll(
      [() => this.files.sweep(), () => this.batches.sweep(RETENTION_DAYS)],
      ending,
    );
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Removed old files and batches', removed });
  }
}
