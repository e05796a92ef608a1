import { describe, expect, it } from '@jest/globals';
import { checkAnswer, checkSchema, withoutFence } from './schema.worker.js';

const LIMIT = { limitMs: 60_000 };
const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: 'integer' },
    role: { enum: ['user', 'admin'] },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
  },
  required: ['name', 'age'],
  additionalProperties: false,
  $defs: { tag: { type: 'string', pattern: '^[a-z]+$' } },
};

function problemsOf(schema: object): unknown {
  return checkSchema({ schema: JSON.stringify(schema), ...LIMIT });
}

function answered(schema: object, text: string): unknown {
  return checkAnswer({ schema: JSON.stringify(schema), text, ...LIMIT });
}

function objectOf(properties: object, more: object = {}): object {
  return { type: 'object', properties, ...more };
}

describe('a schema', () => {
  it('is accepted with what generators of schemas write', () => {
    expect(problemsOf(PERSON)).toEqual([]);
    expect(problemsOf({ ...PERSON, $schema: 'http://json-schema.org/draft-07/schema#' })).toEqual(
      [],
    );
    const described = {
      type: 'string',
      title: 'When',
      description: 'A day',
      format: 'date',
      default: '2026-01-01',
      examples: ['2026-01-31'],
    };
    expect(
      problemsOf(
        objectOf(
          { when: { anyOf: [described, { type: 'null' }] }, itself: { $ref: '#' } },
          { $schema: 'https://json-schema.org/draft/2020-12/schema' },
        ),
      ),
    ).toEqual([]);
    expect(problemsOf(objectOf({ title: { type: 'string' }, $ref: { type: 'string' } }))).toEqual(
      [],
    );
  });

  it.each([
    ['a list', { type: 'array' }, '/type'],
    ['no type', {}, '/type'],
    ['a dialect of its own', { type: 'object', $schema: 'https://x.test/schema' }, '/$schema'],
    ['a wrong type', objectOf({ a: { type: 'text' } }), '/properties/a/type'],
    ['a wrong limit', objectOf({ a: { minLength: 'x' } }), '/properties/a/minLength'],
    ['the name of a method', { type: 'object', constructor: {} }, '/constructor'],
    ['an unknown keyword', objectOf({ a: { typ: 'string' } }), '/properties/a/typ'],
    ['a remote part', objectOf({ a: { $ref: 'https://x.test/a' } }), '/properties/a/$ref'],
    ['a file', objectOf({ a: { $ref: 'other.json#/a' } }), '/properties/a/$ref'],
    ['a missing part', objectOf({ a: { $ref: '#/$defs/no' } }), '/properties/a/$ref'],
    ['a name of its own', objectOf({ a: { $id: 'https://x.test/a' } }), '/properties/a/$id'],
    ['a promise', { type: 'object', $async: true }, '/$async'],
    ['no pattern', objectOf({ a: { pattern: '(' } }), '/properties/a/pattern'],
    ['a name no pattern', { type: 'object', patternProperties: { '(': {} } }, '/patternProperties'],
    ['a name with a slash', objectOf({ 'a/b~': { typ: 1 } }), '/properties/a~1b~0/typ'],
    ['in alternatives', objectOf({ a: { anyOf: [{}, { typ: 1 }] } }), '/properties/a/anyOf/1/typ'],
  ])('is refused with %s, with the path', (_what, schema, path) => {
    expect(problemsOf(schema)).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ path })]),
    );
  });

  it('is refused when it is too deep or its names are not safe', () => {
    let deep: object = { type: 'string' };
    for (let level = 0; level < 10; level += 1) deep = objectOf({ a: deep });
    expect(problemsOf(deep)).toEqual([
      {
        path: '/properties/a'.repeat(8),
        rule: 'depth',
        message: 'is nested more than 16 deep',
      },
    ]);
    const schema = '{"type":"object","properties":{"__proto__":{"type":"string"}}}';
    expect(checkSchema({ schema, ...LIMIT })).toMatchObject([{ path: '/properties' }]);
  });
});

