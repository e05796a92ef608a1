import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { Simulator } from '../../../simulator/index.js';
import { makeKey } from '../../support/api-keys.js';
import { closeCompatibleApi, failureOf, openCompatibleApi } from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { createMediaModels } from '../../support/media/media-models.js';
import { createModel } from '../../support/models.js';
import { calling } from '../../support/scripted-model.js';

const IGNORED = 'x-plinth-ignored';
const QUESTION = [{ role: 'user', content: 'What is new?' }] as const;
const PERMISSIONS = ['chat:chat:use', 'media:media:use'];
const FUNCTION = {
  type: 'function',
  function: {
    name: 'look_up',
    description: 'Looks a word up',
    parameters: { type: 'object', properties: { word: { type: 'string' } } },
    strict: true,
  },
} as const;

let world: CompatibleApi;
let simulator: Simulator;
let openai: OpenAI;
let anthropic: Anthropic;
/** With a key that wants every parameter honoured. */
let strict: OpenAI;

beforeAll(async () => {
  world = await openCompatibleApi();
  ({ simulator } = world);
  await createMediaModels(world.admin, simulator);
  const { key: apiKey } = await makeKey(world.admin, { permissions: PERMISSIONS });
  const of = { permissions: PERMISSIONS, strictParameters: true };
  const { key: strictKey } = await makeKey(world.admin, of);
  const { url } = world.plinth;
  openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  strict = new OpenAI({ baseURL: `${url}/v1`, apiKey: strictKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: url, apiKey, authToken: null, maxRetries: 0 });
});

afterEach(() => simulator.reset());
afterAll(() => closeCompatibleApi(world));

/** Status and ignored parameters of a request below /v1. */
async function ask(path: string, body: object, client = openai): Promise<unknown[]> {
  const response = await client
    .post(path, { body, __binaryResponse: true })
    .asResponse()
    .catch((error: unknown) => error as { status: number; param?: string; headers?: Headers });
  return [response.status, response.headers?.get(IGNORED) ?? null];
}

function sent(at = -1): Record<string, unknown> {
  return simulator.requests.at(at)?.body as Record<string, unknown>;
}

