import { posix } from 'node:path';
import { realpath } from 'node:fs/promises';
import { ToolError } from '../protocol/tool-call.js';
import type { ToolErrorCode } from '../protocol/tool-call.js';
import { ObstacleError } from '../../platform/filesystem/index.js';
import type { Obstacle, OpenFolder } from '../../platform/filesystem/index.js';

/** Limits of Linux. */
export const PATH_BYTES = 4_096;
const NAME_BYTES = 255;

const HINT = 'Give a path relative to the workspace, such as src/main.ts.';

/**
 * The path below the root that a model's text names, with `/` between names and without `.`, `..` and doubled or last
 * slashes; '' for the root itself. Purely lexical: nothing is looked up, decoded or normalised, so that a name in another
 * spelling names another file. ToolError PATH_INVALID, or OUTSIDE_WORKSPACE when it leads out of the root.
 */
export function relativePath(root: string, requestedPath: string): string {
  const refuse = (why: string): never => {
    throw new ToolError('PATH_INVALID', `The path ${displayPath(requestedPath)} ${why}. ${HINT}`);
  };
  if (Buffer.byteLength(requestedPath) > PATH_BYTES) refuse(`is longer than ${PATH_BYTES} bytes`);
  if (/\p{Cc}/u.test(requestedPath)) refuse('holds a control character');
  if (!requestedPath.isWellFormed()) refuse('is no valid Unicode');
  if (requestedPath.includes('\\')) refuse('holds a backslash; names are parted by /');
  const absolute = posix.resolve(root, requestedPath);
  const path = relativeTo(root, absolute);
  if (path === undefined) {
    throw new ToolError(
      'OUTSIDE_WORKSPACE',
      `The path ${displayPath(requestedPath)} is outside of the workspace, where nothing can be read or changed. ${HINT}`,
    );
  }
  if (path.split('/').some((name) => Buffer.byteLength(name) > NAME_BYTES)) {
    refuse(`holds a name of more than ${NAME_BYTES} bytes`);
  }
  if (Buffer.byteLength(absolute) > PATH_BYTES) refuse(`is longer than ${PATH_BYTES} bytes`);
  return path;
}

/** The rest of a normalised absolute path below the folder, '' for the folder itself; undefined for any other path. */
export function relativeTo(folder: string, absolute: string): string | undefined {
  if (absolute === folder) return '';
  const start = folder.endsWith('/') ? folder : `${folder}/`;
  return absolute.startsWith(start) ? absolute.slice(start.length) : undefined;
}

/** Whether one of the folders is the other, or lies in it. */
export function overlap(one: string, other: string): boolean {
  return relativeTo(one, other) !== undefined || relativeTo(other, one) !== undefined;
}

/** The names of a path that relativePath has answered. */
export function namesOf(path: string): readonly string[] {
  return path === '' ? [] : path.split('/');
}

