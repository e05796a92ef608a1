import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { addAbortSignal } from 'node:stream';
import type { Readable } from 'node:stream';
import type { Dependency } from '../dependency/index.js';
import { NotFoundError, UnavailableError } from '../error/index.js';
import { isMissing } from '../filesystem/index.js';
import { msg } from '../message/index.js';
import { assertFileKey, FileStorage } from './file-storage.js';
import type { ByteRange, WriteOptions, WrittenFile } from './file-storage.js';
import { FileTooLargeError } from './storage.errors.js';

/** The folder of unfinished files, beside the others because a rename within one file system is atomic. */
const UNFINISHED = 'unfinished';

/** The folder of files in quarantine, beside the others for the same reason. Their times are those at which they were set aside. */
const QUARANTINE = 'quarantine';

/** Errors of the file system that say nothing about the file: a full, failing or unmounted disk, or a missing right. */
const OUTAGES = new Set(
  'EACCES EDQUOT EHOSTDOWN EIO ENODEV ENOSPC ENOTCONN ENOTDIR ENXIO EPERM EROFS ESTALE ETIMEDOUT'.split(
    ' ',
  ),
);

/** Files in a directory that only the user of the process may read. */
export class DiskStorage extends FileStorage {
  readonly service = 'local';
  readonly place: string;
  readonly objects = undefined;
  private readonly root: string;

  /** The files are in the folder `files` of the directory. */
  constructor(
    dataDir: string,
    private readonly dependency: Dependency,
  ) {
    super();
    this.place = `DATA_DIR ${dataDir}`;
    this.root = join(dataDir, 'files');
    dependency.probeWith(() => this.probe());
  }

  async write(key: string, source: Readable, options: WriteOptions): Promise<WrittenFile> {
    const beganAt = performance.now();
    const file = await this.reportingOutages(() => this.writeFile(key, source, options));
    this.dependency.succeeded(beganAt);
    return file;
  }

  private async writeFile(
    key: string,
    source: Readable,
    options: WriteOptions,
  ): Promise<WrittenFile> {
    const target = this.pathOf(key);
    const unfinished = join(this.root, UNFINISHED, randomBytes(16).toString('hex'));
    try {
      for (const path of [target, unfinished]) {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      }
      const file = await writeNew(unfinished, source, options);
      await rename(unfinished, target);
      await flush(dirname(target));
      return file;
    } catch (error) {
      source.destroy();
      for (const path of [unfinished, target]) await rm(path, { force: true });
      throw error;
    }
  }

  /** A file in quarantine is put back first. */
  async read(key: string, range?: ByteRange): Promise<Readable> {
    const path = this.pathOf(key);
    const handle = await this.reportingOutages(() => open(path, 'r')).catch(
      async (error: unknown) => {
        if (!isMissing(error)) throw error;
        await this.restore(key);
        return this.reportingOutages(() => open(path, 'r')).catch((second: unknown) => {
          throw isMissing(second) ? new NotFoundError(msg`The file`) : second;
        });
      },
    );
    // The end of a stream of Node is inclusive.
    return handle.createReadStream(range && { start: range.start, end: range.end - 1 });
  }

  async remove(key: string): Promise<void> {
    for (const path of [this.pathOf(key), this.asidePathOf(key)]) {
      await this.reportingOutages(() => rm(path, { force: true }));
    }
  }

  async quarantine(key: string): Promise<void> {
    const path = this.pathOf(key);
    const aside = this.asidePathOf(key);
    await mkdir(dirname(aside), { recursive: true, mode: 0o700 });
    await ifThere(async () => {
      const now = new Date();
      await utimes(path, now, now);
      await move(path, aside);
    });
  }

  async restore(key: string): Promise<void> {
    const path = this.pathOf(key);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await ifThere(() => move(this.asidePathOf(key), path));
  }

  async *listQuarantined(prefix: string, before: Date): AsyncGenerator<string> {
    for (const name of await namesIn(join(this.root, QUARANTINE, prefix))) {
      const key = `${prefix}${name}`;
      if (await isOlder(this.asidePathOf(key), before)) yield key;
    }
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const path = this.pathOf(key);
    try {
      return (await this.reportingOutages(() => stat(path))).size;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async *list(prefix: string, before: Date): AsyncGenerator<string> {
    for (const name of await namesIn(join(this.root, prefix))) {
      const key = `${prefix}${name}`;
      if (await isOlder(this.pathOf(key), before)) yield key;
    }
  }

  async removeUnfinished(before: Date): Promise<number> {
    let removed = 0;
    const folder = join(this.root, UNFINISHED);
    for (const name of await namesIn(folder)) {
      if (!(await isOlder(join(folder, name), before))) continue;
      await rm(join(folder, name), { force: true });
      removed += 1;
    }
    return removed;
  }

  /** Runs the work and reports an error of the storage, as opposed to one of the file. */
  private async reportingOutages<T>(work: () => Promise<T>): Promise<T> {
    const beganAt = performance.now();
    try {
      return await work();
    } catch (error) {
      if (!OUTAGES.has(String((error as NodeJS.ErrnoException).code))) throw error;
      this.dependency.failed(error, beganAt);
      throw new UnavailableError(msg`The file storage`, error);
    }
  }

  /** Probes with a write, because a full disk can still be read. */
  private async probe(): Promise<void> {
    const path = join(this.root, UNFINISHED, randomBytes(16).toString('hex'));
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    try {
      await writeFile(path, 'probe', { mode: 0o600 });
    } finally {
      await rm(path, { force: true });
    }
  }

  private pathOf(key: string): string {
    assertFileKey(key);
    return join(this.root, key);
  }

  private asidePathOf(key: string): string {
    assertFileKey(key);
    return join(this.root, QUARANTINE, key);
  }
}

async function move(from: string, to: string): Promise<void> {
  await rename(from, to);
  await flush(dirname(to));
  await flush(dirname(from));
}

/** Another process may have moved or removed the file. */
async function ifThere(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function writeNew(
  path: string,
  source: Readable,
  options: WriteOptions,
): Promise<WrittenFile> {
  const { limitBytes, signal } = options;
  const hash = createHash('sha256');
  let byteSize = 0;
  const handle = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of addAbortSignal(signal, source) as AsyncIterable<Buffer>) {
      byteSize += chunk.length;
      if (byteSize > limitBytes) throw new FileTooLargeError(limitBytes);
      hash.update(chunk);
      await handle.appendFile(chunk);
    }
    await handle.datasync();
  } finally {
    await handle.close();
  }
  return { byteSize, sha256: hash.digest('hex') };
}

/** Syncs the directory, so that a rename survives a power failure. */
async function flush(directory: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(directory, 'r');
    await handle.sync();
  } finally {
    await handle?.close();
  }
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Whether the file was last written before the time; false if it was removed meanwhile. */
async function isOlder(path: string, before: Date): Promise<boolean> {
  try {
    return (await stat(path)).mtime < before;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
