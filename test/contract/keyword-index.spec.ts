import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Database } from '../../src/platform/database/index.js';
import { KeywordIndex } from '../../src/fragment/index.js';
import { KeywordRepository } from '../../src/fragment/keyword/keyword.repository.js';
import { AUTOMATIC, KNOWLEDGE_LANGUAGES } from '../../src/knowledge/index.js';
import type { AttachmentScope, KnowledgeScope } from '../../src/fragment/index.js';
import { sampleQuestions, sampleTexts } from '../support/keyword-sample.js';
import { Plinth } from '../support/plinth.js';

const TENANT = '000000';

let plinth: Plinth;
let index: KeywordIndex;
let database: Database;
let lastFragment = 0;

beforeAll(async () => {
  plinth = await Plinth.start();
  index = plinth.app.get(KeywordIndex);
  database = plinth.app.get(Database);
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(() => plinth.stop());

async function makeBase(): Promise<KnowledgeScope> {
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO knowledge_base (tenant_id, name) VALUES ($1, 'Base') RETURNING id`,
    [TENANT],
  );
  return { tenantId: TENANT, knowledgeId: row?.id ?? 0 };
}

async function makeDocument(base: KnowledgeScope): Promise<AttachmentScope> {
  const [row] = await database.query<{ id: number }>(
    `INSERT INTO attachment (tenant_id, knowledge_id, doc_id, file_hash, name, type, byte_size)
     SELECT $1, $2, id, id, 'Document', 'txt', 1 FROM (SELECT replace(gen_random_uuid()::text, '-', '') AS id) made
     RETURNING id`,
    [base.tenantId, base.knowledgeId],
  );
  return { ...base, attachmentId: row?.id ?? 0 };
}

/** Replaces the fragments of a document; answers their ids. */
async function store(scope: AttachmentScope, texts: readonly string[]): Promise<number[]> {
  const analysed = await index.analyse(texts);
  const fragments = analysed.map((one) => ({ fragmentId: ++lastFragment, analysed: one }));
  await index.replaceAttachment(scope, fragments);
  return fragments.map(({ fragmentId }) => fragmentId);
}

async function storeNew(base: KnowledgeScope, texts: readonly string[]): Promise<number[]> {
  return store(await makeDocument(base), texts);
}

async function idsFor(base: KnowledgeScope, query: string): Promise<number[]> {
  const hits = await index.search(base, query, 100);
  return hits.map(({ fragmentId }) => fragmentId);
}

async function rowsOf({ tenantId, knowledgeId }: KnowledgeScope): Promise<number[]> {
  const counts = ['keyword_block', 'keyword_posting', 'keyword_document'].map((table) =>
    database.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${table} WHERE tenant_id = $1 AND knowledge_id = $2`,
      [tenantId, knowledgeId],
    ),
  );
  return (await Promise.all(counts)).map(([row]) => row?.count ?? -1);
}

describe('texts in many languages', () => {
  const names = new Map<number, string>();
  let base: KnowledgeScope;

  beforeAll(async () => {
    base = await makeBase();
    for (const { name, text } of sampleTexts) {
      const [id = 0] = await storeNew(base, [text]);
      names.set(id, name);
    }
  });

  it.each(sampleTexts)('$name is read as $language', async ({ language, text }) => {
    const [analysed] = await index.analyse([text]);
    expect(analysed?.language).toBe(language);
  });

  it.each(sampleQuestions)('"$question" finds $best', async ({ question, best }) => {
    const hits = await index.search(base, question, 10);
    expect(hits.map(({ fragmentId }) => names.get(fragmentId))[0]).toBe(best);
  });
});

