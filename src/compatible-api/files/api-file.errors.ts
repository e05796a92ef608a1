import { DomainError, TooManyRequestsError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';

/** The caller has no such file. */
export class UnknownFileError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no file ${id}. It may have been deleted, or have expired.`);
  }
}

/** The storage quota of the user or the tenant is exhausted. */
export class FileQuotaError extends TooManyRequestsError {
  constructor(what: 'files' | 'user' | 'tenant', limit: number) {
    const message =
      what === 'files'
        ? msg`You have ${limit} files, which is the limit. Delete some first.`
        : what === 'user'
          ? msg`Your files may have ${limit} MiB together. Delete some first, or ask the operator to raise API_FILES_MB_PER_USER.`
          : msg`The files of the tenant may have ${limit} MiB together. Delete some first, or ask the operator to raise API_FILES_MB_PER_USER, of which a tenant has ten times as much.`;
    super(message, { retryAfterSeconds: 3_600 });
  }
}
