import Anthropic from '@anthropic-ai/sdk';
import type { ClientOptions } from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Simulator } from '../../../simulator/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import {
  allClosed,
  closeCompatibleApi,
  COMPLETION,
  failureOf,
  openCompatibleApi,
  openStreams,
  SERVICE_KEY,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { Plinth } from '../../support/plinth.js';
import { calling, CUT_IN_CALL, sentTo } from '../../support/scripted-model.js';
import { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const QUESTION: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is new?' }];
const LOOK_UP: Anthropic.Tool = {
  name: 'look_up',
  description: 'Looks a word up',
  input_schema: { type: 'object', properties: { word: { type: 'string' } } },
};

/** The model of each protocol. */
const RELAYED = 'sim-messages';
const TRANSLATED = ['sim-chat', 'sim-ollama'];

let world: CompatibleApi;
let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
/** With the key that the clients have. */
let program: Session;
let apiKey: string;
let agentId: number;
/** With a key that wants every parameter honoured. */
let strict: Anthropic;

beforeAll(async () => {
  world = await openCompatibleApi({ CHAT_STREAMS_PER_USER: '2' });
  ({ plinth, simulator, admin, agentId } = world);
  const made = await makeKey(admin, { permissions: ['chat:chat:use'] });
  apiKey = made.key;
  program = withKey(admin, made);
  const permissions = ['chat:chat:use'];
  const { key } = await makeKey(admin, { permissions, strictParameters: true });
  strict = client({ apiKey: key });
});

afterEach(() => simulator.reset());

afterAll(() => closeCompatibleApi(world));

function client(options: Partial<ClientOptions> = {}): Anthropic {
  return new Anthropic({ baseURL: plinth.url, apiKey, authToken: null, maxRetries: 0, ...options });
}

function failure(call: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  return failureOf(Anthropic.APIError, call);
}

function asked(model: string): Anthropic.MessageCreateParamsNonStreaming {
  return { model, max_tokens: 100, messages: QUESTION };
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

describe('the key of a client', () => {
  it.each(['apiKey', 'authToken'] as const)('is sent as %s', async (name) => {
    simulator.script({ text: 'Yes.' });
    const other = name === 'apiKey' ? { authToken: null } : { apiKey: null };
    const answer = await client({ [name]: apiKey, ...other }).messages.create(asked(RELAYED));

    expect(textOf(answer)).toBe('Yes.');
    expect(answer._request_id).toMatch(/^[\w-]{8,64}$/);
    expect(simulator.requests[0]?.headers).toMatchObject({ 'x-api-key': SERVICE_KEY });
    expect(JSON.stringify(simulator.requests[0]?.headers)).not.toContain(apiKey);
  });
});

describe('failures before an answer', () => {
  it('have the statuses and the form of the protocol, never the envelope', async () => {
    const stranger = await failure(
      client({ apiKey: 'sk-plinth-none' }).messages.create(asked(RELAYED)),
    );
    expect(stranger).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(stranger.error).toEqual({
      type: 'error',
      error: { type: 'authentication_error', message: expect.stringMatching(/\.$/) },
      request_id: stranger.requestID,
    });
    expect(stranger.requestID).toMatch(/^[\w-]{8,64}$/);
    const content = 'x'.repeat(15 << 20);
    const large = await failure(
      client().messages.create({ ...asked(RELAYED), messages: [{ role: 'user', content }] }),
    );
    expect([large.status, large.type]).toEqual([413, 'request_too_large']);
    const limited = withKey(admin, await makeKey(admin, { permissions: [] }));
    const forbidden = await limited.raw('POST', '/v1/messages', asked(RELAYED));
    expect([forbidden.status, JSON.parse(forbidden.text)]).toMatchObject([
      403,
      { type: 'error', error: { type: 'permission_error' } },
    ]);
    const nothing = await program.raw('POST', '/v1/messages/none', {});
    expect([nothing.status, JSON.parse(nothing.text)]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error' } },
    ]);
    const broken = await program.raw('POST', '/v1/messages', '{"model":');
    expect([broken.status, JSON.parse(broken.text)]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error' } },
    ]);
  });

  const chat = asked('sim-chat');
  it.each([
    [{ messages: QUESTION, max_tokens: 5 }, 'model'],
    [{ ...chat, messages: [] }, 'messages'],
    [{ ...chat, messages: [{ content: 'x' }] }, 'messages[0].role'],
    [{ ...chat, stream: 'yes' }, 'stream'],
    [{ model: 'sim-chat', messages: QUESTION }, 'max_tokens'],
    [{ ...chat, top_k: 4 }, 'top_k'],
    [{ ...chat, container: 'c' }, 'container'],
    [{ ...chat, mcp_servers: [{ type: 'url', url: 'https://mcp.test' }] }, 'mcp_servers'],
    [{ ...chat, inference_geo: 'eu' }, 'inference_geo'],
    [{ ...chat, temperature: 1.5 }, 'temperature'],
    [{ ...chat, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0]'],
    [{ ...asked('sim-ollama'), tools: [{ ...LOOK_UP, strict: true }] }, 'tools[0].strict'],
    [
      { ...chat, tools: [LOOK_UP], tool_choice: { type: 'tool', name: 'x' } },
      'tools has no function x',
    ],
    [{ ...asked('sim-ollama'), output_config: { effort: 'low' } }, 'output_config.effort'],
    [
      {
        ...chat,
        output_config: {
          format: {
            type: 'json_schema',
            schema: { type: 'object', properties: { a: { typ: 1 } } },
          },
        },
      },
      'output_config.format.schema cannot be used: /properties/a',
    ],
    [{ ...asked('sim-ollama'), tools: [LOOK_UP], tool_choice: { type: 'any' } }, 'tool_choice'],
    [
      {
        ...asked('sim-ollama'),
        tools: [LOOK_UP],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      },
      'tool_choice.disable_parallel_tool_use',
    ],
    [{ ...chat, messages: [...QUESTION, { role: 'assistant', content: 'It' }] }, 'last message'],
    [
      {
        ...chat,
        messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file' } }] }],
      },
      'messages[0].content[0].source.type',
    ],
    [
      {
        ...chat,
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't9' }] }],
      },
      't9',
    ],
  ])('%j names %s to a strict key', async (body, named) => {
    const error = await failure(strict.post('/v1/messages', { body }));

    expect([error.status, error.type]).toEqual([400, 'invalid_request_error']);
    expect(error.message).toContain(named);
    expect(simulator.requests).toEqual([]);
  });

  it('names a model that is not there, and one of another category', async () => {
    for (const name of ['none', 'sim-embed-64', 'agent-999999']) {
      const error = await failure(client().messages.create(asked(name)));
      expect([name, error.status, error.type]).toEqual([name, 404, 'not_found_error']);
    }
  });

  it.each([
    [{ status: 401 }, 502, 'api_error'],
    [{ status: 404 }, 502, 'api_error'],
    [{ status: 400 }, 400, 'invalid_request_error'],
    [{ status: 413 }, 413, 'request_too_large'],
    [{ status: 429, retryAfter: 7 }, 429, 'rate_limit_error'],
    [{ status: 529 }, 529, 'overloaded_error'],
  ])('of a service with %j are told as %i %s', async (step, status, type) => {
    for (const name of [RELAYED, 'sim-chat']) {
      for (const stream of [false, true]) {
        simulator.script(step);
        const error = await failure(client().messages.create({ ...asked(name), stream }));
        expect([name, stream, error.status, error.type]).toEqual([name, stream, status, type]);
        if (status === 429) expect(error.headers?.get('retry-after')).toBe('7');
      }
    }
  });
});

