import { readFileSync } from 'node:fs';
import type { FileOperation } from '../../effect/index.js';

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

export type FileKind = 'file' | 'link' | 'folder';

/** Modes as git and the system write them. */
export const LINK_MODE = 0o120000;
export const FOLDER_MODE = 0o040000;
const KIND_BITS = 0o170000;

/** Kind of file that a mode of FileState describes. */
export function kindOf(mode: number): FileKind {
  const kind = mode & KIND_BITS;
  if (kind === LINK_MODE) return 'link';
  return kind === FOLDER_MODE ? 'folder' : 'file';
}

/** An operation with the contents that make it possible, and to undo it. */
export interface PlannedFile {
  readonly operation: FileOperation;
  readonly beforeContent: Buffer | null;
  readonly afterContent: Buffer | null;
  /** The file exists and the runs of the session have not seen what is in it now. */
  readonly unread: boolean;
}

/** Files read in this run and the earlier runs of its session; the last read of a path counts. */
export interface SeenFiles {
  /** SHA-256 of the path's content when it was last seen whole or in part; undefined when it never was. */
  get(path: string): string | undefined;
}

/** The umask, read from /proc because process.umask() sets it for a moment for all threads. */
function umask(): number {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    return Number.parseInt(/^Umask:\s*([0-7]+)$/m.exec(status)?.[1] ?? '022', 8);
  } catch {
    return 0o022;
  }
}

const NEW_FILE_MODE = 0o644 & ~umask();

/** Permission bits of a file that was not there before. */
export function newFileMode(): number {
  return NEW_FILE_MODE;
}
