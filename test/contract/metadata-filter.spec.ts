import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeywordIndex } from '../../src/fragment/index.js';
import { MetadataRepository, readFilter, readMetadata } from '../../src/metadata/index.js';
import { jsonPathOf } from '../../src/metadata/filter.js';
import { systemCaller } from '../../src/platform/access/index.js';
import { Dependency } from '../../src/platform/dependency/index.js';
import { Database, inTenant } from '../../src/platform/database/index.js';
import { VectorStores } from '../../src/vector-store/index.js';
import type { VectorScope, VectorStore } from '../../src/vector-store/index.js';
import { QdrantVectorStore } from '../../src/vector-store/qdrant/qdrant.vector-store.js';
import { anyFilter, anyMetadata, fits } from '../support/metadata-filters.js';
import type { SentFilter, SentMetadata } from '../support/metadata-filters.js';
import { Plinth } from '../support/plinth.js';
import { INSTALLATION } from '../support/qdrant/installation.js';
import { QdrantStandIn } from '../support/qdrant/qdrant-stand-in.js';
import { unitVector } from '../support/vectors/unit-vector.js';

/** Filters that are held against the metadata in the database. */
const FILTERS = 10_000;
/** Those of them with which every store and the keyword index are searched. */
const SEARCHES = 100;
const BATCH = 1_000;
const DOCUMENTS = 40;
const FRAGMENTS = 3;
const LIMIT = 8;
const TENANT = '000000';
const { signal } = new AbortController();

interface Document {
  readonly id: number;
  readonly metadata: SentMetadata;
  readonly fragments: readonly number[];
}

interface Hit {
  readonly fragmentId: number;
  readonly score: number;
}

