import { DomainError, ForbiddenError, InvalidInputError } from '../platform/error/index.js';
import { either, msg } from '../platform/message/index.js';
import { purposeOf } from './model.entity.js';
import type { CalledCategory } from './model.entity.js';

export class ModelNotFoundError extends DomainError {
  readonly code = 404;

  constructor(modelName: string, wanted: readonly CalledCategory[]) {
    super(
      msg`There is no model named ${modelName}. Choose another model of category ${either(wanted)}, or ask an administrator to add it.`,
      {
        data: { modelName },
      },
    );
  }
}

/** The API key of the caller is limited to other models. */
export class ModelOutsideKeyError extends ForbiddenError {
  constructor(modelName: string) {
    super(
      msg`This API key cannot use the model ${modelName}. Add the model to the key, or use another model.`,
    );
  }
}

/** No grant lets the caller use the model. */
export class ModelNotGrantedError extends ForbiddenError {
  constructor(modelName: string) {
    super(
      msg`You may not use the model ${modelName}. Choose another model, or ask an administrator for access to it.`,
    );
  }
}

export class NoModelChosenError extends InvalidInputError {
  constructor(wanted: readonly CalledCategory[]) {
    super(
      msg`No ${either(wanted.map(purposeOf))} model is chosen. Choose a model of category ${either(wanted)}.`,
    );
  }
}

export class NoChatModelError extends DomainError {
  readonly code = 404;

  constructor() {
    super(
      msg`There is no chat model yet. Ask an administrator to add one and to enable its provider.`,
    );
  }
}

export class WrongCategoryError extends InvalidInputError {
  constructor(modelName: string, category: string, wanted: readonly CalledCategory[]) {
    super(
      msg`The model ${modelName} is of category ${category} and cannot be used for ${either(wanted.map(purposeOf))}. Choose a model of category ${either(wanted)}.`,
    );
  }
}

/** The stored key does not decrypt: the encryption key was changed, or the row was. */
export class UnreadableCredentialError extends DomainError {
  readonly code = 500;

  constructor() {
    super(
      msg`The stored API key of this model cannot be decrypted, probably because SECRET_KEY was changed. Enter the API key again.`,
    );
  }
}

/** A key that the caller may not know would be sent to an address that the caller chooses. */
export class CredentialRequiredError extends InvalidInputError {
  constructor() {
    super(
      msg`The stored API key was entered for another service: scheme, host or port of the address changes. Enter the apiKey for the new address, or ask an administrator who has the permission system:model:credential.`,
    );
  }
}

/** A model that another one may not name as its fallback. */
export class FallbackError extends InvalidInputError {
  static notFound(id: number): FallbackError {
    return new FallbackError(
      msg`There is no model with the id ${id}, which fallbackIds names. Choose another one.`,
    );
  }

  static itself(): FallbackError {
    return new FallbackError(msg`A model cannot be its own fallback. Remove it from fallbackIds.`);
  }

  static category(modelName: string, category: string): FallbackError {
    return new FallbackError(
      msg`The fallback ${modelName} is not of category ${category}. Choose models of the same category.`,
    );
  }

  static otherVectors(modelName: string): FallbackError {
    return new FallbackError(
      msg`The fallback ${modelName} makes other vectors, which cannot be compared with those of this model. Choose a model of the same modelName and modelDimension at another address.`,
    );
  }

  static media(category: string): FallbackError {
    return new FallbackError(
      msg`Models of category ${category} can have neither further keys nor fallbacks: their results are fetched where they were begun. Leave keys and fallbackIds empty.`,
    );
  }
}