describe('a search', () => {
  it('weighs a word of the question by how often it is in it', async () => {
    const base = await makeBase();
    const [, texture = 0] = await storeNew(base, [
      'The analysis of pictures by computers.',
      'The texture of fabrics in looms.',
      'Nothing of the kind.',
    ]);
    expect(await idsFor(base, 'analysis by computers of texture')).not.toEqual([texture]);
    const repeated = 'texture analysis: textures, texture models and textured surfaces';
    expect((await idsFor(base, repeated))[0]).toBe(texture);
  });

  it('finds fragments that have any one of the words, and says which', async () => {
    const base = await makeBase();
    const [both = 0, one = 0] = await storeNew(base, [
      'Harbour cranes are painted yellow.',
      'The harbour is closed in winter.',
      'Nothing of the kind.',
    ]);
    const hits = await index.search(base, 'yellow harbours quickly', 10);
    expect(hits).toEqual([
      { fragmentId: both, score: expect.any(Number), terms: ['yellow', 'harbours'] },
      { fragmentId: one, score: expect.any(Number), terms: ['harbours'] },
    ]);
  });

  it('finds the given fragments only, with the scores that they have among all', async () => {
    const base = await makeBase();
    const texts = ['A red boat.', 'A red, red boat with a red sail.', 'A boat.', 'A green bird.'];
    const [one = 0, two = 0, , four = 0] = await storeNew(base, texts);
    const all = await index.search(base, 'red boat', 10);
    const some = await index.search(base, 'red boat', 10, { fragmentIds: [four, two, one] });
    expect(some).toEqual(all.filter(({ fragmentId }) => [one, two].includes(fragmentId)));
    expect(some).toHaveLength(2);
    expect(await index.search(base, 'red', 10, { fragmentIds: [] })).toEqual([]);
  });

  it('finds the best of chosen documents alike, whether they have few fragments or many', async () => {
    const base = await makeBase();
    const red = await makeDocument(base);
    const reds = await store(
      red,
      Array.from({ length: 30 }, (_, at) => `A red boat, ${'sail '.repeat(at)}.`),
    );
    await storeNew(
      base,
      Array.from({ length: 60 }, () => 'Red, red boat.'),
    );
    await database.query(
      `INSERT INTO fragment (id, tenant_id, knowledge_id, attachment_id, doc_id, fid, idx, content, language, term_count)
       SELECT id, $1, $2, $3, 'document', 'chosen' || id, id, '', 'english', 1 FROM unnest($4::bigint[]) AS id`,
      [TENANT, base.knowledgeId, red.attachmentId, reds],
    );
    const search = async (): Promise<number[]> => {
      const options = { attachmentIds: [red.attachmentId] };
      const hits = await index.search(base, 'red boat', 5, options);
      return hits.map(({ fragmentId }) => fragmentId);
    };
    const few = await search();
    expect(few).toHaveLength(5);
    expect(reds).toEqual(expect.arrayContaining(few));
    const tooMany = Array.from({ length: 20_001 }, (_, at) => at);
    const repository = plinth.app.get(KeywordRepository);
    jest.spyOn(repository, 'fragmentsOf').mockResolvedValue(tooMany);
    expect(await search()).toEqual(few);
  });

  it('finds other forms of a word, whatever languages the base has', async () => {
    const base = await makeBase();
    const [english = 0] = await storeNew(base, [
      'The contractor delivers gravel to the building site every morning, and the foreman signs for each of the loads that arrive.',
    ]);
    const [german = 0] = await storeNew(base, [
      'Der Lieferant bringt jeden Morgen Kies auf die Baustelle, und der Polier unterschreibt für jede der Ladungen, die ankommen.',
    ]);
    expect(await idsFor(base, 'contractors delivering')).toEqual([english]);
    expect(await idsFor(base, 'Lieferanten der Baustellen')).toEqual([german]);
  });

  it('does not take the stop words of its language for words of another', async () => {
    const base = await makeBase();
    const [german = 0] = await storeNew(base, [
      'Die Garantie für Bohrmaschinen beträgt drei Jahre ab dem Kauf, wenn der Kassenbeleg vorgelegt wird.',
    ]);
    const [english = 0] = await storeNew(base, [
      'Most of the plants die in winter when the heating of the greenhouse fails for longer than a day.',
    ]);
    expect(await idsFor(base, 'Wie lange ist die Garantie?')).toEqual([german]);
    expect(await idsFor(base, 'when do the plants die')).toEqual([english]);
  });

  it('looks for stop words where there is nothing else', async () => {
    const base = await makeBase();
    const [called = 0] = await storeNew(base, [
      'Ask IT for a new laptop before the first day.',
      'It is what it is.',
    ]);
    expect(await idsFor(base, 'it')).toEqual([called]);
    expect(await idsFor(base, 'is it IT?')).toEqual([called]);
  });

  it.each(['', '  ', '?!', '🙂', "\u0000'; --"])('finds nothing for %j', async (query) => {
    const base = await makeBase();
    await storeNew(base, ['Some text.']);
    expect(await index.search(base, query, 10)).toEqual([]);
  });

  it('answers at most as many as asked for, equal ones in the order of their ids', async () => {
    const base = await makeBase();
    const first = await storeNew(base, ['red brick', 'red brick', 'red brick']);
    const second = await storeNew(base, ['red brick', 'red brick', 'blue brick']);
    const hits = await index.search(base, 'red', 4);
    expect(hits.map(({ fragmentId }) => fragmentId)).toEqual([...first, ...second].slice(0, 4));
  });

  it('stays within its knowledge base', async () => {
    const [one, other] = [await makeBase(), await makeBase()];
    const [own = 0] = await storeNew(one, ['lighthouse keeper']);
    await storeNew(other, ['lighthouse keeper']);
    expect(await idsFor(one, 'lighthouse')).toEqual([own]);
    expect(await idsFor({ ...one, tenantId: 'other' }, 'lighthouse')).toEqual([]);
    expect(await idsFor(await makeBase(), 'lighthouse')).toEqual([]);
  });

  it('bears a pasted document as its query, and ends when it is told to', async () => {
    const base = await makeBase();
    const [id = 0] = await storeNew(base, ['number 1 of many', 'none of them']);
    const pasted = Array.from({ length: 5_000 }, (_, number) => `number ${number}`).join(' ');
    expect(await idsFor(base, pasted)).toEqual([id]);
    const search = index.search(base, 'number', 10, {
      signal: AbortSignal.abort(new Error('gone')),
    });
    await expect(search).rejects.toThrow('gone');
  });
});

