import { describe, expect, it } from '@jest/globals';
import type { ChatCall, ChatCompletion, ChatMessage, ChatPart } from './chat.adapter.js';
import { chatCompletions } from './chat-completions.protocol.js';
import { messages } from './messages.protocol.js';
import { ollama } from './ollama.protocol.js';
import { partsOf } from './protocol.adapter.js';
import type { ChatProtocol } from './protocol.adapter.js';
import { splitThinking } from './answer-text.js';

/**
 * Answers as services were seen to send them, with what they are to become. The sources are public: API references, issues of
 * gateways and SDKs (vLLM, LiteLLM, vercel/ai, opencode, kimi-cli), read in November 2026.
 */
const secrets = { address: 'https://x.test' };
const PROTOCOL = chatCompletions({
  address: { prefix: '/v1' },
  dialect: { maxOutputField: 'max_tokens', streamUsage: true, json: 'schema' },
});
const MESSAGES = messages({ prefix: '/v1' });
const CALL: ChatCall = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };

function read(
  protocol: ChatProtocol,
  bytes: string,
  { call = CALL, cut = 0 }: { call?: ChatCall; cut?: number } = {},
): ChatPart[] {
  const stream = protocol.answerStream(secrets, call.thinking !== false, call);
  stream.expect({ isJson: call.responseFormat !== undefined });
  const parts: ChatPart[] = [];
  const buffer = Buffer.from(bytes);
  const size = cut || buffer.length;
  for (let at = 0; at < buffer.length; at += size)
    stream.read(buffer.subarray(at, at + size), parts);
  stream.end(parts);
  return parts;
}

const sse = (...events: readonly (object | string)[]): string =>
  events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('');

const delta = (fields: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});

/** The stream as one answer; ids that the adapter made are `made`. */
function shown(parts: readonly ChatPart[]) {
  const join = (type: ChatPart['type']): string =>
    parts.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('');
  return {
    text: join('text-delta'),
    thinking: join('reasoning-delta'),
    calls: parts
      .flatMap((part) => (part.type === 'tool-call' ? [part.toolCall] : []))
      .map(shownCall),
    state: parts.find((part) => part.type === 'provider-state')?.providerState.data,
    usage: parts.find((part) => part.type === 'usage')?.usage,
    finish: parts.at(-1)?.type === 'finish' ? parts.at(-1) : undefined,
  };
}

function shownCall({ id, name, input, invalid }: ChatCompletion['toolCalls'][number]) {
  return [/^call_[\w-]{36}$/.test(id) ? 'made' : id, name, invalid ? 'invalid' : input];
}

const streamed = (...events: readonly (object | string)[]) => shown(read(PROTOCOL, sse(...events)));
const whole = (message: object, finish: string | null = 'stop', rest: object = {}) =>
  shown(
    partsOf(
      PROTOCOL.toCompletion(
        { choices: [{ index: 0, message, finish_reason: finish }], ...rest },
        secrets,
        CALL,
      ),
    ),
  );

