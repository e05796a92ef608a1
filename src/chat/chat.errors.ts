import {
  ConflictError,
  DomainError,
  InvalidInputError,
  TooManyRequestsError,
} from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

export class TurnInProgressError extends ConflictError {
  constructor() {
    super(msg`An answer is still being written in this session. Wait for it, or stop it first.`);
  }
}

export class IdempotencyMismatchError extends ConflictError {
  constructor() {
    super(
      msg`This Idempotency-Key was used with another message. Send a new key with a new message.`,
    );
  }
}

export class IdempotencyInProgressError extends ConflictError {
  constructor() {
    super(msg`The message with this Idempotency-Key is still being answered. Try again later.`);
  }
}

export class MessageTooLongError extends InvalidInputError {
  constructor(tokens: number, window: number) {
    super(
      msg`The message is too long for the model: about ${tokens} tokens of ${window}. Shorten it or choose another model.`,
    );
  }
}

export class TooManyStreamsError extends TooManyRequestsError {
  constructor() {
    super(
      msg`Too many answers are being written at the same time. Wait until one ends, or stop one.`,
      { retryAfterSeconds: 5 },
    );
  }
}

export class AnswerTooLongError extends DomainError {
  readonly code = 500;

  constructor() {
    super(msg`The answer exceeds the maximum length and was cut here.`);
  }
}

/** Why the service ended a turn before the model had finished. */
export type StopReason = 'client-left' | 'stopped' | 'signed-out' | 'shutdown';

/** The abort reason of a turn. */
export class TurnStopped extends Error {
  override readonly name = 'TurnStopped';

  constructor(readonly reason: StopReason) {
    super(`The turn was ended: ${reason}.`);
  }
}
