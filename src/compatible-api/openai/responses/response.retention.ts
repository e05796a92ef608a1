import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { HourlyRound } from '../../../platform/queue/index.js';
import { ConversationRepository } from './conversation.repository.js';
import { ResponseEventRepository } from './response-event.repository.js';
import { EVENT_RETENTION_HOURS } from './response-events.js';
import { StoredResponseRepository } from './stored-response.repository.js';

/**
 * Removes stored responses and conversations that were not continued for RESPONSE_RETENTION_DAYS, and the events of responses after
 * EVENT_RETENTION_HOURS. Once an hour, in processes that
 * run jobs.
 */
@Injectable()
export class ResponseRetention extends HourlyRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly responses: StoredResponseRepository,
    private readonly conversations: ConversationRepository,
    private readonly events: ResponseEventRepository,
  ) {
    super(config, 'Failed to remove old stored responses');
  }

  /** One sweep; returns the number of removed records. */
  prune(ending?: AbortSignal): Promise<number> {
    const { RESPONSE_RETENTION_DAYS: days } = this.config;
    return this.sweepAll(
      [
        () => this.events.sweep(EVENT_RETENTION_HOURS),
        () => this.responses.sweep(days),
        () => this.conversations.sweep(days),
      ],
      ending,
    );
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Removed old stored responses', removed });
  }
}