describe('thinking between tags in the text', () => {
  const CASES: readonly (readonly [text: string, thinking: string, answer: string])[] = [
    ['<think>\nLet me see.\n</think>\n\nParis.', 'Let me see.', 'Paris.'],
    ['\n\n <think>Hm. Well.</think>Paris.', 'Hm. Well.', 'Paris.'],
    ['<thinking>Hm.</thinking>\nParis.', 'Hm.', 'Paris.'],
    ['<thought>Hm.</thought>Paris.', 'Hm.', 'Paris.'],
    ['[THINK]Hm.[/THINK]Paris.', 'Hm.', 'Paris.'],
    ['◁think▷Hm.◁/think▷Paris.', 'Hm.', 'Paris.'],
    ['<think>\n\n</think>\n\nParis.', '', 'Paris.'],
    ['<think>One.</think>\n<think>Two.</think>\nParis.', 'One.Two.', 'Paris.'],
    ['<think>a < b </thin k></think>1 < 2', 'a < b </thin k>', '1 < 2'],
    ['<think>It never ends', 'It never ends', ''],
  ];

  it.each(CASES)('%j is split however it is cut', (text, thinking, answer) => {
    const bytes = (size: number): string =>
      sse(
        ...(text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []).map((content) =>
          delta({ content }),
        ),
        delta({}, 'stop'),
      );
    for (const size of [1, 2, 3, 7, 1_000]) {
      expect(shown(read(PROTOCOL, bytes(size)))).toMatchObject({ thinking, text: answer });
    }
    expect(whole({ content: text })).toMatchObject({ thinking, text: answer });
    const line = (fields: object): string => `${JSON.stringify(fields)}\n`;
    const lines =
      [...text].map((content) => line({ message: { content } })).join('') +
      line({ message: { content: '' }, done: true, done_reason: 'stop' });
    expect(shown(read(ollama, lines))).toMatchObject({ thinking, text: answer });
  });

  it.each([
    'Use <think> to think.',
    'The tag `</think>` ends it.',
    'A template writes "</think>" there.',
    'It begins with <think> and ends with </think>, as you know.',
    '```\n<think>\n</think>\n```',
    ' <b>bold</b>',
    '<thin',
    '<',
  ])('%j stays text', (text) => {
    for (const size of [1, 3, 1_000]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? [];
      const events = [...pieces.map((content) => delta({ content })), delta({}, 'stop')];
      expect(streamed(...events)).toMatchObject({ text, thinking: '' });
    }
    expect(whole({ content: text })).toMatchObject({ text, thinking: '' });
  });

  it('ends with a closing tag alone, in one piece and before JSON', () => {
    const text = 'Let me see.\n</think>\n\n{"city":"Paris"}';
    expect(whole({ content: text })).toMatchObject({
      thinking: 'Let me see.',
      text: '{"city":"Paris"}',
    });
    const responseFormat = { type: 'json_schema', name: 'place', schema: {} } as const;
    const events = [...text].map((content) => delta({ content }));
    const parts = read(PROTOCOL, sse(...events, delta({}, 'stop')), {
      call: { ...CALL, responseFormat },
    });
    expect(shown(parts)).toMatchObject({ thinking: 'Let me see.', text: '{"city":"Paris"}' });
    // What was streamed as text stays text; the tag does not.
    expect(streamed(...events, delta({}, 'stop'))).toMatchObject({
      thinking: '',
      text: 'Let me see.\n\n\n{"city":"Paris"}',
    });
  });

  it('is not shown to a call that wants no thinking', () => {
    const bytes = sse(delta({ content: '<think>Hm.</think>Paris.' }, 'stop'));
    const { text, thinking } = shown(read(PROTOCOL, bytes, { call: { ...CALL, thinking: false } }));
    expect([thinking, text]).toEqual(['', 'Paris.']);
  });

  it('goes back to the letter with a call of a tool', () => {
    const { text, thinking, verbatim } = splitThinking(' <think>\nHm.\n</think>\n\nWell.', false);
    expect([text, thinking, verbatim]).toEqual(['Well.', 'Hm.', ' <think>\nHm.\n</think>\n\n']);
    const content = '<think>\nHm.\n</think>\n\n';
    const tool_calls = [{ index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }];
    const events = [...content].map((piece) => delta({ content: piece }));
    const { state } = streamed(...events, delta({ tool_calls }), delta({}, 'tool_calls'));
    expect(state).toEqual({ thinking_in_text: content });
    expect(sent(PROTOCOL, state)).toMatchObject({ content });
  });
});

const LOOK = { id: 'a', name: 'look', arguments: '{}', input: {} };

/** The assistant's message of the next request after an answer of this state that called a tool. */
function sent(
  protocol: ChatProtocol,
  data: Readonly<Record<string, unknown>> | undefined,
  toolCall = LOOK,
): unknown {
  const conversation: ChatMessage[] = [
    { role: 'user', content: 'Hello' },
    {
      ...{ role: 'assistant', content: '', toolCalls: [toolCall] },
      ...(data && { providerState: { origin: 'o', data } }),
    },
    { role: 'tool', toolCallId: 'a', name: 'look', content: 'Nothing.' },
  ];
  const body = protocol.body({ model: 'm', messages: conversation }, false);
  return (body as { messages: readonly unknown[] }).messages[1];
}

