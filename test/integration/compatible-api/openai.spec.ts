import { request as httpRequest } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_PING } from '../../../src/chat/index.js';
import OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import { ContentFilterFinishReasonError, LengthFinishReasonError } from 'openai/error';
import { encode } from 'gpt-tokenizer/encoding/cl100k_base';
import type { ScriptStep, Simulator } from '../../../simulator/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import {
  closeCompatibleApi,
  COMPLETION,
  failureOf,
  openCompatibleApi,
  openStreams,
  SERVICE_KEY,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { createModel } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { calling, CUT_IN_CALL, sentTo } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const QUESTION = [{ role: 'user', content: 'What is new?' }] as const;
const LOOK_UP = {
  type: 'function',
  function: {
    name: 'look_up',
    description: 'Looks a word up',
    parameters: { type: 'object', properties: { word: { type: 'string' } } },
  },
} as const;

const ALLOWED = {
  type: 'allowed_tools',
  allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'x' } }] },
};

const DETAIL = ['detail', 'unsupported_parameter'] as const;
/** A question about an image, which is to be looked at closely. */
function shown(url: string) {
  const image = { type: 'image_url', image_url: { url, detail: 'high' } } as const;
  return [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }] as const;
}

function schemaFormat(schema: Record<string, unknown>) {
  return { type: 'json_schema', json_schema: { name: 'book', schema } } as const;
}

/** The model of each protocol. */
const RELAYED = 'sim-chat';
const TRANSLATED = ['sim-messages', 'sim-ollama'];

let world: CompatibleApi;
let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let modelId: number;
let agentId: number;
let toolAgentId: number;
/** With a key that wants every parameter honoured. */
let strict: OpenAI;

beforeAll(async () => {
  world = await openCompatibleApi({ CHAT_STREAMS_PER_USER: '2' });
  ({ plinth, simulator, admin, modelId, agentId } = world);
  const service = { apiHost: `${simulator.url}/v1`, apiKey: SERVICE_KEY };
  await createModel(admin, { ...service, modelName: 'agent-77' });
  const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
  const modelDescribe = 'Small texts';
  await createModel(admin, { ...service, ...embedding, modelDescribe });
  const known = { knowledgeIds: [world.knowledgeId], systemPrompt: 'You are the shop.' };
  const tools = { runtime: 'tools', tools: ['search_knowledge'] };
  toolAgentId = (await createAgent(admin, modelId, { ...known, ...tools })).id;
  const made = await makeKey(admin, { permissions: ['chat:chat:use'], strictParameters: true });
  strict = client({}, withKey(admin, made));
});

afterEach(() => simulator.reset());

afterAll(() => closeCompatibleApi(world));

function client(options: Partial<ClientOptions> = {}, session = admin): OpenAI {
  return new OpenAI({
    baseURL: `${plinth.url}/v1`,
    apiKey: (session.headers['authorization'] ?? 'Bearer none').replace('Bearer ', ''),
    defaultHeaders: { clientid: session.headers['clientid'] ?? '' },
    maxRetries: 0,
    ...options,
  });
}

function model(...steps: ScriptStep[]): void {
  simulator.script(...steps);
}

function failure(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  return failureOf(OpenAI.APIError, call);
}

async function textOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

/** Sends what the types of the SDK do not allow. */
function postOdd(path: string, body: object): Promise<unknown> {
  return client().post(path, { body });
}

describe('GET /v1/models', () => {
  it('lists the models and agents of the tenant by the ids that requests name', async () => {
    const { data } = await client().models.list();

    expect(data.map(({ id }) => id)).toEqual([
      ...[RELAYED, 'sim-messages', 'sim-responses', 'sim-ollama', 'sim-embed-64', 'sim-embed-256'],
      ...[`agent-${toolAgentId}`, `agent-${agentId}`],
    ]);
    expect(data[0]).toEqual({
      id: RELAYED,
      name: RELAYED,
      object: 'model',
      created: expect.any(Number),
      owned_by: 'custom_api',
      category: 'chat',
      architecture: {
        modality: 'text->text',
        input_modalities: ['text'],
        output_modalities: ['text'],
      },
      capabilities: { completion_chat: true },
    });
  });

  it('says since when there is a model and an agent', async () => {
    for (const { created } of (await client().models.list()).data) {
      expect(Math.abs(Date.now() / 1_000 - created)).toBeLessThan(3_600);
    }
  });

  it('answers one of them, and 404 in the form of the protocol for others', async () => {
    expect(await client().models.retrieve(`agent-${agentId}`)).toMatchObject({
      name: 'Shop clerk',
      owned_by: 'plinth',
    });
    expect(await client().models.retrieve('sim-embed-256')).toMatchObject({ name: 'Small texts' });
    for (const id of ['none', 'agent-77', 'a/b', '%']) {
      const error = await failure(client().models.retrieve(id));
      expect([error.status, error.code, error.param]).toEqual([404, 'model_not_found', 'model']);
    }
  });
});

