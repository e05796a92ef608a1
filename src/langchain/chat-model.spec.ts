import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import type { AIMessageChunk, BaseMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { TRYING, unstoredCalls } from '../../test/support/upstream-calls.js';
import { eventually } from '../../test/support/wait.js';
import type { ResolvedChatModel } from '../model/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { ChatAdapterRegistry, UpstreamError } from '../provider/index.js';
import type { ChatPart } from '../provider/index.js';
import { PlinthChatModel } from './chat-model.js';
import type { PlinthChatOptions } from './chat-model.js';
import { ModelAbilityError, UnsupportedMessageError } from './langchain.errors.js';
import { langchainTool } from './langchain.tools.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const adapters = new ChatAdapterRegistry(http);
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };
const WEATHER = langchainTool({
  name: 'get_weather',
  description: 'The weather of a city.',
  input: z.strictObject({ city: z.string(), days: z.number().default(1) }),
  run: ({ city }) => Promise.resolve(`It rains in ${city}.`),
});
const PARIS = { id: 'call_a', name: 'get_weather', arguments: '{"city": "Paris"}' };
const OSLO = { id: 'call_b', name: 'get_weather', arguments: '{"city": "Oslo", "days": 2}' };
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

const callsIn = (message: AIMessageChunk | undefined): unknown[] =>
  (message?.tool_calls ?? []).map(({ name, args }) => [name, args]);

async function collected(opening: Promise<AsyncIterable<AIMessageChunk>>): Promise<{
  readonly chunks: readonly AIMessageChunk[];
  readonly message: AIMessageChunk | undefined;
  readonly failure: unknown;
}> {
  const chunks: AIMessageChunk[] = [];
  let failure: unknown;
  try {
    for await (const chunk of await opening) chunks.push(chunk);
  } catch (error) {
    failure = error;
  }
  const message = chunks.reduce<AIMessageChunk | undefined>(
    (sum, chunk) => sum?.concat(chunk) ?? chunk,
    undefined,
  );
  return { chunks, message, failure };
}

