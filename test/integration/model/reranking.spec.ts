import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { RerankClient } from '../../../src/model/index.js';
import type { ResolvedRerankModel } from '../../../src/model/index.js';
import { CalledModels } from '../../support/called-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { TRYING } from '../../support/upstream-calls.js';
import { eventually } from '../../support/wait.js';

const CHARACTERS = 4_000;

describe('the reranker', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let models: CalledModels;
  let reranker: RerankClient;

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    models = new CalledModels(plinth);
    reranker = plinth.app.get(RerankClient, { strict: false });
    await createProvider(admin, 'custom_api');
    await createProvider(admin, 'zhipu');
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  let counter = 0;
  async function create(words = '', fields: object = {}): Promise<ResolvedRerankModel> {
    counter += 1;
    const modelName = `rerank-${counter}${words}`;
    await createModel(admin, {
      modelName,
      category: 'rerank',
      apiHost: `${simulator.url}/v1`,
      apiKey: 'key-id.key-secret',
      ...fields,
    });
    return models.rerank(modelName);
  }

  const signal = new AbortController().signal;
  const openConnections = (wanted: number): Promise<number> =>
    eventually(
      () => simulator.openConnections(),
      (open) => open === wanted,
    );
  const bodies = (): { query: string; documents: string[]; top_n: number }[] =>
    simulator.requests.map(({ body }) => body as never);

  it('orders documents by relevance, and answers as many as wanted', async () => {
    const documents = ['Parking is free.', 'Annual leave lasts 25 days.', 'Leave the room.'];
    for (const providerCode of ['custom_api', 'zhipu']) {
      const model = await create('', { providerCode });
      const options = { use: TRYING, topN: 2, signal };
      const ranked = await reranker.rerank(model, 'annual leave', documents, options);
      expect(ranked.map(({ index }) => index)).toEqual([1, 2]);
    }
    const tokens = simulator.requests.map(({ headers }) => headers.authorization);
    expect(tokens[0]).toBe('Bearer key-id.key-secret');
    expect(tokens[1]).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it('splits more documents than the service takes, and compares their scores', async () => {
    const model = await create();
    const documents = Array.from({ length: 250 }, (_, at) => `nothing of note, number ${at}`);
    documents[7] = 'annual things';
    documents[140] = 'annual leave and more of it';
    documents[249] = 'annual leave';
    const ranked = await reranker.rerank(model, 'annual leave', documents, {
      use: TRYING,
      topN: 3,
      signal,
    });
    expect(ranked.map(({ index }) => index)).toEqual([249, 140, 7]);
    // They are sent at once, so that any of them may arrive first.
    const sizes = bodies().map((body) => body.documents.length);
    expect(sizes.sort((one, other) => other - one)).toEqual([100, 100, 50]);
    const all = await reranker.rerank(model, 'annual leave', documents, {
      use: TRYING,
      topN: 250,
      signal,
    });
    expect(new Set(all.map(({ index }) => index)).size).toBe(250);
  });

  it('learns from a refusal how many documents the service takes, and goes on in the same call', async () => {
    const model = await create();
    const documents = Array.from({ length: 50 }, (_, at) => `nothing of note, number ${at}`);
    documents[49] = 'annual leave';
    // Text Embeddings Inference, 2026-11
    const error = 'batch size 50 > maximum allowed batch size 20';
    simulator.script({ status: 422, body: JSON.stringify({ error, error_type: 'Validation' }) });
    const options = { use: TRYING, topN: 1, signal };
    const ranked = await reranker.rerank(model, 'annual leave', documents, options);
    expect(ranked.map(({ index }) => index)).toEqual([49]);
    const sizes = (): number[] =>
      bodies()
        .map((body) => body.documents.length)
        .sort((one, other) => other - one);
    expect(sizes()).toEqual([50, 20, 20, 10]);
    simulator.reset();
    await reranker.rerank(model, 'annual leave', documents, options);
    expect(sizes()).toEqual([20, 20, 10]);
  });

  it('asks a service in the form that it once missed', async () => {
    const model = await create();
    // Text Embeddings Inference, 2026-11
    const body = 'Failed to deserialize the JSON body: missing field `texts` at line 1 column 98';
    simulator.script({ status: 422, body });
    const options = { use: TRYING, topN: 1, signal };
    for (const query of ['annual leave', 'parking']) {
      const documents = ['Parking is free.', 'Annual leave lasts 25 days.'];
      expect(await reranker.rerank(model, query, documents, options)).toHaveLength(1);
    }
    const forms = simulator.requests.map(({ body: sent }) => 'texts' in (sent as object));
    expect(forms).toEqual([false, true, true]);
  });

  it('sends the beginning of long texts, without half a character', async () => {
    const model = await create();
    const documents = ['short', `${'x'.repeat(CHARACTERS - 1)}😀 and more`];
    await reranker.rerank(model, 'q'.repeat(CHARACTERS + 1), documents, {
      use: TRYING,
      topN: 2,
      signal,
    });
    expect(bodies()[0]).toMatchObject({
      query: 'q'.repeat(CHARACTERS),
      documents: ['short', 'x'.repeat(CHARACTERS - 1)],
    });
  });

  it('calls nobody without documents', async () => {
    const model = await create();
    expect(await reranker.rerank(model, 'q', [], { use: TRYING, topN: 3, signal })).toEqual([]);
    expect(simulator.requests).toHaveLength(0);
  });

  it('tries once more, and no third time', async () => {
    const passing = await create('--failfirst-1');
    const ranked = await reranker.rerank(passing, 'q', ['a'], { use: TRYING, topN: 1, signal });
    expect(ranked).toHaveLength(1);
    const broken = await create('--status-503');
    await expect(
      reranker.rerank(broken, 'q', ['a'], { use: TRYING, topN: 1, signal }),
    ).rejects.toMatchObject({
      kind: 'overloaded',
    });
    const wrong = await create('--status-400');
    await expect(
      reranker.rerank(wrong, 'q', ['a'], { use: TRYING, topN: 1, signal }),
    ).rejects.toMatchObject({
      kind: 'invalid-request',
    });
    const patient = await create('--status-429--retryafter-30');
    await expect(
      reranker.rerank(patient, 'q', ['a'], { use: TRYING, topN: 1, signal }),
    ).rejects.toMatchObject({
      kind: 'rate-limit',
    });
    expect(simulator.requests.map(({ model }) => model)).toEqual([
      passing.modelName,
      passing.modelName,
      broken.modelName,
      broken.modelName,
      wrong.modelName,
      patient.modelName,
    ]);
  });

  it('ends all calls when one fails, and when it is aborted', async () => {
    const model = await create();
    const match = { model: model.modelName };
    const stalled = { match, stall: 0 };
    const documents = Array.from({ length: 150 }, (_, at) => `document ${at}`);
    simulator.script({ match, status: 400 }, stalled, stalled, stalled);
    const failing = reranker.rerank(model, 'q', documents, { use: TRYING, topN: 1, signal });
    await expect(failing).rejects.toMatchObject({ status: 400 });
    await openConnections(0);
    const controller = new AbortController();
    const options = { use: TRYING, topN: 1, signal: controller.signal };
    const aborted = reranker.rerank(model, 'q', documents, options);
    const expected = expect(aborted).rejects.toMatchObject({ kind: 'aborted' });
    await openConnections(2);
    controller.abort();
    await expected;
    await openConnections(0);
  });

  it('counts its calls', async () => {
    const model = await create();
    await reranker.rerank(model, 'q', ['a'], { use: TRYING, topN: 1, signal });
    const { text } = await admin.raw('GET', '/metrics');
    expect(text).toMatch(
      /^plinth_upstream_calls_total\{provider="custom_api",kind="rerank",outcome="ok"\} \d+$/m,
    );
  });
});
