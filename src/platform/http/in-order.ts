import type { NextFunction, RequestHandler } from 'express';

/** Several handlers as one: to go through its layers costs Express more than most handlers do. */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return (request, response, next) => {
    const from =
      (index: number): NextFunction =>
      (error?: unknown) => {
        const handler = handlers[index];
        if (error !== undefined || !handler) next(error);
        else void handler(request, response, from(index + 1));
      };
    from(0)();
  };
}
