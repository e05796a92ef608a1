import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import { toEmbedBody, toEmbeddingAnswer as fromOllama } from './ollama.protocol.js';
import { toEmbeddingsBody, toEmbeddingAnswer } from './openai-compatible.protocol.js';
import { toVectors } from './embedding.adapter.js';

const secrets = { address: 'https://x.test', credential: 'canary-key-1f9a7c' };
const fixture = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const rowsOf = (vectors: readonly Float32Array[]): number[][] => vectors.map((row) => [...row]);
const EXPECTED = [
  [1, 0, Math.fround(-2e-3)],
  [0.25, -0.5, 0.75],
];

test('the bodies hold what the protocols know', () => {
  const call = { model: 'm', inputs: ['a', 'b'], dimensions: 3 };
  expect(toEmbeddingsBody(call)).toEqual({
    model: 'm',
    input: ['a', 'b'],
    dimensions: 3,
    encoding_format: 'float',
  });
  expect(JSON.stringify(toEmbeddingsBody({ model: 'm', inputs: ['a'] }))).not.toContain('dimens');
  expect(toEmbedBody(call)).toEqual({ model: 'm', input: ['a', 'b'] });
});

/** Answers as the references of the services show them, with shorter vectors. */
describe('the documented answer of', () => {
  const answers = fixture('openai-compatible/fixtures/services.json') as Record<
    string,
    { readonly source: string; readonly answer: unknown; readonly tokens?: number }
  >;

  it.each(Object.entries(answers))('%s is read', (_service, { answer, tokens }) => {
    const { vectors, usage } = toEmbeddingAnswer(answer, 2, secrets);
    expect(rowsOf(vectors)).toEqual([
      [1, 0.5, -0.25],
      [0.25, -0.5, 0.75],
    ]);
    expect(usage?.inputTokens ?? usage?.totalTokens).toBe(tokens);
  });
});

test('vendors have words of their own', () => {
  const call = { model: 'm', inputs: ['a'], dimensions: 3 };
  const dialect = { dimensionsField: 'output_dimension', withoutFormat: true } as const;
  expect(toEmbeddingsBody(call, dialect)).toEqual({
    model: 'm',
    input: ['a'],
    output_dimension: 3,
  });
});

describe('an answer', () => {
  it('is put in the order of the texts, with its usage', () => {
    const answer = toEmbeddingAnswer(fixture('openai-compatible/fixtures/answer.json'), 2, secrets);
    expect(rowsOf(answer.vectors)).toEqual(EXPECTED);
    expect(answer.usage).toMatchObject({ inputTokens: 8, totalTokens: 8 });
    const local = fromOllama(fixture('ollama/fixtures/answer.json'), 2, secrets);
    expect(rowsOf(local.vectors)).toEqual(EXPECTED);
    expect(local.usage).toMatchObject({ inputTokens: 8 });
  });

  it('needs neither index nor usage', () => {
    const data = EXPECTED.map((embedding) => ({ embedding }));
    const answer = toEmbeddingAnswer({ data }, 2, secrets);
    expect(rowsOf(answer.vectors)).toEqual(EXPECTED);
    expect(answer).not.toHaveProperty('usage');
    expect(fromOllama({ embeddings: EXPECTED }, 2, secrets)).not.toHaveProperty('usage');
  });

  it.each([['12'], [-1], [1.5], [1e15], [null], [{}], [[8]]])(
    'has no usage where it counts %j tokens',
    (count) => {
      const data = EXPECTED.map((embedding) => ({ embedding }));
      for (const usage of [count, { prompt_tokens: count, total_tokens: count }]) {
        const answer = toEmbeddingAnswer({ data, usage }, 2, secrets);
        expect(rowsOf(answer.vectors)).toEqual(EXPECTED);
        expect(answer.usage?.inputTokens ?? answer.usage?.totalTokens).toBeUndefined();
      }
      const local = fromOllama({ embeddings: EXPECTED, prompt_eval_count: count }, 2, secrets);
      expect(rowsOf(local.vectors)).toEqual(EXPECTED);
      expect(local).not.toHaveProperty('usage');
    },
  );

  it('may hold base64 of 32-bit floats, also beside numbers', () => {
    const base64 = (row: readonly number[]): string =>
      Buffer.from(Float32Array.from(row).buffer).toString('base64');
    const [first = [], second = []] = EXPECTED;
    const data = [
      { index: 1, embedding: base64(second) },
      { index: 0, embedding: first },
    ];
    expect(rowsOf(toEmbeddingAnswer({ data }, 2, secrets).vectors)).toEqual(EXPECTED);
    const encoded = { data: EXPECTED.map((row) => ({ embedding: base64(row) })) };
    expect(rowsOf(toEmbeddingAnswer(encoded, 2, secrets).vectors)).toEqual(EXPECTED);
    expect(() => toEmbeddingAnswer({ data: [{ embedding: base64([NaN]) }] }, 1, secrets)).toThrow(
      'no finite number',
    );
  });

  it('is refused when an index is given twice or has no text', () => {
    const answer = (...indexes: number[]) => ({
      data: indexes.map((index) => ({ index, embedding: [1] })),
    });
    expect(() => toEmbeddingAnswer(answer(0, 0), 2, secrets)).toThrow('two vectors for the same');
    expect(() => toEmbeddingAnswer(answer(0, 2), 2, secrets)).toThrow('no vector for a text');
    expect(() => toEmbeddingAnswer(answer(-1, 0), 2, secrets)).toThrow('no vector for a text');
    expect(() => toEmbeddingAnswer(answer(0), 2, secrets)).toThrow('1 vectors for 2 texts');
  });

  it.each([[null], [[]], [{}], ['text'], [{ data: {} }], [{ embeddings: 1 }], [{ data: [1] }]])(
    'that is %j has no vectors',
    (answer) => {
      expect(() => toEmbeddingAnswer(answer, 1, secrets)).toThrow('answered without vectors');
      expect(() => fromOllama(answer, 1, secrets)).toThrow('answered without vectors');
    },
  );

  it('tells an error that came with status 200, without the key', () => {
    const error = { code: 'rate_limit', message: `Too many calls of ${secrets.credential}` };
    for (const map of [toEmbeddingAnswer, fromOllama]) {
      expect(() => map({ error }, 1, secrets)).toThrow(/Too many calls of \[removed\]/);
    }
  });
});

test.each([
  [[[1, 2]], 2, '1 vectors for 2 texts'],
  [[[1], [2], [3]], 2, '3 vectors for 2 texts'],
  [[[1, 2], [1]], 2, 'different lengths'],
  [[[]], 1, 'an empty vector'],
  [[[1, null]], 1, 'no finite number'],
  [[['1']], 1, 'no finite number'],
  [[[Infinity]], 1, 'no finite number'],
  // Finite as the JSON has it, but not in the 32 bits that are stored.
  [[[1e39]], 1, 'no finite number'],
  [['AAAA'], 1, 'without vectors'],
  [['no base64'], 1, 'without vectors'],
])('vectors %j for %d texts are refused', (rows, texts, message) => {
  expect(() => toVectors(rows, texts)).toThrow(message);
});