describe('a hint of chat completions', () => {
  it.each([
    [{ seed: 4 }, { messages: 'seed', ollama: null }],
    [{ top_k: 4 }, { messages: null, ollama: null }],
    [{ logit_bias: { 4: 1 } }, 'logit_bias'],
    [{ verbosity: 'low' }, 'verbosity'],
    [{ store: true }, 'store'],
    [{ logprobs: true, top_logprobs: 3 }, 'logprobs, top_logprobs'],
    [{ service_tier: 'flex' }, 'service_tier'],
    [{ min_p: 0.1, repetition_penalty: 1.2 }, 'min_p, repetition_penalty'],
    [{ frequency_penalty: 1 }, { messages: 'frequency_penalty', ollama: null }],
    [{ presence_penalty: -1 }, { messages: 'presence_penalty', ollama: null }],
    [{ reasoning_effort: 'low' }, { messages: null, ollama: 'reasoning_effort' }],
    [{ reasoning: { effort: 'low' } }, { messages: null, ollama: 'reasoning_effort' }],
    [{ tools: [FUNCTION] }, { messages: null, ollama: 'tools[0].function.strict' }],
    [{ user: 'u', metadata: { a: 'b' }, prompt_cache_key: 'k', safety_identifier: 's' }, null],
    [{ prediction: { type: 'content', content: 'x' }, frequency_penalty: 0, store: false }, null],
    [{ stream_options: { include_obfuscation: true } }, null],
    [{ thinking: { type: 'disabled' }, enable_thinking: false }, null],
  ])('%j ends no call, and is named where the model does not know it', async (more, named) => {
    const ignored =
      typeof named === 'object' && named !== null ? named : { messages: named, ollama: named };
    for (const [model, expected] of [
      ['sim-messages', ignored.messages],
      ['sim-ollama', ignored.ollama],
    ]) {
      for (const stream of [false, true]) {
        const body = { model, messages: QUESTION, stream, ...more };
        expect([model, stream, ...(await ask('/chat/completions', body))]).toEqual([
          model,
          stream,
          200,
          expected,
        ]);
      }
    }
  });

  it('reaches a model that knows it', async () => {
    const penalties = { frequency_penalty: 1, presence_penalty: -1 };
    await ask('/chat/completions', { model: 'sim-messages', messages: QUESTION, top_k: 7 });
    expect(sent()).toMatchObject({ top_k: 7 });
    await ask('/chat/completions', {
      model: 'sim-ollama',
      messages: QUESTION,
      top_k: 7,
      seed: 3,
      ...penalties,
    });
    expect(sent()['options']).toMatchObject({ top_k: 7, seed: 3, ...penalties });
    // Relayed as it is.
    const odd = { model: 'sim-chat', messages: QUESTION, top_k: 7, min_p: 0.5, verbosity: 'low' };
    expect(await ask('/chat/completions', odd)).toEqual([200, null]);
    expect(sent()).toMatchObject({ top_k: 7, min_p: 0.5, verbosity: 'low' });
  });

  it('comes with an answer that the SDK has read and sends back', async () => {
    simulator.script(calling('look_up', { word: 'new' }), { text: 'It is new.' });
    const runner = openai.chat.completions.runTools({
      model: 'sim-messages',
      messages: [...QUESTION],
      tools: [
        {
          type: 'function',
          function: {
            ...FUNCTION.function,
            parse: JSON.parse,
            function: ({ word }: { word: string }) => `${word}: of late.`,
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('It is new.');
    const call = {
      id: 'c1',
      type: 'function',
      function: { name: 'look_up', arguments: '{}', parsed_arguments: {} },
    };
    const messages = [
      ...QUESTION,
      { role: 'assistant', content: null, parsed: null, refusal: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'Of late.' },
    ];
    expect(await ask('/chat/completions', { model: 'sim-messages', messages })).toEqual([
      200,
      null,
    ]);
  });

  it('of an agent is left out, too', async () => {
    const body = { model: `agent-${world.agentId}`, messages: QUESTION };
    expect(
      await ask('/chat/completions', { ...body, seed: 1, reasoning_effort: 'low', min_p: 0.1 }),
    ).toEqual([200, 'min_p, seed, reasoning_effort']);
  });

  it.each([{ n: 2 }, { modalities: ['text', 'audio'] }, { surprise: 1 }])(
    'is none that changes what is asked for: %j',
    async (more) => {
      const call = openai.post('/chat/completions', {
        body: { model: 'sim-messages', messages: QUESTION, ...more },
      });
      const error = await failureOf(OpenAI.APIError, call);
      expect([error.status, error.code, error.param]).toEqual([
        400,
        'unsupported_parameter',
        Object.keys(more)[0],
      ]);
    },
  );

  it.each([
    [{ seed: 4 }, 'seed'],
    [{ verbosity: 'low' }, 'verbosity'],
    [{ tools: [FUNCTION], tool_choice: 'required' }, 'tools[0].function.strict'],
    [{ parallel_tool_calls: false, tools: [FUNCTION] }, 'tools[0].function.strict'],
  ])('%j is refused for a strict key', async (more, param) => {
    const model = 'seed' in more ? 'sim-messages' : 'sim-ollama';
    const body = { model, messages: QUESTION, ...more };
    const error = await failureOf(OpenAI.APIError, strict.post('/chat/completions', { body }));
    expect([error.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param]);
    expect(simulator.requests).toEqual([]);
  });
});

describe('a tool that must be called, by a model whose protocol cannot say so', () => {
  const LENIENT = { ...FUNCTION, function: { ...FUNCTION.function, strict: null } };
  const body = {
    model: 'sim-ollama',
    messages: QUESTION,
    tools: [LENIENT],
    tool_choice: 'required',
  } as const;

  it.each([false, true])('is asked for once more (stream: %s)', async (stream) => {
    simulator.script({ text: 'I know it.' }, calling('look_up', { word: 'new' }));
    const response = await openai
      .post('/chat/completions', { body: { ...body, stream } })
      .asResponse();
    const text = await response.text();
    expect(response.headers.get(IGNORED)).toBeNull();
    expect(text).toContain('"look_up"');
    expect(text).not.toContain('I know it.');
    expect(simulator.requests).toHaveLength(2);
    const messages = sent()['messages'] as { role: string; content: string }[];
    expect(messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: 'I know it.' },
      { role: 'user', content: expect.stringContaining('Call one of the tools') },
    ]);
  });

  it('is not asked for where it was called', async () => {
    simulator.script(calling('look_up', { word: 'new' }));
    const named = { type: 'function', function: { name: 'look_up' } };
    expect(await ask('/chat/completions', { ...body, tool_choice: named })).toEqual([200, null]);
    expect(simulator.requests).toHaveLength(1);
  });

  it('is answered as it is where it is not called after all, which is named', async () => {
    simulator.script({ text: 'No.' }, { text: 'Never.' });
    const response = await openai.post('/chat/completions', { body }).asResponse();
    expect([response.status, response.headers.get(IGNORED)]).toEqual([200, 'tool_choice']);
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Never.' } }] });
  });

  it('is called one at a time where that is asked for', async () => {
    const two = [
      { name: 'look_up', arguments: '{"word":"a"}' },
      { name: 'look_up', arguments: '{"word":"b"}' },
    ];
    simulator.script({ toolCalls: two }, { toolCalls: two });
    const answer = async (more: object): Promise<unknown> => {
      const made = await openai.post('/chat/completions', {
        body: { ...body, tool_choice: 'auto', ...more },
      });
      const { choices } = made as OpenAI.ChatCompletion;
      return choices[0]?.message.tool_calls?.length;
    };
    expect(await answer({})).toBe(2);
    expect(await answer({ parallel_tool_calls: false })).toBe(1);
  });
});

describe('a hint of messages', () => {
  const tool = { name: 'look_up', input_schema: { type: 'object' }, cache_control: null };
  it.each([
    [{ top_k: 4 }, { chat: 'top_k', ollama: null }],
    [{ context_management: { edits: [] } }, 'context_management'],
    [{ speed: 'fast' }, 'speed'],
    [{ service_tier: 'auto', metadata: { user_id: 'u' }, betas: ['x'] }, null],
    [{ output_config: { effort: 'low' } }, { chat: null, ollama: 'output_config.effort' }],
    [{ output_config: { task_budget: { type: 'tokens', total: 9 } } }, 'output_config.task_budget'],
    [{ thinking: { type: 'adaptive', display: 'omitted', surprise: 1 } }, null],
    [{ tools: [{ ...tool, strict: true }] }, { chat: null, ollama: 'tools[0].strict' }],
    [
      {
        tools: [
          { type: 'web_search_20250305', name: 'web_search' },
          { ...tool, strict: true },
        ],
      },
      { chat: 'tools[0]', ollama: 'tools[0], tools[1].strict' },
    ],
    [{ tools: [{ ...tool, defer_loading: true, input_examples: [{}] }] }, null],
    [{ mcp_servers: [], container: null, inference_geo: 'global' }, null],
  ])('%j ends no call, and is named where the model does not know it', async (more, named) => {
    const ignored =
      typeof named === 'object' && named !== null ? named : { chat: named, ollama: named };
    for (const [model, expected] of [
      ['sim-chat', ignored.chat],
      ['sim-ollama', ignored.ollama],
    ]) {
      const body = { model, max_tokens: 50, messages: QUESTION, ...more };
      expect([model, ...(await ask('/messages', body))]).toEqual([model, 200, expected]);
    }
  });
});

// The kinds of requests that gateways, chat clients, editors and agents are known to send. Written from experience with them: no
// issue thread was read for these cases.
const EVERY_PROTOCOL = ['sim-chat', 'sim-messages', 'sim-ollama', 'sim-responses'] as const;

const TOOL_TURN = [
  { role: 'user', content: 'What is new?' },
  {
    role: 'assistant',
    content: null,
    refusal: null,
    function_call: null,
    tool_calls: [
      { id: 'c1', type: 'function', index: 0, function: { name: 'look_up', arguments: '{}' } },
    ],
  },
];

describe('a chat completion of a real client', () => {
  const plain = { ...FUNCTION.function, strict: undefined };
  const said = (message: object): object => ({ messages: [...QUESTION, message, ...QUESTION] });
  it.each<[string, object]>([
    ['nothing but null', { temperature: null, top_p: null, n: null, stop: null, max_tokens: null }],
    ['null for objects', { tools: null, tool_choice: null, response_format: null, metadata: null }],
    [
      'null for the rest',
      {
        ...{ stream: null, stream_options: null, seed: null, user: null, logit_bias: null },
        ...{ parallel_tool_calls: null, reasoning_effort: null, functions: null },
        ...{ function_call: null, max_completion_tokens: null, frequency_penalty: null },
        ...{ presence_penalty: null, logprobs: null, top_logprobs: null, store: null },
      },
    ],
    ['options of a stream without one', { stream_options: { include_usage: true } }],
    ['a stream without usage', { stream: true, stream_options: { include_usage: null } }],
    ['functions', { functions: [plain], function_call: 'auto' }],
    ['a named function', { functions: [plain], function_call: { name: 'look_up' } }],
    [
      'calls of functions before',
      {
        functions: [plain],
        messages: [
          ...QUESTION,
          {
            role: 'assistant',
            content: null,
            function_call: { name: 'look_up', arguments: '{}' },
          },
          { role: 'function', name: 'look_up', content: 'Nothing.' },
        ],
      },
    ],
    [
      'no content beside calls',
      { messages: [...TOOL_TURN, { role: 'tool', tool_call_id: 'c1', content: 'Nothing.' }] },
    ],
    [
      'an empty text beside calls',
      {
        messages: [
          TOOL_TURN[0],
          { ...TOOL_TURN[1], content: '' },
          { role: 'tool', tool_call_id: 'c1', name: 'look_up', content: '' },
        ],
      },
    ],
    [
      'a list of the result of a tool',
      {
        messages: [
          ...TOOL_TURN,
          { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'Nothing.' }] },
        ],
      },
    ],
    [
      'an empty list of calls',
      said({ role: 'assistant', content: 'Yes.', tool_calls: [], audio: null }),
    ],
    ['null calls', said({ role: 'assistant', content: 'Yes.', tool_calls: null, name: null })],
    ['an answer of parts', said({ role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] })],
    ['an empty answer', said({ role: 'assistant', content: '' })],
    [
      'an answer of a reasoning client',
      said({ role: 'assistant', content: 'Yes.', reasoning_content: 'Hm.' }),
    ],
    [
      'an answer with reasoning',
      said({
        role: 'assistant',
        content: 'Yes.',
        reasoning: 'Hm.',
        reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }],
      }),
    ],
    ['a developer', { messages: [{ role: 'developer', content: 'Be short.' }, ...QUESTION] }],
    [
      'several systems',
      {
        messages: [
          { role: 'system', content: 'A' },
          ...QUESTION,
          { role: 'system', content: [{ type: 'text', text: 'B' }] },
          ...QUESTION,
        ],
      },
    ],
    ['an empty system', { messages: [{ role: 'system', content: '' }, ...QUESTION] }],
    [
      'empty parts',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '' },
              { type: 'text', text: 'x' },
            ],
          },
        ],
      },
    ],
    ['a name', { messages: [{ role: 'user', name: 'Ann Smith', content: 'x' }] }],
    [
      'an address as a text',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
          },
        ],
      },
    ],
    [
      'an image without detail',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'image_url',
                image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: null },
              },
            ],
          },
        ],
      },
    ],
    ['little effort', { reasoning_effort: 'minimal' }],
    ['much effort', { reasoning_effort: 'xhigh' }],
    ['reasoning of OpenRouter', { reasoning: { effort: 'high', exclude: false } }],
    ['a user who is a number', { user: 17 }],
    ['metadata', { metadata: { user_id: 7, tags: ['a'] }, service_tier: 'flex', store: true }],
    [
      'words of caches',
      { prompt_cache_key: 'k', prompt_cache_retention: '24h', safety_identifier: 's' },
    ],
    ['web search', { web_search_options: { search_context_size: 'low' } }],
    ['modalities', { modalities: ['text'], audio: null, prediction: null, verbosity: 'low' }],
    ['thinking of Anthropic', { thinking: { type: 'enabled', budget_tokens: 1024 } }],
    ['a template', { chat_template_kwargs: { enable_thinking: false }, extra_body: {} }],
    ['both limits', { max_tokens: 100, max_completion_tokens: 100 }],
    ['no tools', { tools: [] }],
    ['a choice without tools', { tools: [], tool_choice: 'auto' }],
    ['a choice and no tools', { tool_choice: 'none' }],
    ['any tool', { tools: [{ type: 'function', function: plain }], tool_choice: 'any' }],
    ['a function without parameters', { tools: [{ type: 'function', function: { name: 'now' } }] }],
    [
      'null in a function',
      {
        tools: [
          { type: 'function', function: { name: 'now', description: null, parameters: null } },
        ],
      },
    ],
    ['text as a format', { response_format: { type: 'text' } }],
    ['an empty stop', { stop: [] }],
    ['a stop', { stop: '\n' }],
  ])('with %s is answered', async (_name, more) => {
    const answers = [];
    for (const model of EVERY_PROTOCOL) {
      const [status] = await ask('/chat/completions', { model, messages: QUESTION, ...more });
      answers.push([model, status]);
    }
    expect(answers).toEqual(EVERY_PROTOCOL.map((model) => [model, 200]));
  });
});

