import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { PeriodicRound } from '../../../platform/queue/index.js';
import { RetentionClasses } from '../../../platform/retention/index.js';
import { ConversationRepository } from './conversation.repository.js';
import { ResponseEventRepository } from './response-event.repository.js';
import { EVENT_RETENTION_HOURS } from './response-events.js';
import { StoredResponseRepository } from './stored-response.repository.js';

/**
 * Stored responses and conversations have a retention, at most RESPONSE_RETENTION_DAYS since they were last continued. The
 * events of responses are removed after EVENT_RETENTION_HOURS, once an hour, in processes that run jobs.
 */
@Injectable()
export class ResponseRetention extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    responses: StoredResponseRepository,
    conversations: ConversationRepository,
    private readonly events: ResponseEventRepository,
    classes: RetentionClasses,
  ) {
    super(config, 'Failed to remove old events of responses');
    const shared = { recordClass: 'responses', maxDays: config.RESPONSE_RETENTION_DAYS } as const;
    classes.join({
      ...shared,
      records: 'stored_response',
      sweep: (due) => responses.sweep(due),
    });
    classes.join({
      ...shared,
      records: 'response_conversation',
      sweep: (due) => conversations.sweep(due),
    });
  }

  /** One sweep; returns the number of removed events. */
  prune(ending?: AbortSignal): Promise<number> {
    return this.sweepAll([() => this.events.sweep(EVENT_RETENTION_HOURS)], ending);
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Removed old events of responses', removed });
  }
}
