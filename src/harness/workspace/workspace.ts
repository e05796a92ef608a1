import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { closing, identityOf, ObstacleError, OpenFolder } from '../../platform/filesystem/index.js';
import type { OpenFile } from '../../platform/filesystem/index.js';
import { sha256 } from '../protocol/values.js';
import { FOLDER_MODE, kindOf, LINK_MODE } from '../protocol/tool-call.js';
import type { FileState } from '../../effect/index.js';
import {
  PathWalk,
  namesOf,
  relativePath,
  relativeTo,
  asToolError,
  pathError,
} from './workspace-path.js';
import type { Arrival } from './workspace-path.js';
import { classifyPath, isRepository, repositoryPart } from './protected-path.js';
import type { PathClass } from './protected-path.js';
import { WorkspaceGoneError } from './workspace-roots.js';

/** A file that was read. */
export interface WorkspaceFile {
  /** The requested path. */
  readonly path: string;
  /** The path after all links are followed: classify this one, too. */
  readonly realPath: string;
  readonly bytes: Buffer;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly size: number;
  /** Permission bits, as in 0o644. */
  readonly mode: number;
  /** Number of names of the file; above one it cannot be changed. */
  readonly links: number;
}

/** Entry of a folder; a link is listed as such, not followed. */
export interface WorkspaceEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** Bytes; 0 for what is no file. */
  readonly size: number;
}

/** Temporary names, which classifyPath knows: a file may hold a secret before it has its own name. */
const UNFINISHED = /^\.plinth-[\da-f]{32}\.tmp$/;

/** A name that cannot be guessed, for a file that is written before it takes the place of another. */
export function unfinishedName(): string {
  return `.plinth-${randomBytes(16).toString('hex')}.tmp`;
}

export function isUnfinished(name: string): boolean {
  return UNFINISHED.test(name);
}

/** Files that are hashed to compare them. */
const MAX_HASHED_BYTES = 64 * 1024 * 1024;

const PERMISSIONS = 0o777;

interface WriteOptions {
  /** Mode as in FileState: a link gets the bytes as its target, a folder is made empty. */
  readonly mode: number;
  /** State that the path must have until it is replaced; null: nothing is there. */
  readonly expected: FileState | null;
  readonly signal: AbortSignal;
}

interface RemoveOptions {
  readonly expected: FileState;
  readonly signal: AbortSignal;
}

/** A folder below the root, with what leads to it. */
interface Parent {
  readonly folder: OpenFolder;
  readonly names: readonly string[];
  readonly name: string;
}

/** Names that one folder may hold to be looked through. */
const MAX_NAMES = 100_000;
/** Maximum number of lookups of a name that turns into a link while it is opened. */
const MAX_TRIES = 10;

/**
 * The folder that a run works in, and the only way of the harness to its files. Paths are those that pathOf answers.
 * Reading follows links as long as they end inside; writing follows none. Every name is opened in the folder opened
 * before, so that nothing outside is ever read or written, however fast files and links are swapped meanwhile (on systems
 * without /proc, where the harness offers no shell, that last promise does not hold). What a model can do something about
 * is a ToolError; a root that is no longer the same is a WorkspaceGoneError. A change that fails has changed nothing, and
 * what was prepared for it is removed.
 */
export class Workspace {
  private constructor(
    /** Absolute and canonical. */
    readonly root: string,
    private readonly identity: string,
    private readonly folder: OpenFolder,
  ) {}

