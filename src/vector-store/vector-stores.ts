import { InvalidInputError } from '../platform/error/index.js';
import type { VectorStore } from './vector-store.js';

/** The specification's words for vectorModel: what existing clients send, and the stores there are. */
const WORDS = ['weaviate', 'milvus', 'qdrant', 'pgvector', 'exact'];

/** The vector stores that run in this installation. */
export class VectorStores {
  /** The first one is the default. */
  constructor(private readonly stores: readonly [VectorStore, ...VectorStore[]]) {}

  /** The store that serves a knowledge base with this word: the one of that name where it runs here, else the default. */
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
   * For a knowledge base that is saved: a notice for the answer's `msg` when the default store serves it instead of the
   * one that is named. InvalidInputError for a word that is none.
   */
  check(vectorModel: string): { notice?: string } {
    const word = wordOf(vectorModel);
    if (this.running(word)) return {};
    const { code } = this.default();
    if (word === '') return { notice: `No vector store was chosen: ${code} serves it.` };
    if (WORDS.includes(word)) {
      return { notice: `This installation does not run ${word}: ${code} serves it.` };
    }
    throw new InvalidInputError(`vectorModel must be one of ${WORDS.join(', ')}, or empty.`);
  }

  private running(vectorModel: string): VectorStore | undefined {
    return this.stores.find(({ code }) => code === wordOf(vectorModel));
  }
}

function wordOf(vectorModel: string): string {
  return vectorModel.trim().toLowerCase();
}