describe('an API key', () => {
  /** A client that has the key alone. */
  async function clientOf(fields: object): Promise<OpenAI> {
    const { headers } = withKey(admin, await makeKey(admin, fields));
    const apiKey = (headers['authorization'] ?? '').replace('Bearer ', '');
    return client({ apiKey, defaultHeaders: {} });
  }
  const CHAT = { permissions: ['chat:chat:use'] };
  const asked = { model: RELAYED, messages: [...QUESTION] };

  it('is all that a client needs, and shows and calls no model beyond its limits', async () => {
    const limited = await clientOf({ ...CHAT, modelIds: [modelId], agentIds: [], doors: ['v1'] });

    expect((await limited.models.list()).data.map(({ id }) => id)).toEqual([RELAYED]);
    const others = await clientOf({ ...CHAT, modelIds: [modelId + 1] });
    expect((await others.models.list()).data.map(({ id }) => id)).toEqual(['sim-messages']);
    model({ text: 'Yes.', match: COMPLETION.match });
    const answer = await limited.chat.completions.create(asked);
    expect(answer.choices[0]?.message.content).toBe('Yes.');
    for (const call of [
      limited.chat.completions.create({ ...asked, model: 'sim-messages' }),
      limited.embeddings.create({ model: 'sim-embed-256', input: 'x' }),
    ]) {
      const error = await failure(call);
      expect([error.status, error.code]).toEqual([403, 'permission_denied']);
    }
    const agent = await failure(
      limited.chat.completions.create({ ...asked, model: `agent-${agentId}` }),
    );
    expect([agent.status, agent.code]).toEqual([404, 'model_not_found']);
  });

  it('is refused without the permission, at another interface and when it is none', async () => {
    const [silent, elsewhere] = [await clientOf({}), await clientOf({ ...CHAT, doors: ['rest'] })];
    for (const one of [silent, elsewhere]) {
      const error = await failure(one.chat.completions.create(asked));
      expect([error.status, error.type]).toEqual([403, 'permission_error']);
    }
    const none = client({ apiKey: 'sk-plinth-none', defaultHeaders: {} });
    const error = await failure(none.models.list());
    expect([error.status, error.code]).toEqual([401, 'invalid_api_key']);
  });
});

