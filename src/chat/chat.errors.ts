import {
  ConflictError,
  DomainError,
  InvalidInputError,
  TooManyRequestsError,
} from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';

export class TurnInProgressError extends ConflictError {
  /** @param leaseSeconds When the session is free at the latest, if the process that writes the answer has died. */
  constructor(leaseSeconds?: number) {
    super(
      leaseSeconds === undefined
        ? msg`An answer is still being written in this session. Wait for it, or stop it first.`
        : msg`An answer is still being written in this session. Wait for it, or stop it first. If the service was interrupted, the session is free in ${leaseSeconds} s.`,
    );
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
    super(msg`The message with this Idempotency-Key is still being answered. Try again later.`, {
      data: { errorCode: 'IDEMPOTENCY_IN_PROGRESS' },
    });
  }
}

export class MessageTooLongError extends InvalidInputError {
  constructor(tokens: number, window: number) {
    super(
      msg`The message is too long for the model: about ${tokens} tokens of ${window}. Shorten it or choose another model.`,
    );
  }
}

/** The limit of the process, or of one user in it. */
export class TooManyStreamsError extends TooManyRequestsError {
  constructor(setting: 'CHAT_STREAMS' | 'CHAT_STREAMS_PER_USER', limit: number) {
    super(
      setting === 'CHAT_STREAMS'
        ? msg`The service is writing ${limit} answers, as many as it may at the same time. Try again soon. An operator can raise the limit with CHAT_STREAMS.`
        : msg`${limit} answers are being written or files checked for you, as many as one user or service account may have at the same time. Wait until one ends, or stop one. An operator can raise the limit with CHAT_STREAMS_PER_USER.`,
      { retryAfterSeconds: 5 },
    );
  }
}

export class DetachedWithoutSessionError extends InvalidInputError {
  constructor() {
    super(
      msg`An answer with detach is stopped by its session. Send a sessionId, or leave detach out.`,
    );
  }
}

/** The caller has no such turn, it was not detached, or its stream is not kept any more. */
export class TurnStreamLostError extends DomainError {
  readonly code = 404;

  constructor() {
    super(msg`The stream of this answer is not kept. Load the messages of the chat.`);
  }
}

export class AnswerTooLongError extends DomainError {
  readonly code = 500;

  constructor() {
    super(msg`The answer exceeds the maximum length and was cut here.`);
  }
}

/** Why the service ended a turn before the model had finished. */
export type StopReason = 'client-left' | 'stopped' | 'signed-out' | 'access-lost' | 'shutdown';

/** The abort reason of a turn. */
export class TurnStopped extends Error {
  override readonly name = 'TurnStopped';

  constructor(readonly reason: StopReason) {
    super(`The turn was ended: ${reason}.`);
  }
}
