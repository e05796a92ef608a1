import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import type { Simulator } from '../../../simulator/index.js';
import { RetentionSweep } from '../../../src/platform/retention/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { makeKey } from '../../support/api-keys.js';
import {
  allClosed,
  closeCompatibleApi,
  COMPLETION,
  failureOf,
  openCompatibleApi,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { calling, CUT_IN_CALL, sentTo } from '../../support/scripted-model.js';
import { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Event = OpenAI.Responses.ResponseStreamEvent;

const LOOK_UP = {
  type: 'function',
  name: 'look_up',
  description: 'Looks a word up',
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
  strict: false,
} as const;

function named(name: string): OpenAI.Responses.FunctionTool {
  return { ...LOOK_UP, name };
}

function namespace(name: string, ...functions: string[]): OpenAI.Responses.NamespaceTool {
  return { type: 'namespace', name, description: 'Words', tools: functions.map(named) };
}

function functionsIn({ output }: OpenAI.Responses.Response): (string | undefined)[][] {
  return output.map((item) =>
    item.type === 'function_call' ? [item.namespace, item.name] : [item.type],
  );
}

/** One of each protocol. */
const MODELS = ['sim-chat', 'sim-messages', 'sim-ollama'];

let world: CompatibleApi;
let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let apiKey: string;
/** Of a key that wants every parameter honoured. */
let strictKey: string;
let agentId: number;

beforeAll(async () => {
  world = await openCompatibleApi();
  ({ plinth, simulator, admin, agentId } = world);
  const permissions = ['chat:chat:use'];
  apiKey = (await makeKey(admin, { permissions })).key;
  strictKey = (await makeKey(admin, { permissions, strictParameters: true })).key;
});

afterEach(() => simulator.reset());

afterAll(() => closeCompatibleApi(world));

function client(options: Partial<ClientOptions> = {}): OpenAI {
  return new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0, ...options });
}

function failure(call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  return failureOf(OpenAI.APIError, call);
}

function asked(model: string, more: Partial<Params> = {}): Params {
  return { model, input: 'What is new?', ...more };
}

