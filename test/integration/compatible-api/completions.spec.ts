import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import OpenAI from 'openai';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import {
  textEndpointBeside,
  unfenced,
} from '../../../src/provider/adapter/chat/text-completion.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const KEY = 'sk-key-of-completions';
const PROMPT = 'def add(a, b):';

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let client: OpenAI;
let agentId: number;

overrideConstants(CHAT_LIMITS, { attempts: 1 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'custom_messages', 'ollama']) await createProvider(admin, code);
  const service = { apiHost: `${simulator.url}/v1`, apiKey: KEY };
  const id = await createModel(admin, { ...service, modelName: 'sim-text' });
  for (const modelName of [
    'chatonly',
    'noinsert',
    'sim--echo',
    'chatonly--echo',
    'sim--cut-1',
    'moderator',
  ]) {
    await createModel(admin, { ...service, modelName });
  }
  await createModel(admin, {
    ...service,
    modelName: 'sim-messages',
    providerCode: 'custom_messages',
  });
  await createModel(admin, {
    ...service,
    apiHost: simulator.url,
    modelName: 'sim-ollama',
    providerCode: 'ollama',
  });
  agentId = (await createAgent(admin, id)).id;
  const moderation = { ...service, category: 'moderation' };
  for (const modelName of ['omni-moderation', 'mistral-moderation']) {
    await createModel(admin, { ...moderation, modelName });
  }
  const { headers } = withKey(admin, await makeKey(admin, { permissions: ['chat:chat:use'] }));
  const apiKey = (headers['authorization'] ?? '').replace('Bearer ', '');
  client = new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 });
});

beforeEach(() => simulator.reset());

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

function paths(): readonly string[] {
  return simulator.requests.map(({ path }) => path);
}

async function refusal(call: Promise<unknown>): Promise<unknown> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`Not refused: ${String(error)}`);
  return [error.status, error.param];
}

describe('POST /v1/completions', () => {
  it('is answered by a service of completions', async () => {
    simulator.script({ match: { path: '/completions' }, text: ' return a + b' });
    const made = await client.completions.create({
      model: 'sim-text',
      prompt: PROMPT,
      stop: '\n',
      temperature: 0,
    });

    expect(made).toMatchObject({
      ...{ object: 'text_completion', model: 'sim-text' },
      choices: [{ text: ' return a + b', index: 0, logprobs: null, finish_reason: 'stop' }],
      usage: { total_tokens: expect.any(Number) },
    });
    expect(paths()).toEqual(['/v1/completions']);
    expect(simulator.requests[0]?.body).toMatchObject({
      ...{ model: 'sim-text', prompt: PROMPT, max_tokens: 16, stop: ['\n'], temperature: 0 },
    });
  });

  it('streams its pieces, and the usage that was asked for', async () => {
    const asked = {
      model: 'sim--echo',
      prompt: PROMPT,
      stream: true,
      stream_options: { include_usage: true },
    } as const;
    const chunks: OpenAI.Completion[] = [];
    for await (const chunk of await client.completions.create(asked)) chunks.push(chunk);

    expect(chunks.map(({ choices }) => choices[0]?.text ?? '').join('')).toBe(PROMPT);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: expect.any(Number) },
    });
  });

  it('passes a suffix on, and asks a chat to fill in where the model cannot', async () => {
    const suffix = 'print(add(1, 2))';
    await client.completions.create({ model: 'sim-text', prompt: PROMPT, suffix });
    expect(simulator.requests[0]?.body).toMatchObject({ prompt: PROMPT, suffix });

    simulator.reset();
    simulator.script({
      match: { path: '/chat/completions' },
      text: '```python\n    return a + b\n```',
    });
    const filled = await client.completions.create({ model: 'noinsert', prompt: PROMPT, suffix });
    expect(filled.choices[0]?.text).toBe('    return a + b');
    expect(paths()).toEqual(['/v1/completions', '/v1/chat/completions']);
    const sent = JSON.stringify(simulator.requests[1]?.body);
    expect([
      sent.includes(PROMPT),
      sent.includes(suffix),
      sent.includes('fill-in-the-middle'),
    ]).toEqual([true, true, true]);

    // It is known by then, and holds for a suffix alone.
    await client.completions.create({ model: 'noinsert', prompt: PROMPT, suffix });
    await client.completions.create({ model: 'noinsert', prompt: PROMPT });
    expect(paths().slice(2)).toEqual(['/v1/chat/completions', '/v1/completions']);
  });

  it.each([
    ['chatonly--echo', ['/v1/completions', '/v1/chat/completions']],
    ['sim-messages', ['/v1/messages']],
    ['sim-ollama', ['/v1/completions']],
  ])('is answered by %s, a chat where it must be', async (model, called) => {
    const { choices } = await client.completions.create({ model, prompt: PROMPT, max_tokens: 100 });

    expect(choices[0]?.text).toContain(PROMPT);
    expect(paths()).toEqual(called);
  });

  it('answers each of several prompts, of texts or token ids, and repeats them with echo', async () => {
    const texts = await client.completions.create({
      model: 'sim--echo',
      prompt: ['One', 'Two'],
      echo: true,
    });
    const ids = await client.completions.create({ model: 'sim--echo', prompt: [9906, 1917] });

    expect(texts.choices.map(({ text, index }) => [text, index])).toEqual([
      ['OneOne', 0],
      ['TwoTwo', 1],
    ]);
    expect(ids.choices[0]?.text).toBe('Hello world');
  });

  it('names the hints that it leaves out', async () => {
    const hints = { logprobs: 3, best_of: 2, presence_penalty: 0, user: 'me' };
    const asked = { model: 'sim-text', prompt: PROMPT, ...hints };
    const response = await client.completions.create(asked).asResponse();

    expect(response.headers.get('x-plinth-ignored')).toBe('logprobs, best_of');
  });

  it('fails as its service does, and ends a stream that breaks off with an error', async () => {
    simulator.script({ match: { path: '/completions' }, status: 429 });
    expect(await refusal(client.completions.create({ model: 'sim-text', prompt: PROMPT }))).toEqual(
      [429, null],
    );

    const stream = await client.completions.create({
      model: 'sim--cut-1',
      prompt: PROMPT,
      stream: true,
    });
    const reading = (async () => {
      for await (const _ of stream);
    })();
    await expect(reading).rejects.toThrow(/ended the answer/);
  });

  it('refuses what is wrong, by its name, and an agent', async () => {
    const asked = { model: 'sim-text', prompt: PROMPT };

    expect(await refusal(client.completions.create({ ...asked, n: 2 }))).toEqual([400, 'n']);
    expect(await refusal(client.completions.create({ ...asked, prompt: '' }))).toEqual([
      400,
      expect.stringContaining('prompt'),
    ]);
    expect(await refusal(client.post('/completions', { body: { model: 'sim-text' } }))).toEqual([
      400,
      'prompt',
    ]);
    expect(
      await refusal(client.completions.create({ ...asked, model: `agent-${agentId}` })),
    ).toEqual([404, 'model']);
    expect(await refusal(client.completions.create({ ...asked, model: 'none' }))).toEqual([
      404,
      'model',
    ]);
  });
});

