import { DomainError } from '../platform/error/index.js';

/** A vector store that did not do what it was asked. The message may be shown; the cause is in the log. */
export class VectorStoreError extends DomainError {
  readonly code = 500;
}
