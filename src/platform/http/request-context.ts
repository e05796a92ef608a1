import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

/** What log lines and audit entries say about the request they belong to. Nothing else may travel this way. */
export interface RequestContext {
  readonly id: string;
  readonly ip: string | undefined;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** The context of the request that this code runs for; undefined in a job or a timer. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

/** An id a client may send along, so that its own logs and ours meet. */
const CLIENT_ID_FORM = /^[\w-]{8,64}$/;

/** First of all middlewares: names the request, in the header X-Request-Id too. */
export function requestContext(request: Request, response: Response, next: NextFunction): void {
  const sent = request.headers['x-request-id'];
  const id = typeof sent === 'string' && CLIENT_ID_FORM.test(sent) ? sent : randomUUID();
  Object.assign(request, { id });
  response.setHeader('X-Request-Id', id);
  storage.run({ id, ip: request.ip }, next);
}