describe('the language of a base', () => {
  /** Four languages of eight could be meant by it. */
  const TITLE = 'Digital Data Communication Techniques';
  const TEXTS = [
    'The portal sends a mail to the leader of the team as soon as a request for leave has been entered.',
    'Most of the invoices that were sent to the office in May have not been paid by the end of June.',
  ];

  it('is that of its documents for a title that says nothing itself', async () => {
    const base = await makeBase();
    for (const text of TEXTS) {
      for (let count = 0; count < 6; count += 1) await storeNew(base, [text]);
    }
    const [analysed] = await index.analyse([TITLE], base);
    expect(analysed?.language).toBe('english');
    expect([...(analysed?.terms.keys() ?? [])]).toEqual(['digit', 'data', 'communic', 'techniqu']);
  });

  it('is that of its document for an edited fragment', async () => {
    const base = await makeBase();
    for (let count = 0; count < 6; count += 1) await storeNew(base, TEXTS);
    const scope = await makeDocument(base);
    await store(scope, [
      'Die Wartungsverträge werden jährlich geprüft und, wenn niemand widerspricht, um zwölf Monate verlängert.',
    ]);
    const [inDocument] = await index.analyse(['Offene Verträge'], scope);
    expect(inDocument?.language).toBe('german');
  });

  it.each(KNOWLEDGE_LANGUAGES.filter((one) => one !== AUTOMATIC))(
    'can be %s, which the database can stem',
    async (language) => {
      const base = await makeBase();
      const words = ['containers', 'договоры', 'οικονομίες', 'पुस्तकें', 'العقود', 'ընկերներ', 'மரங்கள்'];
      const [analysed] = await index.analyse([words.join(' ')], { ...base, language });
      expect(analysed).toMatchObject({ language, termCount: words.length });
    },
  );

  it('is the only one that questions are stemmed in, once its documents are indexed anew', async () => {
    const base = await makeBase();
    const scope = await makeDocument(base);
    const other = await makeDocument(base);
    await store(other, TEXTS);
    const [before = 0] = await store(scope, [
      'Die Verträge werden jährlich geprüft, und wenn niemand widerspricht, werden sie um ein Jahr verlängert.',
    ]);
    expect(await idsFor(base, 'Vertrag')).toEqual([before]);
    expect(await languagesOf(base)).toEqual([['english', 'german']]);
    await store(scope, TEXTS);
    expect(await languagesOf(base)).toEqual([['english']]);
  });

  it('is searched as before where documents were indexed by an earlier release', async () => {
    const base = await makeBase();
    const [old = 0] = await storeNew(base, [
      'Die Verträge werden jährlich geprüft, und wenn niemand widerspricht, werden sie um ein Jahr verlängert.',
    ]);
    await database.query(
      'UPDATE keyword_document SET languages = NULL WHERE tenant_id = $1 AND knowledge_id = $2',
      [TENANT, base.knowledgeId],
    );
    const scope = await makeDocument(base);
    await store(scope, TEXTS);
    await store(scope, TEXTS);
    expect(await languagesOf(base)).toEqual([['english', 'german']]);
    expect(await idsFor(base, 'Vertrag')).toEqual([old]);
  });

  async function languagesOf({ tenantId, knowledgeId }: KnowledgeScope): Promise<string[][]> {
    const blocks = await database.query<{ languages: string[] }>(
      'SELECT languages FROM keyword_block WHERE tenant_id = $1 AND knowledge_id = $2 ORDER BY id',
      [tenantId, knowledgeId],
    );
    return blocks.map(({ languages }) => languages.toSorted());
  }
});

