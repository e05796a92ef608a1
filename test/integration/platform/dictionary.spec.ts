import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TenantLifecycle } from '../../../src/platform/access/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { DuplicateDictionaryValueError } from '../../../src/dictionary/dictionary.errors.js';
import { DictionaryRepository } from '../../../src/dictionary/dictionary.repository.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Entry {
  dictCode: number;
  dictLabel: string;
  dictValue: string;
  dictSort: number;
  sort: number;
  seeded: boolean;
}

interface DictType {
  dictId: number;
  dictName: string;
  dictType: string;
}

const CATEGORIES = '/system/dict/data/type/chat_model_category';

describe('the dictionary', () => {
  let plinth: Plinth;
  let admin: Session;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
  });

  afterAll(async () => {
    await plinth.stop();
  });

  const entriesOf = async (dictType: string): Promise<Entry[]> =>
    (await admin.get<Entry[]>(`/system/dict/data/type/${dictType}`)).data;

  const category = async (value: string): Promise<Entry> => {
    const found = (await entriesOf('chat_model_category')).find((one) => one.dictValue === value);
    if (!found) throw new Error(`There is no category ${value}.`);
    return found;
  };

  async function newType(dictType: string): Promise<number> {
    const { code, data } = await admin.post<number>('/system/dict/type', {
      dictName: 'A type',
      dictType,
    });
    expect(code).toBe(200);
    return data;
  }

  async function newEntry(dictType: string, dictValue: string, more: object = {}): Promise<number> {
    const body = { dictType, dictLabel: dictValue, dictValue, ...more };
    const { code, data } = await admin.post<number>('/system/dict/data', body);
    expect(code).toBe(200);
    return data;
  }

  it('starts with the model categories in the order of the specification', async () => {
    const { code, data } = await admin.get<Entry[]>(CATEGORIES);
    expect(code).toBe(200);
    expect(data.map(({ dictValue, dictLabel }) => [dictValue, dictLabel])).toEqual([
      ['chat', 'Chat'],
      ['vector', 'Embedding'],
      ['rerank', 'Reranking'],
      ['image', 'Image generation'],
      ['audio', 'Speech generation'],
      ['video', 'Video generation'],
    ]);
    expect(data[0]).toEqual({
      dictCode: expect.any(Number),
      dictSort: 1,
      sort: 1,
      dictLabel: 'Chat',
      dictValue: 'chat',
      dictType: 'chat_model_category',
      cssClass: null,
      listClass: null,
      isDefault: 'N',
      seeded: true,
      remark: null,
      revision: 1,
      createTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
  });

  it('gives a new tenant the categories, and changes nothing the second time', async () => {
    const database = plinth.app.get(Database);
    await database.query(
      "INSERT INTO tenant (tenant_id, company_name) VALUES ('700001', 'New') ON CONFLICT DO NOTHING",
    );
    const seed = (): Promise<void> => plinth.app.get(TenantLifecycle).created('700001');
    const stored = (): Promise<unknown[]> =>
      database.query(
        "SELECT dict_value, dict_label FROM dictionary_entry WHERE tenant_id = '700001' AND dict_type = 'chat_model_category' ORDER BY dict_sort",
      );
    await seed();
    await database.query(
      "UPDATE dictionary_entry SET dict_label = 'Talk' WHERE tenant_id = '700001' AND dict_value = 'chat'",
    );
    await seed();
    const rows = await stored();
    expect(rows).toHaveLength(6);
    expect(rows[0]).toEqual({ dict_value: 'chat', dict_label: 'Talk' });
  });

  it('answers an unknown type with an empty array', async () => {
    expect(await admin.get('/system/dict/data/type/nothing')).toMatchObject({
      code: 200,
      data: [],
    });
    expect(await admin.get('/system/dict/data/type/%00')).toMatchObject({ code: 400 });
  });

  it('lets label and sort of a built-in entry change, not its value, its type or its existence', async () => {
    const chat = await category('chat');
    const body = { dictCode: chat.dictCode, dictType: 'chat_model_category', dictValue: 'chat' };
    expect(
      (await admin.put('/system/dict/data', { ...body, dictLabel: 'Talk', dictSort: '9' })).code,
    ).toBe(200);
    expect((await entriesOf('chat_model_category')).at(-1)).toMatchObject({
      dictLabel: 'Talk',
      dictValue: 'chat',
      dictSort: 9,
      sort: 9,
    });
    await newType('elsewhere');
    for (const change of [{ dictValue: 'talk' }, { dictType: 'elsewhere' }]) {
      expect(await admin.put('/system/dict/data', { ...body, ...change })).toMatchObject({
        code: 409,
        msg: 'The entry chat of chat_model_category is built in: stored records use its value. Change its label or its sort instead.',
      });
    }
    expect((await admin.delete(`/system/dict/data/${chat.dictCode}`)).code).toBe(409);
    expect((await category('chat')).dictLabel).toBe('Talk');
    await admin.put('/system/dict/data', { dictCode: chat.dictCode, dictLabel: 'Chat', sort: 1 });
    expect((await entriesOf('chat_model_category'))[0]).toMatchObject({
      dictLabel: 'Chat',
      sort: 1,
    });
  });

  it('keeps the built-in type', async () => {
    const { data } = await admin.get<DictType[]>('/system/dict/type/optionselect');
    const type = data.find((one) => one.dictType === 'chat_model_category');
    if (!type) throw new Error('There is no chat_model_category.');
    const rename = { dictId: type.dictId, dictType: 'other_category' };
    expect((await admin.put('/system/dict/type', rename)).code).toBe(409);
    expect((await admin.delete(`/system/dict/type/${type.dictId}`)).code).toBe(409);
    expect(await entriesOf('chat_model_category')).toHaveLength(6);
  });

  it('adds, orders by sort then id, changes and deletes entries of its own', async () => {
    await newType('size');
    const large = await newEntry('size', 'L', { dictSort: 2 });
    const small = await newEntry('size', 'S', { sort: 1 });
    await newEntry('size', 'XL', { dictSort: '2' });
    expect((await entriesOf('size')).map((one) => one.dictValue)).toEqual(['S', 'L', 'XL']);
    expect((await admin.put('/system/dict/data', { dictCode: small, dictValue: 'XS' })).code).toBe(
      200,
    );
    expect((await admin.get<Entry>(`/system/dict/data/${small}`)).data).toMatchObject({
      dictCode: small,
      dictLabel: 'S',
      dictValue: 'XS',
      dictSort: 1,
      seeded: false,
    });
    expect((await admin.delete(`/system/dict/data/${large},${small}`)).code).toBe(200);
    expect((await entriesOf('size')).map((one) => one.dictValue)).toEqual(['XL']);
  });

  it('deletes all of the ids or none', async () => {
    await newType('none_or_all');
    const id = await newEntry('none_or_all', 'a');
    expect(await admin.delete(`/system/dict/data/${id},99999999`)).toMatchObject({
      code: 404,
      msg: 'The dictionary entry was not found. It may have been deleted.',
    });
    expect(await entriesOf('none_or_all')).toHaveLength(1);
  });

  it('refuses a second entry with one value, and an entry without a type', async () => {
    await newType('once');
    await newEntry('once', 'a');
    const b = await newEntry('once', 'b');
    const twice = { dictType: 'once', dictLabel: 'A', dictValue: 'a' };
    const msg = 'once already has an entry with the value a. Choose another dictValue.';
    expect(await admin.post('/system/dict/data', twice)).toMatchObject({ code: 409, msg });
    expect(await admin.put('/system/dict/data', { dictCode: b, dictValue: 'a' })).toMatchObject({
      code: 409,
      msg,
    });
    expect(
      await admin.post('/system/dict/data', { ...twice, dictType: 'unknown_type' }),
    ).toMatchObject({
      code: 400,
      msg: 'There is no dictionary type unknown_type. Create it first, or choose another dictType.',
    });
  });

  it('decides a race for one value by the index: one wins, the others get the same refusal', async () => {
    await newType('raced');
    const body = { dictType: 'raced', dictLabel: 'A', dictValue: 'a' };
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => admin.post('/system/dict/data', body)),
    );
    expect(answers.map((answer) => answer.code).sort()).toEqual([200, 409, 409, 409]);
    expect(await entriesOf('raced')).toHaveLength(1);
    const entry = {
      dictType: 'raced',
      dictLabel: 'A',
      dictValue: 'a',
      dictSort: 0,
      isDefault: 'N',
      seeded: false,
    };
    await expect(plinth.app.get(DictionaryRepository).insertEntry('000000', entry)).rejects.toThrow(
      new DuplicateDictionaryValueError('raced', 'a'),
    );
  });

  it('lists, finds and changes types; entries follow a new dictType', async () => {
    const id = await newType('shape');
    await newEntry('shape', 'round');
    expect(
      (await admin.put('/system/dict/type', { dictId: id, dictType: 'form', dictName: 'Forms' }))
        .code,
    ).toBe(200);
    expect((await admin.get<DictType>(`/system/dict/type/${id}`)).data).toMatchObject({
      dictId: id,
      dictName: 'Forms',
      dictType: 'form',
    });
    expect(await entriesOf('shape')).toEqual([]);
    expect((await entriesOf('form')).map((one) => one.dictValue)).toEqual(['round']);
    const page = await admin.get<DictType[]>('/system/dict/type/list?dictType=for');
    expect(page).toMatchObject({ code: 200, total: 1, rows: [{ dictId: id }] });
    expect(page).not.toHaveProperty('data');
  });

  it('deletes a type only when it has no entries', async () => {
    const id = await newType('emptied');
    const entry = await newEntry('emptied', 'a');
    expect(await admin.delete(`/system/dict/type/${id}`)).toMatchObject({
      code: 409,
      msg: 'The dictionary type emptied still has entries. Delete them first.',
    });
    await admin.delete(`/system/dict/data/${entry}`);
    expect((await admin.delete(`/system/dict/type/${id}`)).code).toBe(200);
    expect((await admin.get(`/system/dict/type/${id}`)).code).toBe(404);
  });

  it.each(['Upper', '1digit', 'with-dash', 'with space', '', '_a'])(
    'refuses %p as a dictType',
    async (dictType) => {
      const { code, msg } = await admin.post('/system/dict/type', { dictName: 'x', dictType });
      expect(code).toBe(400);
      expect(msg).toMatch(/^dictType must/);
    },
  );

  it('refuses a dictType that exists', async () => {
    const body = { dictName: 'x', dictType: 'chat_model_category' };
    expect(await admin.post('/system/dict/type', body)).toMatchObject({
      code: 409,
      msg: 'The dictionary type chat_model_category already exists. Choose another dictType.',
    });
  });

  it('answers records of another tenant like missing ones', async () => {
    const database = plinth.app.get(Database);
    await database.query("INSERT INTO tenant (tenant_id, company_name) VALUES ('700002', 'Other')");
    await plinth.app.get(TenantLifecycle).created('700002');
    const [type] = await database.query<{ id: number }>(
      "SELECT id FROM dictionary_type WHERE tenant_id = '700002'",
    );
    const [entry] = await database.query<{ id: number }>(
      "SELECT id FROM dictionary_entry WHERE tenant_id = '700002' ORDER BY id",
    );
    const paths = [`/system/dict/type/${type?.id}`, `/system/dict/data/${entry?.id}`];
    for (const path of paths) {
      expect((await admin.get(path)).code).toBe(404);
      expect((await admin.delete(path)).code).toBe(404);
    }
    const edits: [string, object][] = [
      ['/system/dict/type', { dictId: type?.id, dictName: 'mine' }],
      ['/system/dict/data', { dictCode: entry?.id, dictLabel: 'mine' }],
    ];
    for (const [path, body] of edits) expect((await admin.put(path, body)).code).toBe(404);
  });

  it('is closed to anonymous callers', async () => {
    expect((await plinth.anonymous().get(CATEGORIES)).code).toBe(401);
  });
});