  /** Opens the root, which must still be the folder of that identity (`device:inode`): WorkspaceGoneError otherwise. */
  static async open(root: string, identity: string): Promise<Workspace> {
    const folder = await OpenFolder.open(root).catch((error: unknown) => {
      throw error instanceof ObstacleError ? new WorkspaceGoneError() : error;
    });
    try {
      const isSame = (await folder.identity()) === identity && (await folder.place()) === root;
      if (!isSame) throw new WorkspaceGoneError();
      return new Workspace(root, identity, folder);
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.folder.close();
  }

  /**
   * The path below the root that the text names, with `/` between names; '' for the root. Absolute paths inside the root
   * are accepted. Looks nothing up. ToolError PATH_INVALID or OUTSIDE_WORKSPACE.
   */
  pathOf(requestedPath: string): string {
    return relativePath(this.root, requestedPath);
  }

  /** Protection of the path, by its name alone. */
  classify(path: string): PathClass {
    return classifyPath(path);
  }

  /** The path after its links are followed; it may not exist. SYMLINK_ESCAPE when outside. */
  async realPathOf(path: string): Promise<string> {
    return this.withPathErrors(path, async () => {
      const { folder, realPath } = await this.arrive(path);
      await folder.close();
      return realPath;
    });
  }

  /**
   * The content of a regular file. NOT_FOUND, NOT_A_FILE, TOO_LARGE above the limit, SYMLINK_ESCAPE when a link leads
   * outside.
   */
  async read(
    path: string,
    { limitBytes, signal }: { readonly limitBytes: number; readonly signal: AbortSignal },
  ): Promise<WorkspaceFile> {
    return this.withFile(path, async (file, realPath) => {
      const bytes = await file.read(limitBytes, signal).catch((error: unknown) => {
        if (!(error instanceof ObstacleError)) throw error;
        throw pathError(
          'TOO_LARGE',
          path,
          `has ${file.stats.size} bytes; at most ${limitBytes} can be read. Use search_text to find what you need in it`,
        );
      });
      const { mode, nlink: links } = file.stats;
      return {
        path,
        realPath,
        bytes,
        sha256: sha256(bytes),
        size: bytes.length,
        mode: mode & PERMISSIONS,
        links,
      };
    });
  }

  /** Opens a regular file, does the work with it and closes it. `realPath` is where it lies. Errors as of `read`. */
  async withFile<T>(
    path: string,
    work: (file: OpenFile, realPath: string) => Promise<T>,
  ): Promise<T> {
    return this.withPathErrors(path, async () => {
      const { file, realPath } = await this.retried(path, async ({ folder, name, realPath }) => {
        if (name === undefined) throw new ObstacleError('no-file');
        return { file: await openRegular(folder, name), realPath };
      });
      return closing(file, async () => {
        const place = await file.place();
        if (place !== undefined && relativeTo(await this.folder.place(), place) === undefined) {
          throw pathError('CHANGED_MEANWHILE', path, 'was moved out of the workspace meanwhile');
        }
        return work(file, realPath);
      });
    });
  }

  /**
   * Current state of the path: null for nothing. SYMLINK_ESCAPE when a link lies on the way or is there, NOT_A_FILE for a
   * folder or anything else, TOO_LARGE above 64 MiB.
   */
  async state(path: string, signal: AbortSignal): Promise<FileState | null> {
    return this.ifThere(path, (parent) => this.stateIn(parent, signal));
  }

  /** Same as `state`, for files, links and folders alike. */
  async anyState(path: string, signal: AbortSignal): Promise<FileState | null> {
    return this.ifThere(path, (parent) => this.anyStateIn(parent, signal));
  }

  /** The first `limit` entries of a folder by name, without unfinished files. Links to it are followed inside the root. */
  async entries(path: string, limit: number): Promise<WorkspaceEntry[]> {
    return this.withPathErrors(path, async () => {
      const folder = await this.retried(path, async ({ folder, name }) =>
        folder.folder(name === undefined ? [] : [name]),
      );
      return closing(folder, async () => {
        const listed = await folder.entries(MAX_NAMES);
        if (!listed) throw pathError('TOO_LARGE', path, `holds more than ${MAX_NAMES} names`);
        const entries: WorkspaceEntry[] = [];
        for (const { name } of listed) {
          if (entries.length === limit) break;
          if (isUnfinished(name)) continue;
          const entry = await entryOf(folder, name);
          if (entry) entries.push(entry);
        }
        return entries;
      });
    });
  }

  /**
   * Replaces a file as a whole, or makes it and the folders on the way: a reader sees the old or the new one, and it is on
   * the disk afterwards. With the mode of a link or a folder it makes that. SYMLINK_ESCAPE when a link lies on the way or
   * is there, HARD_LINK when the file has a second name, CHANGED_MEANWHILE unless the content is as expected right before
   * the replacement, PROTECTED_PATH below `.git` and where the file would be part of what git takes for a repository.
   */
  async write(path: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    refuseGit(path);
    await this.withPathErrors(path, async () => {
      await this.refuseRepository(path);
      const createdFolders: string[][] = [];
      try {
        await this.makeParents(path, createdFolders);
        await this.inParent(path, (parent) => this.replace(parent, bytes, options));
      } catch (error) {
        await this.unmake(createdFolders);
        throw error;
      }
    });
  }

  /** Removes a file, a link or an empty folder. Errors as of `write`. */
  async remove(path: string, { expected, signal }: RemoveOptions): Promise<void> {
    refuseGit(path);
    await this.withPathErrors(path, async () => {
      await this.refuseRepository(path);
      await this.inParent(path, async (parent) => {
        await this.compare(parent, expected, signal);
        signal.throwIfAborted();
        await this.checkPlace(parent);
        await this.removeKind(parent, expected);
        await parent.folder.sync();
      });
    });
  }

  /** Removes up to `most` empty folders that held the path, from the innermost on; never the root. */
  async removeEmptyFolders(path: string, most = Infinity): Promise<void> {
    refuseGit(path);
    await this.withPathErrors(path, async () => {
      let names = namesOf(path).slice(0, -1);
      for (let count = 0; names.length > 0 && count < most; count += 1) {
        const isRemoved = await this.removeIfEmpty(names);
        if (!isRemoved) return;
        names = names.slice(0, -1);
      }
    });
  }

  /** Removes unfinished files beside the path. Call it only when no process can be writing there. Errors as of `state`. */
  async removeUnfinished(path: string): Promise<void> {
    await this.withPathErrors(path, () =>
      this.inParent(path, async ({ folder }) => {
        const unfinished = ((await folder.entries(MAX_NAMES)) ?? []).filter(({ name }) =>
          isUnfinished(name),
        );
        for (const { name } of unfinished) await folder.remove(name);
        if (unfinished.length > 0) await folder.sync();
      }),
    );
  }

  /** WorkspaceGoneError when another folder, or none, is now where the root was opened. */
  async checkThere(): Promise<void> {
    const now = await stat(this.root, { bigint: true }).catch(() => undefined);
    if (!now || identityOf(now) !== this.identity) throw new WorkspaceGoneError();
  }

  private async refuseRepository(path: string): Promise<void> {
    const names = path.split('/');
    for (const [index, name] of names.entries()) {
      if (!repositoryPart(name)) continue;
      const there = await this.repositoryNames(names.slice(0, index));
      if (!isRepository([...there, name])) continue;
      throw pathError(
        'PROTECTED_PATH',
        path,
        'is or would be part of a git repository, which no tool may make or change',
      );
    }
  }

  /** Names in a folder that parts of a repository have, however many others there are; none where there is no folder. */
  private async repositoryNames(names: readonly string[]): Promise<string[]> {
    const folder = await nullIfMissing(() => this.folder.folder(names));
    if (!folder) return [];
    return closing(folder, async () => {
      const parts: string[] = [];
      for await (const name of folder.names()) if (repositoryPart(name)) parts.push(name);
      return parts;
    });
  }

  private async withPathErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
    await this.checkThere();
    try {
      return await work();
    } catch (error) {
      throw asToolError(path, error);
    }
  }

