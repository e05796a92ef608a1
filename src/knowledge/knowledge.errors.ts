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

/** A base names a model that its tenant does not have in the category that is needed. */
export class UnknownModelError extends InvalidInputError {
  constructor(field: string, modelName: string, category: string) {
    super(
      `${field}: there is no model of category ${category} named ${modelName}. Choose one that is in the list of models, or add it first.`,
      { data: { field, modelName, category } },
    );
  }
}

/** What the documents were embedded with cannot simply be exchanged. */
export class ReindexNeededError extends ConflictError {
  constructor(fields: readonly string[]) {
    super(
      `The documents of this knowledge base are embedded by its present settings, so ${fields.join(' and ')} cannot be changed alone. Send reindex: true to change it and parse every document again.`,
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
