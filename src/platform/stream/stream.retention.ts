import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { PeriodicRound } from '../queue/index.js';
import { StreamFrameRepository } from './stream-frame.repository.js';

/** Retention of a stream since its last frame. */
export const STREAM_RETENTION_HOURS = 24;

/** Removes streams after STREAM_RETENTION_HOURS, once an hour, in processes that run jobs. */
@Injectable()
export class StreamRetention extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly frames: StreamFrameRepository,
  ) {
    super(config, 'Failed to remove old streams');
  }

  /** One sweep; returns the number of removed frames. */
  prune(ending?: AbortSignal): Promise<number> {
    return this.sweepAll([() => this.frames.sweep(STREAM_RETENTION_HOURS)], ending);
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Removed old streams', removed });
  }
}