describe('functions of a client from before tools', () => {
  it.each(EVERY_PROTOCOL.slice(1))('are called in its words by %s', async (model) => {
    const functions = [{ name: 'look_up', parameters: FUNCTION.function.parameters }];
    const body = { model, messages: [...QUESTION], functions };
    simulator.script(calling('look_up', { word: 'new' }), calling('look_up', { word: 'new' }));
    const whole = await openai.chat.completions.create(body);
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'function_call',
      message: { function_call: { name: 'look_up', arguments: '{"word":"new"}' } },
    });
    expect(whole.choices[0]?.message).not.toHaveProperty('tool_calls');
    const finishes: unknown[] = [];
    let called: unknown;
    for await (const { choices } of await openai.chat.completions.create({
      ...body,
      stream: true,
    })) {
      // By another name than the package's type, which calls the field old.
      const delta: object | undefined = choices[0]?.delta;
      if (delta && 'function_call' in delta) called ??= delta.function_call;
      if (choices[0]?.finish_reason) finishes.push(choices[0].finish_reason);
    }
    expect(called).toEqual({ name: 'look_up', arguments: '{"word":"new"}' });
    expect(finishes).toEqual(['function_call']);
  });
});

describe('messages of a real client', () => {
  const tool = {
    name: 'look_up',
    description: 'x',
    input_schema: { type: 'object', properties: {} },
  };
  const use = { type: 'tool_use', id: 't1', name: 'look_up', input: {} };
  const turn = (result: object): object => ({
    tools: [tool],
    messages: [
      ...QUESTION,
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', ...result }] },
    ],
  });
  it.each<[string, object]>([
    ['adaptive thinking', { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }],
    ['no thinking', { thinking: { type: 'disabled' }, temperature: 1 }],
    [
      'null',
      {
        system: null,
        tools: null,
        tool_choice: null,
        temperature: null,
        stop_sequences: null,
        metadata: null,
        stream: null,
        thinking: null,
        top_k: null,
      },
    ],
    ['null in metadata', { metadata: { user_id: null } }],
    ['no tools', { tools: [], tool_choice: { type: 'none' } }],
    ['a choice of none', { tools: [tool], tool_choice: { type: 'none' } }],
    ['one call', { tools: [tool], tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
    [
      'a custom tool',
      { tools: [{ ...tool, type: 'custom', cache_control: { type: 'ephemeral' } }] },
    ],
    ['a tool without properties', { tools: [{ name: 'now', input_schema: { type: 'object' } }] }],
    [
      'a system of blocks',
      {
        system: [
          { type: 'text', text: 'A', cache_control: { type: 'ephemeral', ttl: '1h' } },
          { type: 'text', text: '' },
        ],
      },
    ],
    ['an empty system', { system: '' }],
    ['an empty list of a system', { system: [] }],
    [
      'an empty text',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '' },
              { type: 'text', text: 'x' },
            ],
          },
        ],
      },
    ],
    [
      'an empty answer',
      { messages: [...QUESTION, { role: 'assistant', content: [] }, ...QUESTION] },
    ],
    ['a result without content', turn({})],
    ['an empty result', turn({ content: '' })],
    ['a result of blocks', turn({ content: [{ type: 'text', text: 'x' }], is_error: false })],
    [
      'an image as a result',
      turn({
        content: [
          {
            type: 'image',
            source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
          },
        ],
      }),
    ],
    [
      'an error as a result',
      turn({ content: 'No.', is_error: true, cache_control: { type: 'ephemeral' } }),
    ],
    [
      'thinking before',
      {
        messages: [
          ...QUESTION,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
              { type: 'redacted_thinking', data: 'x' },
              { type: 'text', text: 'Yes.' },
            ],
          },
          ...QUESTION,
        ],
      },
    ],
    [
      'citations of null',
      {
        messages: [
          ...QUESTION,
          { role: 'assistant', content: [{ type: 'text', text: 'Yes.', citations: null }] },
          ...QUESTION,
        ],
      },
    ],
    ['two users', { messages: [...QUESTION, ...QUESTION] }],
    ['a tier', { service_tier: 'auto', metadata: { user_id: 'u' } }],
    ['a search', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }] }],
    [
      'JSON',
      {
        output_config: {
          effort: 'low',
          format: {
            type: 'json_schema',
            schema: { type: 'object', properties: {}, additionalProperties: false },
          },
        },
      },
    ],
    ['a cache', { cache_control: { type: 'ephemeral' } }],
  ])('with %s are answered', async (_name, more) => {
    const answers = [];
    for (const model of EVERY_PROTOCOL) {
      simulator.script({ text: '{}' });
      const body = { model, max_tokens: 50, messages: QUESTION, ...more };
      const [status] = await ask('/messages?beta=true', body);
      answers.push([model, status]);
    }
    expect(answers).toEqual(EVERY_PROTOCOL.map((model) => [model, 200]));
  });

  it('are counted with tools, a system of blocks and thinking', async () => {
    for (const model of EVERY_PROTOCOL) {
      const body = {
        ...{ model, messages: QUESTION, system: [{ type: 'text', text: 'A' }], tools: [tool] },
        ...{ thinking: { type: 'adaptive' }, tool_choice: { type: 'auto' }, mcp_servers: [] },
      };
      expect((await ask('/messages/count_tokens?beta=true', body))[0]).toBe(200);
    }
  });
});

