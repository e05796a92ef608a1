import { Injectable } from '@nestjs/common';
import { systemCaller, TenantRevision } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import type { Swept } from '../platform/queue/index.js';
import { RetentionClasses } from '../platform/retention/index.js';
import { ChatRetentionRepository } from './chat-retention.repository.js';
import type { DueOfUser } from './chat-retention.repository.js';
import { MessageService } from './message.service.js';
import { SessionService } from './session.service.js';

/** The sweep of a tenant without rules comes once an hour, so that no temporary chat gets a day old. */
const MAX_TEMPORARY_HOURS = 22;

/** Records of one batch, which is one transaction for each user. */
const MAX_BATCH_COUNT = 200;

/**
 * Removes chats whose retention has ended, in the way their users delete them: with messages, votes, files, and the knowledge
 * base of a session with its vectors.
 */
@Injectable()
export class ChatRetention {
  constructor(
    classes: RetentionClasses,
    repository: ChatRetentionRepository,
    sessions: SessionService,
    messages: MessageService,
    private readonly revision: TenantRevision,
  ) {
    classes.join({
      recordClass: 'temporary-chats',
      maxDays: 1,
      sweep: async (due) => {
        const page = { hours: MAX_TEMPORARY_HOURS, limit: MAX_BATCH_COUNT };
        const records = await repository.temporary(due, page);
        const results = [
          await this.remove(due.tenantId, records.sessions, (caller, ids) =>
            sessions.remove(caller, ids),
          ),
          await this.remove(due.tenantId, records.messages, (caller, ids) =>
            messages.remove(caller, ids),
          ),
        ];
        const removed = results.reduce((sum, one) => sum + one.removed, 0);
        return { removed, isDone: results.every(({ isDone }) => isDone) };
      },
    });
    classes.join({
      recordClass: 'chats',
      sweep: async (due) =>
        this.remove(due.tenantId, await repository.sessions(due, MAX_BATCH_COUNT), (caller, ids) =>
          sessions.remove(caller, ids),
        ),
    });
    classes.join({
      recordClass: 'chats',
      sweep: async (due) =>
        this.remove(due.tenantId, await repository.messages(due, MAX_BATCH_COUNT), (caller, ids) =>
          messages.remove(caller, ids),
        ),
    });
  }

  private async remove(
    tenantId: string,
    records: readonly DueOfUser[],
    removal: (caller: Caller, ids: readonly number[]) => Promise<void>,
  ): Promise<Swept> {
    const system = systemCaller(tenantId, await this.revision.current(tenantId));
    let removed = 0;
    for (const { userId, ids } of records) {
      await removal({ ...system, userId }, ids);
      removed += ids.length;
    }
    return { removed, isDone: removed < MAX_BATCH_COUNT };
  }
}
