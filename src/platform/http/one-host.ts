import type { RequestHandler } from 'express';
import { answerRefusal } from '../error/index.js';
import type { FailureShape } from '../error/index.js';
import { msg } from '../message/index.js';

const SEVERAL_HOSTS = msg`The request has more than one Host header. Send one.`;

/**
 * Refuses requests with several Host headers, of which a proxy may have read another one than this service would (RFC 9112, 3.2). Node.js
 * keeps the first.
 */
export function oneHost(shapes: readonly FailureShape[]): RequestHandler {
  return (request, response, next) => {
    const names = request.rawHeaders.filter((_, place) => place % 2 === 0);
    if (names.filter((name) => name.toLowerCase() === 'host').length < 2) {
      next();
      return;
    }
    response.set('Connection', 'close');
    answerRefusal(request, response, { code: 400, message: SEVERAL_HOSTS, shapes });
  };
}
