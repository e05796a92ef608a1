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

  /** One round; answers how many responses it has removed. */
  async prune(ending?: AbortSignal): Promise<number> {
    let total = 0;
    while (!(await this.events.sweep(EVENT_RETENTION_HOURS)).isDone && !ending?.aborted);
    for (const stored of [this.responses, this.conversations]) {
      for (;;) {
        const { removed, isDone } = await stored.sweep(this.config.RESPONSE_RETENTION_DAYS);
        total += removed;
        if (isDone || ending?.aborted) break;
      }
    }
    return total;
  }

  protected async round(ending: AbortSignal): Promise<void> {
    const removed = await this.prune(ending);
    if (removed > 0) this.logger.log({ msg: 'Removed old stored responses', removed });
  }
}
