import { ConflictError, DomainError, InvalidInputError } from '../platform/error/index.js';
import type { ErrorCode } from '../platform/error/index.js';
import { msg, sentences } from '../platform/message/index.js';

export class DuplicateUploadError extends ConflictError {
  constructor(existingName?: string) {
    const as = existingName === undefined ? '' : msg` as ${existingName}`;
    super(
      msg`This file was already uploaded to the knowledge base${as}. Do not upload it twice; to read it again, parse the existing document.`,
    );
  }
}

export class RefusedFileError extends InvalidInputError {}

export class NothingToCancelError extends ConflictError {
  constructor() {
    super(
      msg`The document is neither being parsed nor waiting to be parsed, so there is nothing to cancel.`,
    );
  }
}

/** One file of an upload that was not stored. */
export interface UploadFailure {
  readonly name: string;
  readonly error: DomainError;
}

/** At least one of several files was not stored: `data` has the outcome of each. */
export class UploadFailedError extends DomainError {
  readonly code: ErrorCode;

  constructor(
    [first, ...others]: readonly [UploadFailure, ...UploadFailure[]],
    data: readonly object[],
  ) {
    const failures = [first, ...others];
    super(
      data.length === 1
        ? first.error.userMessage
        : sentences([
            msg`${failures.length} of ${data.length} files were not stored.`,
            ...failures.map(({ name, error }) => msg`${name}: ${error.userMessage}`),
          ]),
      { data },
    );
    this.code = first.error.code;
  }
}
