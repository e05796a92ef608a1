import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import type { ChatPart } from './chat.adapter.js';
import { ChatCompletionsStream } from './chat-completions.protocol.js';
import { MessagesStream } from './messages.protocol.js';
import { OllamaStream } from './ollama.protocol.js';
import { ResponsesStream } from './responses.protocol.js';
import type { AnswerStream } from './stream-mapping.js';

const secrets = { address: 'https://x.test' };
const fixture = (path: string): Buffer => readFileSync(new URL(path, import.meta.url));

function partsOf(mapping: AnswerStream, reads: readonly Buffer[]): ChatPart[] {
  const parts: ChatPart[] = [];
  for (const bytes of reads) mapping.read(bytes, parts);
  mapping.end(parts);
  return parts.map(withoutMadeId);
}

/** Ollama gives calls no id, so the adapter makes one. */
function withoutMadeId(part: ChatPart): ChatPart {
  if (part.type !== 'tool-call') return part;
  const id = part.toolCall.id.replace(/^call_[\w-]{36}$/, 'made');
  return { type: 'tool-call', toolCall: { ...part.toolCall, id } };
}

/** Of the fixture of the messages protocol. */
const THOUGHT = { type: 'thinking', thinking: '天気を調べる。', signature: 'EqQBCgIYAhIM' };

function weather(id: string, input: Readonly<Record<string, unknown>>): ChatPart {
  const toolCall = { id, name: 'get_weather', arguments: JSON.stringify(input), input };
  return { type: 'tool-call', toolCall };
}

