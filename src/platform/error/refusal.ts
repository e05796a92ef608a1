import type { Request, Response } from 'express';
import type { Message } from '../message/index.js';
import { answered } from '../message/index.js';
import type { ErrorCode } from './domain.error.js';
import { setEnvelopeCode } from './envelope-code.js';
import { shapeFor } from './failure-shape.js';
import type { FailureShape } from './failure-shape.js';

interface Refusal {
  /** Also the HTTP status. */
  readonly code: ErrorCode;
  readonly message: Message;
  readonly shapes: readonly FailureShape[];
}

/** Answers a request that is refused before it reaches a route, in the form of its address. */
export function answerRefusal(
  request: Request,
  response: Response,
  { code, message: given, shapes }: Refusal,
): void {
  const message = answered(given, response);
  const shape = shapeFor(request, shapes);
  setEnvelopeCode(response, code);
  const shaped = shape?.answer({ code, message, error: undefined });
  if (shaped?.type !== undefined) response.type(shaped.type);
  response.set(shaped?.headers ?? {});
  response.status(code).json(shaped?.body ?? { code, msg: message, data: null });
}