describe('a relayed answer', () => {
  it('is what the service sent, byte by byte, and so are the request and its beta headers', async () => {
    const own = {
      ...asked(RELAYED),
      top_k: 4,
      vendor_option: { deep: [1, null] },
      messages: [
        ...QUESTION,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 'sig==' },
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
          ],
        },
        ...QUESTION,
      ],
    };
    const body =
      '{"id":"1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm","signature":"c2ln"},{"type":"text","text":"Hi \\u00e9","vendor":1}],"stop_reason":"end_turn", "vendor": {"x": 1.0}}';
    simulator.script({ headers: { 'content-type': 'application/json' }, body });
    const { status, text } = await program.raw('POST', '/v1/messages?beta=true', own, {
      'anthropic-beta': 'context-1m-2025-08-07,other',
      'anthropic-version': '2024-01-01',
    });

    expect([status, text]).toEqual([200, body]);
    expect(simulator.requests[0]?.body).toEqual(own);
    expect(simulator.requests[0]?.headers).toMatchObject({
      'anthropic-beta': 'context-1m-2025-08-07,other',
      'anthropic-version': '2024-01-01',
      'x-api-key': SERVICE_KEY,
    });
    expect(simulator.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('is streamed byte by byte', async () => {
    const stream = { ...asked(RELAYED), stream: true };
    const steps = [
      { chunks: 5, reasoning: 'Let me think.' },
      { unicode: true },
      { byteSplit: true },
      { crlf: true },
      { toolCalls: [{ name: 'look_up', arguments: '{"word":' }] },
    ];
    for (const step of steps) {
      simulator.script(step, step);
      const direct = await new Session(simulator.url, { 'x-api-key': SERVICE_KEY }).raw(
        'POST',
        '/v1/messages',
        stream,
        { 'anthropic-version': '2023-06-01' },
      );
      const relayed = await program.raw('POST', '/v1/messages', stream);
      expect(neutral(relayed.text)).toEqual(neutral(direct.text));
      expect(relayed.text).toContain('message_stop');
    }
  });
});

