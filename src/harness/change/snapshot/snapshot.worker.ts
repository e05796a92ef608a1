import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { isUtf8 } from 'node:buffer';
import { dirname, join, posix } from 'node:path';
import { LRUCache } from 'lru-cache';
import { SKIPPED_FOLDERS } from '../../../platform/filesystem/index.js';
import { sha256 } from '../../protocol/values.js';
import { classifyName, UNPROTECTED, isSecretContent } from '../../workspace/protected-path.js';
import type { PathClass } from '../../workspace/protected-path.js';
import { PATH_BYTES } from '../../workspace/workspace-path.js';
import { blobPath } from '../blob.path.js';
import { FOLDER_MODE, LINK_MODE } from '../../protocol/tool-call.js';
import type { FileKind } from '../../protocol/tool-call.js';
import { byPath, isSameFile, manifestBytes, operationsBetween, readManifest } from './manifest.js';
import type { FileIdentity, Manifest, ManifestFile, StoredManifest } from './manifest.js';
import type { FileOperation, FileState } from '../../../effect/index.js';

const MIB = 2 ** 20;

/** Limits of stored content per workspace before a command; changes of other files are detected but cannot be undone. */
const MAX_STORED_FILES = 20_000;
const MAX_STORED_FILE_BYTES = 2 * MIB;
const MAX_STORED_BYTES = 500 * MIB;
/** Larger files are not even hashed. */
const MAX_HASHED_BYTES = 64 * MIB;
const PIECE_BYTES = MIB;

/** Files of which the state is remembered, over all workspaces. */
const REMEMBERED = { max: 1_000, maxSize: 400_000 };

export interface Place {
  readonly root: string;
  readonly tenantId: string;
  /** Root folder of stored contents (blob.path.ts). */
  readonly blobs: string;
}

export interface LookTask extends Place {
  /** Hash of the workspace's last manifest, for a thread that has just started. */
  readonly lastHash: string | undefined;
}

export interface TakeTask extends LookTask {
  readonly protectedPaths: StoredManifest['protectedPaths'];
}

export interface ChangesTask extends Place {
  /** Hash of the manifest before the command. */
  readonly before: string;
}

/** Changes of a workspace; `isLost`: a stored content no longer exists. */
export interface Changes {
  /** JSON texts of FileOperation[], in their order: read one by one, they do not block who gets them. */
  readonly operations: readonly Uint8Array[];
  readonly isLost: boolean;
}

/** Operations of one JSON text. */
const OPERATIONS_PER_CHUNK = 500;

/** Last manifest of each workspace: files that are unchanged since are not read again. */
const latest = new LRUCache<string, Manifest>({ ...REMEMBERED, sizeCalculation: rowsOf });
const NONE: Manifest = [];
/** Stored manifests by their hashes. */
const stored = new LRUCache<string, StoredManifest>({
  ...REMEMBERED,
  sizeCalculation: ({ manifest }) => rowsOf(manifest),
});

/** Stores the contents that are not stored yet; undefined where there are too many files. */
export function look(task: LookTask): true | undefined {
  return manifestOf(task, task.lastHash) && true;
}

/** Stores what `look` has found last, and answers the hash of the manifest; undefined where there are too many files. */
export function take(task: TakeTask): string | undefined {
  // The thread of `look` may have ended, or have looked at many others since.
  const manifest = latest.get(keyOf(task)) ?? manifestOf(task, task.lastHash);
  if (!manifest) return undefined;
  const snapshot = { manifest, protectedPaths: task.protectedPaths };
  const hash = keep(manifestBytes(snapshot), task);
  stored.set(hash, snapshot);
  return hash;
}

/** Undefined where there are too many files by now. Fails when what was taken before is lost. */
export function changes(task: ChangesTask): Changes | undefined {
  const before = storedManifest(task, task.before)?.manifest;
  if (!before) throw new Error('What was taken of the workspace before the command is lost.');
  const manifest = manifestOf(task, task.before, before);
  if (!manifest) return undefined;
  const detected = operationsBetween(before, manifest);
  const lost = new Set(
    detected.filter(({ restorable, before: state }) => restorable && state && !isKept(task, state)),
  );
  const operations = detected.map((one) => (lost.has(one) ? { ...one, restorable: false } : one));
  const isLost = lost.size > 0;
  if (isLost) latest.delete(keyOf(task));
  return { operations: piecesOf(operations), isLost };
}

function piecesOf(operations: readonly FileOperation[]): Uint8Array[] {
  return Array.from({ length: Math.ceil(operations.length / OPERATIONS_PER_CHUNK) }, (_, index) =>
    new TextEncoder().encode(
      JSON.stringify(
        operations.slice(index * OPERATIONS_PER_CHUNK, (index + 1) * OPERATIONS_PER_CHUNK),
      ),
    ),
  );
}

