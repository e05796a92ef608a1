import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { Catch, HttpException, Logger } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { literal, msg, sentences, textFor } from '../message/index.js';
import type { Message } from '../message/index.js';
import { DomainError, TooManyRequestsError, UnavailableError } from './domain.error.js';
import type { ErrorCode } from './domain.error.js';

const codes = new WeakMap<ServerResponse, number>();

/**
 * Records the envelope code of a response for log and metrics, because the HTTP status is 200 in any case.
 * A route that writes its own answer records it itself, at the latest before it ends the response.
 */
export function setEnvelopeCode(response: ServerResponse, code: number): void {
  codes.set(response, code);
}

export function envelopeCode(response: ServerResponse): number | undefined {
  return codes.get(response);
}

/** A failure as a client gets it. */
export interface Failure {
  readonly code: ErrorCode;
  /** The message in the language of the request. */
  readonly message: string;
  /** The thrown error. */
  readonly error: unknown;
}

/** How interfaces with a protocol of their own answer failures, instead of the envelope with HTTP 200. */
export interface FailureShape {
  /** The paths of the interface. */
  readonly paths: RegExp;
  /** A header by which clients of this interface are recognized if several interfaces share the paths. */
  readonly header?: string;
  answer(failure: Failure): ShapedFailure;
  /** The advice for a path of the interface that no route has. */
  readonly advice?: (path: string, hasRoute: (path: string) => boolean) => Message | undefined;
  /** Paths of these that browsers open as pages of the console. */
  readonly pages?: RegExp;
}

