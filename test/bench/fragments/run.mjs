// Search in one base that grows to the given sizes, through the service's own code, on the server that DATABASE_URL names
// (and QDRANT_URL as vector store):
//
//     DATABASE_URL=postgres://… npm run bench:fragments -- 10000 100000 1000000
//
// The database is kept, with its folder of files below that of the system for temporary ones, and the next run continues with
// the fragments that it has. Sizes that it exceeds are skipped.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { build } from '../../../scripts/prepare.mjs';
import { watchOthers } from '../chat/contention.mjs';
import { nearestScores, questionsOf, vectorOf, wordsOf } from './corpus.mjs';

const sizes = process.argv.slice(2).map(Number);
if (!process.env.DATABASE_URL || sizes.length === 0 || sizes.some((size) => !(size > 0))) {
  throw new Error('Set DATABASE_URL and name the numbers of fragments, such as 10000 100000.');
}
const TENANT = '000000';
/** Documents that are loaded without text analysis, and those whose ingestion is measured. */
const LOADED = 1_000;
const AT_A_TIME = 4;
const INGESTED = 100;
const INGESTED_DOCUMENTS = 10;
const QUESTIONS = 50;
const ROUNDS = 3;
/** Hits that hybrid search takes from each channel. */
const DEPTH = 150;
const PASSWORD = 'a-password-of-the-bench';
const signal = new AbortController().signal;

await build();
const load = (path) => import(`../../../dist/src/${path}/index.js`);
const { createApp } = await import('../../../dist/src/app.js');
const { Database, inTenant } = await load('platform/database');
const { loadConfig } = await load('platform/config');
const { FragmentService, KeywordIndex } = await load('fragment');
const { KnowledgeService } = await load('knowledge');
const { EmbeddingClient, ModelResolver } = await load('model');
const { RetrievalService } = await load('retrieval');
const { VectorStores } = await load('vector-store');

const { pathname, port } = new URL(process.env.DATABASE_URL);
const folder = join(tmpdir(), `plinth-fragments-${port}-${pathname.slice(1)}`);
const app = await createApp(
  loadConfig({
    PORT: '0',
    DATA_DIR: folder,
    DEMO: 'off',
    LOG_LEVEL: 'warn',
    ADMIN_PASSWORD: PASSWORD,
    SECRET_KEY: 'a-secret-key-of-the-bench-with-32-characters',
    DATABASE_URL: process.env.DATABASE_URL,
    ...(process.env.QDRANT_URL && { QDRANT_URL: process.env.QDRANT_URL }),
  }),
);
const service = (type) => app.get(type, { strict: false });
const database = service(Database);
const store = service(VectorStores).default();
const questionVectors = new Map();
// The model service is left out: its answers would be measured.
service(ModelResolver).resolveEmbeddingOf = () => Promise.resolve({ id: 1 });
service(EmbeddingClient).embed = (_, texts) =>
  Promise.resolve(texts.map((text) => questionVectors.get(text)));

try {
  await app.init();
  await inTenant(TENANT, main);
} finally {
  await app.close();
}

async function main() {
  const scope = { tenantId: TENANT, knowledgeId: await baseOf() };
  let count = await countOf(scope);
  for (const size of sizes) {
    if (count > size) continue;
    const began = performance.now();
    const before = count;
    count = await loadUpTo(size, scope, count);
    const loadSeconds = (performance.now() - began) / 1_000;
    await database.longTransaction(() => database.query('ANALYZE'));
    if (count > before)
      console.log(`${count - before} loaded in ${loadSeconds.toFixed(0)} s without text analysis`);
    const maintenance = performance.now();
    // What a worker does every hour.
    await store.maintain();
    const built = (performance.now() - maintenance) / 1_000;
    await report(scope, count);
    console.log(`  index of the vectors: ${built.toFixed(0)} s`);
    const ingestion = performance.now();
    const ingested = INGESTED * INGESTED_DOCUMENTS;
    for (let at = 0; at < INGESTED_DOCUMENTS; at += 1) {
      count = await storeDocument(scope, count, INGESTED, true);
    }
    const aSecond = ingested / ((performance.now() - ingestion) / 1_000);
    console.log(`  ingestion: ${aSecond.toFixed(0)} fragments a second, with text analysis`);
  }
}

/** Several documents at a time, as several workers store them. */
async function loadUpTo(size, scope, count) {
  for (let first = count; first < size; first += LOADED * AT_A_TIME) {
    const starts = Array.from({ length: AT_A_TIME }, (_, at) => first + at * LOADED);
    const due = starts.filter((start) => start < size);
    await Promise.all(
      due.map((start) => storeDocument(scope, start, Math.min(LOADED, size - start))),
    );
  }
  return Math.max(count, size);
}

async function baseOf() {
  const [base] = await database.query(
    "SELECT id FROM knowledge_base WHERE tenant_id = $1 AND name = 'Fragments'",
    [TENANT],
  );
  if (base) return base.id;
  const [{ id }] = await database.query(
    `INSERT INTO knowledge_base (tenant_id, name, embedding_model, similarity_threshold, enable_hybrid, vector_store, language)
     VALUES ($1, 'Fragments', 'bench', 0, 1, $2, 'simple') RETURNING id`,
    [TENANT, store.code],
  );
  return id;
}

async function countOf({ tenantId, knowledgeId }) {
  const [{ count }] = await database.query(
    `SELECT coalesce(sum(fragment_count), 0)::integer AS count FROM attachment
      WHERE tenant_id = $1 AND knowledge_id = $2`,
    [tenantId, knowledgeId],
  );
  return count;
}

