import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
  TooManyRequestsError,
} from '../../platform/error/index.js';
import type { ApprovalRow } from './approval.repository.js';
import type { HarnessEffect } from './harness.entity.js';

/** The first decision wins: another one, or the expiry, came first. */
export class ApprovalResolvedError extends ConflictError {
  constructor({ id, state, decision }: Pick<ApprovalRow, 'id' | 'state' | 'decision'>) {
    super(`This approval is ${state} already, so nothing was changed. Reload it and try again.`, {
      data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', approvalId: id, state, decision },
    });
  }
}

/** The decision was made about something else than what is asked now. */
export class ApprovalStaleError extends ConflictError {
  constructor({ id, revision, argumentsSha256 }: ApprovalRow) {
    super(
      'expectedRevision or argumentsSha256 is not that of the approval, so nothing was decided. Reload it and review its arguments.',
      {
        data: {
          errorCode: 'APPROVAL_STALE',
          approvalId: id,
          expectedRevision: revision,
          argumentsSha256,
        },
      },
    );
  }
}

export class NotGrantableError extends InvalidInputError {
  constructor(approvalId: string) {
    super(
      'This must be asked for each time, so it cannot be approved for the session. Decide APPROVE or DENY.',
      { data: { errorCode: 'APPROVAL_NOT_GRANTABLE', approvalId } },
    );
  }
}

/** There is nothing to find out: the call is still to run, has a known outcome, or was resolved otherwise. */
export class EffectNotUncertainError extends ConflictError {
  constructor({ toolCallId, state, resolution }: HarnessEffect) {
    super(
      `This tool call is ${state}, not UNCERTAIN, so nothing was changed. Reload the effects of the run.`,
      { data: { errorCode: 'EFFECT_NOT_UNCERTAIN', toolCallId, state, resolution } },
    );
  }
}

/** Also the answer for a run of another user. */
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
      `The run is ${status}. Only a run that is SUSPENDED because its model service was unavailable can be resumed.`,
      { data: { errorCode: 'NOT_RESUMABLE', status } },
    );
  }
}

export class EffectsUnresolvedError extends ConflictError {
  constructor() {
    super('The run has uncertain tool calls. Resolve each of them, or cancel the run.', {
      data: { errorCode: 'EFFECTS_UNRESOLVED' },
    });
  }
}

/** Also the answer for a session of another user. */
export class SessionNotFoundError extends NotFoundError {
  constructor() {
    super('The session', { data: { errorCode: 'SESSION_NOT_FOUND' } });
  }
}

/** The same key came before, with another body. */
export class IdempotencyConflictError extends ConflictError {
  constructor() {
    super('This idempotencyKey was used with another request. Send a new key with a new request.', {
      data: { errorCode: 'IDEMPOTENCY_CONFLICT' },
    });
  }
}

export class SessionDeletedError extends ConflictError {
  constructor() {
    super('The session is deleted. Restore it first.', { data: { errorCode: 'SESSION_DELETED' } });
  }
}

/** Why a model cannot be used; the word is for clients, the message for people. */
type ModelFault =
  'MODEL_NOT_FOUND' | 'MODEL_NOT_CHAT' | 'MODEL_NO_TOOLS' | 'MODEL_NO_VISION' | 'MODEL_UNAVAILABLE';

export class ModelRefusedError extends InvalidInputError {
  constructor(
    readonly errorCode: ModelFault,
    message: string,
    modelName: string,
  ) {
    super(message, { data: { errorCode, modelName } });
  }
}
