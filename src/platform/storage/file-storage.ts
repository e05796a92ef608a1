import type { Readable } from 'node:stream';

export interface WriteOptions {
  /** More bytes than this are refused with FileTooLargeError. */
  readonly limitBytes: number;
  /** Ends a write whose sender has left. */
  readonly signal: AbortSignal;
}

export interface WrittenFile {
  readonly byteSize: number;
  /** SHA-256 of the content, in lower-case hex. */
  readonly sha256: string;
}

/**
 * Where the content of files lies. Keys are made by FileKeys, never by a user; a key of another form is an error.
 * A key is written once and never again, so that what is read under it is always the same.
 */
export abstract class FileStorage {
  /** Names the implementation in the record of a file. */
  abstract readonly service: string;

  /**
   * Stores what the source gives, hashing on the way; at no time is the file in memory as a whole. Resolves when it is
   * there for every reader. On any failure (too large, aborted, a source that breaks off) it rejects, nothing is to be
   * read under the key, nothing is left behind, and the source is destroyed.
   */
  abstract write(key: string, source: Readable, options: WriteOptions): Promise<WrittenFile>;

  /** The content; NotFoundError when there is none, before the first byte. Whoever reads it ends or destroys it. */
  abstract read(key: string): Promise<Readable>;

  /** Removes the file; one that is not there is no error. */
  abstract remove(key: string): Promise<void>;

  abstract exists(key: string): Promise<boolean>;

  /** The keys with the prefix that were written before the given time, in no particular order. */
  abstract list(prefix: string, before: Date): AsyncIterable<string>;

  /** Removes what writes that never ended (a killed process) left before the given time; answers how many. */
  abstract removeUnfinished(before: Date): Promise<number>;
}
