import { DomainError, UnauthenticatedError } from '../../platform/error/index.js';
import type { Failure, FailureShape, ShapedFailure } from '../../platform/error/index.js';
import { messageForProgram } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { UpstreamError } from '../../provider/index.js';
import {
  headersFor,
  isModelError,
  retryAfterOf,
  statusOf,
  statusOfUpstream,
} from '../answer/api.errors.js';

/** The canonical codes of Google's services (google.rpc.Code) by HTTP status. */
const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  422: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Beginning of the message for a request that is too long. Clients match it to shorten their conversation. */
const TOO_LONG = 'The input token count exceeds the maximum number of tokens allowed';

/** Failures of the Gemini interface: real HTTP statuses, and `{error: {code, message, status}}`. */
export const geminiFailures: FailureShape = {
  paths: /^\/v1beta(\/|$)/i,
  answer: geminiFailure,
};

export function geminiFailure(failure: Failure): ShapedFailure {
  const { error } = failure;
  const isUpstream = error instanceof UpstreamError;
  const failureStatus = isModelError(error) ? 404 : statusOf(failure);
  const status = isUpstream ? statusOfUpstream(error) : failureStatus;
  const word = STATUSES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  return {
    status,
    body: { error: { code: status, message: messageOf(failure), status: word } },
    headers: headersFor(error),
    ...(isUpstream && { retryAfterSeconds: retryAfterOf(error) }),
  };
}

function messageOf(failure: Failure): string {
  const { error } = failure;
  const message = messageForProgram(failure);
  if (!(error instanceof UpstreamError) || error.kind !== 'context-length') return message;
  const { vendorText } = error;
  // Google's own wording, with its numbers.
  if (vendorText && /exceeds the maximum number of tokens/i.test(vendorText)) return vendorText;
  return `${TOO_LONG}: ${vendorText || message}`;
}

/** The API key was sent in the URL, where proxies and logs would record it. */
export class KeyInAddressError extends UnauthenticatedError {
  constructor() {
    super(
      msg`Keys are not taken from the address, where proxies and logs keep them. Send the key in the header x-goog-api-key, and rotate this one.`,
    );
  }
}

/** The method after the model name is unknown. */
export class UnknownMethodError extends DomainError {
  readonly code = 404;

  constructor(method: string) {
    super(
      msg`There is no method ${method}. Use generateContent, streamGenerateContent, countTokens, embedContent or batchEmbedContents.`,
    );
  }
}
