import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { HourlyRound } from '../../platform/queue/index.js';
import { ReservationRepository } from './reservation.repository.js';

const ROWS_AT_ONCE = 5_000;

/** Removes reservations of processes that have ended, and counters of periods that are over. */
@Injectable()
export class LimitRetention extends HourlyRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: ReservationRepository,
  ) {
    super(config, 'Failed to remove old reservations');
  }

  async round(ending?: AbortSignal): Promise<void> {
    while (!ending?.aborted) {
      if ((await this.repository.sweep(ROWS_AT_ONCE)) < ROWS_AT_ONCE) return;
    }
  }
}
