import { describe, expect, it, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { ChatCall, ChatPart } from './chat.adapter.js';
import { responses, ResponsesStream, toResponsesBody } from './responses.protocol.js';

const secrets = { address: 'https://x.test' };
const protocol = responses({ prefix: '/v1' });
const CALL: ChatCall = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

function fixture(name: string): string {
  return readFileSync(new URL(`./responses/fixtures/${name}`, import.meta.url), 'utf8');
}

function wire(call: Partial<ChatCall>): Record<string, unknown> {
  const body = toResponsesBody({ ...CALL, ...call }, true);
  return JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
}

function streamed(...events: readonly object[]): ChatPart[] {
  const parts: ChatPart[] = [];
  const stream = new ResponsesStream(secrets, true);
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  stream.read(Buffer.from(text), parts);
  stream.end(parts);
  return parts;
}

function failureOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

const done = (output: readonly object[], more: object = {}): object => ({
  type: 'response.completed',
  response: { status: 'completed', output, ...more },
});

test('a call in the words of the protocol', () => {
  const body = wire({
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', mimeType: 'image/png', data: 'aWs=' },
          { type: 'image-url', url: 'https://x.test/a.png', detail: 'low' },
        ],
      },
      {
        role: 'assistant',
        content: 'I look.',
        toolCalls: [{ id: 'a', name: 'look', arguments: '{"x": 1}', input: { x: 1 } }],
      },
      { role: 'tool', toolCallId: 'a', name: 'look', content: 'a cat' },
      { role: 'system', content: 'Be kind.' },
    ],
    tools: [{ name: 'look', description: 'Looks', inputSchema: { type: 'object' } }],
    toolChoice: 'required',
    parallelToolCalls: false,
    temperature: 0,
    maxTokens: 5,
    effort: 'low',
    responseFormat: { type: 'json_schema', name: 'answer', schema: { type: 'object' } },
  });
  expect(body).toEqual({
    model: 'm',
    instructions: 'Be brief.',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'data:image/png;base64,aWs=', detail: 'auto' },
          { type: 'input_image', image_url: 'https://x.test/a.png', detail: 'low' },
        ],
      },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'I look.' }],
      },
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"x": 1}' },
      { type: 'function_call_output', call_id: 'a', output: 'a cat' },
      { type: 'message', role: 'system', content: 'Be kind.' },
    ],
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    tools: [
      {
        type: 'function',
        name: 'look',
        description: 'Looks',
        parameters: { type: 'object' },
        strict: false,
      },
    ],
    tool_choice: 'required',
    parallel_tool_calls: false,
    temperature: 0,
    max_output_tokens: 16,
    reasoning: { effort: 'low', summary: 'auto' },
    text: {
      format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: false },
    },
  });
  expect(wire({ effort: 'none' })['reasoning']).toEqual({ effort: 'none' });
});

describe('what a model thought', () => {
  const call = { name: 'get_weather', arguments: '{}', input: {} };
  const toolCalls = [
    { ...call, id: 'call_7xq' },
    { ...call, id: 'call_8yr' },
  ];

  it('goes back between the words and calls where it stood', () => {
    const answer = streamed(
      ...fixture('stream-tools.txt')
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice(6)) as object),
    );
    const state = answer.find((part) => part.type === 'provider-state')?.providerState;
    if (!state) throw new Error('The answer has no state.');
    const messages = [
      { role: 'assistant', content: 'I look.', toolCalls, providerState: state } as const,
    ];
    const place = { type: 'function_call', name: 'get_weather', arguments: '{}' };
    expect(wire({ messages })['input']).toEqual([
      { type: 'reasoning', id: 'rs_0b1', summary: [], encrypted_content: 'gAAAAABpJz-one' },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'I look.' }],
        phase: 'commentary',
      },
      { ...place, call_id: 'call_7xq' },
      { type: 'reasoning', id: 'rs_0b4', summary: [], encrypted_content: 'gAAAAABpJz-two' },
      { ...place, call_id: 'call_8yr' },
    ]);
  });

  it.each([{ items: [{ type: 'message', length: 3 }] }, { items: 'none' }, {}])(
    'is passed over where it is not readable, and loses no text or call: %j',
    (data) => {
      const providerState = { origin: '', data };
      const messages = [
        { role: 'assistant', content: 'I look.', toolCalls, providerState } as const,
      ];
      expect(wire({ messages })['input']).toMatchObject([
        { type: 'message', content: [{ text: 'I look.' }] },
        { call_id: 'call_7xq' },
        { call_id: 'call_8yr' },
      ]);
    },
  );
});

