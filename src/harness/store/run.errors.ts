import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
  TooManyRequestsError,
} from '../../platform/error/index.js';

/** Also the answer for a run of somebody else. */
export class RunNotFoundError extends NotFoundError {
  constructor() {
    super('The run', { data: { errorCode: 'RUN_NOT_FOUND' } });
  }
}

export class RunActiveError extends ConflictError {
  constructor(runId: string) {
    super('A run of this session is not finished. Wait for it, steer it, or cancel it first.', {
      data: { errorCode: 'RUN_ACTIVE', runId },
    });
  }
}

export class QueueFullError extends TooManyRequestsError {
  constructor() {
    super('Too many runs wait for a free place. Try again in a few seconds.', {
      data: { errorCode: 'QUEUE_FULL' },
      retryAfterSeconds: 5,
    });
  }
}

/** An operator has stopped what changes files. */
export class WritesDisabledError extends ConflictError {
  constructor() {
    super(
      'An administrator has stopped harness writes. Use a READ_ONLY session, or try again later.',
      { data: { errorCode: 'HARNESS_WRITES_DISABLED' } },
    );
  }
}

export class RunEndedError extends ConflictError {
  constructor(status: string) {
    super(`The run is ${status} already. Send a FOLLOW_UP, or start a new run.`, {
      data: { errorCode: 'RUN_ENDED', status },
    });
  }
}

/** An operator lets runs keep less than images may have. */
export class NoRoomForImagesError extends InvalidInputError {
  constructor() {
    super(
      'The images have more than a run may keep here (HARNESS_ARTIFACT_MB). Send fewer or smaller ones, or ask the operator.',
      { data: { errorCode: 'TOO_LARGE' } },
    );
  }
}

/** What is said to the run must be taken in first. */
export class InputsFullError extends ConflictError {
  constructor(limit: string) {
    super(
      `The run has not yet taken in what was said to it, and no more than ${limit} may wait. Say it again when the run has gone on.`,
      { data: { errorCode: 'TOO_LARGE' } },
    );
  }
}

export class NotResumableError extends ConflictError {
  constructor(status: string) {
    super(
      `The run is ${status}. Only a run that is SUSPENDED because its model service stayed away can be resumed.`,
      { data: { errorCode: 'NOT_RESUMABLE', status } },
    );
  }
}

export class EffectsUnresolvedError extends ConflictError {
  constructor() {
    super(
      'The run waits until somebody says what its uncertain tool calls have done. Resolve each of them, or cancel the run.',
      { data: { errorCode: 'EFFECTS_UNRESOLVED' } },
    );
  }
}
