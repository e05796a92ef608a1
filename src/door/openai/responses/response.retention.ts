import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { withLongStatements } from '../../../platform/database/index.js';
import { IntervalJob } from '../../../platform/queue/index.js';
import { StoredResponseRepository } from './stored-response.repository.js';

const ROUND_MS = 60 * 60_000;

/**
 * Removes stored responses whose conversation was not continued for RESPONSE_RETENTION_DAYS. Once an hour, in processes that
 * run jobs.
 */
@Injectable()
export class ResponseRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(ResponseRetention.name);
  private rounds: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly responses: StoredResponseRepository,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.rounds = new IntervalJob(ROUND_MS, (ending) => this.pruneAndLog(ending));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** One round; answers how many responses it has removed. */
  async prune(ending?: AbortSignal): Promise<number> {
    let total = 0;
    for (;;) {
      const { removed, isDone } = await this.responses.sweep(this.config.RESPONSE_RETENTION_DAYS);
      total += removed;
      if (isDone || ending?.aborted) return total;
    }
  }

  private async pruneAndLog(ending: AbortSignal): Promise<void> {
    try {
      const removed = await withLongStatements(() => this.prune(ending));
      if (removed > 0) this.logger.log({ msg: 'Removed old stored responses', removed });
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Failed to remove old stored responses', err: error });
    }
  }
}
