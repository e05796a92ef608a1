import { DomainError } from '../platform/error/index.js';

/**
 * A sign-in or registration that is refused. Its code is 500 and not 401: existing clients take 401 for
 * "your sign-in has ended" and start over.
 */
export class LoginRefusedError extends DomainError {
  readonly code = 500;
}

/** Also the answer for users that do not exist or are disabled. */
export class WrongPasswordError extends LoginRefusedError {
  constructor() {
    super('The user name or the password is wrong.');
  }
}
