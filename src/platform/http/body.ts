import type { IncomingMessage } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { applyDecorators, Global, Injectable, Module, SetMetadata } from '@nestjs/common';
import type { ExecutionContext, Type } from '@nestjs/common';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { Reflector } from '@nestjs/core';
import { ApiExtension, ApiExtraModels, getSchemaPath } from '@nestjs/swagger';
import { msg } from '../message/index.js';
import { DomainError, TooManyRequestsError } from '../error/index.js';
import { clientNetwork } from './request.js';
import { AroundInterceptor } from './answer.js';
import { refuseFields } from './input.js';

const KIB = 1_024;
const RETRY_AFTER_SECONDS = 1;

/**
 * A body above the general limit is large because of its texts. This many commas, colons and brackets in it, those of the
 * texts included, parse in some 50 ms; 14 MiB of them would hold the event loop for more than a second.
 */
const MAX_STRUCTURE_COUNT = 500_000;
const [COMMA, COLON, BRACKET, BRACE] = [0x2c, 0x3a, 0x5b, 0x7b];

/** The limit of a route's body in KiB, which raises or lowers the general limit. */
interface BodyLimit {
  readonly atLeastKb?: number;
  readonly atMostKb?: number;
}

interface BodyOptions extends BodyLimit {
  /** Whether the route reads forms as well. */
  readonly form?: boolean;
}

/** The body of a request is refused. It is not an InvalidInputError, so that routes with a form of their own for invalid fields answer it in the envelope. */
export class BodyError extends DomainError {
  readonly code = 400;
}

export class TooLargeError extends BodyError {
  constructor(limit: number) {
    super(
      msg`The request body is too large. This route reads ${Math.floor(limit / KIB)} KiB at most. Send less at once.`,
      { data: { errorCode: 'TOO_LARGE' } },
    );
  }
}

/** A body that is not JSON. */
export class UnreadableBodyError extends BodyError {
  constructor(cause?: unknown) {
    super(msg`The request body is not readable JSON.`, { cause });
  }
}

const INTERRUPTED = 'The client disconnected.';

class InterruptedError extends Error {
  override readonly name = 'AbortError';
}

/** All files of one form: a sound of 25 MiB, which is what services take, or several images. */
export const MAX_FORM_BYTES = 30 * KIB * KIB;

/** 8 MiB of images as base64 in JSON, and the longest text with them: the largest body that a route reads. */
const MAX_BODY_KB = 14 * KIB;

/** Limits of JSON bodies. `budgetBytes` are those of the process; half of them is more than any body or form has. */
export const BODY_LIMITS = {
  /** Bodies of routes that say no other limit. */
  usualBytes: 1_024 * KIB,
  budgetBytes: 64 * KIB * KIB,
  /** Longest pause of a client that sends a body, or the rest of a refused request. */
  idleMs: 15_000,
};

/** The bytes of bodies that are being read and parsed, in all and for each network of clients. */
@Injectable()
export class BodyBudget {
  private readonly bytesOf = new Map<string, number>();
  private total = 0;

  get used(): number {
    return this.total;
  }