const FIXTURES: readonly (readonly [string, string, () => AnswerStream, readonly ChatPart[]])[] = [
  [
    'responses',
    './responses/fixtures/stream.txt',
    () => new ResponsesStream(secrets, true),
    [
      { type: 'reasoning-delta', text: '**Reading**' },
      { type: 'reasoning-delta', text: '\n\n用户问好。' },
      { type: 'text-delta', text: 'Grüß ' },
      { type: 'text-delta', text: 'Gott 👋🏽\n' },
      {
        type: 'provider-state',
        providerState: {
          origin: '',
          data: {
            items: [
              { type: 'reasoning', id: 'rs_0a2', encrypted_content: 'gAAAAABpJz-first' },
              { type: 'message', length: 15, phase: 'final_answer' },
            ],
          },
        },
      },
      {
        type: 'usage',
        usage: {
          inputTokens: 11,
          outputTokens: 18,
          totalTokens: 29,
          cachedInputTokens: 4,
          reasoningTokens: 9,
          raw: expect.objectContaining({ input_tokens: 11 }),
        },
      },
      { type: 'finish', reason: 'stop', raw: 'completed' },
    ],
  ],
  [
    'responses with tools',
    './responses/fixtures/stream-tools.txt',
    () => new ResponsesStream(secrets, true),
    [
      { type: 'text-delta', text: 'I look.' },
      weather('call_7xq', { city: 'Zürich' }),
      weather('call_8yr', { city: 'Bern', days: 2 }),
      {
        type: 'provider-state',
        providerState: {
          origin: '',
          data: {
            items: [
              { type: 'reasoning', id: 'rs_0b1', encrypted_content: 'gAAAAABpJz-one' },
              { type: 'message', length: 7, phase: 'commentary' },
              { type: 'function_call' },
              { type: 'reasoning', id: 'rs_0b4', encrypted_content: 'gAAAAABpJz-two' },
              { type: 'function_call' },
            ],
          },
        },
      },
      {
        type: 'usage',
        usage: {
          inputTokens: 70,
          outputTokens: 40,
          totalTokens: 110,
          cachedInputTokens: 0,
          reasoningTokens: 16,
          raw: expect.anything(),
        },
      },
      { type: 'finish', reason: 'tool-calls', raw: 'completed' },
    ],
  ],
  [
    'chat-completions',
    './chat-completions/fixtures/stream.txt',
    () => new ChatCompletionsStream(secrets, true),
    [
      { type: 'reasoning-delta', text: '用户问好。' },
      { type: 'text-delta', text: 'Grüß ' },
      { type: 'text-delta', text: 'Gott 👋🏽\n' },
      {
        type: 'provider-state',
        providerState: { origin: '', data: { reasoning_content: '用户问好。' } },
      },
      {
        type: 'usage',
        usage: {
          inputTokens: 11,
          outputTokens: 18,
          totalTokens: 29,
          cachedInputTokens: 4,
          reasoningTokens: 9,
          raw: expect.objectContaining({ prompt_cache_miss_tokens: 7 }),
        },
      },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ],
  ],
  [
    'chat-completions with tools',
    './chat-completions/fixtures/stream-tools.txt',
    () => new ChatCompletionsStream(secrets, true),
    [
      {
        type: 'tool-call',
        toolCall: {
          id: 'call_7xq',
          name: 'get_weather',
          arguments: '{"city":"Zürich"}',
          input: { city: 'Zürich' },
        },
      },
      {
        type: 'tool-call',
        toolCall: { id: 'call_7xr', name: 'get_time', arguments: '{}', input: {} },
      },
      { type: 'finish', reason: 'tool-calls', raw: 'tool_calls' },
    ],
  ],
  [
    'messages',
    './messages/fixtures/stream.txt',
    () => new MessagesStream(secrets, true),
    [
      { type: 'reasoning-delta', text: '天気を調べる。' },
      { type: 'text-delta', text: "Okay, let's " },
      { type: 'text-delta', text: 'check 🌦️' },
      {
        type: 'tool-call',
        toolCall: {
          id: 'toolu_01T1x',
          name: 'get_weather',
          arguments: '{"city": "Zürich"}',
          input: { city: 'Zürich' },
        },
      },
      { type: 'provider-state', providerState: { origin: '', data: { blocks: [THOUGHT] } } },
      {
        type: 'usage',
        usage: {
          inputTokens: 572,
          outputTokens: 89,
          totalTokens: 661,
          cachedInputTokens: 100,
          raw: expect.objectContaining({ input_tokens: 472 }),
        },
      },
      { type: 'finish', reason: 'tool-calls', raw: 'tool_use' },
    ],
  ],
  [
    'ollama',
    './ollama/fixtures/stream.txt',
    () => new OllamaStream(secrets, true),
    [
      { type: 'reasoning-delta', text: 'The user asks for the weather. ' },
      { type: 'text-delta', text: 'Moment – ' },
      { type: 'text-delta', text: '東京 ☂' },
      {
        type: 'tool-call',
        toolCall: {
          id: 'made',
          name: 'get_weather',
          arguments: '{"city":"Tōkyō"}',
          input: { city: 'Tōkyō' },
        },
      },
      {
        type: 'provider-state',
        providerState: { origin: '', data: { thinking: 'The user asks for the weather. ' } },
      },
      {
        type: 'usage',
        usage: {
          inputTokens: 169,
          outputTokens: 25,
          totalTokens: 194,
          raw: expect.objectContaining({ eval_duration: 1117000000 }),
        },
      },
      { type: 'finish', reason: 'tool-calls', raw: 'stop' },
    ],
  ],
];