/** Undefined when what was taken is lost. */
export function protectedPathsOf(
  task: Place & { readonly hash: string },
): StoredManifest['protectedPaths'] | undefined {
  return storedManifest(task, task.hash)?.protectedPaths;
}

function manifestOf(
  place: Place,
  lastHash: string | undefined,
  earlier?: Manifest,
): Manifest | undefined {
  const last =
    latest.get(keyOf(place)) ??
    (lastHash === undefined ? undefined : storedManifest(place, lastHash)?.manifest);
  const lastFiles = byPath(last ?? NONE);
  const compared = earlier && byPath(earlier);
  const quota = new StorageQuota();
  const manifestFile = (file: WalkedFile): ManifestFile => {
    const before = lastFiles.get(file.path);
    if (file.kind !== 'file') {
      const same = before?.mode === file.mode && before.sha256 === sha256(file.content);
      return same ? { ...before, ...identityOf(file) } : storedFile(file, place);
    }
    const isKept = quota.reserve(file);
    if (before && isSameFile(before, file) && (before.kept || !isKept)) {
      return before.mode === file.mode ? before : { ...before, mode: file.mode };
    }
    const other = compared?.get(file.path);
    const hash = compared !== undefined && !(other && isSameFile(other, file));
    return isKept || hash ? read(file, isKept && place) : unread(file);
  };
  const manifest = unlessTooMany(() => Array.from(filesOf(place.root), manifestFile));
  manifest?.sort((one, other) => (one.path < other.path ? -1 : 1));
  if (manifest) latest.set(keyOf(place), manifest);
  return manifest;
}

function storedFile(file: WalkedFile, place: Place): ManifestFile {
  return { ...unread(file), sha256: keep(file.content, place), kept: true };
}

function storedManifest(place: Place, hash: string): StoredManifest | undefined {
  const remembered = stored.get(hash);
  // A manifest of another tenant is invisible to this one.
  const path = blobPath(place.blobs, place.tenantId, hash);
  if (remembered && existsSync(path)) return remembered;
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return undefined;
  }
  const manifest = sha256(bytes) === hash ? readManifest(bytes) : undefined;
  if (manifest) stored.set(hash, manifest);
  return manifest;
}

/** A stored content that was lost or truncated cannot be restored. */
function isKept({ blobs, tenantId }: Place, { sha256: hash, size }: FileState): boolean {
  return lstatSync(blobPath(blobs, tenantId, hash), { throwIfNoEntry: false })?.size === size;
}

function keyOf({ tenantId, root }: Place): string {
  return `${tenantId}:${root}`;
}

function rowsOf({ length }: Manifest): number {
  return length + 1;
}

/** Number of files whose changes could not be undone; secrets, which commands cannot change, are not counted. */
export function countUnkept(root: string): number | undefined {
  const quota = new StorageQuota();
  const isUnkept = (file: WalkedFile): boolean =>
    file.kind === 'file' && !quota.reserve(file) && !file.secret;
  return unlessTooMany(() => [...filesOf(root)].filter(isUnkept).length);
}

/** Remaining capacity for stored contents of a workspace. */
class StorageQuota {
  private files = 0;
  private bytes = 0;

  reserve({ size, secret }: WalkedFile): boolean {
    if (secret || size > MAX_STORED_FILE_BYTES) return false;
    if (this.files === MAX_STORED_FILES || this.bytes + size > MAX_STORED_BYTES) return false;
    this.files += 1;
    this.bytes += size;
    return true;
  }
}

function unlessTooMany<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof TooManyFilesError) return undefined;
    throw error;
  }
}

