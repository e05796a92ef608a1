import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { VectorStoreError } from '../../src/vector-store/index.js';
import type { VectorEntry, VectorScope } from '../../src/vector-store/index.js';
import { ExactRepository } from '../../src/vector-store/vector.repository.js';
import { ExactVectorStore } from '../../src/vector-store/exact/exact.vector-store.js';
import { unitVector } from '../support/vectors/unit-vector.js';
import { openVectorDatabase } from '../support/vectors/vector-database.js';
import type { VectorDatabase } from '../support/vectors/vector-database.js';

/** 1 MiB holds 1,024 vectors of it. */
const DIMENSION = 256;
const { signal } = new AbortController();
const query = { vector: unitVector(DIMENSION, 1), limit: 2_000 };

let opened: VectorDatabase;
let store: ExactVectorStore;
let lastFragment = 0;

beforeAll(async () => {
  opened = await openVectorDatabase(process.env['DATABASE_URL']);
});

afterAll(async () => {
  await opened.close();
});

afterEach(async () => {
  await store.onApplicationShutdown();
});

function open(): ExactVectorStore {
  const config = { ...opened.config, EXACT_VECTOR_MEMORY_MB: 1 };
  return new ExactVectorStore(config, new ExactRepository(opened.database));
}

function entriesOf(count: number, attachmentId: number): VectorEntry[] {
  return Array.from({ length: count }, () => {
    const fragmentId = ++lastFragment;
    return { fragmentId, attachmentId, vector: unitVector(DIMENSION, fragmentId) };
  });
}

async function newBase(count: number): Promise<{ scope: VectorScope; attachmentId: number }> {
  const scope = await opened.newBase(opened.tenants[0]);
  const attachmentId = await opened.newAttachment(scope);
  await store.upsert(scope, entriesOf(count, attachmentId), signal);
  return { scope, attachmentId };
}

describe('the exact store', () => {
  it('refuses more vectors than its memory takes, and says what to do', async () => {
    store = open();
    const { scope, attachmentId } = await newBase(1_000);
    const tooMany = store.upsert(scope, entriesOf(25, attachmentId), signal);

    await expect(tooMany).rejects.toThrow(VectorStoreError);
    await expect(tooMany).rejects.toThrow(
      'A knowledge base can have 1024 fragments of 256 dimensions',
    );
    expect(await store.count(scope, undefined, signal)).toBe(1_000);
    await store.upsert(scope, entriesOf(24, attachmentId), signal);
    expect(await store.search(scope, query, signal)).toHaveLength(1_024);
  });

  it('searches more bases than its memory holds at once', async () => {
    store = open();
    const bases = [await newBase(600), await newBase(700), await newBase(800)];
    const searches = [...bases, ...bases, ...bases].map(({ scope }) =>
      store.search(scope, query, signal),
    );
    const counts = (await Promise.all(searches)).map((hits) => hits.length);

    expect(counts).toEqual([600, 700, 800, 600, 700, 800, 600, 700, 800]);
  });

  it('notices what foreign keys have removed', async () => {
    store = open();
    const { scope, attachmentId } = await newBase(3);
    await store.upsert(scope, entriesOf(2, await opened.newAttachment(scope)), signal);
    expect(await store.search(scope, query, signal)).toHaveLength(5);
    await opened.database.query('DELETE FROM attachment WHERE id = $1', [attachmentId]);

    expect(await store.search(scope, query, signal)).toHaveLength(2);
  });

  it('keeps few revisions of a base, and none of a deleted one', async () => {
    store = open();
    const { scope, attachmentId } = await newBase(1);
    const { tenantId, knowledgeId } = scope;
    for (let round = 0; round < 5; round += 1) {
      await store.upsert(scope, entriesOf(1, attachmentId), signal);
    }
    const revisions = async (): Promise<number> => {
      const [row] = await opened.database.query<{ count: number }>(
        'SELECT count(*) AS count FROM vector_revision WHERE tenant_id = $1 AND knowledge_id = $2',
        [tenantId, knowledgeId],
      );
      return row?.count ?? -1;
    };
    expect(await revisions()).toBe(1);
    await opened.database.query('DELETE FROM knowledge_base WHERE id = $1', [knowledgeId]);

    expect(await revisions()).toBe(0);
    expect(await store.search(scope, query, signal)).toEqual([]);
  });

  // The embedded database has one connection, so that no transaction overlaps another one there.
  const onServer = process.env['DATABASE_URL'] === undefined ? it.skip : it;

  onServer(
    'notices each of two transactions that have changed a base at the same time',
    async () => {
      store = open();
      const { scope, attachmentId } = await newBase(1);
      const written = Promise.withResolvers<undefined>();
      const commit = Promise.withResolvers<undefined>();
      const slow = opened.database.transaction(async () => {
        await store.upsert(scope, entriesOf(1, attachmentId), signal);
        written.resolve(undefined);
        await commit.promise;
      });
      await written.promise;
      await store.upsert(scope, entriesOf(1, attachmentId), signal);
      expect(await store.search(scope, query, signal)).toHaveLength(2);
      commit.resolve(undefined);
      await slow;

      expect(await store.search(scope, query, signal)).toHaveLength(3);
      await store.upsert(scope, entriesOf(1, attachmentId), signal);
      expect(await store.search(scope, query, signal)).toHaveLength(4);
    },
  );

  it('tells plainly when the document is gone for which vectors come', async () => {
    store = open();
    const { scope, attachmentId } = await newBase(1);
    await opened.database.query('DELETE FROM attachment WHERE id = $1', [attachmentId]);

    await expect(store.upsert(scope, entriesOf(1, attachmentId), signal)).rejects.toThrow(
      'The document or its knowledge base was deleted',
    );
  });
});