describe.each([RELAYED, ...TRANSLATED])('the model %s', (name) => {
  it('answers in one piece and as a stream', async () => {
    const step = { text: 'Nothing is new.', inputTokens: 5, outputTokens: 3 };
    const expected = {
      type: 'message',
      role: 'assistant',
      model: name,
      content: [{ type: 'text', text: 'Nothing is new.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 3 },
    };
    simulator.script(step, step);
    expect(await client().messages.create(asked(name))).toMatchObject(expected);

    const stream = client().messages.stream(asked(name));
    const types: string[] = [];
    stream.on('streamEvent', ({ type }) => types.push(type));
    const last = await stream.finalMessage();
    expect(last).toMatchObject(expected);
    expect([...new Set(types)]).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('calls tools, and reads their results', async () => {
    const call = { ...asked(name), tools: [LOOK_UP] };
    const step = calling('look_up', { word: 'new' });
    simulator.script(step, step, { text: 'It is an adjective.' });
    const whole = await client().messages.create(call);
    const streamed = await client().messages.stream(call).finalMessage();
    for (const { stop_reason, content } of [whole, streamed]) {
      expect(stop_reason).toBe('tool_use');
      expect(content).toMatchObject([
        { type: 'tool_use', name: 'look_up', input: { word: 'new' } },
      ]);
    }
    const [used] = whole.content;
    if (used?.type !== 'tool_use') throw new Error('No tool was used.');
    const last = await client().messages.create({
      ...call,
      messages: [
        ...QUESTION,
        { role: 'assistant', content: whole.content },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: used.id,
              content: [
                { type: 'text', text: 'adjective' },
                {
                  type: 'image',
                  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
                },
              ],
            },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ],
    });
    expect(textOf(last)).toBe('It is an adjective.');
    const sent = JSON.stringify(simulator.requests.at(-1)?.body);
    for (const part of ['adjective', 'iVBORw0KGgo=', 'Go on.']) expect(sent).toContain(part);
  });

  it('gets the parameters that it can honour', async () => {
    simulator.script({ text: 'Yes.' });
    // Still sent by many clients.
    const older: object = { temperature: 0.5, top_p: 0.9 };
    await client().messages.create({
      model: name,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Is it red?' },
            {
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
            },
          ],
        },
      ],
      max_tokens: 77,
      stop_sequences: ['END'],
      metadata: { user_id: 'me' },
      ...(name !== 'sim-ollama' && { output_config: { effort: 'high' } }),
      ...older,
    });
    const sent = JSON.stringify(simulator.requests[0]?.body);

    for (const part of ['Be brief.', 'iVBORw0KGgo=', '0.5', '0.9', ':77', 'END']) {
      expect(sent).toContain(part);
    }
    if (name !== 'sim-ollama') expect(sent).toContain('effort":"high"');
  });

  it.each<Anthropic.ThinkingConfigParam>([
    { type: 'enabled', budget_tokens: 1_024 },
    { type: 'adaptive' },
  ])('shows what it thought where that was asked for with %j', async (thinking) => {
    const step = { reasoning: 'Let me see. ', text: 'No.' };
    simulator.script(step, step);
    const whole = await client().messages.create({ ...asked(name), max_tokens: 2_000, thinking });
    const streamed = await client()
      .messages.stream({ ...asked(name), max_tokens: 2_000, thinking })
      .finalMessage();
    for (const { content } of [whole, streamed]) {
      expect(content).toMatchObject([
        { type: 'thinking', thinking: 'Let me see. ' },
        { type: 'text', text: 'No.' },
      ]);
    }
    if (name === RELAYED) return;
    simulator.script(step);
    const without = await client().messages.create(asked(name));
    expect(without.content).toMatchObject([{ type: 'text', text: 'No.' }]);
    const bodies = simulator.requests.map(({ body }) => JSON.stringify(body));
    const told = bodies.map((body) => /"think":\w+/.exec(body)?.[0]);
    const not = name === 'sim-ollama' ? '"think":false' : undefined;
    expect(told).toEqual([undefined, undefined, not]);
  });

  it('says that it reached its limit, or declined', async () => {
    for (const [step, reason] of [
      [{ chunks: 3, length: true }, 'max_tokens'],
      [{ text: 'No.', finishReason: 'content_filter' }, 'refusal'],
    ] as const) {
      if (name === 'sim-ollama' && reason === 'refusal') continue;
      simulator.script(step);
      expect(await client().messages.create(asked(name))).toMatchObject({ stop_reason: reason });
    }
  });

  it('says that it reached its limit in a tool call', async () => {
    const step = { ...CUT_IN_CALL, inputTokens: 5, outputTokens: 900 };
    simulator.script(step, step);
    const call = { ...asked(name), tools: [LOOK_UP] };
    const { messages } = client({ maxRetries: 2 });
    for (const answer of [
      await messages.create(call),
      await messages.stream(call).finalMessage(),
    ]) {
      expect(answer).toMatchObject({
        stop_reason: 'max_tokens',
        usage: { input_tokens: 5, output_tokens: 900 },
      });
      expect(textOf(answer)).toBe('Let me look.');
      // A relayed answer has what there is of the call.
      if (name !== RELAYED) expect(answer.content).toHaveLength(1);
    }
    expect(simulator.requests).toHaveLength(2);
  });

  it('is called no longer than its client listens', async () => {
    simulator.script({ chunks: 3, stall: 2 });
    const stream = await client().messages.create({ ...asked(name), stream: true });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    await allClosed(world);

    simulator.script({ hold: true });
    const leaving = new AbortController();
    const { signal } = leaving;
    const call = failure(client().messages.create(asked(name), { signal }));
    await eventually(
      () => simulator.held,
      (held) => held === 1,
    );
    leaving.abort();
    expect(await call).toBeInstanceOf(Anthropic.APIUserAbortError);
    await allClosed(world);
  });

  it('that breaks off ends its stream with an error, and never with the end mark', async () => {
    for (const step of [
      { chunks: 9, cut: 2 },
      { chunks: 9, reset: 2 },
      { chunks: 9, error: 2 },
    ]) {
      simulator.script(step, step);
      const error = await failure(client().messages.stream(asked(name)).finalMessage());
      expect(error.error).toMatchObject({
        type: 'error',
        error: { type: expect.stringMatching(/_error$/), message: expect.stringMatching(/\.$/) },
      });
      const { text } = await program.raw('POST', '/v1/messages', { ...asked(name), stream: true });
      expect(text).toContain('tok1');
      expect(text).toContain('event: error\n');
      expect(text).not.toContain('message_stop');
    }
  });

  it('is asked again by a client that retries', async () => {
    simulator.script({ status: 529, retryAfter: 0 }, { text: 'At last.' });
    const answer = await client({ maxRetries: 1 }).messages.create(asked(name));

    expect(textOf(answer)).toBe('At last.');
    expect(simulator.requests).toHaveLength(2);
  });

  it('is left by a client whose time is over', async () => {
    simulator.script({ hold: true });
    const call = client({ timeout: 300 }).messages.create(asked(name));

    expect(await failure(call)).toBeInstanceOf(Anthropic.APIConnectionTimeoutError);
    await allClosed(world);
  });
});

