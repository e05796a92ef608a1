import { createOpenAI } from '@ai-sdk/openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import OpenAI from 'openai';
import type { Simulator } from '../../../simulator/index.js';
import { BackgroundResponses } from '../../../src/compatible-api/openai/responses/background-responses.js';
import { Database } from '../../../src/platform/database/index.js';
import { StreamRetention } from '../../../src/platform/stream/index.js';
import { makeKey } from '../../support/api-keys.js';
import {
  closeCompatibleApi,
  failureOf,
  openCompatibleApi,
  SERVICE_KEY,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { createModel } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { calling } from '../../support/scripted-model.js';
import { eventually } from '../../support/wait.js';

// What Codex CLI (codex-rs/core and codex-rs/tools of openai/codex), opencode and the AI SDK (@ai-sdk/openai 3) send, read 2026-11-27.

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Json = Readonly<Record<string, unknown>>;

const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+"x"\n*** End Patch';
const APPLY_PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files. Write the patch alone.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: begin_patch hunk+ end_patch' },
} as const;

let world: CompatibleApi;
let plinth: Plinth;
let simulator: Simulator;
let apiKey: string;
let openai: OpenAI;

beforeAll(async () => {
  world = await openCompatibleApi();
  ({ plinth, simulator } = world);
  // Codex and opencode choose their parameters by names of OpenAI's own models.
  const service = { apiHost: `${simulator.url}/v1`, apiKey: SERVICE_KEY };
  await createModel(world.admin, { ...service, modelName: 'gpt-5.1-codex' });
  const providerCode = 'custom_messages';
  await createModel(world.admin, { ...service, modelName: 'gpt-5.1', providerCode });
  apiKey = (await makeKey(world.admin, { permissions: ['chat:chat:use'] })).key;
  openai = new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 });
});

afterEach(() => simulator.reset());

afterAll(() => closeCompatibleApi(world));

function asked(model: string, more: object = {}): Params {
  return { model, input: 'What is new?', ...more };
}

function lastBody(): Json {
  return simulator.requests.at(-1)?.body as Json;
}

function status(call: Promise<unknown>): Promise<number | undefined> {
  return failureOf(OpenAI.APIError, call).then((error) => error.status as number | undefined);
}

describe.each(['gpt-5.1-codex', 'gpt-5.1'])('Codex with the model %s', (model) => {
  const codex = {
    model,
    instructions: 'You are Codex.',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'a-session',
    client_metadata: { 'x-codex-installation-id': 'i' },
    text: { verbosity: 'low' },
    tools: [
      {
        type: 'function',
        name: 'shell_command',
        description: 'Runs a command',
        strict: false,
        parameters: { type: 'object', properties: { command: { type: 'string' } } },
      },
      APPLY_PATCH,
      { type: 'web_search', external_web_access: true },
      { type: 'image_generation', output_format: 'png' },
      {
        type: 'tool_search',
        execution: 'client',
        description: 'Finds tools',
        parameters: { type: 'object', properties: { query: { type: 'string' } } },
      },
    ],
  };
  const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Patch' }] };

  it('applies a patch and reads what became of it', async () => {
    simulator.script(calling('apply_patch', { input: PATCH }), { text: 'Done.' });
    const { data, response } = await openai.responses
      .create({
        ...codex,
        stream: true,
        input: [user],
      } as OpenAI.Responses.ResponseCreateParamsStreaming)
      .withResponse();
    const events: Json[] = [];
    for await (const event of data) events.push({ ...event });
    // Of Codex's hints only what would have changed the answer is named.
    expect(response.headers.get('x-plinth-ignored')).toBe('tools[2], tools[3], text.verbosity');
    const custom = events.filter(({ type }) => /custom_tool_call/.test(String(type)));
    expect(custom).toMatchObject([
      { type: 'response.custom_tool_call_input.delta', delta: PATCH },
      { type: 'response.custom_tool_call_input.done', input: PATCH },
    ]);
    const [call] = events.flatMap((event) =>
      event['type'] === 'response.output_item.done' ? [event['item'] as Json] : [],
    );
    expect(call).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: PATCH });
    expect(JSON.stringify(lastBody())).toContain('start: begin_patch hunk+ end_patch');

    const next = await openai.responses.create({
      ...codex,
      input: [
        user,
        { type: 'reasoning', summary: [], content: null, encrypted_content: 'of-another-service' },
        call,
        { type: 'custom_tool_call_output', call_id: call?.['call_id'], output: 'Success.' },
        { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } },
        { type: 'ghost_snapshot', ghost_commit: {} },
      ],
    } as never);
    expect(next.output_text).toBe('Done.');
    const sent = JSON.stringify(lastBody());
    expect(sent).toContain('Success.');
    expect(sent).toContain('Begin Patch');
    expect(sent).not.toContain('of-another-service');
  });

  it('searches for tools and calls one that it has loaded', async () => {
    simulator.script(
      calling('tool_search', { query: 'mail' }),
      calling('mcp__mail__send', { to: 'a' }),
    );
    const first = await openai.responses.create({ ...codex, input: [user] } as never);
    expect(first.output).toMatchObject([
      { type: 'tool_search_call', execution: 'client', arguments: { query: 'mail' } },
    ]);
    const send = { type: 'function', name: 'send', defer_loading: true, parameters: {} };
    const loaded = [{ type: 'namespace', name: 'mcp__mail', description: '', tools: [send] }];
    const [call] = first.output.map((one): Json => ({ ...one }));
    const second = await openai.responses.create({
      ...codex,
      input: [
        user,
        call,
        {
          type: 'tool_search_output',
          execution: 'client',
          call_id: call?.['call_id'],
          status: 'completed',
          tools: loaded,
        },
      ],
    } as never);
    expect(second.output).toMatchObject([
      { type: 'function_call', namespace: 'mcp__mail', name: 'send' },
    ]);
  });
});

