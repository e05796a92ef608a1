import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { containing, Database, TenantScoped } from '../platform/database/index.js';
import { EventBus } from '../platform/event/index.js';
import type { Page } from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import { RetentionService } from '../platform/retention/index.js';
import { notDueSession } from './chat-retention.repository.js';
import { toSessionView } from './session.dto.js';
import type {
  CreateSessionBody,
  SessionListQuery,
  SessionView,
  UpdateSessionBody,
} from './session.dto.js';
import { ChatFiles } from './file/chat-files.js';
import { ChatSession } from './session.entity.js';
import { TurnRepository } from './turn.repository.js';

/** The caller's conversations. Those of other users are not found. */
@Injectable()
export class SessionService {
  private readonly sessions: TenantScoped<ChatSession>;

  constructor(
    private readonly turns: TurnRepository,
    private readonly database: Database,
    private readonly bus: EventBus,
    private readonly audit: AuditLog,
    private readonly files: ChatFiles,
    private readonly retention: RetentionService,
  ) {
    this.sessions = new TenantScoped(database, ChatSession, msg`The chat session`);
  }

  async list(caller: Caller, query: SessionListQuery): Promise<Page<SessionView>> {
    const { tenantId, userId } = caller;
    const { sessionTitle, sessionContent, conversationId } = query;
    const where = {
      id: notDueSession(caller),
      userId,
      temporary: false,
      ...(sessionTitle && { sessionTitle: containing(sessionTitle) }),
      ...(sessionContent && { sessionContent: containing(sessionContent) }),
      ...(conversationId && { conversationId }),
    };
    return (await this.sessions.page(tenantId, query, where, { id: 'DESC' })).map(toSessionView);
  }

  async detail({ tenantId, userId }: Caller, id: number): Promise<SessionView> {
    return toSessionView(await this.sessions.get(tenantId, id, { userId }));
  }

  /** Returns the id of the new session as a string. */
  async create({ tenantId, userId }: Caller, body: CreateSessionBody): Promise<string> {
    const temporary = await this.retention.isTemporaryChat(tenantId, body.temporary);
    const values = { sessionTitle: '', sessionContent: '', ...body, temporary, userId };
    const { id } = await this.sessions.insert(tenantId, values);
    return String(id);
  }

  async update({ tenantId, userId }: Caller, { id, ...values }: UpdateSessionBody): Promise<void> {
    await this.sessions.update(tenantId, id, values, { userId });
  }

  /** Deletes sessions with their messages and files and stops their running turns. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId, userId } = caller;
    await this.files.deleting(caller, { sessionIds: ids }, async () => {
      await this.sessions.remove(tenantId, ids, { userId });
      for (const id of ids) {
        await this.audit.record(caller, { action: 'delete', target: 'chat_session', id });
        await this.database.afterCommit(() =>
          this.bus.publish('chat.stop', { tenantId, sessionId: id }),
        );
      }
    });
  }

  /** Stops the running turn of the session, in any process. Returns whether there was one. */
  async stop(caller: Caller, id: number): Promise<boolean> {
    await this.detail(caller, id);
    const running = await this.turns.requestStop(caller, id);
    const { tenantId } = caller;
    if (running) await this.bus.publish('chat.stop', { tenantId, sessionId: id });
    return running;
  }
}
