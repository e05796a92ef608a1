import { Injectable, Logger } from '@nestjs/common';
import type { BeforeApplicationShutdown } from '@nestjs/common';
import { ALL_PERMISSIONS, CallerResolver } from '../../platform/access/index.js';
import type { Caller, TokenClaims } from '../../platform/access/index.js';
import { LoginSessionRepository } from '../login-session/login-session.repository.js';
import { inTenant, isOutage } from '../../platform/database/index.js';
import type { SignInKey } from '../login-session/login-session.repository.js';
import { UserCallers } from '../user/user.callers.js';

/**
 * Resolves callers from the database with one statement per request. Permissions are read again only after the revision
 * of the tenant has changed.
 */
@Injectable()
export class SessionCallerResolver extends CallerResolver implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SessionCallerResolver.name);
  private readonly renewals = new Map<string, Promise<void>>();

  constructor(
    private readonly sessions: LoginSessionRepository,
    private readonly users: UserCallers,
  ) {
    super();
  }

  override async resolve(claims: TokenClaims): Promise<Caller | undefined> {
    const { sid: id, tenantId, userId, clientid: clientId, exp } = claims;
    const key = { id, tenantId, userId, clientId };
    const session = await inTenant(tenantId, () => this.current(key, exp * 1_000));
    if (session?.renewalDue) inTenant(tenantId, () => this.renew(tenantId, id));
    return session?.caller;
  }

  override async refresh(caller: Caller): Promise<Caller | undefined> {
    const { loginSessionId: id, homeTenantId: tenantId, userId, clientId, validUntil } = caller;
    const key = { id, tenantId, userId, clientId };
    const session = await inTenant(tenantId, () => this.current(key, validUntil));
    return session && { ...session.caller, origin: caller.origin };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.renewals.values());
  }

  private async current(
    key: SignInKey,
    validUntil: number | undefined,
  ): Promise<{ caller: Caller; renewalDue: boolean } | undefined> {
    const state = await this.sessions.state(key);
    if (!state) return undefined;
    const { permissions, roleKeys } = await this.users.grantsOf(key, state.homeRevision);
    const acting = permissions.has(ALL_PERMISSIONS) ? state.actingTenantId : null;
    const caller: Caller = {
      tenantId: acting ?? key.tenantId,
      homeTenantId: key.tenantId,
      userId: key.userId,
      userName: state.userName,
      clientId: key.clientId,
      // JwtStrategy knows the request.
      origin: 'rest',
      inline: {
        thinking: state.inlineThinking,
        sources: state.inlineSources,
        failures: state.inlineFailures,
      },
      loginSessionId: key.id,
      permissions,
      roleKeys,
      revision: (acting === null ? null : state.actingRevision) ?? state.homeRevision,
      validUntil,
    };
    return { caller, renewalDue: state.renewalDue };
  }

  /** Records the activity. The request does not wait for it, and each sign-in has one write at a time. */
  private renew(tenantId: string, id: string): void {
    if (this.renewals.has(id)) return;
    const renewal = this.sessions
      .renew(tenantId, id)
      .catch((error: unknown) => {
        // The next request tries again.
        if (isOutage(error)) return;
        this.logger.warn({ msg: 'Failed to record last activity', err: error });
      })
      .finally(() => this.renewals.delete(id));
    this.renewals.set(id, renewal);
  }
}