describe('an answer', () => {
  it('fits, with the white space and the code fence around it left out', () => {
    const json = '{"name":"Ada", "age":36, "tags":["a"]}';
    expect(answered(PERSON, json)).toEqual({ problems: [], json });
    expect(answered(PERSON, ` \n\`\`\`json\n${json}\n\`\`\`\n`)).toEqual({ problems: [], json });
  });

  it.each([
    ['{"name":"Ada"}', '', 'required', /'age'/],
    ['{"name":"","age":1}', '/name', 'minLength', /fewer than 1/],
    ['{"name":"Ada","age":"36"}', '/age', 'type', /must be integer/],
    ['{"name":"Ada","age":1,"role":"x"}', '/role', 'enum', /\["user","admin"\]/],
    ['{"name":"Ada","age":1,"tags":["a","B"]}', '/tags/1', 'pattern', /\^\[a-z\]\+\$/],
    ['{"name":"Ada","age":1,"x":1}', '', 'additionalProperties', /"x"/],
    ['[]', '', 'type', /must be object/],
    ['Here it is: {}', '', 'json', /not valid JSON/],
    ['{"name":"Ada"', '', 'json', /not valid JSON/],
    ['', '', 'json', /empty/],
  ])('that does not fit is told with path and rule: %s', (text, path, rule, message) => {
    const expected = { path, rule, message: expect.stringMatching(message) };
    expect(answered(PERSON, text)).toEqual({ problems: expect.arrayContaining([expected]) });
  });

  it('does not have the properties that every object inherits', () => {
    expect(answered({ type: 'object', required: ['toString'] }, '{}')).toMatchObject({
      problems: [{ rule: 'required' }],
    });
  });

  it('that is long is told with its first problem alone', () => {
    const schema = objectOf({ a: { type: 'array', items: { type: 'string' } } });
    const numbers = (count: number): string => JSON.stringify({ a: Array(count).fill(1) });
    expect(answered(schema, numbers(20))).toMatchObject({ problems: { length: 10 } });
    expect(answered(schema, numbers(100_000))).toMatchObject({ problems: [{ path: '/a/0' }] });
  });

  it.each([
    objectOf({ a: { type: 'string', pattern: '^(a+)+$' } }),
    objectOf({}, { patternProperties: { '^(a|a)+!$': {} }, additionalProperties: false }),
    objectOf({ a: { type: 'string', not: { pattern: '^a(a|aa)*!' } } }),
  ])('is checked by a pattern in a time that grows with its length alone: %#', (schema) => {
    const long = `${'a'.repeat(10_000)}?`;
    const text = JSON.stringify({ a: long, [long]: 1 });
    expect(answered(schema, text)).toMatchObject({ problems: expect.any(Array) });
  });

  it('that is nested too deep for its schema does not fit', () => {
    const schema = objectOf({ a: { $ref: '#' } });
    const text = '{"a":'.repeat(100_000) + '{}' + '}'.repeat(100_000);
    expect(answered(schema, text)).toMatchObject({ problems: [{ path: '', rule: 'depth' }] });
  });

  it.each([
    [objectOf({ a: { type: 'string', pattern: '^(?=(a+)+$)' } }), `${'a'.repeat(60)}!`],
    [
      objectOf({ a: { type: 'array', uniqueItems: true } }),
      Array.from({ length: 30_000 }, (_, n) => ({ n })),
    ],
  ])('is given up when it takes too long, and the next one is checked: %#', (schema, a) => {
    const text = JSON.stringify({ a });
    expect(checkAnswer({ schema: JSON.stringify(schema), text, limitMs: 50 })).toBe('too-slow');
    expect(answered(PERSON, '{"name":"Ada","age":36}')).toMatchObject({ problems: [] });
  });
});

it('takes a code fence away only where it is around the whole text', () => {
  expect(withoutFence('```\n1\n```')).toBe('1');
  for (const text of ['```json {} ```', 'a\n```\n1\n```', '```', '``````', '```a b\n1\n```']) {
    expect(withoutFence(text)).toBe(text);
  }
});
