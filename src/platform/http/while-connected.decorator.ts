import type { ServerResponse } from 'node:http';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';

/**
 * Calls the listener once the answer is complete or its client has left. At once where the client left before, while a
 * guard waited for the database: `close` is said only once.
 */
export function onClose(response: ServerResponse, listener: () => void): void {
  if (response.closed) listener();
  else response.once('close', listener);
}

/** A signal that aborts when the client disconnects before it is answered. */
export function whileConnected(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  onClose(response, () => {
    if (!response.writableFinished) left.abort();
  });
  return left.signal;
}

/** A controller parameter: the signal of `whileConnected`. */
export const WhileConnected = createParamDecorator(
  (_: unknown, context: ExecutionContext): AbortSignal =>
    whileConnected(context.switchToHttp().getResponse<Response>()),
);
