import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { KnowledgeService } from '../../../src/knowledge/index.js';
import { RetrievalService } from '../../../src/retrieval/index.js';
import { DEPTH } from '../../../src/retrieval/retrieval.js';
import { VectorStores } from '../../../src/vector-store/index.js';
import type { VectorStore } from '../../../src/vector-store/index.js';
import { embed } from '../../../simulator/retrieval/embedding.js';
import { systemCaller } from '../../../src/platform/access/index.js';
import { byTest } from '../../support/asked-by-test.js';
import { createKnowledge, fragmentsOf, settled, upload } from '../../support/knowledge.js';
import type { AttachmentRow } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';
import { statementsOf } from '../../support/statement-recorder.js';

interface Found {
  id: string;
  docId: string;
  content: string;
  score: number;
  rawScore?: number;
  originalIndex?: number;
  sourceName: string;
  knowledgeId: number;
  explain?: {
    vector: { rank: number; score: number } | null;
    keyword: { rank: number; score: number; terms: string[]; words: string[] } | null;
    fusion: { rank: number; score: number; alpha: number } | null;
    rerank: { rank: number; score: number } | null;
    dropped: string | null;
  };
}

interface Channel {
  hits: number;
  failure?: string;
}

type Retrieval = Answer<Found[]> & {
  belowThreshold: { count: number; bestScore: number | null };
  channels: { vector: Channel; keyword: Channel | null };
  scale: string;
  rerank: string;
  notices: string[];
  dropped?: Found[];
  settings?: Record<string, unknown>;
};

const DIMENSION = 256;
const TENANT = '000000';
const NEVER = new AbortController().signal;

const documents: readonly (readonly [string, string])[] = [
  ['warranty.txt', 'The warranty of every laptop lasts two years from the day of purchase.'],
  ['returns.txt', 'Goods can be returned within thirty days if the package was not opened.'],
  ['shipping.txt', 'Parcels are shipped to Norway and Iceland on working days by courier.'],
  ['payment.txt', 'Invoices are paid within fourteen days by bank transfer to account ZX-4711.'],
  ['保修.txt', '所有笔记本电脑的保修期为两年，自购买之日起计算。'],
];

