import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import type { CreateMessageBody, MessageListQuery, UpdateMessageBody } from './message.dto.js';
import { MessageRepository } from './message.repository.js';
import { toMessageView } from './message.view.js';
import type { MessageView } from './message.view.js';
import { SessionRepository } from './session.repository.js';

/** The messages of the caller's own conversations. A turn stores its messages itself. */
@Injectable()
export class MessageService {
  constructor(
    private readonly messages: MessageRepository,
    private readonly sessions: SessionRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  async list(caller: Caller, query: MessageListQuery): Promise<Page<MessageView>> {
    const page = await this.messages.page(caller.tenantId, caller.userId, query);
    return page.map(toMessageView);
  }

  async detail(caller: Caller, id: number): Promise<MessageView> {
    return toMessageView(await this.messages.get(caller.tenantId, caller.userId, id));
  }

  /** Returns the id of the new message as a string. */
  async create(caller: Caller, body: CreateMessageBody): Promise<string> {
    const { tenantId, userId } = caller;
    await this.sessions.get(tenantId, userId, body.sessionId);
    return String(await this.messages.insert(tenantId, userId, body));
  }

  async update(caller: Caller, { id, ...values }: UpdateMessageBody): Promise<void> {
    await this.messages.update(caller.tenantId, caller.userId, id, values);
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    await this.database.transaction(async () => {
      await this.messages.remove(caller.tenantId, caller.userId, ids);
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'chat_message', id });
      }
    });
  }
}
