/** A body as it goes over the wire, with what it calls itself. */
export interface OddBody {
  readonly name: string;
  readonly bytes: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Refused when bodies are read, or by the limits of their depth and number of values: before the DTO of the route is asked. */
  readonly isRefusedEarly?: true;
}

const JSON_TYPE = { 'content-type': 'application/json' };

function json(name: string, bytes: Buffer | string): OddBody {
  return { name, bytes, headers: JSON_TYPE };
}

function refusedEarly(name: string, bytes: string): OddBody {
  return { ...json(name, bytes), isRefusedEarly: true };
}

/** Nothing that a client sends on purpose; every one of them has broken some service. */
export const oddBodies: readonly OddBody[] = [
  json('an empty one', ''),
  refusedEarly('null', 'null'),
  json('an array', '[]'),
  json('an array of objects', '[{"id":1}]'),
  refusedEarly('a number', '5'),
  refusedEarly('a text', '"text"'),
  json('an empty object', '{}'),
  refusedEarly('half an object', '{"id":'),
  refusedEarly('10,000 arrays in each other', '['.repeat(10_000) + ']'.repeat(10_000)),
  refusedEarly('10,000 objects in each other', '{"id":'.repeat(10_000) + '1' + '}'.repeat(10_000)),
  refusedEarly('a field with 10,000 arrays', `{"id":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
  refusedEarly(
    '100,000 fields',
    `{${Array.from({ length: 100_000 }, (_, n) => `"a${n}":1`).join()}}`,
  ),
  refusedEarly(
    '20,000 fields',
    `{${Array.from({ length: 20_000 }, (_, n) => `"a${n}":1`).join()}}`,
  ),
  refusedEarly('a list of 400,000 entries', `{"images":[${'1,'.repeat(399_999)}1]}`),
  json('2 MB', `{"remark":"${'x'.repeat(2 * 1_048_576)}"}`),
  json(
    'bytes that are no UTF-8',
    Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x28, 0xff, 0x22, 0x7d]),
  ),
  json('a byte order mark', '\ufeff{}'),
  json(
    'prototype fields',
    '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
  ),
  json('a hidden length', '{"length":1e9,"id":{"length":-1}}'),
  { name: 'no type', bytes: '{"id":1}' },
  { name: 'XML', bytes: '<id>1</id>', headers: { 'content-type': 'text/xml' } },
  {
    name: 'a form',
    bytes: 'id=1&status=1',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  },
  {
    name: 'a form with files and no boundary',
    bytes: 'x',
    headers: { 'content-type': 'multipart/form-data' },
  },
  {
    name: 'a broken form with files',
    bytes: '--b\r\nContent-Disposition: form-data; name="file"; filename="\u0000"\r\n\r\nx',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  },
  {
    name: 'an unknown charset',
    bytes: '{}',
    headers: { 'content-type': 'application/json; charset=klingon' },
    isRefusedEarly: true,
  },
  {
    name: 'a wrong compression',
    bytes: '{}',
    headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    isRefusedEarly: true,
  },
  {
    name: 'an unknown compression',
    bytes: '{}',
    headers: { ...JSON_TYPE, 'content-encoding': 'rar' },
    isRefusedEarly: true,
  },
];

/** What may stand where a field of a body is expected, as JSON. */
export const oddValues: readonly string[] = [
  'null',
  '{}',
  '[null]',
  '0',
  '-1',
  '1e400',
  '99999999999999999999',
  '""',
  '"\\u0000"',
  '["a\\u0000b"]',
  '["\\ud800"]',
  '"\\ud800"',
  '"\\u202e\\ufeff"',
  '"\'; DROP TABLE tenant; --"',
  '"../../etc/passwd"',
  '"http://[::1]:99999/"',
  '"2026-02-30 25:61:61"',
  `"${'x'.repeat(50_000)}"`,
  `["${'x'.repeat(50_000)}"]`,
  `[${'1,'.repeat(3_000)}1]`,
  '{"length":3,"0":"a"}',
  '{"toString":1,"valueOf":1}',
  '{"value":{"toString":1,"valueOf":1}}',
  '[{"toString":1,"valueOf":1}]',
];

/** The texts among them, without the empty one. */
export const oddTexts = oddValues.filter((value) => /^"./.test(value) && value !== '""');

/** What may stand in a path where an id is expected, already encoded. None of them names a record. */
export const oddIds: readonly string[] = [
  '0',
  '-1',
  '+1',
  '01e3',
  '1e3',
  '0x10',
  '1.5',
  '99999999999999999999',
  '9007199254740993',
  '9223372036854775808',
  '1%00',
  '%00',
  '..%2fx',
  '%2e%2e%2f',
  '1,,2',
  ',',
  '1,',
  '1;2',
  '%',
  '%zz',
  '%ff',
  '%20',
  'null',
  'undefined',
  'NaN',
  '%5B%5D',
  '%7B%7D',
  '__proto__',
  "1'%20OR%20'1'='1",
  '%F0%9F%92%A5',
  '9'.repeat(4_000),
  `${'987654321,'.repeat(500)}987654322`,
];

/** Queries of lists. */
export const oddQueries: readonly string[] = [
  'pageNum=-5',
  'pageNum=0&pageSize=1',
  'pageNum=1e3',
  'pageNum=99999999999999999999&pageSize=10',
  'pageNum=9007199254740991&pageSize=9007199254740991',
  'pageNum=x&pageSize=y',
  'pageNum[]=1&pageSize[a]=2',
  'pageSize=0',
  'pageSize=-1',
  'pageSize=1.5',
  'pageSize=9007199254740993',
  'pageSize=',
  'orderByColumn=password_hash;drop%20table%20tenant',
  'orderByColumn=__proto__&isAsc=asc',
  'orderByColumn=constructor',
  'orderByColumn=toString&isAsc=desc',
  'orderByColumn[]=id&isAsc[]=asc',
  'orderByColumn=id&isAsc=x',
  'orderByColumn=id&isAsc=asc,desc,asc',
  'orderByColumn=id,id,id&isAsc=desc',
  'orderByColumn=,&isAsc=,',
  'orderByColumn=%00',
  'isAsc=asc;drop',
  'params=x',
  'params[beginTime]=x&params[endTime]=y',
  'params[beginTime]=2026-02-30&params[endTime]=9999-99-99',
  'params[beginTime]=0000-01-01',
  'params[beginTime]=-271821-04-20',
  'params[beginTime][a]=1',
  'params[]=1',
  'params[__proto__][a]=1',
  '__proto__[a]=1&constructor[prototype][a]=1',
  `a${'[b]'.repeat(2_000)}=1`,
  '%',
  '%ff=%ff',
  'a=%00',
  '=&&&=&',
  'a=1&'.repeat(2_000),
];

/** Values of any field of a query, encoded. */
export const oddQueryValues: readonly string[] = [
  '',
  '%00',
  'a%00b',
  '%ff',
  '-1',
  '1e400',
  '99999999999999999999',
  "'%20OR%201=1",
  '%5C%25_',
  '%F0%9F%92%A5%ED%A0%80',
  'x'.repeat(8_000),
  '1,2,x',
  '987654321,'.repeat(700),
];
