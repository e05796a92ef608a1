// Searches one base of a build of Plinth, round by round, as the parent process (search.mjs) asks for it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { documents, questions } from './corpus.mjs';

const [dist, simulatorUrl, count] = [
  resolve(process.argv[2]),
  process.argv[3],
  Number(process.argv[4]),
];
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const { createApp } = await load('src/app.js');
const { Database, inTenant } = await load('src/platform/database/index.js');
const { loadConfig } = await load('src/platform/config/index.js');
const { FragmentService, KeywordIndex } = await load('src/fragment/index.js');
const { KnowledgeService } = await load('src/knowledge/index.js');
const { RetrievalService } = await load('src/retrieval/index.js');
const { VectorStores } = await load('src/vector-store/index.js');
const { embed } = await load('simulator/retrieval/embedding.js');

const TENANT = '000000';
const DIMENSION = 384;
const PARAGRAPHS = 100;
const QUESTIONS = 50;
const PASSWORD = 'a-password-of-the-bench';
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';
const signal = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const given = ['DATABASE_URL', 'QDRANT_URL'].filter((name) => process.env[name]);
const app = await createApp(
  loadConfig({
    PORT: '0',
    DATA_DIR: folder,
    DEMO: 'off',
    LOG_LEVEL: 'warn',
    ADMIN_PASSWORD: PASSWORD,
    SECRET_KEY: 'a-secret-key-of-the-bench-with-32-characters',
    ALLOW_PRIVATE_MODEL_HOSTS: '*',
    EXACT_VECTOR_MEMORY_MB: '1024',
    ...Object.fromEntries(given.map((name) => [name, process.env[name]])),
  }),
);
await app.listen(0, '127.0.0.1');
const service = (type) => app.get(type, { strict: false });

const knowledgeId = await makeBase();
const texts = documents(Math.ceil(count / PARAGRAPHS), PARAGRAPHS);
const [knowledge] = await inTenant(TENANT, () =>
  service(KnowledgeService).ofTenant(TENANT, [knowledgeId]),
);
const store = service(VectorStores).default();
const seeding = await inTenant(TENANT, seed);
const asked = questions(texts, QUESTIONS);
const caller = await inTenant(TENANT, callerOfTenant);
const search = (enableHybrid) => (query) =>
  service(RetrievalService).retrieve({
    caller,
    knowledge,
    query,
    overrides: { enableHybrid },
    signal,
  });
const ways = {
  vector: search(false),
  keyword: (query) =>
    service(KeywordIndex).search({ tenantId: TENANT, knowledgeId }, query, 10, { signal }),
  hybrid: search(true),
};

process.on('message', (message) => {
  if (message === 'round') {
    void inTenant(TENANT, round).then((times) => process.send({ times }));
  } else {
    void app.close().then(() => {
      rmSync(folder, { recursive: true, force: true });
      process.exit(0);
    });
  }
});
process.send({ ready: { store: store.code, ...seeding } });

async function round() {
  const times = { vector: [], keyword: [], hybrid: [] };
  for (const query of asked) {
    for (const [way, run] of Object.entries(ways)) {
      const began = performance.now();
      await run(query);
      times[way].push(performance.now() - began);
    }
  }
  return times;
}

/** A base with a model, as an administrator makes them. */
async function makeBase() {
  const { port } = app.getHttpServer().address();
  const headers = { clientid: CLIENT, 'content-type': 'application/json' };
  const call = async (method, path, body) => {
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const envelope = await (await fetch(`http://127.0.0.1:${port}${path}`, sent)).json();
    if (envelope.code !== 200) throw new Error(`${method} ${path}: ${envelope.msg}`);
    return envelope;
  };
  const login = {
    tenantId: TENANT,
    username: 'admin',
    password: PASSWORD,
    clientId: CLIENT,
    grantType: 'password',
  };
  const { data } = await call('POST', '/auth/login', login);
  headers.authorization = `Bearer ${data.access_token}`;
  await call('POST', '/system/provider', { providerName: 'Simulator', providerCode: 'custom_api' });
  const modelName = `sim-embed-${DIMENSION}`;
  const model = {
    providerCode: 'custom_api',
    category: 'vector',
    modelName,
    modelDimension: DIMENSION,
  };
  await call('POST', '/system/model', { ...model, apiHost: `${simulatorUrl}/v1`, apiKey: 'key' });
  await call('POST', '/system/info', {
    name: 'Bench',
    embeddingModel: modelName,
    similarityThreshold: 0,
  });
  return (await call('GET', '/system/info/list')).rows[0].id;
}

/** The administrator. What was resolved at the revision is used again, as for the requests of users. */
async function callerOfTenant() {
  const [row] = await service(Database).query(
    `SELECT tenant_id AS "tenantId", tenant.revision, user_account.id AS "userId"
       FROM tenant JOIN user_account USING (tenant_id) WHERE tenant_id = $1 ORDER BY user_account.id LIMIT 1`,
    [TENANT],
  );
  return { ...row, origin: 'rest' };
}

/** Stores fragments, words and vectors as a parsing does, without files and without the embedding service. */
async function seed() {
  const [database, fragments, keywords] = [Database, FragmentService, KeywordIndex].map(service);
  const began = performance.now();
  const memory = [];
  for (const [number, { name, text }] of texts.entries()) {
    const parts = text.split('\n\n');
    const docId = `bench${number}`;
    const [{ id: attachmentId }] = await database.query(
      `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size, status, fragment_count)
       VALUES ($1, $2, $3, $4, $5, '.txt', 1, 2, $6) RETURNING id`,
      [TENANT, knowledgeId, docId, docId.padEnd(64, 'x'), name, parts.length],
    );
    const ids = await fragments.reserveIds(parts.length);
    const analysed = await keywords.analyse(parts);
    const made = parts.map((content, idx) => ({
      ...{ id: ids[idx], idx, content, headings: [], start: 0, end: content.length },
      analysed: analysed[idx],
    }));
    const scope = { tenantId: TENANT, knowledgeId };
    const entries = made.map(({ id: fragmentId, content }) => ({
      ...{ fragmentId, attachmentId },
      vector: Float32Array.from(embed(content, DIMENSION)),
    }));
    await store.upsert(scope, entries, signal);
    await database.transaction(() => fragments.replaceAll({ ...scope, attachmentId, docId }, made));
    const tenths = Math.floor(((number + 1) * 10) / texts.length);
    while (memory.length < tenths) memory.push(process.memoryUsage.rss() / 1e6);
  }
  const seconds = (performance.now() - began) / 1_000;
  return {
    fragments: texts.length * PARAGRAPHS,
    seconds,
    memoryMb: memory,
  };
}
