import { constants, existsSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { lstat, open, opendir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** A pipe without a writer does not hold up the opening, and a terminal does not become the one of this process. */
const TO_READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/**
 * Where Linux shows the open handles of a process as paths. A name below one is looked up in the very folder that was
 * opened, wherever that has been moved: what openat(2) does, which Node does not offer.
 */
const HANDLES = '/proc/self/fd';
const hasHandlePaths = existsSync(HANDLES);

const CHUNK_BYTES = 64 * 1024;

/** Why a file or folder is not read. */
export type Obstacle = 'missing' | 'link' | 'no-folder' | 'no-file' | 'too-large' | 'denied';

const OBSTACLES: Readonly<Record<string, Obstacle>> = {
  ENOENT: 'missing',
  ENAMETOOLONG: 'missing',
  ELOOP: 'link',
  ENXIO: 'no-file',
  EACCES: 'denied',
  EPERM: 'denied',
};

export class ObstacleError extends Error {
  constructor(
    readonly obstacle: Obstacle,
    cause?: unknown,
  ) {
    super(obstacle, { cause });
  }
}

/**
 * A folder from which nothing outside of it can be reached: names are opened one by one, each in the folder opened
 * before, and no symbolic link is followed, however fast somebody swaps folders and links meanwhile. On systems without
 * /proc the last of these promises does not hold.
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

  /** Opens the folder that one name after the other leads to; this one for no names. Whoever opens it closes it. */
  async folder(names: readonly string[]): Promise<OpenFolder> {
    let at: OpenFolder = await OpenFolder.of(this.place, O_RDONLY | O_DIRECTORY);
    for (const name of names) {
      try {
        const next = await OpenFolder.of(at.placeOf(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        await at.close();
        at = next;
      } catch (error) {
        await at.close();
        throw error;
      }
    }
    return at;
  }

  /** The content of the file; an ObstacleError when it is no regular file of at most so many bytes. */
  async read(name: string, limitBytes: number, signal: AbortSignal): Promise<Buffer> {
    const handle = await opened(this.placeOf(name), TO_READ);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw new ObstacleError('no-file');
      if (stats.size > limitBytes) throw new ObstacleError('too-large');
      return await readAtMost(handle, limitBytes, signal);
    } finally {
      await handle.close();
    }
  }

  /** What the folder holds, ordered by name; undefined when that is more than the limit. */
  async entries(limit: number): Promise<Dirent[] | undefined> {
    const found: Dirent[] = [];
    for await (const entry of await opendir(this.place)) {
      if (found.length === limit) return undefined;
      found.push(entry);
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private get place(): string {
    return hasHandlePaths ? `${HANDLES}/${this.handle.fd}` : this.path;
  }

  private placeOf(name: string): string {
    if (/^\.{0,2}$|[/\0]/.test(name))
      throw new Error(`"${name}" does not name what lies in a folder.`);
    return `${this.place}/${name}`;
  }

  private static async of(path: string, flags: number): Promise<OpenFolder> {
    return new OpenFolder(await opened(path, flags), path);
  }
}

/** Does the work with the folder, and closes it. */
export async function closing<T>(
  folder: OpenFolder,
  work: (folder: OpenFolder) => Promise<T>,
): Promise<T> {
  try {
    return await work(folder);
  } finally {
    await folder.close();
  }
}

async function opened(path: string, flags: number): Promise<FileHandle> {
  try {
    return await open(path, flags);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw new ObstacleError(await kindOf(path), error);
    const obstacle = OBSTACLES[code];
    throw obstacle ? new ObstacleError(obstacle, error) : error;
  }
}

/** Linux answers alike for a link and for a file where a folder is wanted; this only words the message. */
async function kindOf(path: string): Promise<Obstacle> {
  const stats = await lstat(path).catch(() => undefined);
  return stats?.isSymbolicLink() ? 'link' : 'no-folder';
}

/** Counts while it reads, because a file can grow meanwhile. */
async function readAtMost(
  handle: FileHandle,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return Buffer.concat(chunks);
    total += bytesRead;
    if (total > limitBytes) throw new ObstacleError('too-large');
    chunks.push(chunk.subarray(0, bytesRead));
  }
}
