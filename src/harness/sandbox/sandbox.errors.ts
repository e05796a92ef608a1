import { ToolError } from '../fault/tool.error.js';

/** Commands cannot be run; nothing was started. */
export class SandboxUnavailableError extends ToolError {
  constructor(
    /** For the operator: what is wrong and, where that is known, what to change. */
    readonly reason: string,
  ) {
    super(
      'SANDBOX_UNAVAILABLE',
      `The command was not run: there is no sandbox for it here. ${reason} Go on without commands.`,
    );
  }
}

/** bwrap was ended from outside in the middle of a command, which has ended with it: how far it has come is unknown. */
export class SandboxLostError extends Error {
  override readonly name = 'SandboxLostError';

  constructor() {
    super('The sandbox was ended from outside while a command ran, so its outcome is unknown.');
  }
}
