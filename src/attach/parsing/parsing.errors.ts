import type { Message } from '../../platform/message/index.js';
import { DomainError, InvalidInputError } from '../../platform/error/index.js';
import type { ContentMissingError } from '../../platform/storage/index.js';
import { msg } from '../../platform/message/index.js';

/** Another process has claimed the document, or its parsing was cancelled. Nothing may be written for it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** The settings of the knowledge base have changed since the attempt read them: what it has made is of the old ones. */
export class SettingsChangedError extends Error {
  override readonly name = 'SettingsChangedError';
}

export class RequesterGoneError extends InvalidInputError {
  constructor() {
    super(
      msg`The user who asked for the parsing may no longer act here. Ask for it again as another user.`,
    );
  }
}

/** The source file is missing on this process; another process, or this one later, may find it. */
export class SourceElsewhereError extends InvalidInputError {
  readonly waitingFor: Message;

  constructor({ processes }: ContentMissingError) {
    super(
      msg`The source file was not found for an hour: ${processes}. Ask the operator to check that both use the same DATA_DIR or STORAGE_URL, then parse the document again.`,
    );
    this.waitingFor = msg`The source file is not found: ${processes}.`;
  }
}

export class SourceGoneError extends InvalidInputError {
  constructor() {
    super(msg`The source file is no longer there. Delete the document and upload it again.`);
  }
}

/** The model answered, but wrote nothing. */
export class NoContextError extends InvalidInputError {
  constructor(modelName: string, fragment: number) {
    super(
      msg`The model ${modelName} wrote no context for fragment ${fragment}. Choose another contextModel in the settings of the knowledge base, or clear it.`,
    );
  }
}

export class MissingVectorsError extends DomainError {
  readonly code = 500;

  constructor(expected: number, stored: number) {
    super(
      msg`Only ${stored} of ${expected} vectors are in the vector store. Parse the document again; if the problem persists, check the store.`,
    );
  }
}
