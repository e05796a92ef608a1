import { ConflictError, DomainError, TooManyRequestsError } from '../../platform/error/index.js';

/** A resource that is not proxied. The message gives the reason and contains no address. */
export class ContentRefusedError extends DomainError {
  readonly code = 500;
}

/** The task has nothing to fetch yet, or never will. */
export class ContentNotReadyError extends ConflictError {
  constructor(status: string | null) {
    super(
      `The task has no content: its status is ${status ?? 'unknown'}. There is content once it is completed.`,
      { data: { status } },
    );
  }
}

/** The memory for resources of unknown length is used up. */
export class ContentMemoryError extends TooManyRequestsError {
  constructor() {
    super('Too many media resources are being fetched at the moment. Try again in a minute.');
  }
}