describe('what services want back with a call of a tool', () => {
  const SIGNED = { google: { thought_signature: 'c2ln' } };
  const called = (fields: object = {}): object => ({
    index: 0,
    id: 'a',
    type: 'function',
    function: { name: 'look', arguments: '{}' },
    ...fields,
  });

  it.each([
    [
      'DeepSeek, Kimi: reasoning_content',
      [{ reasoning_content: 'Let me ' }, { reasoning_content: 'look.' }],
      { reasoning_content: 'Let me look.' },
      { reasoning_content: 'Let me look.' },
    ],
    [
      'DeepSeek: reasoning_content that is empty',
      [{ content: null, reasoning_content: '' }],
      { reasoning_content: '' },
      { reasoning_content: '' },
    ],
    [
      'vLLM: reasoning beside a field that is empty',
      [{ reasoning_content: '', reasoning: 'Look.' }],
      { reasoning: 'Look.' },
      { reasoning: 'Look.' },
    ],
    [
      'OpenRouter: details in pieces',
      [
        {
          reasoning: 'Let me ',
          reasoning_details: [{ type: 'reasoning.text', text: 'Let me ', index: 0, format: 'f' }],
        },
        {
          reasoning: 'look.',
          reasoning_details: [{ type: 'reasoning.text', text: 'look.', index: 0, format: 'f' }],
        },
        {
          reasoning_details: [
            { type: 'reasoning.text', signature: 's', index: 0 },
            { type: 'reasoning.encrypted', data: 'ZQ==', index: 1 },
          ],
        },
      ],
      {
        reasoning: 'Let me look.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Let me look.', index: 0, format: 'f', signature: 's' },
          { type: 'reasoning.encrypted', data: 'ZQ==', index: 1 },
        ],
      },
      {
        reasoning: 'Let me look.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Let me look.', index: 0, format: 'f', signature: 's' },
          { type: 'reasoning.encrypted', data: 'ZQ==', index: 1 },
        ],
      },
    ],
    [
      'Mistral: thinking parts',
      [
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me ' }] }] },
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'look.' }] }] },
      ],
      {
        thinking_parts: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me look.' }] }],
      },
      { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me look.' }] }] },
    ],
  ])('%s', (_, deltas, data, fields) => {
    const events = deltas.map((one) => delta(one));
    const { state, thinking, text } = streamed(
      ...events,
      delta({ tool_calls: [called()] }),
      delta({}, 'tool_calls'),
    );
    expect(state).toEqual(data);
    expect(text).toBe('');
    expect(thinking).toMatch(/^(Let me look\.|Look\.|)$/);
    expect(sent(PROTOCOL, state)).toMatchObject({
      role: 'assistant',
      tool_calls: [{ id: 'a' }],
      ...fields,
    });
  });

  it('Gemini: extra_content of each call, by its id or its place', () => {
    const calls = [
      called({ extra_content: SIGNED }),
      called({ index: 1, id: 'b', function: { name: 'look', arguments: '{"at":1}' } }),
    ];
    const { state } = streamed(delta({ role: 'assistant', tool_calls: calls }), delta({}, 'stop'));
    expect(state).toEqual({ calls: [{ id: 'a', extra: SIGNED }, { id: 'b' }] });
    expect(whole({ content: null, tool_calls: calls }).state).toEqual(state);
    for (const id of ['a', 'renamed']) {
      expect(sent(PROTOCOL, state, { ...LOOK, id })).toMatchObject({
        tool_calls: [{ id, extra_content: SIGNED }],
      });
    }
  });

  it('goes back with all answers of a conversation with calls, and with none of one without', () => {
    const providerState = { origin: 'o', data: { reasoning_content: 'Hm.' } };
    const answer: ChatMessage = { role: 'assistant', content: 'Paris.', providerState };
    const withCall: ChatMessage = {
      role: 'assistant',
      content: '',
      toolCalls: [LOOK],
      providerState,
    };
    const fieldsOf = (conversation: readonly ChatMessage[]): unknown[] =>
      (PROTOCOL.body({ model: 'm', messages: conversation }, false) as { messages: unknown[] })
        .messages;
    expect(fieldsOf([answer])).toEqual([{ role: 'assistant', content: 'Paris.' }]);
    expect(fieldsOf([withCall, answer])).toMatchObject([
      { reasoning_content: 'Hm.' },
      { content: 'Paris.', reasoning_content: 'Hm.' },
    ]);
    // DeepSeek V4 refuses a conversation in which one answer has no thinking.
    expect(fieldsOf([withCall, { role: 'assistant', content: 'Rome.' }])).toMatchObject([
      { reasoning_content: 'Hm.' },
      { content: 'Rome.', reasoning_content: '' },
    ]);
    const withoutStates = fieldsOf([{ role: 'assistant', content: '', toolCalls: [LOOK] }]);
    expect(withoutStates[0]).not.toHaveProperty('reasoning_content');
  });

  it('is collected where thinking is not shown', () => {
    const call = { ...CALL, thinking: false };
    const bytes = sse(delta({ reasoning_content: 'Hm.' }), delta({ content: 'Yes.' }, 'stop'));
    const { thinking, state } = shown(read(PROTOCOL, bytes, { call }));
    expect([thinking, state]).toEqual(['', { reasoning_content: 'Hm.' }]);
  });

  const BLOCKS = [
    { type: 'thinking', thinking: 'Let me look.', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'cmVk' },
    { type: 'thinking', thinking: 'Now.', signature: '' },
  ];

  it('messages: signed, redacted and unsigned blocks first, in their order', () => {
    const begin = (index: number, content_block: object): object => ({
      ...{ type: 'content_block_start', index, content_block },
    });
    const piece = (index: number, fields: object): object => ({
      ...{ type: 'content_block_delta', index, delta: fields },
    });
    const events = [
      begin(0, { type: 'thinking', thinking: '', signature: '' }),
      piece(0, { type: 'thinking_delta', thinking: 'Let me ' }),
      piece(0, { type: 'thinking_delta', thinking: 'look.' }),
      piece(0, { type: 'signature_delta', signature: 'c2ln' }),
      begin(1, BLOCKS[1] ?? {}),
      begin(2, { type: 'text', text: '' }),
      piece(2, { type: 'text_delta', text: 'Well.' }),
      begin(3, { type: 'thinking', thinking: '', signature: '' }),
      piece(3, { type: 'thinking_delta', thinking: 'Now.' }),
      begin(4, { type: 'tool_use', id: 'a', name: 'look', input: {} }),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ];
    const { state, text, calls } = shown(read(MESSAGES, sse(...events)));
    expect([state, text, calls]).toEqual([{ blocks: BLOCKS }, 'Well.', [['a', 'look', {}]]]);
    const [signed, redacted, unsigned] = BLOCKS;
    const use = { type: 'tool_use', id: 'a', name: 'look', input: {} };
    const content = [signed, redacted, { type: 'text', text: 'Well.' }, unsigned, use];
    const answer = MESSAGES.toCompletion({ content, stop_reason: 'tool_use' }, secrets, CALL);
    expect(answer.providerState?.data).toEqual(state);
    expect(sent(MESSAGES, state)).toEqual({ role: 'assistant', content: [...BLOCKS, use] });
  });

  it('ollama: thinking', () => {
    const function_ = { name: 'look', arguments: {} };
    const message = {
      role: 'assistant',
      content: '',
      thinking: 'Hm.',
      tool_calls: [{ function: function_ }],
    };
    const line = `${JSON.stringify({ message, done: true, done_reason: 'stop' })}\n`;
    const { state } = shown(read(ollama, line));
    expect(state).toEqual({ thinking: 'Hm.' });
    expect(sent(ollama, state)).toMatchObject({
      thinking: 'Hm.',
      tool_calls: [{ function: function_ }],
    });
  });

  it('a call that cannot be read goes back as an object that holds its text', () => {
    const broken = { ...LOOK, arguments: '{"at":', invalid: true } as const;
    const kept = { unreadable_arguments: '{"at":' };
    expect(sent(PROTOCOL, undefined, broken)).toMatchObject({
      tool_calls: [{ function: { arguments: JSON.stringify(kept) } }],
    });
    expect(sent(MESSAGES, undefined, broken)).toMatchObject({ content: [{ input: kept }] });
    expect(sent(ollama, undefined, broken)).toMatchObject({
      tool_calls: [{ function: { arguments: kept } }],
    });
  });
});

