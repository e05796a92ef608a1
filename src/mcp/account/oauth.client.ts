import { Injectable } from '@nestjs/common';
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { authenticationOf } from '../../identity/index.js';
import { libraryFetch, OutboundHttp } from '../../platform/outbound/index.js';
import type { Challenge } from '../mcp-client.js';
import type { AccountTokens } from './account.entity.js';
import { AuthorizationServerError } from './account.errors.js';
import { msg } from '../../platform/message/index.js';

const CALL_TIMEOUT_SECONDS = 10;
/** Far more than the documents of authorization servers, which have some kilobytes. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_CACHED_COUNT = 200;
const CACHE_MS = 600_000;

/** What Plinth is to an authorization server. */
export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** How it authenticates, as its registration says; default: by what the server supports. */
  readonly method?: string | undefined;
  /** An administrator has entered it. */
  readonly isEntered?: true;
}

/** How Plinth introduces itself to authorization servers that do not know it. */
export interface ClientIntroduction {
  readonly redirectUri: string;
  /** The address of the client id metadata document; undefined if the world cannot read it. */
  readonly documentAddress: string | undefined;
}

/** Where tokens for a tool server come from. */
export interface Authorization {
  readonly server: AuthorizationServerMetadata;
  /** The resource indicator (RFC 8707). */
  readonly resource: string;
  /** The scope to ask for, as the tool server says. */
  readonly scope: string | undefined;
}

export interface ReceivedTokens {
  readonly tokens: AccountTokens;
  readonly expireTime: Date | null;
}

/**
 * The client of OAuth 2.1 for tool servers, as MCP 2025-11-25 and 2026-07-28 describe it (Authorization). Discovery and registration
 * by the SDK of MCP, grants by openid-client, which checks `iss` (RFC 9207); all requests through OutboundHttp.
 */
@Injectable()
export class OAuthClients {
  private readonly fetch: ReturnType<typeof libraryFetch>;
  private readonly servers = new LRUCache<string, AuthorizationServerMetadata>({
    max: MAX_CACHED_COUNT,
    ttl: CACHE_MS,
  });

  constructor(private readonly http: OutboundHttp) {
    const limitMs = CALL_TIMEOUT_SECONDS * 1_000;
    // The SDK follows redirects within an origin, and no others.
    this.fetch = libraryFetch(http, { limitMs, maxBytes: MAX_ANSWER_BYTES, redirect: 'answer' });
  }

  /**
   * Finds the authorization server of a tool server by its protected-resource metadata (RFC 9728) and the metadata of the former (RFC
   * 8414, OpenID Connect Discovery). Rejects with AuthorizationServerError, or the error of the SDK or of OutboundHttp.
   */
  async discover(
    address: string,
    challenge: Challenge,
    signal: AbortSignal,
  ): Promise<Authorization> {
    const sdk = await import('@modelcontextprotocol/client');
    const { resourceMetadataUrl } = challenge;
    const { authorizationServerMetadata, resourceMetadata } = await sdk.discoverOAuthServerInfo(
      address,
      {
        ...(resourceMetadataUrl && { resourceMetadataUrl }),
        fetchFn: (url, init) => this.fetch(url, { ...init, signal }),
      },
    );
    if (!authorizationServerMetadata) {
      throw new AuthorizationServerError(
        msg`the tool server names none with metadata (RFC 9728, RFC 8414)`,
      );
    }
    const canonical = sdk.resourceUrlFromServerUrl(address);
    const configuredResource = resourceMetadata?.resource ?? canonical.href;
    if (!sdk.checkResourceAllowed({ requestedResource: canonical, configuredResource })) {
      throw new AuthorizationServerError(
        msg`the metadata of the tool server is that of another resource, ${configuredResource}`,
      );
    }
    const server = authorizationServerMetadata;
    this.servers.set(server.issuer, server);
    const scopes = challenge.scope?.split(' ') ?? resourceMetadata?.scopes_supported ?? [];
    const isOffline = server.scopes_supported?.includes('offline_access') === true;
    const requestedScopes = isOffline ? [...scopes, 'offline_access'] : scopes;
    return {
      server,
      resource: configuredResource,
      scope: scopes.length === 0 ? undefined : [...new Set(requestedScopes)].join(' '),
    };
  }

  /** The metadata of an authorization server, from a cache of ten minutes. */
  async serverOf(issuer: string): Promise<AuthorizationServerMetadata> {
    const cached = this.servers.get(issuer);
    if (cached) return cached;
    const sdk = await import('@modelcontextprotocol/client');
    const server = await sdk.discoverAuthorizationServerMetadata(issuer, { fetchFn: this.fetch });
    if (!server) throw new AuthorizationServerError(msg`it has no metadata any more`);
    this.servers.set(issuer, server);
    return server;
  }

  /**
   * The client for a server that was given none: its client id metadata document, else registered (RFC 7591). Rejects with
   * AuthorizationServerError where the server offers neither.
   */
  async introduce(
    { server, scope }: Authorization,
    { redirectUri, documentAddress }: ClientIntroduction,
    signal: AbortSignal,
  ): Promise<OAuthClient & { readonly isRegistered: boolean }> {
    if (documentAddress !== undefined && server.client_id_metadata_document_supported === true) {
      return { clientId: documentAddress, isRegistered: false };
    }
    if (server.registration_endpoint === undefined) {
      throw new AuthorizationServerError(
        msg`it registers no clients. Register Plinth there by hand, and enter the client id`,
      );
    }
    const sdk = await import('@modelcontextprotocol/client');
    const clientMetadata = sdk.resolveClientMetadata({
      redirectUrl: redirectUri,
      clientMetadata: clientMetadataOf(redirectUri, server.token_endpoint_auth_methods_supported),
    });
    const registered = await sdk
      .registerClient(server.issuer, {
        metadata: server,
        clientMetadata,
        ...(scope !== undefined && { scope }),
        fetchFn: (url, init) => this.fetch(url, { ...init, signal }),
      })
      .catch((error: unknown) => {
        if (!(error instanceof sdk.RegistrationRejectedError)) throw error;
        throw new AuthorizationServerError(
          msg`it refuses to register Plinth (HTTP ${error.status}). Register Plinth there by hand, and enter the client id`,
          error,
        );
      });
    return {
      clientId: registered.client_id,
      clientSecret: registered.client_secret,
      method: registered.token_endpoint_auth_method,
      isRegistered: true,
    };
  }

