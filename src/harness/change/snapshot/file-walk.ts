import { closeSync, constants, lstatSync, openSync, readdirSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import { isStandIn } from '../../sandbox/stand-ins.js';
import { classifyPath } from '../../workspace/protected-path.js';
import { PATH_BYTES } from '../../workspace/workspace-path.js';
import type { FileIdentity } from './manifest.js';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

const ENTRIES = 250_000;

export class TooManyFilesError extends Error {}

export interface WalkedFile extends FileIdentity {
  /** Below the workspace, with `/` between names. */
  readonly path: string;
  readonly mode: number;
  /** Its content is likely to be a credential. */
  readonly secret: boolean;
}

/** Opens the file for reading, unless it has become something else. */
export type Opener = () => number;

/**
 * Visits the regular files of a workspace, in a fixed order. Links and special files are not followed and not visited,
 * and neither are names that are no UTF-8, paths of more than 4,096 bytes, what git keeps, and the folders that scans
 * skip. Every name is looked up in the folder opened before, so that nothing outside is ever read. Blocks its thread: only
 * for one that does nothing else.
 * Throws TooManyFilesError where there are more than 250,000 files and folders.
 */
export function walkFiles(root: string, visit: (file: WalkedFile, open: Opener) => void): void {
  let entries = 0;
  const walk = (folder: number, path: string): void => {
    // Names below an open handle: what openat(2) does, which Node does not offer.
    const at = `/proc/self/fd/${folder}`;
    const found = readdirSync(at, { withFileTypes: true });
    entries += found.length;
    if (entries > ENTRIES) throw new TooManyFilesError();
    for (const entry of found.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      if (SKIPPED_FOLDERS.has(entry.name)) continue;
      const below = path === '' ? entry.name : `${path}/${entry.name}`;
      // Nothing could put it back.
      if (Buffer.byteLength(below) > PATH_BYTES) continue;
      const name = `${at}/${entry.name}`;
      if (entry.isDirectory()) inFolder(name, (opened) => walk(opened, below));
      else if (entry.isFile()) visitFile(name, below, visit);
    }
  };
  inFolder(root, (opened) => walk(opened, ''));
}

export function identityIn({ size, mtimeMs, ctimeMs, ino }: Stats): FileIdentity {
  return { size, modifiedAt: mtimeMs, changedAt: ctimeMs, inode: ino };
}

function visitFile(
  name: string,
  path: string,
  visit: (file: WalkedFile, open: Opener) => void,
): void {
  const stats = lstatSync(name, { throwIfNoEntry: false });
  if (!stats?.isFile() || isStandIn(path, stats)) return;
  const { protection, secret } = classifyPath(path);
  if (protection === 'GIT') return;
  const file = { path, secret, mode: stats.mode & 0o777, ...identityIn(stats) };
  visit(file, () => openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
}

/** A folder that is gone meanwhile, or must not be opened, is left out. */
function inFolder(path: string, act: (opened: number) => void): void {
  let opened: number;
  try {
    opened = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch {
    return;
  }
  try {
    act(opened);
  } finally {
    closeSync(opened);
  }
}
