import { Injectable } from '@nestjs/common';
import { containing, Database, TenantScoped } from '../platform/database/index.js';
import type { Page } from '../platform/http/index.js';
import type { SessionListQuery } from './session.dto.js';
import { ChatSession } from './session.entity.js';

type Values = Partial<
  Pick<ChatSession, 'sessionTitle' | 'sessionContent' | 'conversationId' | 'remark'>
>;

/** Conversations, each visible to its user only. */
@Injectable()
export class SessionRepository {
  private readonly scoped: TenantScoped<ChatSession>;

  constructor(private readonly database: Database) {
    this.scoped = new TenantScoped(database, ChatSession, 'The chat session');
  }

  page(tenantId: string, userId: number, query: SessionListQuery): Promise<Page<ChatSession>> {
    const where = {
      userId,
      ...(query.sessionTitle && { sessionTitle: containing(query.sessionTitle) }),
      ...(query.sessionContent && { sessionContent: containing(query.sessionContent) }),
      ...(query.conversationId && { conversationId: query.conversationId }),
    };
    return this.scoped.page(tenantId, query, where, { id: 'ASC' });
  }

  get(tenantId: string, userId: number, id: number): Promise<ChatSession> {
    return this.scoped.get(tenantId, id, { userId });
  }

  async insert(tenantId: string, userId: number, values: Values): Promise<number> {
    const { id } = await this.scoped.insert(tenantId, {
      sessionTitle: '',
      sessionContent: '',
      ...values,
      userId,
    });
    return id;
  }

  update(tenantId: string, userId: number, id: number, values: Values): Promise<void> {
    return this.scoped.update(tenantId, id, values, { userId });
  }

  remove(tenantId: string, userId: number, ids: readonly number[]): Promise<void> {
    return this.scoped.remove(tenantId, ids, { userId });
  }

  /** Requests the stop of the running turn; its process reads it at the latest when it renews the lease. */
  async requestStop(tenantId: string, userId: number, id: number): Promise<boolean> {
    const rows = await this.database.query<{ id: number }>(
      `UPDATE chat_session SET stop_requested = true
       WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND turn_id IS NOT NULL
       RETURNING id`,
      [tenantId, userId, id],
    );
    return rows.length > 0;
  }
}
