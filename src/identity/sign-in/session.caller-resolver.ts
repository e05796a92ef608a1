import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { ALL_PERMISSIONS, CallerResolver } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { inTenant } from '../../platform/database/index.js';
import { UnauthenticatedError } from '../../platform/error/index.js';
import { UserGrants } from '../user/user.grants.js';
import { LoginSessionRepository } from './login-session.repository.js';
import type { SignInKey } from './login-session.repository.js';
import { LoginTokens } from './login-token.js';

/**
 * Resolves callers from the database, with one statement a request; permissions are read again only
 * when the tenant's revision has moved.
 */
@Injectable()
export class SessionCallerResolver extends CallerResolver implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SessionCallerResolver.name);
  private readonly renewals = new Map<string, Promise<void>>();

  constructor(
    private readonly tokens: LoginTokens,
    private readonly sessions: LoginSessionRepository,
    private readonly grants: UserGrants,
  ) {
    super();
  }

  override async resolve(token: string, clientId: string): Promise<Caller> {
    const claims = await this.tokens.read(token);
    if (claims?.clientid !== clientId) throw new UnauthenticatedError();
    const { sid: id, tenantId, userId } = claims;
    const key = { id, tenantId, userId, clientId };
    const found = await inTenant(tenantId, () => this.current(key));
    if (!found) throw new UnauthenticatedError();
    if (found.renewalDue) inTenant(tenantId, () => this.renew(tenantId, id));
    return found.caller;
  }

  override async refresh(caller: Caller): Promise<Caller | undefined> {
    const { loginSessionId: id, homeTenantId: tenantId, userId, clientId } = caller;
    const key = { id, tenantId, userId, clientId };
    const found = await inTenant(tenantId, () => this.current(key));
    return found?.caller;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.renewals.values());
  }

  private async current(
    key: SignInKey,
  ): Promise<{ caller: Caller; renewalDue: boolean } | undefined> {
    const state = await this.sessions.state(key);
    if (!state) return undefined;
    const { permissions, roleKeys } = await this.grants.of(key, state.homeRevision);
    const acting = permissions.has(ALL_PERMISSIONS) ? state.actingTenantId : null;
    const caller: Caller = {
      tenantId: acting ?? key.tenantId,
      homeTenantId: key.tenantId,
      userId: key.userId,
      userName: state.userName,
      clientId: key.clientId,
      loginSessionId: key.id,
      permissions,
      roleKeys,
      revision: (acting === null ? null : state.actingRevision) ?? state.homeRevision,
    };
    return { caller, renewalDue: state.renewalDue };
  }

  /** Not awaited by the request; one write at a time for each sign-in. */
  private renew(tenantId: string, id: string): void {
    if (this.renewals.has(id)) return;
    const renewal = this.sessions
      .renew(tenantId, id)
      .catch((error: unknown) => {
        // The next request tries again.
        this.logger.warn({ msg: 'An activity could not be written down', err: error });
      })
      .finally(() => this.renewals.delete(id));
    this.renewals.set(id, renewal);
  }
}