describe('a response of a real client', () => {
  const tool = { type: 'function', name: 'look_up', parameters: { type: 'object' } };
  it.each<[string, object]>([
    [
      'null',
      {
        instructions: null,
        tools: null,
        tool_choice: null,
        temperature: null,
        top_p: null,
        max_output_tokens: null,
        metadata: null,
        stream: null,
        store: null,
        text: null,
        reasoning: null,
        include: null,
        previous_response_id: null,
        conversation: null,
        background: null,
        parallel_tool_calls: null,
        truncation: null,
        user: null,
        service_tier: null,
        prompt: null,
        max_tool_calls: null,
        top_logprobs: null,
        stream_options: null,
      },
    ],
    [
      'null inside',
      {
        text: { format: null, verbosity: null },
        reasoning: { effort: null, summary: null },
        tools: [{ ...tool, description: null, strict: null }],
      },
    ],
    [
      'a function without parameters',
      { tools: [{ type: 'function', name: 'now', parameters: null }] },
    ],
    ['little effort', { reasoning: { effort: 'minimal', summary: 'auto' } }],
    ['much effort', { reasoning: { effort: 'xhigh' } }],
    [
      'metadata',
      {
        metadata: { a: 'b' },
        safety_identifier: 's',
        prompt_cache_key: 'k',
        user: 'u',
        service_tier: 'auto',
      },
    ],
    [
      'an easy message',
      {
        input: [
          { role: 'developer', content: 'A' },
          { role: 'user', content: 'x' },
        ],
      },
    ],
    [
      'an answer before',
      {
        input: [
          ...QUESTION,
          {
            type: 'message',
            role: 'assistant',
            id: 'msg_1',
            status: 'completed',
            content: [{ type: 'output_text', text: 'Yes.', annotations: [], logprobs: [] }],
          },
          ...QUESTION,
        ],
      },
    ],
    [
      'an easy answer before',
      { input: [...QUESTION, { role: 'assistant', content: 'Yes.' }, ...QUESTION] },
    ],
    [
      'a call before',
      {
        tools: [tool],
        input: [
          ...QUESTION,
          {
            type: 'function_call',
            id: null,
            call_id: 'c1',
            name: 'look_up',
            arguments: '{}',
            status: null,
          },
          {
            type: 'function_call_output',
            call_id: 'c1',
            output: [{ type: 'input_text', text: 'x' }],
          },
        ],
      },
    ],
    [
      'reasoning before',
      {
        input: [
          ...QUESTION,
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null, content: null },
          { role: 'assistant', content: 'Yes.' },
          ...QUESTION,
        ],
      },
    ],
    ['a limit of calls', { max_tool_calls: 3, tools: [tool] }],
    ['a search', { tools: [{ type: 'web_search_preview' }] }],
  ])('with %s is answered', async (_name, more) => {
    const answers = [];
    for (const model of EVERY_PROTOCOL) {
      const [status] = await ask('/responses', { model, input: 'What is new?', ...more });
      answers.push([model, status]);
    }
    expect(answers).toEqual(EVERY_PROTOCOL.map((model) => [model, 200]));
  });
});

