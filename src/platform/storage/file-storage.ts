import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  access,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { addAbortSignal, Readable } from 'node:stream';
import type { Request } from 'express';
import type { StorageEngine } from 'multer';
import { StorageRepository } from './storage.repository.js';
import { msg } from '../message/index.js';
import type { Dependency } from '../dependency/index.js';
import { NotFoundError, UnavailableError } from '../error/index.js';
import { isMissing } from '../filesystem/index.js';
import { FileTooLargeError } from './storage.errors.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { displayName, HEAD_BYTES, typeOf } from './file-type.js';

const FILE_KEY = /^[a-f0-9]{8}\/[a-f0-9]{32}$/;

/** Throws for a key in another form than FileKeys generates: such a key could lead out of the storage. */
export function assertFileKey(key: string): void {
  if (!FILE_KEY.test(key)) throw new Error('The file key has an invalid form.');
}

/**
 * Generates the keys of files: random, below a prefix of the installation, so that two databases that use one DATA_DIR
 * or bucket in succession do not remove each other's files as orphans.
 */
@Injectable()
export class FileKeys {
  private cachedPrefix: string | undefined;

  constructor(private readonly repository: StorageRepository) {}

  async make(): Promise<string> {
    return `${await this.prefix()}${randomBytes(16).toString('hex')}`;
  }

  async prefix(): Promise<string> {
    this.cachedPrefix ??= `${tag(await this.repository.installation())}/`;
    return this.cachedPrefix;
  }
}

function tag(installation: string): string {
  return createHash('sha256').update(installation).digest('hex').slice(0, 8);
}

export interface WriteOptions {
  /** Limit of the file; a longer one is refused with FileTooLargeError. */
  readonly limitBytes: number;
  /** Aborts the write. */
  readonly signal: AbortSignal;
}

/** Bytes of a file, counted from 0; `end` is exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface WrittenFile {
  readonly byteSize: number;
  /** SHA-256 of the content, in lower-case hex. */
  readonly sha256: string;
}

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

/**
 * The content of files, in a directory that only the user of the process may read. Keys come from FileKeys, never from a user; a
 * key of another form is an error. A key is written once, so its content never changes. UnavailableError where the storage itself
 * fails: full, read-only, gone.
 */
export class FileStorage {
  /** The name of the storage in the record of a file. */
  readonly service = 'local';

  constructor(
    private readonly root: string,
    private readonly dependency: Dependency,
  ) {
    dependency.probeWith(() => this.probe());
  }

  /**
   * Stores and hashes the source as a stream, never the whole file in memory. Resolves when the file is visible to every
   * reader. On any failure (too large, aborted, source error) it rejects, stores nothing under the key and destroys the
   * source.
   */
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

  /**
   * The content, or the part of it that lies in the range; NotFoundError before the first byte when there is none. The
   * caller reads it to the end or destroys it. A file in quarantine is put back first: who reads it has a record of it.
   */
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

  /** Removes the file, also from the quarantine; a missing one is not an error. */
  async remove(key: string): Promise<void> {
    for (const path of [this.pathOf(key), this.asidePathOf(key)]) {
      await this.reportingOutages(() => rm(path, { force: true }));
    }
  }

  /** Sets the file aside; a missing one is not an error. */
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

  /** Puts a file back that was set aside; a missing one is not an error. */
  async restore(key: string): Promise<void> {
    const path = this.pathOf(key);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await ifThere(() => move(this.asidePathOf(key), path));
  }

  /** The keys with the prefix that were set aside before the given time, in any order. */
  async *listQuarantined(prefix: string, before: Date): AsyncGenerator<string> {
    for (const name of await namesIn(join(this.root, QUARANTINE, prefix))) {
      const key = `${prefix}${name}`;
      if (await isOlder(this.asidePathOf(key), before)) yield key;
    }
  }

