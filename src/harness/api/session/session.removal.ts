import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { RunEnding } from '../../engine/run.ending.js';
import { SessionRepository } from '../../store/session.repository.js';
import { SessionService } from './session.service.js';
import type { HarnessSessionView } from './session.view.js';

/** Hides sessions and brings them back. */
@Injectable()
export class SessionRemoval {
  constructor(
    private readonly service: SessionService,
    private readonly sessions: SessionRepository,
    private readonly ending: RunEnding,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Hides the session, then cancels its unfinished run. Asked again, it cancels what is still unfinished. */
  async remove(caller: Caller, sessionId: string): Promise<HarnessSessionView> {
    const { tenantId } = await this.service.own(caller, sessionId);
    await this.database.transaction(async () => {
      if (!(await this.sessions.setDeleted(tenantId, sessionId, true))) return;
      await this.record(caller, 'delete', sessionId);
    });
    // Only now: a run's row is locked before its session's. No new run begins in a session that is deleted.
    const { activeRunId } = await this.service.own(caller, sessionId);
    if (activeRunId) {
      await this.ending.requestCancel(caller, { tenantId, id: activeRunId });
    }
    return this.service.detail(caller, sessionId);
  }

  /** Brings a deleted session back, with its runs as they ended. */
  async restore(caller: Caller, sessionId: string): Promise<HarnessSessionView> {
    const { tenantId } = await this.service.own(caller, sessionId);
    await this.database.transaction(async () => {
      if (!(await this.sessions.setDeleted(tenantId, sessionId, false))) return;
      await this.record(caller, 'update', sessionId);
    });
    return this.service.detail(caller, sessionId);
  }

  private async record(caller: Caller, action: 'delete' | 'update', id: string): Promise<void> {
    const detail = action === 'update' ? { detail: { fields: ['deletedAt'] } } : {};
    await this.audit.record(caller, { action, target: 'harness_session', id, ...detail });
  }
}