describe('a mark for the cache', () => {
  const mark = { type: 'ephemeral', ttl: '1h' };
  const marked = {
    messages: [
      {
        role: 'system',
        content: [
          { type: 'text', text: 'You are a clerk.', cache_control: mark },
          { type: 'text', text: 'Be short.' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'A long text.', cache_control: mark },
          { type: 'text', text: 'What is new?' },
        ],
      },
    ],
    tools: [{ ...FUNCTION, function: { ...FUNCTION.function, strict: null }, cache_control: mark }],
  };

  it('of chat completions reaches models of the messages protocol', async () => {
    expect(await ask('/chat/completions', { model: 'sim-messages', ...marked })).toEqual([
      200,
      null,
    ]);
    expect(sent()).toMatchObject({
      system: [
        { type: 'text', text: 'You are a clerk.', cache_control: mark },
        { type: 'text', text: 'Be short.' },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A long text.', cache_control: mark },
            { type: 'text', text: 'What is new?' },
          ],
        },
      ],
      tools: [{ name: 'look_up', cache_control: mark }],
    });
  });

  it('is left out for other protocols', async () => {
    expect(await ask('/chat/completions', { model: 'sim-ollama', ...marked })).toEqual([200, null]);
    expect(JSON.stringify(sent())).not.toMatch(/cache/);
  });
});