/** Reads the opened file, even if its name is taken by another meanwhile. An unreadable file counts as unread. */
function read(file: WalkedFile, keepFor: Place | false): ManifestFile {
  let opened: number;
  try {
    opened = openSync(file.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return unread(file);
  }
  try {
    const stats = fstatSync(opened);
    const unreadFile = { ...unread(file), ...identityIn(stats) };
    const limit = keepFor ? MAX_STORED_FILE_BYTES : MAX_HASHED_BYTES;
    if (!stats.isFile() || stats.size > limit) return unreadFile;
    if (!keepFor) return { ...unreadFile, sha256: hashOf(opened, limit) };
    const content = contentOf(opened, stats.size);
    if (content === undefined) return unreadFile;
    const named = { name: posix.basename(file.path), isNamedSo: false };
    if (isSecretContent(content, named)) return { ...unreadFile, sha256: sha256(content) };
    return { ...unreadFile, sha256: keep(content, keepFor), kept: true };
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
 * Stores a content like BlobStore.put, without waiting for the disk: contents that a loss of power has damaged are
 * detected when they are read.
 */
function keep(content: Buffer, { blobs, tenantId }: Place): string {
  const hash = sha256(content);
  const path = blobPath(blobs, tenantId, hash);
  // A content that a loss of power has truncated is written again.
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

function unread(file: WalkedFile): ManifestFile {
  return { path: file.path, ...identityOf(file), mode: file.mode, sha256: null, kept: false };
}

function identityOf({ size, modifiedAt, changedAt, inode }: FileIdentity): FileIdentity {
  return { size, modifiedAt, changedAt, inode };
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

const MAX_ENTRIES = 250_000;
const PERMISSIONS = 0o777;
const NOTHING = Buffer.alloc(0);

class TooManyFilesError extends Error {}

interface WalkedFile extends FileIdentity {
  readonly kind: FileKind;
  /** Path below the workspace, with `/` between names. */
  readonly path: string;
  /** Path through the open folder; valid until the next file is requested. */
  readonly name: string;
  /** Mode as in FileState. */
  readonly mode: number;
  /** The target of a link; nothing otherwise. */
  readonly content: Buffer;
  /** Its content is likely to be a credential. */
  readonly secret: boolean;
}

/**
 * The regular files, links and folders of a workspace, in a fixed order. Links are not followed. Special files are left
 * out, and so are names and targets that are no UTF-8, paths of more than 4,096 bytes, what git keeps, and the folders that
 * scans skip. Every name is looked up in the folder opened before, so that nothing outside is ever read. Blocks its thread:
 * only for one that does nothing else.
 * Throws TooManyFilesError where there are more than 250,000 files and folders.
 */
function* filesOf(root: string): Generator<WalkedFile> {
  let entries = 0;
  function* below(folder: number, path: string, pathClass: PathClass): Generator<WalkedFile> {
    const folderName = posix.basename(path);
    // Names below an open handle: what openat(2) does, which Node does not offer.
    const at = `/proc/self/fd/${folder}`;
    const children = readdirSync(at, { withFileTypes: true });
    entries += children.length;
    if (entries > MAX_ENTRIES) throw new TooManyFilesError();
    if (path !== '') yield folderOf(folder, path, children.length);
    for (const entry of children.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      const { protection, secret } = classifyName(entry.name, folderName, pathClass);
      if (SKIPPED_FOLDERS.has(entry.name) || protection === 'GIT') continue;
      const named = {
        path: path === '' ? entry.name : `${path}/${entry.name}`,
        name: `${at}/${entry.name}`,
        secret,
      };
      // An undo could not restore a longer path.
      if (Buffer.byteLength(named.path) > PATH_BYTES) continue;
      if (entry.isDirectory()) {
        yield* inFolder(named.name, (opened) => below(opened, named.path, { protection, secret }));
      } else {
        const file = entry.isFile() ? fileOf(named) : entry.isSymbolicLink() && linkOf(named);
        if (file) yield file;
      }
    }
  }
  yield* inFolder(root, (opened) => below(opened, '', UNPROTECTED));
}

function identityIn({ size, mtimeMs, ctimeMs, ino }: Stats): FileIdentity {
  return { size, modifiedAt: mtimeMs, changedAt: ctimeMs, inode: ino };
}

type Named = Pick<WalkedFile, 'path' | 'name' | 'secret'>;

/** Undefined when it is no file any more. */
function fileOf(named: Named): WalkedFile | undefined {
  const stats = lstatSync(named.name, { throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  const mode = stats.mode & PERMISSIONS;
  return { kind: 'file', ...named, mode, content: NOTHING, ...identityIn(stats) };
}

/** Undefined when it is no link any more, or its target is no UTF-8. */
function linkOf(named: Named): WalkedFile | undefined {
  try {
    const content = readlinkSync(named.name, 'buffer');
    const identity = { ...identityIn(lstatSync(named.name)), size: content.length };
    if (!isUtf8(content)) return undefined;
    return { kind: 'link', ...named, mode: LINK_MODE, content, ...identity };
  } catch {
    return undefined;
  }
}

/** Its times say when names in it have changed: they are no part of it. */
function folderOf(opened: number, path: string, size: number): WalkedFile {
  const { mode, ino } = fstatSync(opened);
  const identity = { size, modifiedAt: 0, changedAt: 0, inode: ino };
  const named = { path, name: '', secret: false };
  const permissions = FOLDER_MODE | (mode & PERMISSIONS);
  return { kind: 'folder', ...named, mode: permissions, content: NOTHING, ...identity };
}

/** A folder that is gone meanwhile, or must not be opened, is left out. */
function* inFolder(
  path: string,
  files: (opened: number) => Generator<WalkedFile>,
): Generator<WalkedFile> {
  let opened: number;
  try {
    opened = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch {
    return;
  }
  try {
    yield* files(opened);
  } finally {
    closeSync(opened);
  }
}