async function eventsOf(model: string, more: Partial<Params> = {}): Promise<Event[]> {
  const stream = await client().responses.create({ ...asked(model, more), stream: true });
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe.each(MODELS)('the model %s', (name) => {
  it('answers in one piece and as a stream', async () => {
    const step = { text: 'Nothing is new.', inputTokens: 5, outputTokens: 3 };
    simulator.script(step, step, step);
    const whole = await client().responses.create(asked(name, { instructions: 'Be brief.' }));
    expect(whole).toMatchObject({
      id: expect.stringMatching(/^resp_[\da-f]{32}$/),
      object: 'response',
      status: 'completed',
      model: name,
      output_text: 'Nothing is new.',
      output: [
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Nothing is new.', annotations: [] }],
        },
      ],
      usage: { input_tokens: 5, output_tokens: 3, total_tokens: 8 },
    });
    expect(JSON.stringify(simulator.requests[0]?.body)).toContain('Be brief.');

    const last = await client().responses.stream(asked(name)).finalResponse();
    expect(last).toMatchObject({ status: 'completed', output_text: 'Nothing is new.' });
    const events = await eventsOf(name);
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
  });

  it('calls functions, and reads their outputs', async () => {
    const step = calling('look_up', { word: 'new' });
    simulator.script(step, step, { text: 'It is an adjective.' });
    const call = asked(name, { tools: [LOOK_UP], store: false });
    const whole = await client().responses.create(call);
    const streamed = await client().responses.stream(call).finalResponse();
    for (const { output } of [whole, streamed]) {
      expect(output).toMatchObject([{ type: 'function_call', name: 'look_up' }]);
    }
    const [used] = whole.output;
    if (used?.type !== 'function_call') throw new Error('No function was called.');
    expect(JSON.parse(used.arguments)).toEqual({ word: 'new' });
    const last = await client().responses.create({
      ...call,
      input: [
        { role: 'user', content: 'What is new?' },
        used,
        { type: 'function_call_output', call_id: used.call_id, output: 'adjective' },
      ],
    });
    expect(last.output_text).toBe('It is an adjective.');
    expect(JSON.stringify(simulator.requests.at(-1)?.body)).toContain('adjective');
  });

  it('calls functions of namespaces, and reads their outputs', async () => {
    const tools = [LOOK_UP, namespace('mcp__words', 'look_up', 'spell')];
    const step = calling('mcp__words__look_up', { word: 'new' });
    simulator.script(step, step, { text: 'It is an adjective.', times: 2 });
    const call = asked(name, { tools });
    const whole = await client().responses.create(call);
    expect(whole.tools).toEqual(tools);
    const events = await eventsOf(name, call);
    const called = { type: 'function_call', name: 'look_up', namespace: 'mcp__words' } as const;
    const shown = events.flatMap((event) =>
      'item' in event
        ? [event.item]
        : event.type === 'response.completed'
          ? event.response.output
          : [],
    );
    expect(shown).toMatchObject([called, called, called]);
    const [used] = whole.output;
    if (used?.type !== 'function_call') throw new Error('No function was called.');
    expect(used).toMatchObject(called);
    const { call_id } = used;
    const result = { type: 'function_call_output', call_id, output: 'adjective' } as const;
    const continuations: Partial<Params>[] = [
      { input: [result], previous_response_id: whole.id },
      { input: [{ role: 'user', content: 'What is new?' }, used, result] },
    ];
    for (const more of continuations) {
      const last = await client().responses.create({ ...call, ...more });
      expect(last.output_text).toBe('It is an adjective.');
      const body = JSON.stringify(simulator.requests.at(-1)?.body);
      expect(body.split('"name":"mcp__words__look_up"')).toHaveLength(3);
      expect(body).toContain('"name":"look_up"');
      expect(body).not.toContain('namespace');
    }
  });

  it('is offered the functions that it may call', async () => {
    const tools = [LOOK_UP, { ...LOOK_UP, name: 'write_down' }];
    const named = { type: 'function', name: 'write_down' } as const;
    const choices: Params['tool_choice'][] = [
      ...(name === 'sim-ollama' ? [] : [named]),
      { type: 'allowed_tools', mode: 'auto', tools: [named] },
    ];
    for (const tool_choice of choices) {
      simulator.script({ text: 'Yes.' });
      const answer = await client().responses.create(asked(name, { tools, tool_choice }));
      expect(answer.tool_choice).toEqual(tool_choice);
      const sent = JSON.stringify(simulator.requests.at(-1)?.body);
      expect(sent).toContain('write_down');
      expect(sent).not.toContain('look_up');
    }
  });

  it('gets the parameters that it can honour', async () => {
    simulator.script({ text: 'Yes.' });
    await client().responses.create({
      model: name,
      input: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Is it red?' },
            {
              type: 'input_image',
              image_url: 'data:image/png;base64,iVBORw0KGgo=',
              detail: 'auto',
            },
          ],
        },
      ],
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 77,
      reasoning: { effort: name === 'sim-ollama' ? 'none' : 'high' },
      include: ['reasoning.encrypted_content'],
      safety_identifier: 'me',
    });
    const sent = JSON.stringify(simulator.requests[0]?.body);

    const thought = name === 'sim-ollama' ? '"think":false' : 'effort":"high"';
    for (const part of ['Be brief.', 'iVBORw0KGgo=', '0.5', '0.9', ':77', thought]) {
      expect(sent).toContain(part);
    }
  });

  it('is told not to think where its protocol has a word for it', async () => {
    simulator.script({ text: 'Yes.' });
    const answer = await client().responses.create(asked(name, { reasoning: { effort: 'none' } }));
    expect(answer.reasoning).toMatchObject({ effort: 'none' });
    const sent = JSON.stringify(simulator.requests[0]?.body);
    if (name === 'sim-chat') expect(sent).toContain('"reasoning_effort":"none"');
    else expect(sent).not.toContain('effort');
    if (name === 'sim-ollama') expect(sent).toContain('"think":false');
  });

  it('answers JSON of a schema', async () => {
    const schema = {
      type: 'object',
      properties: { title: { type: 'string' } },
      required: ['title'],
    };
    simulator.script({ text: '{"title":"New"}' });
    const { output_text: text } = await client().responses.create(
      asked(name, { text: { format: { type: 'json_schema', name: 'book', schema } } }),
    );

    expect(JSON.parse(text)).toEqual({ title: 'New' });
  });

  it('says that its JSON was cut, or that it cannot write it', async () => {
    const text = { format: { type: 'json_object' } } as const;
    simulator.script({ text: '{"title":', finishReason: 'length' });
    expect(await client().responses.create(asked(name, { text }))).toMatchObject({
      status: 'incomplete',
      output_text: '{"title":',
    });
    simulator.script({ text: 'No JSON', times: 2 });
    const error = await failure(client().responses.create(asked(name, { text })));
    expect([error.status, error.code]).toEqual([422, 'json_validate_failed']);
  });

  it('calls functions before it answers JSON of a schema', async () => {
    simulator.script(calling('look_up', { word: 'new' }), { text: ' {"title":"New"} ' });
    const more = { tools: [LOOK_UP], text: { format: { type: 'json_object' } } } as const;
    const { id, output } = await client().responses.create(
      asked(name, { ...more, tools: [LOOK_UP] }),
    );
    expect(output).toMatchObject([{ type: 'function_call', name: 'look_up' }]);
    const [call] = output;
    const call_id = call?.type === 'function_call' ? call.call_id : '';
    const last = await client().responses.create({
      ...more,
      ...{ model: name, tools: [LOOK_UP], previous_response_id: id },
      input: [{ type: 'function_call_output', call_id, output: 'adjective' }],
    });
    expect(last.output_text).toBe('{"title":"New"}');
  });

  it('shows what it thought', async () => {
    const step = { reasoning: 'Let me see. ', text: 'No.' };
    simulator.script(step, step);
    const whole = await client().responses.create(asked(name));
    expect(whole.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Let me see. ' }] },
      { type: 'message', content: [{ text: 'No.' }] },
    ]);
    const types = (await eventsOf(name)).map(({ type }) => type);
    expect(types).toContain('response.reasoning_text.delta');
    expect(types).toContain('response.reasoning_text.done');
  });

  it('says that it reached its limit', async () => {
    const step = { chunks: 3, length: true };
    simulator.script(step, step);
    expect(await client().responses.create(asked(name))).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', status: 'incomplete' }],
    });
    const events = await eventsOf(name);
    expect(events.at(-1)?.type).toBe('response.incomplete');
    const cut = { type: 'response.output_item.done', item: { status: 'incomplete' } };
    expect(events.at(-2)).toMatchObject(cut);
  });

  it('says that it reached its limit in a function call', async () => {
    const step = { ...CUT_IN_CALL, inputTokens: 5, outputTokens: 900 };
    simulator.script(step, step);
    const expected = {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', content: [{ text: 'Let me look.' }] }],
      usage: { input_tokens: 5, output_tokens: 900 },
    };
    const tools = [LOOK_UP];
    const { responses } = client({ maxRetries: 2 });
    expect(await responses.create(asked(name, { tools }))).toMatchObject(expected);
    const last = (await eventsOf(name, { tools })).at(-1);
    expect(last).toMatchObject({ type: 'response.incomplete', response: expected });
    expect(simulator.requests).toHaveLength(2);
  });

  it('is called no longer than its client listens', async () => {
    simulator.script({ chunks: 3, stall: 2 });
    const stream = await client().responses.create({ ...asked(name), stream: true });
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    await allClosed(world);

    simulator.script({ hold: true });
    const leaving = new AbortController();
    const { signal } = leaving;
    const call = failure(client().responses.create(asked(name), { signal }));
    await eventually(
      () => simulator.held,
      (held) => held === 1,
    );
    leaving.abort();
    expect(await call).toBeInstanceOf(OpenAI.APIUserAbortError);
    await allClosed(world);
  });

  it('that breaks off ends its stream as failed, and is not stored', async () => {
    for (const step of [
      { chunks: 9, cut: 2 },
      { chunks: 9, reset: 2 },
      { chunks: 9, error: 2 },
    ]) {
      simulator.script(step);
      const events = await eventsOf(name);
      const last = events.at(-1);
      if (last?.type !== 'response.failed') throw new Error(`It ended with ${last?.type}.`);
      expect(last.response).toMatchObject({
        status: 'failed',
        error: { code: 'server_error', message: expect.stringMatching(/\.$/) },
      });
      expect(events.map(({ type }) => type)).toContain('response.output_text.delta');
      const error = await failure(client().responses.retrieve(last.response.id));
      expect(error.status).toBe(404);
    }
  });

  it('is asked again by a client that retries, and left by one whose time is over', async () => {
    simulator.script({ status: 503, retryAfter: 0 }, { text: 'At last.' });
    const { output_text: text } = await client({ maxRetries: 1 }).responses.create(asked(name));
    expect(text).toBe('At last.');

    simulator.script({ hold: true });
    const call = client({ timeout: 300 }).responses.create(asked(name));
    expect(await failure(call)).toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
    await allClosed(world);
  });
});

