import type { Failure, FailureShape, ShapedFailure } from '../../platform/error/index.js';
import { messageForProgram } from '../../platform/http/index.js';
import { ResponseFormatError } from '../../chat/index.js';
import { MediaFailedError } from '../../media/index.js';
import { LimitReachedError } from '../../usage/index.js';
import { UpstreamError } from '../../provider/index.js';
import {
  headersFor,
  isModelError,
  ParameterError,
  pathAdvice,
  retryAfterOf,
  statusOf,
  statusOfUpstream,
  TooLongError,
  UnsupportedParameterError,
} from '../answer/api.errors.js';
import { PreviousResponseError } from './responses/responses.errors.js';

interface ErrorFields {
  readonly status: number;
  readonly type: string;
  readonly code?: string;
  readonly param?: string;
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'invalid_request_error',
  405: 'invalid_request_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
};

const CODES: Readonly<Record<number, string>> = {
  401: 'invalid_api_key',
  403: 'permission_denied',
  429: 'rate_limit_exceeded',
};

/** Failures of the OpenAI-compatible interface: real HTTP statuses, and `{error: {message, type, param, code}}`. */
export const openAiFailures: FailureShape = {
  paths: /^\/v1(\/|$)/i,
  answer: openAiFailure,
  advice: pathAdvice,
};

/** Error code of the protocol for a failure. */
export function openAiCode(failure: Failure): string | undefined {
  return fieldsOf(statusOf(failure), failure.error).code;
}

export function openAiFailure(failure: Failure): ShapedFailure {
  const { error: thrown } = failure;
  // The text does not name the cause, but the status may.
  const error = thrown instanceof MediaFailedError ? thrown.cause : thrown;
  const { status, type, code: word, param } = fieldsOf(statusOf(failure), error);
  return {
    status,
    body: {
      error: {
        message: messageForProgram(failure),
        type,
        param: param ?? null,
        code: word ?? null,
      },
    },
    headers: headersFor(thrown),
    ...(error instanceof UpstreamError && { retryAfterSeconds: retryAfterOf(error) }),
  };
}

/** The last event of a stream that failed. */
export function openAiFailureEvent(failure: Failure): string {
  return dataEvent(openAiFailure(failure).body);
}

/** The last event of a complete stream. */
export const DONE_EVENT = 'data: [DONE]\n\n';

/** One event of a stream. Serialized JSON contains no line feed. */
export function dataEvent(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function fieldsOf(status: number, error: unknown): ErrorFields {
  if (error instanceof UpstreamError) return upstreamFields(error);
  if (error instanceof LimitReachedError && !error.isPassing) {
    return { status: 429, type: 'insufficient_quota', code: 'insufficient_quota' };
  }
  if (isModelError(error)) {
    return { status: 404, type: typeOf(404), code: 'model_not_found', param: 'model' };
  }
  if (error instanceof PreviousResponseError) {
    const { param } = error;
    return { status: 400, type: typeOf(400), code: 'previous_response_not_found', param };
  }
  if (error instanceof UnsupportedParameterError) {
    return { status: 400, type: typeOf(400), code: 'unsupported_parameter', param: error.param };
  }
  if (error instanceof ParameterError) {
    return { status: 400, type: typeOf(400), code: 'invalid_value', param: error.param };
  }
  if (error instanceof ResponseFormatError) {
    // Code used by another service of the protocol that validates model answers.
    return { status, type: typeOf(status), code: 'json_validate_failed' };
  }
  return { status, type: typeOf(status), ...(CODES[status] && { code: CODES[status] }) };
}

function upstreamFields(error: UpstreamError): ErrorFields {
  const { kind } = error;
  const status = statusOfUpstream(error);
  if (kind === 'context-length') {
    // Clients match this code to shorten their conversation.
    const type = typeOf(400);
    const named = error instanceof TooLongError && { param: error.param };
    return { status: 400, type, code: 'context_length_exceeded', ...named };
  }
  const code = kind === 'rate-limit' ? CODES[429] : `upstream_${kind.replace('-', '_')}`;
  return { status, type: typeOf(status), ...(code && { code }) };
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
}
