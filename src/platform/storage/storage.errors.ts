import { msg } from '../message/index.js';
import type { Message } from '../message/index.js';
import { ConflictError, DomainError, ForbiddenError, InvalidInputError } from '../error/index.js';

const MIB = 2 ** 20;

export class FileTooLargeError extends InvalidInputError {
  constructor(limitBytes: number) {
    const limit = limitBytes % MIB === 0 ? `${limitBytes / MIB} MiB` : `${limitBytes} bytes`;
    super(msg`The file is larger than ${limit}, which is the limit. Upload a smaller one.`);
  }
}

/** The file is part of another record and cannot be deleted alone. */
export class FileInUseError extends ConflictError {
  constructor() {
    super(
      msg`The file is part of another record, such as a document of a knowledge base or a chat message. Delete that record instead.`,
    );
  }
}

export class ExpiredAddressError extends ForbiddenError {
  constructor() {
    super(
      msg`The address of this file has expired. Open the file again from the list that names it.`,
    );
  }
}

export class UnreadableUploadError extends InvalidInputError {
  constructor(reason: Message, cause?: unknown, part = 'file') {
    super(
      msg`The upload could not be read: ${reason}. Send multipart/form-data with a part named ${part}.`,
      {
        cause,
      },
    );
  }
}

export class TooManyFilesError extends InvalidInputError {
  constructor(limit: number, cause?: unknown) {
    super(
      msg`The request has more files than one upload may have, which is ${limit}. Nothing was stored. Send the others in further requests.`,
      { cause },
    );
  }
}

/** There is a record of the file, and no content in the storage of this process. */
export class ContentMissingError extends DomainError {
  readonly code = 404;
  /** The processes that stored the content and that looked for it, in words. */
  readonly processes: Message;

  constructor({
    storedBy,
    requestedBy,
  }: {
    readonly storedBy: string | null;
    readonly requestedBy: string;
  }) {
    super(
      msg`The content of the file is not in the storage of this process. Ask the operator to look at DATA_DIR or STORAGE_URL.`,
    );
    this.processes = msg`${storedBy ?? msg`an earlier release`} stored it, ${requestedBy} does not find it`;
  }
}
