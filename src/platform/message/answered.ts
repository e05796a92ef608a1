import type { Response } from 'express';
import { languageOf } from './language.js';
import type { Message } from './message.js';
import { translated } from './translation.js';

/**
 * The message of an answer in the language of its request, which the header Content-Language then names where it is not
 * English. Caches keep the answers of several languages apart.
 */
export function answered(message: Message, response: Response): string {
  response.vary('Accept-Language');
  const language = languageOf(response.req.headers['accept-language']);
  const text = translated(message, language);
  if (text !== message) response.setHeader('Content-Language', language);
  return text;
}