describe('the tool runner of Anthropic', () => {
  it.each(['sim-messages', 'sim-chat', 'sim-ollama'])(
    'goes on without a thread with %s, and completes its loop',
    async (model) => {
      simulator.script(calling('look_up', { word: 'new' }), { text: 'It is new.' });
      const words: unknown[] = [];
      const runner = anthropic.beta.messages.toolRunner({
        model,
        max_tokens: 100,
        messages: [...QUESTION],
        tools: [
          {
            type: 'custom',
            name: 'look_up',
            input_schema: { type: 'object', properties: { word: { type: 'string' } } },
            parse: (input: unknown) => input,
            run: (input: unknown) => {
              words.push(input);
              return 'New: of late.';
            },
          },
        ],
      });
      const last = await runner.runUntilDone();
      expect(last.content).toMatchObject([{ type: 'text', text: 'It is new.' }]);
      expect(words).toEqual([{ word: 'new' }]);
      expect(simulator.requests).toHaveLength(2);
      expect(JSON.stringify(simulator.requests)).not.toContain('"thread"');
      expect(JSON.stringify(sent())).toContain('New: of late.');
    },
  );

  it('is told so in the words of the protocol', async () => {
    const error = await failureOf(
      Anthropic.APIError,
      anthropic.post('/v1/messages', {
        body: {
          model: 'sim-messages',
          max_tokens: 9,
          messages: QUESTION,
          thread: { type: 'create' },
        },
      }),
    );
    expect([error.status, error.error]).toMatchObject([
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          details: { error_code: 'thread_unsupported_request' },
        },
      },
    ]);
  });
});

