import { Injectable } from '@nestjs/common';
import { isSuperAdmin } from '../../../platform/access/index.js';
import type { Caller } from '../../../platform/access/index.js';
import type { HarnessSessionListQuery } from './session.dto.js';
import { SessionNotFoundError } from '../../store/session.errors.js';
import { SessionRepository } from '../../store/session.repository.js';
import type { SessionRow } from '../../store/session.repository.js';
import { toHarnessSessionView } from './session.view.js';
import type { HarnessSessionView } from './session.view.js';

const LONGEST_PAGE = 1_000;

/** The sessions of users, each visible to its user and to super administrators who act in the tenant. */
@Injectable()
export class SessionService {
  constructor(private readonly sessions: SessionRepository) {}

  /** The session, deleted or not; NotFoundError unless the caller may see it. */
  async own(caller: Caller, sessionId: string): Promise<SessionRow> {
    const session = await this.sessions.find(caller.tenantId, sessionId);
    const mayRead = session && (session.userId === caller.userId || isSuperAdmin(caller));
    if (!mayRead) throw new SessionNotFoundError();
    return session;
  }

  async detail(caller: Caller, sessionId: string): Promise<HarnessSessionView> {
    return toHarnessSessionView(await this.own(caller, sessionId));
  }

  /** The caller's own or those of the user, whom super administrators alone may name: pinned first, newest first. */
  async list(caller: Caller, query: HarnessSessionListQuery): Promise<HarnessSessionView[]> {
    const { deleted = false, pageNum = 1, pageSize: limit = LONGEST_PAGE } = query;
    const { userId = caller.userId } = query;
    // As everywhere, what is somebody else's is not there.
    if (userId !== caller.userId && !isSuperAdmin(caller)) return [];
    const page = { deleted, limit, offset: (pageNum - 1) * limit };
    const rows = await this.sessions.page(caller.tenantId, userId, page);
    return rows.map((row) => toHarnessSessionView(row));
  }

  async pin(caller: Caller, sessionId: string, pinned: boolean): Promise<HarnessSessionView> {
    const { tenantId, id } = await this.own(caller, sessionId);
    await this.sessions.setPinned(tenantId, id, pinned);
    return this.detail(caller, sessionId);
  }
}
