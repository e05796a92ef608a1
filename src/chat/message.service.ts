import { Injectable } from '@nestjs/common';
import type { FindOptionsWhere } from 'typeorm';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { among, containing, Database, TenantScoped } from '../platform/database/index.js';
import { isWholeList, Page } from '../platform/http/index.js';
import { toListedMessageView, toMessageView } from './message.dto.js';
import type {
  CreateMessageBody,
  MessageListQuery,
  MessageView,
  UpdateMessageBody,
} from './message.dto.js';
import { ChatMessage, endedStates } from './message.entity.js';
import { StepRepository } from './step/step.repository.js';
import { SessionService } from './session.service.js';

/** An answer that is still being written is not in the lists of its owner. */
const ended = { state: among(endedStates) };

/** The messages of the caller's own conversations. A turn stores its messages itself. */
@Injectable()
export class MessageService {
  private readonly messages: TenantScoped<ChatMessage>;

  constructor(
    private readonly sessions: SessionService,
    private readonly steps: StepRepository,
    private readonly database: Database,
    private readonly audit: AuditLog,
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
    const page =
      sessionId && isWholeList(query)
        ? await this.conversation(tenantId, query, where)
        : // A conversation reads from its beginning, a list of all messages from the newest.
          await this.messages.page(tenantId, query, where, { id: sessionId ? 'ASC' : 'DESC' });
    const steps = await this.steps.listed(tenantId, answersAmong(page.rows));
    return page.map((message) => toListedMessageView(message, inline, steps.get(message.id)));
  }

  /** The newest messages of a session, oldest first: what a client shows that asks for all of them. */
  private async conversation(
    tenantId: string,
    query: MessageListQuery,
    where: FindOptionsWhere<ChatMessage>,
  ): Promise<Page<ChatMessage>> {
    const newest = await this.messages.page(tenantId, query, where, { id: 'DESC' });
    return new Page([...newest.rows].reverse(), newest.total);
  }

  async detail({ tenantId, userId }: Caller, id: number): Promise<MessageView> {
    const message = await this.messages.get(tenantId, id, { userId, ...ended });
    const steps = await this.steps.of(tenantId, answersAmong([message]));
    return toMessageView(message, steps.get(id));
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
    await this.database.transaction(async () => {
      await this.messages.remove(tenantId, ids, { userId, ...ended });
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'chat_message', id });
      }
    });
  }
}

/** Only answers have steps. */
function answersAmong(messages: readonly ChatMessage[]): number[] {
  return messages.filter(({ role }) => role === 'assistant').map(({ id }) => id);
}
