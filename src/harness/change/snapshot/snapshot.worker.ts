import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import { sha256 } from '../../protocol/ids.js';
import { classifyPath } from '../../workspace/protected-path.js';
import { PATH_BYTES } from '../../workspace/workspace-path.js';
import { blobPath } from '../blob.path.js';
import { isSameFile } from './manifest.js';
import type { FileIdentity, Manifest, ManifestFile } from './manifest.js';

const MIB = 2 ** 20;

/** What is kept of a workspace before a command; changes of other files are found, and cannot be put back. */
const KEPT_FILES = 20_000;
const KEPT_FILE_BYTES = 2 * MIB;
const KEPT_BYTES = 500 * MIB;
/** Of larger files not even the hash is taken. */
const HASHED_BYTES = 64 * MIB;
const PIECE_BYTES = MIB;

export interface LookTask {
  readonly root: string;
  readonly tenantId: string;
  /** Where contents are kept (blob.path.ts). */
  readonly blobs: string;
  /** The workspace as it was found last; contents of files that have not changed since are not read again. */
  readonly known: Manifest;
  /** Files that are not kept are hashed where they differ from this one; undefined: not at all. */
  readonly earlier?: Manifest | undefined;
}

/** Undefined where there are too many files. */
export type LookAnswer = Manifest | undefined;

/** Finds the files of a workspace and keeps the contents that are not kept yet. */
export function look(task: LookTask): LookAnswer {
  const known = byPath(task.known);
  const earlier = task.earlier && byPath(task.earlier);
  const room = new Room();
  const manifest: ManifestFile[] = [];
  const add = (file: WalkedFile, open: Opener): void => {
    const keep = room.reserve(file);
    const before = known.get(file.path);
    if (before && isSameFile(before, file) && (before.kept || !keep)) {
      manifest.push({ ...before, mode: file.mode });
      return;
    }
    const other = earlier?.get(file.path);
    const hash = earlier !== undefined && !(other && isSameFile(other, file));
    manifest.push(keep || hash ? read(file, open, keep && task) : unread(file));
  };
  if (!walked(task.root, add)) return undefined;
  return manifest.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** How many files there are whose changes could not be undone; secrets, which commands cannot change, are not counted. */
export function countUnkept(root: string): number | undefined {
  const room = new Room();
  let count = 0;
  const isDone = walked(root, (file) => {
    if (!room.reserve(file) && !file.secret) count += 1;
  });
  return isDone ? count : undefined;
}

/** What may still be kept of a workspace. */
class Room {
  private files = 0;
  private bytes = 0;

  reserve({ size, secret }: WalkedFile): boolean {
    if (secret || size > KEPT_FILE_BYTES) return false;
    if (this.files === KEPT_FILES || this.bytes + size > KEPT_BYTES) return false;
    this.files += 1;
    this.bytes += size;
    return true;
  }
}

function walked(root: string, visit: (file: WalkedFile, open: Opener) => void): boolean {
  try {
    walkFiles(root, visit);
    return true;
  } catch (error) {
    if (error instanceof TooManyFilesError) return false;
    throw error;
  }
}

/** What is read is the file that was opened, whatever has its name meanwhile. One that cannot be read counts as unread. */
function read(file: WalkedFile, open: Opener, keepFor: LookTask | false): ManifestFile {
  let opened: number;
  try {
    opened = open();
  } catch {
    return unread(file);
  }
  try {
    const stats = fstatSync(opened);
    const found = { ...unread(file), ...identityIn(stats) };
    const limit = keepFor ? KEPT_FILE_BYTES : HASHED_BYTES;
    if (!stats.isFile() || stats.size > limit) return found;
    if (!keepFor) return { ...found, sha256: hashOf(opened, limit) };
    const content = contentOf(opened, stats.size);
    return content ? { ...found, sha256: keep(content, keepFor), kept: true } : found;
  } finally {
    closeSync(opened);
  }
}

/** Undefined when the file is no longer as long as it was. */
function contentOf(opened: number, size: number): Buffer | undefined {
  const content = Buffer.alloc(size + 1);
  let length = 0;
  for (;;) {
    const count = readSync(opened, content, length, content.length - length, length);
    length += count;
    if (count === 0 || length > size) break;
  }
  return length === size ? content.subarray(0, size) : undefined;
}

/** Null for a file that grows beyond the limit. */
function hashOf(opened: number, limit: number): string | null {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(PIECE_BYTES);
  let length = 0;
  for (;;) {
    const count = readSync(opened, piece, 0, piece.length, length);
    if (count === 0) return hash.digest('hex');
    length += count;
    if (length > limit) return null;
    hash.update(piece.subarray(0, count));
  }
}

/**
 * As BlobStore.put does it, without waiting for the disk: contents that a loss of power has damaged are told from whole
 * ones when they are read.
 */
function keep(content: Buffer, { blobs, tenantId }: LookTask): string {
  const hash = sha256(content);
  const path = blobPath(blobs, tenantId, hash);
  // One that a loss of power has truncated is written again.
  if (lstatSync(path, { throwIfNoEntry: false })?.size === content.length) return hash;
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${randomBytes(16).toString('hex')}`);
  try {
    writeFileSync(unfinished, content, { flag: 'wx', mode: 0o600 });
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  return hash;
}

function byPath(manifest: Manifest): Map<string, ManifestFile> {
  return new Map(manifest.map((file) => [file.path, file]));
}

function unread({ path, size, modifiedAt, changedAt, inode, mode }: WalkedFile): ManifestFile {
  return { path, size, modifiedAt, changedAt, inode, mode, sha256: null, kept: false };
}

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
  if (!stats?.isFile()) return;
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
