import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import jwt from 'jsonwebtoken';
import {
  toRankedDocuments,
  toRerankBody,
  usageIn,
  zhipuToken,
} from './query-documents.protocol.js';

const secrets = { address: 'https://x.test', credential: 'canary-key-1f9a7c' };
const documents = ['first', 'second', 'third'];
const fixture = (): unknown =>
  JSON.parse(
    readFileSync(new URL('query-documents/fixtures/answer.json', import.meta.url), 'utf8'),
  );

test('the body asks for no texts', () => {
  expect(toRerankBody({ model: 'm', query: 'q', documents, topN: 2 })).toEqual({
    model: 'm',
    query: 'q',
    documents,
    top_n: 2,
    return_documents: false,
  });
});

const call = { model: 'm', query: 'q', documents, topN: 2 };

test.each([
  ['cohere', { model: 'm', query: 'q', documents, top_n: 2 }],
  ['voyage', { model: 'm', query: 'q', documents, top_k: 2, return_documents: false }],
  ['tei', { model: 'm', query: 'q', texts: documents, return_text: false, truncate: true }],
  [
    'dashscope',
    {
      model: 'm',
      input: { query: 'q', documents },
      parameters: { top_n: 2, return_documents: false },
    },
  ],
] as const)('the body in the words of %s', (dialect, body) => {
  expect(toRerankBody(call, dialect)).toEqual(body);
});

/** Answers as the references of the services show them. */
describe('the documented answer of', () => {
  const answers = JSON.parse(
    readFileSync(new URL('query-documents/fixtures/services.json', import.meta.url), 'utf8'),
  ) as Record<
    string,
    { readonly source: string; readonly answer: unknown; readonly tokens?: number }
  >;

  it.each(Object.entries(answers))('%s is read', (_service, { answer, tokens }) => {
    const ranked = toRankedDocuments(answer, { documents, topN: 3 }, secrets);
    expect(ranked.map(({ index }) => index)).toEqual([2, 0]);
    expect(ranked.every(({ score }) => Number.isFinite(score))).toBe(true);
    expect(usageIn(answer)?.inputTokens).toBe(tokens);
  });
});

describe('an answer', () => {
  it('is sorted best first, and by place where scores are equal', () => {
    expect(toRankedDocuments(fixture(), { documents, topN: 3 }, secrets)).toEqual([
      { index: 2, score: 0.9335 },
      { index: 0, score: 0.7314 },
      { index: 1, score: 0.7314 },
    ]);
  });

  it('is cut to the number asked for, which services may ignore', () => {
    expect(toRankedDocuments(fixture(), { documents, topN: 1 }, secrets)).toEqual([
      { index: 2, score: 0.9335 },
    ]);
  });

  it.each([
    [[], 'answered no document'],
    [[{ index: 3, relevance_score: 1 }], 'was not given'],
    [[{ index: -1, relevance_score: 1 }], 'was not given'],
    [
      [
        { index: 1, relevance_score: 1 },
        { index: 1, relevance_score: 0.5 },
      ],
      'same document twice',
    ],
    [[{ index: 0.5, relevance_score: 1 }], 'without a score'],
    [[{ index: 0, relevance_score: null }], 'without a score'],
    [[{ index: 0, relevance_score: Infinity }], 'without a score'],
    [[{ index: 0 }], 'without a score'],
    ['text', 'without a score'],
  ])('with the results %j is refused', (results, message) => {
    expect(() => toRankedDocuments({ results }, { documents, topN: 3 }, secrets)).toThrow(message);
  });

  it('tells an error that came with status 200', () => {
    const answer = { error: { message: 'no such model' } };
    expect(() => toRankedDocuments(answer, { documents, topN: 1 }, secrets)).toThrow(
      'no such model',
    );
  });
});

describe('a key of Zhipu', () => {
  it('of two parts becomes a token that the second signs and that names the first', () => {
    const now = Date.parse('2026-11-20T10:00:00Z');
    const token = zhipuToken(' key-id.secret-part ', now);
    const { header, payload } = jwt.verify(token, 'secret-part', { complete: true });
    expect(header).toEqual({ alg: 'HS256', sign_type: 'SIGN' });
    expect(payload).toEqual({ api_key: 'key-id', exp: now + 180_000, timestamp: now });
  });

  it.each(['plain-key', 'a.b.c', '.secret', 'id.', 'two words.x'])(
    'of another form, as %s, is sent as it is',
    (key) => {
      expect(zhipuToken(key)).toBe(key);
    },
  );
});
