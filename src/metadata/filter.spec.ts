import { describe, expect, it } from '@jest/globals';
import { InvalidInputError } from '../platform/error/index.js';
import { allOf, keysOf, readFilter, readFilterText, jsonPathOf } from './filter.js';
import type { MetadataFilter } from './filter.js';

function nested(depth: number): object {
  const inner = { key: 'a', op: 'exists', value: true };
  return Array.from({ length: depth }).reduce<object>((filter) => ({ not: filter }), inner);
}

const conditions = (count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({ key: 'a', op: 'eq', value: at }));

const LONG = Array.from({ length: 20 }, () => 'x'.repeat(1_000));

describe('readFilter', () => {
  it.each<[unknown, string]>([
    [null, 'filter must be an object'],
    ['author', 'filter must be an object'],
    [[], 'filter must be an object'],
    [{}, 'filter.key must be text'],
    [{ and: [] }, 'filter.and must be a list of at least one filter'],
    [{ or: { key: 'a' } }, 'filter.or must be a list'],
    [{ not: [] }, 'filter.not must be an object'],
    [{ and: [{ key: 'a', op: 'eq', value: 1 }], or: [] }, 'filter must have nothing beside and'],
    [{ not: nested(0), key: 'a' }, 'filter must have nothing beside not'],
    [{ key: 'a', op: 'like', value: 1 }, 'filter.op must be one of eq, ne, in, nin, gt'],
    [{ key: 'a', op: 'eq', value: 1, boost: 2 }, 'filter has the unknown field "boost"'],
    [{ key: '_a', op: 'eq', value: 1 }, 'filter.key is "_a". A key has'],
    [{ key: 'a', op: 'eq' }, 'filter.value must be a text, a number or a date'],
    [{ key: 'a', op: 'eq', value: ['x'] }, 'filter.value must be a text, a number or a date'],
    [{ key: 'a', op: 'in', value: 'x' }, 'filter.value must be a list of 1 to 100 values for in'],
    [{ key: 'a', op: 'nin', value: [] }, 'filter.value must be a list of 1 to 100 values for nin'],
    [{ key: 'a', op: 'in', value: [1, true] }, 'filter.value[1] must be a text'],
    [{ key: 'a', op: 'gt', value: 'x' }, 'filter.value must be a number or a date'],
    [{ key: 'a', op: 'gt', value: '2026-02-30' }, 'filter.value is 2026-02-30'],
    [{ key: 'a', op: 'contains', value: 1 }, 'filter.value must be text'],
    [{ key: 'a', op: 'exists', value: 'yes' }, 'filter.value must be true or false'],
    [{ and: [nested(0), { or: [{ op: 'eq' }] }] }, 'filter.and[1].or[0].key must be text'],
    [nested(6), 'is too deep'],
    [{ and: conditions(51) }, 'more than 50 conditions'],
    [{ key: 'a', op: 'eq', value: 'x'.repeat(1_001) }, 'filter.value has 1001 characters'],
    [{ key: 'a', op: 'in', value: LONG }, 'characters as JSON'],
    [nested(100_000), 'is too deep'],
  ])('refuses %# and says where', (given, message) => {
    expect(() => readFilter(given)).toThrow(InvalidInputError);
    expect(() => readFilter(given)).toThrow(message);
  });

  it('takes what is at the limits, and brings texts and dates into one form', () => {
    expect(readFilter(nested(5))).toEqual(nested(5));
    expect(readFilter({ and: conditions(50) })).toEqual({ and: conditions(50) });
    expect(readFilter({ key: 'a', op: 'exists' })).toEqual({ key: 'a', op: 'exists', value: true });
    const date = { key: 'e\u0301', op: 'gte', value: '2026-01-31 10:00:00+02:00' };
    expect(readFilter(date)).toEqual({ key: 'é', op: 'gte', value: '2026-01-31T08:00:00.000Z' });
  });

  it('reads JSON from a text, and nothing from an empty one', () => {
    expect(readFilterText(undefined)).toBeUndefined();
    expect(readFilterText(' ')).toBeUndefined();
    expect(readFilterText(JSON.stringify(nested(1)))).toEqual(nested(1));
    expect(() => readFilterText('{')).toThrow('filter must be JSON');
  });
});

describe('allOf and keysOf', () => {
  it('joins the filters that there are, and names their keys', () => {
    const [one, other] = ['one', 'other'].map((key) => readFilter({ key, op: 'eq', value: 1 })) as [
      MetadataFilter,
      MetadataFilter,
    ];
    expect(allOf(undefined, null)).toBeUndefined();
    expect(allOf(undefined, one)).toBe(one);
    expect(allOf(one, other)).toEqual({ and: [one, other] });
    expect(keysOf({ or: [one, { not: { and: [other] } }] })).toEqual(['one', 'other']);
  });
});

describe('jsonPathOf', () => {
  it('quotes keys and texts, and asks for the type first', () => {
    const filter = readFilter({ and: [{ key: 'a b', op: 'ne', value: '"\n\\' }] });
    expect(jsonPathOf(filter)).toBe('(!(($."a b".type() == "string" && $."a b" == "\\"\\n\\\\")))');
    expect(jsonPathOf(readFilter({ key: 'n', op: 'lt', value: -0.5 }))).toBe(
      '($."n".type() == "number" && $."n" < -0.5)',
    );
  });
});
