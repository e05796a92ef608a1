import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Response } from 'express';

/** A signal that aborts when the client disconnects before it is answered. */
export function whileConnected(response: Response): AbortSignal {
  const left = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) left.abort();
  });
  return left.signal;
}

/** A controller parameter: the signal of `whileConnected`. */
export const WhileConnected = createParamDecorator(
  (_: unknown, context: ExecutionContext): AbortSignal =>
    whileConnected(context.switchToHttp().getResponse<Response>()),
);
