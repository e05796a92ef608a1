import type { Failure, FailureShape, ShapedFailure } from '../../platform/error/index.js';
import { currentRequest, messageForProgram } from '../../platform/http/index.js';
import { UpstreamError } from '../../provider/index.js';
import {
  headersFor,
  isModelError,
  retryAfterOf,
  statusOf,
  statusOfUpstream,
} from '../answer/door.errors.js';

/** The header in which every client of the protocol names its version. */
export const VERSION = 'anthropic-version';

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

/** The list of models is shared with the interface of OpenAI; clients of this one name their version. */
export const anthropicModelFailures: FailureShape = {
  paths: /^\/v1\/models(\/|$)/i,
  header: VERSION,
  answer: anthropicFailure,
};

/** The header in which the SDKs look for the id of a request. */
export function requestIdHeader(): Record<string, string> {
  const id = currentRequest()?.id;
  return id === undefined ? {} : { 'request-id': id };
}

export function anthropicFailure(failure: Failure): ShapedFailure {
  const { error } = failure;
  const status = protocolStatus(failure);
  return {
    status,
    body: {
      type: 'error',
      error: { type: typeOf(status), message: messageForProgram(failure) },
      request_id: currentRequest()?.id ?? null,
    },
    headers: { ...requestIdHeader(), ...headersFor(error) },
    ...(error instanceof UpstreamError && { retryAfterSeconds: retryAfterOf(error) }),
  };
}

function protocolStatus(failure: Failure): number {
  const { error } = failure;
  if (isModelError(error)) return 404;
  if (!(error instanceof UpstreamError)) return statusOf(failure);
  return error.kind === 'overloaded' ? OVERLOADED : statusOfUpstream(error);
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}
