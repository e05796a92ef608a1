import { InvalidInputError } from '../error/index.js';

export class EmptyQueryError extends InvalidInputError {
  constructor() {
    super('query must not be empty. Enter what you are looking for.');
  }
}

export class NoEmbeddingModelError extends InvalidInputError {
  constructor(name: string) {
    super(
      `The knowledge base ${name} has no embedding model. Choose one in its settings and parse its documents.`,
    );
  }
}
