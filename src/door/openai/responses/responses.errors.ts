import { DomainError } from '../../../platform/error/index.js';
import { msg } from '../../../platform/message/index.js';
import { ParameterError } from '../../answer/door.errors.js';

/** There is no such response of the caller. */
export class UnknownResponseError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no response ${id}. It may have been deleted, or not stored.`);
  }
}

/** The response to continue, or one that it continues, is not there. */
export class PreviousResponseError extends ParameterError {
  constructor(id: string) {
    super(
      'previous_response_id',
      msg`The conversation of the response ${id} is not stored. Send the earlier messages in input instead.`,
    );
  }
}

export class ConversationTooLongError extends ParameterError {
  constructor() {
    super(
      'previous_response_id',
      msg`The conversation is too long to be continued. Send what matters of it in input instead.`,
    );
  }
}
