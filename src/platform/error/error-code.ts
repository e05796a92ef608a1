import type { ErrorCode } from './domain.error.js';

const ERROR_CODES: Readonly<Record<ErrorCode, string>> = {
  400: 'INVALID_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'NOT_ALLOWED',
  409: 'CONFLICT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL',
};

/** The data of an error with an `errorCode` in it: its own, or the one of the envelope code. */
export function withErrorCode(code: ErrorCode, data: unknown): object {
  return { errorCode: ERROR_CODES[code], ...(typeof data === 'object' && data) };
}