describe('functions of namespaces', () => {
  it('have names that all services take, however long and alike they are', async () => {
    const tools = [
      namespace('a', 'b__c'),
      namespace('a__b', 'c'),
      named('a__b__c'),
      namespace('m'.repeat(60), 'look_up', 'look_at'),
    ];
    simulator.script({ text: 'Yes.' });
    await client().responses.create(asked('sim-chat', { tools }));
    const sent = (): string[] => {
      const body = JSON.stringify(simulator.requests.at(-1)?.body);
      return [...body.matchAll(/"name":"([^"]*)"/g)].map(([, one = '']) => one);
    };
    const offered = sent();
    expect([...new Set(offered)]).toHaveLength(5);
    for (const one of offered) expect(one).toMatch(/^[\w-]{1,64}$/);
    expect(offered[2]).toBe('a__b__c');

    simulator.script({ toolCalls: offered.map((one) => ({ name: one })) }, { text: 'Yes.' });
    const answer = await client().responses.create(asked('sim-chat', { tools }));
    expect(functionsIn(answer)).toEqual([
      ['a', 'b__c'],
      ['a__b', 'c'],
      [undefined, 'a__b__c'],
      ['m'.repeat(60), 'look_up'],
      ['m'.repeat(60), 'look_at'],
    ]);
    const outputs = answer.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output', call_id: item.call_id, output: 'x' } as const]
        : [],
    );
    const next = { previous_response_id: answer.id, input: outputs };
    await client().responses.create(asked('sim-chat', { tools, ...next }));
    expect(sent()).toEqual([...offered, ...offered]);
  });

  it('are 128 at most, those of all namespaces together', async () => {
    const names = Array.from({ length: 64 }, (_, at) => `f${at}`);
    const most = [namespace('a', ...names), namespace('b', ...names)];
    simulator.script({ text: 'Yes.' });
    await client().responses.create(asked('sim-chat', { tools: most }));
    const more = asked('sim-chat', { tools: [...most, LOOK_UP] });
    const error = await failure(client().responses.create(more));
    expect([error.status, error.param]).toEqual([400, 'tools']);
  });
});

