import { UUID } from '../../platform/http/index.js';
import { Injectable, Logger } from '@nestjs/common';
import { jwtVerify } from 'jose';
import * as oidc from 'openid-client';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { inTenant } from '../../platform/database/index.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import { OidcConnections } from './oidc.connections.js';
import { summaryOf } from './oidc.failure.js';
import type { SsoProvider, SsoSession } from './sso.entity.js';
import { InvalidLogoutTokenError } from './sso.errors.js';
import { SsoFlows } from './sso.flows.js';
import { SsoRepository } from './sso.repository.js';
import { SsoUsers } from './sso.users.js';
import { SsoVault } from './sso.vault.js';

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Asymmetric algorithms, whose signatures the keys of the provider verify. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const OLDEST_SECONDS = 600;
const CLOCK_SECONDS = 30;

/** Claims of a logout token by OpenID Connect Back-Channel Logout 1.0, 2.4 and 2.6. */
const logoutClaims = z
  .object({
    jti: z.string().min(1).max(500),
    sub: z.string().optional(),
    sid: z.string().optional(),
    events: z.looseObject({ [EVENT]: z.looseObject({}) }),
    nonce: z.undefined().optional(),
  })
  .refine(({ sub, sid }) => sub !== undefined || sid !== undefined);

/** Signs out here when a provider says so, and at the provider when a user signs out here. */
@Injectable()
export class SsoLogout {
  private readonly logger = new Logger(SsoLogout.name);

  constructor(
    private readonly rows: SsoRepository,
    private readonly connections: OidcConnections,
    private readonly flows: SsoFlows,
    private readonly vault: SsoVault,
    private readonly ssoUsers: SsoUsers,
    private readonly sessions: LoginSessionService,
  ) {}

  /** Ends the login sessions that the token names, and their open streams. Throws InvalidLogoutTokenError with the cause. */
  async byProvider(publicId: string, token: string): Promise<void> {
    const tenantId = UUID.test(publicId) ? await this.rows.tenantOf(publicId) : undefined;
    const provider =
      tenantId === undefined
        ? null
        : await inTenant(tenantId, () => this.rows.providers.findOne(tenantId, { publicId }));
    if (!provider) throw new InvalidLogoutTokenError();
    const { sub: subject, sid, jti } = await this.verified(provider, token);
    if (!(await this.flows.useToken(provider.id, jti))) throw new InvalidLogoutTokenError();
    await this.ssoUsers.endSessions(provider, { subject, sid });
  }

  /** Ends the sign-in of the caller. Returns the address that ends it at the provider too; null if there is none. */
  async byCaller(caller: Caller, returnTo: string): Promise<string | null> {
    const { homeTenantId: tenantId, loginSessionId } = caller;
    const session = await inTenant(tenantId, () => this.rows.sessionOf(tenantId, loginSessionId));
    const address = session && (await inTenant(tenantId, () => this.addressOf(session, returnTo)));
    await this.sessions.signOut(caller);
    return address;
  }

  private async addressOf(session: SsoSession, returnTo: string): Promise<string | null> {
    const { tenantId, loginSessionId, identityId, idToken } = session;
    const identity = await this.rows.identities.get(tenantId, identityId);
    const provider = await this.rows.providers.get(tenantId, identity.providerId);
    try {
      const { configuration } = await this.connections.of(provider);
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      const hint = idToken && this.vault.open(tenantId, 'sso_session', loginSessionId, idToken);
      const address = oidc.buildEndSessionUrl(configuration, {
        post_logout_redirect_uri: returnTo,
        ...(hint && { id_token_hint: hint }),
      });
      await this.ssoUsers.leave(provider, identityId);
      return address.href;
    } catch (error) {
      // Signing out here does not depend on the provider.
      const details = { tenant: tenantId, provider: provider.id, error: summaryOf(error) };
      this.logger.warn({ msg: 'Failed to prepare sign-out at provider', ...details });
      return null;
    }
  }

  private async verified(
    provider: SsoProvider,
    token: string,
  ): Promise<z.output<typeof logoutClaims>> {
    try {
      const { configuration, keys } = await this.connections.of(provider);
      const { payload } = await jwtVerify(token, keys, {
        issuer: configuration.serverMetadata().issuer,
        audience: provider.clientId,
        algorithms: ALGORITHMS,
        requiredClaims: ['iat', 'jti', 'events'],
        maxTokenAge: OLDEST_SECONDS,
        clockTolerance: CLOCK_SECONDS,
      });
      return logoutClaims.parse(payload);
    } catch (error) {
      const { tenantId: tenant, id } = provider;
      const details = { tenant, provider: id, error: summaryOf(error) };
      this.logger.warn({ msg: 'Logout token refused', ...details });
      throw new InvalidLogoutTokenError(error);
    }
  }
}
