import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  UnauthenticatedError,
} from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

/** The text is not a key, or no key that is stored. */
export class InvalidApiKeyError extends UnauthenticatedError {
  constructor() {
    super(msg`The API key is not valid. Check that it was copied whole, or create a new one.`);
  }
}

export class RevokedApiKeyError extends UnauthenticatedError {
  constructor() {
    super(msg`The API key has been revoked. Create a new one.`);
  }
}

export class ExpiredApiKeyError extends UnauthenticatedError {
  constructor() {
    super(msg`The API key has expired. Create a new one.`);
  }
}

/** The user or the tenant is disabled, or the tenant has expired. */
export class ApiKeyOwnerError extends UnauthenticatedError {
  constructor() {
    super(msg`The owner of the API key is disabled. Ask an administrator.`);
  }
}

export class ApiKeyAddressError extends ForbiddenError {
  constructor(address: string) {
    super(
      msg`This API key cannot be used from the address ${address}. Add the address to the key, or use another key.`,
    );
  }
}

export class ApiKeySurfaceError extends ForbiddenError {
  constructor(apiSurface: string) {
    super(
      msg`This API key cannot be used for the interface ${apiSurface}. Add the interface to the key, or use another key.`,
    );
  }
}

export class ApiKeyNotFoundError extends NotFoundError {
  constructor() {
    super(msg`The API key`);
  }
}

export class TooManyApiKeysError extends ConflictError {
  constructor(most: number) {
    super(msg`A user can have at most ${most} API keys. Revoke one first.`);
  }
}

export class UnusableApiKeyError extends ConflictError {
  constructor() {
    super(
      msg`The API key has been revoked or has expired and cannot be changed. Create a new one.`,
    );
  }
}

/** What a person has consented to stays as it is. */
export class ApplicationKeyError extends ConflictError {
  constructor() {
    super(
      msg`The API key belongs to a connected application and cannot be changed. Revoke it and connect the application again.`,
    );
  }
}

/** A key must not make keys: the limits of the first would not hold for the others. */
export class ApiKeyBySignInError extends ForbiddenError {
  constructor() {
    super(
      msg`API keys can be created and changed only by users who are signed in. Sign in instead.`,
    );
  }
}

export class OtherTenantError extends ConflictError {
  constructor() {
    super(msg`You work in another tenant than your own. Switch back to create a key for yourself.`);
  }
}

export class NotAddressError extends InvalidInputError {
  constructor(entry: string) {
    super(
      msg`addresses: ${entry} is neither an address nor a network. Write 192.0.2.7 or 192.0.2.0/24.`,
    );
  }
}

export class NotTagError extends InvalidInputError {
  constructor(tag: string) {
    super(msg`tags: "${tag}" is not a tag. Write it without commas, and without spaces around it.`);
  }
}

export class ExpiryError extends InvalidInputError {
  constructor() {
    super(msg`expireTime must be in the future.`);
  }
}

export class UnknownKeyPermissionError extends InvalidInputError {
  constructor(permission: string) {
    super(
      msg`permissions: an API key cannot have ${permission}. GET /system/apikey/permissions names those that it can have.`,
    );
  }
}
