import { DomainError } from '../../platform/error/index.js';
import { asMessage, msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

/** Fits the column that keeps it. */
const MESSAGE_LENGTH = 480;

/** A document that can never be parsed as it is. The message says what is wrong and what to do. */
export class DocumentError extends DomainError {
  readonly code = 400;

  constructor(message: Message, options?: { cause?: unknown }) {
    super(asMessage(message.slice(0, MESSAGE_LENGTH).toWellFormed()), options);
  }
}

/** A document of a format that LibreOffice may convert where it is installed. */
export class ForeignFormatError extends DocumentError {
  constructor(
    reason: Message,
    readonly to: 'docx' | 'pdf',
  ) {
    super(reason);
  }
}

export class MemoryLimitError extends DocumentError {
  constructor(mebibytes: number) {
    super(
      msg`Parsing the document takes more than ${mebibytes} MiB of memory, which is the limit (PARSE_MEMORY_MB). Split it into smaller ones, or ask the operator to raise the limit.`,
    );
  }
}

export class TimeLimitError extends DocumentError {
  constructor(seconds: number) {
    super(
      msg`Parsing the document takes longer than ${seconds} s, which is the limit (PARSE_TIMEOUT_SECONDS). Split it into smaller ones, or ask the operator to raise the limit.`,
    );
  }
}

/** A reader broke down over the document; the cause is for the log. */
export class BrokenDocumentError extends DocumentError {}

/** The parsing ended for a reason outside of the document; it may succeed another time. */
export class ParsingInterruptedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

export class BrokenOffError extends ParsingInterruptedError {
  constructor(read: number, expected: number) {
    super(`Of the ${expected} bytes of a file only ${read} could be read.`);
  }
}
