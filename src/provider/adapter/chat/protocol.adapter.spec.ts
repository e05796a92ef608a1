import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OutboundError, OutboundHttp } from '../../../platform/outbound/index.js';
import { AdapterRegistry, chatAdapters } from '../../adapter.registries.js';
import { UpstreamError } from '../upstream.error.js';
import type { ChatCall, ChatPart } from './chat.adapter.js';

const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.1'] });
const adapters = new AdapterRegistry(chatAdapters(http));
const call: ChatCall = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
const ports = new Set<number | undefined>();
let answer: (response: ServerResponse) => void;
const server = createServer((request, response) => {
  ports.add(request.socket.remotePort);
  request.resume().on('end', () => answer(response));
});
let address = '';

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(async () => {
  await http.close();
  server.close();
});

const options = () => ({
  limits: { connectMs: 20_000, idleMs: 20_000, totalMs: 40_000 },
  signal: new AbortController().signal,
});

const HOUR_MS = 3_600_000;

async function partsOf(code: string, asked = options()): Promise<ChatPart[]> {
  const parts: ChatPart[] = [];
  for await (const some of adapters.get(code).stream(call, { address }, asked)) {
    parts.push(...some);
  }
  return parts;
}

const EVENTS = { 'content-type': 'text/event-stream' };
const FINISHED = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n';
const fixture = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const respondJson = (text: string) => (response: ServerResponse) =>
  void response.setHeader('content-type', 'application/json').end(text);

function shownPart(part: ChatPart): string {
  if (part.type === 'text-delta') return part.text;
  return part.type === 'reasoning-delta' ? `<${part.text}>` : '';
}

it('leaves the key out of an error in the middle of a streamed answer', async () => {
  const credential = 'sk-canary-9f8e7d';
  const error = { error: { message: `Lost ${credential}` } };
  answer = (response) =>
    void response.writeHead(200, EVENTS).end(`data: ${JSON.stringify(error)}\n\n`);
  const stream = adapters.get('custom_api').stream(call, { address, credential }, options());
  const read = async (): Promise<void> => {
    for await (const _ of stream);
  };
  const failure: unknown = await read().catch((reason: unknown) => reason);
  expect(failure).toBeInstanceOf(UpstreamError);
  expect(String(failure)).not.toContain(credential.slice(0, 8));
});

describe('the key in the address of a redirect', () => {
  const credential = 'sk-Canary-9f8e7d';

  async function failureOf(location: string): Promise<Error> {
    answer = (response) => void response.writeHead(302, { location }).end();
    const stream = adapters.get('custom_api').complete(call, { address, credential }, options());
    const failure: unknown = await stream.catch((error: unknown) => error);
    if (!(failure instanceof Error)) throw new Error('It was not refused.');
    return failure;
  }

  const everything = (failure: Error): string =>
    `${failure.message} ${String(failure.cause)} ${JSON.stringify(failure)}`.toLowerCase();

  it.each([
    ['as it is', `https://elsewhere.test/${credential}/v1`],
    ['encoded', `https://elsewhere.test/%73k-Canary-9f8e7d`],
    ['encoded twice', `https://elsewhere.test/%2573k-Canary-9f8e7d`],
    ['in the host, which has no capitals', `https://${credential}.elsewhere.test/v1`],
    ['as base64', `https://elsewhere.test/${Buffer.from(credential).toString('base64')}`],
    ['in part', `https://elsewhere.test/${credential.slice(0, 9)}`],
  ])('leaves the address out: %s', async (_, location) => {
    const failure = await failureOf(location);
    expect(everything(failure)).not.toMatch(/canary|9f8e|c2stq2|elsewhere/);
    expect(failure.cause).toMatchObject({
      kind: 'redirect',
      message:
        'The service answered with a redirect, which is not followed. Enter its final address.',
    });
  });

  it('keeps one without it for the administrator', async () => {
    const failure = await failureOf('https://elsewhere.test/v1');
    expect(failure.cause).toMatchObject({ message: expect.stringContaining('elsewhere.test/v1') });
  });
});