describe('a parameter', () => {
  const chat = asked('sim-chat');
  it.each([
    [{ input: 'x' }, 'model', 'invalid_value'],
    [{ model: 'sim-chat' }, 'input', 'invalid_value'],
    [{ ...chat, input: [] }, 'input', 'invalid_value'],
    [{ ...chat, background: true, store: false }, 'background', 'invalid_value'],
    [
      { ...chat, conversation: 'conv_1', previous_response_id: 'resp_1' },
      'conversation',
      'invalid_value',
    ],
    [{ ...chat, prompt: { id: 'p' } }, 'prompt', 'unsupported_parameter'],
    [{ ...chat, truncation: 'auto' }, 'truncation', 'unsupported_parameter'],
    [{ ...chat, text: { verbosity: 'low' } }, 'text.verbosity', 'unsupported_parameter'],
    [{ ...chat, include: ['file_search_call.results'] }, 'include[0]', 'unsupported_parameter'],
    [{ ...chat, reasoning: { effort: 'a lot' } }, 'reasoning.effort', 'invalid_value'],
    [
      { ...asked('sim-ollama'), reasoning: { effort: 'high' } },
      'reasoning.effort',
      'unsupported_parameter',
    ],
    [
      { ...chat, tools: [LOOK_UP], tool_choice: { type: 'function', name: 'x' } },
      'tool_choice.name',
      'invalid_value',
    ],
    [{ ...chat, tools: [{ type: 'web_search' }] }, 'tools[0]', 'unsupported_parameter'],
    [{ ...chat, tools: [{ type: 'mcp', server_label: 'x' }] }, 'tools[0].type', 'invalid_value'],
    [
      { ...asked('sim-ollama'), tools: [{ ...LOOK_UP, strict: true }] },
      'tools[0].strict',
      'unsupported_parameter',
    ],
    [
      {
        ...asked('sim-ollama'),
        tools: [LOOK_UP, { ...namespace('a'), tools: [{ ...LOOK_UP, strict: true }] }],
      },
      'tools[1].tools[0].strict',
      'unsupported_parameter',
    ],
    [
      { ...chat, tools: [{ ...namespace('a'), tools: [{ type: 'web_search' }] }] },
      'tools[0].tools[0].type',
      'invalid_value',
    ],
    [{ ...chat, tools: [namespace('a b', 'x')] }, 'tools[0].name', 'invalid_value'],
    [
      { ...asked('sim-ollama'), tools: [LOOK_UP], parallel_tool_calls: false },
      'parallel_tool_calls',
      'unsupported_parameter',
    ],
    [{ ...chat, input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].id', 'invalid_value'],
    [
      { ...chat, input: [{ type: 'function_call_output', call_id: 'c9', output: 'x' }] },
      'input[0].call_id',
      'invalid_value',
    ],
    [
      {
        ...chat,
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }],
      },
      'input[0].content[0].file_data',
      'invalid_value',
    ],
    [
      { ...chat, previous_response_id: `resp_${'0'.repeat(32)}` },
      'previous_response_id',
      'previous_response_not_found',
    ],
    [
      { ...chat, previous_response_id: '\0' },
      'previous_response_id',
      'previous_response_not_found',
    ],
  ])('of %j is refused for a strict key by its name %s', async (body, param, code) => {
    const error = await failure(client({ apiKey: strictKey }).post('/responses', { body }));

    expect([error.status, error.param, error.code]).toEqual([400, param, code]);
    expect(error.message).toMatch(/\.$/);
    expect(simulator.requests).toEqual([]);
  });

  it('of a schema names it as the client does', async () => {
    const schema = { type: 'object', properties: { a: { typ: 'x' } } };
    const text = { format: { type: 'json_schema', name: 'book', schema } };
    const { message } = await failure(client().post('/responses', { body: { ...chat, text } }));

    expect(message).toContain('text.format.schema cannot be used: /properties/a');
  });

  it('of an image is passed on to a service that honours it, and refused by name for others, where the key is strict', async () => {
    const url = 'https://files.test/a.png';
    const image = { type: 'input_image', image_url: url, detail: 'low' } as const;
    const input = [{ role: 'user' as const, content: [image] }];
    simulator.script({ text: 'A dot.' });
    await client().responses.create(asked('sim-chat', { input }));
    const content = [{ type: 'image_url', image_url: { url, detail: 'low' } }];
    expect(simulator.requests[0]?.body).toMatchObject({ messages: [{ role: 'user', content }] });
    for (const name of ['sim-messages', 'sim-ollama']) {
      const strict = client({ apiKey: strictKey });
      const error = await failure(strict.responses.create(asked(name, { input })));
      const told = [400, 'detail', 'unsupported_parameter'];
      expect([error.status, error.param, error.code]).toEqual(told);
    }
    expect(simulator.requests).toHaveLength(1);
  });

  it('that changes nothing is accepted', async () => {
    simulator.script({ text: 'Yes.' });
    const unused: object = {
      background: false,
      include: [],
      truncation: 'disabled',
      service_tier: 'auto',
      top_logprobs: 0,
      prompt_cache_key: 'k',
      max_tool_calls: null,
    };
    expect(await client().responses.create(asked('sim-chat', unused))).toMatchObject({
      output_text: 'Yes.',
    });
  });

  it('of a function is passed on to a service that honours it', async () => {
    for (const name of ['sim-chat', 'sim-messages']) {
      simulator.script({ text: 'Yes.' });
      const tools = [{ ...LOOK_UP, strict: true }];
      await client().responses.create(asked(name, { tools, parallel_tool_calls: false }));
      const sent = JSON.stringify(simulator.requests.at(-1)?.body);
      expect(sent).toContain('"strict":true');
      expect(sent).toMatch(/"(parallel_tool_calls":false|disable_parallel_tool_use":true)/);
    }
  });
});

