import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

/** Nothing is called at this address. */
const apiHost = 'https://api.example.com/v1';

let plinth: Plinth;
let admin: Session;
let openai: OpenAI;
let anthropic: Anthropic;
let agentId: number;

beforeAll(async () => {
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const facts = {
    contextWindow: 128_000,
    maxOutput: 8_000,
    supportsTools: true,
    supportsVision: true,
  };
  const id = await createModel(admin, { apiHost, modelName: 'm-sees', ...facts });
  await createModel(admin, {
    apiHost,
    modelName: 'm-blind',
    contextWindow: 4_096,
    supportsVision: false,
    supportsTools: false,
  });
  for (const at of [1, 2, 3]) await createModel(admin, { apiHost, modelName: `m-${at}` });
  await createModel(admin, {
    apiHost,
    modelName: 'm-embed',
    category: 'vector',
    modelDimension: 64,
  });
  ({ id: agentId } = await createAgent(admin, id, { agentName: 'Clerk' }));
  const { headers } = withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] }));
  const apiKey = (headers['authorization'] ?? '').replace('Bearer ', '');
  openai = new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: plinth.url, apiKey, maxRetries: 0 });
});

afterAll(() => plinth.stop());

describe('facts of GET /v1/models', () => {
  it('are those of the record, in the spellings that clients read', async () => {
    expect(await openai.models.retrieve('m-sees')).toMatchObject({
      ...{ category: 'chat', context_length: 128_000, context_window: 128_000 },
      ...{ max_model_len: 128_000, max_completion_tokens: 8_000 },
      top_provider: { context_length: 128_000, max_completion_tokens: 8_000 },
      architecture: {
        modality: 'text+image->text',
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
      },
      capabilities: { completion_chat: true, function_calling: true, vision: true },
      supported_parameters: ['tools', 'tool_choice'],
    });
    expect(await openai.models.retrieve('m-embed')).toMatchObject({
      category: 'vector',
      architecture: { input_modalities: ['text'], output_modalities: ['embeddings'] },
      capabilities: { completion_chat: false },
    });
  });

  it('are absent where they are unknown', async () => {
    const { data } = await openai.models.list();
    const [unknown, blind] = ['m-1', 'm-blind'].map((id) => data.find((one) => one.id === id));

    expect(unknown).not.toHaveProperty('context_length');
    expect(unknown).not.toHaveProperty('top_provider');
    expect(unknown).not.toHaveProperty('supported_parameters');
    expect(blind).toMatchObject({
      top_provider: { context_length: 4_096 },
      capabilities: { function_calling: false, vision: false },
      supported_parameters: [],
    });
    expect(blind).not.toHaveProperty('max_completion_tokens');
  });

  it('of an agent are those of its model, but for tools, which it takes of no client', async () => {
    expect(await openai.models.retrieve(`agent-${agentId}`)).toMatchObject({
      ...{ name: 'Clerk', context_length: 128_000, max_completion_tokens: 8_000 },
      capabilities: { function_calling: false, vision: true },
    });
  });

  it('have the names of Anthropic in its form', async () => {
    expect(await anthropic.models.retrieve('m-sees')).toMatchObject({
      ...{ max_input_tokens: 128_000, max_tokens: 8_000, lifecycle: 'active' },
      capabilities: {
        image_input: { supported: true },
        pdf_input: { supported: true },
        structured_outputs: { supported: true },
      },
    });
    expect(await anthropic.models.retrieve('m-1')).toMatchObject({
      ...{ max_input_tokens: null, max_tokens: null, capabilities: null },
    });
  });
});

describe('pages of GET /v1/models in the form of Anthropic', () => {
  const ALL = ['m-sees', 'm-blind', 'm-1', 'm-2', 'm-3'];

  it('follow each other until the last', async () => {
    const pages: string[][] = [];
    const first = await anthropic.models.list({ limit: 2 });
    for await (const page of first.iterPages()) pages.push(page.data.map(({ id }) => id));

    expect(pages).toEqual([ALL.slice(0, 2), ALL.slice(2, 4), ['m-3', `agent-${agentId}`]]);
    expect([first.has_more, first.first_id, first.last_id]).toEqual([true, 'm-sees', 'm-blind']);
  });

  it('go back from a model', async () => {
    const near = await anthropic.models.list({ limit: 2, before_id: 'm-2' });
    const begin = await anthropic.models.list({ limit: 3, before_id: 'm-1' });

    expect([near.data.map(({ id }) => id), near.has_more]).toEqual([['m-blind', 'm-1'], true]);
    expect([begin.data.map(({ id }) => id), begin.has_more]).toEqual([ALL.slice(0, 2), false]);
  });

  it('refuse an id that is not in the list, and a limit of nothing', async () => {
    const unknown: unknown = await anthropic.models
      .list({ after_id: 'none' })
      .catch((e: unknown) => e);
    const none: unknown = await anthropic.models.list({ limit: 0 }).catch((e: unknown) => e);

    expect(unknown).toMatchObject({ status: 400, message: expect.stringContaining('after_id') });
    expect(none).toMatchObject({ status: 400 });
  });
});
