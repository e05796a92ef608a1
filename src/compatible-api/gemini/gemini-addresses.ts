import type { RequestHandler } from 'express';
import { KeyInAddressError } from './gemini.errors.js';

/** The name of a model with slashes, which clients do not encode. */
const NAME = /^(\/v1beta\/models\/)([^?]+\/[^?]+)/i;

/** What is particular to addresses of the Gemini interface: a key in one is refused, and the name of a model may have slashes. */
export const geminiAddresses: RequestHandler = (request, _response, next) => {
  if (!/^\/v1beta\//i.test(request.url)) {
    next();
    return;
  }
  if (request.query['key'] !== undefined) {
    next(new KeyInAddressError());
    return;
  }
  request.url = request.url.replace(
    NAME,
    (_, start: string, name: string) => start + name.replaceAll('/', '%2F'),
  );
  next();
};
