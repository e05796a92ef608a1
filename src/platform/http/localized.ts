import { translated } from '../message/index.js';
import { currentRequest } from './request-context.js';

/**
 * A message in a view, or in a frame of a stream, in the language of the request. Stored messages are English, so that every
 * reader gets them in their own language.
 */
export function localized(message: string): string;
export function localized(message: string | null): string | null;
export function localized(message: string | null): string | null {
  const language = currentRequest()?.language ?? 'en';
  return message === null ? null : translated(message, language);
}
