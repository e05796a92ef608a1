import { posix } from 'node:path';
import { ToolError } from '../fault/tool.error.js';

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