describe('a parameter that a service refuses by name', () => {
  const REFUSAL = {
    status: 400,
    body: {
      error: {
        message: "Unsupported parameter: 'temperature' is not supported with this model.",
        type: 'invalid_request_error',
        param: 'temperature',
        code: 'unsupported_parameter',
      },
    },
  };
  const NO_EFFORT = {
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'output_config.effort: Extra inputs are not permitted',
      },
    },
  };

  async function createPicky(modelName: string, providerCode = 'custom_api'): Promise<void> {
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    await createModel(world.admin, { ...service, providerCode, modelName });
  }

  it.each([false, true])('is left out and named (stream: %s)', async (stream) => {
    const model = `picky-${stream}`;
    await createPicky(model);
    const body = { model, messages: QUESTION, temperature: 0.3, stream };
    simulator.script(REFUSAL);
    expect(await ask('/chat/completions', body)).toEqual([200, 'temperature']);
    expect(simulator.requests).toHaveLength(2);
    // It is known by then.
    expect(await ask('/chat/completions', body)).toEqual([200, 'temperature']);
    expect(simulator.requests).toHaveLength(3);
    expect(sent()).not.toHaveProperty('temperature');
    expect(await ask('/chat/completions', { ...body, temperature: null })).toEqual([200, null]);
  });

  it('has the name that the client gives it', async () => {
    await createPicky('picky-messages', 'custom_messages');
    simulator.script(NO_EFFORT);
    const body = { model: 'picky-messages', messages: QUESTION, reasoning_effort: 'low' };
    expect(await ask('/chat/completions', body)).toEqual([200, 'reasoning_effort']);
  });

  it('is sent for a strict key, whose call fails with what the service says', async () => {
    await createPicky('picky-strict');
    const body = { model: 'picky-strict', messages: QUESTION, temperature: 0.3 };
    simulator.script(REFUSAL, REFUSAL, REFUSAL);
    for (const path of ['/chat/completions', '/completions']) {
      const asked = path === '/completions' ? { ...body, messages: null, prompt: 'x' } : body;
      const error = await failureOf(OpenAI.APIError, strict.post(path, { body: asked }));
      expect([error.status, error.message]).toEqual([
        400,
        expect.stringContaining("'temperature' is not supported"),
      ]);
    }
    expect(simulator.requests).toHaveLength(2);
    expect(await ask('/chat/completions', body)).toEqual([200, 'temperature']);
    expect(await ask('/chat/completions', body, strict)).toEqual([200, null]);
    expect(sent()).toMatchObject({ temperature: 0.3 });
  });
});

