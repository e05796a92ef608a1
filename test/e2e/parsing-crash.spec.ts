import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { openEmbedded } from '../../src/platform/database/index.js';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import {
  attachmentsOf,
  createKnowledge,
  fragmentsOf,
  PARSED,
  settled,
  upload,
} from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { eventually } from '../support/wait.js';

const MODEL = 'sim-embed-64--first-300';
const BATCH = 32;
const text = Array.from({ length: 320 }, (_, n) => `Fact ${n}: ${`word${n} `.repeat(60)}`).join(
  '\n\n',
);

(isBuilt ? describe : describe.skip)('a process that is killed while it parses', () => {
  let dataDir: string;
  let simulator: Simulator;
  let store: OwnStore;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'plinth-crash-'));
    simulator = await startSimulator();
    store = await ownStore({ dataDir });
  });

  afterEach(killAll);

  afterAll(async () => {
    await simulator.close();
    await store.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const start = async (): Promise<{ run: ReturnType<typeof boot>; admin: Session }> => {
    const run = boot(dataDir, {
      ADMIN_PASSWORD,
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      EMBEDDING_CONCURRENCY: '1',
      ...store.environment,
    });
    return { run, admin: await adminAt(await addressOf(run), ADMIN_PASSWORD) };
  };

  const embedded = (): string[] =>
    simulator.requests
      .filter(({ path, ended }) => path.endsWith('/embeddings') && ended === 'completed')
      .flatMap(({ body }) => (body as { input: string[] }).input);

  it(
    'goes on after the restart and parses the document exactly once',
    async () => {
      const first = await start();
      await createProvider(first.admin, 'custom_api');
      const apiHost = `${simulator.url}/v1`;
      const model = { category: 'vector', modelDimension: 64, apiHost, apiKey: 'key' };
      await createModel(first.admin, { ...model, modelName: MODEL });
      const id = await createKnowledge(first.admin, { name: 'Crash', embeddingModel: MODEL });
      await upload(first.admin, id, [['facts.txt', text]]);
      await eventually(embedded, (texts) => texts.length >= 3 * BATCH, START_MS);
      first.run.child.kill('SIGKILL');
      await first.run.exit;

      const second = await start();
      const [row] = await settled(second.admin, id);
      expect(row).toMatchObject({ status: PARSED, remark: null });
      const fragments = await fragmentsOf(second.admin, row?.docId ?? '');
      expect(fragments.map(({ idx }) => idx)).toEqual(fragments.map((_, place) => place));
      expect(fragments).toHaveLength(row?.fragmentCount ?? -1);
      // What was embedded and kept before the crash is not embedded again: one batch may have been under way.
      expect(embedded().length).toBeLessThanOrEqual(fragments.length + 2 * BATCH);

      second.run.child.kill('SIGKILL');
      await second.run.exit;
      const third = await start();
      expect((await attachmentsOf(third.admin, id))[0]).toMatchObject({ status: PARSED });
      third.run.child.kill('SIGTERM');
      expect(await third.run.exit).toBe(0);
      expect(await orphans()).toEqual({ vectors: fragments.length, orphans: 0, batches: 0 });
    },
    4 * START_MS,
  );

  /** What the stores hold once nobody has them open. */
  async function orphans(): Promise<Orphans> {
    const { databaseUrl } = store;
    return databaseUrl === undefined ? orphansEmbedded() : orphansOnServer(databaseUrl);
  }

  async function orphansEmbedded(): Promise<Orphans> {
    const opened = await openEmbedded(dataDir);
    try {
      const { rows } = await opened.database.query<Orphans>(countOrphans('fragment_pgvector'));
      return rows[0] ?? NOTHING_FOUND;
    } finally {
      await opened.close();
    }
  }

  async function orphansOnServer(connectionString: string): Promise<Orphans> {
    const client = new pg.Client({ connectionString });
    await client.connect();
    try {
      // The table of pgvector is there where the server has the extension.
      const tables = await client.query<{ pgvector: boolean }>(
        `SELECT to_regclass('fragment_pgvector') IS NOT NULL AS pgvector`,
      );
      const table = tables.rows[0]?.pgvector ? 'fragment_pgvector' : 'fragment_vector';
      const { rows } = await client.query<Orphans>(countOrphans(table));
      return rows[0] ?? NOTHING_FOUND;
    } finally {
      await client.end();
    }
  }
});

interface Orphans {
  readonly vectors: number;
  readonly orphans: number;
  readonly batches: number;
}

const NOTHING_FOUND: Orphans = { vectors: -1, orphans: -1, batches: -1 };

function countOrphans(table: string): string {
  return `SELECT (SELECT count(*) FROM ${table})::int AS vectors,
                 (SELECT count(*) FROM ${table} v WHERE NOT EXISTS
                    (SELECT 1 FROM fragment f WHERE f.id = v.fragment_id))::int AS orphans,
                 (SELECT count(*) FROM embedded_batch)::int AS batches`;
}
