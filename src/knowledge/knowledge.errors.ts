import { ConflictError, InvalidInputError } from '../platform/error/index.js';

export class BlockSizeError extends InvalidInputError {
  constructor() {
    super('textBlockSize must exceed 0.');
  }
}

export class OverlapError extends InvalidInputError {
  constructor() {
    super('overlapChar must be 0 or more and smaller than textBlockSize.');
  }
}

/** The tenant has no model of this name and category. */
export class UnknownModelError extends InvalidInputError {
  constructor(field: string, modelName: string, category: string) {
    super(
      `${field}: there is no model of category ${category} named ${modelName}. Choose a model from the list of models, or add it first.`,
      { data: { field, modelName, category } },
    );
  }
}

/** Stored vectors depend on these settings, so they cannot be changed without parsing again. */
export class ReindexNeededError extends ConflictError {
  constructor(fields: readonly string[]) {
    super(
      `The documents of this knowledge base are embedded with its current settings. To change ${fields.join(' and ')}, send reindex: true, which parses every document again.`,
      { data: { fields } },
    );
  }
}

export class NoEmbeddingModelError extends InvalidInputError {
  constructor(name: string) {
    super(
      `The knowledge base ${name} has no embedding model. Choose a model of category vector in its settings, then parse its documents.`,
    );
  }
}