describe('the end of a stream', () => {
  it('keeps the connection after the end mark', async () => {
    answer = (response) => {
      response.writeHead(200, EVENTS).write(`${FINISHED}data: [DONE]\n\n`);
      setTimeout(() => response.end(), 5);
    };
    ports.clear();
    const rounds = 6;
    for (let round = 0; round < rounds; round++) {
      expect((await partsOf('custom_api')).at(-1)?.type).toBe('finish');
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    // A machine that stalls may be too late once or twice.
    expect(ports.size).toBeLessThan(rounds);
  });

  it('does not wait for a service that stays silent after the finish reason', async () => {
    const closed = Promise.withResolvers<undefined>();
    answer = (response) => {
      response.on('close', () => closed.resolve(undefined));
      response.writeHead(200, EVENTS).write(FINISHED);
    };
    const { signal } = new AbortController();
    const limits = { connectMs: HOUR_MS, idleMs: HOUR_MS, totalMs: HOUR_MS };
    // Only the adapter can end it before the test's own limit.
    expect((await partsOf('custom_api', { limits, signal })).at(-1)).toMatchObject({
      reason: 'stop',
    });
    await closed.promise;
  });

  it('loses nothing when the connection breaks after the finish reason', async () => {
    answer = (response) => {
      response.writeHead(200, EVENTS).write(FINISHED);
      setTimeout(() => response.destroy(), 20);
    };
    expect(await partsOf('custom_api')).toEqual([
      { type: 'text-delta', text: 'Hi' },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ]);
  });
});

describe('a connection that is lost', () => {
  const said = (content: string, finish: string | null = null): string =>
    `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: finish }] })}`;

  /** A client for which an answer that ends is one that falls silent there, without the time that it would take. */
  class SilentAtTheEnd extends OutboundHttp {
    override async request(...args: Parameters<OutboundHttp['request']>) {
      const response = await super.request(...args);
      const { status, headers, body } = response;
      const silent = async function* (): AsyncGenerator<Buffer, void, void> {
        yield* body;
        throw new OutboundError('timeout-idle');
      };
      return {
        status,
        headers,
        body: silent(),
        text: (limitBytes: number) => response.text(limitBytes),
        discard: () => response.discard(),
      };
    }
  }
  const silentHttp = new SilentAtTheEnd({ allowedPrivateHosts: ['127.0.0.1'] });
  afterAll(() => silentHttp.close());

  type End = (response: ServerResponse, received: Promise<undefined>) => void;

  /** What comes of these bytes, which begin with a whole event, when the connection ends so, with the failure. */
  async function outcomeOf(
    bytes: string,
    end: End,
    client: OutboundHttp,
  ): Promise<{ text: string; isFinished: boolean; failure: unknown }> {
    const received = Promise.withResolvers<undefined>();
    answer = (response) =>
      response.writeHead(200, EVENTS).write(bytes, () => end(response, received.promise));
    const parts: ChatPart[] = [];
    let failure: unknown;
    try {
      const adapter = new AdapterRegistry(chatAdapters(client)).get('custom_api');
      for await (const some of adapter.stream(call, { address }, options())) {
        parts.push(...some);
        received.resolve(undefined);
      }
    } catch (error) {
      failure = error;
    }
    const isFinished = parts.at(-1)?.type === 'finish';
    return { text: parts.map(shownPart).join(''), isFinished, failure };
  }

  const endNow: End = (response) => void response.end();
  const ENDS: readonly (readonly [string, End, OutboundHttp])[] = [
    ['ends', endNow, http],
    [
      'is reset',
      (response, received) => void received.then(() => response.socket?.resetAndDestroy()),
      http,
    ],
    ['is silent', endNow, silentHttp],
  ];

  it.each(ENDS)('and %s gives the unterminated last event', async (_, end, client) => {
    const whole = await outcomeOf(`${said('Hel')}\n\n${said('lo', 'stop')}`, end, client);
    expect(whole).toEqual({ text: 'Hello', isFinished: true, failure: undefined });
    const marked = await outcomeOf(`${said('Hello')}\n\ndata: [DONE]`, end, client);
    expect(marked).toEqual({ text: 'Hello', isFinished: true, failure: undefined });
    const open = await outcomeOf(`${said('Hel')}\n\n${said('lo')}`, end, client);
    expect(open).toMatchObject({ text: 'Hello', isFinished: false });
    expect(open.failure).toBeInstanceOf(UpstreamError);
    const part = await outcomeOf(`${said('Hello')}\n\ndata: {"choi`, end, client);
    expect(part).toMatchObject({ text: 'Hello', isFinished: false });
    expect(part.failure).toBeInstanceOf(UpstreamError);
  });
});

describe('an answer without anything in it', () => {
  const OF_TOOL: ChatCall = {
    model: 'm',
    messages: [
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'a', name: 'look', arguments: '{}', input: {} }],
      },
      { role: 'tool', toolCallId: 'a', name: 'look', content: 'Done.' },
    ],
  };
  const completion = (message: object, finish: string): string =>
    JSON.stringify({ choices: [{ message, finish_reason: finish }] });
  const loaded = JSON.stringify({ message: { content: '' }, done: true, done_reason: 'load' });

  const outcome = async (code: string, asked: ChatCall, isStreamed: boolean): Promise<unknown> => {
    const adapter = adapters.get(code);
    try {
      if (!isStreamed) return (await adapter.complete(asked, { address }, options())).finish.reason;
      let reason: unknown;
      for await (const parts of adapter.stream(asked, { address }, options())) {
        const last = parts.at(-1);
        if (last?.type === 'finish') reason = last.reason;
      }
      return reason;
    } catch (error) {
      return error;
    }
  };

  const EMPTY = {
    kind: 'cut',
    retryable: true,
    message: expect.stringContaining('without any text'),
  };

  it.each([true, false])('fails in a way that may pass (streamed: %s)', async (isStreamed) => {
    const json = completion({ content: '' }, 'stop');
    const events = `data: ${JSON.stringify({ choices: [{ delta: { content: '\n' }, finish_reason: 'stop' }] })}\n\n`;
    answer = isStreamed
      ? (response) => void response.writeHead(200, EVENTS).end(events)
      : respondJson(json);
    expect(await outcome('custom_api', call, isStreamed)).toMatchObject(EMPTY);
    expect(await outcome('custom_api', OF_TOOL, isStreamed)).toBe('stop');
    answer = isStreamed
      ? (response) =>
          void response
            .writeHead(200, { 'content-type': 'application/x-ndjson' })
            .end(`${loaded}\n`)
      : respondJson(loaded);
    expect(await outcome('ollama', call, isStreamed)).toMatchObject(EMPTY);
    expect(await outcome('ollama', OF_TOOL, isStreamed)).toMatchObject(EMPTY);
  });

  it('does not fail where it was filtered, cut or thought', async () => {
    answer = respondJson(completion({ content: '' }, 'content_filter'));
    expect(await outcome('custom_api', call, false)).toBe('content-filter');
    answer = respondJson(completion({ content: '' }, 'length'));
    expect(await outcome('custom_api', call, false)).toBe('length');
    answer = respondJson(completion({ content: '', reasoning_content: 'Hm.' }, 'stop'));
    expect(await outcome('custom_api', { ...call, thinking: false }, false)).toBe('stop');
  });
});

