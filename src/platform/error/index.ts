export {
  ConflictError,
  DomainError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  TooManyRequestsError,
  UnauthenticatedError,
} from './domain.error.js';
export { envelopeCode, setEnvelopeCode } from './envelope-code.js';
export type { ErrorCode } from './domain.error.js';
export { ErrorFilter, unexpectedMessage } from './error.filter.js';
