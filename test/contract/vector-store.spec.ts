import { QdrantClient } from '@qdrant/js-client-rest';
import pg from 'pg';
import { Dependency } from '../../src/platform/dependency/index.js';
import type { VectorStore } from '../../src/vector-store/index.js';
import { ExactRepository, PgvectorRepository } from '../../src/vector-store/vector.repository.js';
import { ExactVectorStore } from '../../src/vector-store/exact/exact.vector-store.js';
import { PgvectorVectorStore } from '../../src/vector-store/relational.vector-store.js';
import { QdrantVectorStore } from '../../src/vector-store/qdrant/qdrant.vector-store.js';
import type { QdrantSettings } from '../../src/vector-store/qdrant/qdrant.vector-store.js';
import { INSTALLATION } from '../support/qdrant/installation.js';
import { QdrantStandIn } from '../support/qdrant/qdrant-stand-in.js';
import { openVectorDatabase } from '../support/vectors/vector-database.js';
import { describeVectorStore } from './vector-store.contract.js';
import type { VectorStoreUnderTest } from './vector-store.contract.js';

const { DATABASE_URL: server, QDRANT_URL: qdrant, QDRANT_API_KEY: apiKey } = process.env;

async function startExact(url?: string): Promise<VectorStoreUnderTest> {
  const opened = await openVectorDatabase(url);
  const open = (): ExactVectorStore =>
    new ExactVectorStore(opened.config, new ExactRepository(opened.database));
  const [store, other] = [open(), open()];
  return {
    ...opened,
    store,
    other,
    close: async () => {
      await store.onApplicationShutdown();
      await other.onApplicationShutdown();
      await opened.close();
    },
  };
}

async function startPgvector(url?: string): Promise<VectorStoreUnderTest> {
  const opened = await openVectorDatabase(url);
  const open = async (): Promise<VectorStore> => {
    const store = new PgvectorVectorStore(new PgvectorRepository(opened.database));
    await store.prepare();
    return store;
  };
  return { ...opened, store: await open(), other: await open() };
}

function onQdrant(
  settings: Pick<QdrantSettings, 'url' | 'apiKey' | 'prefix'>,
  close: () => Promise<void>,
): VectorStoreUnderTest {
  let last = 0;
  const dependency = new Dependency('vectorStore');
  const open = (): VectorStore =>
    new QdrantVectorStore({ ...settings, timeoutMs: 30_000 }, INSTALLATION, dependency);
  return {
    store: open(),
    other: open(),
    tenants: ['000000', '300009'],
    newBase: (tenantId) => Promise.resolve({ tenantId, knowledgeId: ++last }),
    newAttachment: () => Promise.resolve(++last),
    close: () => {
      dependency.close();
      return close();
    },
  };
}

async function startStandIn(): Promise<VectorStoreUnderTest> {
  const standIn = await QdrantStandIn.start();
  return onQdrant({ url: standIn.url, prefix: 'plinth' }, async () => {
    await standIn.stop();
    if (standIn.wrong.length > 0) throw new Error(standIn.wrong.join('\n'));
  });
}

function startQdrant(url: string): VectorStoreUnderTest {
  const prefix = `plinth-test-${process.pid}-${Date.now()}`;
  return onQdrant({ url, apiKey, prefix }, async () => {
    const client = new QdrantClient({ url, ...(apiKey && { headers: { 'api-key': apiKey } }) });
    const { collections } = await client.getCollections();
    for (const { name } of collections) {
      if (name.startsWith(`${prefix}_`)) await client.deleteCollection(name);
    }
  });
}

async function hasPgvector(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      "SELECT FROM pg_available_extensions WHERE name = 'vector'",
    );
    return rowCount === 1;
  } finally {
    await client.end();
  }
}

describeVectorStore('qdrant, on the stand-in', startStandIn);
if (server === undefined) {
  describeVectorStore('exact, embedded', () => startExact());
  describeVectorStore('pgvector, embedded', () => startPgvector());
} else {
  describeVectorStore('exact, on PostgreSQL', () => startExact(server));
  if (await hasPgvector(server)) {
    describeVectorStore('pgvector, on PostgreSQL', () => startPgvector(server));
  }
}
if (qdrant !== undefined) {
  describeVectorStore('qdrant, on the server', () => Promise.resolve(startQdrant(qdrant)));
}
