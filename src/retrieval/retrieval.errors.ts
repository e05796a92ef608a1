import { InvalidInputError } from '../platform/error/index.js';

export class EmptyQueryError extends InvalidInputError {
  constructor() {
    super('query must not be empty. Enter what you are looking for.');
  }
}