describe('failures before an answer', () => {
  it('have HTTP statuses and the form of the protocol, never the envelope', async () => {
    const stranger = client({ apiKey: 'nobody' });
    const unsigned = await failure(stranger.models.list());
    expect(unsigned).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(unsigned.error).toEqual({
      message: expect.stringContaining('Send a key of Plinth'),
      type: 'authentication_error',
      param: null,
      code: 'invalid_api_key',
    });

    const { status, text } = await admin.raw('GET', '/v1/nothing', undefined, {
      accept: 'text/html',
    });
    expect(status).toBe(404);
    expect(JSON.parse(text)).toEqual({
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    });
    const broken = await admin.raw('POST', '/v1/chat/completions', '{"model":');
    expect([broken.status, JSON.parse(broken.text)]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error' } },
    ]);
    const large = { model: RELAYED, messages: [{ role: 'user', content: 'x'.repeat(15 << 20) }] };
    expect((await failure(postOdd('/chat/completions', large))).status).toBe(413);
    const asForm = { 'content-type': 'application/x-www-form-urlencoded' };
    const untyped = await admin.raw('POST', '/v1/chat/completions', '{}', asForm);
    expect([untyped.status, JSON.parse(untyped.text)]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('Content-Type: application/json') } },
    ]);
  });

  it.each([
    [{ messages: QUESTION }, 'model', 'invalid_value'],
    [
      { model: 'sim-messages', messages: [{ role: 'user' }] },
      'messages[0].content',
      'invalid_value',
    ],
    [{ model: RELAYED, messages: [] }, 'messages', 'invalid_value'],
    [{ model: RELAYED, messages: [{ content: 'x' }] }, 'messages[0].role', 'invalid_value'],
    [{ model: RELAYED, messages: QUESTION, stream: 'yes' }, 'stream', 'invalid_value'],
    [{ model: RELAYED, messages: QUESTION, n: 2 }, 'n', 'unsupported_parameter'],
    [{ model: 'sim-messages', messages: QUESTION, seed: 1 }, 'seed', 'unsupported_parameter'],
    [
      { model: 'sim-messages', messages: QUESTION, logprobs: true },
      'logprobs',
      'unsupported_parameter',
    ],
    [
      { model: 'sim-messages', messages: QUESTION, web_search_options: {} },
      'web_search_options',
      'unsupported_parameter',
    ],
    [
      { model: 'sim-messages', messages: [{ role: 'user', content: 'x', name: 'A'.repeat(65) }] },
      'messages[0].name',
      'invalid_value',
    ],
    [
      { model: 'sim-ollama', messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] },
      'messages[0].content[0].type',
      'invalid_value',
    ],
    [
      { model: 'sim-ollama', messages: QUESTION, tools: [LOOK_UP], tool_choice: 'required' },
      'tool_choice',
      'unsupported_parameter',
    ],
    [
      { model: 'sim-messages', messages: QUESTION, tools: [LOOK_UP], tool_choice: ALLOWED },
      'tool_choice.allowed_tools.tools[0].function.name',
      'invalid_value',
    ],
    [
      { model: 'sim-messages', messages: QUESTION, tool_choice: { type: 'custom' } },
      'tool_choice.type',
      'invalid_value',
    ],
    [
      { model: 'sim-messages', messages: QUESTION, tool_choice: 'required' },
      'tool_choice',
      'invalid_value',
    ],
    [
      {
        model: 'sim-messages',
        messages: QUESTION,
        response_format: schemaFormat({ type: 'array' }),
      },
      'response_format',
      'invalid_value',
    ],
    [{ model: 'sim-messages', messages: shown('https://files.test/a.png') }, ...DETAIL],
    [{ model: 'sim-messages', messages: shown('data:image/png;base64,iVBORw0KGgo=') }, ...DETAIL],
    [{ model: 'sim-ollama', messages: shown('https://files.test/a.png') }, ...DETAIL],
    [
      {
        model: 'sim-messages',
        messages: [{ role: 'tool', tool_call_id: 'call_9', content: 'x' }],
      },
      'messages[0].tool_call_id',
      'invalid_value',
    ],
  ])('%j names the parameter %s to a strict key', async (body, param, code) => {
    const error = await failure(strict.post('/chat/completions', { body }));

    expect([error.status, error.param, error.code]).toEqual([400, param, code]);
    expect(error.message).toMatch(/\.$/);
    expect(simulator.requests).toEqual([]);
  });

  it('of a schema name the parameter as the client does', async () => {
    const response_format = schemaFormat({ type: 'object', properties: { a: { typ: 'x' } } });
    const asked = { model: 'sim-messages', messages: QUESTION, response_format };
    const { message } = await failure(postOdd('/chat/completions', asked));

    expect(message).toContain('response_format.json_schema.schema cannot be used: /properties/a');
    expect(message).not.toContain('responseFormat');
  });

  it('names a model that is not there, and one of another category', async () => {
    for (const name of ['none', 'sim-embed-256', 'agent-999999']) {
      const call = client().chat.completions.create({ model: name, messages: [...QUESTION] });
      const error = await failure(call);
      expect([name, error.status, error.code]).toEqual([name, 404, 'model_not_found']);
    }
  });

  it.each([
    [{ status: 401 }, 502, 'upstream_authentication'],
    [{ status: 404 }, 502, 'upstream_not_found'],
    [{ status: 400 }, 400, 'upstream_invalid_request'],
    [{ status: 413 }, 413, 'upstream_invalid_request'],
    [{ status: 429, retryAfter: 7 }, 429, 'rate_limit_exceeded'],
    [
      { status: 429, body: '{"error":{"message":"Please try again in 6.1s."}}' },
      ...([429, 'rate_limit_exceeded'] as const),
    ],
    [{ status: 500 }, 503, 'upstream_overloaded'],
  ])('of a service with %j are told as %i %s', async (step, status, code) => {
    for (const name of [RELAYED, 'sim-messages']) {
      for (const stream of [false, true]) {
        model(step);
        const error = await failure(
          client().chat.completions.create({ model: name, messages: [...QUESTION], stream }),
        );
        expect([name, stream, error.status, error.code]).toEqual([name, stream, status, code]);
        if (status === 429) expect(error.headers?.get('retry-after')).toBe('7');
      }
    }
  });
});