describe('a document in the index', () => {
  it('takes the language of its longer texts for its short ones', async () => {
    const analysed = await index.analyse([
      'Die Wartungsverträge werden jährlich geprüft und, wenn niemand widerspricht, um zwölf Monate verlängert.',
      'Offene Verträge',
      '维护合同',
    ]);
    expect(analysed.map(({ language }) => language)).toEqual(['german', 'german', 'simple']);
    expect([...(analysed[1]?.terms.keys() ?? [])]).toContain('vertrag');
  });

  it('cannot be deleted while the index holds it, but with its whole base', async () => {
    const base = await makeBase();
    const kept = await makeDocument(base);
    const gone = await makeDocument(base);
    await store(kept, ['granite quarry']);
    await store(gone, ['granite statue']);
    const remove = 'DELETE FROM attachment WHERE tenant_id = $1 AND id = $2';
    await expect(database.query(remove, [TENANT, gone.attachmentId])).rejects.toThrow(
      'keyword_document',
    );
    await index.removeAttachment(gone);
    await database.query(remove, [TENANT, gone.attachmentId]);
    expect(await rowsOf(base)).toEqual([1, 2, 1]);
    expect(await idsFor(base, 'granite statue')).toHaveLength(1);
    await database.query('DELETE FROM knowledge_base WHERE tenant_id = $1 AND id = $2', [
      TENANT,
      base.knowledgeId,
    ]);
    expect(await rowsOf(base)).toEqual([0, 0, 0]);
  });

  it('is packed before its block is locked, and other work comes in between', async () => {
    const scope = await makeDocument(await makeBase());
    const terms = new Map(Array.from({ length: 50 }, (_, at) => [`term${at}`, 1]));
    const analysed = { language: 'simple', termCount: terms.size, terms };
    const fragments = Array.from({ length: 20_000 }, () => ({
      fragmentId: ++lastFragment,
      analysed,
    }));
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    count();
    const repository = plinth.app.get(KeywordRepository);
    const holdDocument = repository.holdDocument.bind(repository);
    const takeBlock = repository.takeBlock.bind(repository);
    let atHold = 0;
    let atTake = 0;
    jest.spyOn(repository, 'holdDocument').mockImplementationOnce(async (held) => {
      const document = await holdDocument(held);
      atHold = turns;
      return document;
    });
    jest.spyOn(repository, 'takeBlock').mockImplementationOnce((...taken) => {
      atTake = turns;
      return takeBlock(...taken);
    });
    await index.replaceAttachment(scope, fragments);
    counting = false;
    expect(atTake).toBeGreaterThan(atHold);
    expect(await index.search(scope, 'term7', fragments.length + 1)).toHaveLength(fragments.length);
  });

  it('rolls back with the transaction around it', async () => {
    const base = await makeBase();
    const scope = await makeDocument(base);
    const [before = 0] = await store(scope, ['granite quarry']);
    const [analysed] = await index.analyse(['marble quarry']);
    const change = database.transaction(async () => {
      await index.replaceAttachment(scope, analysed ? [{ fragmentId: 999_999, analysed }] : []);
      throw new Error('no');
    });
    await expect(change).rejects.toThrow('no');
    expect(await idsFor(base, 'quarry')).toEqual([before]);
    expect(await idsFor(base, 'marble')).toEqual([]);
  });

  it('can be written by several at once before it is known', async () => {
    const base = await makeBase();
    for (let round = 0; round < 8; round += 1) {
      const scope = await makeDocument(base);
      const writes = ['first', 'second', 'third', 'fourth'].map((word) => store(scope, [word]));
      await Promise.all(writes);
      await index.removeAttachment(scope);
    }
    expect(await rowsOf(base)).toEqual([0, 0, 0]);
  });

  it('can be written while others of its base are', async () => {
    const base = await makeBase();
    const documents = await Promise.all(Array.from({ length: 12 }, () => makeDocument(base)));
    const rounds = [1, 2, 3].map((round) =>
      Promise.all(documents.map((scope) => store(scope, [`shared words of round ${round}`]))),
    );
    await Promise.all(rounds);
    expect(await index.search(base, 'shared', 100)).toHaveLength(12);
    for (const scope of documents) await index.removeAttachment(scope);
    expect(await rowsOf(base)).toEqual([0, 0, 0]);
  });
});

