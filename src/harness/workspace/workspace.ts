import { stat } from 'node:fs/promises';
import { closing, identityOf, ObstacleError, OpenFolder } from '../../platform/filesystem/index.js';
import type { OpenFile } from '../../platform/filesystem/index.js';
import type { FileState } from './file-operation.js';
import { sha256 } from '../protocol/ids.js';
import { PathWalk } from './path-walk.js';
import type { Arrival } from './path-walk.js';
import { classifyPath, isRepository, repositoryPart } from './protected-path.js';
import type { PathClass } from './protected-path.js';
import { isUnfinished, StrictFiles } from './strict-files.js';
import type { RemoveOptions, WriteOptions } from './strict-files.js';
import { asToolError, pathError, WorkspaceGoneError } from './workspace.errors.js';
import { relativePath, relativeTo } from './workspace-path.js';

/** A file that was read. */
export interface WorkspaceFile {
  /** As asked for. */
  readonly path: string;
  /** Where it lies once all links are followed: classify this one, too. */
  readonly realPath: string;
  readonly bytes: Buffer;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly size: number;
  /** Permission bits, as in 0o644. */
  readonly mode: number;
  /** How many names the file has; above one it cannot be changed. */
  readonly links: number;
}

/** What lies in a folder; a link is listed as such, not followed. */
export interface WorkspaceEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** Bytes; 0 for what is no file. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** Names that one folder may hold to be listed at all. */
const NAMES = 100_000;
/** How often a name is looked up again that turns into a link in the moment it is opened. */
const TRIES = 10;

/**
 * The folder that a run works in, and the only way of the harness to its files. Paths are those that pathOf answers.
 * Reading follows links as long as they end inside; writing follows none. Every name is opened in the folder opened
 * before, so that nothing outside is ever read or written, however fast files and links are swapped meanwhile (on systems
 * without /proc, where the harness offers no shell, that last promise does not hold). What a model can do something about
 * is a ToolError; a root that is no longer the same is a WorkspaceGoneError.
 */
export class Workspace {
  private readonly strict: StrictFiles;

  private constructor(
    /** Absolute and canonical. */
    readonly root: string,
    private readonly identity: string,
    private readonly folder: OpenFolder,
  ) {
    this.strict = new StrictFiles(folder);
  }

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
  pathOf(given: string): string {
    return relativePath(this.root, given);
  }

  /** How the path is to be treated, by its name alone. */
  classify(path: string): PathClass {
    return classifyPath(path);
  }

  /** Where the path leads once its links are followed; what is there may be missing. SYMLINK_ESCAPE when outside. */
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
        mode: mode & 0o777,
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
      const { file, realPath } = await this.retried(path, ({ folder, name, realPath }) =>
        this.openFile({ folder, name, realPath }),
      );
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
   * What is at the path now: null for nothing. SYMLINK_ESCAPE when a link lies on the way or is there, NOT_A_FILE for a
   * folder or anything else, TOO_LARGE above 64 MiB.
   */
  async state(path: string, signal: AbortSignal): Promise<FileState | null> {
    return this.withPathErrors(path, () => this.strict.state(path, signal));
  }

  /** The same with links and folders, which are told as they are. */
  async found(path: string, signal: AbortSignal): Promise<FileState | null> {
    return this.withPathErrors(path, () => this.strict.found(path, signal));
  }

  /** What a folder holds, ordered by name, without unfinished files; the first so many. Links on the way to it are followed inside the root. */
  async entries(path: string, limit: number): Promise<WorkspaceEntry[]> {
    return this.withPathErrors(path, async () => {
      const folder = await this.retried(path, async ({ folder, name }) =>
        folder.folder(name === undefined ? [] : [name]),
      );
      return closing(folder, async () => {
        const found = await folder.entries(NAMES);
        if (!found) throw pathError('TOO_LARGE', path, `holds more than ${NAMES} names`);
        const entries: WorkspaceEntry[] = [];
        for (const { name } of found) {
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
   * Replaces a file as a whole, or makes it and the folders on the way; it is on the disk afterwards. With the mode of a
   * link or a folder it makes that. SYMLINK_ESCAPE when
   * a link lies on the way or is there, HARD_LINK when the file has a second name, CHANGED_MEANWHILE unless the content is
   * as expected right before the replacement, PROTECTED_PATH below `.git` and where the file would be part of what git
   * takes for a repository.
   */
  async write(path: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    refuseGit(path);
    await this.withPathErrors(path, async () => {
      await this.refuseRepository(path);
      await this.strict.write(path, bytes, options);
    });
  }

  /** Removes a file, a link or an empty folder. Errors as of `write`. */
  async remove(path: string, options: RemoveOptions): Promise<void> {
    refuseGit(path);
    await this.withPathErrors(path, () => this.strict.remove(path, options));
  }

  /** Removes the folders that held the path as far as they are empty, from the innermost on, at most so many; never the root. */
  async removeEmptyFolders(path: string, most = Infinity): Promise<void> {
    refuseGit(path);
    await this.withPathErrors(path, () => this.strict.removeEmptyFolders(path, most));
  }

  /** Removes unfinished files beside the path. Call it only when no process can be writing there. Errors as of `state`. */
  async removeUnfinished(path: string): Promise<void> {
    await this.withPathErrors(path, () => this.strict.removeUnfinished(path));
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
      const above = names.slice(0, index);
      const there = await this.entries(above.join('/'), NAMES).catch(() => []);
      if (!isRepository([...there.map((entry) => entry.name), name])) continue;
      throw pathError(
        'PROTECTED_PATH',
        path,
        'would be part of a git repository, which no tool may make or change',
      );
    }
  }

  private async withPathErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
    await this.checkThere();
    try {
      return await work();
    } catch (error) {
      throw asToolError(path, error);
    }
  }

  private async arrive(path: string): Promise<Arrival> {
    return PathWalk.arrive({ folder: this.folder, path: this.root }, path);
  }

  /** Does the last step of a walk; walks again when the last name has become a link in between. */
  private async retried<T>(path: string, work: (arrival: Arrival) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const arrival = await this.arrive(path);
      try {
        return await closing(arrival.folder, () => work(arrival));
      } catch (error) {
        const isLink = error instanceof ObstacleError && error.obstacle === 'link';
        if (!isLink || tries === TRIES) throw error;
      }
    }
  }

  private async openFile({
    folder,
    name,
    realPath,
  }: Arrival): Promise<{ file: OpenFile; realPath: string }> {
    if (name === undefined) throw new ObstacleError('no-file');
    const stats = await folder.stat(name);
    if (stats.isSymbolicLink()) throw new ObstacleError('link');
    // Never opens a device, even for a moment.
    if (!stats.isFile()) throw new ObstacleError('no-file');
    return { file: await folder.file(name), realPath };
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
    return { name, kind, size: kind === 'file' ? stats.size : 0, modifiedAt: stats.mtimeMs };
  } catch (error) {
    if (error instanceof ObstacleError && error.obstacle === 'missing') return undefined;
    throw error;
  }
}
