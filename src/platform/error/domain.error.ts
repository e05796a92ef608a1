import { english, msg } from '../message/index.js';
import type { Message } from '../message/index.js';

/** The codes of the envelope; the HTTP status is 200 in any case (docs/WIRE.md, Envelope and values). */
export type ErrorCode = 400 | 401 | 403 | 404 | 405 | 409 | 429 | 500 | 503;

/**
 * A failure that is reported to the caller. The message contains no secret and says what to do next; the caller gets
 * `userMessage` in the language of the request, and `message` is its English for logs. `data` is what a client needs to act on it.
 */
export abstract class DomainError extends Error {
  abstract readonly code: ErrorCode;
  readonly data: unknown;

  constructor(
    readonly userMessage: Message,
    options: { cause?: unknown; data?: unknown } = {},
  ) {
    super(english(userMessage), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.data = options.data ?? null;
  }
}

export class InvalidInputError extends DomainError {
  readonly code = 400;
}

export class UnauthenticatedError extends DomainError {
  readonly code = 401;

  constructor(message = msg`You are not signed in, or the sign-in has ended. Sign in again.`) {
    super(message);
  }
}

export class ForbiddenError extends DomainError {
  readonly code = 403;

  constructor(
    message = msg`You are not allowed to do this. Ask an administrator for the permission.`,
  ) {
    super(message);
  }
}

/** A missing record; also answered for one of another tenant or user, so that its existence is not disclosed. */
export class NotFoundError extends DomainError {
  readonly code = 404;

  constructor(what: Message, options: { data?: unknown } = {}) {
    super(msg`${what} was not found. It may have been deleted.`, options);
  }
}

export class ConflictError extends DomainError {
  readonly code = 409;
}

/** A save from a form whose record has changed since it was loaded. `current` is the record as its route answers it now. */
export class RevisionConflictError extends ConflictError {
  constructor(what: Message, { revision, current }: { revision: number; current: unknown }) {
    super(msg`${what} has changed since you opened it. Compare the changes, then save again.`, {
      data: { errorCode: 'REVISION_CONFLICT', revision, current },
    });
  }
}

export class TooManyRequestsError extends DomainError {
  readonly code = 429;
  /** Seconds after which the caller may try again; also sent as the header Retry-After. */
  readonly retryAfterSeconds: number;

  constructor(
    message: Message,
    options: { cause?: unknown; data?: unknown; retryAfterSeconds: number },
  ) {
    super(message, options);
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Something that the service depends on cannot be used now. The same request may succeed a moment later. */
export class UnavailableError extends DomainError {
  readonly code = 503;
  readonly retryAfterSeconds = 5;

  /** `what` with its article, as the beginning of a sentence; `reason` is the whole message where it is known. */
  constructor(what: Message, cause?: unknown, reason?: Message) {
    const unknown = msg`${what} is not available at the moment. Try again in a few seconds.`;
    super(reason ?? unknown, { cause });
  }
}
