import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { EMBEDDING_BATCH } from '../../../src/model/embedding/embedding.client.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import {
  EmbeddingClient,
  EmbeddingDimensionError,
  EmbeddingModelChangedError,
} from '../../../src/model/index.js';
import { canary } from '../../support/canary.js';
import type { EmbedOptions, ResolvedEmbeddingModel } from '../../../src/model/index.js';
import { CalledModels } from '../../support/called-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { TRYING } from '../../support/upstream-calls.js';
import { eventually } from '../../support/wait.js';
import { english } from '../../../src/platform/message/index.js';
import type { Message } from '../../../src/platform/message/index.js';

const BATCH = 12;
const CONCURRENCY = 2;
const ATTEMPTS = 5;

describe('the embedder', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let models: CalledModels;
  let embedder: EmbeddingClient;

  overrideConstants(EMBEDDING_BATCH, { size: BATCH });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start({
      EMBEDDING_CONCURRENCY: String(CONCURRENCY),
    });
    admin = await plinth.signIn();
    models = new CalledModels(plinth);
    embedder = plinth.app.get(EmbeddingClient, { strict: false });
    await createProvider(admin, 'custom_api');
    await createProvider(admin, 'qianwen');
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  let counter = 0;
  /** A model of its own, and so a lane of its own, for each test. */
  async function create(words = '', fields: object = {}): Promise<ResolvedEmbeddingModel> {
    counter += 1;
    const modelName = `m${counter}-8${words}`;
    await createModel(admin, {
      modelName,
      category: 'vector',
      modelDimension: 8,
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key',
      ...fields,
    });
    return models.embedding(modelName);
  }

  const signal = new AbortController().signal;
  const openConnections = (wanted: number): Promise<number> =>
    eventually(
      () => simulator.openConnections(),
      (open) => open === wanted,
    );
  const texts = (count: number): string[] =>
    Array.from({ length: count }, (_, at) => `text number ${at}`);
  const embed = (
    model: ResolvedEmbeddingModel,
    what: readonly string[],
    options: Partial<EmbedOptions> = {},
  ): Promise<Float32Array[]> =>
    embedder.embed(model, what, { use: TRYING, signal, purpose: 'document', ...options });
  const numberIn = (text: string): number => Number(/\d+$/.exec(text)?.[0]);
  const inputs = (): string[][] =>
    simulator.requests.map(({ body }) => (body as { input: string[] }).input);

  /** Calls that are made at once may arrive in any order. */
  const sizes = (): number[] =>
    inputs()
      .map(({ length }) => length)
      .sort((one, other) => other - one);

  it('answers one vector of length 1 a text, in batches', async () => {
    const model = await create();
    const vectors = await embed(model, texts(30));
    // Several are sent at once, so that any of them may arrive first.
    const sent = inputs().sort(([one = ''], [other = '']) => numberIn(one) - numberIn(other));
    expect(sent.map(({ length }) => length)).toEqual([BATCH, BATCH, 6]);
    expect(sent.flat()).toEqual(texts(30));
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 6);
    const alone = await embed(model, texts(30).slice(20, 21), { purpose: 'query' });
    expect(alone).toEqual(vectors.slice(20, 21));
    expect(await embed(model, [])).toEqual([]);
    expect(simulator.requests).toHaveLength(4);
  });

  it('scales what a service answers to length 1', async () => {
    const model = await create();
    simulator.script({ body: { data: [{ embedding: [3, 0, 0, 0, 0, 0, 0, -4] }] } });
    const [vector] = await embed(model, ['a']);
    expect([...(vector ?? [])]).toEqual([0.6, 0, 0, 0, 0, 0, 0, -0.8].map(Math.fround));
  });

  it('asks for no more texts at once than the provider allows', async () => {
    const free = await create();
    const bound = await create('', { providerCode: 'qianwen' });
    expect([embedder.batchSizeOf(free), embedder.batchSizeOf(bound)]).toEqual([BATCH, 10]);
  });

  it('learns from a refusal how many texts the service takes, and goes on in the same call', async () => {
    const model = await create();
    // Text Embeddings Inference, 2026-11
    const refusal = { message: 'batch size 12 > maximum allowed batch size 5', type: 'Validation' };
    simulator.script({ status: 413, body: JSON.stringify({ ...refusal, code: 413 }) });
    const vectors = await embed(model, texts(12));
    expect(sizes()).toEqual([12, 5, 5, 2]);
    expect(embedder.batchSizeOf(model)).toBe(5);
    simulator.reset();
    expect(await embed(model, texts(12))).toEqual(vectors);
    expect(sizes()).toEqual([5, 5, 2]);
    expect(embedder.batchSizeOf(await create())).toBe(BATCH);
  });

  it('keeps the limit with the model, also for processes that begin later', async () => {
    const model = await create();
    // DashScope, its native interface, 2026-11
    const message =
      'batch size is invalid, it should not be larger than 4.: payload.input.contents';
    simulator.script({ status: 400, body: JSON.stringify({ error: { message } }) });
    await embed(model, texts(12));
    expect(sizes()).toEqual([12, 4, 4, 4]);
    await admin.put('/system/model', { id: model.id, remark: 'changed' });
    expect(embedder.batchSizeOf(await models.embedding(model.modelName))).toBe(4);
    await admin.put('/system/model', { id: model.id, apiHost: simulator.url });
    expect(embedder.batchSizeOf(await models.embedding(model.modelName))).toBe(BATCH);
  });

  it('leaves out a format of the answer that the service refuses, from then on', async () => {
    const model = await create();
    // Voyage, 2026-04
    const detail =
      "Value 'float' supplied for argument 'encoding_format' is not valid -- accepted values are 'base64'";
    simulator.script({ status: 400, body: JSON.stringify({ detail }) });
    await embed(model, ['a']);
    await embed(model, ['b']);
    const formats = simulator.requests.map(
      ({ body }) => (body as { encoding_format?: string }).encoding_format,
    );
    expect(formats).toEqual(['float', undefined, undefined]);
  });

  it('divides a batch whose tokens are too many in all, and keeps no limit', async () => {
    const model = await create();
    // Mistral, 2026-11
    const message = 'Too many tokens in batch. Max is 16384 got 20000';
    simulator.script({ status: 400, body: JSON.stringify({ object: 'error', message }) });
    const asked = { use: TRYING, signal };
    const { vectors, inputTokens } = await embedder.embedAsAsked(model, texts(12), asked);
    expect(vectors).toHaveLength(12);
    expect(inputTokens).toBeGreaterThan(0);
    expect(sizes()).toEqual([12, 6, 6]);
    expect(embedder.batchSizeOf(model)).toBe(BATCH);
  });

  it('gives up where one text alone is refused, with the reason of the service', async () => {
    const model = await create();
    const message = 'batch size is invalid, it should not be larger than 1';
    simulator.script({ status: 400, times: 3, body: JSON.stringify({ error: { message } }) });
    await expect(embed(model, texts(2))).rejects.toMatchObject({ vendorText: message });
  });

  it('asks for the dimensions of the record where the provider can be asked', async () => {
    const model = await create('', { providerCode: 'qianwen', modelDimension: 6 });
    const [vector] = await embed(model, ['a']);
    expect(vector).toHaveLength(6);
    expect(simulator.requests[0]?.body).toMatchObject({ dimensions: 6 });
  });

  it('asks a service for no dimensions that has refused them', async () => {
    const model = await create('', { providerCode: 'qianwen' });
    simulator.script({ status: 400, body: '{"error":{"message":"dimension is invalid"}}' });
    await embed(model, ['a']);
    await embed(model, ['b']);
    const asked = simulator.requests.map(({ body }) => 'dimensions' in (body as object));
    expect(asked).toEqual([true, false, false]);
  });

  it('holds no more calls of one model at once than configured, whoever makes them', async () => {
    const model = await create('--stall-0');
    const other = await create();
    const controller = new AbortController();
    const calls = [2 * BATCH, 2 * BATCH, 1].map((count) =>
      embed(model, texts(count), { signal: controller.signal }),
    );
    const outcomes = Promise.allSettled(calls);
    await openConnections(CONCURRENCY);
    // Another model has a lane of its own.
    expect(await embed(other, ['a'])).toHaveLength(1);
    expect(simulator.requests).toHaveLength(CONCURRENCY + 1);
    controller.abort();
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'aborted' } });
    }
    expect(simulator.requests).toHaveLength(CONCURRENCY + 1);
  });

  it('lets no query wait for documents, even when all of their calls stall', async () => {
    const model = await create();
    const match = { model: model.modelName };
    simulator.script({ match, stall: 0 }, { match, stall: 0 });
    const controller = new AbortController();
    const holding = embed(model, texts(2 * BATCH), { signal: controller.signal });
    const held = expect(holding).rejects.toMatchObject({ kind: 'aborted' });
    await openConnections(CONCURRENCY);
    const documents = embed(model, ['document 1', 'document 2']);
    expect(await embed(model, ['query'], { purpose: 'query' })).toHaveLength(1);
    expect(inputs().slice(2)).toEqual([['query']]);
    controller.abort();
    await Promise.all([held, documents]);
    expect(inputs().slice(2)).toEqual([['query'], ['document 1', 'document 2']]);
  });

  it('lets no query wait for a long request of a client', async () => {
    const model = await create();
    const match = { model: model.modelName };
    simulator.script({ match, stall: 0 }, { match, stall: 0 });
    const controller = new AbortController();
    const use = { use: TRYING, signal: controller.signal };
    const holding = embedder.embedAsAsked(model, texts(20 * BATCH), use);
    const held = expect(holding).rejects.toMatchObject({ kind: 'aborted' });
    await openConnections(CONCURRENCY);
    const short = await embedder.embedAsAsked(model, ['query'], { use: TRYING, signal });
    expect(short.vectors).toHaveLength(1);
    expect(inputs().slice(CONCURRENCY)).toEqual([['query']]);
    controller.abort();
    await held;
  });

  it('repeats only the batch that failed', async () => {
    const model = await create();
    simulator.script({ match: { model: model.modelName }, status: 503 });
    const vectors = await embed(model, texts(3 * BATCH));
    expect(vectors).toHaveLength(3 * BATCH);
    const sent = inputs().map(([first]) => first);
    expect(sent).toHaveLength(4);
    expect([...sent].sort()).toEqual(
      [sent[0], ...[0, 12, 24].map((at) => `text number ${at}`)].sort(),
    );
  });

  it('gives up after the configured tries, a query after two', async () => {
    const model = await create('--status-503');
    await expect(embed(model, ['a'])).rejects.toMatchObject({ kind: 'overloaded', status: 503 });
    expect(simulator.requests).toHaveLength(ATTEMPTS);
    simulator.reset();
    const query = embed(model, ['a'], { purpose: 'query' });
    await expect(query).rejects.toMatchObject({ kind: 'overloaded' });
    expect(simulator.requests).toHaveLength(2);
  });

  it('ends the other batches when one fails for good', async () => {
    const model = await create();
    const match = { model: model.modelName };
    const stalled = { match, stall: 0 };
    simulator.script({ match, status: 400 }, stalled, stalled, stalled);
    await expect(embed(model, texts(4 * BATCH))).rejects.toMatchObject({ status: 400 });
    await openConnections(0);
    expect(simulator.requests.length).toBeLessThanOrEqual(CONCURRENCY + 1);
  });

  describe('when the model changes between two calls', () => {
    async function held(
      change: (model: ResolvedEmbeddingModel) => Promise<unknown>,
    ): Promise<{ failure: unknown; keys: unknown[] }> {
      const model = await create('', { apiKey: OLD });
      const match = { model: model.modelName };
      simulator.script({ match, hold: true }, { match, hold: true });
      const embedding = embed(model, texts(4 * BATCH));
      const outcome = embedding.then(
        () => undefined,
        (error: unknown) => error,
      );
      await eventually(
        () => simulator.held,
        (waiting) => waiting === CONCURRENCY,
      );
      await change(model);
      simulator.release();
      const failure = await outcome;
      return { failure, keys: simulator.requests.map(({ headers }) => headers.authorization) };
    }

    const OLD = canary.plant('old');
    const used = (key: string): string => `Bearer ${key}`;

    it('uses a new key from the next call on', async () => {
      const apiKey = canary.plant('new');
      const { failure, keys } = await held(({ id }) => admin.put('/system/model', { id, apiKey }));
      expect(failure).toBeUndefined();
      expect(keys).toEqual([used(OLD), used(OLD), used(apiKey), used(apiKey)]);
    });

    it('uses it for another try of the same batch, too', async () => {
      const model = await create('', { apiKey: OLD });
      const apiKey = canary.plant('again');
      simulator.script({ match: { model: model.modelName }, hold: true, status: 503 });
      const embedding = embed(model, ['one']);
      await eventually(
        () => simulator.held,
        (waiting) => waiting === 1,
      );
      await admin.put('/system/model', { id: model.id, apiKey });
      simulator.release();
      await embedding;
      const keys = simulator.requests.map(({ headers }) => headers.authorization);
      expect(keys).toEqual([used(OLD), used(apiKey)]);
    });

    it('makes no further call once the provider is disabled', async () => {
      const { rows } = await admin.get<{ id: number; providerCode: string }[]>(
        '/system/provider/list?providerCode=custom_api',
      );
      const id = rows[0]?.id;
      const { failure, keys } = await held(() => admin.put('/system/provider', { id, status: 1 }));
      await admin.put('/system/provider', { id, status: 0 });
      expect(String(failure)).toContain(
        'The provider custom_api does not exist or is not enabled.',
      );
      expect(keys).toHaveLength(CONCURRENCY);
    });

    it('makes no further call once the model is deleted', async () => {
      const { failure, keys } = await held(({ id }) => admin.delete(`/system/model/${id}`));
      expect(failure).toMatchObject({ code: 404 });
      expect(keys).toHaveLength(CONCURRENCY);
    });

    it.each([
      ['name', { modelName: 'renamed-8' }],
      ['dimensions', { modelDimension: 9 }],
      ['address', { apiHost: 'https://elsewhere.example.com/v1' }],
    ])('mixes no vectors of two models in a document: %s', async (_, change) => {
      const { failure, keys } = await held(({ id }) =>
        admin.put('/system/model', { id, ...change }),
      );
      expect(failure).toBeInstanceOf(EmbeddingModelChangedError);
      expect(keys).toHaveLength(CONCURRENCY);
    });
  });

  describe('when the provider throttles', () => {
    it('waits as long as it asks, with all calls of the model, and says so', async () => {
      const model = await create();
      simulator.script({ match: { model: model.modelName }, status: 429, retryAfter: 0.4 });
      const told: (string | undefined)[] = [];
      let sentMeanwhile = -1;
      const throttled = Promise.withResolvers<undefined>();
      const documents = embed(model, ['document'], {
        onWait: (reason) => {
          told.push(reason && english(reason));
          if (reason === undefined) sentMeanwhile = simulator.requests.length;
          else throttled.resolve(undefined);
        },
      });
      await throttled.promise;
      const toldLater: (string | undefined)[] = [];
      const query = embed(model, ['query'], {
        purpose: 'query',
        onWait: (reason) => toldLater.push(reason && english(reason)),
      });
      expect([(await documents).length, (await query).length]).toEqual([1, 1]);
      expect(told).toEqual(['throttled by the provider', undefined]);
      expect(toldLater).toEqual(told);
      expect(sentMeanwhile).toBe(1);
      expect(simulator.requests).toHaveLength(3);
    });

    it('says that it goes on only once nobody of the same listener waits', async () => {
      const model = await create();
      const match = { model: model.modelName };
      simulator.script({ match, firstMs: 50 }, { match, status: 429, retryAfter: 0.4 });
      const told: (string | undefined)[] = [];
      const onWait = (reason: Message | undefined) => told.push(reason && english(reason));
      const calls = [embed(model, ['a'], { onWait }), embed(model, ['b'], { onWait })];
      await Promise.all(calls);
      expect(told).toEqual(['throttled by the provider', undefined]);
    });

    it('does not wait for an hour: the call fails, and queries of the model at once', async () => {
      const model = await create();
      simulator.script({ match: { model: model.modelName }, status: 429, retryAfter: 3_600 });
      await expect(embed(model, ['a'])).rejects.toMatchObject({
        kind: 'rate-limit',
        retryAfterMs: 3_600_000,
      });
      await expect(embed(model, ['b'], { purpose: 'query' })).rejects.toMatchObject({
        kind: 'rate-limit',
        message: expect.stringContaining('Try again in a moment'),
      });
      expect(simulator.requests).toHaveLength(1);
      const controller = new AbortController();
      const waiting = embed(model, ['c'], { signal: controller.signal });
      controller.abort();
      await expect(waiting).rejects.toMatchObject({ kind: 'aborted' });
    });
  });

  it('refuses vectors of another size than the record says, and says what to set', async () => {
    const model = await create('', { modelDimension: 16 });
    const failure = await embed(model, texts(2)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EmbeddingDimensionError);
    expect(failure).toMatchObject({
      code: 500,
      message: `The model ${model.modelName} answers 8 dimensions, but its modelDimension is 16. Set modelDimension of this model to 8, or choose another model.`,
      data: { modelDimension: 16, dimension: 8 },
    });
    expect(simulator.requests).toHaveLength(1);
  });

  it('refuses a vector of zeros', async () => {
    const model = await create('--zeros');
    await expect(embed(model, ['a'])).rejects.toMatchObject({
      kind: 'content',
      retryable: false,
      message: expect.stringContaining('a vector of zeros'),
    });
  });

  it('counts its calls', async () => {
    const model = await create('', { providerCode: 'qianwen' });
    simulator.script({ match: { model: model.modelName }, status: 429 });
    const before = await countOf('qianwen', 'rate-limit');
    await embed(model, ['a']);
    expect((await countOf('qianwen', 'rate-limit')) - before).toBe(1);
    expect(await countOf('qianwen', 'ok')).toBeGreaterThan(0);
  });

  async function countOf(provider: string, outcome: string): Promise<number> {
    const { text } = await admin.raw('GET', '/metrics');
    const line = `plinth_upstream_calls_total{provider="${provider}",kind="embedding",outcome="${outcome}"} `;
    const found = text.split('\n').find((one) => one.startsWith(line));
    return Number(found?.slice(line.length) ?? 0);
  }

  it('is not given a model of a disabled provider, whatever was resolved before', async () => {
    const model = await create('', { providerCode: 'qianwen' });
    expect(await embed(model, ['a'])).toHaveLength(1);
    const list = await admin.get<{ id: number }[]>('/system/provider/list?providerCode=qianwen');
    const [provider] = list.rows;
    await admin.put('/system/provider', { id: provider?.id, status: 1 });
    await expect(models.embedding(model.modelName)).rejects.toThrow(
      'The provider qianwen does not exist or is not enabled.',
    );
    await admin.put('/system/provider', { id: provider?.id, status: 0 });
    expect((await models.embedding(model.modelName)).id).toBe(model.id);
  });
});
