import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { byTest } from '../../support/asked-by-test.js';
import { Database } from '../../../src/platform/database/index.js';
import { FragmentService, KeywordIndex } from '../../../src/fragment/index.js';
import type { NewFragment } from '../../../src/fragment/index.js';
import { FragmentVectors } from '../../../src/fragment/vector-removals.js';
import { KnowledgeService } from '../../../src/knowledge/index.js';
import { VectorStores } from '../../../src/vector-store/index.js';
import { createKnowledge, upload } from '../../support/knowledge.js';
import type { AttachmentRow } from '../../support/knowledge.js';
import { openLibrary, share } from '../../support/library.js';
import type { Library } from '../../support/library.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface FragmentRow {
  readonly id: number;
  readonly fid: string;
  readonly idx: number;
  readonly content: string;
  readonly edited: boolean;
  readonly [field: string]: unknown;
}

const TENANT = '000000';
const MISSING = {
  code: 404,
  msg: 'The fragment was not found. It may have been deleted.',
  data: null,
};
const MISSING_DOCUMENT = { ...MISSING, msg: MISSING.msg.replace('fragment', 'document') };
const READ_ONLY = {
  code: 403,
  msg: 'This knowledge base is shared with you for reading only. Ask its owner to change it.',
  data: null,
};

