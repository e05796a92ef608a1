import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './obstacle.js';

/** A name that is complete. One that is being written ends in `.part`, one that cannot be stored in `.refused`. */
const COMPLETE = /^[\da-f-]{36}\.json$/;
const UNFINISHED = '.part';
const REFUSED = '.refused';

/** A file that is being written is finished or abandoned after this time. */
const ABANDONED_MS = 10 * 60_000;

export class SpoolFullError extends Error {
  override readonly name = 'SpoolFullError';
}

/**
 * Items that could not be stored in the database, one file each, which only the user of the process can read. Processes may share
 * the folder, so that storing an item twice must change nothing.
 */
export class Spool<T> {
  /** `parse` throws for a value that is not an item. */
  constructor(
    private readonly folder: string,
    private readonly limitBytes: number,
    private readonly parse: (value: unknown) => T,
  ) {}

  /** Resolves when the item survives a power failure. `id` is a UUID. Throws where the files would exceed the limit. */
  async write(id: string, item: T): Promise<void> {
    const content = Buffer.from(JSON.stringify(item));
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    if ((await this.bytes()) + content.length > this.limitBytes) {
      throw new SpoolFullError(`The files in ${this.folder} have reached their limit.`);
    }
    const target = join(this.folder, `${id}.json`);
    const unfinished = `${target}.${randomBytes(8).toString('hex')}${UNFINISHED}`;
    try {
      await writeSynced(unfinished, content);
      await rename(unfinished, target);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
    await syncFolder(this.folder);
  }

  /** The names of at most `limit` complete items, the oldest first. Removes abandoned files. */
  async names(limit: number): Promise<string[]> {
    const files = await this.files();
    const abandoned = Date.now() - ABANDONED_MS;
    for (const { name, changed } of files) {
      if (name.endsWith(UNFINISHED) && changed < abandoned) await this.remove(name);
    }
    return files
      .filter(({ name }) => COMPLETE.test(name))
      .sort((a, b) => a.changed - b.changed)
      .slice(0, limit)
      .map(({ name }) => name);
  }

  /** Reads an item; undefined when another process has removed it. Throws for a file that holds no item. */
  async read(name: string): Promise<T | undefined> {
    const text = await orIfMissing(readFile(join(this.folder, name), 'utf8'), undefined);
    return text === undefined ? undefined : this.parse(JSON.parse(text));
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }

  /** Leaves the file to the operator: it is not read again. */
  async refuse(name: string): Promise<void> {
    const path = join(this.folder, name);
    await orIfMissing(rename(path, path + REFUSED), undefined);
  }

  async count(): Promise<number> {
    const names = await orIfMissing(readdir(this.folder), []);
    return names.filter((name) => COMPLETE.test(name)).length;
  }

  private async bytes(): Promise<number> {
    return (await this.files()).reduce((sum, { size }) => sum + size, 0);
  }

  private async files(): Promise<{ name: string; size: number; changed: number }[]> {
    const names = await orIfMissing(readdir(this.folder), []);
    const files = await Promise.all(
      names.map(async (name) => {
        const stats = await orIfMissing(stat(join(this.folder, name)), undefined);
        return stats?.isFile() ? [{ name, size: stats.size, changed: stats.mtimeMs }] : [];
      }),
    );
    return files.flat();
  }
}

async function writeSynced(path: string, content: Buffer): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Syncs the folder, so that a rename survives a power failure. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The value, or the other one when the file or the folder is not there. */
async function orIfMissing<T, U>(value: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await value;
  } catch (error) {
    if (isMissing(error)) return otherwise;
    throw error;
  }
}