describe('tools that the client runs', () => {
  it.each([
    ['local_shell', { command: ['ls'] }, { action: { type: 'exec', command: ['ls'] } }],
    ['shell', { commands: ['ls'] }, { action: { commands: ['ls'] } }],
    [
      'apply_patch',
      { type: 'delete_file', path: 'a' },
      { operation: { type: 'delete_file', path: 'a' } },
    ],
  ])('%s are called by items of their own', async (type, input, expected) => {
    simulator.script(calling(type, input), { text: 'Done.' });
    const tools = [{ type }];
    const first = await openai.responses.create(asked('sim-chat', { tools }));
    expect(first.output).toMatchObject([{ type: `${type}_call`, ...expected }]);
    const [call] = first.output.map((one): Json => ({ ...one }));
    const output =
      type === 'shell' ? [{ stdout: 'a', stderr: '', outcome: { type: 'exit' } }] : 'a';
    const next = await openai.responses.create({
      model: 'sim-chat',
      tools,
      previous_response_id: first.id,
      input: [{ type: `${type}_call_output`, call_id: call?.['call_id'], output }],
    } as never);
    expect(next.output_text).toBe('Done.');
  });

  it('of data of the caller at OpenAI are refused by name', async () => {
    const tools = [{ type: 'file_search', vector_store_ids: ['vs_1'] }];
    expect(await status(openai.responses.create(asked('sim-chat', { tools })))).toBe(400);
  });
});

describe('the default provider of the AI SDK', () => {
  it.each(['sim-chat', 'sim-messages', 'sim-responses', 'gpt-5.1'])(
    'runs a loop with tools, whose second turn refers to stored items: %s',
    async (model) => {
      simulator.script(
        { reasoning: 'Let me look.', ...calling('look_up', { word: 'new' }) },
        { text: 'An adjective.' },
        { text: 'Yes.' },
      );
      const provider = createOpenAI({ baseURL: `${plinth.url}/v1`, apiKey });
      const look_up = tool({
        description: 'Looks a word up',
        inputSchema: jsonSchema<{ word: string }>({
          type: 'object',
          properties: { word: { type: 'string' } },
        }),
        execute: () => 'adjective',
      });
      const first = await generateText({
        model: provider(model),
        prompt: 'What is new?',
        tools: { look_up },
        stopWhen: stepCountIs(3),
      });
      expect(first.text).toBe('An adjective.');
      expect(JSON.stringify(lastBody())).toContain('adjective');
      const second = await generateText({
        model: provider(model),
        messages: [
          { role: 'user', content: 'What is new?' },
          ...first.responseMessages,
          { role: 'user', content: 'Is it?' },
        ],
      });
      expect(second.text).toBe('Yes.');
      expect(JSON.stringify(lastBody())).toContain('An adjective.');
    },
  );
});

