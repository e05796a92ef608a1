import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { systemCaller } from '../../../src/platform/access/index.js';
import { ParsingRepository } from '../../../src/attach/parsing/parsing.repository.js';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { Database } from '../../../src/platform/database/index.js';
import {
  attachmentsOf,
  createKnowledge,
  fragmentsOf,
  PARSED,
  settled,
  upload,
} from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const TENANT = '000000';
const OLD = 'sim-old-32';
const NEW = 'sim-new-32';

/** On the embedded store, which has one connection, no two transactions are ever open. */
const onServer = process.env['DATABASE_URL'] ? describe : describe.skip;

onServer('at the same moment', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  /** Somebody else, who holds rows. */
  let other: pg.Client;
  let count = 0;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    for (const modelName of [OLD, NEW]) {
      await createModel(admin, {
        modelName,
        modelDimension: 32,
        category: 'vector',
        apiHost: `${simulator.url}/v1`,
        apiKey: 'key',
      });
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(async () => {
    simulator.reset();
    const { DATABASE_URL: connectionString } = plinth.app.get<Config>(CONFIG);
    other = new pg.Client({ connectionString });
    await other.connect();
    await other.query('BEGIN');
  });

  afterEach(() => other.end());

  function newBase(): Promise<number> {
    count += 1;
    return createKnowledge(admin, { name: `Base ${count}`, embeddingModel: OLD });
  }

  /** A document that nobody parses; answers its id. */
  async function newDocument(knowledgeId: number): Promise<number> {
    count += 1;
    const file = [`note-${count}.txt`, `Content ${count}`] as const;
    const { data } = await upload(admin, knowledgeId, [file], false);
    return data[0]?.id ?? 0;
  }

  /** Parses a document, and answers only then: so the next one of its base comes into the same block. */
  async function parse(knowledgeId: number, id: number): Promise<void> {
    await admin.post(`/system/attach/parse/${id}`);
    await eventually(
      () => attachmentsOf(admin, knowledgeId),
      (rows) => rows.find((row) => row.id === id)?.status === PARSED,
    );
  }

  /** How many statements of the application wait for a lock. */
  async function waiting(): Promise<number> {
    const { rows } = await other.query<{ n: string }>(
      `SELECT count(*) AS n FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return Number(rows[0]?.n);
  }

  const waits = (statements: number): Promise<number> =>
    eventually(waiting, (now) => now >= statements);

  const lockRow = (table: string, id: number, how = 'UPDATE'): Promise<unknown> =>
    other.query(`SELECT id FROM ${table} WHERE id = $1 FOR ${how}`, [id]);

  /** Whoever writes an entry waits from now on, with the rows that it has changed before. */
  const lockAudit = (): Promise<unknown> => other.query('LOCK TABLE audit_entry IN EXCLUSIVE MODE');

  /** Documents in the order of their ids, and of those of their fragments: the outer two of one base, the inner of another. */
  async function interleaved(): Promise<[number, number, number, number]> {
    const [outer, inner] = [await newBase(), await newBase()];
    const ids: number[] = [];
    for (const base of [outer, inner, inner, outer]) {
      const id = await newDocument(base);
      await parse(base, id);
      ids.push(id);
    }
    const { rows } = await other.query(
      'SELECT id FROM keyword_block WHERE knowledge_id = ANY ($1::bigint[])',
      [[outer, inner]],
    );
    expect(rows).toHaveLength(2);
    const [first = 0, second = 0, third = 0, fourth = 0] = ids;
    return [first, second, third, fourth];
  }

  it('two can delete documents of the same bases', async () => {
    const [first, second, third, fourth] = await interleaved();
    await lockAudit();
    const one = admin.delete(`/system/attach/${first},${third}`);
    await waits(1);
    const two = admin.delete(`/system/attach/${second},${fourth}`);
    await waits(2);
    await other.query('ROLLBACK');
    expect(await Promise.all([one, two])).toMatchObject([{ code: 200 }, { code: 200 }]);
  });

  it('two can delete fragments of the same bases', async () => {
    const ids: number[] = [];
    for (const id of await interleaved()) {
      const { data } = await admin.get<{ docId: string }>(`/system/attach/${id}`);
      for (const fragment of await fragmentsOf(admin, data.docId)) ids.push(fragment.id);
    }
    const [first, second, third, fourth] = ids;
    expect(ids).toHaveLength(4);
    await lockAudit();
    const one = admin.delete(`/system/fragment/${first},${third}`);
    await waits(1);
    const two = admin.delete(`/system/fragment/${second},${fourth}`);
    await waits(2);
    await other.query('ROLLBACK');
    expect(await Promise.all([one, two])).toMatchObject([{ code: 200 }, { code: 200 }]);
  });

  it('a base can be built anew and deleted', async () => {
    const base = await newBase();
    await newDocument(base);
    await lockAudit();
    const update = admin.put('/system/info', { id: base, textBlockSize: 700, reindex: true });
    await waits(1);
    const removal = admin.delete(`/system/info/${base}`);
    await waits(2);
    await other.query('ROLLBACK');
    expect(await Promise.all([update, removal])).toMatchObject([{ code: 200 }, { code: 200 }]);
  });

  it('a base can be built anew while several of its documents are deleted', async () => {
    const base = await newBase();
    const [first, second] = [await newDocument(base), await newDocument(base)];
    // As if a worker was at the second one, so that it is called off before anything is asked of the first.
    await other.query('ROLLBACK');
    await other.query(
      `UPDATE attachment SET status = 1, parse_requested = true, lease_token = gen_random_uuid(),
              lease_until = now() + interval '1 hour' WHERE id = $1`,
      [second],
    );
    await other.query('BEGIN');
    await lockRow('attachment', first);
    const update = admin.put('/system/info', { id: base, textBlockSize: 700, reindex: true });
    await waits(1);
    await lockRow('attachment', second);
    await other.query('ROLLBACK');
    expect(await update).toMatchObject({ code: 200 });
  });

  it('bases can be deleted while documents of both are', async () => {
    const [one, two] = [await newBase(), await newBase()];
    const [early, late] = [await newDocument(two), await newDocument(one)];
    await lockRow('attachment', early);
    const removal = admin.delete(`/system/info/${one},${two}`);
    await waits(1);
    await lockRow('attachment', late);
    await other.query('ROLLBACK');
    expect(await removal).toMatchObject({ code: 200 });
  });

  it('a base can be deleted while vectors of its documents are written', async () => {
    const base = await newBase();
    const document = await newDocument(base);
    // The order in which PostgreSQL checks the foreign keys of a vector.
    await lockRow('knowledge_base', base, 'KEY SHARE');
    const removal = admin.delete(`/system/info/${base}`);
    await waits(1);
    await lockRow('attachment', document, 'KEY SHARE');
    await other.query('ROLLBACK');
    expect(await removal).toMatchObject({ code: 200 });
  });

  it('documents can be asked for and deleted, wherever their rows are', async () => {
    const base = await newBase();
    const [first, second] = [await newDocument(base), await newDocument(base)];
    await other.query('ROLLBACK');
    await moveBehind(first, second);
    await other.query('BEGIN');
    await lockRow('attachment', first);
    const request = askedFor([first, second]);
    await waits(1);
    await lockRow('attachment', second);
    await other.query('ROLLBACK');
    expect([...(await request)].sort((a, b) => a - b)).toEqual([first, second]);
  });

  /** By a plan that finds rows in the order in which they are stored, as PostgreSQL may choose it for many. */
  function askedFor(ids: readonly number[]): Promise<number[]> {
    const database = plinth.app.get(Database);
    return database.transaction(async () => {
      for (const scan of ['indexscan', 'bitmapscan']) {
        await database.query(`SET LOCAL enable_${scan} = off`);
      }
      const repository = plinth.app.get(ParsingRepository, { strict: false });
      const marked = await repository.request(systemCaller(TENANT, 0), ids);
      return marked.map(({ id }) => id);
    });
  }

  /** Writes the row until it is stored behind the other, where PostgreSQL finds it last. */
  async function moveBehind(id: number, before: number): Promise<void> {
    await eventually(
      async () => {
        await other.query('UPDATE attachment SET remark = remark WHERE id = $1', [id]);
        const { rows } = await other.query<{ id: number }>(
          'SELECT id FROM attachment WHERE id = ANY ($1::bigint[]) ORDER BY ctid DESC LIMIT 1',
          [[id, before]],
        );
        return Number(rows[0]?.id);
      },
      (last) => last === id,
    );
  }

  it('a document is parsed and its base gets another model: the vectors are of that one', async () => {
    const base = await newBase();
    const document = await newDocument(base);
    await lockAudit();
    const update = admin.put('/system/info', { id: base, embeddingModel: NEW });
    await waits(1);
    await admin.post(`/system/attach/parse/${document}`);
    // Either it waits for the base or it is done, with the model that the base has no more.
    await eventually(
      async () => [await waiting(), (await attachmentsOf(admin, base))[0]?.status],
      ([locks, status]) => locks === 2 || status === PARSED,
    );
    await other.query('ROLLBACK');
    expect(await update).toMatchObject({ code: 200 });
    await eventually(
      () => simulator.requests.at(-1)?.model,
      (model) => model === NEW,
    );
    const [row] = await settled(admin, base);
    expect(row).toMatchObject({ status: PARSED, remark: null, fragmentCount: 1 });
  });
});
