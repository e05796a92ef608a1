import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_PING } from '../../../src/chat/index.js';
import type { ProviderState, ToolCall } from '../../../src/provider/index.js';
import { makeKey } from '../../support/api-keys.js';
import {
  closeCompatibleApi,
  COMPLETION,
  openCompatibleApi,
  SERVICE_KEY,
} from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import { createModel } from '../../support/models.js';
import { answering, callingTools, ScriptedAdapter } from '../../support/scripted-adapter.js';
import { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

// Requests as @google/genai 1 (August 2026) and the REST examples of ai.google.dev (November 2026) send them, by raw HTTP.

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: object };
  readonly thoughtSignature?: string;
}

interface Generated {
  readonly candidates: readonly {
    readonly content: { readonly role: string; readonly parts: readonly Part[] };
    readonly finishReason?: string;
    readonly finishMessage?: string;
    readonly groundingMetadata?: object;
  }[];
  readonly usageMetadata?: Readonly<Record<string, number>>;
  readonly modelVersion: string;
  readonly responseId: string;
  readonly sources?: readonly object[];
}

const CALL: ToolCall = {
  ...{ id: 'call_a', name: 'look_up', arguments: '{"word":"a"}', input: { word: 'a' } },
};
const INVALID: ToolCall = {
  ...{ id: 'call_b', name: 'look_up', arguments: '{"word":', input: {}, invalid: true },
};
const STATE: ProviderState = { origin: 'scripted', data: { signature: 'c2ln' } };
const contents = [{ role: 'user', parts: [{ text: 'What is new?' }] }];
const tools = [
  {
    functionDeclarations: [
      {
        name: 'look_up',
        description: 'Looks a word up',
        parameters: { type: 'OBJECT', properties: { word: { type: 'STRING', nullable: true } } },
      },
    ],
  },
];

let world: CompatibleApi;
let key: string;

beforeAll(async () => {
  world = await openCompatibleApi();
  const service = { apiHost: `${world.simulator.url}/v1`, apiKey: SERVICE_KEY };
  await createModel(world.admin, { ...service, modelName: 'team/sim:8b' });
  ({ key } = await makeKey(world.admin, { permissions: ['chat:chat:use'], doors: ['v1'] }));
});

afterEach(() => world.simulator.reset());

afterAll(() => closeCompatibleApi(world));

function program(headers: Record<string, string> = { 'x-goog-api-key': key }): Session {
  return new Session(world.plinth.url, headers);
}

async function ask(call: string, body?: object): Promise<{ status: number; text: string }> {
  return program().raw(body ? 'POST' : 'GET', `/v1beta/models/${call}`, body);
}

async function generate(body: object, model = 'sim-chat'): Promise<Generated> {
  const { status, text } = await ask(`${model}:generateContent`, body);
  expect([status, text]).toEqual([200, text]);
  return JSON.parse(text) as Generated;
}

async function failure(call: string, body: object): Promise<object> {
  const { status, text } = await ask(call, body);
  const { error } = JSON.parse(text) as { error: { code: number } };
  expect(error.code).toBe(status);
  return error;
}

function piecesOf(text: string): Generated[] {
  const events = text.split('\n\n').filter((one) => one !== '');
  return events.map((one) => {
    expect(one).toMatch(/^data: /);
    return JSON.parse(one.slice('data: '.length)) as Generated;
  });
}

function textOf(pieces: readonly Generated[]): string {
  return pieces
    .flatMap(({ candidates }) => candidates[0]?.content.parts ?? [])
    .map((part) => part.text ?? '')
    .join('');
}

