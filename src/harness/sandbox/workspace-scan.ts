import type { Dirent } from 'node:fs';
import {
  access,
  chmod,
  constants,
  lstat,
  opendir,
  readdir,
  realpath,
  stat,
} from 'node:fs/promises';
import { ToolError } from '../protocol/tool-call.js';
import { yieldingChunks } from '../protocol/yielding-chunks.js';
import {
  classifyName,
  isHead,
  isRepository,
  isVersionControl,
  PROTECTED_FILES,
  PROTECTED_FOLDERS,
  repositoryPart,
  UNPROTECTED,
  holdsSecret,
} from '../workspace/protected-path.js';
import type { PathClass } from '../workspace/protected-path.js';

/**
 * A path below the workspace's root, one character a byte (latin1): names on Linux are bytes, and a name that is no
 * UTF-8 must be as well hidden as any other.
 */
export type BytePath = string;

/** How a path of the workspace is covered while a command runs. */
export type Cover =
  /** Cannot be renamed or removed; otherwise as it is. */
  | 'pinned'
  /** Can be read, and not changed. */
  | 'read-only'
  /** A copy of it in which no secrets are. */
  | 'redacted-file'
  /** A copy of it that is two seconds newer. */
  | 'newer-file'
  /** A file of the same size and time that cannot be read. */
  | 'hidden-file'
  /** A folder that cannot be read. */
  | 'hidden-folder';

export interface Mount {
  readonly path: BytePath;
  readonly cover: Cover;
}

export function bytesOf(text: string): BytePath {
  return Buffer.from(text).toString('latin1');
}

const ASCII = /^[\x20-\x7e]*$/;

export function textOf(path: BytePath): string {
  if (ASCII.test(path)) return path;
  return Buffer.from(path, 'latin1').toString();
}

/** The path as a Buffer for the functions of node:fs. */
export function bufferOf(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1');
}

/** Size of a folder with 50,000 names or more, which take 30 ms to read at once. */
const LARGE_FOLDER_BYTES = 2 * 1024 * 1024;
const ENTRIES_AT_ONCE = 1_000;

/** Entries of the folder. A large folder is read in chunks, so that other work can run in between. */
export async function entriesIn(folder: BytePath): Promise<Dirent[]> {
  const path = bufferOf(folder);
  const encoding = 'latin1';
  const { size } = await lstat(path);
  // Reading a small folder in chunks would take three times as long.
  if (size < LARGE_FOLDER_BYTES) return readdir(path, { encoding, withFileTypes: true });
  const entries: Dirent[] = [];
  const options = { encoding, bufferSize: ENTRIES_AT_ONCE } as const;
  for await (const entry of await opendir(path, options)) entries.push(entry);
  return entries;
}

export function joined(folder: BytePath, name: BytePath): BytePath {
  return folder === '' ? name : `${folder}/${name}`;
}

/** The folders above a path, the outermost first, without the root. */
export function foldersAbove(path: BytePath): BytePath[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}

const STRICTNESS: readonly Cover[] = [
  'pinned',
  'read-only',
  'newer-file',
  'redacted-file',
  'hidden-file',
  'hidden-folder',
];

/**
 * The mounts in the order in which they are to be made: a folder before what is in it, one a path, and none below a
 * hidden folder. Of two covers for one path the stricter counts, and nothing can be written below what is read-only.
 */
export function ordered(mounts: Iterable<Mount>): Mount[] {
  const covers = new Map<BytePath, Cover>();
  for (const { path, cover } of mounts) {
    const other = covers.get(path);
    const isStricter = !other || STRICTNESS.indexOf(cover) > STRICTNESS.indexOf(other);
    if (isStricter) covers.set(path, cover);
  }
  const isNeeded = ({ path, cover }: Mount): boolean => {
    const above = foldersAbove(path).map((folder) => covers.get(folder));
    return !above.includes('hidden-folder') && !(cover === 'pinned' && above.includes('read-only'));
  };
  return [...covers]
    .map(([path, cover]) => ({ path, cover }))
    .filter(isNeeded)
    .sort((a, b) => depth(a) - depth(b) || (a.path < b.path ? -1 : 1));
}

