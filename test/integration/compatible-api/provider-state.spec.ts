import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderState, ToolCall } from '../../../src/provider/index.js';
import { makeKey } from '../../support/api-keys.js';
import { closeCompatibleApi, openCompatibleApi } from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { answering, callingTools, ScriptedAdapter } from '../../support/scripted-adapter.js';

const STATE: ProviderState = {
  origin: 'scripted',
  data: { blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }] },
};
const CALL: ToolCall = {
  ...{ id: 'call_a', name: 'look_up', arguments: '{"word":"a"}', input: { word: 'a' } },
};
const INVALID: ToolCall = {
  ...{ id: 'call_b', name: 'look_up', arguments: '{"word":', input: {}, invalid: true },
};
const schema = { type: 'object' as const, properties: { word: { type: 'string' } } };

let world: CompatibleApi;
let apiKey: string;
let scripted: ScriptedAdapter;

beforeAll(async () => {
  world = await openCompatibleApi();
  apiKey = (await makeKey(world.admin, { permissions: ['chat:chat:use'] })).key;
});

afterAll(() => closeCompatibleApi(world));

afterEach(() => {
  scripted.close();
  world.simulator.reset();
});

describe('a client of messages whose model speaks another protocol', () => {
  beforeEach(() => {
    scripted = new ScriptedAdapter(world.plinth, 'custom_api');
  });

  const client = (): Anthropic =>
    new Anthropic({ baseURL: world.plinth.url, apiKey, authToken: null, maxRetries: 0 });
  const asked = (
    messages: Anthropic.MessageParam[],
    thinks: boolean,
  ): Anthropic.MessageCreateParamsNonStreaming => ({
    ...{ model: 'sim-chat', max_tokens: 2_000, messages },
    tools: [{ name: 'look_up', input_schema: schema }],
    ...(thinks && { thinking: { type: 'enabled', budget_tokens: 1_024 } }),
  });
  const QUESTION: Anthropic.MessageParam = { role: 'user', content: 'What is new?' };
  const resultsOf = ({ content }: Anthropic.Message): Anthropic.MessageParam => ({
    role: 'user',
    content: content.flatMap((block) =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'b' }]
        : [],
    ),
  });

  it.each([
    ['streamed', true, true],
    ['streamed', true, false],
    ['in one piece', false, true],
    ['in one piece', false, false],
  ])('gives back what it was given %s, thinking or not', async (_how, streamed, thinks) => {
    scripted.then(callingTools([CALL], { thinking: 'Hm.', state: STATE }), answering('B.'));
    const first = asked([QUESTION], thinks);
    const answer = streamed
      ? await client().messages.stream(first).finalMessage()
      : await client().messages.create(first);
    expect(answer.content.map(({ type }) => type)).toEqual([
      thinks ? 'thinking' : 'redacted_thinking',
      'tool_use',
    ]);
    expect(answer.content.at(-1)).toMatchObject({ id: 'call_a', input: { word: 'a' } });
    const turns = [QUESTION, { role: 'assistant' as const, content: answer.content }];
    await client().messages.create(asked([...turns, resultsOf(answer)], thinks));

    expect(scripted.calls[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [CALL], providerState: STATE },
      { role: 'tool', toolCallId: 'call_a', name: 'look_up', content: 'b' },
    ]);
  });

  it('gets the state before the calls where text stands between', async () => {
    const [first, ...others] = callingTools([CALL, INVALID], { thinking: 'Hm.', state: STATE });
    if (!first) throw new Error('There is no thinking.');
    scripted.then([first, { type: 'text-delta', text: 'I look.' }, ...others]);
    const answer = await client()
      .messages.stream(asked([QUESTION], true))
      .finalMessage();

    const types = answer.content.map(({ type }) => type);
    expect(types).toEqual(['thinking', 'text', 'redacted_thinking', 'tool_use', 'tool_use']);
    expect(answer.content.at(-1)).toMatchObject({ input: { INVALID_JSON: '{"word":' } });
  });

  it.each([true, false])('can report a call that is not valid; streamed: %s', async (streamed) => {
    scripted.then(callingTools([CALL, INVALID]), answering('B.'));
    const answer = streamed
      ? await client()
          .messages.stream(asked([QUESTION], false))
          .finalMessage()
      : await client().messages.create(asked([QUESTION], false));
    const turns = [QUESTION, { role: 'assistant' as const, content: answer.content }];
    await client().messages.create(asked([...turns, resultsOf(answer)], false));

    expect(scripted.calls[1]?.messages[1]).toEqual({
      ...{ role: 'assistant', content: '', toolCalls: [CALL, INVALID] },
    });
  });

  it.each(['', 'ErUBCkYIAxgCIkD=', 'plinth1.x', 'plinth9.e30'])(
    'may send the signature %j of another service',
    async (signature) => {
      scripted.then(answering('B.'));
      const content = [
        { type: 'thinking' as const, thinking: 'Hm.', signature },
        { type: 'redacted_thinking' as const, data: signature },
        { type: 'text' as const, text: 'A.' },
      ];
      await client().messages.create(
        asked([QUESTION, { role: 'assistant', content }, QUESTION], true),
      );

      expect(scripted.calls[0]?.messages[1]).toEqual({ role: 'assistant', content: 'A.' });
    },
  );

  it('can go on with a model of its own protocol, which gets only what it has signed itself', async () => {
    scripted.then(callingTools([CALL], { thinking: 'Hm.', state: STATE }));
    const answer = await client().messages.create(asked([QUESTION], true));
    const own = { type: 'thinking' as const, thinking: 'So.', signature: 'c2ln' };
    const turns = [
      QUESTION,
      { role: 'assistant' as const, content: [own, ...answer.content] },
      resultsOf(answer),
    ];
    await client().messages.create({ ...asked(turns, true), model: 'sim-messages' });

    const { body } = world.simulator.requests.at(-1) ?? {};
    expect(body).toMatchObject({
      messages: [QUESTION, { content: [own, { type: 'tool_use' }] }, { role: 'user' }],
    });
    expect(JSON.stringify(body)).not.toContain('plinth1.');
  });
});