/** Stores one document with the fragments from `first` on, as a parsing does; answers the number of all fragments. */
async function storeDocument(scope, first, count, isAnalysed = false) {
  const [fragments, keywords] = [FragmentService, KeywordIndex].map(service);
  const docId = `bench${first}`;
  const contents = Array.from({ length: count }, (_, at) => wordsOf(first + at));
  const texts = contents.map((words) => words.join(' '));
  const analysed = isAnalysed
    ? await keywords.analyse(texts, { ...scope, language: 'simple' })
    : contents.map(analysisOf);
  const ids = await fragments.reserveIds(count);
  const [{ id: attachmentId }] = await database.query(
    `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size, status, metadata)
     VALUES ($1, $2, $3, $4, $5, '.txt', 1, 2, $6) RETURNING id`,
    [
      ...[scope.tenantId, scope.knowledgeId, docId, docId.padEnd(64, 'x'), `${docId}.txt`],
      { half: Math.floor(first / 1_000) % 2, percent: Math.floor(first / 1_000) % 100 },
    ],
  );
  const made = texts.map((content, idx) => ({
    ...{ id: ids[idx], idx, content, headings: [], start: 0, end: content.length },
    analysed: analysed[idx],
  }));
  const entries = ids.map((fragmentId, at) => ({
    ...{ fragmentId, attachmentId },
    vector: vectorOf(first + at),
  }));
  await store.upsert(scope, entries, signal);
  await database.transaction(async () => {
    await fragments.replaceAll({ ...scope, attachmentId, docId }, made);
    await database.query(
      'UPDATE attachment SET fragment_count = $3 WHERE tenant_id = $1 AND id = $2',
      [scope.tenantId, attachmentId, count],
    );
  });
  return first + count;
}

/** What the text analysis answers for these words. */
function analysisOf(words) {
  const terms = new Map();
  for (const word of words) terms.set(word, (terms.get(word) ?? 0) + 1);
  return { language: 'simple', termCount: words.length, terms };
}

async function report(scope, count) {
  const questions = questionsOf(QUESTIONS, count);
  for (const { text, vector } of questions) questionVectors.set(text, vector);
  const [knowledge] = await service(KnowledgeService).ofTenant(TENANT, [scope.knowledgeId]);
  const [{ userId, revision }] = await database.query(
    `SELECT tenant.revision, user_account.id AS "userId"
       FROM tenant JOIN user_account USING (tenant_id) WHERE tenant_id = $1 ORDER BY user_account.id LIMIT 1`,
    [TENANT],
  );
  const permissions = new Set(['*:*:*']);
  const caller = { tenantId: TENANT, revision, userId, origin: 'rest', permissions };
  const retrieve = (enableHybrid, filter) => (query) =>
    service(RetrievalService).retrieve({
      ...{ caller, knowledge, query, filter, signal },
      overrides: { enableHybrid },
    });
  const ways = {
    vector: retrieve(false),
    keyword: (query) => service(KeywordIndex).search(scope, query, DEPTH, { signal }),
    hybrid: retrieve(true),
    'half of the documents': retrieve(true, { key: 'half', op: 'eq', value: 0 }),
    'a hundredth of them': retrieve(true, { key: 'percent', op: 'eq', value: 0 }),
  };
  console.log(`\n${count} fragments on ${store.code}`);
  for (const [way, run] of Object.entries(ways)) {
    const times = [];
    const others = watchOthers();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    for (let round = 0; round < ROUNDS; round += 1) {
      // The first round reads what is on the disk.
      if (round === 1) delay.enable();
      for (const { text } of questions) {
        const began = performance.now();
        await run(text);
        if (round > 0) times.push(performance.now() - began);
      }
    }
    const sorted = times.sort((a, b) => a - b);
    const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.floor(sorted.length * share)]);
    delay.disable();
    console.log(
      `  ${way.padEnd(22)} p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms; event loop ${(delay.percentile(99) / 1e6).toFixed(1)} ms at p99, ${(delay.max / 1e6).toFixed(1)} ms at most; others ${others().toFixed(0)} %`,
    );
  }
  await reportRecall(scope, questions, count);
  await reportSize();
}

/** Share of the nearest that the store finds, against comparing with every vector. */
async function reportRecall(scope, questions, count) {
  const vectors = questions.slice(0, QUESTIONS / 2).map(({ vector }) => vector);
  const exact = nearestScores(vectors, count, DEPTH);
  for (const limit of [10, DEPTH]) {
    let found = 0;
    for (const [at, vector] of vectors.entries()) {
      const least = exact[at][limit - 1] - 1e-5;
      const hits = await store.search(scope, { vector, limit: DEPTH }, signal);
      found += hits.slice(0, limit).filter(({ score }) => score >= least).length;
    }
    console.log(`  recall of the nearest ${limit}: ${(found / limit / vectors.length).toFixed(3)}`);
  }
}

async function reportSize() {
  const rows = await database.query(
    `SELECT relname AS name, pg_table_size(oid) AS rows, pg_indexes_size(oid) AS indexes FROM pg_class
      WHERE relname IN ('fragment', 'fragment_pgvector', 'keyword_posting', 'keyword_document') ORDER BY relname`,
  );
  const megabytes = (bytes) => (bytes / 1e6).toFixed(0);
  for (const { name, rows: table, indexes } of rows) {
    console.log(`  ${name}: ${megabytes(table)} MB, indexes ${megabytes(indexes)} MB`);
  }
  console.log(`  memory of this process: ${megabytes(process.memoryUsage.rss())} MB`);
}
