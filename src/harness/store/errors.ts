import { ConflictError, NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

/** The answer also covers runs of other users. */
export class RunNotFoundError extends NotFoundError {
  /** `place`: where the request names it, such as `{ field: 'runs.2' }`. */
  constructor(place: { readonly field?: string } = {}) {
    super(msg`The run`, { data: { errorCode: 'RUN_NOT_FOUND', ...place } });
  }
}

/** An operator has stopped what changes files. */
export class WritesDisabledError extends ConflictError {
  constructor() {
    super(
      msg`An administrator has stopped harness writes. Use a READ_ONLY session, or try again later.`,
      { data: { errorCode: 'HARNESS_WRITES_DISABLED' } },
    );
  }
}

/** The answer also covers sessions of other users. */
export class SessionNotFoundError extends NotFoundError {
  constructor() {
    super(msg`The session`, { data: { errorCode: 'SESSION_NOT_FOUND' } });
  }
}

/** The same key came before, with another body. */
export class IdempotencyConflictError extends ConflictError {
  constructor() {
    super(
      msg`This idempotencyKey was used with another request. Send a new key with a new request.`,
      {
        data: { errorCode: 'IDEMPOTENCY_CONFLICT' },
      },
    );
  }
}

export class SessionDeletedError extends ConflictError {
  constructor() {
    super(msg`The session is deleted. Restore it first.`, {
      data: { errorCode: 'SESSION_DELETED' },
    });
  }
}
