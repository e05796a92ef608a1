import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { createModel } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Offered {
  readonly models: readonly Record<string, unknown>[];
  readonly reason: string | null;
}

describe('the models that a service offers', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let other: Simulator;
  let admin: Session;

  beforeAll(async () => {
    simulator = await startSimulator();
    other = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
    await other.close();
  });

  beforeEach(() => {
    simulator.reset();
    other.reset();
  });

  /** A provider and, with a key, a model of it at the same address. */
  async function provide(providerCode: string, apiHost: string, apiKey?: string): Promise<number> {
    const fields = { providerName: providerCode, providerCode, apiHost };
    const { data } = await admin.post<{ id: number }>('/system/provider', fields);
    if (apiKey !== undefined) {
      await createModel(admin, { providerCode, modelName: 'first', apiHost, apiKey });
    }
    return data.id;
  }

  async function offered(id: number, session = admin): Promise<Offered> {
    const answer = await session.get<Offered>(`/system/provider/${id}/models`);
    expect(answer.code).toBe(200);
    return answer.data;
  }

  const asked = (of = simulator) =>
    of.requests.map(({ path, headers }) => [path, headers.authorization, headers['x-api-key']]);

  it('are those of its list, with published windows and prices', async () => {
    const id = await provide('openai', `${simulator.url}/v1`, 'key-of-openai');
    simulator.script({
      body: JSON.stringify({
        object: 'list',
        data: [{ id: 'gpt-4.1-mini' }, { id: 'text-embedding-3-small' }, { id: 'nobody-knows' }],
      }),
    });
    const { models, reason } = await offered(id);
    expect(reason).toBeNull();
    expect(models).toMatchObject([
      {
        id: 'gpt-4.1-mini',
        contextWindow: expect.any(Number),
        inputPrice: 0.4,
        outputPrice: 1.6,
        cachedInputPrice: 0.1,
      },
      { id: 'text-embedding-3-small', category: 'vector', inputPrice: 0.02 },
      { id: 'nobody-knows', contextWindow: null, inputPrice: null, category: null },
    ]);
    expect(asked()).toEqual([['/v1/models', 'Bearer key-of-openai', undefined]]);
  });

  it('keep what the service itself says', async () => {
    const id = await provide('openrouter', simulator.url, 'a-key');
    simulator.script({
      body: JSON.stringify({
        data: [
          {
            id: 'openai/gpt-4.1-mini',
            context_length: 1_000,
            pricing: { prompt: '0.000007', completion: '0.000009' },
          },
        ],
      }),
    });
    expect((await offered(id)).models).toMatchObject([
      { contextWindow: 1_000, inputPrice: 7, outputPrice: 9 },
    ]);
    expect(asked()[0]?.[0]).toBe('/api/v1/models');
  });

  it('are asked for in the protocol of the code, with the key of a model at the same origin alone', async () => {
    const id = await provide('anthropic', simulator.url);
    const fields = { providerCode: 'anthropic', modelName: 'claude' };
    await createModel(admin, { ...fields, apiHost: other.url, apiKey: 'key-of-another' });
    await offered(id);
    expect(asked()).toEqual([['/v1/models', undefined, undefined]]);
    expect(simulator.requests[0]?.headers['anthropic-version']).toBe('2023-06-01');
    await createModel(admin, { ...fields, apiHost: `${simulator.url}/v1`, apiKey: 'own-key' });
    expect((await offered(id)).models.map((model) => model['id'])).toContain('sim-chat');
    expect(asked()[1]).toEqual(['/v1/models', undefined, 'own-key']);
    expect(asked(other)).toEqual([]);
  });

  it.each([
    ['ollama', '/api/tags'],
    ['lmstudio', '/api/v0/models'],
    ['jina', '/v1/models'],
  ])('of %s are at %s', async (code, path) => {
    const id = await provide(code, simulator.url);
    await offered(id);
    expect(asked()[0]?.[0]).toBe(path);
  });

  it('are none, with a reason, where they cannot be listed', async () => {
    const id = await provide('mistral', simulator.url);
    expect(await offered(id)).toEqual({
      models: [],
      reason: expect.stringContaining('only with a key'),
    });
    const fields = { modelName: 'first', apiHost: simulator.url, apiKey: 'a-key' };
    await createModel(admin, { ...fields, providerCode: 'mistral' });
    simulator.script({ status: 404, body: '{"detail":"Not Found"}' });
    expect((await offered(id)).reason).toContain('(404)');
    simulator.script({ body: '{"object":"list"}' });
    expect((await offered(id)).reason).toContain('without a list of models');
    const unknown = await provide('mystery', simulator.url);
    expect((await offered(unknown)).reason).toContain('have no list of models');
    const metadata = await provide('groq', 'http://169.254.169.254');
    expect((await offered(metadata)).reason).toContain('refused');
    const custom = await provide('custom_api', '');
    expect((await offered(custom)).reason).toContain('No address is known');
    simulator.reset();
    await createModel(admin, { ...fields, providerCode: 'custom_api' });
    expect((await offered(custom)).models.length).toBeGreaterThan(0);
  });

  it('never show a key that the service repeats', async () => {
    const apiKey = 'canary-key-of-together-91c2';
    const id = await provide('together', simulator.url, apiKey);
    simulator.script({ body: JSON.stringify([{ id: 'm', display_name: `for ${apiKey}` }]) });
    expect(JSON.stringify(await offered(id))).not.toContain(apiKey);
    simulator.script({ status: 403, body: `{"message":"bad ${apiKey}"}` });
    const { reason } = await offered(id);
    expect(reason).toContain('(403)');
    expect(reason).not.toContain(apiKey);
  });

  it('are not listed for one who may not see the provider', async () => {
    const id = await provide('fireworks', simulator.url);
    const tenant = { companyName: 'Other', tenantId: '700011' };
    await admin.post('/system/tenant', {
      ...tenant,
      username: 'other',
      password: 'other-password',
    });
    const stranger = await plinth.signIn('other', 'other-password', '700011');
    expect((await stranger.get(`/system/provider/${id}/models`)).code).toBe(404);
    expect(simulator.requests).toHaveLength(0);
  });
});