describe('the endpoint of completions', () => {
  it.each([
    [
      'https://api.example.com/v1/chat/completions',
      'https://api.example.com/v1/completions',
      false,
    ],
    [
      'https://api.example.com/chat/completions?api-version=1',
      'https://api.example.com/completions?api-version=1',
      false,
    ],
    [
      'https://api.mistral.ai/v1/chat/completions',
      'https://api.mistral.ai/v1/fim/completions',
      true,
    ],
    [
      'https://codestral.mistral.ai/v1/chat/completions',
      'https://codestral.mistral.ai/v1/fim/completions',
      true,
    ],
    [
      'https://api.deepseek.com/v1/chat/completions',
      'https://api.deepseek.com/beta/completions',
      false,
    ],
  ])('beside %s is %s', (chat, url, isFim) => {
    expect(textEndpointBeside(chat)).toEqual({ url, isFim });
  });

  it('has no fences around what an editor inserts', () => {
    expect(unfenced('```ts\nconst a = 1;\n```\n')).toBe('const a = 1;');
    expect(unfenced('a `b` c')).toBe('a `b` c');
    expect(unfenced('```\n  x\n\n  y\n```')).toBe('  x\n\n  y');
  });
});

describe('POST /v1/moderations', () => {
  it('answers a result for each text', async () => {
    const made = await client.moderations.create({
      model: 'omni-moderation',
      input: ['Good day', 'violence'],
    });

    expect(made.id).toMatch(/^modr-/);
    expect(made.results.map(({ flagged }) => flagged)).toEqual([false, true]);
    expect(made.results[1]?.categories.violence).toBe(true);
    expect(simulator.requests[0]?.body).toEqual({
      model: 'omni-moderation',
      input: ['Good day', 'violence'],
    });
  });

  it('takes a text and parts, and the first model where none is named', async () => {
    const text = await client.moderations.create({
      input: 'hate',
      ...{ user: 'me', safety_identifier: 'me' },
    });
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const parts = await client.moderations.create({
      input: [{ type: 'text', text: 'hate' }, image],
    });

    expect([text.results[0]?.flagged, text.model]).toEqual([true, 'omni-moderation']);
    expect(parts.results).toHaveLength(1);
    expect(simulator.requests[1]?.body).toMatchObject({
      input: [{ type: 'text', text: 'hate' }, image],
    });
  });

  it('says whether a service flags that does not say it itself', async () => {
    const made = await client.moderations.create({
      model: 'mistral-moderation',
      input: ['sexual', 'fine'],
    });

    expect(made.results.map(({ flagged }) => flagged)).toEqual([true, false]);
  });

  it('fails as its service does, and refuses what is wrong by its name', async () => {
    simulator.script({ match: { path: '/moderations' }, body: { answer: 42 } });
    expect(await refusal(client.moderations.create({ input: 'x' }))).toEqual([502, null]);
    expect(await refusal(client.moderations.create({ model: 'none', input: 'x' }))).toEqual([
      404,
      'model',
    ]);
    expect(await refusal(client.moderations.create({ model: 'sim-text', input: 'x' }))).toEqual([
      404,
      'model',
    ]);
    expect(await refusal(client.moderations.create({ input: '' }))).toEqual([400, 'input']);
  });

  it('is listed with its category', async () => {
    expect(await client.models.retrieve('omni-moderation')).toMatchObject({
      category: 'moderation',
    });
  });
});
