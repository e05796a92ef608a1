import { UnauthenticatedError } from '../error/index.js';
import type { Failure } from '../error/index.js';
import { msg } from '../message/index.js';
import { localized } from './localized.js';

const NO_KEY = msg`No valid API key was sent, or the sign-in has ended. Send a key of Plinth as Authorization: Bearer sk-plinth-… or as x-api-key, api-key or x-goog-api-key, or sign in again.`;

/** The message of a failure for a program, which sends a key instead of signing in. */
export function messageForProgram({ message, error }: Failure): string {
  // Those of keys say more.
  return error?.constructor === UnauthenticatedError ? localized(NO_KEY) : message;
}