describe('calls of tools as services write them', () => {
  const piece = (fields: object): object => delta({ tool_calls: [fields] });
  const named = (name: string, json?: unknown): object => ({
    function: { name, ...(json !== undefined && { arguments: json }) },
  });
  const more = (json: string): object => ({ function: { arguments: json } });
  const BOTH = [
    ['a', 'look', { at: 1 }],
    ['b', 'look', { at: 2 }],
  ];
  const MADE = BOTH.map(([, ...rest]) => ['made', ...rest]);

  it.each([
    [
      'arguments as objects',
      [
        { index: 0, id: 'a', ...named('look', { at: 1 }) },
        { index: 1, id: 'b', ...named('look', { at: 2 }) },
      ],
      BOTH,
    ],
    [
      'indexes as texts',
      [
        { index: '0', id: 'a', ...named('look', '{"at":') },
        { index: '1', id: 'b', ...named('look', '{"at":2}') },
        { index: '0', ...more('1}') },
      ],
      BOTH,
    ],
    [
      'indexes from 1',
      [
        { index: 1, id: 'a', ...named('look', '{"at":1}') },
        { index: 2, id: 'b', ...named('look', '{"at":') },
        { index: 2, ...more('2}') },
      ],
      BOTH,
    ],
    [
      'one index for all',
      [
        { index: 0, id: 'a', ...named('look', '{"at"') },
        { index: 0, ...more(':1}') },
        { index: 0, id: 'b', ...named('look', '') },
        { index: 0, ...more('{"at":2}') },
      ],
      BOTH,
    ],
    [
      'no index',
      [
        { id: 'a', ...named('look', '{"at"') },
        more(':1}'),
        { id: 'b', ...named('look', '') },
        more('{"at":2}'),
      ],
      BOTH,
    ],
    [
      'an index of the first piece alone missing',
      [
        { id: 'a', ...named('look', '') },
        { index: 0, ...more('{"at":1}') },
        { id: 'b', ...named('look', '') },
        { index: 1, ...more('{"at":2}') },
      ],
      BOTH,
    ],
    [
      'a new index for each piece',
      [
        { index: 0, id: 'a', ...named('look', '') },
        { index: 1, ...more('{"at":1}') },
        { index: 2, id: 'b', ...named('look', '') },
        { index: 3, ...more('{"at":2}') },
      ],
      BOTH,
    ],
    [
      'the name in each piece',
      [
        { index: 0, id: 'a', ...named('look', '{"at"') },
        { index: 0, id: 'a', ...named('look', ':1}') },
        { index: 1, id: 'b', ...named('look', '{"at":2}') },
      ],
      BOTH,
    ],
    [
      'a new id for each piece',
      [
        { index: 0, id: 'a', ...named('look', '') },
        { index: 0, id: 'x', ...more('{"at":1}') },
        { index: 1, id: 'b', ...named('look', '{"at":') },
        { index: 1, id: 'y', ...more('2}') },
      ],
      BOTH,
    ],
    [
      'no ids',
      [
        { index: 0, ...named('look', '{"at":1}') },
        { index: 1, ...named('look', '{"at":2}') },
      ],
      MADE,
    ],
    [
      'neither ids nor indexes',
      [named('look', '{"at":1}'), named('look', '{"at":'), more('2}')],
      MADE,
    ],
    [
      'neither, and the name in each piece',
      [named('look', '{"at":'), named('look', '1}'), named('look', '{"at":2}')],
      MADE,
    ],
    [
      'empty ids and one index',
      [
        { index: 0, id: '', ...named('look', '{"at":1}') },
        { index: 0, id: '', ...named('look', '') },
        { index: 0, id: '', ...more('{"at":2}') },
      ],
      MADE,
    ],
    [
      'one id for both',
      [
        { index: 0, id: 'a', ...named('look', '{"at":1}') },
        { index: 1, id: 'a', ...named('look', '{"at":2}') },
      ],
      [BOTH[0], MADE[1]],
    ],
    [
      'the last call once more',
      [
        { index: 0, id: 'a', ...named('look', '{"at":1}') },
        { index: 1, id: 'b', ...named('look', '{"at":2}') },
        { index: 1, id: 'b', ...named('look', '{"at":2}') },
      ],
      BOTH,
    ],
  ])('%s', (_, pieces, expected) => {
    const { calls, finish } = streamed(...pieces.map(piece), delta({}, 'tool_calls'));
    expect(calls).toEqual(expected);
    expect(finish).toMatchObject({ reason: 'tool-calls' });
  });

  it.each(['tool_calls', 'stop', 'STOP', 'tool_use', 'tool_call', 'function_call', 'whatever'])(
    'whole calls count with the finish reason %s',
    (finish) => {
      const call = { index: 0, id: 'a', ...named('look', '{"at":1}') };
      const expected = { calls: [BOTH[0]], finish: { reason: 'tool-calls', raw: finish } };
      expect(streamed(piece(call), delta({}, finish))).toMatchObject(expected);
      expect(whole({ content: null, tool_calls: [call] }, finish)).toMatchObject(expected);
    },
  );

  it('whole calls count without a finish reason', () => {
    const call = { index: 0, id: 'a', ...named('look', '{"at":1}') };
    const expected = { calls: [BOTH[0]], finish: { reason: 'tool-calls' } };
    expect(streamed(piece(call), '[DONE]')).toMatchObject(expected);
    expect(whole({ content: '', tool_calls: [call] }, null)).toMatchObject(expected);
  });

  it('a call that goes on after the finish reason is whole', () => {
    const begun = { index: 0, id: 'a', ...named('look', '{"at"') };
    const { calls } = streamed(
      piece(begun),
      delta({}, 'stop'),
      piece({ index: 0, ...more(':1}') }),
      '[DONE]',
    );
    expect(calls).toEqual([BOTH[0]]);
  });

  it('reads the older function_call', () => {
    const function_call = { name: 'look', arguments: '{"at":' };
    const { calls } = streamed(
      delta({ function_call }),
      delta({ function_call: { arguments: '1}' } }),
      delta({}, 'function_call'),
    );
    expect(calls).toEqual([MADE[0]]);
    expect(
      whole({ content: null, function_call: { name: 'look', arguments: '{"at":1}' } }).calls,
    ).toEqual([MADE[0]]);
  });

  it('messages: passes over blocks of the service itself', () => {
    const begin = (index: number, content_block: object): object => ({
      ...{ type: 'content_block_start', index, content_block },
    });
    const json = (index: number, partial_json: string): object => ({
      ...{ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } },
    });
    const content = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 's',
        content: [{ type: 'web_search_result', title: 't' }],
      },
      { type: 'mcp_tool_use', id: 'm', name: 'x', input: {} },
      { type: 'document', text: 'not the answer' },
      { type: 'text', text: 'Found.', citations: [{ type: 'x', cited_text: 'y' }] },
      { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
    ];
    const events = [
      begin(0, { ...content[0], input: {} }),
      json(0, '{"query":"x"}'),
      begin(1, content[1] ?? {}),
      begin(2, content[2] ?? {}),
      json(2, '{"a":1}'),
      begin(3, content[3] ?? {}),
      begin(4, { type: 'text', text: '' }),
      {
        type: 'content_block_delta',
        index: 4,
        delta: { type: 'citations_delta', citation: { cited_text: 'y' } },
      },
      { type: 'content_block_delta', index: 4, delta: { type: 'text_delta', text: 'Found.' } },
      begin(5, { type: 'tool_use', id: 'a', name: 'look', input: {} }),
      json(5, '{"at":1}'),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: null },
      { type: 'message_stop' },
    ];
    const expected = { text: 'Found.', thinking: '', calls: [BOTH[0]] };
    expect(shown(read(MESSAGES, sse(...events)))).toMatchObject(expected);
    const answer = MESSAGES.toCompletion({ content, stop_reason: 'tool_use' }, secrets, CALL);
    expect(shown(partsOf(answer))).toMatchObject(expected);
  });
});