describe('generateContent', () => {
  it.each([
    'sim-chat',
    'sim-messages',
    'sim-responses',
    'sim-ollama',
    'team/sim:8b',
    'team%2Fsim:8b',
  ])('answers with the model %s', async (model) => {
    world.simulator.script({ text: 'Nothing.', ...COMPLETION });
    const { candidates, usageMetadata, modelVersion, responseId } = await generate(
      { contents },
      model,
    );
    expect(candidates[0]).toMatchObject({
      content: { role: 'model' },
      finishReason: 'STOP',
      index: 0,
    });
    expect(modelVersion).toBe(decodeURIComponent(model));
    expect(responseId).not.toBe('');
    const { promptTokenCount = 0, candidatesTokenCount = 0, totalTokenCount } = usageMetadata ?? {};
    expect(promptTokenCount).toBeGreaterThan(0);
    expect(totalTokenCount).toBeGreaterThanOrEqual(promptTokenCount + candidatesTokenCount);
  });

  it('streams events, or answers their array', async () => {
    const sse = await ask('sim-chat:streamGenerateContent?alt=sse', { contents });
    const pieces = piecesOf(sse.text);
    expect(pieces.length).toBeGreaterThan(1);
    expect(textOf(pieces)).not.toBe('');
    const last = pieces.at(-1);
    expect(last?.candidates[0]).toMatchObject({ finishReason: 'STOP' });
    expect(last?.usageMetadata).toHaveProperty('promptTokenCount');
    expect(new Set(pieces.map(({ responseId }) => responseId)).size).toBe(1);

    const array = await ask('sim-chat:streamGenerateContent', { contents });
    const listed = JSON.parse(array.text) as Generated[];
    expect(textOf(listed)).toBe(textOf(pieces));
    expect(listed).toHaveLength(pieces.length);
    expect(array.text.split('\n,\r\n{')).toHaveLength(pieces.length);
    expect(listed.at(-1)?.candidates[0]).toMatchObject({ finishReason: 'STOP' });
  });

  it('sends each element of the array when it is written', async () => {
    world.simulator.script({ text: 'One two three four.', stall: 1 });
    const { body, headers } = await fetch(
      `${world.plinth.url}/v1beta/models/sim-chat:streamGenerateContent`,
      {
        method: 'POST',
        headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ contents }),
      },
    );
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    let text = '';
    for await (const bytes of body ?? []) {
      text += Buffer.from(bytes).toString();
      if (text.endsWith('\n')) break;
    }
    expect(textOf(JSON.parse(`${text}]`) as Generated[])).not.toBe('');
  });

  it('answers as an agent, with its sources', async () => {
    const { agentId } = world;
    const question = [{ role: 'user', parts: [{ text: 'How long is the warranty of a laptop?' }] }];
    world.simulator.script({ text: 'Zwei Jahre – é [1].', ...COMPLETION });
    const { candidates, sources } = await generate({ contents: question }, `agent-${agentId}`);
    expect(sources).toHaveLength(1);
    expect(candidates[0]?.groundingMetadata).toMatchObject({
      groundingChunks: [{ retrievedContext: { title: 'warranty.txt' } }],
      groundingSupports: [
        { segment: { startIndex: 18, endIndex: 21, text: '[1]' }, groundingChunkIndices: [0] },
      ],
    });
    expect(await failure(`agent-${agentId}:generateContent`, { contents, tools })).toMatchObject({
      status: 'INVALID_ARGUMENT',
    });
  });
});