  /** Reserves bytes. Throws TooManyRequestsError when the process or the network has too much in flight. */
  take(network: string, bytes: number): void {
    const ofNetwork = this.bytesOf.get(network) ?? 0;
    const { budgetBytes } = BODY_LIMITS;
    if (this.total + bytes > budgetBytes || ofNetwork + bytes > budgetBytes / 2) {
      throw new TooManyRequestsError(
        msg`Too many large requests at the same time. Try again in ${RETRY_AFTER_SECONDS} second.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    }
    this.total += bytes;
    this.bytesOf.set(network, ofNetwork + bytes);
  }

  release(network: string, bytes: number): void {
    this.total -= bytes;
    const remainingBytes = (this.bytesOf.get(network) ?? 0) - bytes;
    if (remainingBytes > 0) this.bytesOf.set(network, remainingBytes);
    else this.bytesOf.delete(network);
  }
}

/** Reads JSON bodies within limits of size and time, and within the budget of the process. */
@Injectable()
class BodyReader {
  constructor(private readonly budget: BodyBudget) {}

  /**
   * The parsed body; undefined without a JSON body, or a form where the route reads one. BodyError for one that is too large, not readable or half-sent,
   * TooManyRequestsError when too much is being read. `text/plain` counts as JSON below /auth/, as existing clients send it.
   */
  async read(request: Request, response: Response, options: BodyOptions): Promise<unknown> {
    const isForm = options.form === true && typeOf(request) === FORM;
    if (!hasBody(request) || !(isForm || isJson(request))) return undefined;
    const { atLeastKb = 0, atMostKb = Infinity } = options;
    const limit = Math.min(Math.max(BODY_LIMITS.usualBytes, atLeastKb * KIB), atMostKb * KIB);
    const declared = Number(request.headers['content-length']);
    const stream = decoded(request);
    if (stream === request && declared > limit) throw new TooLargeError(limit);
    const network = clientNetwork(request.ip);
    let bytesRead = 0;
    try {
      const bytes = await this.collect(request, response, stream, (size) => {
        if (bytesRead + size > limit) throw new TooLargeError(limit);
        this.budget.take(network, size);
        bytesRead += size;
      });
      return isForm
        ? parseForm(bytes, request)
        : parse(bytes, request, bytes.length > BODY_LIMITS.usualBytes);
    } finally {
      this.budget.release(network, bytesRead);
    }
  }

  /** `admit` is called with the size of each chunk, and throws to end the reading. */
  private collect(
    request: Request,
    response: Response,
    stream: Readable,
    admit: (size: number) => void,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const fail = (error: Error): void => {
        clearTimeout(idle);
        stop();
        // The rest of the request is discarded as it arrives.
        request.resume();
        reject(error);
      };
      const idle = setTimeout(() => fail(this.incompleteBody(response)), BODY_LIMITS.idleMs);
      const stop = listen(request, stream, {
        data: (chunk) => {
          idle.refresh();
          try {
            admit(chunk.length);
            chunks.push(chunk);
          } catch (error) {
            fail(error as Error);
          }
        },
        end: () => {
          clearTimeout(idle);
          stop();
          resolve(Buffer.concat(chunks));
        },
        fail,
      });
    });
  }

  private incompleteBody(response: Response): BodyError {
    // Nothing more is to be expected on this connection.
    response.setHeader('Connection', 'close');
    const seconds = BODY_LIMITS.idleMs / 1_000;
    return new BodyError(
      msg`The request body did not arrive: ${seconds} seconds without data. Send the request again.`,
    );
  }
}

/** Reads the stream, which is the request or unpacks it. Nothing is called after the returned function. */
function listen(
  request: Request,
  stream: Readable,
  on: { data: (chunk: Buffer) => void; end: () => void; fail: (error: Error) => void },
): () => void {
  const onError = (error: Error): void => {
    on.fail(
      isInterrupted(request) ? new InterruptedError(INTERRUPTED) : new UnreadableBodyError(error),
    );
  };
  const onClose = (): void => {
    if (isInterrupted(request)) on.fail(new InterruptedError(INTERRUPTED));
  };
  const unpacker = stream === request ? undefined : (stream as Transform);
  stream.on('data', on.data).once('end', on.end).on('error', onError);
  request.on('close', onClose);
  if (unpacker) request.on('error', onError).pipe(unpacker);
  if (isInterrupted(request)) setImmediate(onClose);
  return () => {
    stream.off('data', on.data).off('end', on.end).off('error', onError);
    request.off('close', onClose).off('error', onError);
    // An error that comes late has no reader.
    request.on('error', () => undefined);
    if (!unpacker) return;
    request.unpipe(unpacker);
    unpacker.on('error', () => undefined).destroy();
  };
}

function isInterrupted(request: Request): boolean {
  return request.destroyed && !request.complete;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) >= 0;
}

const FORM = 'application/x-www-form-urlencoded';

function typeOf({ headers }: Request): string {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function isJson(request: Request): boolean {
  const type = typeOf(request);
  if (type === 'application/json' || type.endsWith('+json')) return true;
  return type === 'text/plain' && request.path.startsWith('/auth/');
}

function decoded(request: Request): Readable {
  switch (request.headers['content-encoding']?.toLowerCase() ?? 'identity') {
    case 'identity':
      return request;
    case 'gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new UnreadableBodyError();
  }
}

function parse(bytes: Buffer, request: Request, isLarge: boolean): unknown {
  if (bytes.length === 0) return {};
  if (isLarge) checkStructure(bytes);
  const text = textOf(bytes, request.headers['content-type'] ?? '');
  // Other values than objects and lists are no input of any route.
  if (!/^\s*[[{]/.test(text)) throw new UnreadableBodyError();
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableBodyError(error);
  }
}

/** Fields are read as those of a query: `params[beginTime]` is a field of an object. */
function parseForm(bytes: Buffer, request: Request): unknown {
  const read = request.app.get('query parser fn') as (text: string) => unknown;
  return read(textOf(bytes, request.headers['content-type'] ?? ''));
}

function checkStructure(bytes: Buffer): void {
  let count = 0;
  // An index and plain comparisons: 14 MiB take some 15 ms, and several times as much with an iterator and a set.
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === COMMA || byte === COLON || byte === BRACKET || byte === BRACE) count += 1;
  }
  if (count > MAX_STRUCTURE_COUNT) {
    throw new BodyError(msg`The request body holds too many values. Send less at once.`);
  }
}

function textOf(bytes: Buffer, contentType: string): string {
  const charset =
    /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType)?.[1]?.toLowerCase() ?? 'utf-8';
  if (!charset.startsWith('utf-')) throw new UnreadableBodyError();
  try {
    // TextDecoder drops the byte order mark.
    return new TextDecoder(charset).decode(bytes);
  } catch (error) {
    throw new UnreadableBodyError(error);
  }
}

const BODY_LIMIT = 'http:body-limit';
const FORM_BODY = 'http:form-body';
const NO_BODY = 'http:no-body';
const MAX_PUBLIC_KB = 64;

/** Raises the limit of the body for a route that takes images as base64 in JSON, with a long text. */
export const LargeBody = (): MethodDecorator =>
  SetMetadata(BODY_LIMIT, { atLeastKb: MAX_BODY_KB } satisfies BodyLimit);

/** Lets a route read its body as a form, as existing clients send it, with fields as in a query. JSON is read as well. */
export const FormBody = (): MethodDecorator => SetMetadata(FORM_BODY, true);

/** Lowers the limit of the body for routes that callers who are not signed in may call. */
export const SmallBody = (): MethodDecorator & ClassDecorator =>
  SetMetadata(BODY_LIMIT, { atMostKb: MAX_PUBLIC_KB } satisfies BodyLimit);

/** Refuses every field of a body, by its name, so that no client relies on a field that nothing reads. */
export const NoBody = (): MethodDecorator => SetMetadata(NO_BODY, true);

/**
 * Reads the body of a request after the guards, so that nothing is read or parsed for a caller who is not signed in or
 * lacks the permission.
 */
@Injectable()
export class BodyInterceptor extends AroundInterceptor {
  constructor(
    private readonly reader: BodyReader,
    private readonly reflector: Reflector,
  ) {
    super();
  }

  override async around<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T> {
    const limit = this.reflector.getAllAndOverride<BodyLimit | undefined>(BODY_LIMIT, [
      context.getHandler(),
      context.getClass(),
    ]);
    const form = this.reflector.get<boolean | undefined>(FORM_BODY, context.getHandler());
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    request.body = await this.reader.read(request, http.getResponse<Response>(), {
      ...limit,
      ...(form && { form }),
    });
    if (this.reflector.get<boolean | undefined>(NO_BODY, context.getHandler())) {
      refuseFields(request.body);
    }
    return work();
  }
}

/**
 * Closes the connection of a request that was answered before its body was complete, once the client sends no more of it for
 * a time. Closing it at once could take the answer away from a client that is still sending.
 */
export function closeHalfSent(): RequestHandler {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('finish', () => {
      if (request.complete) return;
      const { socket } = request;
      let bytesBefore = socket.bytesRead;
      const check = setInterval(() => {
        if (socket.bytesRead === bytesBefore) socket.destroy();
        bytesBefore = socket.bytesRead;
      }, BODY_LIMITS.idleMs);
      check.unref();
      request.once('close', () => clearInterval(check));
    });
    next();
  };
}

/** How a route with a form names its JSON body to the OpenAPI document, where all media types of a route have one schema. */
export const JSON_BODY = 'x-json-body';

/** Documents a route that reads a form, and the class as JSON in its place. */
export const ReadsJson = (body: Type): MethodDecorator =>
  applyDecorators(ApiExtraModels(body), ApiExtension(JSON_BODY, { $ref: getSchemaPath(body) }));

/** The reader of bodies and the budget that all of them share. */
@Global()
@Module({ providers: [BodyBudget, BodyReader], exports: [BodyBudget, BodyReader] })
export class BodyModule {}
