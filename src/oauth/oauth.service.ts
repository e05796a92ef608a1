import { Inject, Injectable } from '@nestjs/common';
import {
  isKeyPermission,
  isOffered,
  keyPermissionCatalogue,
  permissionCatalogue,
  readApiKey,
} from '../platform/access/index.js';
import type { Caller, PermissionInfo } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { inTenant } from '../platform/database/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import { localized } from '../platform/http/index.js';
import { english, msg } from '../platform/message/index.js';
import { ApplicationKeys, KEY_SECONDS } from '../apikey/index.js';
import { baseOf, McpResources } from '../mcp-server/index.js';
import { readRequest, resourceOf } from './authorization.js';
import type { AuthorizationRequest } from './authorization.js';
import { OAuthClients } from './oauth.clients.js';
import type { AuthorizationQuery, ConsentDto, RevokeTokenDto, TokenDto } from './oauth.dto.js';
import type { OAuthConnection } from './oauth.entity.js';
import { asciiOf, NoPermissionChosenError, OAuthError } from './oauth.errors.js';
import { OAuthRepository } from './oauth.repository.js';
import { AskedPermissionView, ConsentView, TokenView } from './oauth.view.js';
import { destinationOf, withParameters } from './redirect-uri.js';
import {
  challengeOf,
  digestOf,
  newCode,
  newRefreshToken,
  randomText,
  readCode,
  readRefreshToken,
} from './secrets.js';
import type { ReadCode } from './secrets.js';

/** How long an authorization code is valid. */
const CODE_SECONDS = 120;

/** What a token request led to; `replayed`: its code or refresh token was used before, so that it may be stolen. */
type Outcome = TokenView | 'invalid' | 'replayed';

