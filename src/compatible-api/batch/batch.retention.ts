import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { PeriodicRound } from '../../platform/queue/index.js';
import { RetentionClasses } from '../../platform/retention/index.js';
import { ApiFiles } from '../files/api-files.service.js';
import { ApiBatchRepository } from './api-batch.repository.js';

/** Longer than files of batches are kept, so that a client never has results of a batch that it cannot find. */
const MAX_DAYS = 31;

/**
 * Batches have the retention of responses, at most 31 days since they ended. Files of /v1/files whose own time is over are
 * removed once an hour, in processes that run jobs.
 */
@Injectable()
export class BatchRetention extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly files: ApiFiles,
    batches: ApiBatchRepository,
    classes: RetentionClasses,
  ) {
    super(config, 'Failed to remove expired files');
    classes.join({
      recordClass: 'responses',
      ownMaxDays: MAX_DAYS,
      records: 'api_batch',
      sweep: (due) => batches.sweep(due),
    });
  }

  /** One sweep; returns the number of removed files. */
  prune(ending?: AbortSignal): Promise<number> {
    return this.sweepAll([() => this.files.sweep()], ending);
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Removed expired files', removed });
  }
}