function depth({ path }: Mount): number {
  return path.split('/').length;
}

/**
 * Packages bring protected names by the thousand, and no program obeys them there but repositories; secrets are looked for
 * in them, too.
 */
const PACKAGES = 'node_modules';

/** Folders of the root that hold protected ones and could be swapped for others. */
const HOLDERS: ReadonlySet<string> = new Set(
  [...PROTECTED_FOLDERS, ...PROTECTED_FILES]
    .filter((path) => path.includes('/'))
    .map((path) => path.split('/', 1).join()),
);

/** Folders that hold nothing but credentials. */
const SECRET_FOLDERS: ReadonlySet<string> = new Set(['.ssh', '.aws', '.gnupg']);

/** Longer paths are not scanned: the kernel takes 4,095 bytes, and a name below them must still fit. */
const MAX_PATH_BYTES = 3_700;
/** Prefix of the identity of a folder that could not be read before a command. */
const UNREADABLE = 'unreadable:';
const FOLDERS_AT_ONCE = 16;
/** Folders above a repository: bwrap needs 2 s for 300 mounts that lie in each other, and 15 s for 600 (measured). */
const MAX_PINNED_FOLDERS = 8;
/** Repositories in a repository's .git/modules are this deep at most. */
const MAX_MODULE_DEPTH = 4;

export interface ScanLimits {
  readonly entries: number;
  readonly milliseconds: number;
  /** bwrap needs 0.6 s for 500 and 2.5 s for 1000 (measured). */
  readonly mounts: number;
}

const LIMITS: ScanLimits = { entries: 250_000, milliseconds: 20_000, mounts: 800 };

/**
 * A protected path that is there, the outermost of several, or a name of which a repository could be made. Device, inode
 * and birth tell it from another with its name: a command can make files until one gets the inode of one that it has
 * removed, and cannot set the birth.
 */
export type ProtectedPath = readonly [path: BytePath, identity: string];

export interface WorkspaceScan {
  /** Mounts that cover secrets and protected paths while a command runs, in mounting order. */
  readonly mounts: readonly Mount[];
  readonly protectedPaths: readonly ProtectedPath[];
}

/**
 * Finds what a command must not see or change in a workspace: files at any depth that hold secrets, which are hidden, and
 * the protected paths and repositories that are there, which are read-only. Links are not followed; where one with such a
 * name leads to a place in the workspace, that place is covered. Fails with a ToolError rather than leave anything out:
 * TOO_LARGE where the workspace is too large to look through, PROTECTED_PATH where a path cannot be protected.
 */
export async function scanWorkspace(
  root: string,
  signal: AbortSignal,
  limits: ScanLimits = LIMITS,
): Promise<WorkspaceScan> {
  return new Scan(bytesOf(root), signal, limits).run();
}

/**
 * The protected paths, and parts of repositories, that are there and were not before: by name and identity, wherever they
 * were, the outermost of several. Folders that the service may not look through are opened for it, which `opened` says;
 * one with paths that are too long counts as a whole. However many files there are: nothing may be left out.
 */
export async function plantedPathsIn(
  root: string,
  before: readonly ProtectedPath[],
  signal: AbortSignal,
): Promise<{ readonly planted: readonly BytePath[]; readonly opened: boolean }> {
  const limits = { entries: Infinity, milliseconds: Infinity, mounts: Infinity };
  const scan = new Scan(bytesOf(root), signal, limits, await KnownPaths.of(before));
  await scan.run();
  const planted: BytePath[] = [];
  for await (const piece of yieldingChunks([...scan.planted])) {
    for (const path of piece) {
      if (!foldersAbove(path).some((above) => scan.planted.has(above))) planted.push(path);
    }
  }
  return { planted, opened: scan.opened };
}

/** Paths that existed before a command. */
class KnownPaths {
  private constructor(
    private readonly paths: ReadonlySet<string>,
    /** Parts of folders that were repositories. */
    private readonly ofRepositories: ReadonlySet<string>,
  ) {}

