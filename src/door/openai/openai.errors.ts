import type { Failure, FailureShape, ShapedFailure } from '../../platform/error/index.js';
import { DomainError, InvalidInputError, NotFoundError } from '../../platform/error/index.js';
import type { Message } from '../../platform/message/index.js';
import { msg } from '../../platform/message/index.js';
import { MediaFailedError } from '../../media/index.js';
import { ModelNotFoundError, WrongCategoryError } from '../../model/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { UpstreamErrorKind } from '../../provider/index.js';

/** A parameter of a request that is wrong, or that cannot be honoured. */
export class ParameterError extends InvalidInputError {
  /** @param param As in messages[0].content. */
  constructor(
    readonly param: string,
    message: Message,
  ) {
    super(message);
  }
}

export class UnsupportedParameterError extends ParameterError {
  constructor(param: string) {
    super(
      param,
      msg`The parameter ${param} cannot be honoured for this model. Remove it, or choose another model.`,
    );
  }
}

/** Names of models that the caller cannot use. */
export class UnknownModelError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no model ${id}. GET /v1/models lists those that you can use.`);
  }
}

interface ErrorFields {
  readonly status: number;
  readonly type: string;
  readonly code?: string;
  readonly param?: string;
}

/** The statuses of failures of the service behind a model. Its refusal of Plinth's key is none of the caller's. */
const UPSTREAM_STATUSES: Readonly<Record<UpstreamErrorKind, number>> = {
  authentication: 502,
  'not-found': 502,
  'rate-limit': 429,
  overloaded: 503,
  'invalid-request': 400,
  timeout: 504,
  connection: 502,
  protocol: 502,
  content: 502,
  cut: 502,
  aborted: 503,
};

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
};

export function openAiFailure({ code, message, error: thrown }: Failure): ShapedFailure {
  // Its text says nothing of the cause, and the status may.
  const error = thrown instanceof MediaFailedError ? thrown.cause : thrown;
  const { status, type, code: word, param } = fieldsOf(code, error);
  const isThrottled = error instanceof UpstreamError && error.retryAfterMs !== undefined;
  return {
    status,
    body: { error: { message, type, param: param ?? null, code: word ?? null } },
    ...(isThrottled && { retryAfterSeconds: Math.ceil((error.retryAfterMs ?? 0) / 1_000) }),
  };
}

function fieldsOf(code: number, error: unknown): ErrorFields {
  if (error instanceof UpstreamError) return upstreamFields(error);
  // Models and agents are the only records that a request names.
  const isModel =
    error instanceof UnknownModelError ||
    error instanceof NotFoundError ||
    error instanceof ModelNotFoundError ||
    error instanceof WrongCategoryError;
  if (isModel) return { status: 404, type: typeOf(404), code: 'model_not_found', param: 'model' };
  if (error instanceof UnsupportedParameterError) {
    return { status: 400, type: typeOf(400), code: 'unsupported_parameter', param: error.param };
  }
  if (error instanceof ParameterError) {
    return { status: 400, type: typeOf(400), code: 'invalid_value', param: error.param };
  }
  return { status: code, type: typeOf(code), ...(CODES[code] && { code: CODES[code] }) };
}

function upstreamFields({ kind, status: answered }: UpstreamError): ErrorFields {
  const known = UPSTREAM_STATUSES[kind];
  // 413 and 422 tell the client more than 400.
  const status = known === 400 && answered !== undefined && answered < 500 ? answered : known;
  const code = kind === 'rate-limit' ? CODES[429] : `upstream_${kind.replace('-', '_')}`;
  return { status, type: typeOf(status), ...(code && { code }) };
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
}