describe.each(FIXTURES)('the stream of %s', (_name, path, mapping, expected) => {
  const bytes = fixture(path);

  it('becomes these parts', () => {
    expect(partsOf(mapping(), [bytes])).toEqual(expected);
  });

  it('becomes the same parts cut at every byte', () => {
    const reads = [...bytes].map((byte) => Buffer.from([byte]));
    expect(partsOf(mapping(), reads)).toEqual(expected);
  });

  it('becomes the same parts wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const at = [...cuts].sort((a, b) => a - b);
        const reads = [0, ...at].map((start, index) => bytes.subarray(start, at[index]));
        expect(partsOf(mapping(), reads)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('is cut if it ends anywhere before the finish reason', () => {
    const finish = /"finish_reason":"|"stop_reason":"|"done_reason":"/.exec(
      bytes.toString('latin1'),
    );
    fc.assert(
      fc.property(fc.nat(finish?.index ?? 0), (length) => {
        const cut = (): unknown => partsOf(mapping(), [bytes.subarray(0, length)]);
        expect(cut).toThrow('ended the answer before it was finished');
      }),
      { numRuns: 60 },
    );
  });
});

describe('forms that vendors use', () => {
  const streamed = (...chunks: readonly object[]): ChatPart[] => {
    const text = chunks.map((chunk) => `data:${JSON.stringify(chunk)}\n\n`).join('');
    return partsOf(new ChatCompletionsStream(secrets, true), [Buffer.from(text)]);
  };
  const delta = (fields: object, finish: string | null = null): object => ({
    choices: [{ delta: fields, finish_reason: finish }],
  });
  const call = (fields: object): object => delta({ tool_calls: [fields] });

  it('tells calls apart by their ids where the index is always 0 or missing', () => {
    const first = { id: 'a', function: { name: 'one', arguments: '{"n":1}' } };
    const second = { id: 'b', function: { name: 'two', arguments: '{"n":2}' } };
    for (const index of [{ index: 0 }, {}]) {
      const parts = streamed(
        call({ ...index, ...first }),
        call({ ...index, ...second }),
        delta({}, 'stop'),
      );
      expect(parts).toMatchObject([
        { toolCall: { id: 'a', input: { n: 1 } } },
        { toolCall: { id: 'b', input: { n: 2 } } },
        { type: 'finish', reason: 'tool-calls', raw: 'stop' },
      ]);
    }
  });

  it('accepts null fields, lists of text, and reasoning under its other name', () => {
    const parts = streamed(
      delta({ role: 'assistant', content: null, tool_calls: null, refusal: null }),
      { choices: [{ delta: null, finish_reason: null }] },
      { choices: null },
      delta({ reasoning: 'hm' }),
      delta(
        {
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        'stop',
      ),
    );
    expect(parts).toEqual([
      { type: 'reasoning-delta', text: 'hm' },
      { type: 'text-delta', text: 'ab' },
      { type: 'provider-state', providerState: { origin: '', data: { reasoning: 'hm' } } },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ]);
  });

  it('counts a refusal as filtered', () => {
    expect(streamed(delta({ refusal: 'I cannot.' }), delta({}, 'stop'))).toEqual([
      { type: 'text-delta', text: 'I cannot.' },
      { type: 'finish', reason: 'content-filter', raw: 'stop' },
    ]);
  });

  test.each([
    [{ error: { message: 'Slow down', code: 429 } }, { kind: 'rate-limit', status: 429 }],
    [{ error: { message: 'Slow down', type: 'rate_limit_error' } }, { kind: 'rate-limit' }],
    [{ error: 'broken' }, { kind: 'invalid-request' }],
    [
      { object: 'error', message: 'too long', code: 400 },
      { kind: 'invalid-request', status: 400 },
    ],
    [{ code: 'InvalidApiKey', message: 'No key' }, { kind: 'authentication' }],
  ])('%j is an error', (chunk, expected) => {
    let failure: unknown;
    try {
      streamed(chunk);
    } catch (error) {
      failure = error;
    }
    expect(failure).toMatchObject(expected);
  });

  it.each(['[1]', '"x"', '"{\\"n\\":1}"', '{"city":', 'null'])(
    'marks a call with the arguments %s as invalid',
    (json) => {
      const broken = call({ id: 'a', function: { name: 'one', arguments: json } });
      expect(streamed(broken, delta({}, 'tool_calls'))).toEqual([
        {
          type: 'tool-call',
          toolCall: { id: 'a', name: 'one', arguments: json, input: {}, invalid: true },
        },
        { type: 'finish', reason: 'tool-calls', raw: 'tool_calls' },
      ]);
    },
  );
});
