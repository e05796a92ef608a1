import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { canary } from './canary.js';
import { SsoBrowser } from './sso.js';
import type { Session } from './session.js';

interface Grant {
  readonly person: string;
  readonly clientId: string;
  readonly resource: string;
}

interface Code extends Grant {
  readonly challenge: string;
  readonly redirectUri: string;
}

interface TestClient {
  readonly secret?: string | undefined;
  readonly redirectUris: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

interface Reply {
  readonly status?: number;
  readonly location?: string;
  readonly body?: Json;
}

/**
 * An authorization server of the tests' own, which refuses what OAuth 2.1 refuses: clients that it does not know, other redirect
 * addresses, codes without PKCE (RFC 7636) or used twice, and refresh tokens used twice, which end the grant (RFC 9700, 4.14.2). It
 * registers clients (RFC 7591), names itself in answers (RFC 9207) and revokes (RFC 7009).
 */
export class AuthorizationServer {
  /** Who signs in next. */
  person = 'jo';
  /** Fields of the metadata instead of its own; undefined removes one. */
  metadata: Json = {};
  /** Metadata is only at the address of OpenID Connect Discovery. */
  isOpenId = false;
  /** Parameters of the next answers instead of its own; undefined removes one. */
  answers: Readonly<Record<string, string | undefined>> = {};
  /** The error of the next answers to tokens requests. */
  tokenError: string | undefined;
  registrationError: string | undefined;
  /** Seconds for which access tokens are valid. */
  lifetime: number | undefined = 3_600;
  /** Each refresh waits for this. */
  gate: Promise<unknown> = Promise.resolve();
  readonly clients = new Map<string, TestClient>();
  readonly registrations: Json[] = [];
  readonly requests: { readonly path: string; readonly body: URLSearchParams }[] = [];
  private readonly codes = new Map<string, Code>();
  private readonly refreshTokens = new Map<string, Grant>();
  private readonly usedTokens = new Map<string, Grant>();
  private readonly accessTokens = new Map<string, Grant>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer((request, response) => {
      this.reply(request)
        .then(({ status = 200, location, body }) => {
          const type = { 'content-type': 'application/json' };
          response.writeHead(status, { ...(body && type), ...(location && { location }) });
          response.end(body && JSON.stringify(body));
        })
        .catch(() => response.destroy());
    });
  }

