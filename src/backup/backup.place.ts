import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isMissing } from '../platform/filesystem/index.js';
import type { NamedObjects } from '../platform/storage/index.js';

/** Where a backup is: a folder or a prefix in a bucket. */
export interface BackupPlace {
  /** As the operator named it. */
  readonly name: string;
  isEmpty(): Promise<boolean>;
  /** Stores the content as a whole or not at all. */
  write(path: string, content: AsyncIterable<Buffer>): Promise<void>;
  /** undefined where there is no such object. */
  read(path: string): Promise<AsyncIterable<Buffer> | undefined>;
}

/** A folder that only the operator can read. */
export class BackupFolder implements BackupPlace {
  readonly name: string;

  constructor(folder: string) {
    this.name = resolve(folder);
  }

  async isEmpty(): Promise<boolean> {
    try {
      return (await readdir(this.name)).length === 0;
    } catch (error) {
      if (isMissing(error)) return true;
      throw error;
    }
  }

  async write(path: string, content: AsyncIterable<Buffer>): Promise<void> {
    const target = join(this.name, path);
    const draft = `${target}.${randomBytes(8).toString('hex')}`;
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    try {
      await pipeline(
        Readable.from(content, { objectMode: false }),
        createWriteStream(draft, { mode: 0o600, flags: 'wx', flush: true }),
      );
      await rename(draft, target);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async read(path: string): Promise<AsyncIterable<Buffer> | undefined> {
    try {
      return (await open(join(this.name, path), 'r')).createReadStream() as AsyncIterable<Buffer>;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

/** A prefix in a bucket. */
export class BackupBucket implements BackupPlace {
  constructor(
    /** As the operator wrote it, without its parameters. */
    readonly name: string,
    private readonly objects: NamedObjects,
  ) {}

  async isEmpty(): Promise<boolean> {
    for await (const object of this.objects.list('')) {
      if (!object.name.startsWith('probe')) return false;
    }
    return true;
  }

  write(path: string, content: AsyncIterable<Buffer>): Promise<void> {
    return this.objects.write(path, Readable.from(content, { objectMode: false }));
  }

  async read(path: string): Promise<AsyncIterable<Buffer> | undefined> {
    return this.objects.read(path);
  }
}
