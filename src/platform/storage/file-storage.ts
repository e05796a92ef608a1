import type { Readable } from 'node:stream';

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

/**
 * The content of files. Keys come from FileKeys, never from a user; a key of another form is an error. A key is
 * written once, so its content never changes. UnavailableError where the storage itself fails: full, read-only, gone.
 */
export abstract class FileStorage {
  /** The name of the implementation in the record of a file. */
  abstract readonly service: string;

  /**
   * Stores and hashes the source as a stream, never the whole file in memory. Resolves when the file is visible to every
   * reader. On any failure (too large, aborted, source error) it rejects, stores nothing under the key and destroys the
   * source.
   */
  abstract write(key: string, source: Readable, options: WriteOptions): Promise<WrittenFile>;

  /**
   * The content, or the part of it that lies in the range; NotFoundError before the first byte when there is none. The
   * caller reads it to the end or destroys it. A file in quarantine is put back first: who reads it has a record of it.
   */
  abstract read(key: string, range?: ByteRange): Promise<Readable>;

  /** Removes the file, also from the quarantine; a missing one is not an error. */
  abstract remove(key: string): Promise<void>;

  /** Whether there is a file that is not in quarantine. */
  abstract exists(key: string): Promise<boolean>;

  /** Sets the file aside; a missing one is not an error. */
  abstract quarantine(key: string): Promise<void>;

  /** Puts a file back that was set aside; a missing one is not an error. */
  abstract restore(key: string): Promise<void>;

  /** The keys with the prefix that were set aside before the given time, in any order. */
  abstract listQuarantined(prefix: string, before: Date): AsyncIterable<string>;

  /** The keys with the prefix that were written before the given time, in any order. */
  abstract list(prefix: string, before: Date): AsyncIterable<string>;

  /** Removes incomplete writes (of a killed process) from before the given time; returns how many. */
  abstract removeUnfinished(before: Date): Promise<number>;
}
