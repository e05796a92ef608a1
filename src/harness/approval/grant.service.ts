import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/index.js';
import { AuditLog } from '../../audit/index.js';
import { Database } from '../../database/index.js';
import { NotFoundError } from '../../error/index.js';
import { sha256 } from '../protocol/ids.js';
import { SessionService } from '../session/session.service.js';
import type { GrantKind } from './approval.values.js';
import { GrantRepository } from './grant.repository.js';
import type { GrantKey } from './grant.repository.js';
import { toGrantView } from './grant.view.js';
import type { GrantView } from './grant.view.js';

/** What people have granted for one session, as it was when it was asked for. */
export class Grants {
  private readonly keys: ReadonlySet<string>;

  constructor(granted: readonly { readonly kind: GrantKind; readonly subjectHash: string }[]) {
    this.keys = new Set(granted.map(({ kind, subjectHash }) => `${kind} ${subjectHash}`));
  }

  /** Whether this very path, as tools normalise it, may be written. */
  path(path: string): boolean {
    return this.has('PATH', path);
  }

  /** Whether this command, character for character, may be run. */
  command(command: string): boolean {
    return this.has('COMMAND', command);
  }

  private has(kind: GrantKind, subject: string): boolean {
    return this.keys.has(`${kind} ${sha256(subject)}`);
  }
}

/** The consents that hold for the rest of a session. APPROVE_SESSION makes them. */
@Injectable()
export class GrantService {
  constructor(
    private readonly grants: GrantRepository,
    private readonly sessions: SessionService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Read anew for each decision, so that what was taken back no longer counts. */
  async of({ tenantId, sessionId }: GrantKey): Promise<Grants> {
    return new Grants(await this.grants.ofSession(tenantId, sessionId));
  }

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
