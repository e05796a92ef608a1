import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../platform/access/index.js';
import { AuditLog } from '../../../platform/audit/index.js';
import { Database } from '../../../platform/database/index.js';
import { NotFoundError } from '../../../platform/error/index.js';
import { SessionService } from '../session/session.service.js';
import { GrantRepository } from '../../store/grant.repository.js';
import { toGrantView } from './grant.view.js';
import type { GrantView } from './grant.view.js';

/** The consents that hold for the rest of a session. APPROVE_SESSION makes them. */
@Injectable()
export class GrantService {
  constructor(
    private readonly grants: GrantRepository,
    private readonly sessions: SessionService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** The grants that hold in one of the caller's sessions. */
  async list(caller: Caller, sessionId: string): Promise<GrantView[]> {
    const { tenantId, id } = await this.sessions.own(caller, sessionId);
    const rows = await this.grants.ofSession(tenantId, id);
    return rows.map(toGrantView);
  }

  /** Takes a grant back; the next such call is asked for again. */
  async revoke(caller: Caller, sessionId: string, grantId: string): Promise<void> {
    const { tenantId, id } = await this.sessions.own(caller, sessionId);
    const key = { tenantId, sessionId: id };
    await this.database.transaction(async () => {
      const revoked = await this.grants.revoke(key, grantId, caller.userId);
      if (!revoked) throw new NotFoundError('The grant');
      await this.audit.record(caller, {
        action: 'revoke',
        target: 'harness_grant',
        id: grantId,
        detail: { sessionId },
      });
    });
  }
}