  static async of(before: readonly ProtectedPath[]): Promise<KnownPaths> {
    const paths = new Set<string>();
    const partsByFolder = new Map<BytePath, ProtectedPath[]>();
    for await (const piece of yieldingChunks(before)) {
      for (const knownPath of piece) {
        paths.add(knownKey(knownPath));
        const name = nameOf(knownPath[0]);
        if (repositoryPart(textOf(name)) === undefined) continue;
        const folder = knownPath[0].slice(0, -name.length);
        const parts = partsByFolder.get(folder);
        if (parts) parts.push(knownPath);
        else partsByFolder.set(folder, [knownPath]);
      }
    }
    const ofRepositories = new Set<string>();
    for await (const piece of yieldingChunks([...partsByFolder.values()])) {
      for (const parts of piece) {
        if (!isRepository(parts.map(([path]) => textOf(nameOf(path))))) continue;
        for (const part of parts) ofRepositories.add(knownKey(part));
      }
    }
    return new KnownPaths(paths, ofRepositories);
  }

  has(path: ProtectedPath): boolean {
    return this.paths.has(knownKey(path));
  }

  hasInRepository(path: ProtectedPath): boolean {
    return this.ofRepositories.has(knownKey(path));
  }
}

/** Another name would make something else of it: a folder `config` a repository's `.git`. */
function knownKey([path, identity]: ProtectedPath): string {
  return `${identity}:${nameOf(path)}`;
}

function nameOf(path: BytePath): BytePath {
  return path.slice(path.lastIndexOf('/') + 1);
}

interface Folder {
  readonly path: BytePath;
  /** Whether the folder is below node_modules. */
  readonly ofPackages: boolean;
  /** Already read-only. */
  readonly covered: boolean;
  /** Whether the folder is below one whose name marks secrets. */
  readonly secret: boolean;
  /** Whether the folder is hidden from the command. */
  readonly hidden: boolean;
}

class Scan {
  readonly planted = new Set<BytePath>();
  /** Whether the rights of a folder were changed. */
  opened = false;
  private readonly mounts: Mount[] = [];
  private readonly protectedPaths: ProtectedPath[] = [];
  private readonly until: number;
  private readonly covers: boolean;
  private entries = 0;

  constructor(
    private readonly root: BytePath,
    private readonly signal: AbortSignal,
    private readonly limits: ScanLimits,
    /** Given when what is new is looked for. */
    private readonly knownPaths?: KnownPaths,
  ) {
    this.until = performance.now() + limits.milliseconds;
    this.covers = knownPaths === undefined;
  }

  async run(): Promise<WorkspaceScan> {
    const pending: Folder[] = [
      { path: '', ofPackages: false, covered: false, secret: false, hidden: false },
    ];
    while (pending.length > 0) {
      this.check();
      const subfolders = await Promise.all(
        pending.splice(-FOLDERS_AT_ONCE).map((folder) => this.folder(folder)),
      );
      for (const folders of subfolders) {
        for (const folder of folders) pending.push(folder);
      }
    }
    this.check();
    return { mounts: ordered(this.mounts), protectedPaths: this.protectedPaths };
  }

  /** The folders in it that are to be looked through. */
  private async folder(folder: Folder): Promise<Folder[]> {
    const entries = await this.list(folder.path);
    // Parts that could later form a repository are recorded too, apart from those that form one now.
    const parts: Dirent[] = [];
    for await (const piece of yieldingChunks(entries)) {
      if (piece.some(({ name }) => this.isTooLong(joined(folder.path, name)))) {
        if (this.covers) throw tooLarge(`has a path of more than ${MAX_PATH_BYTES} bytes`);
        if (folder.path !== '') this.planted.add(folder.path);
        return [];
      }
      for (const entry of piece) {
        if (repositoryPart(textOf(entry.name)) !== undefined) parts.push(entry);
      }
    }
    const isBare = isRepository(parts.map(({ name }) => textOf(name)));
    if (parts.length > 0 && !folder.covered) await this.parts(folder, parts);
    if (isBare) await this.bareRepository(folder);
    // The workspace itself can be written, whatever is in it.
    const covered = folder.covered || (isBare && folder.path !== '');
    const parent = textOf(nameOf(folder.path));
    const below: Folder[] = [];
    for await (const piece of yieldingChunks(entries)) {
      for (const entry of piece) {
        // Folders above that count for themselves are hidden or covered already.
        const name = textOf(entry.name);
        const nameClass = classifyName(name, parent, UNPROTECTED);
        const isOwn = isBare && repositoryPart(name) !== undefined;
        const kind: PathClass = {
          protection: isOwn ? 'GIT' : nameClass.protection,
          secret: nameClass.secret || folder.secret,
        };
        const next = await this.entry({ ...folder, covered }, entry, kind, isOwn);
        if (next) below.push(next);
      }
    }
    return below;
  }

