import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant } from '../../platform/database/index.js';
import { PeriodicRound } from '../../platform/queue/index.js';
import { RetentionClasses } from '../../platform/retention/index.js';
import { BlobStore } from '../change/blob.store.js';
import { EventRepository } from '../store/event.repository.js';
import type { PrunableRun } from '../store/event.repository.js';
import { SessionRepository } from '../store/run.repository.js';

const RUNS_AT_ONCE = 100;
const MAX_SESSION_COUNT = 50;

/** Removes sessions whose retention has ended, with their runs, messages, artifacts and stored contents. */
@Injectable()
export class RunRetention {
  constructor(classes: RetentionClasses, sessions: SessionRepository, blobs: BlobStore) {
    classes.join({
      recordClass: 'runs',
      records: 'harness_session',
      sweep: async (due) => {
        const ids = await sessions.due(due, MAX_SESSION_COUNT);
        const hashes = await sessions.remove(due.tenantId, ids);
        await blobs.removeOld(due.tenantId, hashes);
        return { removed: ids.length, isDone: ids.length < MAX_SESSION_COUNT };
      },
    });
  }
}

/**
 * Removes the events of runs that ended longer ago than HARNESS_RETENTION_DAYS, always all of a run; the run and its
 * messages stay. Once an hour, in processes that run jobs.
 */
@Injectable()
export class EventRetention extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: EventRepository,
  ) {
    super(config, 'Failed to prune events of old runs');
  }

  /** Runs one round and returns the number of removed events. Each run has a statement of its own, so that locks are short. */
  async prune(ending?: AbortSignal): Promise<number> {
    let removed = 0;
    let after: PrunableRun | undefined;
    for (;;) {
      const page = { after, limit: RUNS_AT_ONCE };
      const runs = await this.repository.prunable(this.config.HARNESS_RETENTION_DAYS, page);
      for (const run of runs) {
        if (ending?.aborted) return removed;
        removed += await inTenant(run.tenantId, () => this.repository.prune(run));
      }
      after = runs.at(-1);
      if (runs.length < RUNS_AT_ONCE) return removed;
    }
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Pruned events of old runs', removed });
  }
}
