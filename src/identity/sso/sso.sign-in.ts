import { Injectable, Logger } from '@nestjs/common';
import * as oidc from 'openid-client';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { Database, inTenant } from '../../platform/database/index.js';
import { UUID } from '../../platform/http/index.js';
import type { Client } from '../client/client.entity.js';
import { ClientRepository } from '../client/client.repository.js';
import { LoginSessionService } from '../login-session/login-session.service.js';
import type { SignInOrigin } from '../login-session/login-session.service.js';
import { LoginRefusedError } from '../password/passwords.js';
import { toLoginView } from '../sign-in/login.dto.js';
import type { LoginView } from '../sign-in/login.dto.js';
import { HOME_TENANT } from '../role/role.entity.js';
import { tenantProblem } from '../tenant/tenant.entity.js';
import { TenantRepository } from '../tenant/tenant.repository.js';
import { UserRepository } from '../user/user.repository.js';
import { identityClaim, userNameOf, valuesOf } from './claims.js';
import type { Claims } from './claims.js';
import { OidcConnections } from './oidc.connections.js';
import { refusedBy, summaryOf } from './oidc.failure.js';
import type { SsoProvider } from './sso.entity.js';
import { SsoRefusedError } from './sso.errors.js';
import type { SsoRefusal } from './sso.errors.js';
import { digest, randomText, SsoFlows } from './sso.flows.js';
import type { Connecting, StartedFlow } from './sso.flows.js';
import { SsoRepository } from './sso.repository.js';
import { SsoGroups } from './sso.groups.js';
import { SsoUsers } from './sso.users.js';
import { SsoVault } from './sso.vault.js';
import { addressesOf } from './sso.view.js';
import type { SsoChoicesView, SsoConnectionView } from './sso.view.js';

/** The grant type of clients that may sign users in by a provider. */
const GRANT_TYPE = 'social';
const ENABLED = '0';
const MAX_SID_CHARS = 255;

/** The address of this service and the browser of a sign-in. */
export interface SsoContext {
  /** The address of the API, without a final slash. */
  readonly base: string;
  /** The value of the browser's cookie. */
  readonly browser: string | undefined;
}

interface Answered {
  /** The code for the console; undefined if a signed-in user was connected. */
  readonly code: string | undefined;
  readonly returnTo: string;
}

/** The parameters that start a sign-in or a connection. */
interface Beginning {
  readonly clientId: string;
  readonly returnTo: string;
  /** The signed-in user who is to be connected; undefined for a sign-in. */
  readonly user?: Connecting & { readonly tenantId: string };
}

/** A refused sign-in and the page that it would have opened. */
export interface RefusedSignIn {
  readonly refusal: SsoRefusedError;
  readonly returnTo: string;
  /** The tenant; undefined for an unknown sign-in. */
  readonly tenantId?: string;
  /** Whether the user is signed in, and wanted to be connected. */
  readonly isSignedIn?: boolean;
}

interface Vouched {
  readonly claims: Claims;
  readonly subject: string;
  readonly tokens: oidc.TokenEndpointResponse;
  /** The user has groups that the provider does not list. */
  readonly isOverage: boolean;
}

/** Signs users in by OpenID Connect: the authorization code flow with PKCE, state and nonce. */
@Injectable()
export class SsoSignIn {
  private readonly logger = new Logger(SsoSignIn.name);

