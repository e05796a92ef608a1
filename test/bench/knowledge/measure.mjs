// Measures one store (DATABASE_URL, or the embedded one) in this process and prints the numbers as one JSON line.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../../dist/src/app.js';
import { inTenant } from '../../../dist/src/platform/database/index.js';
import { loadConfig } from '../../../dist/src/platform/config/index.js';
import { KeywordIndex } from '../../../dist/src/fragment/index.js';
import { KnowledgeService } from '../../../dist/src/knowledge/index.js';
import { RetrievalService } from '../../../dist/src/retrieval/index.js';
import { documents, questions } from './corpus.mjs';

const [simulatorUrl, documentCount] = [process.argv[2], Number(process.argv[3])];
const TENANT = '000000';
const PARAGRAPHS = 10;
const DIMENSION = 384;
const QUESTIONS = 100;
const FILES_A_REQUEST = 20;
const PASSWORD = 'a-password-of-the-bench';
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';

const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const app = await createApp(
  loadConfig({
    PORT: '0',
    DATA_DIR: folder,
    DEMO: 'off',
    LOG_LEVEL: 'warn',
    ADMIN_PASSWORD: PASSWORD,
    SECRET_KEY: 'a-secret-key-of-the-bench-with-32-characters',
    ALLOW_PRIVATE_MODEL_HOSTS: '*',
    ...(process.env.DATABASE_URL && { DATABASE_URL: process.env.DATABASE_URL }),
    ...(process.env.QDRANT_URL && { QDRANT_URL: process.env.QDRANT_URL }),
  }),
);
try {
  await app.listen(0, '127.0.0.1');
  console.log(JSON.stringify(await measured()));
} finally {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
}

async function measured() {
  const api = await signedIn();
  const knowledgeId = await knowledgeBase(api);
  const texts = documents(documentCount, PARAGRAPHS);
  const ingestion = await ingest(api, knowledgeId, texts);
  const search = () => retrieval(knowledgeId, questions(texts, QUESTIONS));
  return { ingestion, retrieval: await inTenant(TENANT, search) };
}

async function signedIn() {
  const { port } = app.getHttpServer().address();
  const origin = `http://127.0.0.1:${port}`;
  const headers = { clientid: CLIENT };
  const call = async (method, path, body) => {
    const form = body instanceof FormData;
    const answer = await fetch(origin + path, {
      method,
      headers: { ...headers, ...(body && !form && { 'content-type': 'application/json' }) },
      ...(body && { body: form ? body : JSON.stringify(body) }),
    });
    const envelope = await answer.json();
    if (envelope.code !== 200) throw new Error(`${method} ${path}: ${envelope.msg}`);
    return envelope;
  };
  const { data } = await call('POST', '/auth/login', {
    tenantId: TENANT,
    username: 'admin',
    password: PASSWORD,
    clientId: CLIENT,
    grantType: 'password',
  });
  headers.authorization = `Bearer ${data.access_token}`;
  return call;
}

async function knowledgeBase(api) {
  const provider = { providerName: 'Simulator', providerCode: 'custom_api' };
  await api('POST', '/system/provider', provider);
  const modelName = `sim-embed-${DIMENSION}`;
  await api('POST', '/system/model', {
    providerCode: 'custom_api',
    category: 'vector',
    modelName,
    modelDimension: DIMENSION,
    apiHost: `${simulatorUrl}/v1`,
    apiKey: 'key',
  });
  // A paragraph has between 300 and 500 characters, so that each becomes one fragment.
  const settings = { textBlockSize: 500, overlapChar: 0, separator: '\\n\\n' };
  await api('POST', '/system/info', {
    name: 'Bench',
    embeddingModel: modelName,
    similarityThreshold: 0,
    ...settings,
  });
  const { rows } = await api('GET', '/system/info/list');
  return rows[0].id;
}

/** Uploads everything and waits until the last document is parsed, which means stored and searchable. */
async function ingest(api, knowledgeId, texts) {
  const lag = monitorEventLoopDelay({ resolution: 10 });
  const memory = [];
  const sampling = setInterval(() => memory.push(process.memoryUsage.rss() / 1e6), 500);
  lag.enable();
  const began = performance.now();
  for (let start = 0; start < texts.length; start += FILES_A_REQUEST) {
    const form = new FormData();
    form.append('knowledgeId', String(knowledgeId));
    form.append('autoParse', 'true');
    for (const { name, text } of texts.slice(start, start + FILES_A_REQUEST)) {
      form.append('file', new Blob([text]), name);
    }
    await api('POST', '/system/attach/upload', form);
  }
  for (;;) {
    const { rows } = await api('GET', `/system/attach/list?knowledgeId=${knowledgeId}`);
    const failed = rows.find(({ status }) => status === 3);
    if (failed) throw new Error(`${failed.name}: ${failed.remark}`);
    if (rows.length === texts.length && rows.every(({ status }) => status === 2)) {
      const seconds = (performance.now() - began) / 1000;
      lag.disable();
      clearInterval(sampling);
      const fragments = rows.reduce((sum, row) => sum + row.fragmentCount, 0);
      return {
        documents: rows.length,
        fragments,
        seconds,
        aSecond: fragments / seconds,
        memoryMb: {
          half: memory[memory.length >> 1],
          end: memory.at(-1),
          most: Math.max(...memory),
        },
        lagMs: { p99: lag.percentile(99) / 1e6, max: lag.max / 1e6 },
      };
    }
    await sleep(1_000);
  }
}

/** Milliseconds of each way to search, in turns, so that whatever else the machine does meets them alike. */
async function retrieval(knowledgeId, asked) {
  const service = app.get(RetrievalService, { strict: false });
  const keywords = app.get(KeywordIndex, { strict: false });
  const [knowledge] = await app
    .get(KnowledgeService, { strict: false })
    .ofTenant(TENANT, [knowledgeId]);
  const signal = new AbortController().signal;
  const caller = { tenantId: TENANT, revision: 1_000_000 };
  const search = (enableHybrid) => (query) =>
    service.retrieve({ caller, knowledge, query, overrides: { enableHybrid }, signal });
  const ways = {
    vector: search(false),
    keyword: (query) => keywords.search({ tenantId: TENANT, knowledgeId }, query, 10, { signal }),
    hybrid: search(true),
  };
  const times = { vector: [], keyword: [], hybrid: [] };
  // The first round embeds the questions, which is not counted, and warms up what is compiled.
  for (let round = 0; round < 3; round += 1) {
    for (const query of asked) {
      for (const [way, run] of Object.entries(ways)) {
        const began = performance.now();
        await run(query);
        if (round > 0) times[way].push(performance.now() - began);
      }
    }
  }
  return Object.fromEntries(
    Object.entries(times).map(([way, all]) => {
      const sorted = all.sort((a, b) => a - b);
      return [
        way,
        { p50: sorted[sorted.length >> 1], p95: sorted[Math.floor(sorted.length * 0.95)] },
      ];
    }),
  );
}
