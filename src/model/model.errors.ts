import { DomainError, InvalidInputError } from '../error/index.js';

export class ModelNotFoundError extends DomainError {
  readonly code = 404;

  constructor(modelName: string) {
    super(
      `There is no model named ${modelName}. Choose another model, or ask an administrator to add it.`,
      {
        data: { modelName },
      },
    );
  }
}

export class NoChatModelError extends DomainError {
  readonly code = 404;

  constructor() {
    super(
      'There is no chat model yet. Ask an administrator to add one and to enable its provider.',
    );
  }
}

export class WrongCategoryError extends InvalidInputError {
  constructor(modelName: string, category: string, wanted: string) {
    super(
      `The model ${modelName} is of category ${category} and cannot be used for ${wanted}. Choose a ${wanted} model.`,
    );
  }
}

/** The stored key does not decrypt: the encryption key was changed, or the row was. */
export class UnreadableCredentialError extends DomainError {
  readonly code = 500;

  constructor() {
    super(
      'The stored API key of this model cannot be decrypted, probably because SECRET_KEY was changed. Enter the API key again.',
    );
  }
}
