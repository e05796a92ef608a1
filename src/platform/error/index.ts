export {
  ConflictError,
  DomainError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  RevisionConflictError,
  TooManyRequestsError,
  UnauthenticatedError,
  UnavailableError,
} from './domain.error.js';
export {
  answerRefusal,
  envelopeCode,
  ErrorFilter,
  setEnvelopeCode,
  unexpectedMessage,
} from './failure.js';
export type { Failure, FailureShape, ShapedFailure } from './failure.js';
export type { ErrorCode } from './domain.error.js';