/** A path as a model reads it: quoted, on one line, not too long. */
export function displayPath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** `what` continues a sentence that begins with the path. */
export function pathError(code: ToolErrorCode, path: string, what: string): ToolError {
  return new ToolError(code, `${displayPath(path === '' ? '.' : path)} ${what}.`);
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

/** Converts errors about a path to words for a model; every other error, such as an abort, is returned unchanged. */
export function asToolError(path: string, error: unknown): unknown {
  const mapping =
    error instanceof ObstacleError
      ? OBSTACLES[error.obstacle]
      : SYSTEM_ERRORS[(error as NodeJS.ErrnoException).code ?? ''];
  return mapping ? pathError(mapping[0], path, mapping[1]) : error;
}

/** Links on one path; what Linux allows. */
const MAX_LINKS = 40;

/** End of a path after its links are followed. */
export interface Arrival {
  /** The folder that holds it; the caller closes it. */
  readonly folder: OpenFolder;
  /** Its name there; undefined when it is the root itself, which `folder` then is. */
  readonly name: string | undefined;
  /** The path without any link. */
  readonly realPath: string;
}

/** A place on the way: an open folder and the names, none of them a link, that lead to it. */
interface Position {
  readonly at: OpenFolder;
  readonly done: readonly string[];
}

/**
 * Follows a path below the root as the system would, links included, but name by name from one open folder into the
 * next: whatever is swapped meanwhile, it ends below the root. ToolError SYMLINK_ESCAPE when a link leads elsewhere,
 * ObstacleError for what stands in the way before the last name, which itself may be missing.
 */
export class PathWalk {
  private hops = 0;

  constructor(
    private readonly root: { readonly folder: OpenFolder; readonly path: string },
    private readonly path: string,
  ) {}

  async arrive(): Promise<Arrival> {
    let pending: readonly string[] = namesOf(this.path);
    let position: Position = { at: await this.root.folder.folder([]), done: [] };
    try {
      for (;;) {
        const [name, ...rest] = pending;
        const { at, done } = position;
        if (name === undefined) return await this.ended(position);
        if (name === '' || name === '.') {
          pending = rest;
        } else if (name === '..') {
          pending = done.length > 0 ? rest : await this.around(['..', ...rest].join('/'));
          position = await this.moved(position, done.slice(0, -1));
        } else if (await isLink(at, name, rest)) {
          ({ position, pending } = await this.followed(position, name, rest));
        } else if (rest.length === 0) {
          return { folder: at, name, realPath: [...done, name].join('/') };
        } else {
          ({ position, pending } = await this.entered(position, name, rest));
        }
      }
    } catch (error) {
      await position.at.close();
      throw error;
    }
  }

  private async entered(
    position: Position,
    name: string,
    rest: readonly string[],
  ): Promise<{ position: Position; pending: readonly string[] }> {
    try {
      const at = await position.at.folder([name]);
      await position.at.close();
      return { position: { at, done: [...position.done, name] }, pending: rest };
    } catch (error) {
      if (!(error instanceof ObstacleError) || error.obstacle !== 'link') throw error;
      // The entry has become a link since it was inspected.
      this.hop();
      return { position, pending: [name, ...rest] };
    }
  }

  private async followed(
    position: Position,
    name: string,
    rest: readonly string[],
  ): Promise<{ position: Position; pending: readonly string[] }> {
    this.hop();
    const target = await linkTarget(position.at, name);
    // The entry is no longer a link.
    if (target === undefined) return { position, pending: [name, ...rest] };
    if (!target.startsWith('/')) return { position, pending: [...target.split('/'), ...rest] };
    const pending = await this.around([target, ...rest].join('/'));
    return { position: await this.moved(position, []), pending };
  }

  /** The names, from the root on, of a path that leaves it and comes back, such as an absolute one. */
  private async around(path: string): Promise<readonly string[]> {
    this.hop();
    const absolute = posix.resolve(this.root.path, path);
    const inside = relativeTo(this.root.path, absolute);
    if (path.startsWith('/') && inside !== undefined && !path.split('/').includes('..')) {
      return namesOf(inside);
    }
    // The result only suggests names, which are then walked from the root like all others.
    const real = await realpath(path.startsWith('/') ? path : `${this.root.path}/${path}`).catch(
      () => undefined,
    );
    const names = real === undefined ? undefined : relativeTo(this.root.path, real);
    if (names === undefined) throw this.escape();
    return namesOf(names);
  }

  private async moved(position: Position, done: readonly string[]): Promise<Position> {
    const at = await this.root.folder.folder(done);
    await position.at.close();
    return { at, done };
  }

  /** The path has ended at a folder that is open, by `.` or `..`. */
  private async ended({ at, done }: Position): Promise<Arrival> {
    const name = done.at(-1);
    if (name === undefined) return { folder: at, name, realPath: '' };
    const folder = await this.root.folder.folder(done.slice(0, -1));
    await at.close();
    return { folder, name, realPath: done.join('/') };
  }

  private hop(): void {
    this.hops += 1;
    if (this.hops > MAX_LINKS) {
      throw pathError('SYMLINK_ESCAPE', this.path, 'leads over too many symbolic links');
    }
  }

  private escape(): Error {
    return pathError(
      'SYMLINK_ESCAPE',
      this.path,
      'is or passes a symbolic link that leads out of the workspace, or to nothing',
    );
  }
}

/** A missing last name is no link: the caller finds that out on arrival. */
async function isLink(at: OpenFolder, name: string, rest: readonly string[]): Promise<boolean> {
  try {
    return (await at.stat(name)).isSymbolicLink();
  } catch (error) {
    if (rest.length === 0 && error instanceof ObstacleError && error.obstacle === 'missing') {
      return false;
    }
    throw error;
  }
}

/** Undefined when it is no link any more. */
async function linkTarget(at: OpenFolder, name: string): Promise<string | undefined> {
  try {
    return await at.linkTarget(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return undefined;
    throw error;
  }
}