  private async ifThere<T>(path: string, look: (parent: Parent) => Promise<T>): Promise<T | null> {
    return this.withPathErrors(path, async () => nullIfMissing(() => this.inParent(path, look)));
  }

  private async arrive(path: string): Promise<Arrival> {
    return new PathWalk({ folder: this.folder, path: this.root }, path).arrive();
  }

  /** Does the last step of a walk; walks again when the last name has become a link in between. */
  private async retried<T>(path: string, work: (arrival: Arrival) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const arrival = await this.arrive(path);
      try {
        return await closing(arrival.folder, () => work(arrival));
      } catch (error) {
        const isLink = error instanceof ObstacleError && error.obstacle === 'link';
        if (!isLink || tries === MAX_TRIES) throw error;
      }
    }
  }

  private async replace(parent: Parent, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const { folder, name } = parent;
    const { expected, signal } = options;
    await this.compare(parent, expected, signal);
    if (kindOf(options.mode) === 'folder') return this.makeFolder(parent, options);
    const temporary = unfinishedName();
    if (kindOf(options.mode) === 'link') await folder.makeLink(temporary, String(bytes));
    else await folder.create(temporary, bytes, { mode: options.mode & PERMISSIONS, signal });
    try {
      await this.compare(parent, expected, signal);
      signal.throwIfAborted();
      await this.checkPlace(parent);
      if (expected && kindOf(expected.mode) === 'folder') await folder.removeFolder(name);
      await folder.rename(temporary, name);
    } catch (error) {
      await folder.remove(temporary).catch(() => undefined);
      throw error;
    }
    await folder.sync();
  }

  /** Makes the folder, or gives the one that is there its permission bits. */
  private async makeFolder(parent: Parent, { mode, expected }: WriteOptions): Promise<void> {
    const { folder, name } = parent;
    await this.checkPlace(parent);
    if (!expected || kindOf(expected.mode) !== 'folder') {
      if (expected) await folder.remove(name);
      await folder.makeFolder(name);
    }
    await closing(await folder.folder([name]), (created) => created.setMode(mode & PERMISSIONS));
    await folder.sync();
  }

  private async removeKind({ folder, name, names }: Parent, { mode }: FileState): Promise<void> {
    if (kindOf(mode) !== 'folder') return folder.remove(name);
    if (await this.removeIfEmpty([...names, name])) return;
    throw pathError('CHANGED_MEANWHILE', pathOf({ folder, name, names }), 'is no longer empty');
  }

  /** CHANGED_MEANWHILE unless the file is as expected; HARD_LINK when a change would reach another name, too. */
  private async compare(
    parent: Parent,
    expected: FileState | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { folder, name } = parent;
    const stats = await statOrNull(folder, name);
    if (stats && stats.isFile() && stats.nlink > 1) {
      throw pathError(
        'HARD_LINK',
        pathOf(parent),
        'has a second name (a hard link) and is not changed, because the change could reach a file elsewhere. Ask the user to copy it first',
      );
    }
    const isFile = !expected || kindOf(expected.mode) === 'file';
    const current =
      stats && (await (isFile ? this.stateIn(parent, signal) : this.anyStateIn(parent, signal)));
    const isKind = !current || !expected || kindOf(current.mode) === kindOf(expected.mode);
    if (isKind && current?.sha256 === expected?.sha256) return;
    throw pathError(
      'CHANGED_MEANWHILE',
      pathOf(parent),
      expected
        ? 'has been changed or removed since it was read. Read it again'
        : 'was created by another program in the meantime. Read it first',
    );
  }

  private async stateIn({ folder, name }: Parent, signal: AbortSignal): Promise<FileState> {
    return closing(await openRegular(folder, name), async (file) => ({
      ...(await file.digest(MAX_HASHED_BYTES, signal)),
      mode: file.stats.mode & PERMISSIONS,
    }));
  }

  private async anyStateIn(parent: Parent, signal: AbortSignal): Promise<FileState> {
    const { folder, name } = parent;
    const stats = await folder.stat(name);
    if (stats.isSymbolicLink()) {
      const target = Buffer.from(await folder.linkTarget(name));
      return { sha256: sha256(target), size: target.length, mode: LINK_MODE };
    }
    if (stats.isDirectory()) {
      return { sha256: sha256(''), size: 0, mode: FOLDER_MODE | (stats.mode & PERMISSIONS) };
    }
    return this.stateIn(parent, signal);
  }

  /** The folder must still be where its names say: it may have been moved away, even out of the workspace. */
  private async checkPlace(parent: Parent): Promise<void> {
    const [at, root] = [await parent.folder.place(), await this.folder.place()];
    if (at === [root, ...parent.names].join('/')) return;
    throw pathError(
      'CHANGED_MEANWHILE',
      pathOf(parent),
      'lies in a folder that was moved or removed meanwhile. Look with list_files',
    );
  }

  private async inParent<T>(path: string, work: (parent: Parent) => Promise<T>): Promise<T> {
    const all = namesOf(path);
    const name = all.at(-1);
    // The root itself.
    if (name === undefined) throw new ObstacleError('no-file');
    const names = all.slice(0, -1);
    const folder = await this.folder.folder(names);
    return closing(folder, () => work({ folder, names, name }));
  }

  private async makeParents(path: string, createdFolders: string[][]): Promise<void> {
    const names = namesOf(path).slice(0, -1);
    for (const [index, name] of names.entries()) {
      const above = names.slice(0, index);
      await closing(await this.folder.folder(above), async (folder) => {
        if (await statOrNull(folder, name)) return;
        await folder.makeFolder(name);
        createdFolders.push([...above, name]);
        await folder.sync();
      });
    }
  }

  private async unmake(createdFolders: readonly (readonly string[])[]): Promise<void> {
    for (const names of createdFolders.toReversed()) {
      await this.removeIfEmpty(names).catch(() => undefined);
    }
  }

  private async removeIfEmpty(names: readonly string[]): Promise<boolean> {
    const name = names.at(-1);
    if (name === undefined) return false;
    try {
      await closing(await this.folder.folder(names.slice(0, -1)), async (folder) => {
        await folder.removeFolder(name);
        await folder.sync();
      });
      return true;
    } catch (error) {
      if (isMissing(error)) return true;
      if (['ENOTEMPTY', 'EEXIST', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')) {
        return false;
      }
      throw error;
    }
  }
}