  /** Whether there is a file that is not in quarantine. */
  async exists(key: string): Promise<boolean> {
    const path = this.pathOf(key);
    try {
      await this.reportingOutages(() => access(path));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** The keys with the prefix that were written before the given time, in any order. */
  async *list(prefix: string, before: Date): AsyncGenerator<string> {
    for (const name of await namesIn(join(this.root, prefix))) {
      const key = `${prefix}${name}`;
      if (await isOlder(this.pathOf(key), before)) yield key;
    }
  }

  /** Removes incomplete writes (of a killed process) from before the given time; returns how many. */
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

/** A stored file without a record; the orphan sweep removes it if it gets none. */
export interface ReceivedFile {
  readonly storageKey: string;
  /** The name for display, without a path. */
  readonly name: string;
  readonly mimeType: string;
  readonly size: number;
  readonly sha256: string;
}

/** A refused file of an upload; nothing of it is stored. */
export interface RefusedFile {
  readonly name: string;
  readonly refusal: FileTooLargeError;
}

/** The result of one file of an upload. */
export type UploadedPart = ReceivedFile | RefusedFile;

/** A request that multer read with this engine. */
export interface UploadRequest {
  readonly files?: UploadedPart[];
}

export function isRefused(part: UploadedPart): part is RefusedFile {
  return 'refusal' in part;
}

/**
 * Lets multer stream each file of a multipart request directly into the FileStorage. A file that is too large is
 * refused on its own: the others of the request are received.
 */
@Injectable()
export class UploadEngine {
  /** Limit of the bytes of one file. */
  readonly limitBytes: number;

  constructor(
    private readonly files: FileStorage,
    private readonly keys: FileKeys,
    @Inject(CONFIG) config: Config,
  ) {
    this.limitBytes = config.UPLOAD_LIMIT_MB * 2 ** 20;
  }

  /** The engine with which multer stores files up to the limit. */
  within(limitBytes: number): StorageEngine {
    return {
      _handleFile: (request, file, done) => {
        this.receive(file.stream, file.originalname, leaving(request), limitBytes).then(
          // multer copies it into its own description of the file.
          (part: object) => done(null, part),
          (error: unknown) => done(error),
        );
      },
      _removeFile: (_, file, done) => {
        const key = 'storageKey' in file ? file.storageKey : undefined;
        const removed = typeof key === 'string' ? this.files.remove(key) : Promise.resolve();
        removed.then(() => done(null), done);
      },
    };
  }

  /** Stores one file within the limit. When the signal aborts, it rejects and stores nothing. */
  async receive(
    source: Readable,
    originalName: string,
    signal: AbortSignal,
    limitBytes = this.limitBytes,
  ): Promise<UploadedPart> {
    const storageKey = await this.keys.make();
    const name = displayName(originalName);
    const head = new Head();
    try {
      const { byteSize, sha256 } = await this.files.write(
        storageKey,
        Readable.from(head.watch(source)),
        { limitBytes, signal },
      );
      return { storageKey, name, mimeType: typeOf(head.bytes, name), size: byteSize, sha256 };
    } catch (error) {
      if (error instanceof FileTooLargeError) return { name, refusal: error };
      throw error;
    }
  }
}

/** Records the first bytes of the stream. */
class Head {
  bytes: Buffer = Buffer.alloc(0);

  async *watch(source: Readable): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of source.iterator({
        destroyOnReturn: false,
      }) as AsyncIterable<Buffer>) {
        const missing = HEAD_BYTES - this.bytes.length;
        if (missing > 0) this.bytes = Buffer.concat([this.bytes, chunk.subarray(0, missing)]);
        yield chunk;
      }
    } finally {
      // Consume the rest of a refused file, because the next parts of the request come after it.
      source.resume();
    }
  }
}

const signals = new WeakMap<Request, AbortSignal>();

/** Aborts when the connection closes before the request is complete; the same signal for all its files. */
function leaving(request: Request): AbortSignal {
  const signal = signals.get(request);
  if (signal) return signal;
  const controller = new AbortController();
  signals.set(request, controller.signal);
  request.once('close', () => {
    if (!request.complete) controller.abort();
  });
  return controller.signal;
}
