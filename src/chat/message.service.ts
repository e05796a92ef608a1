import { Injectable } from '@nestjs/common';
import type { FindOptionsWhere } from 'typeorm';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { among, containing, Database, TenantScoped } from '../platform/database/index.js';
import { isWholeList, Page } from '../platform/http/index.js';
import { ChatFiles } from './file/chat-files.js';
import { toListedMessageView, toMessageView } from './message.dto.js';
import type {
  CreateMessageBody,
  MessageListQuery,
  MessageView,
  UpdateMessageBody,
} from './message.dto.js';
import { ChatMessage, endedStates } from './message.entity.js';
import { SessionService } from './session.service.js';

/** An answer that is still being written is not in the lists of its owner. */
const ended = { state: among(endedStates) };

/** The messages of the caller's own conversations. A turn stores its messages itself. */
@Injectable()
export class MessageService {
  private readonly messages: TenantScoped<ChatMessage>;

  constructor(
    private readonly sessions: SessionService,
    database: Database,
    private readonly audit: AuditLog,
    private readonly files: ChatFiles,
  ) {
    this.messages = new TenantScoped(database, ChatMessage, 'The chat message');
  }

  async list(
    { tenantId, userId, inline }: Caller,
    query: MessageListQuery,
  ): Promise<Page<MessageView>> {
    const { sessionId, content, role, modelName } = query;
    const where = {
      userId,
      ...ended,
      ...(sessionId && { sessionId }),
      ...(content && { content: containing(content) }),
      ...(role && { role }),
      ...(modelName && { modelName: containing(modelName) }),
    };
    const show = (message: ChatMessage): MessageView => toListedMessageView(message, inline);
    if (sessionId && isWholeList(query)) return this.conversation(tenantId, query, { where, show });
    // A conversation reads from its beginning, a list of all messages from the newest.
    const id = sessionId ? 'ASC' : 'DESC';
    return (await this.messages.page(tenantId, query, where, { id })).map(show);
  }

  /** The newest messages of a session, oldest first: what a client shows that asks for all of them. */
  private async conversation(
    tenantId: string,
    query: MessageListQuery,
    how: {
      readonly where: FindOptionsWhere<ChatMessage>;
      readonly show: (message: ChatMessage) => MessageView;
    },
  ): Promise<Page<MessageView>> {
    const newest = await this.messages.page(tenantId, query, how.where, { id: 'DESC' });
    return new Page(newest.rows.map(how.show).reverse(), newest.total);
  }

  async detail({ tenantId, userId }: Caller, id: number): Promise<MessageView> {
    return toMessageView(await this.messages.get(tenantId, id, { userId, ...ended }));
  }

  /** Returns the id of the new message as a string. */
  async create(caller: Caller, body: CreateMessageBody): Promise<string> {
    const { tenantId, userId } = caller;
    await this.sessions.detail(caller, body.sessionId);
    const { id } = await this.messages.insert(tenantId, { ...body, userId });
    return String(id);
  }

  async update({ tenantId, userId }: Caller, { id, ...values }: UpdateMessageBody): Promise<void> {
    await this.messages.update(tenantId, id, values, { userId, ...ended });
  }

  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId, userId } = caller;
    await this.files.deleting(caller, { messageIds: ids }, async () => {
      await this.messages.remove(tenantId, ids, { userId, ...ended });
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'chat_message', id });
      }
    });
  }
}
