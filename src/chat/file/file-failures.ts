import type { ChatFile } from './chat-file.js';
import { FileGoneError, FileWaitError, UnreadableFileError } from './chat-file.errors.js';
import type { ImageTooLargeError, ImageTypeError } from './chat-file.errors.js';

/** Errors that concern a single file. */
export type FileError =
  | ImageTypeError
  | ImageTooLargeError
  | UnreadableFileError
  | FileGoneError
  | FileWaitError;

/** Files of a question that cannot be read, by their ids; the question goes on without them. */
export class FileFailures {
  private readonly errors = new Map<number, FileError>();

  has(id: number): boolean {
    return this.errors.has(id);
  }

  add(id: number, error: FileError): void {
    this.errors.set(id, error);
  }

  /** Adds an error that is about this file alone; throws any other. */
  catch(id: number, error: unknown): void {
    const isOfFile =
      error instanceof UnreadableFileError ||
      error instanceof FileGoneError ||
      error instanceof FileWaitError;
    if (!isOfFile) throw error;
    this.add(id, error);
  }

  /** A question whose files all failed is not worth an answer: the first failure says what to do. */
  throwUnlessAny(readable: readonly unknown[]): void {
    const [first] = this.errors.values();
    if (first && readable.length === 0) throw first;
  }

  applyTo(file: ChatFile): ChatFile {
    const error = this.errors.get(file.id);
    return error ? { ...file, state: 'failed', reason: error.userMessage } : file;
  }
}