  constructor(
    private readonly rows: SsoRepository,
    private readonly connections: OidcConnections,
    private readonly groups: SsoGroups,
    private readonly flows: SsoFlows,
    private readonly vault: SsoVault,
    private readonly ssoUsers: SsoUsers,
    private readonly clients: ClientRepository,
    private readonly tenants: TenantRepository,
    private readonly users: UserRepository,
    private readonly sessions: LoginSessionService,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** The choices of the tenant's sign-in page; empty for a tenant that is missing, disabled or expired. */
  async choices(tenantId = HOME_TENANT): Promise<SsoChoicesView> {
    const tenant = await this.tenants.byTenantId(tenantId);
    if (!tenant || tenantProblem(tenant, new Date()) !== undefined) {
      return { passwordLogin: true, providers: [] };
    }
    const providers = await inTenant(tenantId, () =>
      this.rows.providers.choices(tenantId, { status: ENABLED }, { name: 'ASC', id: 'ASC' }),
    );
    return {
      passwordLogin: tenant.passwordLogin,
      providers: providers.map(({ publicId: id, name }) => ({ id, name })),
    };
  }

  /** The providers of the user's tenant, and which of them sign the user in. */
  async connectionsOf({ homeTenantId, userId }: Caller): Promise<SsoConnectionView[]> {
    return inTenant(homeTenantId, async () => {
      const [{ providers }, identities] = await Promise.all([
        this.choices(homeTenantId),
        this.rows.connected(homeTenantId, userId),
      ]);
      return providers.map((one) => ({ ...one, connected: identities.includes(one.id) }));
    });
  }

  /** The address of the provider to go to, for the browser that the text names from now on. */
  async start(
    publicId: string,
    { user, ...input }: Beginning,
    context: SsoContext,
  ): Promise<{ readonly address: URL; readonly browser: string }> {
    await this.clientOf(input.clientId);
    const provider = await this.providerOf(publicId);
    if (user && user.tenantId !== provider.tenantId) throw new SsoRefusedError('provider');
    const { configuration } = await this.connections.of(provider).catch((error: unknown) => {
      throw this.reported(provider, error);
    });
    const browser = context.browser ?? randomText();
    const state = oidc.randomState();
    const nonce = oidc.randomNonce();
    const verifier = oidc.randomPKCECodeVerifier();
    await this.flows.begin(state, {
      ...input,
      tenantId: provider.tenantId,
      publicId,
      nonce,
      verifier,
      browser: digest(browser),
      connects: user && { userId: user.userId, loginSessionId: user.loginSessionId },
    });
    const address = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: addressesOf(context.base, publicId).redirectUri,
      scope: provider.scopes,
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { address, browser };
  }

  /** The answer of the provider, in the query of its redirect: a code for the console, or why there is none. */
  async answer(
    publicId: string,
    query: URLSearchParams,
    context: SsoContext,
  ): Promise<Answered | RefusedSignIn> {
    const state = query.get('state') ?? '';
    const flow = await this.flows.takeStarted(state);
    if (flow?.publicId !== publicId || !isSameBrowser(flow, context)) {
      return { refusal: new SsoRefusedError('expired'), returnTo: '/' };
    }
    const { returnTo, tenantId, connects } = flow;
    try {
      const client = await this.clientOf(flow.clientId);
      const provider = await this.providerOf(publicId);
      const code = await inTenant(provider.tenantId, () =>
        this.settle(provider, client, flow, { query, state, base: context.base }),
      );
      return { code, returnTo };
    } catch (error) {
      const refusal = refusedBy(error);
      if (!refusal) throw error;
      const isSignedIn = connects !== undefined && refusal.refusal !== 'signed-out';
      return { refusal, returnTo, tenantId, isSignedIn };
    }
  }

  /** The token of a sign-in that was answered, for the browser that began it. */
  async exchange(
    { code, clientId }: { readonly code: string; readonly clientId: string },
    context: Pick<SsoContext, 'browser'>,
    origin: SignInOrigin,
  ): Promise<LoginView> {
    const flow = await this.flows.takeAnswered(code);
    if (flow?.clientId !== clientId || !isSameBrowser(flow, context)) {
      throw new SsoRefusedError('expired');
    }
    const client = await this.clientOf(clientId);
    const { tenantId, providerId, userId, identityId, sid, idToken } = flow;
    const token = await this.database.transactionIn(tenantId, async () => {
      // Disabling or deleting the provider waits for this sign-in, and ends it.
      if (!(await this.rows.lockEnabled(tenantId, providerId))) {
        throw new SsoRefusedError('provider');
      }
      const user = await this.users.users.findOne(tenantId, { id: userId, status: ENABLED });
      const identity = await this.rows.identities.findOne(tenantId, { id: identityId, userId });
      if (!user || !identity) throw new SsoRefusedError('disabled');
      const opened = await this.sessions
        .open(user, client, { ...origin, ssoProvider: providerId })
        .catch((error: unknown) => {
          throw error instanceof LoginRefusedError ? new SsoRefusedError('disabled', error) : error;
        });
      const { id: loginSessionId } = opened;
      const plain = this.vault.open(tenantId, 'sso_identity', identityId, idToken);
      await this.rows.addSession(tenantId, {
        loginSessionId,
        identityId,
        sid,
        idToken: plain ? this.vault.seal(tenantId, 'sso_session', loginSessionId, plain) : null,
      });
      return opened.token;
    });
    return toLoginView(token, client);
  }

  /** Checks the answer and makes the user what it says. Writes to the audit log why it is refused. Returns the code of a sign-in. */
  private async settle(
    provider: SsoProvider,
    client: Client,
    flow: StartedFlow,
    answer: { readonly query: URLSearchParams; readonly state: string; readonly base: string },
  ): Promise<string | undefined> {
    const { tenantId, id: providerId } = provider;
    let claims: Claims = {};
    try {
      const vouched = await this.vouched(provider, flow, answer);
      ({ claims } = vouched);
      if (flow.connects !== undefined) {
        await this.ssoUsers.connect(provider, vouched, flow.connects);
        return undefined;
      }
      const { identityId, userId } = await this.ssoUsers.signedIn(provider, vouched);
      return await this.flows.answer({
        tenantId,
        providerId,
        identityId,
        userId,
        clientId: client.clientId,
        browser: flow.browser,
        sid: identityClaim(claims, 'sid', MAX_SID_CHARS) ?? null,
        idToken: this.vault.seal(
          tenantId,
          'sso_identity',
          identityId,
          vouched.tokens.id_token ?? '',
        ),
      });
    } catch (error) {
      const refusal = this.reported(provider, error);
      if (!(refusal instanceof SsoRefusedError)) throw refusal;
      const { refusal: reason } = refusal;
      if (flow.connects === undefined) {
        const detail = { clientKey: client.clientKey, ssoProvider: providerId, reason };
        await this.recordFailure(tenantId, claims, detail);
      } else await this.recordUnconnected(tenantId, flow.connects.userId, { providerId, reason });
      throw refusal;
    }
  }

  /** A failed sign-in, under the name that the user has at the provider. */
  private async recordFailure(tenantId: string, claims: Claims, detail: object): Promise<void> {
    const userName = typeof claims['sub'] === 'string' ? userNameOf(claims, claims['sub']) : '';
    await this.audit.record(
      { tenantId, ...(userName && { userName }) },
      { action: 'login-failed', target: 'user', detail: { ...detail } },
    );
  }

  /** A refused connection, under the signed-in user: it is no sign-in of the person at the provider. */
  private async recordUnconnected(
    tenantId: string,
    id: number,
    { providerId, reason }: { readonly providerId: number; readonly reason: SsoRefusal },
  ): Promise<void> {
    const user = await this.users.users.findOne(tenantId, { id });
    const actor = user ? { userId: id, userName: user.userName } : {};
    const detail = { ssoProvider: providerId, connected: false, reason };
    await this.audit.record(
      { tenantId, ...actor },
      { action: 'update', target: 'user', id, detail },
    );
  }

  /** The claims of the provider about the user. Throws SsoRefusedError for an invalid answer. */
  private async vouched(
    provider: SsoProvider,
    flow: StartedFlow,
    { query, state, base }: { query: URLSearchParams; state: string; base: string },
  ): Promise<Vouched> {
    const { configuration } = await this.connections.of(provider);
    const { redirectUri } = addressesOf(base, provider.publicId);
    const tokens = await oidc.authorizationCodeGrant(
      configuration,
      new URL(`${redirectUri}?${query.toString()}`),
      {
        expectedState: state,
        expectedNonce: flow.nonce,
        pkceCodeVerifier: flow.verifier,
        idTokenExpected: true,
      },
    );
    const idToken: Claims = tokens.claims() ?? {};
    const subject = identityClaim(idToken, 'sub', MAX_SID_CHARS);
    if (subject === undefined) throw new SsoRefusedError('invalid');
    const verified = await this.withUserInfo(provider, { claims: idToken, subject, tokens });
    const { claims, isOverage } = await this.groups.complete(
      provider,
      verified,
      tokens.access_token,
    );
    return { claims, subject, tokens, isOverage };
  }

  /** Some providers keep id tokens small: groups and names are read from their userinfo endpoint where they lack. */
  private async withUserInfo(
    { groupsClaim, ...provider }: SsoProvider,
    { claims, subject, tokens }: Omit<Vouched, 'isOverage'>,
  ): Promise<Claims> {
    const { configuration } = await this.connections.of({ groupsClaim, ...provider });
    const lacks =
      (groupsClaim !== null && valuesOf(claims, groupsClaim).length === 0) ||
      (claims['preferred_username'] === undefined && claims['email'] === undefined);
    if (!lacks || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const info = await oidc.fetchUserInfo(configuration, tokens.access_token, subject);
    return { ...info, ...claims };
  }

  private async clientOf(clientId: string): Promise<Client> {
    const client = await this.clients.byClientId(clientId);
    if (client?.status !== ENABLED || !client.grantType.split(',').includes(GRANT_TYPE)) {
      throw new SsoRefusedError('client');
    }
    return client;
  }

  /** An enabled provider of a tenant whose users can sign in. */
  private async providerOf(publicId: string): Promise<SsoProvider> {
    const tenantId = UUID.test(publicId) ? await this.rows.tenantOf(publicId) : undefined;
    if (tenantId === undefined) throw new SsoRefusedError('provider');
    const provider = await inTenant(tenantId, () =>
      this.rows.providers.findOne(tenantId, { publicId }),
    );
    if (provider?.status !== ENABLED) throw new SsoRefusedError('provider');
    const tenant = await this.tenants.byTenantId(tenantId);
    if (!tenant || tenantProblem(tenant, new Date()) !== undefined) {
      throw new SsoRefusedError('tenant');
    }
    return provider;
  }

  /** The refusal that a failure means, logged with its cause; a failure of this service unchanged. */
  private reported({ id, tenantId: tenant }: SsoProvider, error: unknown): unknown {
    const refusal = refusedBy(error);
    if (!refusal) return error;
    const reason = { reason: refusal.refusal, error: summaryOf(refusal.cause) };
    this.logger.warn({ msg: 'Sign-in by a provider refused', tenant, provider: id, ...reason });
    return refusal;
  }
}

function isSameBrowser(
  flow: { readonly browser: string },
  { browser }: Pick<SsoContext, 'browser'>,
): boolean {
  return browser !== undefined && flow.browser === digest(browser);
}
