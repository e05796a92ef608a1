import { ConflictError, DomainError, InvalidInputError } from '../../platform/error/index.js';
import { ObstacleError } from '../../platform/filesystem/index.js';
import type { Obstacle } from '../../platform/filesystem/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { ToolError } from '../fault/tool.error.js';
import type { ToolErrorCode } from '../fault/tool.error.js';
import { shown } from './workspace-path.js';

/** The folder of the session is no longer the one that the session was made for. */
export class WorkspaceGoneError extends ConflictError {
  constructor() {
    super(
      msg`The workspace was moved, removed or replaced since the session was made. Put it back, or make a new session.`,
      { data: { errorCode: 'WORKSPACE_GONE' } },
    );
  }
}

/** The operator has not allowed the folder; the message says what to change. */
export class WorkspaceNotAllowedError extends InvalidInputError {
  constructor(message: Message) {
    super(message, { data: { errorCode: 'WORKSPACE_NOT_ALLOWED' } });
  }
}

/** Also the answer for a folder outside of the tenant's roots, so that callers do not learn what there is. */
export class WorkspaceNotFoundError extends DomainError {
  readonly code = 404;

  constructor() {
    super(
      msg`The workspace was not found. Give the path of a folder below a root that the operator has set up for you (HARNESS_ROOTS).`,
      { data: { errorCode: 'WORKSPACE_NOT_FOUND' } },
    );
  }
}

const OBSTACLES: Readonly<Record<Obstacle, readonly [ToolErrorCode, string]>> = {
  missing: ['NOT_FOUND', 'does not exist. Look with list_files or glob_files'],
  link: ['SYMLINK_ESCAPE', 'leads over a symbolic link. Use the path of the file itself'],
  'no-folder': ['NOT_A_FOLDER', 'is no folder, or leads through a file. Look with list_files'],
  'no-file': ['NOT_A_FILE', 'is no regular file. Use list_files for a folder'],
  'too-large': [
    'TOO_LARGE',
    'is larger than 64 MiB, and such files are not changed. Leave it, or change it with a command',
  ],
  denied: [
    'FAILED',
    'may not be used by the service. Leave it, or ask the user to change its permissions',
  ],
};

const SYSTEM_ERRORS: Readonly<Record<string, readonly [ToolErrorCode, string]>> = {
  ENOSPC: ['FAILED', 'cannot be written: the disk is full. Ask the user to make room'],
  EDQUOT: ['FAILED', 'cannot be written: the disk quota is used up. Ask the user to make room'],
  EFBIG: ['TOO_LARGE', 'is larger than the file system takes'],
  EROFS: ['FAILED', 'lies on a read-only file system. Leave it'],
  EXDEV: ['FAILED', 'lies on another file system than its folder. Leave it'],
  EISDIR: ['NOT_A_FILE', 'is a folder. Give the path of a file'],
  ENOTDIR: ['NOT_A_FOLDER', 'leads through a file. Look with list_files'],
  ENOTEMPTY: ['FAILED', 'is a folder that is not empty'],
  EEXIST: [
    'CHANGED_MEANWHILE',
    'was created by another program in the meantime. Read it and try again',
  ],
  ETXTBSY: ['FAILED', 'is a program that is running. Try again when it has ended'],
  EBUSY: ['FAILED', 'is in use by the system. Leave it'],
  EMFILE: ['FAILED', 'cannot be opened: the service has too many open files. Try again'],
  ENFILE: ['FAILED', 'cannot be opened: the system has too many open files. Try again'],
  EIO: ['FAILED', 'cannot be read or written: the disk reports an error. Tell the user'],
  ESTALE: ['FAILED', 'cannot be reached: its network file system has changed. Try again'],
};

/** What went wrong with a path, in words for a model; every other error, such as an abort, stays as it is. */
export function asToolError(path: string, error: unknown): unknown {
  const known =
    error instanceof ObstacleError
      ? OBSTACLES[error.obstacle]
      : SYSTEM_ERRORS[(error as NodeJS.ErrnoException).code ?? ''];
  return known ? pathError(known[0], path, known[1]) : error;
}

/** `what` continues a sentence that begins with the path. */
export function pathError(code: ToolErrorCode, path: string, what: string): ToolError {
  return new ToolError(code, `${shown(path === '' ? '.' : path)} ${what}.`);
}