describe('a relayed answer', () => {
  it('is what the service sent, byte by byte, and so is the request', async () => {
    const own = {
      model: RELAYED,
      messages: QUESTION,
      vendor_option: { deep: [1, null] },
      top_k: 4,
    };
    const body =
      '{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi \\u00e9","vendor":1},"finish_reason":"stop"}], "vendor": {"x": 1.0}}';
    model({ headers: { 'content-type': 'application/json' }, body });
    const { status, text } = await admin.raw('POST', '/v1/chat/completions', own);

    expect([status, text]).toEqual([200, body]);
    expect(simulator.requests[0]?.body).toEqual(own);
  });

  it('may call tools that are no functions', async () => {
    const custom = { id: 'call_1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } };
    const message = { role: 'assistant', content: null, refusal: null, tool_calls: [custom] };
    const choice = { index: 0, message, logprobs: null, finish_reason: 'tool_calls' };
    const answer = { id: '1', object: 'chat.completion', created: 1, model: 'm' };
    model({ body: { ...answer, choices: [choice] } });
    const { choices } = await client().chat.completions.create({
      model: RELAYED,
      messages: [...QUESTION],
      tools: [{ type: 'custom', custom: { name: 'patch' } }],
    });

    expect(choices).toEqual([choice]);
    expect(simulator.requests).toHaveLength(1);
  });

  it('is streamed byte by byte, with the end mark', async () => {
    const asked = { model: RELAYED, messages: QUESTION, stream: true };
    for (const step of [{ chunks: 5 }, { unicode: true }, { byteSplit: true }, { crlf: true }]) {
      model(step, step);
      const direct = await post(`${simulator.url}/v1/chat/completions`, {
        ...asked,
        stream_options: { include_usage: true },
      });
      const relayed = await post(`${plinth.url}/v1/chat/completions`, {
        ...asked,
        stream_options: { include_usage: true },
      });
      expect(neutral(relayed)).toEqual(neutral(direct));
      expect(relayed).toContain('[DONE]');
    }
  });

  it('has usage only where it was asked for, though the service is always asked', async () => {
    const stream = await client().chat.completions.create({
      model: RELAYED,
      messages: [...QUESTION],
      stream: true,
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);

    expect(chunks.filter(({ choices }) => choices.length === 0)).toEqual([]);
    expect(simulator.requests[0]?.body).toMatchObject({ stream_options: { include_usage: true } });
  });
});

describe.each([RELAYED, ...TRANSLATED])('the model %s', (name) => {
  it('answers in one piece and as a stream', async () => {
    model({ text: 'Nothing is new.', inputTokens: 5, outputTokens: 3 });
    const whole = await client().chat.completions.create({ model: name, messages: [...QUESTION] });
    expect(whole).toMatchObject({
      object: 'chat.completion',
      model: name,
      choices: [
        { message: { role: 'assistant', content: 'Nothing is new.' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
    });

    model({ text: 'Nothing is new.', inputTokens: 5, outputTokens: 3 });
    const streamed = client().chat.completions.stream({
      model: name,
      messages: [...QUESTION],
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await streamed.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      message: { role: 'assistant', content: 'Nothing is new.' },
      finish_reason: 'stop',
    });
    expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 });
  });

  it('calls tools, and reads their results', async () => {
    const asked = { model: name, messages: [...QUESTION], tools: [LOOK_UP] };
    model(calling('look_up', { word: 'new' }), calling('look_up', { word: 'new' }), {
      text: 'It is an adjective.',
    });
    const whole = await client().chat.completions.create(asked);
    const streamed = await client().chat.completions.stream(asked).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      const [call] = choices[0]?.message.tool_calls ?? [];
      if (call?.type !== 'function') throw new Error('No function was called.');
      expect([call.function.name, JSON.parse(call.function.arguments)]).toEqual([
        'look_up',
        { word: 'new' },
      ]);
    }
    const { message } = whole.choices[0] ?? {};
    if (!message) throw new Error('There is no message.');
    const [call] = message.tool_calls ?? [];
    const result = { role: 'tool', tool_call_id: call?.id ?? '', content: 'adjective' } as const;
    const last = await client().chat.completions.create({
      ...asked,
      messages: [...asked.messages, message, result],
    });
    expect(last.choices[0]?.message.content).toBe('It is an adjective.');
    expect(JSON.stringify(simulator.requests.at(-1)?.body)).toContain('adjective');
  });

  it('says that it reached its limit in a tool call', async () => {
    const step = { ...CUT_IN_CALL, inputTokens: 5, outputTokens: 900 };
    model(step, step);
    const asked = { model: name, messages: [...QUESTION], tools: [LOOK_UP] };
    const stream_options = { include_usage: true };
    const { chat } = client({ maxRetries: 2 });
    const whole = await chat.completions.create(asked);
    const streamed = chat.completions.stream({ ...asked, stream_options });
    for (const { choices, usage } of [whole, await streamed.finalChatCompletion()]) {
      expect(choices).toMatchObject([
        { message: { content: 'Let me look.' }, finish_reason: 'length' },
      ]);
      // A relayed answer has what there is of the call.
      if (name !== RELAYED) expect(choices[0]?.message.tool_calls ?? []).toEqual([]);
      expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 900 });
    }
    expect(simulator.requests).toHaveLength(2);
  });

  it('is offered the functions that it may call', async () => {
    const other = { ...LOOK_UP, function: { ...LOOK_UP.function, name: 'write_down' } };
    const named = { type: 'function', function: { name: 'write_down' } } as const;
    const choices: OpenAI.ChatCompletionToolChoiceOption[] = [
      ...(name === 'sim-ollama' ? [] : [named]),
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } },
    ];
    for (const tool_choice of choices) {
      model({ text: 'Yes.' });
      await client().chat.completions.create({
        model: name,
        messages: [...QUESTION],
        tools: [LOOK_UP, other],
        tool_choice,
      });
      const sent = simulator.requests.at(-1)?.body;
      if (name === RELAYED) expect(sent).toMatchObject({ tool_choice });
      else expect(JSON.stringify(sent)).not.toContain('look_up');
      expect(JSON.stringify(sent)).toContain('write_down');
    }
  });

  it('gets the parameters that it can honour', async () => {
    model({ text: 'Yes.' });
    // Still sent by many clients.
    const cached = { prompt_cache_retention: '24h' };
    const older: object = { user: 'me', ...cached, ...(name !== 'sim-messages' && { seed: 3 }) };
    const effort = name === 'sim-ollama' ? 'none' : 'high';
    await client().chat.completions.create({
      model: name,
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Is it red?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
      temperature: 0.5,
      top_p: 0.9,
      max_completion_tokens: 77,
      stop: ['END'],
      reasoning_effort: effort,
      ...older,
    });
    const sent = JSON.stringify(simulator.requests[0]?.body);

    for (const part of ['Be brief.', 'iVBORw0KGgo=', '0.5', '0.9', ':77', 'END']) {
      expect(sent).toContain(part);
    }
    if (name !== 'sim-messages') expect(sent).toContain('"seed":3');
    expect(sent).toContain(name === 'sim-ollama' ? '"think":false' : 'effort":"high"');
  });

  it('is told who says what, where a role has several participants', async () => {
    model({ text: 'Blue.' });
    const call = { id: 'call_1', type: 'function' } as const;
    await client().chat.completions.create({
      model: name,
      messages: [
        { role: 'system', name: 'host', content: 'Be brief.' },
        { role: 'user', name: 'Ann', content: 'Which colour?' },
        { role: 'assistant', name: 'painter', content: 'Red.' },
        {
          role: 'assistant',
          name: 'clerk',
          tool_calls: [{ ...call, function: { name: 'look_up', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'Nothing.' },
        { role: 'user', name: 'Bob', content: [{ type: 'text', text: 'Another one.' }] },
      ],
    });
    const sent = JSON.stringify(simulator.requests[0]?.body);
    const own = name === RELAYED;

    expect(sent).toContain('"Be brief."');
    expect(sent.includes('"painter: Red."')).toBe(!own);
    // A message of calls alone says nothing.
    expect(sent).not.toContain('clerk: ');
    expect(sent.includes('"Ann: Which colour?"')).toBe(!own);
    expect(sent.includes('"Bob: Another one."')).toBe(!own);
    expect(sent.includes('"name":"Ann"')).toBe(own);
  });

  it('answers JSON of a schema', async () => {
    model({ text: '{"title":"New"}' });
    const schema = {
      type: 'object',
      properties: { title: { type: 'string' } },
      required: ['title'],
      additionalProperties: false,
    };
    const { choices } = await client().chat.completions.create({
      model: name,
      messages: [...QUESTION],
      response_format: { type: 'json_schema', json_schema: { name: 'book', schema } },
    });

    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ title: 'New' });
  });

  it('calls tools before it answers JSON of a schema', async () => {
    // The SDK takes all text for JSON. A relayed model does not write any other.
    const before = name === RELAYED ? {} : { text: 'Let me look.' };
    const called = { ...calling('look_up', { word: 'new' }), ...before };
    model(called, called, { text: '{"title":"New"}' });
    const response_format = schemaFormat({ type: 'object', required: ['title'] });
    const asked = { model: name, messages: [...QUESTION], tools: [LOOK_UP], response_format };
    const streamed = await client().chat.completions.stream(asked).finalChatCompletion();
    expect(streamed.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'look_up' } }] },
    });
    const { message } = (await client().chat.completions.create(asked)).choices[0] ?? {};
    if (!message) throw new Error('There is no message.');
    expect([message.content, message.tool_calls?.length]).toEqual([null, 1]);
    // Many clients name the function.
    const id = message.tool_calls?.[0]?.id ?? '';
    const result = {
      role: 'tool',
      tool_call_id: id,
      name: 'look_up',
      content: 'adjective',
    } as const;
    const last = await client().chat.completions.create({
      ...asked,
      messages: [...QUESTION, message, result],
      ...{ verbosity: 'medium', top_logprobs: 0 },
    });
    expect(last.choices[0]?.message.content).toBe('{"title":"New"}');
  });

  it('is called no longer than its client listens', async () => {
    model({ chunks: 3, stall: 2 });
    const stream = await client().chat.completions.create({
      model: name,
      messages: [...QUESTION],
      stream: true,
    });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break;
    }
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    await eventually(
      () => openStreams(plinth),
      (open) => open === 0,
    );

    model({ hold: true });
    const leaving = new AbortController();
    const call = failure(
      client().chat.completions.create(
        { model: name, messages: [...QUESTION] },
        { signal: leaving.signal },
      ),
    );
    await eventually(
      () => simulator.held,
      (held) => held === 1,
    );
    leaving.abort();
    expect(await call).toBeInstanceOf(OpenAI.APIUserAbortError);
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    await eventually(
      () => openStreams(plinth),
      (open) => open === 0,
    );
  });

  it('that breaks off ends its stream with an error, and never with the end mark', async () => {
    for (const step of [
      { chunks: 9, cut: 2 },
      { chunks: 9, reset: 2 },
      { chunks: 9, error: 2 },
    ]) {
      model(step, step);
      const asked = { model: name, messages: [...QUESTION], stream: true as const };
      const stream = await client().chat.completions.create(asked);
      const error = await failure(textOf(stream));
      expect([step, error.message]).toEqual([step, expect.stringMatching(/\.$/)]);
      const { text } = await admin.raw('POST', '/v1/chat/completions', asked);
      expect(text).toContain('tok1');
      expect(text).not.toContain('[DONE]');
    }
  });

  it('is asked again by a client that retries', async () => {
    model({ status: 503, retryAfter: 0 }, { text: 'At last.' });
    const { choices } = await client({ maxRetries: 1 }).chat.completions.create({
      model: name,
      messages: [...QUESTION],
    });

    expect(choices[0]?.message.content).toBe('At last.');
    expect(simulator.requests).toHaveLength(2);
  });

  it('is left by a client whose time is over', async () => {
    model({ hold: true });
    const call = client({ timeout: 300 }).chat.completions.create({
      model: name,
      messages: [...QUESTION],
    });

    expect(await failure(call)).toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
  });
});

