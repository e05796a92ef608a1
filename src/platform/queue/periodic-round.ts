import { Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { withLongStatements } from '../database/index.js';
import { IntervalJob } from './interval-job.js';

const HOUR_MS = 60 * 60_000;

/** How many records one statement of a sweep has removed, and whether none remain. */
export interface Swept {
  readonly removed: number;
  readonly isDone: boolean;
}

/**
 * Work that is repeated, once an hour unless another interval is given, such as the removal of what is kept for a time. A round that
 * fails is logged; the next one tries again.
 */
export abstract class PeriodicRound implements OnApplicationBootstrap, BeforeApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private rounds: IntervalJob | undefined;

  /** @param failure The message of the log line of a round that has failed. */
  constructor(
    protected readonly config: Config,
    private readonly failure: string,
    private readonly intervalMs = HOUR_MS,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.isOn) return;
    this.rounds = new IntervalJob(this.intervalMs, (ending) => this.runAndLog(ending));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** Whether this process does the work: by default where jobs run. */
  protected get isOn(): boolean {
    return this.config.ROLE !== 'api';
  }

  /** Repeats each sweep until it is done, or the signal aborts; answers how many records they have removed in all. */
  protected async sweepAll(
    sweeps: readonly (() => Promise<Swept>)[],
    ending?: AbortSignal,
  ): Promise<number> {
    let total = 0;
    for (const sweep of sweeps) {
      for (;;) {
        const { removed, isDone } = await sweep();
        total += removed;
        if (isDone || ending?.aborted) break;
      }
    }
    return total;
  }

  /** Does the work of one round. Ends soon after the signal. */
  protected abstract round(ending: AbortSignal): Promise<void>;

  private async runAndLog(ending: AbortSignal): Promise<void> {
    try {
      await withLongStatements(() => this.round(ending));
    } catch (error) {
      this.logger.warn({ msg: this.failure, err: error });
    }
  }
}