describe('retrieval', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let knowledgeId: number;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    const model = { apiHost, apiKey: 'key' };
    const vector = { ...model, category: 'vector', modelDimension: DIMENSION };
    await createModel(admin, { ...vector, modelName: `sim-embed-${DIMENSION}` });
    await createModel(admin, { ...model, category: 'rerank', modelName: 'sim-rerank' });
    await createModel(admin, { ...model, category: 'rerank', modelName: 'sim-rerank--status-500' });
    knowledgeId = await createKnowledge(admin, {
      name: 'Shop',
      embeddingModel: `sim-embed-${DIMENSION}`,
      retrieveLimit: 2,
    });
    await upload(admin, knowledgeId, documents);
    for (const row of await settled(admin, knowledgeId))
      expect([row.remark, row.status]).toEqual([null, 2]);
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  async function retrieve(
    query: string,
    more: Record<string, unknown> = {},
    session = admin,
  ): Promise<Retrieval> {
    const body = { knowledgeId, query, ...more };
    return (await session.post<Found[]>('/system/fragment/retrieval', body)) as Retrieval;
  }

  const names = ({ data }: Retrieval): string[] => data.map(({ sourceName }) => sourceName);

  async function save(fields: Record<string, unknown>): Promise<void> {
    const { data } = await admin.get<Record<string, unknown>>(`/system/info/${knowledgeId}`);
    const answer = await admin.put('/system/info', { ...data, ...fields });
    expect(answer.code).toBe(200);
  }

  it('answers the nearest fragments with their document and cosine similarity', async () => {
    const found = await retrieve('How long does the warranty of a laptop last?');
    expect([found.code, found.scale, found.rerank]).toEqual([200, 'cosine', 'off']);
    expect(found.data[0]).toMatchObject({ sourceName: 'warranty.txt', knowledgeId });
    expect(found.data[0]?.content).toContain('two years');
    expect(found.data[0]?.score).toBeGreaterThan(found.data[1]?.score ?? 1);
    expect(found.data[0]?.explain).toBeUndefined();
    expect(found.channels.keyword).toBeNull();
  });

  it('takes topK and threshold from the request, else what is saved', async () => {
    expect((await retrieve('warranty')).data).toHaveLength(2);
    expect((await retrieve('warranty', { topK: 4 })).data).toHaveLength(4);
    expect((await retrieve('warranty', { topK: 4, threshold: 0.99 })).data).toEqual([]);
    await save({ similarityThreshold: 0.99 });
    expect((await retrieve('warranty')).data).toEqual([]);
    expect((await retrieve('warranty', { threshold: 0 })).data).toHaveLength(2);
    await save({ similarityThreshold: 0 });
  });

  it('says how many fragments the threshold left out, and the best score among them', async () => {
    const all = await retrieve('laptop warranty', { topK: 5, threshold: 0 });
    expect([all.msg, all.belowThreshold]).toEqual(['Done.', { count: 0, bestScore: null }]);
    const [best, second] = all.data.map(({ score }) => score);

    const none = await retrieve('laptop warranty', { topK: 1, threshold: 0.99 });
    expect([none.data, none.channels.vector.hits]).toEqual([[], 0]);
    expect(none.belowThreshold).toEqual({ count: 5, bestScore: best });
    expect(none.msg).toContain('below the similarity threshold 0.99. Lower the threshold');

    const threshold = ((best ?? 0) + (second ?? 0)) / 2;
    const one = await retrieve('laptop warranty', { topK: 5, threshold });
    expect([one.data.length, one.channels.vector.hits, one.msg]).toEqual([1, 1, 'Done.']);
    expect(one.belowThreshold).toEqual({ count: 4, bestScore: second });

    // Words find it as well, so the threshold leaves out the four others.
    const hybrid = await retrieve('laptop warranty', { enableHybrid: true, threshold: 0.99 });
    expect(names(hybrid)).toEqual(['warranty.txt']);
    expect(hybrid.belowThreshold).toEqual({ count: 4, bestScore: second });
  });

  it('finds the same first fragments whether few or many are asked for', async () => {
    const query = 'Is the laptop in the package paid within days?';
    const few = await retrieve(query, { enableHybrid: true, topK: 1 });
    const many = await retrieve(query, { enableHybrid: true, topK: 5 });
    expect(few.channels.keyword?.hits).toBe(many.channels.keyword?.hits);
    expect(few.channels.keyword?.hits).toBeGreaterThan(1);
    expect(many.data[0]).toEqual(few.data[0]);
  });

  it('fuses both channels by rank, and a number that only words can find comes first', async () => {
    const found = await retrieve('ZX-4711', { enableHybrid: true, hybridAlpha: 0.9, topK: 5 });
    expect(names(found)[0]).toBe('payment.txt');
    expect(found.scale).toBe('fusion');
    expect(found.channels).toMatchObject({ vector: { hits: 5 }, keyword: { hits: 1 } });
    expect(found.data[0]?.score).toBeGreaterThan(0.8);
    expect(found.data[0]?.score).toBeLessThan(1);
  });

  it('reads the fragments of a search in one statement', async () => {
    const [knowledge] = await plinth.app.get(KnowledgeService).ofTenant(TENANT, [knowledgeId]);
    if (!knowledge) throw new Error('The base is missing.');
    const service = plinth.app.get(RetrievalService);
    const caller = systemCaller(TENANT, 1_000_000);
    const asked = { caller, knowledge, query: 'laptop warranty', signal: NEVER };
    for (const explain of [false, true]) {
      const request = { ...asked, overrides: { enableHybrid: true }, explain };
      const statements = await statementsOf(() => service.retrieve(request));
      expect(statements.filter((sql) => /\bFROM fragment\b/.test(sql))).toHaveLength(1);
    }
  });

  it('finds Chinese words in the keyword channel', async () => {
    const found = await retrieve('笔记本保修多久', { enableHybrid: true, hybridAlpha: 1 });
    expect(names(found)).toEqual(['保修.txt']);
  });

  describe('of words as people write them', () => {
    const written: readonly (readonly [name: string, text: string])[] = [
      [
        'cafe.txt',
        'Le café de la gare ouvre à sept heures, la majorité des clients arrive plus tard.',
      ],
      ['bao-hanh.txt', 'Thời gian bảo hành của máy in là hai năm kể từ ngày mua.'],
      [
        'strasse.txt',
        'Die Filiale liegt in der Müllerstraße neben dem Größenverzeichnis der Größe.',
      ],
      ['mail.txt', 'Send an e-mail to the help desk before you call anybody.'],
      ['plane.txt', 'The A320neo needs new tyres, the A321 does not.'],
      ['norm.txt', 'Our supplier is certified by ISO-9001 since last spring.'],
      ['part.txt', 'Order the sensor as 6ES7 214-1AG40 from the catalogue.'],
      ['中文.txt', '本机支持 iPhone15 与ＵＴＦ－８编码，重量为5kg。'],
      ['plain.txt', 'Nothing of this kind is here, only words that are filling a page.'],
    ];
    let baseId: number;

    beforeAll(async () => {
      const base = { name: 'Words', embeddingModel: `sim-embed-${DIMENSION}` };
      baseId = await createKnowledge(admin, base);
      await upload(admin, baseId, written);
      for (const row of await settled(admin, baseId))
        expect([row.remark, row.status]).toEqual([null, 2]);
    });

    it.each([
      ['cafe', 'cafe.txt', 'café'],
      ['majorite', 'cafe.txt', 'majorité'],
      ['may in bao hanh', 'bao-hanh.txt', 'bảo'],
      ['Groesse', 'strasse.txt', 'Größe'],
      ['Müllerstrasse', 'strasse.txt', 'Müllerstraße'],
      ['email', 'mail.txt', 'e-mail'],
      ['E mail', 'mail.txt', 'e-mail'],
      ['A-320neo', 'plane.txt', 'A320neo'],
      ['A 320 neo', 'plane.txt', 'A320neo'],
      ['iso9001', 'norm.txt', 'ISO-9001'],
      ['ISO 9001', 'norm.txt', 'ISO-9001'],
      ['6ES72141AG40', 'part.txt', '6ES7'],
      ['iphone 15', '中文.txt', 'iPhone15'],
      ['utf8编码', '中文.txt', 'ＵＴＦ－８'],
      ['5 kg', '中文.txt', '5kg'],
    ])('finds %s in %s, and shows %s', async (query, name, word) => {
      const settings = { enableHybrid: true, hybridAlpha: 1, explain: true };
      const found = await retrieve(query, { knowledgeId: baseId, ...settings });
      expect(names(found)[0]).toBe(name);
      expect(found.data[0]?.explain?.keyword?.words).toContain(word);
      expect(found.data[0]?.content).toContain(word);
    });
  });

  it('explains each place, and what was dropped and why', async () => {
    const found = await retrieve('laptop warranty', {
      enableHybrid: true,
      topK: 2,
      threshold: 0.2,
      explain: true,
    });
    const [first] = found.data;
    expect(first?.explain).toMatchObject({
      vector: { rank: 1 },
      keyword: { rank: 1 },
      fusion: { rank: 1, alpha: 0.5 },
      rerank: null,
      dropped: null,
    });
    expect(first?.explain?.keyword?.terms.length).toBeGreaterThanOrEqual(2);
    expect(first?.score).toBeCloseTo(60 / 61, 6);
    expect(found.dropped?.some(({ explain }) => explain?.dropped?.includes('threshold'))).toBe(
      true,
    );
    expect(found.settings).toMatchObject({ topK: 2, candidates: 2, threshold: 0.2 });
    expect(first?.rawScore).toBe(first?.explain?.vector?.score);
    expect(first?.rawScore).toBeLessThan(1);
    expect(first?.rawScore).not.toBeCloseTo(first?.score ?? 0, 6);
  });

  it('gives the reranker three times as many candidates, and keeps the score before it', async () => {
    const found = await retrieve('How long is the warranty?', {
      topK: 1,
      enableRerank: true,
      rerankModel: 'sim-rerank',
      explain: true,
    });
    expect([found.rerank, found.scale]).toEqual(['applied', 'rerank']);
    expect(found.data).toHaveLength(1);
    expect(found.data[0]?.rawScore).toBe(found.data[0]?.explain?.vector?.score);
    expect(found.data[0]?.rawScore).not.toBe(found.data[0]?.score);
    expect(found.data[0]?.originalIndex).toBeGreaterThanOrEqual(0);
    const call = simulator.requests.find(({ path }) => path.endsWith('/rerank'));
    expect((call?.body as { documents: unknown[] } | undefined)?.documents).toHaveLength(3);
    expect(found.dropped?.map(({ explain }) => explain?.dropped)).toEqual([
      'beyond the first 1',
      'beyond the first 1',
      'beyond the first 3',
      'beyond the first 3',
    ]);
  });

  it('answers the vector score before fusion and reranker, where there is another score', async () => {
    const request = { topK: 2, rerankModel: 'sim-rerank', explain: true };
    const hybrid = { ...request, enableHybrid: true, enableRerank: true };
    const found = await retrieve('How long is the warranty of a laptop?', hybrid);
    expect([found.rerank, found.scale]).toEqual(['applied', 'rerank']);
    for (const { rawScore, explain } of [...found.data, ...(found.dropped ?? [])]) {
      expect(rawScore).toBe(explain?.vector?.score);
      expect(rawScore).not.toBe(explain?.fusion?.score);
    }
    const plain = await retrieve('How long is the warranty of a laptop?', { topK: 2 });
    expect(plain.data.map(({ rawScore }) => rawScore)).toEqual([undefined, undefined]);
  });

  it('cuts to rerankTopN where that is smaller, and applies the saved rerank threshold', async () => {
    await save({ rerankTopN: 1, rerankModel: 'sim-rerank' });
    expect((await retrieve('warranty', { topK: 3, enableRerank: true })).data).toHaveLength(1);
    await save({ rerankScoreThreshold: 1000, rerankTopN: 0 });
    const none = await retrieve('warranty', { topK: 3, enableRerank: true, explain: true });
    expect(none.data).toEqual([]);
    expect(none.dropped?.[0]?.explain?.dropped).toContain('rerank score');
    await save({ rerankScoreThreshold: '' });
  });

  it('keeps the fragments that the reranker leaves out behind the others, and says so', async () => {
    const body = { results: [{ index: 2, relevance_score: 0.4 }] };
    const ask = (more: object = {}): Promise<Retrieval> => {
      simulator.script({ match: { path: '/rerank' }, body });
      const settings = { enableRerank: true, rerankModel: 'sim-rerank', explain: true };
      return retrieve('warranty', { ...settings, topK: 4, ...more });
    };
    const before = names(await retrieve('warranty', { topK: 5 }));
    const found = await ask();
    expect([found.code, found.rerank, found.data.length]).toEqual([200, 'applied', 4]);
    expect(names(found)).toEqual([before[2], before[0], before[1], before[3]]);
    expect(found.data.map(({ score }) => score)).toEqual([0.4, 0.4, 0.4, 0.4]);
    expect(found.data.map(({ originalIndex }) => originalIndex)).toEqual([2, 0, 1, 3]);
    expect(found.data[1]?.explain?.rerank).toBeNull();
    expect(found.data[1]?.rawScore).toBeGreaterThan(found.data[2]?.rawScore ?? 1);
    expect(found.msg).toContain('scored 1 of 5 fragments');
    expect(found.dropped?.map(({ sourceName }) => sourceName)).toEqual([before[4]]);

    await save({ rerankScoreThreshold: 0.1 });
    const above = await ask();
    expect(names(above)).toEqual([before[2]]);
    expect(above.dropped?.[0]?.explain?.dropped).toBe('left out by the rerank model');
    await save({ rerankScoreThreshold: '' });
  });

  it('answers no vector score for what only the words have found', async () => {
    simulator.script({ match: { path: '/embeddings' }, status: 400 });
    const body = { results: [{ index: 1, relevance_score: 0.4 }] };
    simulator.script({ match: { path: '/rerank' }, body });
    const settings = { enableHybrid: true, enableRerank: true, rerankModel: 'sim-rerank', topK: 2 };
    const found = await retrieve('unseen question on goods and laptops', settings);
    expect([found.rerank, found.data.map(({ score }) => score)]).toEqual(['applied', [0.4, 0.4]]);
    expect(found.data.map(({ rawScore }) => rawScore)).toEqual([undefined, undefined]);
  });

  it('falls back to the order before it when the reranker fails, and says so', async () => {
    const plain = await retrieve('warranty', { topK: 2 });
    const found = await retrieve('warranty', {
      topK: 2,
      enableRerank: true,
      rerankModel: 'sim-rerank--status-500',
    });
    expect([found.code, found.rerank]).toEqual([200, 'fallback']);
    expect(found.msg).toContain('Reranking failed');
    expect(found.notices).toEqual([found.msg]);
    expect(plain.notices).toEqual([]);
    expect(names(found)).toEqual(names(plain));
  });

  it('answers the keyword channel alone when the embedding fails, and says so', async () => {
    simulator.script({ match: { path: '/embeddings' }, status: 400 });
    const found = await retrieve('unseen laptop question', { enableHybrid: true });
    expect(found.code).toBe(200);
    expect(found.channels.vector.failure).toBeDefined();
    expect(found.msg).toContain('Vector search failed');
    expect(names(found)).toContain('warranty.txt');
  });

  it('refuses an empty query, an unknown base and wrong numbers with a reason', async () => {
    expect(await retrieve('  ')).toMatchObject({
      code: 400,
      msg: expect.stringContaining('query'),
    });
    expect(await retrieve('x', { knowledgeId: 999_999 })).toMatchObject({ code: 404 });
    expect(await retrieve('x', { topK: 0 })).toMatchObject({ code: 400 });
    expect(await retrieve('x', { hybridAlpha: 1.5 })).toMatchObject({ code: 400 });
  });

  describe('with metadata', () => {
    let base: number;
    const ids = new Map<string, number>();

    async function uploadWith(metadata: unknown, ...files: string[]): Promise<Answer> {
      const form = new FormData();
      form.append('knowledgeId', String(base));
      form.append('autoParse', 'true');
      form.append('metadata', typeof metadata === 'string' ? metadata : JSON.stringify(metadata));
      for (const name of files)
        form.append('file', new Blob([`The ${name} of the harbour.`]), name);
      return admin.upload('/system/attach/upload', form);
    }

    const search = async (filter: unknown, more: object = {}): Promise<string[]> => {
      const given = { knowledgeId: base, topK: 50, filter, ...more };
      const found = await retrieve('harbour', given);
      expect(found.code).toBe(200);
      return names(found).sort();
    };
    const put = (id: number | undefined, metadata: unknown): Promise<Answer> =>
      admin.put(`/system/attach/${id}/metadata`, { metadata });

    beforeAll(async () => {
      base = await createKnowledge(admin, {
        name: 'Harbour',
        embeddingModel: `sim-embed-${DIMENSION}`,
      });
      const sent = { department: 'sales', year: 2024, issued: '2024-05-01', tags: ['a', 'b'] };
      expect((await uploadWith(sent, 'a.txt', 'b.txt')).code).toBe(200);
      expect((await uploadWith({ department: 'law', year: '2024' }, 'c.txt')).code).toBe(200);
      await upload(admin, base, [['d.txt', 'The d.txt of the harbour.']]);
      for (const { id, name } of await settled(admin, base)) ids.set(name, id);
      expect([...ids.keys()].sort()).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
    });

    it('finds fragments of the documents that fit in both channels, before the cut', async () => {
      const law = { key: 'department', op: 'eq', value: 'law' };
      expect(await search(law)).toEqual(['c.txt']);
      for (const hybridAlpha of [0, 0.5, 1]) {
        const hybrid = { enableHybrid: true, hybridAlpha, topK: 1 };
        expect(await search(law, hybrid)).toEqual(['c.txt']);
        expect(await search({ not: { key: 'department', op: 'exists' } }, hybrid)).toEqual([
          'd.txt',
        ]);
      }
      expect(await search({ key: 'year', op: 'gte', value: 2024 })).toEqual(['a.txt', 'b.txt']);
      expect(await search({ key: 'year', op: 'eq', value: '2024' })).toEqual(['c.txt']);
      expect(await search({ key: 'tags', op: 'contains', value: 'b' })).toEqual(['a.txt', 'b.txt']);
      const date = { key: 'issued', op: 'lt', value: '2024-05-01T00:00:01Z' };
      expect(await search({ and: [date, { not: law }] })).toEqual(['a.txt', 'b.txt']);
    });

    it('searches nothing when no document fits, and says so', async () => {
      const none = { key: 'department', op: 'eq', value: 'Sales' };
      const found = await retrieve('unheard question', { knowledgeId: base, filter: none });
      expect(found).toMatchObject({ code: 200, data: [], channels: { vector: { hits: 0 } } });
      expect(found.msg).toContain('No document of the knowledge base has metadata that fits');
      expect(simulator.requests).toEqual([]);
    });

    it('counts from the next search on when it is replaced, and shows what is stored', async () => {
      const moved = { department: 'law', issued: '2025-01-31T10:00:00+02:00', gone: null };
      const answer = await put(ids.get('a.txt'), moved);
      const metadata = { department: 'law', issued: '2025-01-31T08:00:00.000Z' };
      expect(answer).toMatchObject({ code: 200, data: { metadata, status: 2 } });
      expect(await search({ key: 'department', op: 'eq', value: 'law' })).toEqual([
        'a.txt',
        'c.txt',
      ]);
      expect(await search({ key: 'year', op: 'exists' })).toEqual(['b.txt', 'c.txt']);
      expect((await put(ids.get('a.txt'), {})).code).toBe(200);
      expect(await search({ key: 'department', op: 'exists', value: false })).toEqual([
        'a.txt',
        'd.txt',
      ]);
    });

    it('stays when the document is parsed again', async () => {
      const id = ids.get('b.txt');
      expect((await admin.post(`/system/attach/parse/${id}`)).code).toBe(200);
      await settled(admin, base);
      expect(await search({ key: 'tags', op: 'contains', value: 'a' })).toEqual(['b.txt']);
    });

    it('filters the list of documents, and its keys are listed with their types', async () => {
      const filter = JSON.stringify({ key: 'department', op: 'in', value: ['sales', 'law'] });
      const list = await admin.get<{ name: string; metadata: object }[]>(
        `/system/attach/list?knowledgeId=${base}&orderByColumn=name&filter=${encodeURIComponent(filter)}`,
      );
      expect(list.rows.map(({ name }) => name)).toEqual(['b.txt', 'c.txt']);
      expect(list.rows[1]?.metadata).toEqual({ department: 'law', year: '2024' });
      const keys = await admin.get(`/system/attach/metadata/${base}`);
      expect(keys.data).toEqual([
        { key: 'department', type: 'text', documents: 2 },
        { key: 'issued', type: 'date', documents: 1 },
        { key: 'tags', type: 'list', documents: 1 },
        { key: 'year', type: 'number', documents: 1 },
        { key: 'year', type: 'text', documents: 1 },
      ]);
    });

    it('refuses what cannot be read, names the path, and stores nothing', async () => {
      const wrong = await retrieve('x', { filter: { and: [{ key: 'year', op: 'gt' }] } });
      expect(wrong).toMatchObject({
        code: 400,
        msg: expect.stringContaining('filter.and[0].value must be a number or a date'),
      });
      expect(await uploadWith({ on: true }, 'e.txt')).toMatchObject({
        code: 400,
        msg: expect.stringContaining('metadata.on must be a text, a number'),
      });
      expect(await uploadWith('{', 'e.txt')).toMatchObject({ code: 400 });
      expect(await put(ids.get('b.txt'), { on: '2024-02-30' })).toMatchObject({
        code: 400,
        msg: expect.stringContaining('metadata.on is 2024-02-30'),
      });
      expect(await put(ids.get('b.txt'), undefined)).toMatchObject({ code: 400 });
      const list = await admin.get(`/system/attach/list?filter=${encodeURIComponent('{"a"')}`);
      expect(list).toMatchObject({
        code: 400,
        msg: expect.stringContaining('filter must be JSON'),
      });
      const { rows } = await admin.get<{ name: string }[]>(
        `/system/attach/list?knowledgeId=${base}`,
      );
      expect(rows.map(({ name }) => name)).not.toContain('e.txt');
    });
  });

  describe('with vectors that do not fit the rows', () => {
    const query = 'What is said about the lighthouse?';
    const vector = Float32Array.from(embed(query, DIMENSION));
    let base: number;
    let rows: readonly AttachmentRow[];
    let store: VectorStore;

    beforeAll(async () => {
      base = await createKnowledge(admin, {
        name: 'Lighthouse',
        embeddingModel: `sim-embed-${DIMENSION}`,
      });
      await upload(admin, base, [
        ['tower.txt', 'The lighthouse has a tower of stone.'],
        ['keeper.txt', 'The keeper of the lighthouse lives beside it.'],
      ]);
      rows = await settled(admin, base);
      store = byTest(plinth.app.get(VectorStores).default());
    });

    const search = async (more: object = {}): Promise<string[]> =>
      names(await retrieve(query, { knowledgeId: base, topK: 5, ...more })).sort();

    it('finds the existing fragments behind more deleted ones than a search asks for', async () => {
      const attachmentId = rows[0]?.id ?? 0;
      const deleted = Array.from({ length: DEPTH + 10 }, (_, index) => 1_000_000 + index);
      const entries = deleted.map((fragmentId) => ({ fragmentId, attachmentId, vector }));
      await store.upsert({ tenantId: TENANT, knowledgeId: base }, entries, NEVER);
      for (const enableHybrid of [false, true]) {
        expect(await search({ enableHybrid })).toEqual(['keeper.txt', 'tower.txt']);
      }
      const { channels, dropped } = await retrieve(query, { knowledgeId: base, explain: true });
      expect([channels.vector.hits, dropped]).toEqual([2, []]);
      await store.removeFragments({ tenantId: TENANT, knowledgeId: base }, deleted, NEVER);
    });

    it('finds no fragment of a document that was not asked for', async () => {
      const [tower, keeper] = ['tower.txt', 'keeper.txt'].map((name) =>
        rows.find((row) => row.name === name),
      );
      const metadata = { part: 'tower' };
      expect((await admin.put(`/system/attach/${tower?.id}/metadata`, { metadata })).code).toBe(
        200,
      );
      // The vector store takes the keeper for a part of the tower's document.
      const [{ id: fragmentId } = { id: 0 }] = await fragmentsOf(admin, keeper?.docId ?? '');
      const entry = { fragmentId, attachmentId: tower?.id ?? 0, vector };
      await store.upsert({ tenantId: TENANT, knowledgeId: base }, [entry], NEVER);
      const filter = { key: 'part', op: 'eq', value: 'tower' };
      for (const explain of [false, true]) {
        const found = await retrieve(query, { knowledgeId: base, topK: 5, filter, explain });
        expect([names(found), found.channels.vector.hits]).toEqual([['tower.txt'], 1]);
        expect(found.dropped ?? []).toEqual([]);
      }
    });
  });

  it('is for those who may read the base', async () => {
    const role = await makeRole(admin, 'searcher', ['system:fragment:list', 'system:info:list']);
    const { session: reader } = await makeUser(plinth, admin, 'searcher', [role]);
    expect((await retrieve('warranty', {}, reader)).code).toBe(404);
    await save({ share: 1 });
    expect((await retrieve('warranty', {}, reader)).data).toHaveLength(2);
    await save({ share: 0 });
  });
});
