import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../config/index.js';
import type { Config } from '../../config/index.js';
import { EventRepository } from './event.repository.js';
import type { PrunableRun } from './event.repository.js';

const ROUND_MS = 60 * 60_000;
const RUNS_AT_ONCE = 100;

/**
 * Removes the events of runs that ended longer ago than HARNESS_RETENTION_DAYS, always all of a run; the run and its
 * messages stay. Once an hour, in processes that run jobs.
 */
@Injectable()
export class EventRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(EventRetention.name);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private stopping = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: EventRepository,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.timer = setInterval(() => {
      this.running = this.running.then(() => this.pruneAndLog());
    }, ROUND_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    clearInterval(this.timer);
    await this.running;
  }

  /** One round; answers how many events it has removed. Each run is a statement of its own, so nobody waits long. */
  async prune(): Promise<number> {
    let removed = 0;
    let after: PrunableRun | undefined;
    for (;;) {
      const page = { after, limit: RUNS_AT_ONCE };
      const runs = await this.repository.prunable(this.config.HARNESS_RETENTION_DAYS, page);
      for (const run of runs) {
        if (this.stopping) return removed;
        removed += await this.repository.prune(run);
      }
      after = runs.at(-1);
      if (runs.length < RUNS_AT_ONCE) return removed;
    }
  }

  private async pruneAndLog(): Promise<void> {
    try {
      const removed = await this.prune();
      if (removed > 0) this.logger.log({ msg: 'Events of old runs were removed', removed });
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Events of old runs could not be removed', err: error });
    }
  }
}
