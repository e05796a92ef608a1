import { DomainError } from '../../platform/error/index.js';

/** A refused sign-in or registration. Its code is 500, because existing clients take 401 for an ended sign-in. */
export class LoginRefusedError extends DomainError {
  readonly code = 500;
}

/** Also thrown for users that do not exist or are disabled. */
export class WrongPasswordError extends LoginRefusedError {
  constructor() {
    super('The user name or the password is wrong.');
  }
}
