import type { ErrorCode } from './domain.error.js';

const WORDS: Readonly<Record<ErrorCode, string>> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'NOT_ALLOWED',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL',
};

/** The data of an error with an `errorCode` in it: its own, or the word for the code. */
export function withErrorCode(code: ErrorCode, data: unknown): object {
  return { errorCode: WORDS[code], ...(typeof data === 'object' && data) };
}
