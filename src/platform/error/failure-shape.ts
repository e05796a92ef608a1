import type { Request } from 'express';
import type { Message } from '../message/index.js';
import type { ErrorCode } from './domain.error.js';

/** A failure as a client gets it. */
export interface Failure {
  readonly code: ErrorCode;
  /** In the language of the request. */
  readonly message: string;
  /** What was thrown. */
  readonly error: unknown;
}

/** How interfaces with a protocol of their own answer failures, instead of the envelope with HTTP 200. */
export interface FailureShape {
  /** The paths of the interface. */
  readonly paths: RegExp;
  /** Where several interfaces share the paths: a header that clients of this one send. */
  readonly header?: string;
  answer(failure: Failure): ShapedFailure;
  /** What to do about a path of the interface that no route has. */
  readonly advice?: (path: string, hasRoute: (path: string) => boolean) => Message | undefined;
  /** Those of the paths that browsers open as pages of the console. */
  readonly pages?: RegExp;
}

export interface ShapedFailure {
  readonly status: number;
  readonly body: object;
  /** Default: application/json. */
  readonly type?: string | undefined;
  /** For the header Retry-After, where the error does not say it itself. */
  readonly retryAfterSeconds?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How failures of a request are answered; undefined for the envelope. The first shape that fits counts. */
export function shapeFor(
  { path, headers }: Request,
  shapes: readonly FailureShape[],
): FailureShape | undefined {
  return shapes.find(
    ({ paths, header }) =>
      paths.test(path) && (header === undefined || headers[header] !== undefined),
  );
}
