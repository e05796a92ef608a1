import { ConflictError, InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { LoginRefusedError } from '../password/passwords.js';

/** Why a sign-in with a provider is refused. The sign-in page has a text for each. */
export const SSO_REFUSALS = [
  'provider',
  'client',
  'tenant',
  'expired',
  'denied',
  'unavailable',
  'configuration',
  'secret-key',
  'invalid',
  'disabled',
  'unknown-user',
  'limit',
  'other-user',
  'other-account',
  'signed-out',
] as const;
export type SsoRefusal = (typeof SSO_REFUSALS)[number];

const MESSAGES: Readonly<Record<SsoRefusal, Message>> = {
  provider: msg`This provider does not exist or is disabled. Choose another one.`,
  client: msg`This client may not sign in with a provider. Ask the operator of this service.`,
  tenant: msg`This tenant is disabled or has expired. Ask the operator of this service.`,
  expired: msg`The sign-in has expired or was used already. Start again.`,
  denied: msg`The provider has refused the sign-in. Ask its administrator for access.`,
  unavailable: msg`The provider cannot be reached at the moment. Try again, or sign in in another way.`,
  configuration: msg`The provider refuses this service: client id, secret or redirect address is wrong. Ask an administrator to test the provider.`,
  'secret-key': msg`This service cannot read the secret of the provider. Ask the operator to check SECRET_KEY, or an administrator to enter the secret again.`,
  invalid: msg`The answer of the provider is not valid. Start again, or ask an administrator to test the provider.`,
  disabled: msg`Your user is disabled. Ask an administrator.`,
  'unknown-user': msg`You have no user here, and this provider creates none. Ask an administrator.`,
  limit: msg`This tenant has reached its limit of users. Ask an administrator.`,
  'other-user': msg`This account of the provider already signs in another user here. Ask an administrator to disconnect that user, then connect again.`,
  'other-account': msg`You are connected with another account of this provider already. Disconnect that one, then connect again.`,
  'signed-out': msg`Your sign-in has ended meanwhile, so you were not connected. Sign in, then connect again.`,
};

export class SsoRefusedError extends LoginRefusedError {
  constructor(
    readonly refusal: SsoRefusal,
    cause?: unknown,
  ) {
    super(MESSAGES[refusal], { cause });
  }
}

/** A logout token that is not valid. The provider gets HTTP 400. */
export class InvalidLogoutTokenError extends InvalidInputError {
  constructor(cause?: unknown) {
    super(msg`The logout token is not valid.`, { cause });
  }
}

export class DraftUsedError extends ConflictError {
  constructor() {
    super(msg`The addresses of this draft belong to a provider already. Open the form again.`);
  }
}

/** The ids of users are unique to their issuer alone: at another one they could name other people. */
export class IssuerInUseError extends ConflictError {
  constructor() {
    super(
      msg`Users have signed in with this provider, so its issuer cannot be changed. Create another provider.`,
    );
  }
}

export class SecretForOtherIssuerError extends InvalidInputError {
  constructor() {
    super(
      msg`The stored secret is not sent to another issuer. Enter the client secret for the new one.`,
    );
  }
}

export class SuperAdminMappingError extends ConflictError {
  constructor() {
    super(msg`The role superadmin cannot be given by a provider. Choose another role.`);
  }
}

export class NoBreakGlassError extends ConflictError {
  constructor() {
    super(
      msg`Choose at least one enabled break-glass user before you turn password sign-in off. A service account cannot be one.`,
    );
  }
}

/** The password of a user whom a provider or a directory has created cannot be changed. */
export class NoPasswordError extends ConflictError {
  constructor(userNames: readonly string[]) {
    super(
      msg`A break-glass user signs in with a password, and these have none: ${userNames.join(', ')}. Set their passwords under Users first.`,
    );
  }
}

export class ScopesError extends InvalidInputError {
  constructor() {
    super(msg`scopes must contain openid.`);
  }
}

export class PasswordNeededError extends InvalidInputError {
  constructor() {
    super(msg`Without this connection you sign in with your password. Enter it to disconnect.`);
  }
}

export class LastWayError extends ConflictError {
  constructor() {
    super(
      msg`This connection is your only way to sign in, because this tenant has turned password sign-in off. Connect another provider first, or ask an administrator.`,
    );
  }
}
