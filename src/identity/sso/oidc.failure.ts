import * as oidc from 'openid-client';
import { ForbiddenAddressError, OutboundError } from '../../platform/outbound/index.js';
import { SsoRefusedError } from './sso.errors.js';
import type { SsoRefusal } from './sso.errors.js';

/** Errors of a provider that say that it does not know this service. */
const OF_CLIENT = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type'];

/** The refusal that a failed call of a provider means for the user; undefined for a failure of this service. */
export function refusedBy(error: unknown): SsoRefusedError | undefined {
  if (error instanceof SsoRefusedError) return error;
  return isOfProvider(error) ? new SsoRefusedError(refusalOf(error), error) : undefined;
}

const OF_PROVIDER = [
  oidc.ClientError,
  oidc.ResponseBodyError,
  oidc.AuthorizationResponseError,
  oidc.WWWAuthenticateChallengeError,
  OutboundError,
  ForbiddenAddressError,
];

/** Whether the provider has said that the refresh token is not valid any more: nothing else ends a user's access. */
export function isInvalidGrant(error: unknown): boolean {
  return error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant';
}

/**
 * A summary of an error and its causes for the log: their kinds, messages and codes. The values that the libraries attach hold
 * claims of users.
 */
export function summaryOf(error: unknown): string {
  return causesOf(error)
    .filter((cause) => cause instanceof Error)
    .map((cause) => {
      const code = cause instanceof oidc.ResponseBodyError ? cause.error : codeOf(cause);
      return `${cause.name}: ${cause.message}${typeof code === 'string' ? ` (${code})` : ''}`;
    })
    .join('; ');
}

function isOfProvider(error: unknown): boolean {
  return OF_PROVIDER.some((kind) => error instanceof kind);
}

function refusalOf(error: unknown): SsoRefusal {
  if (error instanceof oidc.AuthorizationResponseError) return 'denied';
  if (error instanceof oidc.ResponseBodyError) {
    if (error.status >= 500) return 'unavailable';
    return OF_CLIENT.includes(error.error) ? 'configuration' : 'invalid';
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) return 'configuration';
  const causes = causesOf(error);
  if (causes.some((cause) => cause instanceof OutboundError)) return 'unavailable';
  if (causes.some((cause) => cause instanceof ForbiddenAddressError)) return 'configuration';
  if (causes.some((cause) => cause instanceof Response && cause.status >= 500)) {
    return 'unavailable';
  }
  return codeOf(error) === 'OAUTH_TIMEOUT' ? 'unavailable' : 'invalid';
}

/** The error and its causes, at most five deep, which also ends cycles. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < 5;) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
