import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { languageOf } from '../message/index.js';
import type { Language } from '../message/index.js';

/** What log lines, audit entries, addresses and messages in answers need of their request. Nothing else is passed this way. */
export interface RequestContext {
  readonly id: string;
  readonly ip: string | undefined;
  /** The address by which the client reaches the API, without a final slash; undefined if its headers name none. */
  readonly baseAddress: string | undefined;
  /** Of messages to the client: by its header Accept-Language. */
  readonly language: Language;
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
  const language = languageOf(request.headers['accept-language']);
  const context = { id, ip: request.ip, baseAddress: baseAddressOf(request), language };
  storage.run(context, next);
}

const HOST_FORM = /^(?:[\w.-]+|\[[\da-f:]+\])(?::\d{1,5})?$/i;
const PREFIX_FORM = /^(?:\/[\w.-]+)+$/;

/**
 * Express reads X-Forwarded-Proto and X-Forwarded-Host of a trusted proxy (TRUST_PROXY). X-Forwarded-Prefix, the path that
 * such a proxy has removed, is read under the same condition.
 */
function baseAddressOf(request: Request): string | undefined {
  const host = request.host as string | undefined;
  if (host === undefined || !HOST_FORM.test(host)) return undefined;
  return `${request.protocol}://${host}${prefixOf(request)}`;
}

function prefixOf(request: Request): string {
  const sent = request.headers['x-forwarded-prefix'];
  if (typeof sent !== 'string' || !PREFIX_FORM.test(sent)) return '';
  const isTrusted = request.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  return isTrusted(request.socket.remoteAddress ?? '', 0) ? sent : '';
}