describe('a reference to an item', () => {
  it('is one of the caller alone, and of items that are stored', async () => {
    simulator.script({ text: 'Nothing.' });
    const { output } = await openai.responses.create(asked('sim-chat'));
    const id = output[0]?.id ?? '';
    const input = [
      { type: 'item_reference', id },
      { role: 'user', content: 'Why?' },
    ] as const;
    simulator.script({ text: 'So.' });
    const next = await openai.responses.create(asked('sim-chat', { input }));
    expect(next.output_text).toBe('So.');
    expect(JSON.stringify(lastBody())).toContain('Nothing.');

    const unknown = [{ type: 'item_reference', id: 'msg_none' }];
    expect(await status(openai.responses.create(asked('sim-chat', { input: unknown })))).toBe(400);
  });
});

describe('what a model thought', () => {
  it('is shown as a summary where the client asks for one', async () => {
    simulator.script({ reasoning: 'Let me see.', text: 'No.' });
    const stream = openai.responses.stream(asked('sim-chat', { reasoning: { summary: 'auto' } }));
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toContain('response.reasoning_summary_text.delta');
    const [item] = (await stream.finalResponse()).output;
    expect(item).toMatchObject({ summary: [{ type: 'summary_text' }] });
  });
});

describe('a model of the same protocol', () => {
  it('is relayed: its own items and ids pass, and nothing is stored at the service', async () => {
    simulator.script({ text: 'Nothing.' });
    const tools = [{ type: 'web_search' }];
    const first = await openai.responses.create(asked('sim-responses', { tools }));
    expect(first.output_text).toBe('Nothing.');
    expect(lastBody()).toMatchObject({ tools, store: false });
    simulator.script({ text: 'So.' });
    const stream = openai.responses.stream({
      ...asked('sim-responses', { input: 'Why?' }),
      previous_response_id: first.id,
    });
    const second = await stream.finalResponse();
    expect(second.output_text).toBe('So.');
    const { input, ...sent } = lastBody();
    expect(sent).not.toHaveProperty('previous_response_id');
    expect(input).toMatchObject([
      { role: 'user', content: [{ text: 'What is new?' }] },
      { role: 'assistant', content: [{ text: 'Nothing.' }] },
      { role: 'user', content: [{ text: 'Why?' }] },
    ]);
    expect(await openai.responses.retrieve(second.id)).toMatchObject({ output_text: 'So.' });
  });

  it('is called by clients of other protocols', async () => {
    simulator.script({ text: 'Nothing.' });
    const answer = await openai.chat.completions.create({
      model: 'sim-responses',
      messages: [{ role: 'user', content: 'What is new?' }],
    });
    expect(answer.choices[0]?.message.content).toBe('Nothing.');
    expect(simulator.requests.at(-1)?.path).toBe('/v1/responses');
  });
});

describe('a response in the background', () => {
  const inBackground = (more: object = {}): Promise<OpenAI.Responses.Response> =>
    openai.responses.create(asked('sim-chat', { background: true, ...more }));
  const current = (id: string): Promise<OpenAI.Responses.Response> => openai.responses.retrieve(id);
  const ended = (id: string): Promise<OpenAI.Responses.Response> =>
    eventually(
      () => current(id),
      ({ status: now }) => now !== 'in_progress',
    );

  it.each(['sim-chat', 'sim-responses'])('is read until it has ended: %s', async (model) => {
    simulator.script({ text: 'Nothing.' }, { text: 'So.' });
    const begun = await inBackground({ model });
    expect(begun).toMatchObject({ status: 'in_progress', background: true, output: [] });
    const whole = await ended(begun.id);
    expect(whole).toMatchObject({ status: 'completed', output_text: 'Nothing.', id: begun.id });
    const next = await openai.responses.create(asked(model, { previous_response_id: begun.id }));
    expect(next.output_text).toBe('So.');
  });

  it('fails as others do, and says why', async () => {
    simulator.script({ status: 400 });
    const { id } = await inBackground();
    expect(await ended(id)).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  });

  it('is cancelled, and its call ends', async () => {
    simulator.script({ hold: true });
    const { id } = await inBackground();
    expect((await current(id)).status).toBe('in_progress');
    expect((await openai.responses.cancel(id)).status).toBe('cancelled');
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect((await current(id)).status).toBe('cancelled');
    // It has ended: it is answered as it is.
    expect((await openai.responses.cancel(id)).status).toBe('cancelled');
    simulator.script({ text: 'x' });
    const plain = await openai.responses.create(asked('sim-chat'));
    expect(await status(openai.responses.cancel(plain.id))).toBe(400);
  });

  it('that was cancelled elsewhere ends with the next renewal', async () => {
    simulator.script({ hold: true });
    const { id } = await inBackground();
    await eventually(
      () => simulator.openConnections(),
      (open) => open > 0,
    );
    await plinth.app
      .get(Database)
      .query('UPDATE stored_response SET running_until = NULL WHERE id = $1', [id]);
    await plinth.app.get(BackgroundResponses, { strict: false }).renew();
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
  });

  it('whose process has ended is interrupted', async () => {
    simulator.script({ hold: true });
    const { id } = await inBackground();
    await plinth.app
      .get(Database)
      .query("UPDATE stored_response SET running_until = now() - interval '1 s' WHERE id = $1", [
        id,
      ]);
    const { status: now, error } = await current(id);
    expect([now, error?.message]).toEqual([
      'failed',
      'The answer was interrupted. Send the request again.',
    ]);
    await plinth.app.get(BackgroundResponses, { strict: false }).renew();
  });
});

