import type { Failure, FailureShape, ShapedFailure } from '../../platform/error/index.js';
import { currentRequest } from '../../platform/http/index.js';
import { UpstreamError } from '../../provider/index.js';
import { isModelError, retryAfterOf, statusOfUpstream } from '../answer/door.errors.js';

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** The status of the protocol for a service that is overloaded; 503 is left to Plinth itself. */
const OVERLOADED = 529;

/** Failures of the Messages interface: real HTTP statuses, and `{type: 'error', error: {type, message}, request_id}`. */
export const anthropicFailures: FailureShape = {
  paths: /^\/v1\/messages(\/|$)/i,
  answer: anthropicFailure,
};

export function anthropicFailure({ code, message, error }: Failure): ShapedFailure {
  const status = statusOf(code, error);
  return {
    status,
    body: {
      type: 'error',
      error: { type: typeOf(status), message },
      request_id: currentRequest()?.id ?? null,
    },
    ...(error instanceof UpstreamError && { retryAfterSeconds: retryAfterOf(error) }),
  };
}

function statusOf(code: number, error: unknown): number {
  if (isModelError(error)) return 404;
  if (!(error instanceof UpstreamError)) return code;
  return error.kind === 'overloaded' ? OVERLOADED : statusOfUpstream(error);
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}
