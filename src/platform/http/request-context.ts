import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

/** What log lines and audit entries say about their request. Nothing else is passed this way. */
export interface RequestContext {
  readonly id: string;
  readonly ip: string | undefined;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** The context of the request that this code runs for; undefined in a job or a timer. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

/** The form of a request id that a client may send, so that its logs and ours can be matched. */
const CLIENT_ID_FORM = /^[\w-]{8,64}$/;

/** The first middleware: gives the request its id, also in the header X-Request-Id. */
export function requestContext(request: Request, response: Response, next: NextFunction): void {
  const sent = request.headers['x-request-id'];
  const id = typeof sent === 'string' && CLIENT_ID_FORM.test(sent) ? sent : randomUUID();
  Object.assign(request, { id });
  response.setHeader('X-Request-Id', id);
  storage.run({ id, ip: request.ip }, next);
}