describe('a model of another protocol', () => {
  it('answers JSON of a schema', async () => {
    const schema = {
      type: 'object',
      properties: { title: { type: 'string' } },
      required: ['title'],
    };
    for (const name of TRANSLATED) {
      simulator.script({ text: '{"title":"New"}' });
      const answer = await client().messages.create({
        ...asked(name),
        output_config: { format: { type: 'json_schema', schema } },
      });
      expect(JSON.parse(textOf(answer))).toEqual({ title: 'New' });
    }
  });

  it('says that its JSON was cut, or that it cannot write it', async () => {
    const output_config = { format: { type: 'json_schema', schema: { type: 'object' } } } as const;
    for (const name of TRANSLATED) {
      simulator.script({ text: '{"title":', finishReason: 'length' });
      const cut = await client().messages.create({ ...asked(name), output_config });
      expect([cut.stop_reason, textOf(cut)]).toEqual(['max_tokens', '{"title":']);
      simulator.script({ text: 'No JSON', times: 2 });
      const error = await failure(client().messages.create({ ...asked(name), output_config }));
      expect([error.status, error.type]).toEqual([422, 'invalid_request_error']);
      expect(error.message).toContain('does not fit');
    }
  });

  it('is offered the tool that must be used, and one at a time', async () => {
    simulator.script(calling('look_up', {}));
    await client().messages.create({
      ...asked('sim-chat'),
      tools: [LOOK_UP, { ...LOOK_UP, name: 'other' }],
      tool_choice: { type: 'tool', name: 'look_up', disable_parallel_tool_use: true },
    });

    expect(simulator.requests[0]?.body).toMatchObject({
      tools: [{ function: { name: 'look_up' } }],
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
  });

  it('gets the results of tools before what the user says', async () => {
    simulator.script({ text: 'Yes.' });
    await client().messages.create({
      ...asked('sim-chat'),
      messages: [
        ...QUESTION,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: '' },
            { type: 'tool_use', id: 't1', name: 'look_up', input: { word: 'a' } },
            { type: 'tool_use', id: 't2', name: 'look_up', input: { word: 'b' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: 'first' },
            { type: 'tool_result', tool_use_id: 't2', content: 'no such word', is_error: true },
            { type: 'text', text: 'Go on.' },
          ],
        },
      ],
    });
    const [sent = []] = sentTo(simulator);

    expect(sent.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'What is new?'],
      ['assistant', null],
      ['tool', 'first'],
      ['tool', 'Error: no such word'],
      ['user', 'Go on.'],
    ]);
  });
});

