import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { EMBEDDING_BATCH } from '../../../src/model/embedding/embedding.client.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { RerankClient } from '../../../src/model/index.js';
import { CalledModels } from '../../support/called-models.js';
import { canary } from '../../support/canary.js';
import { sendChat } from '../../support/chat.js';
import { createKnowledge, FAILED, PARSED, settled, upload } from '../../support/knowledge.js';
import type { AttachmentRow } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { TRYING } from '../../support/upstream-calls.js';
import { eventually } from '../../support/wait.js';

const gone = (modelName: string): string =>
  `The model ${modelName} cannot be called. The provider custom_api does not exist or is not enabled. Enable the provider, or choose another one.`;
/** Twelve fragments, which take twelve calls. */
const LONG = Array.from({ length: 12 }, (_, at) => `Fact ${at}. ${'word '.repeat(95)}`).join(
  '\n\n',
);

describe('a model that is changed while work with it is under way', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let providerId: number;
  let counter = 0;

  overrideConstants(EMBEDDING_BATCH, { size: 1 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start({ EMBEDDING_CONCURRENCY: '1' });
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const { rows } = await admin.get<{ id: number }[]>('/system/provider/list');
    providerId = rows[0]?.id ?? 0;
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  async function model(fields: object): Promise<{ id: number; modelName: string; key: string }> {
    counter += 1;
    const key = canary.plant('old');
    const modelName = `changed-${counter}-8`;
    const apiHost = `${simulator.url}/v1`;
    const id = await createModel(admin, { modelName, apiHost, apiKey: key, ...fields });
    return { id, modelName, key };
  }

  const isHeld = (): Promise<number> =>
    eventually(
      () => simulator.held,
      (held) => held === 1,
      30_000,
    );
  const keys = (): unknown[] =>
    simulator.requests.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));

  describe('by the parsing of a document', () => {
    const vector = { category: 'vector', modelDimension: 8 };

    async function parsing(modelName: string): Promise<{ end: () => Promise<AttachmentRow> }> {
      counter += 1;
      const base = await createKnowledge(admin, {
        name: `Shelf ${counter}`,
        embeddingModel: modelName,
      });
      simulator.script({ match: { model: modelName }, hold: true });
      done(await upload(admin, base, [['long.txt', LONG]]));
      await isHeld();
      return {
        end: async () => {
          simulator.release();
          const [row] = await settled(admin, base);
          if (!row) throw new Error('There is no document.');
          return row;
        },
      };
    }

    it('is called with the new key', async () => {
      const { id, modelName, key } = await model(vector);
      const { end } = await parsing(modelName);
      const apiKey = canary.plant('new');
      done(await admin.put('/system/model', { id, apiKey }));
      expect(await end()).toMatchObject({ status: PARSED, remark: null });
      const [first, ...later] = keys();
      expect(first).toBe(key);
      expect(later.length).toBeGreaterThan(5);
      expect(new Set(later)).toEqual(new Set([apiKey]));
    });

    it('is not called once its provider is disabled, and the document says why', async () => {
      const { modelName } = await model(vector);
      const { end } = await parsing(modelName);
      done(await admin.put('/system/provider', { id: providerId, status: 1 }));
      expect(await end()).toMatchObject({ status: FAILED, remark: gone(modelName) });
      done(await admin.put('/system/provider', { id: providerId, status: 0 }));
      expect(simulator.requests).toHaveLength(1);
    });

    it('has the document parsed again from the start when its vectors are others now', async () => {
      const { id, modelName } = await model(vector);
      const { end } = await parsing(modelName);
      const moved = { id, apiHost: `${simulator.url}/moved/v1`, apiKey: canary.plant('moved') };
      done(await admin.put('/system/model', moved));
      expect(await end()).toMatchObject({ status: PARSED, remark: null });
      const paths = simulator.requests.map(({ path }) => path);
      const [first, ...later] = paths;
      expect(first).toBe('/v1/embeddings');
      expect(new Set(later)).toEqual(new Set(['/moved/v1/embeddings']));
    });
  });

  describe('by a chat', () => {
    async function retried(change: (id: number) => Promise<unknown>): Promise<{
      key: string;
      modelName: string;
      answer: Awaited<ReturnType<typeof sendChat>>;
    }> {
      const { id, modelName, key } = await model({});
      simulator.script(
        { match: { model: modelName }, hold: true, status: 503 },
        { match: { model: modelName }, text: 'Answered.' },
      );
      const sending = sendChat(admin, { model: modelName, content: 'Hello' });
      await isHeld();
      await change(id);
      simulator.release();
      return { key, modelName, answer: await sending };
    }

    it('is tried again with the new key', async () => {
      const apiKey = canary.plant('new');
      const { key, answer } = await retried((id) => admin.put('/system/model', { id, apiKey }));
      expect(answer.text.trim()).toBe('Answered.');
      expect(keys()).toEqual([key, apiKey]);
    });

    it('is not tried again once its provider is disabled', async () => {
      const { modelName, answer } = await retried(() =>
        admin.put('/system/provider', { id: providerId, status: 1 }),
      );
      done(await admin.put('/system/provider', { id: providerId, status: 0 }));
      expect(answer.error).toBe(gone(modelName));
      expect(simulator.requests).toHaveLength(1);
    });

    it('is called with the new key after a search', async () => {
      const chat = await model({});
      const { modelName } = await model({ category: 'vector', modelDimension: 8 });
      counter += 1;
      const name = `Shelf ${counter}`;
      const base = await createKnowledge(admin, { name, embeddingModel: modelName });
      done(await upload(admin, base, [['short.txt', 'A fact.']]));
      await settled(admin, base);
      simulator.reset();
      simulator.script({ match: { model: modelName }, hold: true });
      const body = { model: chat.modelName, content: 'Which fact?', knowledgeId: base };
      const sending = sendChat(admin, body);
      await isHeld();
      const apiKey = canary.plant('new');
      done(await admin.put('/system/model', { id: chat.id, apiKey }));
      simulator.release();
      expect((await sending).error).toBeUndefined();
      expect(keys().at(-1)).toBe(apiKey);
    });
  });

  it('is called with the new key by another try of a reranking', async () => {
    const { id, modelName, key } = await model({ category: 'rerank' });
    const reranked = plinth.app.get(RerankClient, { strict: false });
    const resolved = await new CalledModels(plinth).rerank(modelName);
    simulator.script({ match: { model: modelName }, hold: true, status: 503 });
    const { signal } = new AbortController();
    const ranking = reranked.rerank(resolved, 'q', ['a', 'b'], { use: TRYING, topN: 2, signal });
    await isHeld();
    const apiKey = canary.plant('new');
    done(await admin.put('/system/model', { id, apiKey }));
    simulator.release();
    expect(await ranking).toHaveLength(2);
    expect(keys()).toEqual([key, apiKey]);
  });
});
