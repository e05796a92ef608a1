import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { inTenant } from '../platform/database/index.js';
import { PeriodicRound } from '../platform/queue/index.js';
import { RetentionClasses } from '../platform/retention/index.js';
import { LedgerRepository } from './ledger.repository.js';
import { ReservationRepository } from './reservation.repository.js';

const DAYS_AT_ONCE = 100;
const ROWS_AT_ONCE = 5_000;

/**
 * Replaces rows of the usage ledger that are older than USAGE_DETAIL_DAYS by sums of their days. Once an hour, in processes
 * that run jobs; each day is a statement of its own, so that processes need no lease between them. Rows are kept for at most
 * USAGE_RETENTION_DAYS.
 */
@Injectable()
export class UsageRetention extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: LedgerRepository,
    classes: RetentionClasses,
  ) {
    super(config, 'Failed to roll up the usage ledger');
    classes.join({
      recordClass: 'calls',
      maxDays: config.USAGE_RETENTION_DAYS,
      records: 'call',
      sweep: (due) => repository.removeExpired(due),
    });
  }

  async round(ending?: AbortSignal): Promise<void> {
    for (;;) {
      const days = await this.repository.rollable(DAYS_AT_ONCE);
      for (const day of days) {
        if (ending?.aborted) return;
        await inTenant(day.tenantId, () => this.repository.rollUp(day));
      }
      if (days.length < DAYS_AT_ONCE) return;
    }
  }
}

/** Removes reservations of processes that have ended, and counters of periods that are over. */
@Injectable()
export class ReservationRetention extends PeriodicRound {
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