describe('open answers', () => {
  it('count with those of the chat, and the next one is refused with 429', async () => {
    simulator.script({ hold: true, times: 2 });
    const open = [1, 2].map(() => client().messages.create(asked(RELAYED)));
    await eventually(
      () => simulator.held,
      (held) => held === 2,
    );
    const error = await failure(client().messages.create(asked(RELAYED)));
    expect(error).toBeInstanceOf(Anthropic.RateLimitError);
    expect(error.headers?.get('retry-after')).toBe('5');
    simulator.release();
    await Promise.all(open);
  });

  it('end with the key of their caller', async () => {
    const made = await makeKey(admin, { permissions: ['chat:chat:use'] });
    simulator.script({ chunks: 3, stall: 2 });
    const stream = client({ apiKey: made.key }).messages.stream(asked(RELAYED));
    const ended = failure(stream.finalMessage());
    await eventually(
      () => openStreams(plinth),
      (count) => count === 1,
    );
    await admin.delete(`/system/apikey/${made.id}`);

    expect((await ended).error).toMatchObject({ error: { type: 'authentication_error' } });
    await allClosed(world);
  });
});

describe('an agent', () => {
  it('answers with its prompt and knowledge, and cites its sources', async () => {
    for (const stream of [false, true]) {
      simulator.script({ ...COMPLETION, text: 'Two years [1].' });
      const call = {
        ...asked(`agent-${agentId}`),
        system: 'Be brief.',
        messages: [{ role: 'user' as const, content: 'How long is the laptop warranty?' }],
      };
      const answer = stream
        ? await client().messages.stream(call).finalMessage()
        : await client().messages.create(call);
      const [sent = []] = sentTo({ requests: simulator.requests.slice(-1) });

      expect(sent[0]?.content).toBe('You are the shop.\n\nBe brief.');
      expect(sent.at(-1)?.content).toContain('lasts two years');
      expect(answer.content).toMatchObject([
        {
          text: 'Two years [1].',
          citations: [{ type: 'search_result_location', title: 'warranty.txt' }],
        },
      ]);
      if (!stream)
        expect(answer).toMatchObject({ sources: [{ number: 1, document: 'warranty.txt' }] });
    }
  });

  it('refuses the tools of a client', async () => {
    const call = client().messages.create({ ...asked(`agent-${agentId}`), tools: [LOOK_UP] });

    expect((await failure(call)).message).toContain('tools');
  });
});