  /** Parts of a repository, or names that one could be made of. */
  private async parts(folder: Folder, entries: readonly Dirent[]): Promise<void> {
    const { knownPaths } = this;
    if (!knownPaths) {
      for (const { name } of entries) await this.note(joined(folder.path, name));
      return;
    }
    if (!isRepository(entries.map(({ name }) => textOf(name)))) return;
    const existingParts: ProtectedPath[] = [];
    for (const { name } of entries) {
      const path = joined(folder.path, name);
      const identity = await this.identity(path);
      if (identity === undefined) continue;
      if (knownPaths.has([path, identity])) existingParts.push([path, identity]);
      else this.planted.add(path);
    }
    const nameIn = ([path]: ProtectedPath): string => textOf(nameOf(path));
    if (!isRepository(existingParts.map(nameIn))) return;
    // All of it was there, but not as a repository, or not as parts of this one.
    const heads = existingParts.filter((path) => isHead(nameIn(path)));
    const wasRepository = heads.some((path) => knownPaths.hasInRepository(path));
    const control = existingParts.filter((path) => repositoryPart(nameIn(path)) === 'control');
    for (const path of wasRepository ? control : heads) {
      if (!knownPaths.hasInRepository(path)) this.planted.add(path[0]);
    }
  }

  /** The folder, where it is one that is to be looked through. */
  private async entry(
    folder: Folder,
    entry: Dirent,
    { protection, secret }: PathClass,
    /** Part of the repository that its folder is. */
    isOwn: boolean,
  ): Promise<Folder | undefined> {
    const path = joined(folder.path, entry.name);
    const isRepositoryOwn = protection === 'GIT';
    const isProtected = isObeyed(protection, textOf(entry.name), folder);
    if (isProtected && !folder.covered && !isPartOfRepository(protection, textOf(entry.name))) {
      // A planted path is removed with its contents, which need no scan.
      if ((await this.note(path)) === 'planted') return undefined;
    }
    if (folder.hidden) {
      return entry.isDirectory() && !isProtected ? { ...folder, path } : undefined;
    }
    if (this.covers && folder.path === '' && HOLDERS.has(entry.name.toLowerCase())) {
      this.holder(path, entry);
    }
    if (entry.isSymbolicLink()) {
      await this.link(folder, path, protection);
      return undefined;
    }
    if (!entry.isDirectory() && !entry.isFile()) {
      // A socket would lead out of the sandbox.
      this.hide(path, false);
      return undefined;
    }
    const { ofPackages } = folder;
    const hidden = await this.isSecret({ path, ofPackages, isNamedSo: secret }, entry);
    if (hidden) this.hide(path, entry.isDirectory());
    // A hidden folder is looked through all the same: what is in it was there before.
    if (hidden && !entry.isDirectory()) return undefined;
    if (isRepositoryOwn) {
      await this.repository(folder, path, entry.isDirectory() && !isOwn);
      return undefined;
    }
    const covers = isProtected && !folder.covered;
    if (covers && !hidden) this.mount(path, 'read-only');
    if (!entry.isDirectory()) return undefined;
    return {
      path,
      ofPackages: folder.ofPackages || entry.name === PACKAGES,
      covered: folder.covered || covers,
      secret,
      hidden,
    };
  }

