import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { closing, ObstacleError } from '../../platform/filesystem/index.js';
import type { OpenFolder } from '../../platform/filesystem/index.js';
import { sha256 } from '../protocol/ids.js';
import { FOLDER_MODE, kindOf, LINK_MODE } from './file-operation.js';
import type { FileState } from './file-operation.js';
import { namesOf } from './workspace-path.js';
import { pathError } from './workspace.errors.js';

/** As classifyPath knows them: a file may hold a secret before it has its own name. */
const UNFINISHED = /^\.plinth-[\da-f]{32}\.tmp$/;

/** A name that cannot be guessed, for a file that is written before it takes the place of another. */
export function unfinishedName(): string {
  return `.plinth-${randomBytes(16).toString('hex')}.tmp`;
}

export function isUnfinished(name: string): boolean {
  return UNFINISHED.test(name);
}

/** Names that one folder may hold to be looked through. */
const NAMES = 100_000;
/** Files that are hashed to compare them. */
const HASHED_BYTES = 64 * 1024 * 1024;

const PERMISSIONS = 0o777;

export interface WriteOptions {
  /** As of FileState: a link gets the bytes as its target, a folder is made without anything in it. */
  readonly mode: number;
  /** What must be there until the moment it is replaced; null: nothing. */
  readonly expected: FileState | null;
  readonly signal: AbortSignal;
}

export interface RemoveOptions {
  readonly expected: FileState;
  readonly signal: AbortSignal;
}

/** A folder below the root, with what leads to it. */
interface Parent {
  readonly folder: OpenFolder;
  readonly names: readonly string[];
  readonly name: string;
}

/**
 * Looks at, writes and removes files on whose path no link lies, the file's own name included, unless a link or a folder
 * is expected or written. What stands in the way is an ObstacleError or a ToolError; nothing has been changed then, and
 * what was prepared is removed.
 */
export class StrictFiles {
  constructor(private readonly root: OpenFolder) {}

  /** The regular file that has the path; null when there is none. An ObstacleError `too-large` above 64 MiB. */
  async state(path: string, signal: AbortSignal): Promise<FileState | null> {
    try {
      return await this.inParent(path, (parent) => this.stateIn(parent, signal));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** The file, link or folder that has the path; null when there is none. */
  async found(path: string, signal: AbortSignal): Promise<FileState | null> {
    try {
      return await this.inParent(path, (parent) => this.foundIn(parent, signal));
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** Replaces the file as a whole, or makes it and the folders on the way: a reader sees the old or the new one. */
  async write(path: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const made: string[][] = [];
    try {
      await this.makeParents(path, made);
      await this.inParent(path, (parent) => this.replace(parent, bytes, options));
    } catch (error) {
      await this.unmake(made);
      throw error;
    }
  }

  async remove(path: string, { expected, signal }: RemoveOptions): Promise<void> {
    await this.inParent(path, async (parent) => {
      await this.compare(parent, expected, signal);
      signal.throwIfAborted();
      await this.checkPlace(parent);
      await this.removeKind(parent, expected);
      await parent.folder.sync();
    });
  }

  /** Removes the folder that held the path if it is empty, then the one that held that, and so on; never the root. */
  async removeEmptyFolders(path: string, most: number): Promise<void> {
    let names = namesOf(path).slice(0, -1);
    for (let count = 0; names.length > 0 && count < most; count += 1) {
      const isRemoved = await this.removeIfEmpty(names);
      if (!isRemoved) return;
      names = names.slice(0, -1);
    }
  }

  /** Removes from the folder that holds the path what a process has left there that was stopped in the middle of a write. */
  async removeUnfinished(path: string): Promise<void> {
    await this.inParent(path, async ({ folder }) => {
      const left = ((await folder.entries(NAMES)) ?? []).filter(({ name }) => isUnfinished(name));
      for (const { name } of left) await folder.remove(name);
      if (left.length > 0) await folder.sync();
    });
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
    await closing(await folder.folder([name]), (made) => made.setMode(mode & PERMISSIONS));
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
    const found =
      stats && (await (isFile ? this.stateIn(parent, signal) : this.foundIn(parent, signal)));
    const isKind = !found || !expected || kindOf(found.mode) === kindOf(expected.mode);
    if (isKind && found?.sha256 === expected?.sha256) return;
    throw pathError(
      'CHANGED_MEANWHILE',
      pathOf(parent),
      expected
        ? 'has been changed or removed since it was read. Read it again'
        : 'was created by another program in the meantime. Read it first',
    );
  }

  private async stateIn({ folder, name }: Parent, signal: AbortSignal): Promise<FileState> {
    const stats = await folder.stat(name);
    if (stats.isSymbolicLink()) throw new ObstacleError('link');
    // Never opens a device, even for a moment.
    if (!stats.isFile()) throw new ObstacleError('no-file');
    return closing(await folder.file(name), async (file) => ({
      ...(await file.digest(HASHED_BYTES, signal)),
      mode: file.stats.mode & PERMISSIONS,
    }));
  }

  private async foundIn(parent: Parent, signal: AbortSignal): Promise<FileState> {
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
    const [at, root] = [await parent.folder.place(), await this.root.place()];
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
    const folder = await this.root.folder(names);
    return closing(folder, () => work({ folder, names, name }));
  }

  private async makeParents(path: string, made: string[][]): Promise<void> {
    const names = namesOf(path).slice(0, -1);
    for (const [index, name] of names.entries()) {
      const above = names.slice(0, index);
      await closing(await this.root.folder(above), async (folder) => {
        if (await statOrNull(folder, name)) return;
        await folder.makeFolder(name);
        made.push([...above, name]);
        await folder.sync();
      });
    }
  }

  private async unmake(made: readonly (readonly string[])[]): Promise<void> {
    for (const names of made.toReversed()) {
      await this.removeIfEmpty(names).catch(() => undefined);
    }
  }

  private async removeIfEmpty(names: readonly string[]): Promise<boolean> {
    const name = names.at(-1);
    if (name === undefined) return false;
    try {
      await closing(await this.root.folder(names.slice(0, -1)), async (folder) => {
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

async function statOrNull(folder: OpenFolder, name: string): Promise<Stats | null> {
  try {
    return await folder.stat(name);
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