/** People connect applications with POST /mcp: consents, and the codes and tokens that come of them (OAuth 2.1). */
@Injectable()
export class OAuthService {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly clients: OAuthClients,
    private readonly resources: McpResources,
    private readonly keys: ApplicationKeys,
    private readonly repository: OAuthRepository,
  ) {}

  /** What an application asks the caller for. Throws ClientError if the caller must not be led back to it. */
  async asked(
    caller: Caller,
    query: AuthorizationQuery,
    signal: AbortSignal,
  ): Promise<ConsentView> {
    const request = await this.read(query, signal);
    const permissions = this.grantable(caller, request);
    const { client, redirectUri, fault } = request;
    const problem =
      fault?.problem ??
      (permissions.length === 0
        ? msg`You have none of the permissions that the application asks for. Ask an administrator for them.`
        : undefined);
    return ConsentView.of({
      name: client.name,
      ...destinationOf(redirectUri),
      permissions: permissions.map((info) => AskedPermissionView.of(info)),
      problem: problem ? localized(problem) : null,
    });
  }

  /** The address that answers the application. Approving creates a key with the chosen permissions, which the application fetches. */
  async decide(caller: Caller, body: ConsentDto, signal: AbortSignal): Promise<string> {
    const request = await this.read(body, signal);
    const { redirectUri, state, fault } = request;
    const iss = baseOf(this.config);
    if (fault) {
      const description = asciiOf(english(fault.problem));
      const answer = { error: fault.error, error_description: description, state, iss };
      return withParameters(redirectUri, answer);
    }
    if (!body.approve) return withParameters(redirectUri, { error: 'access_denied', state, iss });
    const code = await this.connect(caller, request, body.permissions ?? []);
    return withParameters(redirectUri, { code, state, iss });
  }

  async token(input: TokenDto): Promise<TokenView> {
    if (input.grant_type === 'authorization_code') return this.exchange(input);
    if (input.grant_type === 'refresh_token') return this.refresh(input);
    throw new OAuthError(
      'unsupported_grant_type',
      'grant_type must be authorization_code or refresh_token.',
    );
  }

  /** Revokes the key of an access token or refresh token (RFC 7009). Any other text is ignored. */
  async revoke({ token, client_id: clientId }: RevokeTokenDto): Promise<void> {
    const refreshToken = readRefreshToken(token);
    const read = refreshToken ?? readApiKey(token);
    const key = read && (await this.keys.named(read.keyId));
    if (!key) return;
    const isRevoked = await this.repository.exclusively(
      key.tenantId,
      key.id,
      async (connection) => {
        if (clientId !== undefined && connection.clientDigest !== digestOf(clientId)) return false;
        if (refreshToken) return connection.familyDigest === digestOf(refreshToken.family);
        return this.keys.hasSecret(key.tenantId, key.id, read.digest);
      },
    );
    if (isRevoked) {
      await inTenant(key.tenantId, () => this.keys.revoke(key.tenantId, key.id, 'application'));
    }
  }

  private async read(
    query: AuthorizationQuery,
    signal: AbortSignal,
  ): Promise<AuthorizationRequest> {
    const client = await this.clients.find(query.client_id, signal);
    return readRequest(query, client, this.resources.all);
  }

  private grantable(caller: Caller, { scopes }: AuthorizationRequest): PermissionInfo[] {
    return [...keyPermissionCatalogue, ...permissionCatalogue].filter(
      (info) =>
        scopes.includes(info.permission) &&
        (isKeyPermission(info.permission) || isOffered(caller, info)),
    );
  }

  private async connect(
    caller: Caller,
    request: AuthorizationRequest,
    permissions: readonly string[],
  ): Promise<string> {
    const { client, redirectUri, resource, challenge, scopes } = request;
    if (permissions.length === 0) throw new NoPermissionChosenError();
    const unasked = permissions.find((one) => !scopes.includes(one));
    if (unasked !== undefined) {
      throw new InvalidInputError(msg`permissions: the application does not ask for ${unasked}.`);
    }
    return this.repository.transaction(caller.tenantId, async () => {
      const { id, keyId } = await this.keys.create(caller, {
        name: client.name,
        host: destinationOf(redirectUri).host,
        permissions,
        firstRenewalSeconds: CODE_SECONDS,
      });
      const code = newCode(keyId);
      await this.repository.connections.insert(caller.tenantId, {
        apiKeyId: id,
        clientDigest: digestOf(client.id),
        redirectUri,
        resource,
        codeDigest: digestOf(code),
        codeChallenge: challenge,
      });
      return code;
    });
  }

  private exchange(input: TokenDto): Promise<TokenView> {
    const code = readCode(input.code ?? '');
    return this.issue(code, input, async (connection) => {
      if (code?.digest !== connection.codeDigest) return 'invalid';
      if (connection.codeUsed) return 'replayed';
      const isProven =
        connection.redirectUri === (input.redirect_uri ?? connection.redirectUri) &&
        connection.codeChallenge === challengeOf(input.code_verifier ?? '');
      return isProven ? this.renewed(connection, code.keyId, randomText()) : 'invalid';
    });
  }

  private refresh(input: TokenDto): Promise<TokenView> {
    const token = readRefreshToken(input.refresh_token ?? '');
    return this.issue(token, input, async (connection) => {
      if (!token || digestOf(token.family) !== connection.familyDigest) return 'invalid';
      if (token.digest !== connection.refreshDigest) return 'replayed';
      return this.renewed(connection, token.keyId, token.family);
    });
  }

  /** Answers tokens, or revokes the key where a code or refresh token has come twice (RFC 9700, 2.2.2 and 4.14.2). */
  private async issue(
    secret: ReadCode | undefined,
    { client_id: clientId, resource }: TokenDto,
    proven: (connection: OAuthConnection) => Promise<Outcome>,
  ): Promise<TokenView> {
    if (clientId === undefined || clientId === '') {
      throw new OAuthError('invalid_client', 'client_id is required.');
    }
    const key = secret && (await this.keys.named(secret.keyId));
    const outcome =
      key &&
      (await this.repository.exclusively(key.tenantId, key.id, async (connection) => {
        if (connection.clientDigest !== digestOf(clientId)) return 'invalid';
        if (resourceOf(resource, [connection.resource]) === undefined) {
          throw new OAuthError('invalid_target', 'resource is not that of the authorization.');
        }
        return proven(connection);
      }));
    if (typeof outcome === 'object') return outcome;
    if (key && outcome === 'replayed') {
      await inTenant(key.tenantId, () => this.keys.revoke(key.tenantId, key.id, 'replay'));
    }
    if (this.clients.isExpired(clientId)) {
      throw new OAuthError('invalid_client', 'The client must register again.');
    }
    throw new OAuthError(
      'invalid_grant',
      'The code or refresh token is not valid, has been used or revoked, or belongs to another client. Authorize again.',
    );
  }

  private async renewed(
    { tenantId, id, apiKeyId }: OAuthConnection,
    keyId: string,
    family: string,
  ): Promise<Outcome> {
    const renewal = await this.keys.renew(tenantId, apiKeyId, keyId);
    if (!renewal) return 'invalid';
    const refreshToken = newRefreshToken(keyId, family);
    await this.repository.connections.update(tenantId, id, {
      codeUsed: true,
      familyDigest: digestOf(family),
      refreshDigest: digestOf(refreshToken),
    });
    return TokenView.of({
      access_token: renewal.key,
      token_type: 'Bearer',
      expires_in: KEY_SECONDS,
      refresh_token: refreshToken,
      scope: renewal.permissions.join(' '),
    });
  }
}
