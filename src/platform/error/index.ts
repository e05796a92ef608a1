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
export { envelopeCode, setEnvelopeCode } from './envelope-code.js';
export type { ErrorCode } from './domain.error.js';
export { ErrorFilter, unexpectedMessage } from './error.filter.js';
export { answerRefusal } from './refusal.js';
export type { Failure, FailureShape, ShapedFailure } from './failure-shape.js';