describe('fields beside each other', () => {
  it.each([
    [
      'an empty reasoning_content beside reasoning',
      { reasoning_content: '', reasoning: 'Hm.', content: 'Yes.' },
    ],
    [
      'a list of parts with thinking',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
          { type: 'text', text: 'Yes.' },
        ],
      },
    ],
    [
      'a thinking part with a text',
      {
        content: [
          { type: 'thinking', thinking: 'Hm.' },
          { type: 'text', text: 'Yes.' },
        ],
      },
    ],
    [
      'thinking in details alone',
      { reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }], content: 'Yes.' },
    ],
  ])('%s', (_, message) => {
    const expected = { thinking: 'Hm.', text: 'Yes.' };
    expect(streamed(delta(message), delta({}, 'stop'))).toMatchObject(expected);
    expect(whole(message)).toMatchObject(expected);
  });

  const choice = (fields: object, finish: string | null = null): object => ({
    choices: [{ index: 0, finish_reason: finish, ...fields }],
  });
  const said = (content: string): object => ({ message: { role: 'assistant', content } });

  it.each([
    ['messages in place of deltas', [choice(said('Hel')), choice(said('lo')), choice({}, 'stop')]],
    [
      'such a message that repeats all at its end',
      [choice(said('Hel')), choice(said('lo')), choice(said('Hello'), 'stop')],
    ],
    ['one message', [choice(said('Hello'), 'stop')]],
    [
      'a last message after deltas',
      [
        delta({ content: 'Hel' }),
        delta({ content: 'lo' }),
        choice({ delta: {}, ...said('Hello') }, 'stop'),
      ],
    ],
    [
      'text of older completions',
      [choice({ text: 'Hel' }), choice({ text: 'lo' }), choice({ text: '' }, 'stop')],
    ],
  ])('%s', (_, events) => {
    expect(streamed(...events, '[DONE]')).toMatchObject({
      text: 'Hello',
      finish: { reason: 'stop' },
    });
  });

  it('reads an older completion in one piece', () => {
    const answer = { choices: [{ text: 'Hello', finish_reason: 'stop' }] };
    expect(PROTOCOL.toCompletion(answer, secrets, CALL)).toMatchObject({ text: 'Hello' });
  });
});

