import { DomainError } from '../error/index.js';

/**
 * A sign-in or registration that is refused. Its code is 500 and not 401: existing clients take 401 for
 * "your sign-in has ended" and start over.
 */
export class LoginRefusedError extends DomainError {
  readonly code = 500;
}