describe('a request', () => {
  let scripted: ScriptedAdapter;

  beforeEach(() => {
    scripted = new ScriptedAdapter(world.plinth, 'custom_api');
  });

  afterEach(() => scripted.close());

  it('reaches the model with everything it asks for, in either spelling', async () => {
    const camel = {
      contents: [
        {
          parts: [
            { text: 'Look.' },
            { inlineData: { mimeType: 'image/png', data: 'aGk_' } },
            { fileData: { fileUri: 'https://images.test/a.png', mimeType: 'image/png' } },
          ],
        },
      ],
      systemInstruction: { role: 'user', parts: [{ text: 'Be brief.' }] },
      tools,
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look_up'] } },
      safetySettings: [],
      generationConfig: {
        ...{ temperature: 0.5, topP: 0.9, topK: 5, maxOutputTokens: 70, stopSequences: ['END'] },
        ...{ seed: 3, presencePenalty: 0.5, candidateCount: 1, responseModalities: ['TEXT'] },
        thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
      },
    };
    const snake = JSON.parse(
      JSON.stringify(camel).replaceAll(/"(\w+)":/g, (_, name: string) => {
        const spelt = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        return `"${spelt}":`;
      }),
    ) as object;
    for (const body of [camel, snake]) {
      scripted.then(callingTools([CALL], {}));
      await generate(body);
      expect(scripted.calls.at(-1)).toMatchObject({
        ...{ temperature: 0.5, topP: 0.9, topK: 5, maxTokens: 70, stop: ['END'], seed: 3 },
        ...{ presencePenalty: 0.5, effort: 'low', toolChoice: 'required' },
        tools: [
          {
            name: 'look_up',
            inputSchema: {
              type: 'object',
              properties: { word: { type: ['string', 'null'] } },
            },
          },
        ],
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look.' },
              { type: 'image', mimeType: 'image/png', data: 'aGk/' },
              { type: 'image-url', url: 'https://images.test/a.png' },
            ],
          },
        ],
      });
    }
  });

  it.each([
    ['streamed', 'streamGenerateContent?alt=sse'],
    ['whole', 'generateContent'],
  ])('gives back what came with a call, %s', async (_how, method) => {
    scripted.then(callingTools([CALL], { thinking: 'Hm.', state: STATE }), answering('B.'));
    const body = {
      contents,
      tools,
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    };
    const { text } = await ask(`sim-chat:${method}`, body);
    const answered =
      method === 'generateContent' ? [JSON.parse(text) as Generated] : piecesOf(text);
    const parts = answered.flatMap(({ candidates }) => candidates[0]?.content.parts ?? []);
    expect(parts[0]).toEqual({ text: 'Hm.', thought: true });
    const called = parts.find(({ functionCall }) => functionCall);
    expect(called?.functionCall).toEqual({ id: 'call_a', name: 'look_up', args: { word: 'a' } });
    // Bytes: clients in other languages decode it.
    expect(called?.thoughtSignature).toMatch(/^[A-Za-z0-9+/]+=*$/);

    const functionResponse = { id: 'call_a', name: 'look_up', response: { output: 'b' } };
    await generate({
      tools,
      contents: [
        ...contents,
        { role: 'model', parts },
        { role: 'user', parts: [{ functionResponse }] },
      ],
    });
    expect(scripted.calls[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: '', toolCalls: [CALL], providerState: STATE },
      { role: 'tool', toolCallId: 'call_a', name: 'look_up', content: 'b' },
    ]);
  });

  it('matches results to calls without ids, in their order', async () => {
    scripted.then(answering('Done.'));
    const call = (word: string): object => ({ functionCall: { name: 'look_up', args: { word } } });
    const result = (found: string): object => ({
      functionResponse: { name: 'look_up', response: { found } },
    });
    await generate({
      tools,
      contents: [
        ...contents,
        { role: 'model', parts: [call('a'), call('b')] },
        { role: 'function', parts: [result('1'), result('2')] },
      ],
    });
    const [, assistant, ...results] = scripted.calls[0]?.messages ?? [];
    const ids = assistant?.role === 'assistant' ? assistant.toolCalls?.map(({ id }) => id) : [];
    expect(new Set(ids).size).toBe(2);
    expect(results).toEqual([
      { role: 'tool', toolCallId: ids?.[0], name: 'look_up', content: '{"found":"1"}' },
      { role: 'tool', toolCallId: ids?.[1], name: 'look_up', content: '{"found":"2"}' },
    ]);
  });

  it('has no place for arguments that are no object, and says so', async () => {
    scripted.then(callingTools([INVALID], {}));
    const { candidates } = await generate({ contents, tools });
    expect(candidates[0]).toMatchObject({
      ...{ content: { parts: [{ text: '' }] }, finishReason: 'MALFORMED_FUNCTION_CALL' },
      finishMessage: 'Malformed function call: look_up({"word":)',
    });
  });

  it('gets JSON of every schema, and values of an enumeration', async () => {
    const list = { type: 'ARRAY', items: { type: 'STRING' }, minItems: '1' };
    scripted.then(answering('{"value":["a","b"]}'));
    const json = { responseMimeType: 'application/json', responseSchema: list };
    const listed = await generate({ contents, generationConfig: json });
    expect(textOf([listed])).toBe('["a","b"]');

    scripted.then(answering('{"value":"warm"}'));
    const words = { type: 'STRING', enum: ['warm', 'cold'] };
    const word = { responseMimeType: 'text/x.enum', responseSchema: words };
    expect(textOf([await generate({ contents, generationConfig: word })])).toBe('warm');

    scripted.then(answering('{"city":"Oslo"}'));
    const object = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const plain = { responseMimeType: 'application/json', responseJsonSchema: object };
    expect(textOf([await generate({ contents, generationConfig: plain })])).toBe('{"city":"Oslo"}');
    expect(scripted.calls.at(-1)?.responseFormat?.schema).toEqual(object);
  });

  it('leaves out hints and names them', async () => {
    scripted.then(answering('A.'));
    const { headers } = await program().raw('POST', '/v1beta/models/sim-chat:generateContent', {
      contents,
      safetySettings: [{ category: 'HARM_CATEGORY_HATE_SPEECH', threshold: 'OFF' }],
      generationConfig: {
        mediaResolution: 'MEDIA_RESOLUTION_LOW',
        thinkingConfig: { thinkingBudget: 0 },
      },
    });
    expect(headers['x-plinth-ignored']).toBe('safetySettings, generationConfig.mediaResolution');
    expect(scripted.calls[0]).toMatchObject({ thinking: false });
  });

  it('writes a failure after the first piece as the clients of Google look for it', async () => {
    scripted.then([
      { type: 'text-delta', text: 'A' },
      { type: 'finish', reason: 'error' },
    ]);
    const { text } = await ask('sim-chat:streamGenerateContent?alt=sse', { contents });
    const [first = '', last = ''] = text.split('\n\n');
    expect(first).toMatch(/^data: /);
    expect(JSON.parse(last)).toMatchObject({ error: { code: 500, status: 'INTERNAL' } });

    scripted.then([
      { type: 'text-delta', text: 'A' },
      { type: 'finish', reason: 'error' },
    ]);
    const array = await ask('sim-chat:streamGenerateContent', { contents });
    expect(JSON.parse(array.text)).toEqual([
      expect.objectContaining({ candidates: expect.anything() }),
      { error: expect.objectContaining({ code: 500, status: 'INTERNAL' }) },
    ]);
  });
});