  /** Remembers the path before a command; after one it is planted unless it was there before. */
  private async note(path: BytePath): Promise<'planted' | 'known'> {
    const identity = await this.identity(path);
    if (identity === undefined || this.knownPaths?.has([path, identity])) return 'known';
    if (!this.knownPaths) {
      this.protectedPaths.push([path, identity]);
      return 'known';
    }
    this.planted.add(path);
    return 'planted';
  }

  private async identity(path: BytePath): Promise<string | undefined> {
    const stats = await lstat(this.at(path), { bigint: true }).catch(() => undefined);
    return stats && `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`;
  }

  /** Whether it is a secret, by its name and its content. Settings of packages are no one's secrets. */
  private async isSecret(
    { path, ofPackages, isNamedSo }: Pick<Folder, 'path' | 'ofPackages'> & { isNamedSo: boolean },
    entry: Dirent,
  ): Promise<boolean> {
    if (!this.covers || (ofPackages && !isNamedSo)) return false;
    if (entry.isDirectory()) return isNamedSo && SECRET_FOLDERS.has(entry.name.toLowerCase());
    return holdsSecret(this.at(path), { name: textOf(entry.name), isNamedSo });
  }

  private holder(path: BytePath, entry: Dirent): void {
    if (entry.isSymbolicLink()) throw unprotectable(path, 'is a symbolic link');
    this.mount(path, entry.isDirectory() ? 'pinned' : 'read-only');
  }

  /** A repository's own folder is read-only, and stays where it is, as do the outermost folders that it is in. */
  private async repository(folder: Folder, path: BytePath, hasConfigs: boolean): Promise<void> {
    if (!folder.covered) {
      this.mount(path, 'read-only');
      for (const above of foldersAbove(path).slice(0, MAX_PINNED_FOLDERS))
        this.mount(above, 'pinned');
    }
    if (this.covers && hasConfigs) await this.gitConfigs(path, MAX_MODULE_DEPTH);
  }

  /** The same for a folder that is a repository itself. Of the workspace's root each part is covered by itself. */
  private async bareRepository({ path, covered, hidden }: Folder): Promise<void> {
    if (!this.covers || hidden) return;
    if (path !== '' && !covered) {
      this.mount(path, 'read-only');
      for (const above of foldersAbove(path).slice(0, MAX_PINNED_FOLDERS))
        this.mount(above, 'pinned');
    }
    await this.gitConfigs(path, MAX_MODULE_DEPTH);
  }

  /** Addresses of remotes may hold passwords. What else is in a repository's folder is not looked at. */
  private async gitConfigs(path: BytePath, depth: number): Promise<void> {
    const entries = await this.list(path);
    for (const entry of entries) {
      if (entry.name === 'config' && entry.isFile()) await this.gitConfig(joined(path, 'config'));
      // Git reads files that are as old as its index, and cannot read those that are hidden.
      if (entry.name === 'index' && entry.isFile()) this.mount(joined(path, 'index'), 'newer-file');
    }
    if (depth === 0) return;
    const isGitFolder = entries.some(({ name }) => name === 'HEAD');
    for (const entry of entries) {
      if (!entry.isDirectory() || (isGitFolder && entry.name !== 'modules')) continue;
      await this.gitConfigs(joined(path, entry.name), depth - 1);
    }
  }

  private async gitConfig(path: BytePath): Promise<void> {
    if (await holdsSecret(this.at(path), { name: 'config', isNamedSo: true }))
      this.mount(path, 'redacted-file');
  }

  private async link(
    folder: Folder,
    path: BytePath,
    protection: PathClass['protection'],
  ): Promise<void> {
    const name = textOf(nameOf(path));
    const { secret } = classifyName(name, '', UNPROTECTED);
    if (!this.covers || (!secret && protection === 'NONE')) return;
    if (!secret && (folder.ofPackages || folder.covered)) return;
    if (!secret && folder.path === '') throw unprotectable(path, 'is a symbolic link');
    const target = await this.target(path);
    if (target === undefined) return;
    if (target === '') throw unprotectable(path, 'leads to the workspace itself');
    const stats = await stat(this.at(target)).catch(() => undefined);
    if (!stats) return;
    if (!secret) this.mount(target, 'read-only');
    else if (
      stats.isDirectory() ||
      (await holdsSecret(this.at(target), { name, isNamedSo: true }))
    ) {
      this.hide(target, stats.isDirectory());
    }
  }