describe('a stream in the background', () => {
  type Events = OpenAI.Responses.ResponseStreamEvent[];
  const streamed = (more: object = {}) =>
    openai.responses.create({
      ...asked('sim-chat', { background: true, ...more }),
      stream: true,
    });
  const resumed = (id: string, starting_after?: number) =>
    openai.responses.retrieve(id, {
      stream: true,
      ...(starting_after !== undefined && { starting_after }),
    });
  const all = async (stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>) => {
    const events: Events = [];
    for await (const event of stream) events.push(event);
    return events;
  };
  const textOf = (events: Events): string =>
    events.map((one) => (one.type === 'response.output_text.delta' ? one.delta : '')).join('');
  /** Leaves after the event that `isLast`. */
  const until = async (
    stream: Awaited<ReturnType<typeof streamed>>,
    isLast: (event: Events[number]) => boolean,
  ): Promise<Events> => {
    const events: Events = [];
    for await (const event of stream) {
      events.push(event);
      if (isLast(event)) break;
    }
    return events;
  };
  const idOf = ([first]: Events): string =>
    first?.type === 'response.created' ? first.response.id : '';

  it.each(['sim-chat', 'sim-responses'])(
    'goes on without its client, who reads the rest: %s',
    async (model) => {
      simulator.script({ hold: true, text: 'Nothing is new today.' }, { text: 'So.' });
      const begun = await until(
        await streamed({ model }),
        ({ type }) => type === 'response.in_progress',
      );
      const id = idOf(begun);
      const waiting = all(await resumed(id, 1));
      await eventually(
        () => simulator.held,
        (held) => held > 0,
      );
      simulator.release();
      const rest = await waiting;
      const events = [...begun, ...rest];
      expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
      const types = events.map(({ type }) => type);
      expect(types.filter((type) => type === 'response.created')).toHaveLength(1);
      expect(textOf(rest)).toBe('Nothing is new today.');
      expect(events.at(-1)).toMatchObject({
        type: 'response.completed',
        response: { id, status: 'completed', background: true },
      });
      // Again from the beginning, from within, and behind its end.
      expect(await all(await resumed(id))).toEqual(events);
      expect(await all(await resumed(id, 3))).toEqual(events.slice(4));
      expect(await all(await resumed(id, events.length - 1))).toEqual([]);
      expect(await openai.responses.retrieve(id)).toMatchObject({
        status: 'completed',
        output_text: 'Nothing is new today.',
      });
      const next = await openai.responses.create(asked(model, { previous_response_id: id }));
      expect(next.output_text).toBe('So.');
    },
  );

  it('ends where the response is cancelled', async () => {
    simulator.script({ text: 'One two three four.', stall: 1 });
    const stream = await streamed();
    const events: Events = [];
    for await (const event of stream) {
      events.push(event);
      if (event.type === 'response.output_text.delta') {
        expect((await openai.responses.cancel(idOf(events))).status).toBe('cancelled');
      }
    }
    expect(textOf(events)).not.toBe('');
    expect(events.map(({ type }) => type)).not.toContain('response.completed');
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect(await all(await resumed(idOf(events), events.length - 2))).toEqual(events.slice(-1));
  });

  it('ends with the failure of its call, and what was written before', async () => {
    simulator.script({ text: 'One two three four.', error: 1 });
    const events = await all(await streamed());
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    });
    expect(await openai.responses.retrieve(idOf(events))).toMatchObject({
      status: 'failed',
      output_text: textOf(events),
    });
  });

  it('is kept for a day, of a response that was created as a stream', async () => {
    simulator.script({ text: 'x' }, { text: 'x' });
    const plain = await openai.responses.create(asked('sim-chat', { background: true }));
    expect(await status(resumed(plain.id))).toBe(400);
    const id = idOf(await all(await streamed()));
    const database = plinth.app.get(Database);
    await database.query(
      "UPDATE stream_frame SET create_time = now() - interval '25 h' WHERE stream_id = $1",
      [id],
    );
    await plinth.app.get(StreamRetention, { strict: false }).prune();
    const error = await failureOf(OpenAI.APIError, resumed(id));
    expect([error.status, error.param]).toEqual([400, 'stream']);
    expect((await openai.responses.retrieve(id)).status).toBe('completed');
    expect(await status(resumed(id, -2))).toBe(400);
  });
});

