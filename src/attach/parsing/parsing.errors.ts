import { DomainError, InvalidInputError } from '../../platform/error/index.js';

/** Another process has taken the document over, or the request was cancelled. Nothing may be written for it. */
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
      'The user who asked for the parsing may no longer act here. Ask for it again as another user.',
    );
  }
}

export class SourceGoneError extends InvalidInputError {
  constructor() {
    super('The source file is no longer there. Delete the document and upload it again.');
  }
}

export class MissingVectorsError extends DomainError {
  readonly code = 500;

  constructor(expected: number, stored: number) {
    super(
      `Only ${stored} of ${expected} vectors are in the vector store. Parse the document again; if it stays so, check the store.`,
    );
  }
}