describe('failures before an answer', () => {
  it.each([
    [{ status: 401 }, 502, 'upstream_authentication'],
    [{ status: 429, retryAfter: 7 }, 429, 'rate_limit_exceeded'],
    [{ status: 500 }, 503, 'upstream_overloaded'],
  ])('of a service with %j are told as %i %s', async (step, status, code) => {
    for (const stream of [false, true]) {
      simulator.script(step);
      const error = await failure(client().responses.create({ ...asked('sim-chat'), stream }));
      expect([error.status, error.code]).toEqual([status, code]);
    }
  });

  it('name the input where it is too long', async () => {
    const error = { code: 'context_length_exceeded', message: 'Too long.', param: 'messages' };
    simulator.script({ status: 400, body: { error } });
    const { status, code, param } = await failure(client().responses.create(asked('sim-chat')));
    expect([status, code, param]).toEqual([400, 'context_length_exceeded', 'input']);
  });

  it('name a model that is not there', async () => {
    const error = await failure(client().responses.create(asked('none')));
    expect([error.status, error.code]).toEqual([404, 'model_not_found']);
  });
});

describe('a stored response', () => {
  /** Answers `text` to `input`. */
  async function respond(
    input: Params['input'],
    text: string,
    more: Partial<Params> = {},
  ): Promise<OpenAI.Responses.Response> {
    simulator.script({ text });
    return client().responses.create(asked('sim-chat', { input, ...more }));
  }

  it('is continued by its id, with everything before it and without its instructions', async () => {
    const first = await respond('I am Ann.', 'Hello Ann.', { instructions: 'Be polite.' });
    const second = await respond('And Bob is here.', 'Hello Bob.', {
      previous_response_id: first.id,
    });
    // A branch: it knows nothing of the second one.
    await respond('Who is here?', 'Ann.', { previous_response_id: first.id });
    await respond('Who is here?', 'Ann and Bob.', { previous_response_id: second.id });

    const sent = sentTo(simulator).map((messages) =>
      messages.map(({ role, content }) => `${role}: ${content}`),
    );
    expect(sent).toEqual([
      ['system: Be polite.', 'user: I am Ann.'],
      ['user: I am Ann.', 'assistant: Hello Ann.', 'user: And Bob is here.'],
      ['user: I am Ann.', 'assistant: Hello Ann.', 'user: Who is here?'],
      [
        ...['user: I am Ann.', 'assistant: Hello Ann.', 'user: And Bob is here.'],
        ...['assistant: Hello Bob.', 'user: Who is here?'],
      ],
    ]);
  });

  it('is continued with the output of a function that it calls, streamed as well', async () => {
    simulator.script(calling('look_up', { word: 'new' }), { text: 'An adjective.' });
    const first = await client()
      .responses.stream(asked('sim-chat', { tools: [LOOK_UP] }))
      .finalResponse();
    const [used] = first.output;
    if (used?.type !== 'function_call') throw new Error('No function was called.');
    const last = await client()
      .responses.stream({
        model: 'sim-chat',
        previous_response_id: first.id,
        tools: [LOOK_UP],
        input: [{ type: 'function_call_output', call_id: used.call_id, output: 'adjective' }],
      })
      .finalResponse();

    expect(last.output_text).toBe('An adjective.');
    const sent = sentTo(simulator).at(-1) ?? [];
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(sent[1]?.tool_calls[0]?.id).toBe(sent[2]?.tool_call_id);
  });

  it('is read, listed and deleted by its id', async () => {
    const odd = 'NUL \0 and half a pair \ud83d';
    const made = await respond(
      [
        { role: 'user', content: odd },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'Go on.' },
      ],
      'All right.',
      { metadata: { topic: 'odd' } },
    );
    const { responses } = client();
    const { output_text: _, ...read } = await responses.retrieve(made.id);
    expect({ ...read, output_text: made.output_text }).toEqual(made);
    const { data, has_more: hasMore } = await responses.inputItems.list(made.id, { limit: 2 });
    expect(hasMore).toBe(true);
    expect(data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Yes?' }] },
    ]);
    const all: unknown[] = [];
    for await (const item of responses.inputItems.list(made.id, { limit: 1, order: 'asc' })) {
      all.push(item);
    }
    expect(all).toHaveLength(3);
    expect(all[0]).toMatchObject({ content: [{ text: odd }] });

    await responses.delete(made.id);
    for (const call of [
      responses.retrieve(made.id),
      responses.inputItems.list(made.id),
      responses.delete(made.id),
      responses.retrieve('resp_%00'),
    ]) {
      expect((await failure(call)).status).toBe(404);
    }
    const next = client().responses.create(asked('sim-chat', { previous_response_id: made.id }));
    expect((await failure(next)).code).toBe('previous_response_not_found');
  });

  it('whose predecessor was deleted can be read, and not be continued', async () => {
    const first = await respond('One', 'Two');
    const second = await respond('Three', 'Four', { previous_response_id: first.id });
    await client().responses.delete(first.id);

    expect((await client().responses.retrieve(second.id)).output_text).toBe('Four');
    const next = client().responses.create(asked('sim-chat', { previous_response_id: second.id }));
    expect((await failure(next)).code).toBe('previous_response_not_found');
  });

  it('is none with store false', async () => {
    const made = await respond('One', 'Two', { store: false });

    expect((await failure(client().responses.retrieve(made.id))).status).toBe(404);
    expect(made).toMatchObject({ store: false });
  });

  it('belongs to the user who made it, whatever key they use', async () => {
    const made = await respond('One', 'Two');
    const role = await makeRole(admin, 'programs', ['system:apikey:add']);
    const other = await makeUser(plinth, admin, 'reader', [role]);
    const foreign = await makeKey(other.session, { permissions: ['chat:chat:use'] });
    const own = await makeKey(admin, { permissions: ['chat:chat:use'] });

    expect((await client({ apiKey: own.key }).responses.retrieve(made.id)).id).toBe(made.id);
    const stranger = client({ apiKey: foreign.key }).responses;
    expect((await failure(stranger.retrieve(made.id))).status).toBe(404);
    expect((await failure(stranger.delete(made.id))).status).toBe(404);
    const next = stranger.create(asked('sim-chat', { previous_response_id: made.id }));
    expect((await failure(next)).code).toBe('previous_response_not_found');
  });

  it('is deleted with its user', async () => {
    const role = await makeRole(admin, 'leavers', ['system:apikey:add']);
    const leaver = await makeUser(plinth, admin, 'leaver', [role]);
    const { key } = await makeKey(leaver.session, { permissions: ['chat:chat:use'] });
    simulator.script({ text: 'Farewell.' });
    await client({ apiKey: key }).responses.create(asked('sim-chat'));
    expect(await storedOf(leaver.id)).toBe(1);
    done(await admin.delete(`/system/user/${leaver.id}`));

    expect(await storedOf(leaver.id)).toBe(0);
  });

  it('is kept for 30 days after its conversation was last continued', async () => {
    const [kept, old] = [await respond('One', 'Two'), await respond('One', 'Two')];
    for (const { id } of [kept, old]) {
      await database().query(
        `UPDATE stored_response SET last_used_time = now() - interval '31 days' WHERE tenant_id = '000000' AND id = $1`,
        [id],
      );
    }
    await respond('Three', 'Four', { previous_response_id: kept.id });
    await plinth.app.get(RetentionSweep, { strict: false }).sweep();

    expect((await client().responses.retrieve(kept.id)).id).toBe(kept.id);
    expect((await failure(client().responses.retrieve(old.id))).status).toBe(404);
  });

  it('that cannot be stored is not told to be completed', async () => {
    simulator.script({ chunks: 2 });
    const rename = (from: string, to: string): Promise<unknown> =>
      database().query(`ALTER TABLE ${from} RENAME TO ${to}`);
    await rename('stored_response', 'stored_response_away');
    try {
      const events = await eventsOf('sim-chat');
      expect(events.at(-1)?.type).toBe('response.failed');
    } finally {
      await rename('stored_response_away', 'stored_response');
    }
  });
});