describe('the end', () => {
  const HELLO = sse(delta({ content: 'Hello' }));

  it.each([
    'data: [DONE]\n\n',
    'data:[DONE]\n\n',
    'data: [DONE] \n\n',
    'data:  [DONE]  \n\n',
    'data: [DONE]',
    'data: [DONE]\n',
  ])('is said by %j, whatever the finish reason', (mark) => {
    for (const cut of [0, 1]) {
      const { text, finish } = shown(read(PROTOCOL, HELLO + mark, { cut }));
      expect([text, finish]).toEqual(['Hello', { type: 'finish', reason: 'stop' }]);
    }
    expect(() => read(PROTOCOL, mark)).toThrow('before it was finished');
  });

  it('is missing without a mark and a reason', () => {
    expect(() => read(PROTOCOL, HELLO)).toThrow('before it was finished');
    expect(() => read(PROTOCOL, '')).toThrow('before it was finished');
  });

  it('is not spoiled by a part of an event after it', () => {
    const { text } = shown(read(PROTOCOL, `${HELLO}${sse(delta({}, 'stop'))}data: {"choi`));
    expect(text).toBe('Hello');
  });
});

describe('usage', () => {
  const COUNTED = { inputTokens: 12, outputTokens: 5, totalTokens: 17 };
  const OPENAI = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
  const ZERO = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

  it.each([
    ['beside no choice', [delta({}, 'stop'), { choices: [], usage: OPENAI }], COUNTED],
    ['beside the choices', [{ ...delta({}, 'stop'), usage: OPENAI }], COUNTED],
    [
      'in the first choice (Kimi)',
      [{ choices: [{ delta: {}, finish_reason: 'stop', usage: OPENAI }] }],
      COUNTED,
    ],
    ['below x_groq', [{ ...delta({}, 'stop'), x_groq: { usage: OPENAI } }], COUNTED],
    [
      'before zeros',
      [
        { ...delta({}), usage: OPENAI },
        { ...delta({}, 'stop'), usage: ZERO },
      ],
      COUNTED,
    ],
    [
      'before null',
      [
        { ...delta({}, 'stop'), usage: OPENAI },
        { choices: [], usage: null },
      ],
      COUNTED,
    ],
    [
      'in running totals',
      [
        { ...delta({}), usage: { prompt_tokens: 12, completion_tokens: 1, total_tokens: 13 } },
        { ...delta({}, 'stop'), usage: OPENAI },
      ],
      COUNTED,
    ],
    [
      'in texts',
      [
        {
          ...delta({}, 'stop'),
          usage: { prompt_tokens: '12', completion_tokens: '5', total_tokens: '17' },
        },
      ],
      COUNTED,
    ],
    [
      'by the names of other protocols',
      [{ ...delta({}, 'stop'), usage: { input_tokens: 12, output_tokens: 5, total_tokens: 17 } }],
      COUNTED,
    ],
    [
      'of DeepSeek',
      [{ ...delta({}, 'stop'), usage: { ...OPENAI, prompt_cache_hit_tokens: 4 } }],
      { ...COUNTED, cachedInputTokens: 4 },
    ],
    [
      'of Kimi',
      [{ ...delta({}, 'stop'), usage: { ...OPENAI, cached_tokens: 4 } }],
      { ...COUNTED, cachedInputTokens: 4 },
    ],
    [
      'with details',
      [
        {
          ...delta({}, 'stop'),
          usage: {
            ...OPENAI,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens_details: { reasoning_tokens: 3 },
          },
        },
      ],
      { ...COUNTED, cachedInputTokens: 4, reasoningTokens: 3 },
    ],
    [
      'with details of responses',
      [
        {
          ...delta({}, 'stop'),
          usage: {
            input_tokens: 12,
            output_tokens: 5,
            total_tokens: 17,
            input_tokens_details: { cached_tokens: 4 },
            output_tokens_details: { reasoning_tokens: 3 },
          },
        },
      ],
      { ...COUNTED, cachedInputTokens: 4, reasoningTokens: 3 },
    ],
    [
      'with thinking in the total alone (Gemini)',
      [{ ...delta({}, 'stop'), usage: { ...OPENAI, total_tokens: 47 } }],
      { inputTokens: 12, outputTokens: 35, totalTokens: 47, reasoningTokens: 30 },
    ],
    [
      'with thinking beside the output (xAI)',
      [
        {
          ...delta({}, 'stop'),
          usage: {
            ...OPENAI,
            total_tokens: 47,
            completion_tokens_details: { reasoning_tokens: 30 },
          },
        },
      ],
      { inputTokens: 12, outputTokens: 35, totalTokens: 47, reasoningTokens: 30 },
    ],
  ])('%s', (_, events, expected) => {
    expect(streamed(delta({ content: 'Hi' }), ...events, '[DONE]').usage).toMatchObject(expected);
  });

  it('of the messages protocol keeps what a later event leaves out', () => {
    const events = (later: unknown): object[] => [
      { type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 0 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
      { type: 'message_delta', delta: {}, usage: { input_tokens: 12, output_tokens: 5 } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: later },
      { type: 'message_stop' },
    ];
    for (const later of [
      null,
      { input_tokens: 0, output_tokens: 0 },
      { output_tokens: 5 },
      undefined,
    ]) {
      expect(shown(read(MESSAGES, sse(...events(later)))).usage).toMatchObject(COUNTED);
    }
  });
});
