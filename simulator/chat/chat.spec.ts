import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../index.js';
import { parseJson } from '../http/json.js';
import { contentIn, eventsIn, send } from '../wire-client.js';

const ask = (content: string) => [{ role: 'user', content }];
const toolCall = { toolCalls: [{ id: 'c1', name: 'weather', arguments: { city: 'Paris' } }] };

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(() => simulator.reset());
afterAll(() => simulator.close());

describe('chat-completions', () => {
  const path = '/openai/v1/chat/completions';

  it('streams role, content, finish, usage and the end mark', async () => {
    const { text, headers } = await send(simulator.url + path, {
      model: 'sim--chunks-3',
      messages: ask('hi'),
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(headers['content-type']).toContain('text/event-stream');
    expect(contentIn(text)).toBe('tok0 tok1 tok2 ');
    const events = eventsIn(text);
    expect(events[0]).toMatchObject({ choices: [{ delta: { role: 'assistant' } }], usage: null });
    expect(events.at(-3)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(events.at(-2)).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('quotes the passages that answer the question, with their number', async () => {
    const question =
      'How many days of annual leave do employees get?\n\nAnswer from the following:\n\n' +
      '[1] The office opens at nine. Parking is free.\n' +
      '[2] Employees get 25 days of annual leave each year. Dogs are welcome.';
    const { json } = await send(simulator.url + path, {
      model: 'sim-chat',
      messages: ask(question),
    });
    const text = JSON.stringify(json);
    expect(text).toContain('Employees get 25 days of annual leave each year. [2]');
    expect(text).not.toContain('Parking');
  });

  it('answers in Chinese, thinks first when it is a reasoner, and names images', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const { json } = await send(simulator.url + path, {
      model: 'sim-reasoner',
      messages: [{ role: 'user', content: [{ type: 'text', text: '这是什么图片？' }, image] }],
    });
    const message = { content: expect.stringContaining('image/png, 3 bytes') };
    const reasoning = { reasoning_content: expect.stringContaining('这是什么图片') };
    expect(json).toMatchObject({ choices: [{ message: { ...message, ...reasoning } }] });
  });

  it('calls tools in both forms, with streamed arguments in pieces', async () => {
    simulator.script(toolCall, toolCall);
    const body = { model: 'm', messages: ask('weather?') };
    const blocking = await send(simulator.url + path, body);
    const call = { id: 'c1', function: { name: 'weather', arguments: '{"city":"Paris"}' } };
    const choice = { finish_reason: 'tool_calls', message: { content: null, tool_calls: [call] } };
    expect(blocking.json).toMatchObject({ choices: [choice] });
    const streamed = await send(simulator.url + path, { ...body, stream: true });
    const pieces = [...streamed.text.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)];
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.map((piece) => parseJson(piece[1] ?? '') as string).join('')).toBe(
      '{"city":"Paris"}',
    );
  });

  it('refuses a wrong key, an unknown model and a request without messages', async () => {
    const statusOf = async (body: { model: string }, headers = {}) =>
      send(simulator.url + path, { messages: ask('hi'), ...body }, headers);
    const bearer = { authorization: 'Bearer wrong-key', 'x-api-key': '' };
    expect(await statusOf({ model: 'm' }, bearer)).toMatchObject({
      status: 401,
      json: { error: { type: 'authentication_error' } },
    });
    expect((await statusOf({ model: 'no-such-model' })).status).toBe(404);
    expect((await send(simulator.url + path, { model: 'm' })).status).toBe(400);
    expect((await statusOf({ model: 'm--misspelt' })).status).toBe(400);
  });
});

describe('messages', () => {
  const path = '/anthropic/v1/messages';
  const body = { model: 'm', max_tokens: 100, messages: ask('hi') };

  it('streams its events in order, with thinking, text and tool input', async () => {
    simulator.script({ reasoning: 'hm', text: 'sunny', ...toolCall });
    const { text } = await send(simulator.url + path, { ...body, stream: true });
    const types = [...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1]);
    expect(types.slice(0, 4)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
    ]);
    expect(types.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
    const deltas = [...new Set([...text.matchAll(/"type":"(\w+_delta)"/g)].map((m) => m[1]))];
    expect(deltas).toEqual(
      expect.arrayContaining(['thinking_delta', 'text_delta', 'input_json_delta']),
    );
    expect(text).toContain('"stop_reason":"tool_use"');
  });

  it('answers in one piece', async () => {
    simulator.script({ text: 'sunny', ...toolCall });
    const { json } = await send(simulator.url + path, body);
    expect(json).toMatchObject({
      type: 'message',
      content: [
        { type: 'text', text: 'sunny' },
        { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Paris' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 1 },
    });
  });

  it('requires its headers and max_tokens', async () => {
    const withoutKey = await send(simulator.url + path, body, { 'x-api-key': '' });
    expect(withoutKey).toMatchObject({ status: 401, json: { type: 'error' } });
    const withoutVersion = await send(simulator.url + path, body, { 'anthropic-version': '' });
    expect(withoutVersion.status).toBe(400);
    const withoutLimit = await send(simulator.url + path, { model: 'm', messages: ask('hi') });
    expect(withoutLimit).toMatchObject({
      status: 400,
      json: { error: { type: 'invalid_request_error' } },
    });
  });

  it('takes the parameters of the API, and those of a beta that a header names', async () => {
    const system = { role: 'system', content: 'Be short.' };
    const messages = [...ask('hi'), system];
    const known = { ...body, messages, top_k: 4, cache_control: { type: 'ephemeral' } };
    expect((await send(simulator.url + path, known)).status).toBe(200);
    const beta = { ...body, context_management: { edits: [] } };
    const named = { 'anthropic-beta': 'context-management-2025-06-27' };
    expect((await send(simulator.url + path, beta, named)).status).toBe(200);
    for (const [name, refused] of [
      ['context_management', beta],
      ['surprise', { ...body, surprise: 1 }],
    ] as const) {
      expect(await send(simulator.url + path, refused)).toMatchObject({
        status: 400,
        json: { error: { message: `${name}: Extra inputs are not permitted` } },
      });
    }
  });
});

describe('the local runtime', () => {
  it('streams lines unless told not to', async () => {
    const body = { model: 'sim--chunks-2--length:latest', messages: ask('hi') };
    const streamed = await send(`${simulator.url}/api/chat`, body);
    const lines = streamed.text.trimEnd().split('\n').map(parseJson);
    expect(lines).toMatchObject([
      { message: { content: 'tok0 ' }, done: false },
      { message: { content: 'tok1 ' }, done: false },
      { done: true, done_reason: 'length', eval_count: 3 },
    ]);
    const blocking = await send(`${simulator.url}/api/chat`, { ...body, stream: false });
    expect(blocking.json).toMatchObject({ message: { content: 'tok0 tok1 ' }, done: true });
  });

  it('sends thinking, tool calls and the model list without a key', async () => {
    simulator.script({ reasoning: 'hm', ...toolCall });
    const noKey = { authorization: '', 'x-api-key': '' };
    const body = { model: 'm', messages: ask('hi'), stream: false };
    const { json } = await send(`${simulator.url}/api/chat`, body, noKey);
    const call = { function: { name: 'weather', arguments: { city: 'Paris' } } };
    expect(json).toMatchObject({ message: { thinking: 'hm', tool_calls: [call] } });
    const tags = await send(`${simulator.url}/api/tags`, undefined, noKey);
    expect(tags.text).toContain('sim-chat:latest');
  });

  it('refuses to think with a model that cannot', async () => {
    const body = { messages: ask('hi'), think: true, stream: false };
    const refused = await send(`${simulator.url}/api/chat`, { ...body, model: 'm' });
    expect(refused).toMatchObject({
      status: 400,
      json: { error: '"m" does not support thinking' },
    });
    const thought = await send(`${simulator.url}/api/chat`, { ...body, model: 'reasoner' });
    expect(thought.json).toMatchObject({ message: { thinking: expect.stringContaining('hi') } });
    const told = await send(`${simulator.url}/api/chat`, { ...body, model: 'm', think: false });
    expect(told.status).toBe(200);
  });
});