describe('a conversation', () => {
  it('gets the items of its responses, and is continued', async () => {
    const { conversations } = openai;
    const made = await conversations.create({
      metadata: { topic: 'news' },
      items: [{ type: 'message', role: 'user', content: 'I am Ann.' }],
    });
    expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'news' } });
    simulator.script({ text: 'Hello Ann.' }, { text: 'Ann.' });
    const more = { conversation: made.id };
    const first = await openai.responses.create(asked('sim-chat', { ...more, input: 'Hello.' }));
    expect(first).toMatchObject({ conversation: { id: made.id } });
    await openai.responses.create(asked('sim-chat', { ...more, input: 'Who am I?' }));
    const sent = JSON.stringify(lastBody());
    for (const text of ['I am Ann.', 'Hello.', 'Hello Ann.', 'Who am I?']) {
      expect(sent).toContain(text);
    }
    const items: Json[] = [];
    for await (const one of conversations.items.list(made.id, { order: 'asc', limit: 2 })) {
      items.push({ ...one });
    }
    expect(items.map(({ role }) => role)).toEqual([
      ...['user', 'user', 'assistant'],
      ...['user', 'assistant'],
    ]);
    const id = String(items[0]?.['id']);
    const at = { conversation_id: made.id };
    expect(await conversations.items.retrieve(id, at)).toMatchObject({ id, role: 'user' });
    expect(await conversations.items.delete(id, at)).toMatchObject({ id: made.id });
    expect(await status(conversations.items.retrieve(id, at))).toBe(404);
    await conversations.items.create(made.id, {
      items: [{ type: 'message', role: 'user', content: 'Bye.' }],
    });
    const changed = await conversations.update(made.id, { metadata: { topic: 'old' } });
    expect(changed.metadata).toEqual({ topic: 'old' });
    expect(await conversations.retrieve(made.id)).toEqual(changed);
    expect(await conversations.delete(made.id)).toMatchObject({ deleted: true });
    expect(await status(conversations.retrieve(made.id))).toBe(404);
    expect(await status(openai.responses.create(asked('sim-chat', more)))).toBe(404);
  });
});

describe('the tokens of a request', () => {
  it('are counted by a service of the protocol, with the stored items', async () => {
    simulator.script({ text: 'Nothing.' });
    const { id } = await openai.responses.create(asked('sim-responses'));
    simulator.script({ inputTokens: 77 });
    const counted = await openai.responses.inputTokens.count({
      ...{ model: 'sim-responses', previous_response_id: id, input: 'Why?' },
    });
    expect(counted.input_tokens).toBe(77);
    expect(simulator.requests.at(-1)?.path).toBe('/v1/responses/input_tokens');
    expect(Object.keys(lastBody()).toSorted()).toEqual(['input', 'model']);
    expect(JSON.stringify(lastBody())).toContain('What is new?');
    // A service without the path.
    simulator.script({ status: 404 });
    const estimated = await openai.responses.inputTokens.count({
      ...{ model: 'sim-responses', input: 'Why?' },
    });
    expect(estimated.input_tokens).toBeGreaterThan(0);
    simulator.reset();
  });

  it('are counted without a call', async () => {
    const few = await openai.responses.inputTokens.count({
      model: 'sim-chat',
      input: 'What is new?',
    });
    expect(few).toMatchObject({ object: 'response.input_tokens' });
    const many = await openai.responses.inputTokens.count({
      ...{ model: 'sim-chat', input: 'What is new?' },
      instructions: 'Be brief, and as clear as you can be.',
    });
    expect(many.input_tokens).toBeGreaterThan(few.input_tokens);
    expect(simulator.requests).toEqual([]);
  });
});
