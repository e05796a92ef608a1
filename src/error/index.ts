export {
  ConflictError,
  DomainError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  TooManyRequestsError,
  UnauthenticatedError,
} from './domain.error.js';
export type { ErrorCode } from './domain.error.js';
export { ErrorFilter, envelopeOf } from './error.filter.js';
