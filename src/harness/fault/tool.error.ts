/** Reason why a tool call failed: a stable code for clients; the model reads the message. */
export type ToolErrorCode =
  | 'INVALID_ARGUMENTS'
  | 'UNKNOWN_TOOL'
  | 'TOOL_NOT_OFFERED'
  | 'PATH_INVALID'
  | 'OUTSIDE_WORKSPACE'
  | 'SYMLINK_ESCAPE'
  | 'HARD_LINK'
  | 'NOT_FOUND'
  | 'NOT_A_FILE'
  | 'NOT_A_FOLDER'
  | 'NOT_TEXT'
  | 'TOO_LARGE'
  | 'SECRET_PATH'
  | 'PROTECTED_PATH'
  | 'NOT_READ'
  | 'CHANGED_MEANWHILE'
  | 'NO_MATCH'
  | 'AMBIGUOUS_MATCH'
  | 'PATCH_REFUSED'
  | 'SANDBOX_UNAVAILABLE'
  | 'COMMAND_FAILED'
  | 'TIMED_OUT'
  | 'CANCELLED'
  | 'DENIED'
  | 'APPROVAL_STALE'
  | 'WRITES_DISABLED'
  | 'NOT_EXECUTED'
  | 'UNCERTAIN'
  | 'LIMIT_REACHED'
  | 'SKILL_ERROR'
  | 'PLAN_ERROR'
  | 'FAILED';

/**
 * A tool call that cannot be carried out. The message is for the model: it names the rule and the next step. Nothing
 * has been changed when a tool throws it.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';

  constructor(
    readonly code: ToolErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Some files of a change are as after it and could not be put back, because another program has changed them meanwhile or
 * the disk refuses: what has happened is uncertain.
 */
export class RollBackFailedError extends Error {
  override readonly name = 'RollBackFailedError';

  constructor(
    /** The paths that are not as they were before. */
    readonly paths: readonly string[],
    options: { readonly cause: unknown },
  ) {
    super(
      `A change was applied only in part, and ${paths.length} file(s) could not be restored.`,
      options,
    );
  }
}
