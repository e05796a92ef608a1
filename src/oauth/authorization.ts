import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import type { McpResource } from '../mcp-server/index.js';
import type { AuthorizationQuery } from './oauth.dto.js';
import { RedirectUriError } from './oauth.errors.js';
import type { OAuthClient } from './oauth.clients.js';
import { isRegisteredUri } from './redirect-uri.js';

/** What is wrong with a request of a known client: an error of RFC 6749, 4.1.2.1, and a text for the person. */
interface RequestFault {
  readonly error: string;
  readonly problem: Message;
}

/** The request of a known client, which can be answered. */
export interface AuthorizationRequest {
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly challenge: string;
  readonly resource: string;
  /** The permissions that the client asks for, of those that there are. */
  readonly scopes: readonly string[];
  readonly fault: RequestFault | undefined;
}

const CHALLENGE = /^[\w-]{43}$/;

/**
 * Reads a request. Throws RedirectUriError if the client must not be answered at all. `resources` is what keys can be for, the
 * default one first.
 */
export function readRequest(
  query: AuthorizationQuery,
  client: OAuthClient,
  resources: readonly McpResource[],
): AuthorizationRequest {
  const { redirect_uri: redirectUri, state, code_challenge: challenge = '' } = query;
  if (!isRegisteredUri(client.redirectUris, redirectUri)) throw new RedirectUriError();
  const requested = (query.scope ?? '').split(' ').filter((one) => one !== '');
  const addresses = resources.map(({ address }) => address);
  const resource = resourceOf(query.resource, addresses);
  const { permissions = [] } = resources.find(({ address }) => address === resource) ?? {};
  const scopes = permissions.filter((one) => requested.length === 0 || requested.includes(one));
  return {
    client,
    redirectUri,
    state,
    challenge,
    resource: resource ?? '',
    scopes,
    fault: faultOf(query, { resource, scopes }),
  };
}

/** The resource that a request names; the first one if it names none, undefined if it is not one of them. */
export function resourceOf(
  requested: string | undefined,
  resources: readonly string[],
): string | undefined {
  if (requested === undefined || requested === '') return resources[0];
  const href = URL.parse(requested)?.href.replace(/\/$/, '');
  return resources.find((one) => new URL(one).href === href);
}

function faultOf(
  {
    response_type: type,
    code_challenge: challenge,
    code_challenge_method: method,
  }: AuthorizationQuery,
  {
    resource,
    scopes,
  }: { readonly resource: string | undefined; readonly scopes: readonly string[] },
): RequestFault | undefined {
  if (type !== 'code') {
    return {
      error: 'unsupported_response_type',
      problem: msg`The application asks in a way that is not supported: response_type must be code. Tell its vendor.`,
    };
  }
  if (method !== 'S256' || !CHALLENGE.test(challenge ?? '')) {
    return {
      error: 'invalid_request',
      problem: msg`The application does not protect the connection: code_challenge by the method S256 is required. Tell its vendor.`,
    };
  }
  if (resource === undefined) {
    return {
      error: 'invalid_target',
      problem: msg`The application asks for access to another service. Check the address that you have entered in it.`,
    };
  }
  if (scopes.length > 0) return undefined;
  return {
    error: 'invalid_scope',
    problem: msg`The application asks only for permissions that do not exist here. Tell its vendor.`,
  };
}
