import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Database } from '../../src/platform/database/index.js';
import { VectorStores } from '../../src/vector-store/index.js';
import { PgvectorVectorStore } from '../../src/vector-store/relational.vector-store.js';
import { readiness } from '../support/outages.js';
import { Plinth } from '../support/plinth.js';

describe('an installation without Qdrant', () => {
  let plinth: Plinth;

  beforeAll(async () => {
    plinth = await Plinth.start();
  });

  afterAll(() => plinth.stop());

  it('keeps its vectors in the relational store: by pgvector where that is there, else exactly', async () => {
    const found = await plinth.app
      .get(Database)
      .query("SELECT FROM pg_available_extensions WHERE name = 'vector'");
    const expected = found.length > 0 ? ['pgvector', 'exact'] : ['exact'];
    const stores = plinth.app.get(VectorStores);

    expect(stores.all().map(({ code }) => code)).toEqual(expected);
    expect(stores.default().code).toBe(expected[0]);
    expect(stores.configured('').code).toBe(expected[0]);
    expect(stores.configured('exact').code).toBe('exact');
    expect(stores.check('milvus').notice).toMatchObject({ values: ['milvus', expected[0]] });
  });

  it('does without pgvector where it may not create the extension', async () => {
    const database = plinth.app.get(Database);
    let usable: boolean | undefined;
    const undone = database.transaction(async () => {
      await database.query('DROP TABLE IF EXISTS fragment_pgvector');
      await database.query('DROP EXTENSION IF EXISTS vector');
      await database.query('CREATE ROLE plinth_test_powerless');
      await database.query('SET LOCAL ROLE plinth_test_powerless');
      usable = await plinth.app.get(PgvectorVectorStore).prepare();
      throw new Error('undone');
    });

    await expect(undone).rejects.toThrow('undone');
    expect(usable).toBe(false);
  });

  it('says in its readiness which of them holds the vectors', async () => {
    const { code } = plinth.app.get(VectorStores).default();
    expect((await readiness(plinth)).body.checks['vectorStore']).toMatchObject({
      status: 'up',
      kind: code,
    });

    const refused = jest.spyOn(PgvectorVectorStore.prototype, 'prepare').mockResolvedValue(false);
    const powerless = await Plinth.start();
    try {
      expect((await readiness(powerless)).body.checks['vectorStore']).toMatchObject({
        status: 'up',
        kind: 'exact',
      });
    } finally {
      refused.mockRestore();
      await powerless.stop();
    }
  });
});
