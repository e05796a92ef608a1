import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PgvectorRepository } from '../../src/vector-store/vector.repository.js';
import { PgvectorVectorStore } from '../../src/vector-store/relational.vector-store.js';
import type { VectorEntry, VectorHit, VectorScope } from '../../src/vector-store/index.js';
import { unitVector } from '../support/vectors/unit-vector.js';
import { openVectorDatabase } from '../support/vectors/vector-database.js';
import type { VectorDatabase } from '../support/vectors/vector-database.js';

const { signal } = new AbortController();
const DIMENSION = 16;
const COUNT = 4_500;
const LARGE = COUNT * DIMENSION;
const QUESTIONS = Array.from({ length: 10 }, (_, at) => unitVector(DIMENSION, 90_000 + at));

let last = 0;
const entriesOf = (count: number, attachmentId: number): VectorEntry[] =>
  Array.from({ length: count }, () => {
    last += 1;
    return { fragmentId: last, attachmentId, vector: unitVector(DIMENSION, last) };
  });

const idsOf = (hits: readonly VectorHit[]): number[] => hits.map(({ fragmentId }) => fragmentId);

// On the embedded store, whose pgvector has the same indexes as that of a server.
describe('the vector index of a large base', () => {
  let opened: VectorDatabase;
  let vectors: PgvectorRepository;
  let store: PgvectorVectorStore;
  let large: VectorScope;
  let small: VectorScope;
  let documents: number[];

  beforeAll(async () => {
    opened = await openVectorDatabase();
    vectors = new PgvectorRepository(opened.database);
    store = new PgvectorVectorStore(vectors);
    await store.prepare();
    large = await opened.newBase(opened.tenants[0]);
    small = await opened.newBase(opened.tenants[0]);
    documents = [await opened.newAttachment(large), await opened.newAttachment(large)];
    const [most = 0, few = 0] = documents;
    await store.upsert(large, entriesOf(COUNT - 200, most), signal);
    await store.upsert(large, entriesOf(200, few), signal);
    const other = await opened.newAttachment(small);
    await store.upsert(small, entriesOf(300, other), signal);
  });

  afterAll(() => opened.close());

  const lists = async (): Promise<number[][]> =>
    (await opened.database.onConnection((run) => vectors.indexes(run))).map((index) => [
      index.knowledgeId,
      index.dimension,
      index.lists,
    ]);

  it('is built for that base alone, and finds nearly all of the nearest, by their exact scores', async () => {
    const exact = await Promise.all(
      QUESTIONS.map((vector) => vectors.nearest(large, { vector, limit: 20 })),
    );
    const byIndex = jest.spyOn(vectors, 'nearestByIndex');
    const ofCatalogue = jest.spyOn(vectors, 'listsOf');
    await store.search(large, { vector: unitVector(DIMENSION, 1), limit: 20 }, signal);
    expect(byIndex).not.toHaveBeenCalled();
    await store.maintain(LARGE);
    expect(await lists()).toEqual([[large.knowledgeId, DIMENSION, 5]]);

    let shared = 0;
    for (const [at, vector] of QUESTIONS.entries()) {
      const hits = await store.search(large, { vector, limit: 20 }, signal);
      expect(hits).toHaveLength(20);
      const scores = new Map(exact[at]?.map(({ fragmentId, score }) => [fragmentId, score]));
      for (const { fragmentId, score } of hits) {
        if (!scores.has(fragmentId)) continue;
        expect(score).toBeCloseTo(scores.get(fragmentId) ?? 0, 6);
        shared += 1;
      }
    }
    expect(byIndex).toHaveBeenCalledTimes(QUESTIONS.length);
    // Once before the index was built, and once after it.
    expect(ofCatalogue).toHaveBeenCalledTimes(2);
    // Random vectors have no clusters: three of five lists hold far fewer of the nearest than those of texts do.
    expect(shared / (20 * QUESTIONS.length)).toBeGreaterThan(0.7);
  });

  it('answers as many hits with a filter as without an index, and none of another document or base', async () => {
    const [, few = 0] = documents;
    for (const vector of QUESTIONS) {
      const query = { vector, limit: 200, attachmentIds: [few] };
      const hits = await vectors.nearestByIndex(large, query, 1);
      expect(new Set(idsOf(hits))).toEqual(new Set(idsOf(await vectors.nearest(large, query))));
    }
    const ofSmall = await store.search(
      small,
      { vector: unitVector(DIMENSION, 1), limit: 1_000 },
      signal,
    );
    expect(ofSmall).toHaveLength(300);
  });

  it('finds what is stored after the index, and nothing that is removed', async () => {
    const [most = 0] = documents;
    const [added] = entriesOf(1, most);
    if (!added) throw new Error('There is no entry.');
    await store.upsert(large, [added], signal);
    const query = { vector: added.vector, limit: 1 };
    expect(idsOf(await store.search(large, query, signal))).toEqual([added.fragmentId]);
    await store.removeFragments(large, [added.fragmentId], signal);
    expect(idsOf(await store.search(large, query, signal))).not.toContain(added.fragmentId);
  });

  it('stays while the base keeps its size, is replaced at twice the size, and goes with the base', async () => {
    await store.maintain(LARGE);
    expect(await lists()).toEqual([[large.knowledgeId, DIMENSION, 5]]);
    const [most = 0] = documents;
    await store.upsert(large, entriesOf(COUNT + 600, most), signal);
    await store.maintain(LARGE);
    expect(await lists()).toEqual([[large.knowledgeId, DIMENSION, 10]]);
    await store.removeKnowledge(large, signal);
    await store.maintain(LARGE);
    expect(await lists()).toEqual([]);
  });
});