describe('hints of other routes', () => {
  beforeAll(async () => {
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    await createModel(world.admin, { ...service, category: 'rerank', modelName: 'sim-rerank' });
  });

  it.each([
    [
      '/embeddings',
      { model: 'sim-embed-64', input: 'x', input_type: 'query', user: 'u' },
      'input_type',
    ],
    [
      '/rerank',
      { model: 'sim-rerank', query: 'x', documents: ['x'], max_chunks_per_doc: 4 },
      'max_chunks_per_doc',
    ],
    [
      '/images/generations',
      {
        model: 'sync-image',
        prompt: 'A house',
        quality: 'high',
        style: 'vivid',
        background: 'opaque',
        output_format: 'webp',
        moderation: 'low',
        user: 'u',
      },
      'quality, style, background, output_format, moderation',
    ],
    ['/completions', { model: 'sim-messages', prompt: 'x', seed: 4 }, 'seed'],
    [
      '/completions',
      { model: 'sim-messages', prompt: 'x', best_of: 2, min_p: 0.1 },
      'best_of, min_p',
    ],
    [
      '/audio/speech',
      { model: 'sync-speech', input: 'Hello', voice: 'alloy', emotion: 'glad' },
      'emotion',
    ],
  ])('of %s are left out and named', async (path, body, named) => {
    expect(await ask(path, body)).toEqual([200, named]);
    const error = await failureOf(OpenAI.APIError, strict.post(path, { body }));
    expect([error.status, error.param]).toEqual([400, named.split(', ')[0]]);
  });

  it('several images are made by several calls', async () => {
    const made = await openai.images.generate({ model: 'sync-image', prompt: 'A house', n: 3 });
    expect(made.data).toHaveLength(3);
    const call = strict.images.generate({ model: 'sync-image', prompt: 'A house', n: 3 });
    expect((await failureOf(OpenAI.APIError, call)).param).toBe('n');
  });
});

describe('a strict model', () => {
  const STRICT = { apiKey: 'key', strictParameters: true };

  beforeAll(async () => {
    const strictly = { ...STRICT, apiHost: `${simulator.url}/v1` };
    const chat = { ...strictly, providerCode: 'custom_messages', modelName: 'strict-messages' };
    await createModel(world.admin, chat);
    await createModel(world.admin, { ...strictly, modelName: 'strict-chat' });
    await createModel(world.admin, { ...strictly, category: 'rerank', modelName: 'strict-rerank' });
  });

  it.each([
    ['/chat/completions', { model: 'strict-messages', messages: QUESTION, seed: 4 }, 'seed'],
    ['/chat/completions', { model: 'strict-messages', messages: QUESTION, store: true }, 'store'],
    ['/completions', { model: 'strict-messages', prompt: 'x', best_of: 2 }, 'best_of'],
    [
      '/rerank',
      { model: 'strict-rerank', query: 'x', documents: ['x'], rank_fields: ['a'] },
      'rank_fields',
    ],
  ])('refuses on %s what it does not know', async (path, body, param) => {
    const error = await failureOf(OpenAI.APIError, openai.post(path, { body }));
    expect([error.status, error.code, error.param]).toEqual([400, 'unsupported_parameter', param]);
    expect(simulator.requests).toEqual([]);
  });

  it('gets what its service refuses, and takes what it knows', async () => {
    simulator.script({
      status: 400,
      body: JSON.stringify({ error: { message: "'temperature' is not supported" } }),
    });
    const body = { model: 'strict-chat', messages: QUESTION, temperature: 0.3, seed: 4 };
    const error = await failureOf(OpenAI.APIError, openai.post('/chat/completions', { body }));
    expect(error.message).toContain("'temperature' is not supported");
    expect(simulator.requests).toHaveLength(1);
    expect(await ask('/chat/completions', body)).toEqual([200, null]);
  });
});