  /** The address to open, for a flow with PKCE. AuthorizationServerError for a server that does not support it. */
  async authorizationAddress(
    { server, resource, scope }: Authorization,
    client: OAuthClient,
    { redirectUri, state, verifier }: { redirectUri: string; state: string; verifier: string },
  ): Promise<URL> {
    const { code_challenge_methods_supported: methods, authorization_endpoint: endpoint } = server;
    const { isEntered = false, clientSecret } = client;
    // Entra and Cognito do PKCE without a list; where a server did not, the secret that an administrator has entered protects the code.
    const mayLack = isEntered && clientSecret !== undefined;
    if (methods ? !methods.includes('S256') : !mayLack) {
      throw new AuthorizationServerError(msg`it does not support PKCE (S256)`);
    }
    this.http.assertSecureAddress(endpoint);
    return oidc.buildAuthorizationUrl(this.configurationOf(server, client), {
      redirect_uri: redirectUri,
      state,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource,
      ...(scope !== undefined && { scope }),
      ...(scope?.split(' ').includes('offline_access') && { prompt: 'consent' }),
    });
  }

  /** Redeems the answer of the authorization server, after a check of its `state` and `iss`. */
  async redeem(
    server: AuthorizationServerMetadata,
    client: OAuthClient,
    answer: {
      readonly address: URL;
      readonly state: string;
      readonly verifier: string;
      readonly resource: string;
    },
  ): Promise<ReceivedTokens> {
    const { address, state, verifier, resource } = answer;
    const received = await oidc.authorizationCodeGrant(
      this.configurationOf(server, client),
      address,
      { expectedState: state, pkceCodeVerifier: verifier },
      { resource },
    );
    return receivedTokens(received, client, resource);
  }

  /** Not ended by a signal: a refresh token that the server has replaced is of no use any more. */
  async refresh(
    server: AuthorizationServerMetadata,
    client: OAuthClient,
    { refreshToken = '', resource }: AccountTokens,
  ): Promise<ReceivedTokens> {
    const configuration = this.configurationOf(server, client);
    const received = await oidc.refreshTokenGrant(configuration, refreshToken, { resource });
    return receivedTokens(received, client, resource, refreshToken);
  }

  /** A token for Plinth itself (RFC 6749, 4.4). */
  async clientToken(
    { server, resource, scope }: Authorization,
    client: OAuthClient,
  ): Promise<ReceivedTokens> {
    const received = await oidc.clientCredentialsGrant(this.configurationOf(server, client), {
      resource,
      ...(scope !== undefined && { scope }),
    });
    return receivedTokens(received, client, resource);
  }

  /** Revokes the grant where the server offers it (RFC 7009). */
  async revoke(
    server: AuthorizationServerMetadata,
    client: OAuthClient,
    { refreshToken, accessToken }: AccountTokens,
  ): Promise<void> {
    const configuration = this.configurationOf(server, client);
    if (configuration.serverMetadata().revocation_endpoint === undefined) return;
    await oidc.tokenRevocation(configuration, refreshToken ?? accessToken, {
      token_type_hint: refreshToken === undefined ? 'access_token' : 'refresh_token',
    });
  }

  private configurationOf(
    server: AuthorizationServerMetadata,
    client: OAuthClient,
  ): oidc.Configuration {
    const { clientId, clientSecret, method } = client;
    const supported =
      method === undefined ? server.token_endpoint_auth_methods_supported : [method];
    const configuration = new oidc.Configuration(
      // The SDK has checked the fields that are read.
      server as oidc.ServerMetadata,
      clientId,
      undefined,
      authenticationOf(method === 'none' ? undefined : clientSecret, supported),
    );
    configuration[oidc.customFetch] = this.fetch;
    configuration.timeout = CALL_TIMEOUT_SECONDS;
    // Refused for hosts that the operator has not allowed, as the fetch checks.
    if (new URL(server.issuer).protocol === 'http:') oidc.allowInsecureRequests(configuration);
    return configuration;
  }
}

/** Client metadata (RFC 7591, 2): also the content of the client id metadata document. Public where the server allows it. */
export function clientMetadataOf(redirectUri: string, methods?: readonly string[]) {
  const method = ['none', 'client_secret_post', 'client_secret_basic'].find(
    (one) => methods?.includes(one) ?? true,
  );
  return {
    client_name: 'Plinth',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method ?? 'none',
  };
}

function receivedTokens(
  received: oidc.TokenEndpointResponse,
  { clientId }: OAuthClient,
  resource: string,
  previousRefreshToken?: string,
): ReceivedTokens {
  const { access_token: accessToken, expires_in: seconds, token_type: type } = received;
  if (type !== 'bearer') throw new AuthorizationServerError(msg`its tokens are no bearer tokens`);
  return {
    tokens: {
      accessToken,
      refreshToken: received.refresh_token ?? previousRefreshToken,
      clientId,
      resource,
    },
    expireTime: seconds === undefined ? null : new Date(Date.now() + seconds * 1_000),
  };
}
