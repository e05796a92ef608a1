import { setImmediate } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { Injectable, SetMetadata, StreamableFile } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor, Type } from '@nestjs/common';
import type { Response } from 'express';
import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { answered, msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { setEnvelopeCode, UnauthenticatedError } from '../error/index.js';
import type { Failure } from '../error/index.js';
import { localized } from './request.js';

/** One page of a list. Answered as `{code, msg, total, rows}`, without a `data` key. */
export class Page<Row> {
  constructor(
    readonly rows: readonly Row[],
    readonly total: number,
  ) {}

  map<Other>(change: (row: Row) => Other): Page<Other> {
    return new Page(this.rows.map(change), this.total);
  }
}

/** Data with its own message, such as a warning that the client shows. */
export class Answer<Data> {
  constructor(
    readonly data: Data,
    readonly msg: Message,
    /** Top-level fields beside `data`, for routes that existing clients read in two forms (docs/WIRE.md). */
    readonly beside: Readonly<Record<string, unknown>> = {},
  ) {}
}

export const OK_MESSAGE = msg`Done.`;

interface Envelope extends Readonly<Record<string, unknown>> {
  readonly code: number;
  readonly msg: Message;
}

export function envelope(result: unknown): Envelope {
  if (result instanceof Page) {
    const { total, rows } = result;
    return { code: 200, msg: OK_MESSAGE, total, rows };
  }
  if (result instanceof Answer) {
    const { msg, beside } = result;
    const data: unknown = result.data;
    return { code: 200, msg, data: data ?? null, ...beside };
  }
  return { code: 200, msg: OK_MESSAGE, data: result ?? null };
}

/** Characters of one part, whose serialization takes about a millisecond. */
const PART_CHARS = 256 * 1_024;

/** The JSON text of the envelope of a page, in parts: rows can be large, and a thousand of them hold the event loop. */
export function* pageText(page: Page<unknown>, msg: string = OK_MESSAGE): Generator<string, void> {
  const { rows: _, ...head } = envelope(page);
  // The rows take the place of the closing brace.
  let part = `${JSON.stringify({ ...head, msg }).slice(0, -1)},"rows":[`;
  for (const [index, row] of page.rows.entries()) {
    part += index === 0 ? JSON.stringify(row) : `,${JSON.stringify(row)}`;
    if (part.length < PART_CHARS) continue;
    yield part;
    part = '';
  }
  yield `${part}]}`;
}

/** Lets other work run after each part. */
export async function* withPauses(
  firstParts: readonly string[],
  remainingParts: Iterable<string>,
): AsyncGenerator<Buffer, void> {
  for (const parts of [firstParts, remainingParts]) {
    for (const part of parts) {
      yield Buffer.from(part);
      await setImmediate();
    }
  }
}

const NO_ENVELOPE = 'http:no-envelope';

/** Marks a route that writes its own answer: a stream, a file, or a format that another tool reads. */
export const NoEnvelope = (): MethodDecorator & ClassDecorator => SetMetadata(NO_ENVELOPE, true);

/** Whether the method or its controller is marked `NoEnvelope`. */
export function hasNoEnvelope(controller: Type, handler: object): boolean {
  return [controller, handler].some((target) => Reflect.hasMetadata(NO_ENVELOPE, target));
}

/** Wraps the result of a controller in the envelope and answers HTTP 200, also for POST. */
@Injectable()
export class EnvelopeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (hasNoEnvelope(context.getClass(), context.getHandler())) return next.handle();
    const response = context.switchToHttp().getResponse<Response>().status(200);
    return next.handle().pipe(
      map((result) => {
        if (result instanceof Page) return pageAnswer(result, response);
        const answer = envelope(result);
        setEnvelopeCode(response, answer.code);
        return { ...answer, msg: answered(answer.msg, response) };
      }),
    );
  }
}

/** Serializes a page: at once when it is small, otherwise part by part while the client reads. */
function pageAnswer(page: Page<unknown>, response: Response): string | StreamableFile {
  setEnvelopeCode(response, 200);
  response.type('json');
  const parts = pageText(page, answered(OK_MESSAGE, response));
  const firstParts = [parts.next(), parts.next()].flatMap(({ value }) => value ?? []);
  if (firstParts.length === 1) return firstParts.join('');
  return new StreamableFile(Readable.from(withPauses(firstParts, parts)));
}

/**
 * An interceptor that works around a handler and leaves its result alone. A direct route runs `around` without the
 * observables of the router.
 */
export abstract class AroundInterceptor implements NestInterceptor {
  /** Calls `work` once, or throws without it. */
  abstract around<T>(context: ExecutionContext, work: () => Promise<T>): Promise<T>;

  intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    return this.around(context, () => Promise.resolve(next.handle()));
  }
}

const NO_KEY = msg`No valid API key was sent, or the sign-in has ended. Send a key of Plinth as Authorization: Bearer sk-plinth-… or as x-api-key, api-key or x-goog-api-key, or sign in again.`;

/** The message of a failure for a program, which sends a key instead of signing in. */
export function messageForProgram({ message, error }: Failure): string {
  // The errors of API keys say more.
  return error?.constructor === UnauthenticatedError ? localized(NO_KEY) : message;
}
