import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byTest } from '../support/asked-by-test.js';
import { Database } from '../../src/platform/database/index.js';
import { VectorStores } from '../../src/vector-store/index.js';
import { PgvectorVectorStore } from '../../src/vector-store/pgvector/pgvector.vector-store.js';
import { canary } from '../support/canary.js';
import { dependencyUp } from '../support/outages.js';
import { done, makeTenant } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import { QdrantStandIn } from '../support/qdrant/qdrant-stand-in.js';
import type { Session } from '../support/session.js';
import { unitVector } from '../support/vectors/unit-vector.js';
import { eventually } from '../support/wait.js';

const { signal } = new AbortController();

describe('an installation with Qdrant', () => {
  let qdrant: QdrantStandIn;
  let plinth: Plinth;
  let root: Session;

  beforeAll(async () => {
    qdrant = await QdrantStandIn.start();
    qdrant.apiKey = canary.plant('qdrant');
    plinth = await Plinth.start({
      QDRANT_URL: qdrant.url,
      QDRANT_API_KEY: qdrant.apiKey,
      QDRANT_PREFIX: 'plinth-test',
    });
    root = await plinth.signIn();
  });

  afterAll(async () => {
    await plinth.stop();
    await qdrant.stop();
  });

  /** A tenant with one vector, whose id is answered. */
  async function tenantWithVector(tenantId: string): Promise<number> {
    const { id } = await makeTenant(plinth, root, tenantId);
    const entry = { fragmentId: id, attachmentId: 1, vector: unitVector(4, id) };
    const store = byTest(plinth.app.get(VectorStores).default());
    await store.upsert({ tenantId, knowledgeId: 1 }, [entry], signal);
    return id;
  }

  async function tenantsWithVectors(): Promise<string[]> {
    const scopes = await byTest(plinth.app.get(VectorStores).default()).scopes(signal);
    return scopes.map(({ tenantId }) => tenantId).sort();
  }

  it('keeps its vectors there, in collections of its own', async () => {
    await tenantWithVector('314001');
    expect(plinth.app.get(VectorStores).default().code).toBe('qdrant');
    expect(plinth.app.get(VectorStores).of('exact').code).toBe('exact');
    expect([...qdrant.collections.keys()]).toEqual(['plinth-test_4']);
  });

  it('removes the vectors of a tenant with the tenant', async () => {
    const id = await tenantWithVector('314002');
    expect(await tenantsWithVectors()).toEqual(['314001', '314002']);
    done(await root.delete(`/system/tenant/${id}`));
    expect(await tenantsWithVectors()).toEqual(['314001']);
    expect(qdrant.wrong).toEqual([]);
  });

  it('deletes a tenant also while Qdrant is away, and says in the log what is left', async () => {
    const id = await tenantWithVector('314003');
    qdrant.fault = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    done(await root.delete(`/system/tenant/${id}`));
    qdrant.fault = undefined;
    await eventually(
      () => dependencyUp(plinth, 'vectorStore'),
      (up) => up === 1,
    );

    expect(await tenantsWithVectors()).toEqual(['314001', '314003']);
    const lines = plinth.log.filter((line) =>
      line.includes('Failed to remove the vectors of a deleted tenant'),
    );
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ store: 'qdrant', tenantId: '314003', level: 'error' }),
    ]);
  });
});

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
    expect(stores.of('').code).toBe(expected[0]);
    expect(stores.of('exact').code).toBe('exact');
    expect(stores.check('milvus').notice).toContain(`${expected[0] ?? ''} serves it`);
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
});
