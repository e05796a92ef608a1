import { Injectable } from '@nestjs/common';
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import * as oidc from 'openid-client';
import { libraryFetch, OutboundHttp } from '../../platform/outbound/index.js';
import type { SsoProvider } from './sso.entity.js';
import { SsoRefusedError } from './sso.errors.js';
import { SsoVault } from './sso.vault.js';

const CALL_TIMEOUT_SECONDS = 10;
/** Far more than the documents of providers, which have some kilobytes. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_CACHED_COUNT = 200;
/** How long the metadata of a provider is cached. */
const CACHE_MS = 600_000;

/** The configuration of a provider from its metadata, ready for calls. */
export interface OidcConnection {
  readonly configuration: oidc.Configuration;
  readonly keys: JWTVerifyGetKey;
}

/** Calls providers, within the rules for addresses that users enter. */
@Injectable()
export class OidcConnections {
  readonly fetch: ReturnType<typeof libraryFetch>;
  private readonly connections = new LRUCache<string, Promise<OidcConnection>>({
    max: MAX_CACHED_COUNT,
    ttl: CACHE_MS,
  });

  constructor(
    private readonly http: OutboundHttp,
    private readonly vault: SsoVault,
  ) {
    const limitMs = CALL_TIMEOUT_SECONDS * 1_000;
    this.fetch = libraryFetch(http, { limitMs, maxBytes: MAX_ANSWER_BYTES });
  }

  /** The connection to the provider, from a cache of ten minutes. Rejects with the error of the call. */
  async of(provider: SsoProvider): Promise<OidcConnection> {
    const key = `${provider.id} ${provider.updateTime.getTime()}`;
    const cachedConnection = this.connections.get(key);
    if (cachedConnection) return cachedConnection;
    const opening = this.open(provider);
    this.connections.set(key, opening);
    // The next caller tries again.
    opening.catch(() => {
      if (this.connections.get(key) === opening) this.connections.delete(key);
    });
    return opening;
  }

  /** The client secret; undefined for a public client. SsoRefusedError for one that cannot be decrypted. */
  secretOf({ tenantId, id, clientSecret }: SsoProvider): string | undefined {
    if (clientSecret === null) return undefined;
    const secret = this.vault.open(tenantId, 'sso_provider', id, clientSecret);
    if (secret === undefined) throw new SsoRefusedError('secret-key');
    return secret;
  }

  private async open(provider: SsoProvider): Promise<OidcConnection> {
    const { issuer, clientId } = provider;
    this.http.assertSecureAddress(issuer);
    const isPlain = new URL(issuer).protocol === 'http:';
    const secret = this.secretOf(provider);
    const discovered = await oidc.discovery(
      new URL(issuer),
      clientId,
      secret === undefined ? undefined : { client_secret: secret },
      undefined,
      {
        [oidc.customFetch]: this.fetch,
        timeout: CALL_TIMEOUT_SECONDS,
        ...(isPlain && { execute: [insecure] }),
      },
    );
    const server = discovered.serverMetadata();
    const configuration = new oidc.Configuration(
      server,
      clientId,
      undefined,
      authenticationOf(secret, server.token_endpoint_auth_methods_supported),
    );
    configuration[oidc.customFetch] = this.fetch;
    configuration.timeout = CALL_TIMEOUT_SECONDS;
    if (isPlain) insecure(configuration);
    // Signatures are verified although the token comes from the provider itself.
    oidc.enableNonRepudiationChecks(configuration);
    return { configuration, keys: this.keysOf(server.jwks_uri) };
  }

  private keysOf(address: string | undefined): JWTVerifyGetKey {
    if (address === undefined) return () => Promise.reject(new Error('The provider has no keys.'));
    return createRemoteJWKSet(new URL(address), {
      timeoutDuration: CALL_TIMEOUT_SECONDS * 1_000,
      [joseFetch]: (url, { headers, method, signal }) =>
        this.fetch(url, { method, headers, signal }),
    });
  }
}

/** Allows http for hosts inside the operator's network; `assertSecureAddress` refuses it for all others. */
const insecure = oidc.allowInsecureRequests;

/**
 * The client authentication that the provider supports. The body is preferred to the header, whose encoding of special characters
 * some providers do not undo; OpenID Connect defaults to the header where the metadata names none.
 */
export function authenticationOf(
  secret: string | undefined,
  supported: readonly string[] | undefined,
): oidc.ClientAuth {
  if (secret === undefined) return oidc.None();
  return supported?.includes('client_secret_post')
    ? oidc.ClientSecretPost(secret)
    : oidc.ClientSecretBasic(secret);
}
