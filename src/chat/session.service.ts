import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { EventBus } from '../platform/event/index.js';
import type { Page } from '../platform/http/index.js';
import type { CreateSessionBody, SessionListQuery, UpdateSessionBody } from './session.dto.js';
import { SessionRepository } from './session.repository.js';
import { toSessionView } from './session.view.js';
import type { SessionView } from './session.view.js';

/** The caller's own conversations; those of others are answered as not found. */
@Injectable()
export class SessionService {
  constructor(
    private readonly sessions: SessionRepository,
    private readonly database: Database,
    private readonly bus: EventBus,
    private readonly audit: AuditLog,
  ) {}

  async list(caller: Caller, query: SessionListQuery): Promise<Page<SessionView>> {
    const page = await this.sessions.page(caller.tenantId, caller.userId, query);
    return page.map(toSessionView);
  }

  async detail(caller: Caller, id: number): Promise<SessionView> {
    return toSessionView(await this.sessions.get(caller.tenantId, caller.userId, id));
  }

  /** Returns the id of the new session as a string. */
  async create(caller: Caller, body: CreateSessionBody): Promise<string> {
    return String(await this.sessions.insert(caller.tenantId, caller.userId, body));
  }

  async update(caller: Caller, { id, ...values }: UpdateSessionBody): Promise<void> {
    await this.sessions.update(caller.tenantId, caller.userId, id, values);
  }

  /** Deletes sessions with their messages and stops their running turns. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId, userId } = caller;
    await this.database.transaction(async () => {
      await this.sessions.remove(tenantId, userId, ids);
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
    const { tenantId, userId } = caller;
    await this.sessions.get(tenantId, userId, id);
    const running = await this.sessions.requestStop(tenantId, userId, id);
    if (running) await this.bus.publish('chat.stop', { tenantId, sessionId: id });
    return running;
  }
}
