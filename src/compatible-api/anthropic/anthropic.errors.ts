import type { Failure, FailureShape, ShapedFailure } from '../../platform/error/index.js';
import { currentRequest, messageForProgram } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { UpstreamError } from '../../provider/index.js';
import { requestIdHeader, VERSION } from '../answer/answer.js';
import {
  headersFor,
  isModelError,
  ParameterError,
  retryAfterOf,
  statusOf,
  statusOfUpstream,
} from '../answer/api.errors.js';

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

/** The protocol's status for an overloaded service; 503 is reserved for Plinth itself. */
const OVERLOADED = 529;

/** Failures of the Messages interface: real HTTP statuses, and `{type: 'error', error: {type, message}, request_id}`. */
export const anthropicFailures: FailureShape = {
  paths: /^\/v1\/messages(\/|$)/i,
  answer: anthropicFailure,
};

/** Routes shared with the OpenAI interface; Anthropic clients are recognised by anthropic-version. */
export const anthropicSharedFailures: FailureShape = {
  paths: /^\/v1\/(models|files)(\/|$)/i,
  header: VERSION,
  answer: anthropicFailure,
};

export function anthropicFailure(failure: Failure): ShapedFailure {
  const { error } = failure;
  const status = protocolStatus(failure);
  return {
    status,
    body: {
      type: 'error',
      error: {
        type: typeOf(status),
        message: messageOf(failure),
        ...(error instanceof ThreadError && { details: error.details }),
      },
      request_id: currentRequest()?.id ?? null,
    },
    headers: { ...requestIdHeader(), ...headersFor(error) },
    ...(error instanceof UpstreamError && { retryAfterSeconds: retryAfterOf(error) }),
  };
}

/** Beginning of the message for a request that is too long. Clients match it to shorten their conversation. */
const TOO_LONG = 'prompt is too long';

function messageOf(failure: Failure): string {
  const { error } = failure;
  const message = messageForProgram(failure);
  if (!(error instanceof UpstreamError) || error.kind !== 'context-length') return message;
  const { vendorText } = error;
  const begins = vendorText?.toLowerCase().startsWith(TOO_LONG);
  return begins ? (vendorText ?? '') : `${TOO_LONG}: ${vendorText || message}`;
}

/**
 * A request of a thread, whose earlier messages the service would have to hold. The tool runners of the SDK send it first, and by
 * these details go on with the whole conversation instead
 * (ThreadUnsupportedRequestErrorDetails of @anthropic-ai/sdk 1.12, November 2026).
 */
export class ThreadError extends ParameterError {
  readonly details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] } as const;

  constructor() {
    super('thread', msg`Threads are not supported. Send the whole conversation without thread.`);
  }
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