describe('the state of an answer', () => {
  const providerStates = (parts: readonly ChatPart[]) =>
    parts.flatMap((part) => (part.type === 'provider-state' ? [part.providerState] : []));
  const THOUGHT = JSON.stringify({
    choices: [
      {
        message: {
          content: null,
          reasoning_content: 'Hm.',
          tool_calls: [{ id: 'a', function: { name: 'look', arguments: '{}' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
  });

  it('goes back to the model that made it, and to no other', async () => {
    answer = respondJson(THOUGHT);
    const adapter = adapters.get('custom_api');
    const [state] = providerStates(await partsOf('custom_api'));
    expect(state).toEqual({
      origin: expect.stringMatching(/^[\da-f]{16}$/),
      data: { reasoning_content: 'Hm.' },
    });
    expect((await adapter.complete(call, { address }, options())).providerState).toEqual(state);
    const bodies: unknown[] = [];
    const messages = [
      ...call.messages,
      {
        ...{ role: 'assistant', content: '', providerState: state },
        toolCalls: [{ id: 'a', name: 'look', arguments: '{}', input: {} }],
      },
      { role: 'tool', toolCallId: 'a', name: 'look', content: 'Done.' },
    ] as ChatCall['messages'];
    const listening = (request: IncomingMessage): void => {
      let body = '';
      request.on('data', (bytes: Buffer) => (body += bytes.toString()));
      request.on('end', () => bodies.push(JSON.parse(body)));
    };
    server.on('request', listening);
    await adapter.complete({ model: 'm', messages }, { address }, options());
    await adapter.complete({ model: 'other', messages }, { address }, options());
    await adapter.complete({ model: 'm', messages }, { address: `${address}/tenant` }, options());
    await adapters
      .get('custom_messages')
      .complete({ model: 'm', messages }, { address }, options())
      .catch(() => undefined);
    server.off('request', listening);
    const sentThought = bodies.map((body) => JSON.stringify(body).includes('Hm.'));
    expect(sentThought).toEqual([true, false, false, false]);
  });
});

describe('a service that does not stream', () => {
  it('is read all the same', async () => {
    answer = respondJson(fixture('./chat-completions/fixtures/answer.json'));
    expect(await partsOf('custom_api')).toMatchObject([
      { type: 'tool-call', toolCall: { name: 'get_weather', input: { city: 'Zürich' } } },
      { type: 'usage', usage: { inputTokens: 82, outputTokens: 17, totalTokens: 99 } },
      { type: 'finish', reason: 'tool-calls', raw: 'tool_calls' },
    ]);
    // Some gateways count in fractions.
    const whole = fixture('./chat-completions/fixtures/answer.json');
    answer = respondJson(whole.replace('"prompt_tokens": 82', '"prompt_tokens": 82.5'));
    expect((await partsOf('custom_api'))[1]).toMatchObject({
      usage: { inputTokens: undefined, outputTokens: 17 },
    });
    answer = respondJson(fixture('./messages/fixtures/answer.json'));
    expect(await partsOf('custom_messages')).toMatchObject([
      { type: 'reasoning-delta', text: 'A greeting.' },
      { type: 'text-delta', text: 'Hello!' },
      { type: 'provider-state', providerState: { data: { blocks: [{ type: 'thinking' }] } } },
      { type: 'usage', usage: { totalTokens: 18 } },
      { type: 'finish', reason: 'stop', raw: 'end_turn' },
    ]);
    answer = respondJson(fixture('./ollama/fixtures/answer.json'));
    expect(await partsOf('ollama')).toMatchObject([
      { type: 'text-delta', text: 'Hello! How are you today?' },
      { type: 'usage', usage: { inputTokens: 26, outputTokens: 298, totalTokens: 324 } },
      { type: 'finish', reason: 'stop', raw: 'stop' },
    ]);
  });

  it.each(['{"choices":[]}', '{}', 'null', '[]', '"text"', '{"choices":}', ''])(
    'is refused when it answers %s',
    async (text) => {
      answer = respondJson(text);
      await expect(partsOf('custom_api')).rejects.toMatchObject({ kind: 'protocol' });
      await expect(partsOf('custom_messages')).rejects.toMatchObject({ kind: 'protocol' });
      await expect(partsOf('ollama')).rejects.toMatchObject({ kind: 'protocol' });
    },
  );

  it('may be asked again when its answer broke off', async () => {
    answer = respondJson('{"choices":');
    await expect(partsOf('custom_api')).rejects.toMatchObject({ kind: 'cut', retryable: true });
  });

  it('is told apart from a web page, and a redirect is not followed', async () => {
    answer = (response) =>
      void response.setHeader('content-type', 'text/html').end('<html></html>');
    await expect(partsOf('custom_api')).rejects.toThrow('a web page');
    answer = (response) => void response.writeHead(301, { location: 'http://inner.test/' }).end();
    const redirected = partsOf('custom_api');
    await expect(redirected).rejects.toMatchObject({ kind: 'protocol', retryable: false });
    await expect(redirected).rejects.not.toThrow('inner.test');
  });
});

describe('addresses and keys', () => {
  it('refuses a forbidden address and says which setting allows it', async () => {
    const adapter = adapters.get('custom_api');
    const metadata = adapter.complete(call, { address: 'http://169.254.169.254' }, options());
    await expect(metadata).rejects.toMatchObject({ code: 400, rule: 'cloud metadata' });
    const inner = adapter.complete(call, { address: 'http://10.0.0.1' }, options());
    await expect(inner).rejects.toThrow('ALLOW_PRIVATE_MODEL_HOSTS');
  });

  it('refuses a key that cannot be sent, without repeating it', async () => {
    const credential = 'canary\nkey';
    const sent = adapters.get('custom_api').complete(call, { address, credential }, options());
    await expect(sent).rejects.toMatchObject({ kind: 'invalid-request' });
    await expect(sent).rejects.not.toThrow('canary');
  });
});