/** Whatever a policy decides, the harness changes nothing of git's own. */
function refuseGit(path: string): void {
  if (classifyPath(path).protection !== 'GIT') return;
  throw pathError('PROTECTED_PATH', path, 'belongs to git and is never changed');
}

/** Undefined for what has gone meanwhile, or whose name is no valid UTF-8. */
async function entryOf(folder: OpenFolder, name: string): Promise<WorkspaceEntry | undefined> {
  try {
    const stats = await folder.stat(name);
    const kind = stats.isFile()
      ? 'file'
      : stats.isDirectory()
        ? 'folder'
        : stats.isSymbolicLink()
          ? 'link'
          : 'other';
    return { name, kind, size: kind === 'file' ? stats.size : 0 };
  } catch (error) {
    if (error instanceof ObstacleError && error.obstacle === 'missing') return undefined;
    throw error;
  }
}

/** Opens a regular file; an ObstacleError for a link and for anything else, which is never opened, even for a moment. */
async function openRegular(folder: OpenFolder, name: string): Promise<OpenFile> {
  const stats = await folder.stat(name);
  if (stats.isSymbolicLink()) throw new ObstacleError('link');
  if (!stats.isFile()) throw new ObstacleError('no-file');
  return folder.file(name);
}

async function statOrNull(folder: OpenFolder, name: string): Promise<Stats | null> {
  return nullIfMissing(() => folder.stat(name));
}

async function nullIfMissing<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ObstacleError && error.obstacle === 'missing';
}

function pathOf({ names, name }: Parent): string {
  return [...names, name].join('/');
}