describe.each([...TRANSLATED, 'an agent'])('JSON that %s cannot write', (name) => {
  const ask = (stream = false) => ({
    model: name === 'an agent' ? `agent-${toolAgentId}` : name,
    messages: [...QUESTION],
    response_format: schemaFormat({ type: 'object' }),
    stream,
  });

  it('is a failure with a code, and the model is not asked again', async () => {
    for (const stream of [false, true]) {
      model({ text: 'No JSON', times: 9 });
      const error = await failure(client({ maxRetries: 2 }).chat.completions.create(ask(stream)));
      expect([error.status, error.code]).toEqual([422, 'json_validate_failed']);
      expect(error.message).toMatch(/does not fit.*choose another model\.$/);
      expect(simulator.requests).toHaveLength(2);
      simulator.reset();
    }
  });

  it.each([
    ['length', LengthFinishReasonError],
    ['content_filter', ContentFilterFinishReasonError],
  ] as const)('for %s ends as the SDK expects it', async (finishReason, type) => {
    // Its protocol has no such end.
    if (name === 'sim-ollama' && finishReason === 'content_filter') return;
    model({ text: '{"title":', finishReason }, { text: '{"title":', finishReason });
    const { stream: _, ...asked } = ask();
    await expect(client().chat.completions.parse(asked)).rejects.toThrow(type);
    const streamed = await client().chat.completions.create({ ...asked, stream: true });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of streamed) chunks.push(chunk);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(finishReason);
    expect(simulator.requests).toHaveLength(2);
  });
});

