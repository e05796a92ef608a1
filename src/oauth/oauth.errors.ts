import { DomainError, InvalidInputError } from '../platform/error/index.js';
import type { FailureShape } from '../platform/error/index.js';
import { english, literal, msg } from '../platform/message/index.js';

/** The errors of RFC 6749, 5.2, RFC 7591, 3.2.2, and RFC 8707, 2. */
type OAuthErrorName =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata';

/** A refusal for the developer of a client; the text is English by RFC 6749, 5.2. */
export class OAuthError extends DomainError {
  readonly code = 400;

  constructor(
    readonly error: OAuthErrorName,
    description: string,
  ) {
    super(literal(description));
  }
}

/** The client of an authorization cannot be trusted with an answer, so that the person is not led back to it. */
export class ClientError extends InvalidInputError {}

export class UnknownClientError extends ClientError {
  constructor() {
    super(
      msg`The application is not registered here, or its registration has expired. Remove the connection in the application and connect again.`,
    );
  }
}

export class RedirectUriError extends ClientError {
  constructor() {
    super(
      msg`The address that the application wants you to return to is not one of its own. Do not continue, and tell its vendor.`,
    );
  }
}

export class ClientDocumentError extends ClientError {
  constructor(address: string, cause?: unknown) {
    super(
      msg`The description of the application at ${address} could not be read or is not valid. Try again later, or tell its vendor.`,
      { cause },
    );
  }
}

export class NoPermissionChosenError extends InvalidInputError {
  constructor() {
    super(msg`Choose at least one of the permissions that the application asks for.`);
  }
}

/** Failures of the routes that clients of OAuth call. */
export const oauthFailures: FailureShape = {
  paths: /^\/oauth\/(token|register|revoke)\/?$/i,
  answer: ({ code, error, message }) => {
    const isOutage = code === 429 || code >= 500;
    const text = error instanceof DomainError ? english(error.userMessage) : message;
    const name =
      error instanceof OAuthError
        ? error.error
        : isOutage
          ? 'temporarily_unavailable'
          : 'invalid_request';
    return {
      status: isOutage ? code : 400,
      body: { error: name, error_description: asciiOf(text) },
      headers: { 'Cache-Control': 'no-store' },
    };
  },
};

/** The characters that RFC 6749, 5.2 allows in a description. */
export function asciiOf(text: string): string {
  return text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
}
