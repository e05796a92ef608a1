import { DomainError } from '../../../platform/error/index.js';
import { msg } from '../../../platform/message/index.js';
import { ParameterError } from '../../answer/api.errors.js';

/** The caller has no such response. */
export class UnknownResponseError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no response ${id}. It may have been deleted, or not stored.`);
  }
}

/** The response to continue, or one of its predecessors, does not exist. */
export class PreviousResponseError extends ParameterError {
  constructor(id: string) {
    super(
      'previous_response_id',
      msg`The conversation of the response ${id} is not stored. Send the earlier messages in input instead.`,
    );
  }
}

export class ConversationTooLongError extends ParameterError {
  constructor(param: 'previous_response_id' | 'conversation') {
    super(
      param,
      msg`The conversation is too long to be continued. Send what matters of it in input instead.`,
    );
  }
}

/** The caller has no such conversation. */
export class UnknownConversationError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no conversation ${id}. It may have been deleted.`);
  }
}

/** There is no such item in the conversation. */
export class UnknownItemError extends DomainError {
  readonly code = 404;

  constructor(id: string) {
    super(msg`There is no item ${id} in the conversation.`);
  }
}

/** A request refers to an item that is not stored for the caller. */
export class ItemReferenceError extends ParameterError {
  constructor(param: string, id: string) {
    super(param, msg`The item ${id} is not stored. Send the item itself instead.`);
  }
}

/** A response in the background whose process has ended. */
export class InterruptedResponseError extends DomainError {
  readonly code = 500;

  constructor() {
    super(msg`The answer was interrupted. Send the request again.`);
  }
}

/** The response was not created as a background stream, or its events have expired. */
export class EventsNotKeptError extends ParameterError {
  constructor(id: string) {
    super('stream', msg`The events of the response ${id} are not kept. Read it without stream.`);
  }
}

/** Only responses in the background can be cancelled. */
export class NotInBackgroundError extends ParameterError {
  constructor() {
    super('id', msg`Only a response in the background can be cancelled.`);
  }
}