describe('a stream in which nothing comes', () => {
  let silent: CompatibleApi;

  overrideConstants(CHAT_PING, { intervalMs: 1_000 });

  beforeAll(async () => {
    silent = await openCompatibleApi();
  });

  afterAll(() => closeCompatibleApi(silent));

  it.each([
    ['relayed', RELAYED],
    ['translated', 'sim-messages'],
  ])('begins all the same, and a failure is its last event (%s)', async (_how, name) => {
    silent.simulator.script({ hold: true, status: 503 });
    // Resolves with the headers of the answer.
    const stream = await client(
      { baseURL: `${silent.plinth.url}/v1` },
      silent.admin,
    ).chat.completions.create({ model: name, messages: [...QUESTION], stream: true });
    await eventually(
      () => silent.simulator.held,
      (held) => held === 1,
    );
    silent.simulator.release();
    const error = await failure(textOf(stream));
    expect([error.status, error.code]).toEqual([undefined, 'upstream_overloaded']);
  });

  it('begins before it is known what its service refuses, which the request log names', async () => {
    const service = { apiHost: `${silent.simulator.url}/v1`, apiKey: SERVICE_KEY };
    await createModel(silent.admin, { ...service, modelName: 'picky' });
    const message = "Unsupported parameter: 'temperature' is not supported with this model.";
    silent.simulator.script({ hold: true, status: 400, body: { error: { message } } });
    const { data, response } = await client({ baseURL: `${silent.plinth.url}/v1` }, silent.admin)
      .chat.completions.create({
        ...{ model: 'picky', messages: [...QUESTION], stream: true },
        temperature: 0.3,
      })
      .withResponse();
    expect(response.headers.get('x-plinth-ignored')).toBeNull();
    await eventually(
      () => silent.simulator.held,
      (held) => held === 1,
    );
    silent.simulator.release();
    expect(await textOf(data)).not.toBe('');
    await eventually(
      () => silent.plinth.log.some((line) => line.includes('"ignored":"temperature"')),
      (isLogged) => isLogged,
    );
  });

  it('is a response that begins and fails where its service fails', async () => {
    silent.simulator.script({ hold: true, status: 503 });
    const stream = client({ baseURL: `${silent.plinth.url}/v1` }, silent.admin).responses.stream({
      model: RELAYED,
      input: 'What is new?',
    });
    await stream.emitted('connect');
    await eventually(
      () => silent.simulator.held,
      (held) => held === 1,
    );
    silent.simulator.release();
    expect(await stream.finalResponse()).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringMatching(/\.$/) },
      output: [],
    });
  });

  it('is a response that begins and fails where an agent still searches as its caller signs out', async () => {
    silent.simulator.script({ match: { path: '/embeddings' }, hold: true });
    const session = await silent.plinth.signIn();
    const stream = await client({ baseURL: `${silent.plinth.url}/v1` }, session).responses.create({
      ...{ model: `agent-${silent.agentId}`, stream: true },
      input: 'How long does the warranty of a tablet last?',
    });
    await eventually(
      () => silent.simulator.held,
      (held) => held === 1,
    );
    await session.post('/auth/logout');
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.failed',
    ]);
    expect(JSON.stringify(events.at(-1))).toContain('sign-in has ended');
  });
});

