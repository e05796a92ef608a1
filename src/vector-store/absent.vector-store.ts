import { UnavailableError } from '../platform/error/index.js';
import { msg, phrase } from '../platform/message/index.js';
import { VectorStore } from './vector-store.js';

/** The vectors of a knowledge base are in a store that this installation does not run any more. */
export class AbsentStoreError extends UnavailableError {
  constructor(code: string) {
    super(
      phrase`The vector store`,
      undefined,
      msg`The vectors of this knowledge base are in the vector store ${code}, which this installation does not run. Ask an administrator to set it up again, or save the base with reindex: true.`,
    );
  }
}

/** Stands for a store that holds vectors and does not run here: every call rejects with AbsentStoreError. */
export class AbsentVectorStore extends VectorStore {
  constructor(override readonly code: string) {
    super();
  }

  override readonly upsert = () => this.refuse();
  override readonly search = () => this.refuse();
  override readonly removeFragments = () => this.refuse();
  override readonly removeAttachment = () => this.refuse();
  override readonly removeKnowledge = () => this.refuse();
  override readonly removeTenant = () => this.refuse();
  override readonly count = () => this.refuse();
  override readonly scopes = () => this.refuse();
  override readonly fragmentIds = () => this.refuse();

  private refuse(): Promise<never> {
    return Promise.reject(new AbsentStoreError(this.code));
  }
}
