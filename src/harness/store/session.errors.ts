import { ConflictError, InvalidInputError, NotFoundError } from '../../platform/error/index.js';

/** Also the answer for a session of somebody else. */
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
