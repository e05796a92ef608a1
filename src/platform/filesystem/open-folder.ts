import { constants } from 'node:fs';
import type { BigIntStats, Dirent, Stats } from 'node:fs';
import {
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  rename,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { HANDLES, hasHandlePaths } from './handle-path.js';
import { obstacleOf, opened } from './obstacle.js';
import { OpenFile } from './open-file.js';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * A folder from which nothing outside of it can be reached: names are opened one by one, each in the folder opened
 * before, and no symbolic link is followed, even if folders and links are exchanged concurrently. On systems without
 * /proc the last guarantee does not hold. A path that cannot be opened is an ObstacleError.
 */
export class OpenFolder {
  private constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
  ) {}

  /** Opens a trusted path; links on the way are followed. */
  static async open(path: string): Promise<OpenFolder> {
    return OpenFolder.of(path, O_RDONLY | O_DIRECTORY);
  }

  /** Opens the folder at the end of the names; this folder for no names. The caller closes it. */
  async folder(names: readonly string[]): Promise<OpenFolder> {
    let at: OpenFolder = await OpenFolder.of(this.way, O_RDONLY | O_DIRECTORY);
    for (const name of names) {
      try {
        const next = await OpenFolder.of(at.wayTo(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        await at.close();
        at = next;
      } catch (error) {
        await at.close();
        throw error;
      }
    }
    return at;
  }

  /** Opens a regular file for reading. The caller closes it. */
  async file(name: string): Promise<OpenFile> {
    return OpenFile.open(this.wayTo(name));
  }

  /** The content of the file; an ObstacleError when it is not a regular file or exceeds the limit. */
  async read(name: string, limitBytes: number, signal: AbortSignal): Promise<Buffer> {
    return closing(await this.file(name), (file) => file.read(limitBytes, signal));
  }

  /** The names in the folder, in no order. */
  async *names(): AsyncGenerator<string> {
    for await (const { name } of await opendir(this.way)) yield name;
  }

  /** The entries of the folder, ordered by name; undefined when there are more than the limit. */
  async entries(limit: number): Promise<Dirent[] | undefined> {
    const entries: Dirent[] = [];
    for await (const entry of await opendir(this.way)) {
      if (entries.length === limit) return undefined;
      entries.push(entry);
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The entry of that name; for a link, the link itself. */
  async stat(name: string): Promise<Stats> {
    return attempted(() => lstat(this.wayTo(name)));
  }

  /** The target of a link. */
  async linkTarget(name: string): Promise<string> {
    return attempted(() => readlink(this.wayTo(name)));
  }

  /** Device and inode, which identify the folder. */
  async identity(): Promise<string> {
    return identityOf(await this.handle.stat({ bigint: true }));
  }

  /** The present path of the folder. */
  async place(): Promise<string> {
    return hasHandlePaths ? readlink(this.way) : this.path;
  }

  /** Writes and syncs a file that must not exist yet. It gets its permission bits when it is complete. */
  async create(
    name: string,
    bytes: Uint8Array,
    { mode, signal }: { readonly mode: number; readonly signal: AbortSignal },
  ): Promise<void> {
    const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    const handle = await attempted(() => open(this.wayTo(name), flags, 0o600));
    try {
      await handle.writeFile(bytes, { signal });
      await handle.chmod(mode);
      await handle.sync();
    } catch (error) {
      await this.remove(name).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
  }

  async makeFolder(name: string): Promise<void> {
    await attempted(() => mkdir(this.wayTo(name)));
  }

  /** Makes a link with this target, which is not looked at. */
  async makeLink(name: string, target: string): Promise<void> {
    await attempted(() => symlink(target, this.wayTo(name)));
  }

  /** Sets the permission bits of this folder. */
  async setMode(mode: number): Promise<void> {
    await this.handle.chmod(mode);
  }

  /** Moves `from` to `to`, replacing what is there; a link at `to` is replaced itself. */
  async rename(from: string, to: string): Promise<void> {
    await attempted(() => rename(this.wayTo(from), this.wayTo(to)));
  }

  /** Removes a file, or the link itself. */
  async remove(name: string): Promise<void> {
    await attempted(() => unlink(this.wayTo(name)));
  }

  /** Removes an empty folder. */
  async removeFolder(name: string): Promise<void> {
    await attempted(() => rmdir(this.wayTo(name)));
  }

  /** Syncs the folder, so that created, renamed and removed entries survive a power failure. */
  async sync(): Promise<void> {
    await this.handle.sync();
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private get way(): string {
    return hasHandlePaths ? `${HANDLES}/${this.handle.fd}` : this.path;
  }

  private wayTo(name: string): string {
    if (/^\.{0,2}$|[/\0]/.test(name))
      throw new Error(`"${name}" is not the name of an entry of a folder.`);
    return `${this.way}/${name}`;
  }

  private static async of(path: string, flags: number): Promise<OpenFolder> {
    return new OpenFolder(await opened(path, flags), path);
  }
}

/** Device and inode as one text. */
export function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** Runs the work with the open handle and closes it. */
export async function closing<Open extends { close(): Promise<void> }, T>(
  open: Open,
  work: (open: Open) => Promise<T>,
): Promise<T> {
  try {
    return await work(open);
  } finally {
    await open.close();
  }
}

async function attempted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw obstacleOf(error);
  }
}
