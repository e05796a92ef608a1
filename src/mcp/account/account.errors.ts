import { ConflictError, DomainError, InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

/** The authorization server of a tool server does not do what MCP asks of it. The reason is a part of a sentence. */
export class AuthorizationServerError extends DomainError {
  readonly code = 500;

  constructor(reason: Message, cause?: unknown) {
    super(msg`The authorization server cannot be used: ${reason}.`, { cause });
  }
}

/** A person must connect an account first, at the address: the user, or for a shared one who may change the server. */
export class AccountNeededError extends ConflictError {
  constructor(server: string, address: string, isPersonal: boolean) {
    super(
      isPersonal
        ? msg`Your account of the tool server ${server} is not connected. Connect it at ${address}`
        : msg`The tool server ${server} is not connected to an account. One who may change it must connect it at ${address}`,
    );
  }
}

export class AccountBusyError extends DomainError {
  readonly code = 500;

  constructor(server: string) {
    super(msg`The account of the tool server ${server} is being renewed. Try again.`);
  }
}

/** The tool server names another authorization server than the one that the client was entered for. */
export class OtherIssuerError extends ConflictError {
  constructor(server: string, issuer: string) {
    super(
      msg`The tool server ${server} now names the authorization server ${issuer}. If that is right, enter client id and secret again.`,
    );
  }
}

export class ClientNeededError extends InvalidInputError {
  constructor() {
    super(msg`account client needs clientId and clientSecret. Enter both.`);
  }
}