describe('GET /v1/models', () => {
  it('lists the models and agents that answer messages, in the form of the protocol', async () => {
    const page = await client().models.list();

    const [first] = page.data;
    expect(first).toEqual({
      ...{ type: 'model', id: 'sim-chat', display_name: 'sim-chat' },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      ...{ max_input_tokens: null, max_tokens: null, capabilities: null },
      ...{ lifecycle: 'active', line: null, deprecated_at: null, retires_at: null },
    });
    const ids = page.data.map(({ id }) => id);
    expect(ids).toEqual([
      ...['sim-chat', RELAYED, 'sim-responses', 'sim-ollama'],
      `agent-${agentId}`,
    ]);
    expect(page.has_more).toBe(false);
    expect(await client().models.retrieve(`agent-${agentId}`)).toEqual({
      ...page.data.at(-1),
      display_name: 'Shop clerk',
    });
  });

  it('answers failures in the form of the protocol', async () => {
    const error = await failure(client().models.retrieve('none'));

    expect([error.status, error.error]).toEqual([
      404,
      {
        type: 'error',
        error: { type: 'not_found_error', message: expect.stringContaining('none') },
        request_id: error.requestID,
      },
    ]);
  });
});

describe('POST /v1/messages/count_tokens', () => {
  it('is answered by the service that can count', async () => {
    simulator.script({ inputTokens: 1_234 });
    const count = await client().messages.countTokens({ model: RELAYED, messages: QUESTION });

    expect(count).toEqual({ input_tokens: 1_234 });
    expect(simulator.requests[0]).toMatchObject({ path: '/v1/messages/count_tokens' });
  });

  it('is counted here where the service cannot', async () => {
    const few = { messages: QUESTION };
    const many = { messages: [{ role: 'user' as const, content: 'What is new? '.repeat(100) }] };
    simulator.script({ status: 404, times: 2 });
    for (const model of [RELAYED, ...TRANSLATED, `agent-${agentId}`]) {
      const { input_tokens: less } = await client().messages.countTokens({ model, ...few });
      const { input_tokens: more } = await client().messages.countTokens({
        model,
        ...many,
        tools: [LOOK_UP],
      });
      expect(less).toBeGreaterThan(3);
      expect(less).toBeLessThan(40);
      expect(more).toBeGreaterThan(300);
      expect(more).toBeLessThan(1_000);
    }
  });

  it('fails as the service fails', async () => {
    simulator.script({ status: 429, retryAfter: 3 });
    const call = client().messages.countTokens({ model: RELAYED, messages: QUESTION });

    expect(await failure(call)).toBeInstanceOf(Anthropic.RateLimitError);
  });
});

/** Without what differs between two answers of the simulator. */
function neutral(text: string): string {
  return text.replaceAll(/"id":"[^"]*"/g, '"id":0');
}
