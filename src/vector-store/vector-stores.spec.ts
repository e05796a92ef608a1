import { describe, expect, it } from '@jest/globals';
import { Dependency } from '../platform/dependency/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { QdrantVectorStore } from './qdrant/qdrant.vector-store.js';
import { VectorStores } from './vector-store.js';

const dependency = new Dependency('vectorStore');
const qdrant = new QdrantVectorStore(
  { url: 'http://127.0.0.1:9', prefix: 'plinth', timeoutMs: 1_000 },
  { id: 'this-installation', countKnown: () => Promise.resolve(0) },
  dependency,
);
dependency.close();
const stores = new VectorStores([qdrant]);

describe('VectorStores', () => {
  it('serves a base by the store it names where that runs here', () => {
    expect(stores.configured('qdrant')).toBe(qdrant);
    expect(stores.configured(' Qdrant ')).toBe(qdrant);
    expect(stores.check('qdrant')).toEqual({});
    expect(stores.all()).toEqual([qdrant]);
  });

  it.each(['milvus', 'pgvector', 'exact', 'Milvus'])(
    'serves a base with %p, which does not run here, by the default, and says so',
    (word) => {
      expect(stores.configured(word)).toBe(qdrant);
      const notice = msg`This installation does not run ${word.toLowerCase()}: ${'qdrant'} serves it.`;
      expect(stores.check(word)).toEqual({ notice });
    },
  );

  it('says nothing of the store that the form of existing consoles chooses by itself', () => {
    expect(stores.configured('weaviate')).toBe(qdrant);
    expect(stores.check('weaviate')).toEqual({});
  });

  it('serves a base without a word by the default, and says so', () => {
    expect(stores.configured('')).toBe(stores.default());
    expect(stores.check(' ')).toEqual({
      notice: msg`No vector store was chosen: ${'qdrant'} serves it.`,
    });
  });

  it('refuses a word that is none, and lists those there are', () => {
    expect(() => stores.check('chroma')).toThrow(InvalidInputError);
    expect(() => stores.check('chroma')).toThrow(
      'vectorModel must be one of weaviate, milvus, qdrant, pgvector, exact, or empty.',
    );
    expect(stores.configured('chroma')).toBe(qdrant);
  });
});
