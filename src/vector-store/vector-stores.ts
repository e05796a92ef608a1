import { InvalidInputError } from '../platform/error/index.js';
import type { VectorStore } from './vector-store.js';

/** Accepted values of vectorModel: the stores that exist, and those that existing clients send (docs/WIRE.md). */
const KNOWN_CODES = ['weaviate', 'milvus', 'qdrant', 'pgvector', 'exact'];

/** The vector stores that run in this installation. */
export class VectorStores {
  /** The first one is the default. */
  constructor(private readonly stores: readonly [VectorStore, ...VectorStore[]]) {}

  /** The store of a knowledge base with this vectorModel: the one of that code if it runs here, else the default. */
  of(vectorModel: string): VectorStore {
    return this.running(vectorModel) ?? this.default();
  }

  default(): VectorStore {
    return this.stores[0];
  }

  all(): readonly VectorStore[] {
    return this.stores;
  }

  /**
   * Checks the vectorModel of a knowledge base before it is saved. Returns a notice for the answer's `msg` when the
   * default store is used instead of the named one. InvalidInputError for an unknown value.
   */
  check(vectorModel: string): { notice?: string } {
    const wanted = codeOf(vectorModel);
    if (this.running(wanted)) return {};
    const { code } = this.default();
    if (wanted === '') return { notice: `No vector store was chosen: ${code} serves it.` };
    if (KNOWN_CODES.includes(wanted)) {
      return { notice: `This installation does not run ${wanted}: ${code} serves it.` };
    }
    throw new InvalidInputError(`vectorModel must be one of ${KNOWN_CODES.join(', ')}, or empty.`);
  }

  private running(vectorModel: string): VectorStore | undefined {
    return this.stores.find(({ code }) => code === codeOf(vectorModel));
  }
}

function codeOf(vectorModel: string): string {
  return vectorModel.trim().toLowerCase();
}
