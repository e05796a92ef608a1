import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { Request } from 'express';
import type { StorageEngine } from 'multer';
import { StorageRepository } from './storage.repository.js';
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

/** Small objects by name, in a storage that the processes of an installation share over the network. */
export interface NamedObjects {
  /** The bytes; undefined where there is no such object. */
  get(name: string): Promise<Buffer | undefined>;
  /** Replaces the object as a whole: a reader sees the former bytes or these. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Stores a content of any length, which is visible as a whole once it is complete. */
  write(name: string, content: Readable): Promise<void>;
  /** The content, which the caller reads to the end or destroys; undefined where there is no such object. */
  read(name: string): Promise<Readable | undefined>;
  stat(name: string): Promise<NamedObject | undefined>;
  /** All objects whose names begin so, by name. */
  list(prefix: string): AsyncGenerator<NamedObject>;
  /** Removes the object; a missing one is not an error. */
  remove(name: string): Promise<void>;
}

export interface NamedObject {
  readonly name: string;
  readonly byteSize: number;
  readonly writtenAt: Date;
}

/**
 * The content of files: on the local disk, or in an object storage (STORAGE_URL). Keys come from FileKeys, never from a
 * user; a key of another form is an error. A key is written once, so its content never changes. UnavailableError where
 * the storage itself fails: full, read-only, away, without rights.
 */
export abstract class FileStorage {
  /** The name of the storage in the record of a file. */
  abstract readonly service: 'local' | 's3';
  /** The setting and its value, for messages to the operator. */
  abstract readonly place: string;
  /** Undefined on the local disk, where the rest of DATA_DIR is shared in the same way. */
  abstract readonly objects: NamedObjects | undefined;

  /**
   * Stores and hashes the source as a stream, never the whole file in memory. Resolves when the file is visible to every
   * reader. On any failure (too large, aborted, source error) it rejects, shows no part of the file and destroys the
   * source.
   */
  abstract write(key: string, source: Readable, options: WriteOptions): Promise<WrittenFile>;

  /**
   * The content, or the part of it that lies in the range; NotFoundError before the first byte when there is none. The
   * caller reads it to the end or destroys it. A file in quarantine can be read: who reads it has a record of it.
   */
  abstract read(key: string, range?: ByteRange): Promise<Readable>;

  /** Removes the file, also from the quarantine; a missing one is not an error. */
  abstract remove(key: string): Promise<void>;

  /** Sets the file aside; a missing one is not an error. */
  abstract quarantine(key: string): Promise<void>;

  /** Puts a file back that was set aside; a missing one is not an error. */
  abstract restore(key: string): Promise<void>;

  /** Size of a file that is not in quarantine; undefined where there is none. */
  abstract sizeOf(key: string): Promise<number | undefined>;

  /** The keys with the prefix that were written before the given time and are not in quarantine, in any order. */
  abstract list(prefix: string, before: Date): AsyncGenerator<string>;

  /** The keys with the prefix that were set aside before the given time, in any order. */
  abstract listQuarantined(prefix: string, before: Date): AsyncGenerator<string>;

  /** Removes incomplete writes (of a killed process) from before the given time; returns how many. */
  abstract removeUnfinished(before: Date): Promise<number>;
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