describe('filters by metadata', () => {
  let plinth: Plinth;
  let standIn: QdrantStandIn;
  let database: Database;
  let keywords: KeywordIndex;
  let repository: MetadataRepository;
  let scope: VectorScope;
  let documents: readonly Document[];
  let stores: readonly VectorStore[];
  const dependency = new Dependency('vectorStore');
  const filters: readonly SentFilter[] = fc.sample(anyFilter, FILTERS);

  beforeAll(async () => {
    plinth = await Plinth.start();
    standIn = await QdrantStandIn.start();
    database = plinth.app.get(Database);
    keywords = plinth.app.get(KeywordIndex);
    repository = plinth.app.get(MetadataRepository, { strict: false });
    const settings = { url: standIn.url, prefix: 'plinth', timeoutMs: 30_000 };
    stores = [
      ...plinth.app.get(VectorStores).all(),
      new QdrantVectorStore(settings, INSTALLATION, dependency),
    ];
    scope = await makeBase();
    const all = fc.sample(anyMetadata, DOCUMENTS);
    documents = await inTenant(TENANT, () => fill(scope, all));
    // Of another base, with the same metadata: it must never be found.
    const other = await makeBase();
    await inTenant(TENANT, () => fill(other, all));
  });

  afterAll(async () => {
    dependency.close();
    await standIn.stop();
    await plinth.stop();
  });

  async function idOf(sql: string, values: unknown[]): Promise<number> {
    const [row] = await database.query<{ id: number }>(sql, values);
    return row?.id ?? 0;
  }

  async function makeBase(): Promise<VectorScope> {
    const sql = `INSERT INTO knowledge_base (tenant_id, name) VALUES ($1, 'Base') RETURNING id`;
    return { tenantId: TENANT, knowledgeId: await idOf(sql, [TENANT]) };
  }

  async function fill(
    { tenantId, knowledgeId }: VectorScope,
    all: readonly SentMetadata[],
  ): Promise<Document[]> {
    const made: Document[] = [];
    for (const metadata of all) {
      const id = await idOf(
        `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size, metadata)
         SELECT $1, $2, id, id, 'Document', 'txt', 1, $3
           FROM (SELECT replace(gen_random_uuid()::text, '-', '') AS id) made RETURNING id`,
        [tenantId, knowledgeId, JSON.stringify(readMetadata(metadata))],
      );
      const rows = await database.query<{ id: number }>(
        `INSERT INTO fragment (tenant_id, knowledge_id, attachment_id, doc_id, fid, idx, content, language, term_count)
         SELECT $1, $2::bigint, $3::bigint, 'doc', replace(gen_random_uuid()::text, '-', ''), place, 'red', 'simple', 1
           FROM generate_series(1, ${FRAGMENTS}) place RETURNING id`,
        [tenantId, knowledgeId, id],
      );
      made.push({ id, metadata, fragments: rows.map((row) => row.id) });
    }
    const entries = made.flatMap(({ id: attachmentId, fragments }) =>
      fragments.map((fragmentId) => ({
        attachmentId,
        fragmentId,
        vector: unitVector(16, fragmentId),
      })),
    );
    for (const store of stores) await store.upsert({ tenantId, knowledgeId }, entries, signal);
    for (const { id: attachmentId, fragments } of made) {
      const texts = fragments.map((id) => `red ${'boat '.repeat(id % 17)}`);
      const analysed = await keywords.analyse(texts);
      const parts = fragments.flatMap((fragmentId, place) => {
        const one = analysed[place];
        return one ? [{ fragmentId, analysed: one }] : [];
      });
      await keywords.replaceAttachment({ tenantId, knowledgeId, attachmentId }, parts);
    }
    return made;
  }

  /** What is left of all hits when those of other documents are taken out, and then cut. */
  function afterwards(all: readonly Hit[], filter: SentFilter): readonly Hit[] {
    const fitting = documents.filter(({ metadata }) => fits(filter, metadata));
    const kept = new Set(fitting.flatMap(({ fragments }) => fragments));
    return all.filter(({ fragmentId }) => kept.has(fragmentId)).slice(0, LIMIT);
  }

  it(`mean the same documents in the database as by hand, all ${FILTERS} of them`, async () => {
    let fitting = 0;
    for (let start = 0; start < FILTERS; start += BATCH) {
      const batch = filters.slice(start, start + BATCH);
      const rows = await database.query<{ place: number; ids: number[] | null }>(
        `SELECT place, (SELECT jsonb_agg(id ORDER BY id) FROM attachment
                         WHERE tenant_id = $1 AND knowledge_id = $2 AND metadata @@ path) AS ids
           FROM (SELECT path::jsonpath AS path, place
                   FROM unnest($3::text[]) WITH ORDINALITY AS given (path, place) OFFSET 0) asked
          ORDER BY place`,
        [TENANT, scope.knowledgeId, batch.map((filter) => jsonPathOf(readFilter(filter)))],
      );
      const wrong = batch.flatMap((filter, place) => {
        const expected = documents.filter(({ metadata }) => fits(filter, metadata));
        fitting += expected.length;
        const ids = expected.map(({ id }) => id);
        const found = rows[place]?.ids ?? [];
        return JSON.stringify(found) === JSON.stringify(ids) ? [] : [{ filter, found, ids }];
      });
      expect(wrong).toEqual([]);
    }
    // Filters that fit everything, or nothing, would show nothing.
    expect(fitting / FILTERS / DOCUMENTS).toBeGreaterThan(0.2);
    expect(fitting / FILTERS / DOCUMENTS).toBeLessThan(0.8);
  });

  it(`find in every store what filtering all hits afterwards leaves, ${SEARCHES} times`, async () => {
    await inTenant(TENANT, searchEach);
  });

  async function searchEach(): Promise<void> {
    const vector = unitVector(16, 5);
    const asked = filters.slice(0, SEARCHES);
    const chosen: number[][] = [];
    for (const filter of asked) {
      const base = { id: scope.knowledgeId };
      chosen.push(await repository.documents(systemCaller(TENANT, 0), base, readFilter(filter)));
    }
    expect(stores.map(({ code }) => code)).toEqual(expect.arrayContaining(['exact', 'qdrant']));
    for (const store of stores) {
      const all = await store.search(scope, { vector, limit: 1_000 }, signal);
      expect(all).toHaveLength(DOCUMENTS * FRAGMENTS);
      for (const [place, filter] of asked.entries()) {
        const limited = { vector, limit: LIMIT, attachmentIds: chosen[place] };
        const found = await store.search(scope, limited, signal);
        expect({ code: store.code, found }).toEqual({
          code: store.code,
          found: afterwards(all, filter),
        });
      }
    }
    const all = await keywords.search(scope, 'red boats', 1_000);
    expect(all).toHaveLength(DOCUMENTS * FRAGMENTS);
    for (const [place, filter] of asked.entries()) {
      const options = { attachmentIds: chosen[place] };
      const hits = await keywords.search(scope, 'red boats', LIMIT, options);
      expect(hits).toEqual(afterwards(all, filter));
    }
    expect(standIn.wrong).toEqual([]);
  }
});