export interface ShapedFailure {
  readonly status: number;
  readonly body: object;
  /** The content type; default: application/json. */
  readonly type?: string | undefined;
  /** The header Retry-After, unless the error has one itself. */
  readonly retryAfterSeconds?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How failures of a request are answered; undefined for the envelope. The first shape that fits counts. */
function shapeFor(
  { path, headers }: Request,
  shapes: readonly FailureShape[],
): FailureShape | undefined {
  return shapes.find(
    ({ paths, header }) =>
      paths.test(path) && (header === undefined || headers[header] !== undefined),
  );
}

interface Refusal {
  /** The code of the envelope, which is also the HTTP status. */
  readonly code: ErrorCode;
  readonly message: Message;
  readonly shapes: readonly FailureShape[];
}

/** Answers a request that is refused before it reaches a route, in the form of its address. */
export function answerRefusal(
  request: Request,
  response: Response,
  { code, message: text, shapes }: Refusal,
): void {
  const message = textFor(response, text);
  const shape = shapeFor(request, shapes);
  setEnvelopeCode(response, code);
  const shaped = shape?.answer({ code, message, error: undefined });
  if (shaped?.type !== undefined) response.type(shaped.type);
  response.set(shaped?.headers ?? {});
  response.status(code).json(shaped?.body ?? { code, msg: message, data: null });
}

/** An address of an interface with a protocol of its own, which no route has, or none with this method. */
class NoRouteError extends DomainError {
  constructor(
    readonly code: 404 | 405,
    message: Message,
    /** The methods of the address, for the header Allow. */
    readonly allow?: string,
  ) {
    super(message);
  }
}

/** The error for a request whose address or method no route has. */
function noRouteError(request: Request, { advice }: FailureShape): NoRouteError {
  const { method, path } = request;
  // The path as the client wrote it, which may be an alias.
  const requestPath = request.originalUrl.split('?', 1)[0] ?? path;
  const methods = methodsOf(request, path);
  if (methods.length > 0) {
    const allow = methods.join(', ');
    return new NoRouteError(405, msg`${requestPath} does not take ${method}. Use ${allow}.`, allow);
  }
  const message = msg`There is no ${method} ${requestPath}.`;
  const hint = advice?.(path, (other) => methodsOf(request, other).length > 0);
  return new NoRouteError(404, hint === undefined ? message : sentences([message, hint]));
}

/** A layer of a route in the router of Express (router 2). */
interface RouteLayer {
  readonly route: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

function isRouteLayer(layer: object): layer is RouteLayer {
  return 'match' in layer && 'route' in layer && layer.route !== undefined;
}

/** The methods that routes have for a path, in capitals. */
function methodsOf({ app }: Request, path: string): string[] {
  const layers: readonly object[] = app.router.stack;
  const methods = new Set<string>();
  for (const layer of layers) {
    if (!isRouteLayer(layer) || !layer.match(path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

const ERROR_CODES: Readonly<Record<ErrorCode, string>> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'NOT_ALLOWED',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** The preference (RFC 7240) for the code of a failure as its HTTP status, for programs that go by that. */
const HTTP_STATUS = 'http-status';

interface ErrorEnvelope {
  readonly code: ErrorCode;
  readonly msg: Message;
  readonly data: unknown;
}

/** The error to answer for one that is not a DomainError; undefined for an unexpected one. */
type ErrorTranslation = (error: unknown) => DomainError | undefined;

/** Answers a request that no route takes; false leaves it to the envelope. */
type NotFoundAnswer = (request: Request, response: Response) => boolean;

/**
 * Turns every error into the envelope `{code, msg, data}` with HTTP 200, or with its code for a client that prefers that. What is neither a DomainError nor translated
 * becomes a 500 that holds the request id and nothing of the cause, which is logged instead. The data of each
 * error below the `coded` paths has an `errorCode`. Below the paths of a shape, failures have that shape and its HTTP status.
 */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(ErrorFilter.name);

  constructor(
    private readonly coded: RegExp,
    private readonly translate: ErrorTranslation,
    private readonly answerNotFound: NotFoundAnswer = () => false,
    private readonly shapes: readonly FailureShape[] = [],
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    const request = http.getRequest<Request>();
    const shape = shapeFor(request, this.shapes);
    const unrouted = isUnrouted(thrown);
    const isPage = !shape || shape.pages?.test(request.path) === true;
    if (unrouted && isPage && this.answerNotFound(request, response)) return;
    const error =
      unrouted && shape
        ? noRouteError(request, shape)
        : thrown instanceof DomainError
          ? thrown
          : (this.translate(thrown) ?? thrown);
    // The client disconnected, which aborted the work: this is not a failure, and no answer is read.
    if (response.destroyed && error instanceof Error && error.name === 'AbortError') return;
    const { code, msg, data } = this.envelope(error, request);
    if (response.headersSent) {
      setEnvelopeCode(response, code);
      // The answer has begun: closing the connection is the only way left to report the failure.
      response.destroy();
      return;
    }
    setEnvelopeCode(response, code);
    const message = textFor(response, msg);
    const shaped = shape?.answer({ code, message, error });
    const retryAfter = retryAfterSeconds(error) ?? shaped?.retryAfterSeconds;
    if (retryAfter !== undefined) response.setHeader('Retry-After', String(retryAfter));
    if (error instanceof NoRouteError && error.allow) response.setHeader('Allow', error.allow);
    if (shaped) {
      if (shaped.type !== undefined) response.type(shaped.type);
      response.set(shaped.headers ?? {});
      response.status(shaped.status).json(shaped.body);
      return;
    }
    const codedData = this.coded.test(request.path) ? withErrorCode(code, data) : data;
    const status = prefersStatus(request) ? code : 200;
    if (status !== 200) response.setHeader('Preference-Applied', HTTP_STATUS);
    response.status(status).json({ code, msg: message, data: codedData });
  }

  private envelope(error: unknown, request: Request): ErrorEnvelope {
    if (error instanceof DomainError) return envelopeOf(error);
    if (error instanceof HttpException) return this.ofFramework(error, request);
    return this.unexpected(error, request);
  }

  private ofFramework(error: HttpException, request: Request): ErrorEnvelope {
    switch (error.getStatus()) {
      case 404:
        return { code: 404, msg: msg`There is no ${request.method} ${request.path}.`, data: null };
      case 413:
        return { code: 400, msg: msg`The uploaded file is too large.`, data: null };
      default:
        if (error.getStatus() >= 500) return this.unexpected(error, request);
        return { code: 400, msg: literal(error.message), data: null };
    }
  }

  private unexpected(error: unknown, request: Request): ErrorEnvelope {
    const id = requestId(request);
    this.logger.error({
      msg: 'Unhandled error in a request',
      err: error,
      requestId: id,
      method: request.method,
      path: request.path,
    });
    return {
      code: 500,
      msg: unexpectedMessage(id),
      data: null,
    };
  }
}

function prefersStatus({ headers: { prefer = '' } }: Request): boolean {
  const preferences = String(prefer).split(',');
  return preferences.some((one) => one.split(';', 1)[0]?.trim().toLowerCase() === HTTP_STATUS);
}

function envelopeOf(error: DomainError): ErrorEnvelope {
  return { code: error.code, msg: error.userMessage, data: error.data };
}

function retryAfterSeconds(error: unknown): number | undefined {
  const isPassing = error instanceof TooManyRequestsError || error instanceof UnavailableError;
  return isPassing ? error.retryAfterSeconds : undefined;
}

/** The message for an unexpected failure, with the request id under which the log has the cause. */
export function unexpectedMessage(id: string | undefined): Message {
  return msg`Something went wrong on our side. Try again. If it happens again, report request ${id ?? 'unknown'}.`;
}

function requestId(request: Request): string {
  const { id } = request as Request & { id?: unknown };
  return typeof id === 'string' ? id : 'unknown';
}

/** The data of an error with an `errorCode` in it: its own, or the one of the envelope code. */
function withErrorCode(code: ErrorCode, data: unknown): object {
  return { errorCode: ERROR_CODES[code], ...(typeof data === 'object' && data) };
}

/** Whether no route took the request. Only the router throws this; features throw a DomainError for a missing record. */
function isUnrouted(thrown: unknown): boolean {
  return thrown instanceof HttpException && thrown.getStatus() === 404;
}
