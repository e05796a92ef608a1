import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { canary } from '../../support/canary.js';
import { CalledModels } from '../../support/called-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const apiHost = 'http://127.0.0.1:9/v1';

describe('models of every category', () => {
  let plinth: Plinth;
  let admin: Session;
  let models: CalledModels;

  beforeAll(async () => {
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    models = new CalledModels(plinth);
    for (const code of ['custom_api', 'deepseek']) await createProvider(admin, code);
  });

  afterAll(() => plinth.stop());

  const vector = { category: 'vector', modelDimension: 8, apiHost };

  it('are resolved with the adapter of their category', async () => {
    const apiKey = canary.plant('embedding');
    const embeddingId = await createModel(admin, { modelName: 'embed', apiKey, ...vector });
    const rerankId = await createModel(admin, { modelName: 'rank', category: 'rerank', apiHost });
    const embedding = await models.embedding(' embed ');
    expect(embedding).toMatchObject({
      id: embeddingId,
      category: 'vector',
      modelDimension: 8,
      connection: { address: apiHost, credential: apiKey },
    });
    expect(embedding.adapter.endpoint(apiHost)).toBe(`${apiHost}/embeddings`);
    const rerank = await models.rerank('rank');
    expect([rerank.id, rerank.adapter.endpoint(apiHost)]).toEqual([rerankId, `${apiHost}/rerank`]);
  });

  it('are read once per revision', async () => {
    const id = await createModel(admin, { modelName: 'cached', ...vector });
    const first = await models.embedding('cached');
    expect(await models.embedding('cached')).toBe(first);
    await admin.put('/system/model', { id, modelDimension: 9 });
    expect((await models.embedding('cached')).modelDimension).toBe(9);
  });

  it('may share a name, and each is found by its category', async () => {
    const chatId = await createModel(admin, { modelName: 'both', apiHost });
    const answer = await admin.post<{ id: number }>('/system/model', {
      modelName: 'both',
      providerCode: 'custom_api',
      ...vector,
    });
    // Nobody can mean the other one, so there is nothing to warn of.
    expect(answer.msg).toBe('Done.');
    expect((await models.embedding('both')).id).toBe(answer.data.id);
    expect((await models.chat(chatId)).id).toBe(chatId);
  });

  it('say which to choose when the name is wrong', async () => {
    const chatId = await createModel(admin, { modelName: 'talker', apiHost });
    const embeddingId = await createModel(admin, { modelName: 'embedder', ...vector });
    await createModel(admin, { modelName: 'other-vendor', providerCode: 'deepseek', ...vector });
    await expect(models.embedding('talker')).rejects.toThrow(
      'The model talker is of category chat and cannot be used for embedding. Choose a model of category vector.',
    );
    await expect(models.rerank('talker')).rejects.toThrow(
      'cannot be used for reranking. Choose a model of category rerank.',
    );
    await expect(models.embedding('missing')).rejects.toThrow(
      'There is no model named missing. Choose another model of category vector, or ask an administrator to add it.',
    );
    await expect(models.embedding(' ')).rejects.toThrow(
      'No embedding model is chosen. Choose a model of category vector.',
    );
    await expect(models.chat(embeddingId)).rejects.toThrow('cannot be used for chat.');
    await expect(models.chat(chatId + 1_000_000)).rejects.toMatchObject({ code: 404 });
    await expect(models.embedding('other-vendor')).rejects.toThrow(
      /Unsupported model category: deepseek\..*custom_api/,
    );
  });

  it('that are stored under the former word for rerank are found', async () => {
    await plinth.app
      .get(Database)
      .query(
        "INSERT INTO model (tenant_id, provider_code, category, model_name, api_host) VALUES ('000000', 'custom_api', 'reranker', 'former', $1)",
        [apiHost],
      );
    expect((await models.rerank('former')).category).toBe('rerank');
  });

  it('are checked for their address when they are saved', async () => {
    for (const fields of [vector, { category: 'rerank', apiHost }]) {
      const answer = await admin.post('/system/model', {
        modelName: 'wrong-address',
        providerCode: 'custom_api',
        ...fields,
        apiHost: `${apiHost}/messages`,
      });
      expect(answer).toMatchObject({ code: 400, msg: expect.stringContaining('does not match') });
    }
  });
});
