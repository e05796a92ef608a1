import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { TEST_SET } from '../../../src/retrieval/test-set/test-set.service.js';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import {
  attachmentsOf,
  createKnowledge,
  fragmentsOf,
  settled,
  upload,
} from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

interface Query {
  id: number;
  queryId: string;
  query: string;
  expected: { docId?: string; fid?: string; relevance: number; sourceName: string | null }[];
}

interface Metrics {
  ndcg: number;
  recall: number;
  mrr: number;
}

interface Run extends Metrics {
  id: number;
  k: number;
  queryCount: number;
  settings: Record<string, unknown>;
  difference: Metrics | null;
  previous: Run | null;
  results?: {
    queryId: string;
    query: string;
    ndcg: number;
    ndcgBefore: number | null;
    places: number[];
  }[];
}

const DIMENSION = 256;

const documents: readonly (readonly [string, string])[] = [
  ['warranty.txt', 'The warranty of every laptop lasts two years from the day of purchase.'],
  ['returns.txt', 'Goods can be returned within thirty days if the package was not opened.'],
  ['shipping.txt', 'Parcels are shipped to Norway and Iceland on working days by courier.'],
  ['payment.md', 'Invoices are paid within fourteen days by bank transfer to account ZX-4711.'],
];

describe('retrieval test sets', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let reader: Session;
  let knowledgeId: number;
  let docIds: Map<string, string>;
  const path = (rest: string): string => `/system/info/${knowledgeId}/${rest}`;

  overrideConstants(TEST_SET, { maxQueries: 4 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    const permissions = ['system:info:query', 'system:info:edit'];
    const role = await makeRole(admin, 'measurer', permissions);
    reader = (await makeUser(plinth, admin, 'reader', [role])).session;
    await createProvider(admin, 'custom_api');
    const model = { apiHost: `${simulator.url}/v1`, apiKey: 'key', category: 'vector' };
    const fields = { ...model, modelDimension: DIMENSION };
    await createModel(admin, { ...fields, modelName: `sim-embed-${DIMENSION}` });
    knowledgeId = await createKnowledge(admin, {
      name: 'Measured',
      share: 1,
      embeddingModel: `sim-embed-${DIMENSION}`,
    });
    await upload(admin, knowledgeId, documents);
    for (const row of await settled(admin, knowledgeId))
      expect([row.remark, row.status]).toEqual([null, 2]);
    const rows = await attachmentsOf(admin, knowledgeId);
    docIds = new Map(rows.map(({ name, docId }) => [name, docId]));
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  const storedFiles = (): string[] =>
    readdirSync(plinth.dataDir, { recursive: true, encoding: 'utf8' }).sort();

  const docId = (name: string): string => docIds.get(name) ?? '';

  async function listed(query = ''): Promise<Query[]> {
    return (await admin.get<Query[]>(path(`testset/list${query}`))).rows;
  }

  async function evaluate(body: object = {}): Promise<Answer<Run>> {
    return admin.post<Run>(path('evaluate'), body);
  }

  async function exported(part: string): Promise<string> {
    const { text, headers } = await admin.raw('GET', path(`testset/export?part=${part}`));
    expect(headers['content-type']).toMatch(/^text\/plain/);
    return text;
  }

  it('say what to do when they are empty', async () => {
    expect(await evaluate()).toMatchObject({
      code: 400,
      msg: expect.stringMatching(/empty.*import/),
    });
    expect(await listed()).toEqual([]);
  });

  it('hold questions with the documents and fragments that they should find', async () => {
    const [fragment] = await fragmentsOf(admin, docId('returns.txt'));
    const created = await admin.post<Query>(path('testset'), {
      query: 'How long is the laptop warranty?',
      expected: [
        { docId: docId('warranty.txt'), relevance: 3 },
        { docId: docId('warranty.txt') },
        { fid: fragment?.fid },
      ],
    });
    expect(created).toMatchObject({
      code: 200,
      data: {
        query: 'How long is the laptop warranty?',
        expected: [
          { docId: docId('warranty.txt'), relevance: 3, sourceName: 'warranty.txt' },
          { fid: fragment?.fid, relevance: 1, sourceName: 'returns.txt' },
        ],
      },
    });
    expect(created.data.queryId).toMatch(/^[a-z0-9]{10}$/);
    const { id } = created.data;
    const change = { id, query: 'Warranty?', expected: [{ docId: docId('warranty.txt') }] };
    expect((await admin.put<Query>(path('testset'), change)).data).toMatchObject({
      query: 'Warranty?',
      expected: [{ docId: docId('warranty.txt'), relevance: 1 }],
    });
    expect(await listed('?query=warr')).toHaveLength(1);
    expect(await listed('?query=other')).toEqual([]);
    expect((await admin.delete(path(`testset/${id}`))).code).toBe(200);
    expect((await admin.delete(path(`testset/${id}`))).code).toBe(404);
    expect((await admin.put(path('testset'), change)).code).toBe(404);
  });

  it('refuse what the knowledge base does not hold, and a name that is taken', async () => {
    const expected = [{ docId: docId('warranty.txt') }];
    const wrong = [
      { query: 'x', expected: [{ docId: 'nothing' }] },
      { query: 'x', expected: [{ fid: docId('warranty.txt') }] },
      { query: 'x', expected: [{ docId: docId('warranty.txt'), fid: 'both' }] },
      { query: 'x', expected: [{ relevance: 1 }] },
      { query: 'x', expected: [{ docId: docId('warranty.txt'), relevance: 4 }] },
      { query: 'x', expected: [] },
      { query: 'x', expected: [null] },
      { query: 'x', expected: docId('warranty.txt') },
      { query: 'x', expected, queryId: 'a\tb' },
      { query: ' ', expected },
    ];
    for (const body of wrong) {
      expect([body, (await admin.post(path('testset'), body)).code]).toEqual([body, 400]);
    }
    const body = { query: 'x', queryId: 'taken', expected };
    const { data } = await admin.post<Query>(path('testset'), body);
    expect((await admin.post(path('testset'), body)).code).toBe(409);
    await admin.delete(path(`testset/${data.id}`));
    expect(await listed()).toEqual([]);
  });

  const queries = [
    '{"_id": "w", "text": "How long does the warranty of a laptop last?"}',
    '{"_id": "r", "text": "Goods returned within thirty days"}',
    '{"_id": "p", "text": "ZX-4711"}',
    '{"_id": "none", "text": "Nothing is expected of this one"}',
  ].join('\n');
  const qrels = [
    'query-id\tcorpus-id\tscore',
    'w\twarranty\t2',
    'w\treturns.txt\t1',
    'w\tpayment\t0',
    'r\treturns\t1',
    'r\tno-such-document\t1',
    'p\tpayment\t3',
    'other\twarranty\t1',
  ].join('\n');

  it('are imported in the layout of BEIR, as JSON and as files, and exported so', async () => {
    const first = await admin.post(path('testset/import'), { queries, qrels });
    expect(first.data).toEqual({ added: 3, replaced: 0, skipped: 1, unknown: 1 });
    expect(first.msg).toContain('no-such-document');

    const files = storedFiles();
    const form = new FormData();
    form.append('file', new Blob([queries.replace('ZX-4711', 'Account ZX-4711')]), 'queries.jsonl');
    form.append('file', new Blob([qrels]), 'test.tsv');
    expect(await admin.upload(path('testset/import'), form)).toMatchObject({
      code: 200,
      data: { added: 0, replaced: 3 },
    });
    expect(storedFiles()).toEqual(files);
    const rows = await listed();
    expect(rows.map(({ queryId, query }) => [queryId, query])).toContainEqual([
      'p',
      'Account ZX-4711',
    ]);
    const ids = rows.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect(rows.find(({ queryId }) => queryId === 'w')?.expected).toEqual([
      { docId: docId('warranty.txt'), relevance: 2, sourceName: 'warranty.txt' },
      { docId: docId('returns.txt'), relevance: 1, sourceName: 'returns.txt' },
    ]);

    const again = { queries: await exported('queries'), qrels: await exported('qrels') };
    expect(again.qrels).toContain(`w\t${docId('warranty.txt')}\t2\n`);
    expect((await admin.post(path('testset/import'), again)).data).toEqual({
      added: 0,
      replaced: 3,
      skipped: 0,
      unknown: 0,
    });
    expect((await listed()).map(({ expected }) => expected)).toEqual(
      rows.map(({ expected }) => expected),
    );
  });

  it('store nothing of an import that is malformed, incomplete or too large', async () => {
    const before = await listed();
    const more = ['x1', 'x2'].map((id) => `{"_id": "${id}", "text": "More"}`).join('\n');
    const judged = ['x1', 'x2'].map((id) => `${id}\twarranty\t1`).join('\n');
    const wrong = [
      { queries },
      { qrels },
      { queries: `${queries}\n{"_id": 1`, qrels },
      { queries, qrels: `${qrels}\nw warranty 1` },
      { queries: more, qrels: judged },
    ];
    for (const body of wrong) {
      expect((await admin.post(path('testset/import'), body)).code).toBe(400);
    }
    expect(await listed()).toEqual(before);
  });

  it('measure the retrieval with given settings, and against the run before', async () => {
    const vector = await evaluate({ topK: 4, threshold: 0, k: 3 });
    expect(vector.code).toBe(200);
    expect(vector.data).toMatchObject({
      k: 3,
      queryCount: 3,
      difference: null,
      previous: null,
      settings: { topK: 4, enableHybrid: false, embeddingModel: `sim-embed-${DIMENSION}` },
    });
    const hybrid = await evaluate({ topK: 4, threshold: 0, enableHybrid: true, hybridAlpha: 1 });
    const { data } = hybrid;
    expect(data.previous).toMatchObject({ id: vector.data.id, ndcg: vector.data.ndcg });
    expect(data.difference?.ndcg).toBeCloseTo(data.ndcg - vector.data.ndcg, 12);
    const results = new Map(data.results?.map((one) => [one.queryId, one]));
    expect([...results.keys()].sort()).toEqual(['p', 'r', 'w']);
    expect(results.get('p')).toMatchObject({ query: 'Account ZX-4711', ndcg: 1, places: [1] });
    expect(results.get('w')?.places[0]).toBe(1);
    const before = vector.data.results?.find(({ queryId }) => queryId === 'p')?.ndcg;
    expect(results.get('p')?.ndcgBefore).toBe(before);
    const ofQueries = [...results.values()].map(({ ndcg }) => ndcg);
    expect(data.ndcg).toBeCloseTo(ofQueries.reduce((sum, one) => sum + one, 0) / 3, 12);
    expect(data.mrr).toBe(1);
  });

  it('say so when fewer fragments are retrieved than places count', async () => {
    const { code, msg, data } = await evaluate({ topK: 1 });
    expect([code, data.settings['topK'], data.k]).toEqual([200, 1, 10]);
    expect(msg).toMatch(/Only 1 fragments/);
  });

  it('list their runs, newest first, with the results where they are asked for', async () => {
    const { rows, total } = await admin.get<Run[]>(path('evaluation/list?pageSize=2'));
    expect([rows.length, total]).toEqual([2, 3]);
    expect(rows[0]?.id).toBeGreaterThan(rows[1]?.id ?? 0);
    expect(rows[0]?.results).toBeUndefined();
    const full = await admin.get<Run[]>(path('evaluation/list?withResults=true'));
    expect(full.rows.map(({ results }) => results?.length)).toEqual([3, 3, 3]);
  });

  it('take the documents and fragments of their own knowledge base alone', async () => {
    const other = await createKnowledge(admin, { name: 'Other' });
    const body = { query: 'x', expected: [{ docId: docId('warranty.txt') }] };
    const answer = await admin.post(`/system/info/${other}/testset`, body);
    expect(answer).toMatchObject({ code: 400, data: { unknown: [docId('warranty.txt')] } });
    const { data } = await admin.post(`/system/info/${other}/testset/import`, { queries, qrels });
    expect(data).toEqual({ added: 0, replaced: 0, skipped: 4, unknown: 5 });
    const [query] = await listed();
    expect((await admin.delete(`/system/info/${other}/testset/${query?.id ?? 0}`)).code).toBe(404);
  });

  it('say what went other than asked', async () => {
    const { code, msg, data } = await evaluate({
      topK: 10,
      enableRerank: true,
      rerankModel: 'gone',
    });
    expect([code, data.queryCount]).toEqual([200, 3]);
    expect(msg).toMatch(/^In 3 queries: .*rerank/i);
  });

  it('store nothing of a run that cannot be finished', async () => {
    const base = await createKnowledge(admin, { name: 'Without a model' });
    await upload(admin, base, documents, false);
    await admin.post(`/system/info/${base}/testset/import`, { queries, qrels });
    const failed = await admin.post(`/system/info/${base}/evaluate`, {});
    expect(failed).toMatchObject({ code: 400, msg: expect.stringContaining('embedding model') });
    expect(await admin.get(`/system/info/${base}/evaluation/list`)).toMatchObject({ total: 0 });
  });

  it('stop asking the models when the client leaves', async () => {
    const modelName = 'sim-embed-256--first-600000';
    const fields = { apiHost: `${simulator.url}/v1`, apiKey: 'key', modelDimension: DIMENSION };
    await createModel(admin, { ...fields, category: 'vector', modelName });
    const base = await createKnowledge(admin, { name: 'Slow', embeddingModel: modelName });
    await upload(admin, base, documents, false);
    await admin.post(`/system/info/${base}/testset/import`, { queries, qrels });
    const leaving = new AbortController();
    const left = request(`${admin.url}/system/info/${base}/evaluate`, {
      method: 'POST',
      headers: { ...admin.headers, 'content-type': 'application/json' },
      body: '{}',
      signal: leaving.signal,
    });
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 3,
    );
    leaving.abort();
    await expect(left).rejects.toThrow();
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect(await admin.get(`/system/info/${base}/evaluation/list`)).toMatchObject({ total: 0 });
  });

  it('are read by those who may read the base, and changed by its owner', async () => {
    const [query] = await listed();
    const expected = [{ docId: docId('warranty.txt') }];
    expect((await reader.get(path('testset/list'))).code).toBe(200);
    expect((await reader.get(path('evaluation/list'))).code).toBe(200);
    expect((await reader.post(path('testset'), { query: 'x', expected })).code).toBe(403);
    expect((await reader.put(path('testset'), { id: query?.id, query: 'x' })).code).toBe(403);
    expect((await reader.delete(path(`testset/${query?.id ?? 0}`))).code).toBe(403);
    expect((await reader.post(path('testset/import'), { queries, qrels })).code).toBe(403);
    expect((await reader.post(path('evaluate'), {})).code).toBe(403);
    const own = await createKnowledge(admin, { name: 'Private', share: 0 });
    for (const rest of ['testset/list', 'testset/export?part=qrels', 'evaluation/list']) {
      expect((await reader.get(`/system/info/${own}/${rest}`)).code).toBe(404);
    }
  });

  it('go away with their knowledge base', async () => {
    expect((await admin.delete(`/system/info/${knowledgeId}`)).code).toBe(200);
    expect((await admin.get(path('testset/list'))).code).toBe(404);
  });
});
