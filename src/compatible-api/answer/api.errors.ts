import { DomainError, InvalidInputError, NotFoundError } from '../../platform/error/index.js';
import type { Failure } from '../../platform/error/index.js';
import type { Message } from '../../platform/message/index.js';
import { msg } from '../../platform/message/index.js';
import { ResponseFormatError } from '../../chat/index.js';
import { ContentMemoryError, ContentRefusedError, MediaFailedError } from '../../media/index.js';
import { ModelNotFoundError, WrongCategoryError } from '../../model/index.js';
import { LimitReachedError } from '../../usage/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { UpstreamErrorKind } from '../../provider/index.js';

/** An invalid or unsupported parameter of a request. */
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

/** A request that is longer than the window of its model. */
export class TooLongError extends UpstreamError {
  /** @param param The parameter that has the conversation. */
  constructor(
    error: UpstreamError,
    readonly param: string,
  ) {
    super({ ...error, message: error.userMessage, cause: error });
  }
}

/** The caller cannot use the named model. */
export class UnknownModelError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no model ${id}. GET /v1/models lists those that you can use.`);
  }
}

/** The service reported an incomplete answer. */
export class UnfinishedAnswerError extends DomainError {
  readonly code = 500;

  constructor() {
    super(msg`The model could not finish its answer. Try again.`);
  }
}

/** Whether a request named a model or agent that the caller cannot use. Most requests name no other record. */
export function isModelError(error: unknown): boolean {
  return (
    error instanceof UnknownModelError ||
    error instanceof NotFoundError ||
    error instanceof ModelNotFoundError ||
    error instanceof WrongCategoryError
  );
}

/** The HTTP status of a failure of Plinth itself. The envelope has no codes for some of them. */
export function statusOf({ code, error }: Failure): number {
  // The request is valid, but repeating it would not help.
  if (error instanceof ResponseFormatError) return 422;
  const data: unknown = error instanceof DomainError ? error.data : null;
  return (data as { errorCode?: unknown } | null)?.errorCode === 'TOO_LARGE' ? 413 : code;
}

/** Headers of a failure. SDKs retry after 429 and 5xx unless a header forbids it. */
export function headersFor(error: unknown): Record<string, string> {
  const isFinal =
    // The medium was created or started; a retry would be billed again.
    (error instanceof MediaFailedError && error.isFinal) ||
    error instanceof ContentRefusedError ||
    error instanceof ContentMemoryError ||
    (error instanceof LimitReachedError && !error.isPassing);
  return isFinal ? { 'x-should-retry': 'false' } : {};
}

/** HTTP statuses for upstream failures. An upstream refusal of Plinth's key is not the caller's fault. */
const UPSTREAM_STATUSES: Readonly<Record<UpstreamErrorKind, number>> = {
  authentication: 502,
  'not-found': 502,
  'rate-limit': 429,
  overloaded: 503,
  'invalid-request': 400,
  'context-length': 400,
  timeout: 504,
  connection: 502,
  protocol: 502,
  content: 502,
  cut: 502,
  aborted: 503,
};

/** The HTTP status for the client. */
export function statusOfUpstream({ kind, status: answered }: UpstreamError): number {
  const mappedStatus = UPSTREAM_STATUSES[kind];
  if (kind === 'context-length') return mappedStatus;
  // 413 and 422 tell the client more than 400.
  return mappedStatus === 400 && answered !== undefined && answered < 500 ? answered : mappedStatus;
}

/** Seconds for the header Retry-After. */
export function retryAfterOf({ retryAfterMs }: UpstreamError): number | undefined {
  return retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1_000);
}

/** The failure of a media call with the service's reason, as for other model calls. */
export function reasonOf(error: unknown): unknown {
  const isOfService = error instanceof MediaFailedError && error.cause instanceof UpstreamError;
  return isOfService ? error.cause : error;
}

/** Path prefixes of other services, or their equivalents of /v1. */
const FOREIGN_PREFIX =
  /^\/(?:openai|anthropic|api|ollama|compatible-mode|inference|paas|v\d+)(?=\/|$)/i;

/** The URL with /v1 if that route exists, to hint at an incomplete base URL. */
export function pathAdvice(path: string, hasRoute: (path: string) => boolean): Message | undefined {
  let rest = path;
  while (FOREIGN_PREFIX.test(rest)) rest = rest.replace(FOREIGN_PREFIX, '');
  const meant = `/v1${rest}`;
  if (/^\/v1\/v1(\/|$)/i.test(path)) {
    return msg`The path has /v1 twice. Remove one from the base address.`;
  }
  if (/^\/v1(\/|$)/i.test(path)) return undefined;
  return rest !== '' && hasRoute(meant)
    ? msg`Add /v1 to the base address: ${meant}.`
    : msg`The compatible interfaces are below /v1. Add /v1 to the base address.`;
}
