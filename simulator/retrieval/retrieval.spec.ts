import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { objectsOf, stringOf } from '../http/json.js';
import { type Simulator, startSimulator } from '../index.js';
import { send } from '../wire-client.js';
import { embed } from './embedding.js';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

const similarity = (a: string, b: string) => {
  const other = embed(b, 384);
  return embed(a, 384).reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
};

describe('embeddings', () => {
  it('bring similar texts closer than others, in English and Chinese', () => {
    const near = similarity('How long is the annual leave?', 'Annual leave lasts 25 days.');
    expect(near).toBeGreaterThan(
      similarity('How long is the annual leave?', 'Cats sleep a lot.') + 0.2,
    );
    const close = similarity('员工有多少年假', '年假规定：员工享有十五天年假');
    expect(close).toBeGreaterThan(similarity('员工有多少年假', '差旅报销需要发票') + 0.2);
    expect(similarity('', '')).toBeCloseTo(1);
  });

  it('have the dimensions asked for, as numbers or base64', async () => {
    const url = `${simulator.url}/v1/embeddings`;
    const body = { model: 'emb-256', input: ['a word', 'two words'] };
    const { json } = await send(url, body);
    expect(objectsOf(json['data'])).toHaveLength(2);
    expect(objectsOf(json['data'])[1]).toMatchObject({ index: 1 });
    expect(objectsOf(json['data'])[0]?.['embedding']).toHaveLength(256);
    const encoded = await send(url, { ...body, dimensions: 64, encoding_format: 'base64' });
    const text = stringOf(objectsOf(encoded.json['data'])[0]?.['embedding']);
    const bytes = Buffer.from(text, 'base64');
    expect(bytes).toHaveLength(64 * 4);
    expect(bytes.readFloatLE(0)).toBeCloseTo(embed('a word', 64)[0] ?? NaN, 6);
  });

  it('have the faults that the model name asks for', async () => {
    const answered = async (fault: string, input = ['a', 'b']) => {
      const model = `e-4--${fault}`;
      const { json } = await send(`${simulator.url}/v1/embeddings`, { model, input });
      const local = await send(`${simulator.url}/api/embed`, { model, input });
      const data = objectsOf(json['data']);
      expect(data.map((one) => one['embedding'])).toEqual(local.json['embeddings']);
      return data;
    };
    expect(await answered('toofew')).toHaveLength(1);
    expect(await answered('toomany')).toHaveLength(3);
    expect((await answered('sameindex')).map((one) => one['index'])).toEqual([0, 0]);
    expect((await answered('ragged')).at(-1)?.['embedding']).toHaveLength(3);
    expect((await answered('notfinite')).at(0)?.['embedding']).toContain(null);
    expect((await answered('zeros')).at(0)?.['embedding']).toEqual([0, 0, 0, 0]);
  });

  it('speak the form of the local runtime', async () => {
    const { json } = await send(`${simulator.url}/api/embed`, { model: 'emb', input: 'a word' });
    expect(json['embeddings']).toEqual([embed('a word', 384)]);
  });
});

describe('rerank', () => {
  it('sorts by relevance and cuts to top_n', async () => {
    const { json } = await send(`${simulator.url}/v1/rerank`, {
      model: 'r',
      query: 'annual leave days',
      documents: [
        'Parking is free.',
        'Employees get 25 days of annual leave.',
        'Leave the office.',
      ],
      top_n: 2,
      return_documents: true,
    });
    expect(json['results']).toMatchObject([
      { index: 1, document: { text: 'Employees get 25 days of annual leave.' } },
      { index: 2 },
    ]);
  });

  it('has the faults that the model name asks for', async () => {
    const answered = async (fault: string) => {
      const body = { model: `r--${fault}`, query: 'a b', documents: ['a', 'b'] };
      const { json } = await send(`${simulator.url}/compatible-api/v1/reranks`, body);
      return objectsOf(json['results']).map((one) => [one['index'], one['relevance_score']]);
    };
    expect(await answered('toofew')).toHaveLength(1);
    expect((await answered('toomany')).at(-1)).toEqual([2, 0]);
    expect((await answered('sameindex')).map(([index]) => index)).toEqual([0, 0]);
    expect((await answered('notfinite')).map(([, score]) => score)).toEqual([null, null]);
  });
});
