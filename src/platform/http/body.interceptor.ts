import { Injectable, SetMetadata } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { AroundInterceptor } from './around.interceptor.js';
import { BodyReader, LARGEST_BODY_KB } from './body.reader.js';
import type { BodyLimit } from './body.reader.js';
import { refuseFields } from './strict-fields.js';

const BODY_LIMIT = 'http:body-limit';
const FORM_BODY = 'http:form-body';
const NO_BODY = 'http:no-body';
const PUBLIC_KB = 64;

/** For a route that takes images as base64 in JSON, with a long text. */
export const LargeBody = (): MethodDecorator =>
  SetMetadata(BODY_LIMIT, { atLeastKb: LARGEST_BODY_KB } satisfies BodyLimit);

/** For a route whose body existing clients send as a form: fields as in a query. JSON is read as well. */
export const FormBody = (): MethodDecorator => SetMetadata(FORM_BODY, true);

/** For routes that read a body from callers who are not signed in. */
export const SmallBody = (): MethodDecorator & ClassDecorator =>
  SetMetadata(BODY_LIMIT, { atMostKb: PUBLIC_KB } satisfies BodyLimit);

/** For a route without a body whose client must not believe in a field that nothing reads: any field is refused by its name. */
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
 * the given time. Closing it at once could take the answer away from a client that is still sending.
 */
export function closeHalfSent(idleSeconds: number): RequestHandler {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('finish', () => {
      if (request.complete) return;
      const { socket } = request;
      let seen = socket.bytesRead;
      const check = setInterval(() => {
        if (socket.bytesRead === seen) socket.destroy();
        seen = socket.bytesRead;
      }, idleSeconds * 1_000);
      check.unref();
      request.once('close', () => clearInterval(check));
    });
    next();
  };
}
