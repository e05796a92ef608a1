import { DomainError } from '../platform/error/index.js';

/** A failed call of a vector store. The message may be shown to users; the cause is in the log. */
export class VectorStoreError extends DomainError {
  readonly code = 500;
}
