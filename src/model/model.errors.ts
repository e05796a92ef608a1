import { DomainError, InvalidInputError } from '../error/index.js';
import { PURPOSES } from './model.category.js';
import type { CalledCategory } from './model.category.js';

export class ModelNotFoundError extends DomainError {
  readonly code = 404;

  constructor(modelName: string, category: CalledCategory) {
    super(
      `There is no model named ${modelName}. Choose another model of category ${category}, or ask an administrator to add it.`,
      {
        data: { modelName },
      },
    );
  }
}

export class NoModelChosenError extends InvalidInputError {
  constructor(category: CalledCategory) {
    super(`No ${PURPOSES[category]} model is chosen. Choose a model of category ${category}.`);
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
  constructor(modelName: string, category: string, wanted: CalledCategory) {
    super(
      `The model ${modelName} is of category ${category} and cannot be used for ${PURPOSES[wanted]}. Choose a model of category ${wanted}.`,
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
