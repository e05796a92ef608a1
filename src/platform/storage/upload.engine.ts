import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { StorageEngine } from 'multer';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { FileKeys } from './file-key.js';
import { displayName } from './file-name.js';
import { FileStorage } from './file-storage.js';
import { FileTooLargeError } from './storage.errors.js';
import { HEAD_BYTES, typeOf } from './file-type.js';

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
