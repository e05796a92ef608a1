import { Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { withLongStatements } from '../database/index.js';
import { IntervalJob } from './interval-job.js';

const ROUND_MS = 60 * 60_000;

/**
 * Work that is done once an hour, such as the removal of what is kept for a time. A round that fails is logged; the next
 * one tries again.
 */
export abstract class HourlyRound implements OnApplicationBootstrap, BeforeApplicationShutdown {
  protected readonly logger = new Logger(this.constructor.name);
  private rounds: IntervalJob | undefined;

  /** @param failure The message of the log line of a round that has failed. */
  constructor(
    protected readonly config: Config,
    private readonly failure: string,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.isOn) return;
    this.rounds = new IntervalJob(ROUND_MS, (ending) => this.runAndLog(ending));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.rounds?.stop();
  }

  /** Whether this process does the work: by default where jobs run. */
  protected get isOn(): boolean {
    return this.config.ROLE !== 'api';
  }

  /** One round. Ends soon after the signal. */
  protected abstract round(ending: AbortSignal): Promise<void>;

  private async runAndLog(ending: AbortSignal): Promise<void> {
    try {
      await withLongStatements(() => this.round(ending));
    } catch (error) {
      this.logger.warn({ msg: this.failure, err: error });
    }
  }
}