describe('an agent', () => {
  it('answers with its prompt and knowledge, cites its sources, and is continued', async () => {
    simulator.script(
      { ...COMPLETION, text: 'Two years [1].' },
      { ...COMPLETION, text: 'How long is the laptop warranty?' },
      { ...COMPLETION, text: 'Yes [1].' },
    );
    const model = `agent-${agentId}`;
    const first = await client().responses.create(
      asked(model, { input: 'How long is the laptop warranty?', instructions: 'Be brief.' }),
    );
    const [sent = []] = sentTo({ requests: simulator.requests.slice(-1) });
    expect(sent[0]?.content).toBe('You are the shop.\n\nBe brief.');
    expect(sent.at(-1)?.content).toContain('lasts two years');
    expect(first).toMatchObject({
      output: [
        {
          content: [
            {
              text: 'Two years [1].',
              annotations: [{ type: 'url_citation', start_index: 10, title: 'warranty.txt' }],
            },
          ],
        },
      ],
      sources: [{ number: 1, document: 'warranty.txt' }],
    });
    const second = client().responses.stream({
      model,
      input: 'Is that for every laptop?',
      previous_response_id: first.id,
    });
    const types: string[] = [];
    second.on('event', ({ type }) => types.push(type));
    expect((await second.finalResponse()).output_text).toBe('Yes [1].');
    expect(types).toContain('response.output_text.annotation.added');
    const [last = []] = sentTo({ requests: simulator.requests.slice(-1) });
    expect(last.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  });

  it('refuses the functions of a client', async () => {
    const call = client().responses.create(asked(`agent-${agentId}`, { tools: [LOOK_UP] }));

    expect((await failure(call)).param).toBe('tools');
  });
});

function database(): Database {
  return plinth.app.get(Database);
}

async function storedOf(userId: number): Promise<number> {
  const [row] = await database().query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM stored_response WHERE tenant_id = '000000' AND user_id = $1`,
    [userId],
  );
  return row?.count ?? 0;
}
