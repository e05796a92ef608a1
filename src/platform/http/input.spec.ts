import { describe, expect, it } from '@jest/globals';
import { InvalidInputError } from '../error/index.js';
import {
  AnyObject,
  Decimal,
  Flag,
  Id,
  Ids,
  inputPipe,
  OneOf,
  Text,
  Texts,
  Whole,
  ZeroOrOne,
} from './input.js';

class Body {
  @Text({ max: 5 }) name?: string;
  @Text({ optional: true }) remark?: string;
  @Whole({ optional: true, min: 1, max: 9 }) size?: number;
  @Decimal({ optional: true, max: 1 }) share?: number;
  @Id({ optional: true }) id?: number;
  @OneOf(['0', '1'], { optional: true }) status?: string;
  @ZeroOrOne({ optional: true }) open?: number;
  @Flag({ optional: true }) loud?: boolean;
  @Texts({ optional: true }) names?: string[];
  @Ids({ optional: true }) ids?: number[];
}

const read = (body: unknown): Promise<Body> =>
  inputPipe().transform(body, { type: 'body', metatype: Body }) as Promise<Body>;

async function problem(body: unknown): Promise<string> {
  const error: unknown = await read(body).catch((thrown: unknown) => thrown);
  if (error instanceof InvalidInputError) return error.message;
  throw new Error('It was accepted.');
}

describe('an object of any fields', () => {
  class Holder {
    @AnyObject({ optional: true }) held?: Readonly<Record<string, unknown>> | null;
    @AnyObject({ optional: true, clearable: true }) other?: Readonly<
      Record<string, unknown>
    > | null;
  }
  const readJson = async (json: string): Promise<Holder> =>
    (await inputPipe().transform(JSON.parse(json), {
      type: 'body',
      metatype: Holder,
    })) as Holder;

  it('is read exactly as it was sent', async () => {
    const json =
      '{"b":1,"constructor":{"a":[null]},"prototype":2,"toString":"x","__proto__":{"z":3},"a":{}}';
    const { held } = await readJson(`{"held":${json}}`);
    expect(JSON.stringify(held)).toBe(json);
  });

  it('is refused when it is none, and an empty text clears it where it can be cleared', async () => {
    for (const other of ['[]', '"x"', '5', 'true', '""']) {
      await expect(readJson(`{"held":${other}}`)).rejects.toThrow('held must be an object');
    }
    expect((await readJson('{"held":null,"other":""}')).held).toBeUndefined();
    expect((await readJson('{"held":null,"other":""}')).other).toBeNull();
  });
});

describe('fields', () => {
  it('read the spellings of existing clients', async () => {
    const body = {
      name: 7,
      size: '3',
      share: ' 0.5 ',
      id: '12',
      status: 1,
      open: true,
      loud: 'false',
      names: 'a, b',
      ids: ['1', 2],
      unknown: 'dropped',
    };
    expect({ ...(await read(body)) }).toEqual({
      name: '7',
      size: 3,
      share: 0.5,
      id: 12,
      status: '1',
      open: 1,
      loud: false,
      names: ['a', 'b'],
      ids: [1, 2],
    });
  });

  it('take null, and blank for a number, as not given', async () => {
    const body = await read({ name: 'x', remark: null, size: '', id: null, ids: null });
    expect(Object.values(body).filter((value) => value !== undefined)).toEqual(['x']);
  });

  it('keep an empty optional text, which means "make it empty"', async () => {
    expect((await read({ name: 'x', remark: '' })).remark).toBe('');
  });

  it.each([
    [{}, 'name is required'],
    [{ name: null }, 'name is required'],
    [{ name: ' \n' }, 'name must not be empty'],
    [{ name: '\u200b\u00ad' }, 'name must not be empty'],
    [{ name: 'toolong' }, 'name must have at most 5 characters'],
    [{ name: { $gt: '' } }, 'name must be text'],
    [{ name: 'a\u0000' }, 'name must not contain the NUL character'],
    [{ name: 'x', size: 10 }, 'size must be at most 9'],
    [{ name: 'x', size: '1e3' }, 'size must be a whole number'],
    [{ name: 'x', share: 'NaN' }, 'share must be a number'],
    [{ name: 'x', id: 0 }, 'id must be at least 1'],
    [{ name: 'x', status: '2' }, 'status must be one of 0, 1'],
    [{ name: 'x', loud: 'perhaps' }, 'loud must be true or false'],
    [{ name: 'x', ids: 'a' }, 'each entry of ids must be an id'],
  ])('refuse %j', async (body, message) => {
    expect(await problem(body)).toContain(message);
  });
});
