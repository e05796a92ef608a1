import { ConflictError, DomainError, InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';

/** What went wrong, for the usage ledger: an empty list of results is none of these. */
export type SearchFailure = 'auth' | 'quota' | 'rate' | 'captcha' | 'format' | 'engines' | 'status';

/** A search that a service did not answer with results. The message holds nothing that the service has sent. */
export class SearchFailedError extends DomainError {
  readonly code = 500;

  constructor(
    readonly failure: SearchFailure,
    message: Message,
  ) {
    super(message);
  }
}

export class NoSearchProviderError extends ConflictError {
  constructor() {
    super(
      msg`The web cannot be searched: no search provider is enabled. An administrator can add and enable one.`,
    );
  }
}

export class SearchKeyNeededError extends InvalidInputError {
  constructor() {
    super(
      msg`Enter the API key of this address, too: a stored key is sent to its own address only.`,
    );
  }
}