describe('an answer', () => {
  it('in one piece has the same as its stream', () => {
    const whole = protocol.toCompletion(JSON.parse(fixture('answer.json')), secrets, CALL);
    expect(whole).toMatchObject({
      text: 'Grüß Gott 👋🏽\n',
      reasoning: '**Reading**\n\n用户问好。',
      toolCalls: [],
      providerState: { data: { items: [{ id: 'rs_0a2' }, { phase: 'final_answer' }] } },
      finish: { reason: 'stop', raw: 'completed' },
      usage: { inputTokens: 11, cachedInputTokens: 4, reasoningTokens: 9, totalTokens: 29 },
    });
  });

  it('may come without pieces, in its items or in the last event alone', () => {
    const item = { type: 'message', status: 'completed', content: [{ text: 'Yes.' }] };
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' };
    const expected = [
      { type: 'text-delta', text: 'Yes.' },
      { type: 'tool-call', toolCall: { id: 'a', name: 'f', input: { x: 1 } } },
      { type: 'finish', reason: 'tool-calls' },
    ];
    const items = [item, call].map((one, output_index) => ({
      ...{ type: 'response.output_item.done', output_index },
      item: { ...one, status: 'completed' },
    }));
    expect(streamed(...items, done([item, call]))).toMatchObject(expected);
    expect(streamed(done([item, call]))).toMatchObject(expected);
  });

  it('has the arguments of a call that come in pieces, as an object, or as one text of a custom tool', () => {
    const place = { output_index: 0 };
    const begun = { type: 'function_call', call_id: 'a', name: 'f', arguments: '' };
    const added = { type: 'response.output_item.added', ...place, item: begun };
    const delta = { type: 'response.function_call_arguments.delta', ...place };
    const pieces = streamed(
      added,
      { ...delta, delta: '{"x"' },
      { ...delta, delta: ':1}' },
      done([]),
    );
    expect(pieces).toMatchObject([{ toolCall: { input: { x: 1 } } }, { reason: 'tool-calls' }]);
    const object = { ...begun, arguments: { x: 1 } };
    expect(streamed(done([object]))).toMatchObject([{ toolCall: { input: { x: 1 } } }, {}]);
    const custom = { type: 'custom_tool_call', call_id: 'a', name: 'p', input: 'x\n"y"' };
    expect(streamed(done([custom]))).toMatchObject([
      { toolCall: { input: { input: 'x\n"y"' } } },
      {},
    ]);
  });

  it.each([
    [{ reason: 'max_output_tokens' }, 'length'],
    [{ reason: 'content_filter' }, 'content-filter'],
    [null, 'other'],
  ])('that is incomplete for %j ends as %s', (incomplete_details, reason) => {
    const response = { status: 'incomplete', incomplete_details, output: [] };
    const parts = streamed({ type: 'response.incomplete', response });
    expect(parts).toMatchObject([{ type: 'finish', reason }]);
    const item = { type: 'message', content: [{ type: 'output_text', text: 'A' }] };
    const whole = protocol.toCompletion({ ...response, output: [item] }, secrets, CALL);
    expect(whole.finish.reason).toBe(reason);
  });

  it('that declines counts as filtered', () => {
    const item = { type: 'message', content: [{ type: 'refusal', refusal: 'I cannot.' }] };
    expect(streamed(done([item])).at(-1)).toMatchObject({ reason: 'content-filter' });
    const whole = protocol.toCompletion({ status: 'completed', output: [item] }, secrets, CALL);
    expect(whole).toMatchObject({ text: 'I cannot.', finish: { reason: 'content-filter' } });
  });

  it.each([
    { type: 'error', code: 'rate_limit_exceeded', message: 'Slow down', param: null },
    { type: 'error', error: { type: 'x', code: 'rate_limit_exceeded', message: 'Slow down' } },
    {
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down' } },
    },
  ])('that fails says why: %j', (event) => {
    expect(failureOf(() => streamed(event))).toMatchObject({
      kind: 'rate-limit',
      message: expect.stringContaining('Slow down'),
    });
  });

  it('that fails in one piece says why, and one without output is none', () => {
    const read = (answer: unknown): unknown =>
      failureOf(() => protocol.toCompletion(answer, secrets, CALL));
    const error = { code: 'server_error', message: 'It broke' };
    expect(read({ status: 'failed', error, output: [] })).toMatchObject({
      message: expect.stringContaining('It broke'),
    });
    expect(read({ choices: [] })).toMatchObject({ kind: 'protocol' });
    expect(read({ status: 'completed', output: [] })).toMatchObject({ kind: 'protocol' });
  });
});