describe.each(['custom_api', 'custom_messages', 'ollama'])('the chat model over %s', (code) => {
  const isOllama = code === 'ollama';
  let seen: ChatPart[];

  function resolved(modelName: string, facts: Partial<ResolvedChatModel> = {}): ResolvedChatModel {
    const address = isOllama ? simulator.url : `${simulator.url}/v1`;
    return {
      id: 1,
      tenantId: '000000',
      revision: 1,
      modelName,
      label: modelName,
      category: 'chat',
      providerCode: code,
      connection: { address, credential: 'key' },
      adapter: adapters.get(code),
      ...facts,
    };
  }

  function modelOf(
    modelName: string,
    options: Partial<PlinthChatOptions> = {},
    facts: Partial<ResolvedChatModel> = {},
  ): PlinthChatModel {
    seen = [];
    return new PlinthChatModel(resolved(modelName, facts), unstoredCalls(), {
      use: TRYING,
      limits,
      attempts: 1,
      onParts: (parts) => void seen.push(...parts),
      ...options,
    });
  }

  const lastBody = (): Record<string, unknown> =>
    simulator.requests.at(-1)?.body as Record<string, unknown>;

  it('streams text with the usage and the finish reason, and answers the same in one piece', async () => {
    const model = modelOf('sim--chunks-20');
    const { chunks, message, failure } = await collected(model.stream('Hello'));
    expect(failure).toBeUndefined();
    expect(chunks.length).toBeGreaterThan(1);
    expect(message?.text).toMatch(/^tok0 tok1 .*tok19/);
    expect(message?.usage_metadata).toMatchObject({
      input_tokens: expect.any(Number),
      output_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
    });
    expect(message?.response_metadata).toEqual({
      finish_reason: 'stop',
      model_name: 'sim--chunks-20',
    });
    const whole = await model.invoke('Hello');
    expect([whole.content, whole.usage_metadata, whole.response_metadata]).toMatchObject([
      message?.content,
      { total_tokens: message?.usage_metadata?.total_tokens },
      message?.response_metadata ?? {},
    ]);
  });

  it('hands parts on as they arrive', async () => {
    const controller = new AbortController();
    const model = modelOf('sim--chunks-20--stall-2');
    const stream = await model.stream('Hello', { signal: controller.signal });
    const first = await stream[Symbol.asyncIterator]().next();
    // The service hangs after two of twenty chunks, so both came before the answer was over.
    expect((first.value as AIMessageChunk).text).toMatch(/^tok0/);
    expect(seen[0]).toMatchObject({ type: 'text-delta', text: expect.stringMatching(/^tok0/) });
    controller.abort();

    const other = new AbortController();
    const answer = model.invoke('Hello', { signal: other.signal });
    seen.length = 0;
    await eventually(
      () => seen.map((part) => (part.type === 'text-delta' ? part.text : '')).join(''),
      (text) => text.includes('tok1'),
    );
    other.abort();
    await expect(answer).rejects.toThrow();
  });

  it('waits for what reads the parts, and ends with its error', async () => {
    const failing = modelOf('sim--chunks-20--stall-2', {
      onParts: () => Promise.reject(new Error('The reader left.')),
    });
    await expect(failing.invoke('Hello')).rejects.toThrow('The reader left.');
    await eventually(
      () => simulator.requests.map(({ ended }) => ended),
      ([ended]) => ended === 'client-closed',
    );
  });

  it('keeps thinking apart from the text', async () => {
    const step = { reasoning: 'Let me think. ', text: 'Done.' };
    simulator.script(step, step, step);
    const { message } = await collected(modelOf('sim').stream('Hello'));
    expect(String(message?.additional_kwargs['reasoning_content']).trim()).toBe('Let me think.');
    expect(message?.text.trim()).toBe('Done.');

    const events = modelOf('sim').streamEvents('Hello');
    expect((await events.reasoning).trim()).toBe('Let me think.');
    expect((await events.text).trim()).toBe('Done.');

    const without = await modelOf('sim', { thinking: false }).invoke('Hello');
    expect([without.additional_kwargs, without.text.trim()]).toEqual([{}, 'Done.']);
  });

  it('calls several tools in one answer, each whole', async () => {
    const step = { text: 'Both.', toolCalls: [PARIS, OSLO] };
    const expected = [
      ['get_weather', { city: 'Paris' }],
      ['get_weather', { city: 'Oslo', days: 2 }],
    ];
    simulator.script(step, step, step);
    const model = modelOf('sim--bytesplit').bindTools([WEATHER]);
    const { chunks, message } = await collected(model.stream('Weather?'));
    expect(callsIn(message)).toEqual(expected);
    expect(chunks.filter(({ tool_calls: calls = [] }) => calls.length > 0)).toHaveLength(1);
    expect(message?.response_metadata['finish_reason']).toBe('tool_calls');
    const ids = message?.tool_calls?.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(2);

    const whole = await model.invoke('Weather?');
    expect([callsIn(whole), whole.text.trim()]).toEqual([expected, 'Both.']);
    const parts = seen.flatMap((part) => (part.type === 'tool-call' ? [part.toolCall] : []));
    expect(parts.slice(-2).map(({ input }) => input)).toEqual(expected.map(([, args]) => args));

    const events = modelOf('sim').streamEvents('Weather?', { tools: [WEATHER] });
    expect((await events.toolCalls).map(({ name, args }) => [name, args])).toEqual(expected);
    // The word of LangChain's events.
    expect((await events).response_metadata).toMatchObject({ finish_reason: 'tool_use' });
  });

  it('fails for a call that is cut, and hands over no call', async () => {
    const step = {
      ...{ toolCalls: [PARIS], finishReason: 'length' },
      ...(isOllama && { length: true }),
    };
    simulator.script(step, step);
    const model = modelOf('sim').bindTools([WEATHER]);
    const { chunks, failure } = await collected(model.stream('Weather?'));
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(failure).toMatchObject({ kind: 'content' });
    expect(chunks.flatMap(({ tool_calls: calls = [] }) => calls)).toEqual([]);
    expect(chunks.flatMap(({ invalid_tool_calls: calls = [] }) => calls)).toEqual([]);
    await expect(model.invoke('Weather?')).rejects.toMatchObject({ kind: 'content' });
    expect(seen.some(({ type }) => type === 'tool-call')).toBe(false);
    expect(simulator.requests).toHaveLength(2);
  });

  it('hands over invalid arguments as they were written, apart from the calls', async () => {
    // The local runtime sends arguments as objects.
    if (isOllama) return;
    const text = '{"city": "Par';
    const step = { toolCalls: [OSLO, { ...PARIS, arguments: text }] };
    simulator.script(step, step);
    const model = modelOf('sim').bindTools([WEATHER]);
    const { message } = await collected(model.stream('Weather?'));
    for (const answer of [message, await model.invoke('Weather?')]) {
      expect(callsIn(answer)).toEqual([['get_weather', { city: 'Oslo', days: 2 }]]);
      expect(answer?.invalid_tool_calls).toMatchObject([{ id: PARIS.id, args: text }]);
    }
  });

  it.each([
    ['cut-3', 'cut'],
    ['reset-3', 'connection'],
    ['malformed-3', 'protocol'],
  ])('%s fails after the text before it, and is not tried again', async (word, kind) => {
    const model = modelOf(`sim--chunks-20--${word}`, { attempts: 3 });
    const { message, failure } = await collected(model.stream('Hello'));
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(failure).toMatchObject({ kind });
    expect(message?.text.trim()).toBe('tok0 tok1 tok2');
    await expect(model.invoke('Hello')).rejects.toMatchObject({ kind });
    expect(simulator.requests).toHaveLength(2);
  });

  it('leaves the service when it is aborted, and when its stream is left', async () => {
    const controller = new AbortController();
    const patient = { ...limits, idleMs: 600_000, totalMs: 600_000 };
    const model = modelOf('sim--chunks-20--stall-2', { attempts: 3, limits: patient });
    const answer = model.invoke('Hello', { signal: controller.signal });
    await eventually(
      () => seen.length,
      (parts) => parts > 0,
    );
    controller.abort();
    await expect(answer).rejects.toMatchObject({ kind: 'aborted' });

    const own = new AbortController();
    const owned = modelOf('sim--chunks-20--stall-2', { signal: own.signal });
    const ending = collected(owned.stream('Hello'));
    await eventually(
      () => seen.length,
      (parts) => parts > 0,
    );
    own.abort();
    expect((await ending).failure).toMatchObject({ kind: 'aborted' });

    let text = '';
    for await (const chunk of await model.stream('Hello')) {
      text += chunk.text;
      if (text.includes('tok1')) break;
    }
    await eventually(
      () => simulator.requests.map(({ ended }) => ended),
      (ended) => ended.length === 3 && ended.every((one) => one === 'client-closed'),
    );
    const late = modelOf('sim', { signal: own.signal });
    await expect(late.invoke('Hello')).rejects.toMatchObject({ kind: 'aborted' });
    expect(simulator.requests).toHaveLength(3);
  });

  it.each([1, 2])('tries a failing service %d times', async (attempts) => {
    const model = modelOf('sim--status-500', { attempts });
    await expect(model.invoke('Hello')).rejects.toMatchObject({ kind: 'overloaded', status: 500 });
    expect(simulator.requests).toHaveLength(attempts);
    const { failure } = await collected(model.stream('Hello'));
    expect(failure).toMatchObject({ kind: 'overloaded' });
    expect(simulator.requests).toHaveLength(2 * attempts);
  });

  it('uses the model as it is at each try', async () => {
    const names = ['sim--status-500', 'sim--chunks-2'];
    const model = new PlinthChatModel(
      resolved('old'),
      unstoredCalls(() => Promise.resolve(resolved(names.shift() ?? ''))),
      { use: TRYING, limits, attempts: 2 },
    );
    const answer = await model.invoke('Hello');
    expect(answer.text.trim()).toBe('tok0 tok1');
    expect(answer.response_metadata['model_name']).toBe('sim--chunks-2');
  });

  it('sends images in the form of the protocol', async () => {
    const data = Buffer.from('picture').toString('base64');
    const image = { type: 'image', mimeType: 'image/png', data };
    const forms = [
      image,
      { ...image, data: new Uint8Array(Buffer.from('picture')) },
      { type: 'image', source_type: 'base64', mime_type: 'image/png', data },
      { type: 'image_url', image_url: `data:image/png;base64,${data}` },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
    ];
    const bodies: unknown[] = [];
    for (const form of forms) {
      const content = [{ type: 'text', text: 'What is it?' }, form];
      await modelOf('sim').invoke([new HumanMessage({ content })]);
      bodies.push(lastBody()['messages']);
    }
    expect(JSON.stringify(bodies[0])).toContain(data);
    for (const body of bodies) expect(body).toEqual(bodies[0]);
  });

  it.each<[string, BaseMessage]>([
    [
      'audio',
      new HumanMessage({ content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] }),
    ],
    ['file', new HumanMessage({ content: [{ type: 'file', fileId: 'f1' }] })],
    ['image', new SystemMessage({ content: [{ type: 'image', url: 'https://x.test/a.png' }] })],
    ['input_json_delta', new AIMessage({ content: [{ type: 'input_json_delta' }] })],
  ])('refuses a content part of type %s by its name', async (type, message) => {
    await expect(modelOf('sim').invoke([message])).rejects.toThrow(
      `A content part of type "${type}" cannot be sent`,
    );
    await expect(modelOf('sim').invoke([message])).rejects.toThrow(UnsupportedMessageError);
    expect(simulator.requests).toHaveLength(0);
  });

  it('refuses what the record of the model rules out', async () => {
    const content = [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }];
    const blind = modelOf('sim', {}, { supportsVision: false });
    await expect(blind.invoke([new HumanMessage({ content })])).rejects.toThrow(ModelAbilityError);
    const alone = modelOf('sim', {}, { supportsTools: false }).bindTools([WEATHER]);
    await expect(alone.invoke('Hello')).rejects.toThrow('does not support tools');
    expect(simulator.requests).toHaveLength(0);
  });

  it('sends a history with tools', async () => {
    const question = [
      new SystemMessage('Be brief.'),
      new HumanMessage('Weather in Paris?'),
      new AIMessage({
        content: [
          { type: 'reasoning', reasoning: 'I should look.' },
          { type: 'text', text: 'I look.' },
        ],
        tool_calls: [{ id: 'call_a', name: 'get_weather', args: { city: 'Paris' } }],
      }),
      new ToolMessage({ tool_call_id: 'call_a', content: 'It rains.' }),
    ];
    await modelOf('sim--chunks-1').bindTools([WEATHER]).invoke(question);
    const { messages, tools } = lastBody();
    const sent = JSON.stringify(messages);
    for (const text of ['Weather in Paris?', 'I look.', 'get_weather', 'It rains.']) {
      expect(sent).toContain(text);
    }
    expect(sent).not.toContain('I should look.');
    expect(JSON.stringify(tools)).toContain('"required":["city"]');
    if (code !== 'custom_api') return;
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather in Paris?' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          {
            id: 'call_a',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_a', content: 'It rains.' },
    ]);
  });

  it('passes generation parameters, those of the call first', async () => {
    const model = modelOf('sim', { temperature: 0.25, maxTokens: 100, stop: ['END'] });
    await model.invoke('Hello', { temperature: 0.5 });
    const body = JSON.stringify(lastBody());
    for (const field of [/"temperature":0.5/, /:100\b/, /\["END"\]/]) expect(body).toMatch(field);
  });
});