describe('the index', () => {
  // Numbers are never stemmed and never stop words, so that the model needs to know of neither.
  const text = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 12 });
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('replace' as const),
      document: fc.nat(3),
      texts: fc.array(text, { maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant('large' as const), document: fc.nat(3), text }),
    fc.record({ kind: fc.constant('remove' as const), document: fc.nat(3) }),
    fc.record({
      kind: fc.constant('change' as const),
      document: fc.nat(3),
      at: fc.nat(4),
      text: fc.option(text),
    }),
  );

  /** Ids by their scores; which of two equal ones is first depends on the last bit of their sums. */
  function ranked(scored: readonly (readonly [number, number])[]): number[] {
    const rounded = scored.map(([id, score]) => [id, Math.round(score * 1e9)] as const);
    return rounded.toSorted(([a, x], [b, y]) => y - x || a - b).map(([id]) => id);
  }

  it('holds after any changes what a list of the fragments would', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const base = await makeBase();
        const scopes = [];
        for (let count = 0; count < 4; count += 1) scopes.push(await makeDocument(base));
        const model = scopes.map((scope) => ({ scope, texts: new Map<number, number[]>() }));
        for (const one of steps) await take(one, model[one.document]);
        const fragments = model.flatMap(({ texts }) => [...texts]);
        for (const query of [[1], [2, 3], [1, 4, 7, 12]]) {
          const hits = await index.search(base, query.join(' '), 5_000);
          const expected = bm25(fragments, query);
          expect(hits).toHaveLength(expected.length);
          const found = hits.map(({ fragmentId, score }) => [fragmentId, score] as const);
          expect(ranked(found)).toEqual(ranked(expected));
          hits.forEach(({ score }, at) => expect(score).toBeCloseTo(expected[at]?.[1] ?? -1, 9));
        }
        for (const { scope } of model) await index.removeAttachment(scope);
        expect(await rowsOf(base)).toEqual([0, 0, 0]);
      }),
      { numRuns: 12 },
    );
  });

  /** More fragments than documents of one block have. */
  const LARGE = 1_100;

  type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
  interface Modelled {
    readonly scope: AttachmentScope;
    readonly texts: Map<number, number[]>;
  }

  async function take(one: Step, document: Modelled | undefined): Promise<void> {
    if (!document) throw new Error('There is no such document.');
    const { scope, texts } = document;
    if (one.kind === 'change') return change(document, one.at, one.text);
    const numbers =
      one.kind === 'remove' ? [] : one.kind === 'replace' ? one.texts : repeated(one.text, LARGE);
    if (one.kind === 'remove') await index.removeAttachment(scope);
    const ids = await store(
      scope,
      numbers.map((each) => each.join(' ')),
    );
    texts.clear();
    ids.forEach((id, at) => texts.set(id, numbers[at] ?? []));
  }

  const repeated = (one: number[], times: number): number[][] =>
    Array.from({ length: times }, () => one);

  /** Changes or removes the fragment at the position, or adds one behind the last. */
  async function change(
    { scope, texts }: Modelled,
    at: number,
    to: number[] | null,
  ): Promise<void> {
    const id = [...texts.keys()][at] ?? ++lastFragment;
    const [analysed] = to ? await index.analyse([to.join(' ')]) : [];
    await index.replaceFragment(scope, id, analysed);
    if (to) texts.set(id, to);
    else texts.delete(id);
  }

  function bm25(
    fragments: readonly (readonly [id: number, terms: readonly number[]])[],
    query: readonly number[],
  ): (readonly [id: number, score: number])[] {
    const average = fragments.reduce((sum, [, terms]) => sum + terms.length, 0) / fragments.length;
    const weights = query.map((term) => {
      const having = fragments.filter(([, terms]) => terms.includes(term)).length;
      return { term, rarity: Math.log(1 + (fragments.length - having + 0.5) / (having + 0.5)) };
    });
    const scored = fragments.map(([id, terms]) => {
      const score = weights.reduce((sum, { term, rarity }) => {
        const frequency = terms.filter((one) => one === term).length;
        const norm = 1.2 * (0.25 + (0.75 * terms.length) / average);
        return frequency === 0 ? sum : sum + (rarity * frequency * 2.2) / (frequency + norm);
      }, 0);
      return [id, score] as const;
    });
    return scored
      .filter(([, score]) => score > 0)
      .sort((one, other) => other[1] - one[1] || one[0] - other[0]);
  }
});
