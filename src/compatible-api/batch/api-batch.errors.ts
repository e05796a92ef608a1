import {
  ConflictError,
  DomainError,
  TooManyRequestsError,
  UnauthenticatedError,
} from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

/** The caller has no such batch. */
export class UnknownBatchError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no batch ${id}. It may have been deleted.`);
  }
}

/** The batch has ended, or its results are being written. */
export class EndedBatchError extends ConflictError {
  constructor(id: string) {
    super(msg`The batch ${id} has ended already and cannot be cancelled.`);
  }
}

export class OpenBatchError extends ConflictError {
  constructor(id: string) {
    super(msg`The batch ${id} has not ended. Cancel it first, and delete it once it has ended.`);
  }
}

/** The batch has not ended, or its results were deleted. */
export class NoResultsError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(
      msg`There are no results of the batch ${id}. It may not have ended, or they were deleted.`,
    );
  }
}

export class TooManyBatchesError extends TooManyRequestsError {
  constructor(most: number) {
    super(msg`You have ${most} batches that have not ended, which is the limit. Wait for one.`, {
      retryAfterSeconds: 60,
    });
  }
}

/** The remaining lines are not answered, because the batch's key is invalid or its user has lost access. */
export class BatchOwnerError extends UnauthenticatedError {
  constructor(hasKey: boolean) {
    super(
      hasKey
        ? msg`The API key of the batch is no longer valid, or its owner is disabled. Make the batch again with another key.`
        : msg`The user of the batch is disabled. Ask an administrator.`,
    );
  }
}

/** The owner of the batch has lost a right to what answers: the line is asked again with those that are left. */
export class LineRightsError extends Error {}

/** Every process that answered the line has stopped. */
export class InterruptedLineError extends DomainError {
  readonly code = 500;

  constructor(attempts: number) {
    super(
      msg`The service stopped ${attempts} times while it answered this request. Send it again in another batch.`,
    );
  }
}
