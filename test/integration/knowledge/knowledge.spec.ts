import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byTest } from '../../support/asked-by-test.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { VectorStores } from '../../../src/vector-store/index.js';
import {
  attachmentsOf,
  createKnowledge,
  PARSED,
  settled,
  upload,
} from '../../support/knowledge.js';
import { openLibrary, share } from '../../support/library.js';
import type { Library } from '../../support/library.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

interface Base {
  readonly id: number;
  readonly name: string;
  readonly [field: string]: unknown;
}

const MISSING = {
  code: 404,
  msg: 'The knowledge base was not found. It may have been deleted.',
  data: null,
};
const READ_ONLY = {
  code: 403,
  msg: 'This knowledge base is shared with you for reading only. Ask its owner to change it.',
  data: null,
};

describe('knowledge bases', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let library: Library;
  let owner: Session;
  let count = 0;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    library = await openLibrary(plinth);
    owner = library.owner.session;
    const { admin } = library;
    await createProvider(admin, 'custom_api');
    const apiHost = `${simulator.url}/v1`;
    for (const [modelName, category] of [
      ['sim-embed-32', 'vector'],
      ['sim-other-32', 'vector'],
      ['sim-slow-32--first-400', 'vector'],
      ['sim-rerank', 'rerank'],
      ['sim-chat', 'chat'],
    ] as const) {
      await createModel(admin, {
        modelName,
        category,
        apiHost,
        apiKey: 'key',
        ...(category === 'vector' && { modelDimension: 32 }),
      });
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  function fresh(): string {
    count += 1;
    return `Base ${count}`;
  }

  function create(fields: object = {}, session = owner): Promise<number> {
    return createKnowledge(session, { name: fresh(), ...fields });
  }

  async function get(id: number, session = owner): Promise<Base> {
    return done(await session.get<Base>(`/system/info/${id}`)).data;
  }

  async function idsOf(session: Session, query = ''): Promise<number[]> {
    const { rows } = done(await session.get<Base[]>(`/system/info/list${query}`));
    return rows.map(({ id }) => id);
  }

  describe('records', () => {
    it('start with hybrid search and a low threshold, and creating one answers a status only', async () => {
      const name = fresh();
      const answer = await owner.post('/system/info', { name: ` ${name} ` });
      const { rows } = done(await owner.get<Base[]>(`/system/info/list?name=${name}`));

      expect(answer).toEqual({ code: 200, msg: expect.stringContaining('Done.'), data: null });
      expect(rows).toEqual([
        {
          id: expect.any(Number),
          revision: 1,
          userId: library.owner.id,
          level: 'manage',
          name,
          share: 0,
          description: '',
          separator: '',
          overlapChar: 50,
          textBlockSize: 1000,
          retrieveLimit: 10,
          similarityThreshold: 0.2,
          vectorModel: '',
          embeddingModel: '',
          enableHybrid: 1,
          hybridAlpha: 0.5,
          enableRerank: 0,
          rerankModel: '',
          rerankTopN: null,
          rerankScoreThreshold: null,
          neighbours: 'none',
          neighbourCharacters: 2000,
          language: 'auto',
          enableOcr: 0,
          ocrModel: '',
          contextModel: '',
          remark: '',
          documentCount: 0,
          vectorsLostTime: null,
          vectorRemovals: 0,
          vectorStore: plinth.app.get(VectorStores).default().code,
          storeAfterReindex: plinth.app.get(VectorStores).default().code,
          createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
          updateTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        },
      ]);
    });

    it('keep every field, in the spellings of existing forms', async () => {
      const id = await create({
        share: '1',
        description: 'About birds',
        separator: '\\n',
        overlapChar: '10',
        textBlockSize: '800',
        retrieveLimit: '7',
        similarityThreshold: '0.25',
        vectorModel: 'exact',
        embeddingModel: ' sim-embed-32 ',
        enableHybrid: true,
        hybridAlpha: '0.3',
        enableRerank: '1',
        rerankModel: 'sim-rerank',
        rerankTopN: 3,
        rerankScoreThreshold: -0.5,
        neighbours: 'section',
        neighbourCharacters: '1500',
        language: 'german',
        enableOcr: '1',
        remark: 'note',
        kind: 'dropped',
      });

      expect(await get(id)).toMatchObject({
        share: 1,
        description: 'About birds',
        separator: '\\n',
        overlapChar: 10,
        textBlockSize: 800,
        retrieveLimit: 7,
        similarityThreshold: 0.25,
        vectorModel: 'exact',
        embeddingModel: 'sim-embed-32',
        enableHybrid: 1,
        hybridAlpha: 0.3,
        enableRerank: 1,
        rerankModel: 'sim-rerank',
        rerankTopN: 3,
        rerankScoreThreshold: -0.5,
        neighbours: 'section',
        neighbourCharacters: 1500,
        language: 'german',
        enableOcr: 1,
        remark: 'note',
      });
    });

    it('take back the whole record that was read, with one field changed', async () => {
      const id = await create({ embeddingModel: 'sim-embed-32', rerankTopN: 4, share: 1 });
      const loaded = await get(id);
      done(await owner.put('/system/info', { ...loaded, retrieveLimit: 3, unknown: { a: 1 } }));

      const { updateTime: _, ...rest } = loaded;
      expect(await get(id)).toMatchObject({ ...rest, revision: 2, retrieveLimit: 3 });
    });

    it('keep what is not sent or null, empty what is sent empty, and take rerankTopN back by 0', async () => {
      const id = await create({ description: 'Old', remark: 'Old', rerankTopN: 4, hybridAlpha: 1 });
      done(await owner.put('/system/info', { id, description: '', remark: null, rerankTopN: 0 }));

      expect(await get(id)).toMatchObject({
        description: '',
        remark: 'Old',
        rerankTopN: null,
        hybridAlpha: 1,
      });
    });

    it('may have the same name', async () => {
      const name = fresh();
      await createKnowledge(owner, { name });
      await createKnowledge(owner, { name });

      expect(await idsOf(owner, `?name=${name}`)).toHaveLength(2);
    });

    it.each<[object, string]>([
      [{ name: ' ' }, 'name must not be empty'],
      [{ name: '\u200b' }, 'name must not be empty'],
      [{ name: 'x'.repeat(51) }, 'name must have at most 50 characters'],
      [{ textBlockSize: 0 }, 'textBlockSize must exceed 0.'],
      [{ textBlockSize: -5 }, 'textBlockSize must exceed 0.'],
      [{ overlapChar: -1 }, 'overlapChar must be 0 or more and smaller than textBlockSize.'],
      [
        { textBlockSize: 100, overlapChar: 100 },
        'overlapChar must be 0 or more and smaller than textBlockSize.',
      ],
      [{ textBlockSize: 1.5 }, 'textBlockSize must be a whole number'],
      [{ hybridAlpha: 1.1 }, 'hybridAlpha must be at most 1'],
      [{ hybridAlpha: -0.1 }, 'hybridAlpha must be at least 0'],
      [{ similarityThreshold: 2 }, 'similarityThreshold must be at most 1'],
      [{ neighbours: 'all' }, 'neighbours must be one of none, adjacent, section'],
      [{ neighbourCharacters: 0 }, 'neighbourCharacters must be at least 1'],
      [{ retrieveLimit: 0 }, 'retrieveLimit must be at least 1'],
      [{ share: 2 }, 'share must be 0 or 1'],
      [{ vectorModel: 'shelf' }, 'vectorModel must be one of weaviate, milvus, qdrant'],
      [
        { embeddingModel: 'nobody' },
        'embeddingModel: there is no model of category vector named nobody.',
      ],
      [
        { embeddingModel: 'sim-chat' },
        'embeddingModel: there is no model of category vector named sim-chat.',
      ],
      [
        { rerankModel: 'sim-embed-32' },
        'rerankModel: there is no model of category rerank named sim-embed-32.',
      ],
    ])('refuse %j, new or changed', async (fields, message) => {
      const id = await create();
      const before = await get(id);
      const total = (await idsOf(owner)).length;
      const answers = [
        await owner.post('/system/info', { name: fresh(), overlapChar: 0, ...fields }),
        await owner.put('/system/info', { id, ...fields }),
      ];

      for (const { code, msg } of answers) {
        expect([code, msg]).toEqual([400, expect.stringContaining(message)]);
      }
      expect(await get(id)).toEqual(before);
      expect(await idsOf(owner)).toHaveLength(total);
    });

    it('compare a changed block size with the stored overlap, and the other way round', async () => {
      const id = await create({ textBlockSize: 100, overlapChar: 40 });
      const refusal = { code: 400, msg: expect.stringContaining('overlapChar must be 0 or more') };

      expect(await owner.put('/system/info', { id, textBlockSize: 40 })).toMatchObject(refusal);
      expect(await owner.put('/system/info', { id, overlapChar: 100 })).toMatchObject(refusal);
      expect(await owner.put('/system/info', { id, textBlockSize: 41 })).toMatchObject({
        code: 200,
      });
    });

    it('have an overlap that fits the block size where none is given', async () => {
      const overlapOf = async (id: number): Promise<unknown> => (await get(id)).overlapChar;
      for (const [textBlockSize, overlapChar] of [
        [1, 0],
        [30, 15],
        [99, 49],
        [100, 50],
        [2_000, 50],
      ]) {
        const name = fresh();
        done(await owner.post('/system/info', { name, textBlockSize }));
        const [id = 0] = await idsOf(owner, `?name=${name}`);
        expect([textBlockSize, await overlapOf(id)]).toEqual([textBlockSize, overlapChar]);
      }
      const name = fresh();
      done(await owner.post('/system/info', { name }));
      const [id = 0] = await idsOf(owner, `?name=${name}`);
      done(await owner.put('/system/info', { id, textBlockSize: 40 }));
      expect(await overlapOf(id)).toBe(20);
      done(await owner.put('/system/info', { id, textBlockSize: 400 }));
      expect(await overlapOf(id)).toBe(50);
      // An overlap that was sent stays, also one that equals the default; the empty text takes it back.
      done(await owner.put('/system/info', { id, overlapChar: 50 }));
      done(await owner.put('/system/info', { id, textBlockSize: 60 }));
      expect(await overlapOf(id)).toBe(50);
      expect(await owner.put('/system/info', { id, textBlockSize: 50 })).toMatchObject({
        code: 400,
        msg: 'overlapChar must be 0 or more and smaller than textBlockSize.',
      });
      done(await owner.put('/system/info', { id, overlapChar: null, textBlockSize: 80 }));
      expect(await overlapOf(id)).toBe(50);
      done(await owner.put('/system/info', { id, overlapChar: '' }));
      expect(await overlapOf(id)).toBe(40);
      done(await owner.put('/system/info', { id, textBlockSize: 60 }));
      expect(await overlapOf(id)).toBe(30);
      const sent = await create({ textBlockSize: 60, overlapChar: 30 });
      done(await owner.put('/system/info', { id: sent, textBlockSize: 1_000 }));
      expect(await overlapOf(sent)).toBe(30);
    });

    it('go back to their defaults by the empty text, and stay with null', async () => {
      const changed = {
        ...{ remark: 'note', contextModel: 'sim-chat', textBlockSize: 800, retrieveLimit: 7 },
        ...{ hybridAlpha: 0.1, rerankTopN: 4, rerankScoreThreshold: 0.5, neighbourCharacters: 9 },
      };
      const id = await create(changed);
      const all = (value: unknown) =>
        Object.fromEntries(Object.keys(changed).map((name) => [name, value]));
      done(await owner.put('/system/info', { id, ...all(null) }));
      expect(await get(id)).toMatchObject(changed);
      done(await owner.put('/system/info', { id, ...all('') }));
      expect(await get(id)).toMatchObject({
        ...{ remark: '', contextModel: '', textBlockSize: 1_000, retrieveLimit: 10 },
        ...{ hybridAlpha: 0.5, rerankTopN: null, rerankScoreThreshold: null },
        neighbourCharacters: 2_000,
      });
    });

    it('say that reranking is on without a model, as long as it is', async () => {
      const name = fresh();
      const warning = expect.stringMatching(/^Done\. .*no rerank model is chosen/);
      expect(await owner.post('/system/info', { name, enableRerank: 1 })).toMatchObject({
        code: 200,
        msg: warning,
      });
      const [id = 0] = await idsOf(owner, `?name=${name}`);
      expect(await owner.put('/system/info', { id, remark: 'x' })).toMatchObject({ msg: warning });
      expect(
        await owner.put('/system/info', { id, rerankModel: 'sim-rerank-of-base' }),
      ).toMatchObject({ code: 400 });
      expect(await owner.put('/system/info', { id, enableRerank: 0 })).toMatchObject({
        msg: 'Done.',
      });
    });

    it('say once which store serves them, and nothing for the choice of the console', async () => {
      const name = fresh();
      const answer = await owner.post('/system/info', { name, vectorModel: 'weaviate' });
      expect(answer.msg).toBe('Done.');
      const [base] = done(await owner.get<Base[]>(`/system/info/list?name=${name}`)).rows;
      const save = async (vectorModel: string): Promise<string> =>
        done(await owner.put('/system/info', { id: base?.id, name, vectorModel })).msg;
      expect(await save('milvus')).toMatch(/^Done\. This installation does not run milvus/);
      expect(await save('milvus')).toBe('Done.');
      expect(await save('weaviate')).toBe('Done.');
    });

    it.each(['milvus', ''])(
      'keep the vector store "%s" as given and say which one serves it',
      async (vectorModel) => {
        const name = fresh();
        const answer = await owner.post('/system/info', { name, vectorModel });
        const { rows } = done(await owner.get<Base[]>(`/system/info/list?name=${name}`));
        const { code } = byTest(plinth.app.get(VectorStores).default());

        expect(answer).toMatchObject({
          code: 200,
          msg: expect.stringMatching(new RegExp(`Done\\. .*${code} serves it`)),
        });
        expect(rows[0]).toMatchObject({ vectorModel });
      },
    );

    it('are saved although a model that they name is gone by now', async () => {
      const { admin } = library;
      const fields = { modelName: 'sim-leaving-32', category: 'vector', modelDimension: 32 };
      const modelId = await createModel(admin, { ...fields, apiHost: 'http://127.0.0.1:9' });
      const id = await create({ embeddingModel: 'sim-leaving-32' });
      done(await admin.delete(`/system/model/${modelId}`));
      const answer = await owner.put('/system/info', {
        id,
        embeddingModel: 'sim-leaving-32',
        remark: 'kept',
      });

      expect(answer.code).toBe(200);
      expect(simulator.requests).toEqual([]);
    });

    it('are written down in the audit log, with names of fields alone', async () => {
      const id = await create({ description: 'a secret plan' });
      done(await owner.put('/system/info', { id, description: 'another plan', share: 1 }));
      done(await owner.delete(`/system/info/${id}`));
      const { rows } = await library.admin.get<{ action: string; detail: object }[]>(
        `/monitor/audit/list?targetType=knowledge_base&targetId=${id}`,
      );

      expect(rows.map(({ action }) => action)).toEqual(['delete', 'update', 'create']);
      expect(rows[1]?.detail).toEqual({ fields: ['description', 'share'] });
      expect(JSON.stringify(rows)).not.toContain('plan');
    });
  });

  describe('the list', () => {
    it('filters, pages and counts documents', async () => {
      const one = await create({ name: 'Kestrel one', enableHybrid: 1 });
      const two = await create({ name: 'kestrel two', embeddingModel: 'sim-embed-32' });
      const files = ['a', 'b', 'c'].map((text) => [`${text}.txt`, text] as const);
      done(await upload(owner, two, files, false));

      expect(await idsOf(owner, '?name=KESTREL')).toEqual([two, one]);
      expect(await idsOf(owner, '?name=kestrel&enableHybrid=1')).toEqual([one]);
      expect(await idsOf(owner, '?name=kestrel&embeddingModel=sim-embed-32')).toEqual([two]);
      const page = await owner.get<Base[]>('/system/info/list?name=kestrel&pageSize=1&pageNum=1');
      expect(page).toMatchObject({ code: 200, total: 2, rows: [{ id: two, documentCount: 3 }] });
      expect(page).not.toHaveProperty('data');
      expect(await get(two)).toMatchObject({ documentCount: 3 });
    });
  });

  describe('who may', () => {
    it('lets the owner and super administrators see what is not shared, and nobody else', async () => {
      const id = await create();
      const { admin, other, stranger } = library;

      for (const session of [owner, admin]) {
        expect(await get(id, session)).toMatchObject({ id, userId: library.owner.id });
        expect(await idsOf(session)).toContain(id);
      }
      for (const session of [other.session, stranger]) {
        expect(await session.get(`/system/info/${id}`)).toEqual(MISSING);
        expect(await session.put('/system/info', { id, share: 1 })).toEqual(MISSING);
        expect(await session.delete(`/system/info/${id}`)).toEqual(MISSING);
        expect(await idsOf(session)).not.toContain(id);
      }
    });

    it('lets everybody of the tenant read what is shared, and the owner alone change it', async () => {
      const id = await create({ share: 1 });
      const { admin, other, stranger } = library;

      expect(await get(id, other.session)).toMatchObject({ id });
      expect(await idsOf(other.session)).toContain(id);
      expect(await idsOf(other.session, '?share=0')).not.toContain(id);
      expect(await other.session.put('/system/info', { id, remark: 'mine' })).toEqual(READ_ONLY);
      expect(await other.session.delete(`/system/info/${id}`)).toEqual(READ_ONLY);
      expect(await stranger.get(`/system/info/${id}`)).toEqual(MISSING);
      expect(await idsOf(stranger, '?share=1')).toEqual([]);
      done(await admin.put('/system/info', { id, remark: 'by the admin' }));
      expect(await get(id)).toMatchObject({ remark: 'by the admin', userId: library.owner.id });
      await share(owner, id, 0);
      expect(await other.session.get(`/system/info/${id}`)).toEqual(MISSING);
    });

    it('deletes all of the named ones or none', async () => {
      const mine = [await create(), await create()];
      const theirs = await create({}, library.other.session);
      const shared = await create({ share: 1 }, library.other.session);

      expect(await owner.delete(`/system/info/${mine[0]},${theirs}`)).toEqual(MISSING);
      expect(await owner.delete(`/system/info/${mine[0]},${shared}`)).toEqual(READ_ONLY);
      expect(await idsOf(owner)).toEqual(expect.arrayContaining(mine));
      expect(await owner.delete(`/system/info/${mine.join()},${mine[0]}`)).toMatchObject({
        code: 200,
        data: null,
      });
      for (const id of mine) expect(await owner.get(`/system/info/${id}`)).toEqual(MISSING);
    });
  });

  describe('the index', () => {
    const model = { embeddingModel: 'sim-embed-32' };

    async function indexed(fields: object = model): Promise<number> {
      const id = await create(fields);
      done(await upload(owner, id, [['facts.txt', 'The kestrel hovers.']]));
      expect(await settled(owner, id)).toMatchObject([{ status: PARSED }]);
      return id;
    }

    function vectors(id: number, store: string): Promise<number> {
      const scope = { tenantId: '000000', knowledgeId: id };
      const signal = AbortSignal.timeout(10_000);
      return byTest(plinth.app.get(VectorStores).configured(store)).count(scope, undefined, signal);
    }

    it('lets an empty base change its models at will', async () => {
      const id = await create(model);
      done(await upload(owner, id, [['later.txt', 'Not parsed yet.']], false));
      const answer = await owner.put('/system/info', {
        id,
        embeddingModel: 'sim-other-32',
        vectorModel: 'exact',
      });

      expect(answer.code).toBe(200);
    });

    it.each([
      ['embeddingModel', 'sim-other-32'],
      ['vectorModel', 'exact'],
    ])('does not let %s change alone', async (field, value) => {
      const id = await indexed({ ...model, vectorModel: 'pgvector' });
      const change = { id, [field]: value };

      // Only where another store runs beside the exact one does the word mean a change.
      if (plinth.app.get(VectorStores).configured('pgvector').code === value) return;
      expect(await owner.put('/system/info', change)).toEqual({
        code: 409,
        msg: `The documents of this knowledge base are embedded with its current settings. To change ${field}, send reindex: true, which parses every document again.`,
        data: { fields: [field] },
      });
      expect((await get(id))[field]).not.toBe(value);
    });

    it('is built anew by reindex, and nothing of the old one stays', async () => {
      const id = await indexed({ ...model, vectorModel: '' });
      const before = plinth.app.get(VectorStores).default().code;
      simulator.reset();
      const change = { embeddingModel: 'sim-other-32', vectorModel: 'exact' };
      done(await owner.put('/system/info', { id, ...change, reindex: true }));
      const [row] = await settled(owner, id);

      expect(await get(id)).toMatchObject(change);
      expect(row).toMatchObject({ status: PARSED, fragmentCount: 1 });
      const models = simulator.requests.map(({ body }) => JSON.stringify(body));
      expect(models.every((body) => body.includes('sim-other-32'))).toBe(true);
      expect(models.length).toBeGreaterThan(0);
      expect(await vectors(id, 'exact')).toBe(1);
      if (before !== 'exact') expect(await vectors(id, before)).toBe(0);
    });

    it('is built by the new model alone when it changes in the middle of a parsing', async () => {
      const id = await create({ embeddingModel: 'sim-slow-32--first-400' });
      const text = Array.from({ length: 400 }, (_, n) => `Kestrel number ${n} hovers.`).join(
        '\n\n',
      );
      done(await upload(owner, id, [['birds.txt', text]]));
      await eventually(
        () => attachmentsOf(owner, id),
        ([row]) => row?.status === 1 && (row.progressTotal ?? 0) > 0,
        60_000,
      );
      const change = { id, embeddingModel: 'sim-other-32' };
      expect(await owner.put('/system/info', change)).toMatchObject({ code: 409 });
      done(await owner.put('/system/info', { ...change, reindex: true }));
      const [row] = await settled(owner, id);

      expect(row).toMatchObject({ status: PARSED, remark: null });
      expect(row?.fragmentCount).toBeGreaterThan(10);
      expect(await vectors(id, '')).toBe(row?.fragmentCount);
      expect(simulator.requests.at(-1)).toMatchObject({ model: 'sim-other-32' });
    });

    it('takes the language of the base for its documents when they are parsed', async () => {
      const id = await indexed({ ...model, vectorModel: '' });
      expect(await languageOf(id)).toEqual(['english']);
      const change = { id, language: 'danish' };
      expect(await owner.put('/system/info', change)).toMatchObject({
        code: 200,
        msg: 'Done. Documents that are parsed already keep the language they were indexed in. Send reindex: true to parse them again.',
      });
      expect(await languageOf(id)).toEqual(['english']);
      const answer = await owner.put('/system/info', { ...change, reindex: true });
      expect(answer).toMatchObject({ code: 200, msg: expect.stringMatching(/^Done\.$/) });
      expect(await settled(owner, id)).toMatchObject([{ status: PARSED }]);
      expect(await languageOf(id)).toEqual(['danish']);
      expect(await owner.put('/system/info', { id, language: 'klingon' })).toMatchObject({
        code: 400,
        msg: expect.stringContaining('language must be one of auto, arabic,'),
      });
    });

    async function languageOf(id: number): Promise<string[]> {
      const rows = await byTest(plinth.app.get(Database)).query<{ language: string }>(
        'SELECT language FROM fragment WHERE tenant_id = $1 AND knowledge_id = $2',
        ['000000', id],
      );
      return rows.map(({ language }) => language);
    }

    it('is not touched by a change that the vectors do not depend on', async () => {
      const id = await indexed({ ...model, vectorModel: '' });
      const same = plinth.app.get(VectorStores).default().code;
      const answer = await owner.put('/system/info', { id, vectorModel: same, textBlockSize: 700 });

      expect(answer.code).toBe(200);
      expect(await attachmentsOf(owner, id)).toMatchObject([{ status: PARSED }]);
    });
  });
});
