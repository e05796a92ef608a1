import { Inject, Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { inTenant, withLongStatements } from '../../platform/database/index.js';
import { IntervalJob } from '../../platform/queue/index.js';
import { CallRepository } from './call.repository.js';

const ROUND_MS = 60 * 60_000;
const DAYS_AT_ONCE = 100;
const ROWS_AT_ONCE = 5_000;

/**
 * Replaces rows of the books that are older than USAGE_DETAIL_DAYS by sums of their days, and removes those older than
 * USAGE_RETENTION_DAYS. Once an hour, in processes that run jobs; each day is a statement of its own, so that processes need
 * no lease between them.
 */
@Injectable()
export class BooksRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(BooksRetention.name);
  private rounds: IntervalJob | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly repository: CallRepository,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.ROLE === 'api') return;
    this.rounds = new IntervalJob(ROUND_MS, (ending) => this.runAndLog(ending));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** One round. */
  async run(ending?: AbortSignal): Promise<void> {
    for (;;) {
      const days = await this.repository.rollable(DAYS_AT_ONCE);
      for (const day of days) {
        if (ending?.aborted) return;
        await inTenant(day.tenantId, () => this.repository.rollUp(day));
      }
      if (days.length < DAYS_AT_ONCE) break;
    }
    while (!ending?.aborted) {
      if ((await this.repository.removeExpired(ROWS_AT_ONCE)) < ROWS_AT_ONCE) return;
    }
  }

  private async runAndLog(ending: AbortSignal): Promise<void> {
    try {
      await withLongStatements(() => this.run(ending));
    } catch (error) {
      // The next round tries again.
      this.logger.warn({ msg: 'Failed to roll up the books', err: error });
    }
  }
}
