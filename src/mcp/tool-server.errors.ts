import { ConflictError, DomainError, InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

export class DuplicateServerNameError extends ConflictError {
  constructor(name: string) {
    super(msg`There is a tool server named ${name} already. Choose another name.`);
  }
}

export class InvalidHeadersError extends InvalidInputError {
  constructor() {
    super(
      msg`headers must be an object of header names and texts, without line feeds, at most 20. Host, Content-Type, Accept and headers that begin with Mcp- are set by Plinth.`,
    );
  }
}

export class MissingSecretError extends InvalidInputError {
  constructor(field: string) {
    super(msg`${field} is missing. Enter it, also after a change of the server’s address.`);
  }
}

/** The server cannot be reached, or does not answer as MCP says. */
export class ToolServerError extends DomainError {
  readonly code = 500;
  /** A tool may have been executed; otherwise none was. */
  readonly isUncertain: boolean;

  constructor(
    name: string,
    reason: Message,
    { cause, isUncertain }: { readonly cause: unknown; readonly isUncertain: boolean },
  ) {
    super(msg`The tool server ${name} cannot be used: ${reason}`, { cause });
    this.isUncertain = isUncertain;
  }
}

export class ToolServerDisabledError extends ConflictError {
  constructor(name: string) {
    super(msg`The tool server ${name} is disabled. Ask one who manages it to enable it.`);
  }
}

/** The tool is not as an administrator has accepted it. */
export class ToolNotAcceptedError extends ConflictError {
  constructor(tool: string, server: string) {
    super(
      msg`The tool ${tool} of the server ${server} has changed since it was accepted, or is no longer listed. One who may change the tool server must accept it first.`,
    );
  }
}

export class ToolForbiddenError extends ConflictError {
  constructor(tool: string) {
    super(msg`The tool ${tool} must not be called: its consent is never.`);
  }
}

/** The text that was shown is not the text that the server lists now. */
export class OtherToolTextError extends ConflictError {
  constructor(tool: string) {
    super(msg`The tool ${tool} has changed again. Reload it, and compare the texts.`);
  }
}