  /** Target of a link; undefined when it lies outside the workspace and so outside the sandbox. */
  private async target(path: BytePath): Promise<BytePath | undefined> {
    const real = await realpath(this.at(path), { encoding: 'latin1' }).catch(() => undefined);
    if (real === this.root) return '';
    return real?.startsWith(`${this.root}/`) ? real.slice(this.root.length + 1) : undefined;
  }

  private async list(path: BytePath): Promise<Dirent[]> {
    try {
      if (!this.covers) await this.open(path);
      const entries = await entriesIn(this.pathOf(path));
      this.entries += entries.length;
      this.check();
      return entries;
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof ToolError || path === '') throw error;
      // A folder that cannot be read is hidden; one that no longer exists needs no cover.
      if (this.covers && (await this.isFolder(path))) {
        this.hide(path, true);
        const identity = await this.identity(path);
        if (identity !== undefined) this.protectedPaths.push([path, UNREADABLE + identity]);
      }
      return [];
    }
  }

  /** A command can take the right to look through a folder; root has it always. */
  private async open(path: BytePath): Promise<void> {
    if (process.geteuid?.() === 0) return;
    const isOpen = await access(this.at(path), constants.R_OK | constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isOpen || path === '') return;
    const identity = await this.identity(path);
    if (identity === undefined || this.knownPaths?.has([path, UNREADABLE + identity])) return;
    const { mode } = await lstat(this.at(path));
    this.opened = true;
    await chmod(this.at(path), (mode & 0o777) | 0o700);
  }

  private isTooLong(path: BytePath): boolean {
    return this.root.length + 1 + path.length > MAX_PATH_BYTES;
  }

  private async isFolder(path: BytePath): Promise<boolean> {
    return lstat(this.at(path)).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
  }

  private hide(path: BytePath, isFolder: boolean): void {
    this.mount(path, isFolder ? 'hidden-folder' : 'hidden-file');
  }

  private mount(path: BytePath, cover: Cover): void {
    if (this.covers) this.mounts.push({ path, cover });
  }

  private pathOf(path: BytePath): BytePath {
    return path === '' ? this.root : `${this.root}/${path}`;
  }

  private at(path: BytePath): Buffer {
    return bufferOf(this.pathOf(path));
  }

  private check(): void {
    this.signal.throwIfAborted();
    const { entries, mounts } = this.limits;
    if (this.entries > entries) throw tooLarge(`has more than ${entries} files and folders`);
    if (performance.now() > this.until) throw tooLarge('takes too long to look through');
    if (this.covers && this.mounts.length > mounts) {
      throw tooLarge(`has more than ${mounts} secret and protected files`);
    }
  }
}

function isObeyed(
  protection: PathClass['protection'],
  name: string,
  { ofPackages }: Pick<Folder, 'ofPackages'>,
): boolean {
  if (protection === 'PROTECTED') return !ofPackages || isVersionControl(name);
  return protection === 'GIT';
}

/** Names of which a repository could be made are noted with their folder. */
function isPartOfRepository(protection: PathClass['protection'], name: string): boolean {
  return protection === 'GIT' && repositoryPart(name) !== undefined;
}

function tooLarge(what: string): ToolError {
  return new ToolError(
    'TOO_LARGE',
    `The command was not run: the workspace ${what}, so that its secrets cannot all be hidden from commands. Remove what is not needed, or go on without commands.`,
  );
}

function unprotectable(path: BytePath, why: string): ToolError {
  return new ToolError(
    'PROTECTED_PATH',
    `The command was not run: ${JSON.stringify(textOf(path))} ${why}, which cannot be protected from commands. Ask the user to put a file or folder in its place, or go on without commands.`,
  );
}