describe('the chat model as a part of LangChain', () => {
  const model = (modelName: string): PlinthChatModel =>
    new PlinthChatModel(
      {
        id: 1,
        tenantId: '000000',
        revision: 1,
        modelName,
        label: modelName,
        category: 'chat',
        providerCode: 'custom_api',
        connection: { address: `${simulator.url}/v1`, credential: 'canary-key' },
        adapter: adapters.get('custom_api'),
        contextWindow: 32_000,
        supportsTools: true,
      },
      unstoredCalls(),
      { use: TRYING, limits, attempts: 1 },
    );
  const lastBody = (): Record<string, unknown> =>
    simulator.requests.at(-1)?.body as Record<string, unknown>;

  it.each([
    ['auto', 'auto', 2],
    ['none', 'none', 2],
    ['any', 'required', 2],
    ['get_weather', 'required', 1],
    [{ type: 'function', function: { name: 'get_weather' } }, 'required', 1],
  ])('offers tools with the choice %j', async (choice, sent, offered) => {
    const other = { name: 'other', description: 'Another', schema: { type: 'object' } };
    await model('sim').bindTools([WEATHER, other], { tool_choice: choice }).invoke('Hello');
    expect(lastBody()['tool_choice']).toBe(sent);
    expect(lastBody()['tools']).toHaveLength(offered);
  });

  it('refuses a choice and an option that it does not know', async () => {
    const choosing = model('sim').bindTools([WEATHER], { tool_choice: 'unknown' });
    await expect(choosing.invoke('Hello')).rejects.toThrow('tool_choice must be');
    const format = { response_format: { type: 'json_schema' } } as object;
    await expect(model('sim').invoke('Hello', format)).rejects.toThrow('response_format');
    expect(() => model('sim').bindTools([{ type: 'web_search_20250305' }])).toThrow(
      'The tool web_search_20250305 cannot be offered',
    );
    expect(simulator.requests).toHaveLength(0);
  });

  it('answers in the form of a schema', async () => {
    simulator.script({ toolCalls: [{ name: 'extract', arguments: '{"city": "Paris"}' }] });
    const answering = model('sim').withStructuredOutput(z.object({ city: z.string() }));
    expect(await answering.invoke('Where?')).toEqual({ city: 'Paris' });
  });

  it('streams out of a graph of LangGraph', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('answer', async ({ messages }) => ({
        messages: [await model('sim--chunks-20--stall-3').invoke(messages)],
      }))
      .addEdge(START, 'answer')
      .addEdge('answer', END)
      .compile();
    const controller = new AbortController();
    const input = { messages: [new HumanMessage('Hello')] };
    const stream = await graph.stream(input, {
      streamMode: 'messages',
      signal: controller.signal,
    });
    let text = '';
    const reading = (async () => {
      for await (const [chunk] of stream) {
        text += chunk.text;
        // The service hangs after three chunks, so they came before the answer was over.
        if (text.includes('tok2')) controller.abort();
      }
    })();
    await expect(reading).rejects.toThrow();
    expect(text.trim()).toBe('tok0 tok1 tok2');
    await eventually(
      () => simulator.requests.map(({ ended }) => ended),
      ([ended]) => ended === 'client-closed',
    );
  });

  it('is shown without its key, and counts tokens without a tokenizer', async () => {
    expect(JSON.stringify(model('sim'))).not.toContain('canary-key');
    expect(JSON.stringify(model('sim').lc_kwargs)).not.toContain('canary-key');
    expect(model('sim').profile).toEqual({
      maxInputTokens: 32_000,
      toolCalling: true,
      structuredOutput: false,
    });
    expect(await model('sim').getNumTokens('a word or two')).toBe(4);
    expect(await model('gpt-4o').getNumTokens('知识库检索答案')).toBe(5);
  });
});