describe('a failure', () => {
  const config = (generationConfig: object): object => ({ contents, generationConfig });

  it.each([
    [{}, 'The parameter contents is required.'],
    [config({ candidateCount: 2 }), 'generationConfig.candidateCount cannot be honoured'],
    [config({ responseModalities: ['IMAGE'] }), 'generationConfig.responseModalities cannot'],
    [config({ temperature: 9 }), 'generationConfig.temperature is not valid'],
    [config({ responseMimeType: 'text/x.enum' }), 'generationConfig.responseSchema is required'],
    [{ contents, tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch cannot be honoured'],
    [{ contents, cachedContent: 'cachedContents/a' }, 'cachedContent cannot be honoured'],
    [{ contents: [{ parts: [{ videoMetadata: {} }] }] }, 'contents[0].parts[0].videoMetadata'],
    [
      { contents: [{ parts: [{ functionResponse: { name: 'x', response: {} } }] }] },
      'No message before has an open call of the function x.',
    ],
    [
      { contents: [...contents, { role: 'model', parts: [{ text: 'A' }] }] },
      'The last message must be one of the user.',
    ],
  ])('names what is wrong with %j', async (body, message) => {
    const error = await failure('sim-chat:generateContent', body);
    expect(error).toMatchObject({
      ...{ code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(message) },
    });
  });

  it('has the words of Google', async () => {
    expect(await failure('gone:generateContent', { contents })).toMatchObject({
      ...{ code: 404, status: 'NOT_FOUND' },
    });
    expect(await failure('sim-chat:predict', { contents })).toMatchObject({
      ...{ code: 404, message: expect.stringContaining('There is no method predict.') },
    });
    const other = await makeKey(world.admin, { permissions: ['media:media:use'] });
    const cases = [
      [{}, 401, 'UNAUTHENTICATED'],
      [{ 'x-goog-api-key': other.key }, 403, 'PERMISSION_DENIED'],
    ] as const;
    for (const [headers, code, status] of cases) {
      const path = '/v1beta/models/sim-chat:generateContent';
      const { text } = await program({ ...headers }).raw('POST', path, { contents });
      expect(JSON.parse(text)).toMatchObject({ error: { code, status } });
    }
    const unrouted = await program().raw('POST', '/v1beta/nothing', {});
    expect([unrouted.status, JSON.parse(unrouted.text)]).toMatchObject([
      404,
      { error: { status: 'NOT_FOUND' } },
    ]);
  });

  it.each([true, false])(
    'is the answer to a key in the address, beside one in a header: %s',
    async (beside) => {
      const session = program(beside ? { 'x-goog-api-key': key } : {});
      const path = `/v1beta/models/sim-chat:generateContent?key=${key}`;
      const { status, text } = await session.raw('POST', path, { contents });
      expect(status).toBe(401);
      expect(text).not.toContain(key);
      expect(JSON.parse(text)).toMatchObject({
        error: {
          ...{ code: 401, status: 'UNAUTHENTICATED' },
          message: expect.stringContaining('Send the key in the header x-goog-api-key'),
        },
      });
    },
  );

  it('passes on that the window is too small, in the words of the protocol', async () => {
    const message = "This model's maximum context length is 8192 tokens.";
    const error = { message, code: 'context_length_exceeded', type: 'invalid_request_error' };
    world.simulator.script({ status: 400, body: { error }, ...COMPLETION });
    expect(await failure('sim-chat:generateContent', { contents })).toMatchObject({
      ...{ code: 400, status: 'INVALID_ARGUMENT' },
      message: expect.stringMatching(/^The input token count exceeds the maximum number of tokens/),
    });
  });
});

describe('the list of models', () => {
  it('has those that generate or embed content, page by page', async () => {
    const all = await program().raw('GET', '/v1beta/models');
    const { models } = JSON.parse(all.text) as { models: { name: string }[] };
    const names = models.map(({ name }) => name);
    expect(names).toContain('models/sim-chat');
    expect(names).toContain(`models/agent-${world.agentId}`);
    expect(models.find((one) => one.name === 'models/sim-embed-64')).toMatchObject({
      supportedGenerationMethods: ['embedContent', 'batchEmbedContents'],
    });

    const seen: string[] = [];
    for (let token: string | undefined = ''; token !== undefined && seen.length < 20;) {
      const path = `/v1beta/models?pageSize=2${token && `&pageToken=${encodeURIComponent(token)}`}`;
      const { text } = await program().raw('GET', path);
      const page = JSON.parse(text) as { models: { name: string }[]; nextPageToken?: string };
      seen.push(...page.models.map(({ name }) => name));
      token = page.nextPageToken;
    }
    expect(seen).toEqual(names);
  });

  it('has each of them by its name', async () => {
    const { text } = await ask('team/sim:8b');
    expect(JSON.parse(text)).toMatchObject({
      ...{
        name: 'models/team/sim:8b',
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      },
    });
    expect((await ask('gone')).status).toBe(404);
  });
});

describe('embedContent', () => {
  const content = (text: string): object => ({ parts: [{ text }] });

  it('answers a vector, or those of several texts in their order', async () => {
    const one = await ask('sim-embed-64:embedContent', { content: content('cat') });
    const { embedding } = JSON.parse(one.text) as { embedding: { values: number[] } };
    expect(embedding.values).toHaveLength(64);
    const model = 'models/sim-embed-64';
    const several = await ask('sim-embed-64:batchEmbedContents', {
      requests: [
        { model, content: content('dog') },
        { model, content: content('cat'), outputDimensionality: 64 },
      ],
    });
    const { embeddings } = JSON.parse(several.text) as { embeddings: { values: number[] }[] };
    expect(embeddings).toHaveLength(2);
    expect(embeddings[1]).toEqual(embedding);
    expect(embeddings[0]).not.toEqual(embedding);
  });

  it('names what it leaves out, and what is wrong', async () => {
    const { headers } = await program().raw('POST', '/v1beta/models/sim-embed-64:embedContent', {
      ...{ content: content('cat'), taskType: 'RETRIEVAL_QUERY', title: 'Cats' },
    });
    expect(headers['x-plinth-ignored']).toBe('taskType, title');
    for (const [call, body, message] of [
      ['sim-embed-64:embedContent', {}, 'The parameter content is required.'],
      ['sim-embed-64:batchEmbedContents', { requests: [{}] }, /requests\[0\]\.content is required/],
      ['sim-chat:embedContent', { content: content('x') }, /sim-chat/],
    ] as const) {
      expect(await failure(call, body)).toMatchObject({
        message: expect.stringMatching(message),
      });
    }
  });
});

describe('countTokens', () => {
  it('counts contents, or a whole request', async () => {
    const tokens = async (body: object, model = 'sim-chat'): Promise<number> => {
      const { status, text } = await ask(`${model}:countTokens`, body);
      expect(status).toBe(200);
      return (JSON.parse(text) as { totalTokens: number }).totalTokens;
    };
    const plain = await tokens({ contents });
    expect(plain).toBeGreaterThan(2);
    const generateContentRequest = { model: 'models/sim-chat', contents, tools };
    expect(await tokens({ generateContentRequest })).toBeGreaterThan(plain);
    expect(await tokens({ contents }, `agent-${world.agentId}`)).toBeGreaterThan(plain);
  });
});

describe('a stream in which nothing comes', () => {
  let silent: CompatibleApi;

  overrideConstants(CHAT_PING, { intervalMs: 1_000 });

  beforeAll(async () => {
    silent = await openCompatibleApi();
  });

  afterAll(() => closeCompatibleApi(silent));

  it('begins with an empty text, because clients of the protocol take no comments', async () => {
    silent.simulator.script({ hold: true, status: 503 });
    const path = '/v1beta/models/sim-messages:streamGenerateContent?alt=sse';
    // Resolves with the headers of the answer.
    const answer = await fetch(silent.plinth.url + path, {
      method: 'POST',
      headers: { ...silent.admin.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ contents }),
    });
    await eventually(
      () => silent.simulator.held,
      (held) => held === 1,
    );
    silent.simulator.release();
    const events = (await answer.text()).split('\n\n').filter((one) => one !== '');
    const last = events.pop() ?? '';
    expect(events.length).toBeGreaterThan(0);
    expect(textOf(piecesOf(`${events.join('\n\n')}\n\n`))).toBe('');
    expect(JSON.parse(last)).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } });
  });
});