  static async start(): Promise<AuthorizationServer> {
    const server = new AuthorizationServer();
    await new Promise<void>((resolve) => server.server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  reset(): void {
    Object.assign(this, { person: 'jo', metadata: {}, isOpenId: false, answers: {} });
    Object.assign(this, { tokenError: undefined, registrationError: undefined, lifetime: 3_600 });
    this.clients.clear();
    this.registrations.length = 0;
    this.requests.length = 0;
  }

  /** Who the token is for; undefined for one that is not valid at the resource. */
  personOf(token: string, resource: string): string | undefined {
    const grant = this.accessTokens.get(token);
    return grant?.resource === resource ? grant.person : undefined;
  }

  /** Ends access tokens before their time. */
  expireAccess(): void {
    this.accessTokens.clear();
  }

  /** The token requests with the grant type. */
  grantsOf(type: string): URLSearchParams[] {
    return this.requests
      .filter(({ path, body }) => path === '/token' && body.get('grant_type') === type)
      .map(({ body }) => body);
  }

  private async reply(request: IncomingMessage): Promise<Reply> {
    const url = new URL(request.url ?? '/', this.url);
    const metadataPath = this.isOpenId
      ? '/.well-known/openid-configuration'
      : '/.well-known/oauth-authorization-server';
    if (url.pathname === metadataPath) return { body: this.describe() };
    if (url.pathname === '/authorize') return this.authorize(url);
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (url.pathname === '/register') return this.register(JSON.parse(text) as Json);
    const body = new URLSearchParams(text);
    this.requests.push({ path: url.pathname, body });
    const client = this.clientOf(request, body);
    if (client === undefined) return { status: 401, body: { error: 'invalid_client' } };
    if (url.pathname === '/revoke') {
      this.refreshTokens.delete(body.get('token') ?? '');
      return {};
    }
    if (url.pathname !== '/token') return { status: 404 };
    if (body.get('grant_type') === 'refresh_token') await this.gate;
    const grant = this.tokenError ?? this.grantOf(client, body);
    if (typeof grant === 'string') return { status: 400, body: { error: grant } };
    return { body: this.issue(grant, body.get('grant_type') !== 'client_credentials') };
  }

  private describe(): Json {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      registration_endpoint: `${this.url}/register`,
      revocation_endpoint: `${this.url}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      ...(this.isOpenId && {
        jwks_uri: `${this.url}/keys`,
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      }),
      ...this.metadata,
    };
  }

  private authorize(url: URL): Reply {
    const query = url.searchParams;
    const clientId = query.get('client_id') ?? '';
    const redirectUri = query.get('redirect_uri') ?? '';
    const challenge = query.get('code_challenge') ?? '';
    const resource = query.get('resource') ?? '';
    const isKnown = this.clients.get(clientId)?.redirectUris.includes(redirectUri) === true;
    const hasPkce = challenge !== '' && query.get('code_challenge_method') === 'S256';
    if (!isKnown || !hasPkce || query.get('response_type') !== 'code') {
      return { status: 400, body: { error: 'invalid_request' } };
    }
    const code = secretText('code');
    this.codes.set(code, { person: this.person, clientId, resource, challenge, redirectUri });
    const target = new URL(redirectUri);
    const values = { code, state: query.get('state') ?? '', iss: this.url, ...this.answers };
    for (const [name, value] of Object.entries(values)) {
      if (value !== undefined) target.searchParams.set(name, value);
    }
    return { status: 302, location: target.href };
  }

  private register(metadata: Json): Reply {
    this.registrations.push(metadata);
    if (this.registrationError !== undefined) {
      return { status: 400, body: { error: this.registrationError } };
    }
    const clientId = `client-${this.registrations.length}-${randomBytes(4).toString('hex')}`;
    this.clients.set(clientId, { redirectUris: metadata['redirect_uris'] as string[] });
    return { status: 201, body: { ...metadata, client_id: clientId } };
  }

  private clientOf(request: IncomingMessage, body: URLSearchParams): string | undefined {
    const [scheme, text = ''] = (request.headers.authorization ?? '').split(' ');
    const [id = '', password] =
      scheme === 'Basic' ? Buffer.from(text, 'base64').toString().split(':') : [];
    const clientId = scheme === 'Basic' ? decodeURIComponent(id) : (body.get('client_id') ?? '');
    const secret =
      password === undefined ? body.get('client_secret') : decodeURIComponent(password);
    const client = this.clients.get(clientId);
    return client && (client.secret ?? null) === secret ? clientId : undefined;
  }

  /** The grant of a request for tokens, or the error that it is refused with. */
  private grantOf(clientId: string, body: URLSearchParams): Grant | string {
    const resource = body.get('resource') ?? '';
    switch (body.get('grant_type')) {
      case 'authorization_code': {
        const code = this.codes.get(body.get('code') ?? '');
        this.codes.delete(body.get('code') ?? '');
        const verifier = createHash('sha256').update(body.get('code_verifier') ?? '');
        const isRight =
          code?.clientId === clientId &&
          code.redirectUri === body.get('redirect_uri') &&
          code.challenge === verifier.digest('base64url') &&
          code.resource === resource;
        return isRight ? code : 'invalid_grant';
      }
      case 'refresh_token': {
        const token = body.get('refresh_token') ?? '';
        const grant = this.refreshTokens.get(token);
        this.refreshTokens.delete(token);
        // A token that comes a second time was stolen: what has been issued since is void, too.
        const reused = this.usedTokens.get(token);
        if (reused) this.endGrant(reused);
        if (grant) this.usedTokens.set(token, grant);
        return grant?.clientId === clientId && grant.resource === resource
          ? grant
          : 'invalid_grant';
      }
      case 'client_credentials':
        return { person: clientId, clientId, resource };
      default:
        return 'unsupported_grant_type';
    }
  }

  private endGrant({ person, clientId }: Grant): void {
    for (const tokens of [this.refreshTokens, this.accessTokens]) {
      for (const [token, grant] of tokens) {
        if (grant.person === person && grant.clientId === clientId) tokens.delete(token);
      }
    }
  }

  private issue(grant: Grant, isRefreshable: boolean): Json {
    const accessToken = secretText('access');
    const refreshToken = secretText('refresh');
    this.accessTokens.set(accessToken, grant);
    if (isRefreshable) this.refreshTokens.set(refreshToken, grant);
    return {
      access_token: accessToken,
      token_type: 'Bearer',
      ...(this.lifetime !== undefined && { expires_in: this.lifetime }),
      ...(isRefreshable && { refresh_token: refreshToken }),
    };
  }
}

/** A browser that connects accounts of tool servers. */
export class AccountBrowser extends SsoBrowser {
  /** The whole way of a signed-in user; answers the page that was opened at the end. */
  async connectAccount(session: Session, serverId: number, returnTo = '/account'): Promise<URL> {
    return this.open(await this.open(await this.beginAccount(session, serverId, returnTo)));
  }

  /** The address of the authorization server. */
  async beginAccount(session: Session, serverId: number, returnTo = '/account'): Promise<URL> {
    return this.begin(session, `/mcp/account/${serverId}/connect`, { returnTo });
  }
}

function secretText(kind: string): string {
  const text = `${kind}-${randomBytes(16).toString('hex')}`;
  canary.protect(`${kind} token`, text);
  return text;
}
