import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../../../platform/config/index.js';
import type { Config } from '../../../platform/config/index.js';
import { RetentionClasses } from '../../../platform/retention/index.js';
import { ConversationRepository } from './conversation.repository.js';
import { StoredResponseRepository } from './stored-response.repository.js';

/** Stored responses and conversations have a retention, at most RESPONSE_RETENTION_DAYS since they were last continued. */
@Injectable()
export class ResponseRetention {
  constructor(
    @Inject(CONFIG) config: Config,
    responses: StoredResponseRepository,
    conversations: ConversationRepository,
    classes: RetentionClasses,
  ) {
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
}