describe('open answers', () => {
  it('count with those of the chat, and the next one is refused with 429', async () => {
    model({ hold: true, times: 2 });
    const asked = { model: RELAYED, messages: [...QUESTION] };
    const open = [1, 2].map(() => client().chat.completions.create(asked));
    await eventually(
      () => simulator.held,
      (held) => held === 2,
    );
    const error = await failure(client().chat.completions.create(asked));
    expect([error.status, error.headers?.get('retry-after')]).toEqual([429, '5']);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    simulator.release();
    await Promise.all(open);
    await eventually(
      () => openStreams(plinth),
      (count) => count === 0,
    );
  });

  it('end with the sign-in of their caller', async () => {
    const session = await plinth.signIn();
    model({ chunks: 3, stall: 2 });
    const stream = await client({}, session).chat.completions.create({
      model: RELAYED,
      messages: [...QUESTION],
      stream: true,
    });
    const ended = failure(textOf(stream));
    await eventually(
      () => openStreams(plinth),
      (count) => count === 1,
    );
    await session.post('/auth/logout');

    expect((await ended).message).toContain('sign-in has ended');
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
  });
});

describe('an agent', () => {
  it('answers with its prompt and knowledge, and cites its sources', async () => {
    // The first one makes the question understandable without the conversation.
    model(
      { ...COMPLETION, text: 'How long is the laptop warranty?' },
      { ...COMPLETION, text: 'Two years [1].' },
    );
    const answer = await client().chat.completions.create({
      model: `agent-${agentId}`,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Welcome.' },
        { role: 'user', content: 'How long is the laptop warranty?' },
      ],
      reasoning_effort: 'none',
    });
    const { requests } = simulator;
    const [sent = []] = sentTo({ requests: requests.slice(-1) });

    expect(sent[0]?.content).toBe('You are the shop.\n\nBe brief.');
    expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(sent.at(-1)?.content).toContain('lasts two years');
    expect(answer.model).toBe(`agent-${agentId}`);
    expect(answer.choices[0]?.message).toMatchObject({
      content: 'Two years [1].',
      annotations: [
        {
          type: 'url_citation',
          url_citation: { start_index: 10, end_index: 13, title: 'warranty.txt' },
        },
      ],
    });
    expect(answer).toMatchObject({ sources: [{ number: 1, document: 'warranty.txt' }] });
  });

  it('uses its tools, streams what it writes, and stores nothing', async () => {
    model(
      {
        ...COMPLETION,
        text: 'Let me look.',
        ...calling('search_knowledge', { query: 'laptop warranty' }),
      },
      { ...COMPLETION, text: 'Two years [1].' },
    );
    const stream = await client().chat.completions.create({
      model: `agent-${toolAgentId}`,
      messages: [{ role: 'user', content: 'How long is the warranty?' }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

    expect(text).toBe('Let me look.\n\nTwo years [1].');
    const last = chunks.find(({ choices }) => choices[0]?.finish_reason);
    expect(last).toMatchObject({
      choices: [{ finish_reason: 'stop', delta: { annotations: [{ source: 1 }] } }],
      sources: [{ number: 1, document: 'warranty.txt' }],
    });
    expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0);
    expect((await admin.get<unknown[]>('/system/message/list')).rows).toEqual([]);
  });

  it('has an image looked at as closely as it is asked to, or says that it cannot', async () => {
    for (const url of ['https://files.test/a.png', 'data:image/png;base64,iVBORw0KGgo=']) {
      model({ ...COMPLETION, text: 'A dot.' });
      const body = { model: `agent-${toolAgentId}`, messages: shown(url) };
      await postOdd('/chat/completions', body);
      const image = JSON.stringify(shown(url)[0].content[1]);
      expect(JSON.stringify(simulator.requests.at(-1)?.body)).toContain(image);
    }
    const { rows } = await admin.get<{ id: number }[]>('/system/model/list?modelName=sim-messages');
    const { id } = await createAgent(admin, rows[0]?.id ?? 0, {});
    const messages = shown('https://files.test/a.png');
    const body = { model: `agent-${id}`, messages };
    const error = await failure(strict.post('/chat/completions', { body }));
    expect([error.status, error.param, error.code]).toEqual([400, ...DETAIL]);
    await admin.delete(`/agent/agent/${id}`);
  });

  it('refuses what it decides itself', async () => {
    const ask = (more: object): Promise<unknown> =>
      strict.chat.completions.create({
        model: `agent-${agentId}`,
        messages: [...QUESTION],
        ...more,
      });
    for (const [more, param] of [
      [{ tools: [LOOK_UP] }, 'tools'],
      [{ seed: 4 }, 'seed'],
      [{ reasoning_effort: 'low' }, 'reasoning_effort'],
      [{ messages: [{ role: 'assistant', content: 'x' }] }, 'messages'],
    ] as const) {
      const error = await failure(ask(more));
      expect([error.status, error.param]).toEqual([400, param]);
    }
  });
});

describe('POST /v1/embeddings', () => {
  it('answers vectors as numbers and as base64', async () => {
    const input = ['A red phone', 'A blue phone'];
    const named = { model: 'sim-embed-256', input };
    const floats = await client().embeddings.create({ ...named, encoding_format: 'float' });
    const base64 = await client().embeddings.create({ ...named, encoding_format: 'base64' });
    // The SDK asks for base64 by itself and decodes it.
    const decoded = await client().embeddings.create(named);

    expect(floats.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 256],
      [1, 256],
    ]);
    const bytes = Buffer.from(String(base64.data[1]?.embedding), 'base64');
    expect(bytes).toHaveLength(256 * 4);
    expect(bytes.readFloatLE(4)).toBe(floats.data[1]?.embedding[1]);
    expect(decoded.data[0]?.embedding).toEqual(floats.data[0]?.embedding);
    expect(floats.usage.prompt_tokens).toBeGreaterThan(0);
    expect(floats).toMatchObject({ object: 'list', model: 'sim-embed-256' });
  });

  it('takes token ids of cl100k_base for the text that they stand for', async () => {
    const texts = ['A red phone', 'Ein grünes Telefon 🎉'];
    const [one = [], other = []] = texts.map((text) => encode(text));
    const named = { model: 'sim-embed-256' };
    const ofTexts = await client().embeddings.create({ ...named, input: texts });
    const ofLists = await client().embeddings.create({ ...named, input: [one, other] });
    const ofList = await client().embeddings.create({ ...named, input: one });

    expect(ofLists).toEqual(ofTexts);
    expect(ofList.data).toEqual(ofTexts.data.slice(0, 1));
    // The service may have another vocabulary.
    expect(simulator.requests.at(-2)?.body).toMatchObject({ input: texts });
  });

  it('answers vectors in the size that is asked for, or says why not', async () => {
    const sized = (dimensions: number) =>
      client().embeddings.create({ model: 'sim-embed-256', input: 'A red phone', dimensions });
    const { data } = await sized(8);
    expect(data[0]?.embedding).toHaveLength(8);
    expect(simulator.requests.at(-1)?.body).toMatchObject({ dimensions: 8 });
    // A service need not know the field: it is not asked for the size that its model has.
    await sized(256);
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('dimensions');

    const asked = simulator.requests.length;
    simulator.script({ status: 400, body: { error: { message: 'No matryoshka.' } } });
    const refused = await failure(sized(8));
    expect([refused.status, refused.message]).toEqual([
      400,
      expect.stringContaining('No matryoshka.'),
    ]);
    expect(simulator.requests).toHaveLength(asked + 1);

    simulator.script({ body: { data: [{ embedding: [1, 2, 3] }] } });
    const ignored = await failure(sized(8));
    expect([ignored.status, ignored.param]).toEqual([400, 'dimensions']);
  });

  it('says how many texts it takes', async () => {
    const input = Array.from({ length: 2_049 }, () => 'x');
    const error = await failure(client().embeddings.create({ model: 'sim-embed-256', input }));
    expect([error.param, error.message]).toEqual([
      'input',
      expect.stringContaining('at most 2048 entries'),
    ]);
  });

  it.each([
    [{ model: 'sim-embed-256' }, 400, 'input'],
    [{ model: 'sim-embed-256', input: [] }, 400, 'input'],
    [{ model: 'sim-embed-256', input: '' }, 400, 'input'],
    [{ model: 'sim-embed-256', input: [[9906], []] }, 400, 'input[1]'],
    [{ model: 'sim-embed-256', input: [[9906], [1.5]] }, 400, 'input'],
    [{ model: 'sim-embed-256', input: [100_300] }, 400, 'input'],
    [{ model: 'sim-embed-256', input: [9906, 'Hello'] }, 400, 'input[1]'],
    [{ model: 'sim-embed-256', input: 7 }, 400, 'input'],
    [{ model: 'sim-embed-256', input: 'x', dimensions: 0 }, 400, 'dimensions'],
    [{ model: 'sim-embed-256', input: 'x', task: 'query' }, 400, 'task'],
    [{ model: RELAYED, input: 'x' }, 404, 'model'],
  ])('%j is refused with %i for %s', async (body, status, param) => {
    const error = await failure(strict.post('/embeddings', { body }));

    expect([error.status, error.param]).toEqual([status, param]);
  });
});

async function post(url: string, body: object): Promise<string> {
  const { body: answer } = await httpRequest(url, {
    method: 'POST',
    headers: { ...admin.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.text();
}

/** Without what differs between two answers of the simulator. */
function neutral(text: string): string {
  return text.replaceAll(/"(id|created)":("[^"]*"|\d+)/g, '"$1":0');
}