describe('a client of chat-completions whose model speaks another protocol', () => {
  beforeEach(() => {
    scripted = new ScriptedAdapter(world.plinth, 'custom_messages');
  });

  const client = (): OpenAI =>
    new OpenAI({ baseURL: `${world.plinth.url}/v1`, apiKey, maxRetries: 0 });
  const QUESTION = { role: 'user', content: 'What is new?' } as const;
  type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
  const asked = (
    ...messages: Message[]
  ): OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming => ({
    ...{ model: 'sim-messages', messages },
    tools: [{ type: 'function', function: { name: 'look_up', parameters: schema } }],
  });
  const results = [CALL, INVALID].map(({ id }) => ({
    ...{ role: 'tool' as const, tool_call_id: id, content: 'b' },
  }));

  async function streamed(): Promise<Message> {
    const deltas: Record<string, unknown>[] = [];
    for await (const { choices } of await client().chat.completions.create({
      ...asked(QUESTION),
      stream: true,
    })) {
      deltas.push({ ...choices[0]?.delta });
    }
    const all = (name: string): unknown[] =>
      deltas.flatMap(({ [name]: list }) => (list ?? []) as unknown[]);
    return {
      ...{ role: 'assistant', content: null },
      ...{ tool_calls: all('tool_calls'), reasoning_details: all('reasoning_details') },
    } as Message;
  }

  it.each([true, false])('gives back what it was given; streamed: %s', async (isStreamed) => {
    scripted.then(
      callingTools([CALL, INVALID], { thinking: 'Hm.', state: STATE }),
      answering('B.'),
    );
    const answer = isStreamed
      ? await streamed()
      : (await client().chat.completions.create(asked(QUESTION))).choices[0]?.message;
    if (!answer) throw new Error('There is no answer.');
    expect(answer).toMatchObject({
      tool_calls: [
        { id: 'call_a', function: { arguments: '{"word":"a"}' } },
        { id: 'call_b', function: { arguments: '{"word":' } },
      ],
      reasoning_details: [{ type: 'reasoning.encrypted', data: expect.any(String) }],
    });
    await client().chat.completions.create(asked(QUESTION, answer, ...results));

    expect(scripted.calls[1]?.messages[1]).toEqual({
      ...{ role: 'assistant', content: '', toolCalls: [CALL, INVALID], providerState: STATE },
    });
  });

  it('may send the reasoning of other services', async () => {
    scripted.then(answering('B.'));
    const reasoning_details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln' },
      { type: 'reasoning.encrypted', data: 'gAAAA', id: 'rs_1' },
    ];
    const known = { role: 'assistant', content: 'A.', reasoning: 'Hm.', reasoning_details };
    await client().chat.completions.create(asked(QUESTION, known as Message, QUESTION));

    expect(scripted.calls[0]?.messages[1]).toEqual({ role: 'assistant', content: 'A.' });
  });

  it('can go on with a model of its own protocol, which gets only its own reasoning', async () => {
    scripted.then(callingTools([CALL], { thinking: 'Hm.', state: STATE }));
    const { choices } = await client().chat.completions.create(asked(QUESTION));
    const answer = choices[0]?.message;
    if (!answer) throw new Error('There is no answer.');
    const [result] = results;
    if (!result) throw new Error('There is no result.');
    await client().chat.completions.create({
      ...asked(QUESTION, answer, result),
      model: 'sim-chat',
    });

    const { body } = world.simulator.requests.at(-1) ?? {};
    expect(body).toMatchObject({
      messages: [QUESTION, { tool_calls: [{ id: 'call_a' }] }, result],
    });
    expect(JSON.stringify(body)).not.toContain('reasoning_details');
  });
});
