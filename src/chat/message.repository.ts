import { Injectable } from '@nestjs/common';
import { containing, Database, TenantScoped } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import type { MessageListQuery } from './message.dto.js';
import { ChatMessage } from './message.entity.js';

type Values = Partial<
  Pick<ChatMessage, 'sessionId' | 'role' | 'content' | 'modelName' | 'remark' | 'totalTokens'>
>;

/** Messages, each visible to its user only. turn.repository stores those of a turn. */
@Injectable()
export class MessageRepository {
  private readonly scoped: TenantScoped<ChatMessage>;

  constructor(database: Database) {
    this.scoped = new TenantScoped(database, ChatMessage, 'The chat message');
  }

  page(tenantId: string, userId: number, query: MessageListQuery): Promise<Page<ChatMessage>> {
    const where = {
      userId,
      ...(query.sessionId && { sessionId: query.sessionId }),
      ...(query.content && { content: containing(query.content) }),
      ...(query.role && { role: query.role }),
      ...(query.modelName && { modelName: containing(query.modelName) }),
    };
    return this.scoped.page(tenantId, query, where, { id: 'ASC' });
  }

  get(tenantId: string, userId: number, id: number): Promise<ChatMessage> {
    return this.scoped.get(tenantId, id, { userId });
  }

  async insert(tenantId: string, userId: number, values: Values): Promise<number> {
    const { id } = await this.scoped.insert(tenantId, { ...values, userId });
    return id;
  }

  update(tenantId: string, userId: number, id: number, values: Values): Promise<void> {
    return this.scoped.update(tenantId, id, values, { userId });
  }

  remove(tenantId: string, userId: number, ids: readonly number[]): Promise<void> {
    return this.scoped.remove(tenantId, ids, { userId });
  }
}