describe('fragments', () => {
  let plinth: Plinth;
  let library: Library;
  let owner: Session;
  let database: Database;
  let service: FragmentService;
  let keywords: KeywordIndex;
  let count = 0;
  let base: number;
  let document: AttachmentRow;

  beforeAll(async () => {
    plinth = await Plinth.start();
    library = await openLibrary(plinth);
    owner = library.owner.session;
    database = plinth.app.get(Database);
    service = plinth.app.get(FragmentService, { strict: false });
    keywords = plinth.app.get(KeywordIndex, { strict: false });
  });

  afterAll(() => plinth.stop());

  beforeEach(async () => {
    base = await newBase();
    document = await newDocument();
  });

  function newBase(fields: object = {}, session = owner): Promise<number> {
    count += 1;
    return createKnowledge(session, { name: `Case ${count}`, ...fields });
  }

  /** A document that nobody parses. */
  async function newDocument(knowledgeId = base, session = owner): Promise<AttachmentRow> {
    const file = [`note-${(count += 1)}.txt`, `Content ${count}`] as const;
    const { data } = done(await upload(session, knowledgeId, [file], false));
    return attachment(data[0]?.id ?? 0, session);
  }

  async function attachment(id: number, session = owner): Promise<AttachmentRow> {
    return done(await session.get<AttachmentRow>(`/system/attach/${id}`)).data;
  }

  async function add(content: string, fields: object = {}, session = owner): Promise<FragmentRow> {
    const body = { docId: document.docId, content, ...fields };
    return done(await session.post<FragmentRow>('/system/fragment', body)).data;
  }

  async function list(query: string, session = owner): Promise<FragmentRow[]> {
    return done(await session.get<FragmentRow[]>(`/system/fragment/list?${query}`)).rows;
  }

  /** The ids of the fragments of the base that have one of the words. */
  async function found(query: string): Promise<number[]> {
    const scope = { tenantId: TENANT, knowledgeId: base };
    const hits = await keywords.search(scope, query, 100);
    return hits.map(({ fragmentId }) => fragmentId);
  }

  /** Stores fragments as parsing does. */
  async function store(
    contents: readonly string[],
    more: Partial<NewFragment> = {},
  ): Promise<number[]> {
    const ids = await service.reserveIds(contents.length);
    const analysed = await keywords.analyse(contents);
    const fragments = contents.flatMap((content, idx): NewFragment[] => {
      const [id, terms] = [ids[idx], analysed[idx]];
      if (id === undefined || terms === undefined) return [];
      const place = { start: idx, end: idx + content.length, headings: [] };
      return [{ id, idx, content, analysed: terms, ...place, ...more }];
    });
    const { id: attachmentId, docId } = document;
    const scope = { tenantId: TENANT, knowledgeId: base, attachmentId, docId };
    await database.transaction(() => service.replaceAll(scope, fragments));
    return ids;
  }

  describe('by hand', () => {
    it('are added behind the last one, found by their words, and marked', async () => {
      const first = await owner.post<FragmentRow>('/system/fragment', {
        docId: document.docId,
        content: 'The kestrel hovers.',
        remark: 'from the book',
      });
      const second = await add('The osprey dives.');
      const third = await add('The swift sleeps in flight.', { idx: 7 });

      expect(first).toEqual({
        code: 200,
        msg: 'Done. Keyword search finds the fragment from now on, vector search does not. Parsing the document again replaces it.',
        data: {
          id: expect.any(Number),
          fid: expect.stringMatching(/^[a-z0-9]{10}$/),
          docId: document.docId,
          attachId: document.id,
          knowledgeId: base,
          idx: 0,
          content: 'The kestrel hovers.',
          context: null,
          page: null,
          headings: null,
          location: null,
          charStart: null,
          charEnd: null,
          edited: true,
          remark: 'from the book',
          createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
          updateTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
        },
      });
      expect([second.idx, third.idx]).toEqual([1, 7]);
      expect(await found('hovering kestrels')).toEqual([first.data.id]);
      expect(await found('osprey swift')).toHaveLength(2);
      expect(await attachment(document.id)).toMatchObject({ fragmentCount: 3 });
    });

    it('are added also behind one that has the largest running number', async () => {
      const largest = 2_147_483_647;
      await add('The osprey dives.', { idx: largest });
      expect(await add('The swift sleeps in flight.')).toMatchObject({ idx: largest });
    });

    it('change their text and words, and say that their vector is that of the old text', async () => {
      const [id = 0] = await store(['The kestrel hovers.', 'The osprey dives.']);
      const answer = await owner.put<FragmentRow>('/system/fragment', {
        id,
        content: 'The wren sings.',
        remark: 'corrected',
        idx: 9,
      });

      expect(answer).toMatchObject({
        code: 200,
        msg: 'Done. Keyword search uses the new text from now on, vector search still the old one. Parsing the document again replaces it.',
        data: { id, content: 'The wren sings.', remark: 'corrected', edited: true, idx: 0 },
      });
      expect(await found('kestrel')).toEqual([]);
      expect(await found('wren')).toEqual([id]);
    });

    it('are not changed by a remark alone, nor by their own text', async () => {
      const [id = 0] = await store(['The kestrel hovers.']);
      const remarked = await owner.put('/system/fragment', { id, remark: 'checked' });
      const same = await owner.put('/system/fragment', { id, content: 'The kestrel hovers.' });

      for (const { code, msg } of [remarked, same]) expect([code, msg]).toEqual([200, 'Done.']);
      expect((await owner.get(`/system/fragment/${id}`)).data).toMatchObject({
        edited: false,
        remark: 'checked',
      });
      expect(await found('kestrel')).toEqual([id]);
    });

    it('are announced as lost when their document is parsed again', async () => {
      await add('One.');
      await add('Two.');

      expect(await owner.post(`/system/attach/parse/${document.id}`)).toMatchObject({
        code: 200,
        msg: 'Done. 2 fragments that were written by hand are replaced.',
      });
    });

    it('are deleted with words and vectors, all of them or none', async () => {
      const ids = await store(['The kestrel hovers.', 'The osprey dives.', 'The wren sings.']);
      const [first = 0, second = 0, third = 0] = ids;
      const vectors = byTest(plinth.app.get(VectorStores).default());
      const scope = { tenantId: TENANT, knowledgeId: base };
      const signal = AbortSignal.timeout(10_000);
      const entries = ids.map((fragmentId) => ({
        fragmentId,
        attachmentId: document.id,
        vector: Float32Array.of(1, 0),
      }));
      await vectors.upsert(scope, entries, signal);
      expect(await owner.delete(`/system/fragment/${first},987654321`)).toEqual(MISSING);
      expect(await list(`docId=${document.docId}`)).toHaveLength(3);
      expect(await owner.delete(`/system/fragment/${first},${second}`)).toMatchObject({
        code: 200,
        data: null,
      });

      expect((await list(`docId=${document.docId}`)).map(({ id }) => id)).toEqual([third]);
      expect(await found('kestrel osprey')).toEqual([]);
      expect(await found('wren')).toEqual([third]);
      expect(await vectors.fragmentIds(scope, { after: 0, limit: 10 }, signal)).toEqual([third]);
      expect(await attachment(document.id)).toMatchObject({ fragmentCount: 1 });
    });

    it.each([
      ['content must not be empty', { content: ' ' }],
      ['content must have at most 100000 characters', { content: 'x'.repeat(100_001) }],
      ['idx must be at least 0', { content: 'x', idx: -1 }],
      ['docId or attachId is required', { content: 'x', docId: '' }],
    ])('are refused: %s', async (message, fields) => {
      const answer = await owner.post('/system/fragment', { docId: document.docId, ...fields });

      expect(answer).toMatchObject({ code: 400, msg: expect.stringContaining(message) });
      expect(await list(`docId=${document.docId}`)).toEqual([]);
    });

    it('are added to the document with the id of its record', async () => {
      const attachId = String(document.id);
      const form = { attachId, idx: 99, content: 'The curlew calls.' };
      const { data } = done(await owner.post<FragmentRow>('/system/fragment', form));
      expect(data).toMatchObject({ docId: document.docId, idx: 99 });
      // The form of existing consoles cannot be saved without it.
      const { data: loaded } = await owner.get(`/system/fragment/${data.id}`);
      expect(loaded).toMatchObject({ attachId: document.id });
      expect(await found('curlew')).toEqual([data.id]);

      const other = await newDocument();
      const both = { ...form, docId: other.docId };
      expect(await owner.post('/system/fragment', both)).toMatchObject({ code: 404 });
      expect(await list(`docId=${other.docId}`)).toEqual([]);
    });

    it('are written down in the audit log, without their text', async () => {
      const { id } = await add('A secret plan.');
      done(await owner.put('/system/fragment', { id, content: 'Another plan.' }));
      done(await owner.delete(`/system/fragment/${id}`));
      const { rows } = await library.admin.get<{ action: string }[]>(
        `/monitor/audit/list?targetType=fragment&targetId=${id}`,
      );

      expect(rows.map(({ action }) => action)).toEqual(['delete', 'update', 'create']);
      expect(JSON.stringify(rows)).not.toContain('plan');
    });
  });

  describe('the list', () => {
    it('is ordered by the running number, and filters', async () => {
      const ids = await store(['The kestrel hovers.', 'The osprey dives.', '100% of wrens_sing']);
      const other = await newDocument();
      await owner.post('/system/fragment', { docId: other.docId, content: 'Elsewhere.' });
      const idsOf = async (query: string): Promise<number[]> =>
        (await list(query)).map(({ id }) => id);
      const ofDocument = `docId=${document.docId}`;

      expect(await idsOf(ofDocument)).toEqual(ids);
      expect(await idsOf(`${ofDocument}&idx=1`)).toEqual([ids[1]]);
      const [, osprey] = await list(ofDocument);
      expect(await idsOf(`${ofDocument}&fid=${osprey?.fid}`)).toEqual([ids[1]]);
      expect(await idsOf(`${ofDocument}&content=OSPREY`)).toEqual([ids[1]]);
      expect(await idsOf(`${ofDocument}&content=0%25 of`)).toEqual([ids[2]]);
      expect(await idsOf(`${ofDocument}&content=s_s`)).toEqual([ids[2]]);
      expect(await idsOf(`knowledgeId=${base}`)).toHaveLength(4);
      const page = await owner.get(`/system/fragment/list?${ofDocument}&pageSize=2&pageNum=2`);
      expect(page).toMatchObject({ total: 3, rows: [{ id: ids[2] }] });
      expect(page).not.toHaveProperty('data');
    });
  });

  describe('the set of a document', () => {
    it('is replaced as a whole, with its words', async () => {
      await add('By hand.');
      const old = await store(['The kestrel hovers.', 'The osprey dives.']);
      const fids = (await list(`docId=${document.docId}`)).map(({ fid }) => fid);
      const fresh = await store(['The wren sings.']);
      const now = await list(`docId=${document.docId}`);

      expect(now.map(({ id }) => id)).toEqual(fresh);
      expect(fids).not.toContain(now[0]?.fid);
      expect(Math.max(...old)).toBeLessThan(Math.min(...fresh));
      expect(await found('kestrel osprey hand')).toEqual([]);
      expect(await found('wren')).toEqual(fresh);
    });

    it('keeps texts as they are and cuts only what describes their place', async () => {
      const odd = ['{a,"b"}', 'NULL', "it's \\n \\\\", '😀 鳥は飛ぶ', 'a\tb\nc', '$1 %s'];
      await store(odd, {
        headings: ['Part > one', 'h'.repeat(2_000)],
        location: 'l'.repeat(300),
        page: 3,
      });
      const rows = await list(`docId=${document.docId}`);

      expect(rows.map(({ content }) => content)).toEqual(odd);
      expect(rows[0]).toMatchObject({
        page: 3,
        headings: `Part > one > ${'h'.repeat(987)}`,
        location: 'l'.repeat(200),
        charStart: 0,
        charEnd: 7,
        edited: false,
      });
    });

    it('loses the vectors that it has, and not those that are made after it was decided', async () => {
      const [knowledge] = await plinth.app.get(KnowledgeService).ofTenant(TENANT, [base]);
      if (!knowledge) throw new Error('The base is missing.');
      const scope = { tenantId: TENANT, knowledgeId: base };
      const { signal } = new AbortController();
      const stored = byTest(plinth.app.get(VectorStores).of(knowledge));
      const write = async (howMany: number): Promise<number[]> => {
        const ids = await service.reserveIds(howMany);
        const vector = Float32Array.of(1, 0);
        const entries = ids.map((id) => ({
          fragmentId: id,
          attachmentId: document.id,
          vector,
        }));
        await stored.upsert(scope, entries, signal);
        return ids;
      };
      // More than one page of them.
      await write(1_001);
      const later = await database.transaction(async () => {
        await plinth.app.get(FragmentVectors, { strict: false }).removePresent(knowledge);
        return write(2);
      });

      const page = { after: 0, limit: 10 };
      expect(await stored.fragmentIds(scope, page, signal)).toEqual(later);
    });

    it('may be larger than one statement takes', async () => {
      const ids = await store(Array.from({ length: 1_203 }, (_, n) => `Bird number ${n}.`));
      const pages = [1, 2, 3].map((page) => list(`docId=${document.docId}&pageNum=${page}`));
      const rows = (await Promise.all(pages)).flat();

      expect(rows.map(({ id }) => id)).toEqual(ids);
      expect(rows.at(-1)).toMatchObject({ idx: 1_202, content: 'Bird number 1202.' });
    });
  });

  describe('who may', () => {
    it('is decided by the knowledge base', async () => {
      const { id } = await add('The kestrel hovers.');
      const { admin, other, stranger } = library;
      const body = { docId: document.docId, content: 'Theirs.' };

      for (const session of [other.session, stranger]) {
        expect(await session.get(`/system/fragment/${id}`)).toEqual(MISSING);
        expect(await session.post('/system/fragment', body)).toEqual(MISSING_DOCUMENT);
        expect(await session.put('/system/fragment', { id, content: 'x' })).toEqual(MISSING);
        expect(await session.delete(`/system/fragment/${id}`)).toEqual(MISSING);
        for (const query of [`docId=${document.docId}`, `knowledgeId=${base}`, 'content=kestrel']) {
          expect(await list(query, session)).toEqual([]);
        }
      }
      await share(owner, base, 1);
      const reader = other.session;
      expect((await reader.get(`/system/fragment/${id}`)).data).toMatchObject({ id });
      expect(await list(`knowledgeId=${base}`, reader)).toMatchObject([{ id }]);
      expect(await reader.post('/system/fragment', body)).toEqual(READ_ONLY);
      expect(await reader.put('/system/fragment', { id, content: 'x' })).toEqual(READ_ONLY);
      expect(await reader.delete(`/system/fragment/${id}`)).toEqual(READ_ONLY);
      expect(await list(`knowledgeId=${base}`, stranger)).toEqual([]);
      await share(owner, base, 0);
      expect(await list(`knowledgeId=${base}`, admin)).toMatchObject([{ id }]);
      done(await admin.put('/system/fragment', { id, content: 'By the admin.' }));
      expect((await owner.get(`/system/fragment/${id}`)).data).toMatchObject({
        content: 'By the admin.',
      });
    });
  });
});
