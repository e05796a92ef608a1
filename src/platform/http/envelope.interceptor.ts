import { Readable } from 'node:stream';
import { Injectable, SetMetadata, StreamableFile } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor, Type } from '@nestjs/common';
import type { Response } from 'express';
import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { setEnvelopeCode } from '../error/index.js';
import { answered } from '../message/index.js';
import { envelope, OK_MESSAGE, Page } from './envelope.js';
import { pageText, withPauses } from './page.text.js';

const NO_ENVELOPE = 'http:no-envelope';

/** For a route that writes its own answer: a stream, a file, or a format that another tool reads. */
export const NoEnvelope = (): MethodDecorator & ClassDecorator => SetMetadata(NO_ENVELOPE, true);

/** Whether the method or its controller is marked so. */
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

/** Serialized here: at once when the page is small, otherwise part by part while the client reads. */
function pageAnswer(page: Page<unknown>, response: Response): string | StreamableFile {
  setEnvelopeCode(response, 200);
  response.type('json');
  const parts = pageText(page, answered(OK_MESSAGE, response));
  const begun = [parts.next(), parts.next()].flatMap(({ value }) => value ?? []);
  if (begun.length === 1) return begun.join('');
  return new StreamableFile(Readable.from(withPauses(begun, parts)));
}
