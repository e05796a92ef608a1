import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../../simulator/index.js';
import type { Simulator } from '../../../../simulator/index.js';
import { PIXELS } from '../../../../test/support/chat-files.js';
import { limitsOf, REFUSALS, streamFaults } from '../../../../test/support/stream-faults.js';
import type { StreamFault } from '../../../../test/support/stream-faults.js';
import { eventually } from '../../../../test/support/wait.js';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ModelConnection } from '../model-call.js';
import { retryBeforeFirstPart } from '../model-call.js';
import { UpstreamError } from '../upstream.error.js';
import { chatAdapters } from '../../adapter.registries.js';
import type { ChatAdapter, ChatCall, ChatPart, ContentPart } from './chat.adapter.js';

const CREDENTIAL = 'canary-key-1f9a7c';
const wordsOf = (count: number): string =>
  Array.from({ length: count }, (_, at) => `tok${at}`).join(' ');
const WORDS_20 = wordsOf(20);
/** A byte costs as much as a read of many: what is sent byte by byte is short. */
const FEW = 4;
const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

interface Outcome {
  readonly parts: readonly ChatPart[];
  readonly text: string;
  readonly failure: unknown;
}

const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };
const options = (signal = new AbortController().signal) => ({ limits, signal });

const callOf = (model: string, extra: Partial<ChatCall> = {}): ChatCall => ({
  model,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello, 世界' },
  ],
  ...extra,
});

async function outcomeOf(stream: AsyncIterable<readonly ChatPart[]>): Promise<Outcome> {
  const parts: ChatPart[] = [];
  let failure: unknown;
  try {
    for await (const some of stream) {
      expect(some.length).toBeGreaterThan(0);
      parts.push(...some);
    }
  } catch (error) {
    failure = error;
  }
  const text = parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
  return { parts, text, failure };
}

/** What a call comes to that meets the fault. */
async function failureOf(adapter: ChatAdapter, fault: StreamFault) {
  const connection = { address: simulator.url, credential: CREDENTIAL };
  const ofFault = { limits: limitsOf(fault), signal: options().signal };
  const stream = adapter.stream(callOf(`sim--${fault.words}`), connection, ofFault);
  const { text, failure, parts } = await outcomeOf(stream);
  const kind = failure instanceof UpstreamError ? failure.kind : failure;
  const isFinished = parts.some(({ type }) => type === 'finish');
  return { words: fault.words, kind, text: text.trim(), isFinished };
}

function expectedFailure({ words, kind, text }: StreamFault) {
  return { words, kind, text, isFinished: false };
}

const protocolOf = (adapter: ChatAdapter) => adapter.protocol('http://x.test');

/** Calls of the adapter at the simulator. */
function callsOf(adapter: ChatAdapter) {
  const connection = (): ModelConnection => ({
    address: simulator.url,
    credential: CREDENTIAL,
  });
  const streamOf = (model: string, extra?: Partial<ChatCall>) =>
    adapter.stream(callOf(model, extra), connection(), options());
  const run = (model: string, extra?: Partial<ChatCall>): Promise<Outcome> =>
    outcomeOf(streamOf(model, extra));
  const complete = (model: string, extra?: Partial<ChatCall>) =>
    adapter.complete(callOf(model, extra), connection(), options());
  return { connection, streamOf, run, complete };
}

const adapters = chatAdapters(http).map((adapter) => [adapter.code, adapter] as const);

/** Presets of one protocol share its code: what depends on no field that vendors disagree on is tested with one of them. */
const protocols = new Map(adapters.map(([, adapter]) => [protocolOf(adapter), adapter] as const));

describe.each(adapters)('the adapter %s', (_code, adapter) => {
  const isOllama = protocolOf(adapter) === 'ollama';
  const isMessages = protocolOf(adapter) === 'messages';
  const { connection, run, complete } = callsOf(adapter);

  it('streams text, usage and one finish, which comes last', async () => {
    const { parts, text, failure } = await run('sim--chunks-20');
    expect(failure).toBeUndefined();
    expect(text.trim()).toBe(WORDS_20);
    expect(parts.filter(({ type }) => type === 'usage')).toMatchObject([
      { usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) } },
    ]);
    expect(parts.filter(({ type }) => type === 'finish')).toHaveLength(1);
    expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
  });

  it('answers the same in one piece', async () => {
    const completion = await complete('sim--chunks-20');
    expect(completion.text.trim()).toBe(WORDS_20);
    expect(completion.finish.reason).toBe('stop');
    expect(completion.usage?.totalTokens).toBeGreaterThan(0);
  });

  it('sends images as they are, several in one message', async () => {
    const content = [
      ...Object.entries(PIXELS).map(([mimeType, bytes]): ContentPart => ({
        type: 'image',
        mimeType,
        data: bytes.toString('base64'),
      })),
      { type: 'text', text: 'What is this?' } as const,
    ];
    const { text, failure } = await run('sim-chat', { messages: [{ role: 'user', content }] });
    expect(failure).toBeUndefined();
    expect(text).toContain('I received 4 images');
    const body = JSON.stringify(simulator.requests.at(-1)?.body);
    for (const [mimeType, bytes] of Object.entries(PIXELS)) {
      expect(body.split(bytes.toString('base64'))).toHaveLength(2);
      // Ollama takes no media type: it reads the bytes.
      if (!isOllama) expect(text).toContain(`${mimeType}, ${bytes.length} bytes`);
    }
  });

  it('sends the key where the protocol has it, and no header for a blank one', async () => {
    await run('sim--chunks-1');
    await outcomeOf(
      adapter.stream(callOf('sim--chunks-1'), { ...connection(), credential: ' ' }, options()),
    );
    const [withKey, withoutKey] = simulator.requests.map(({ headers }) => headers);
    const expected = isMessages
      ? { 'x-api-key': CREDENTIAL, 'anthropic-version': '2023-06-01' }
      : { authorization: `Bearer ${CREDENTIAL}` };
    if (!isOllama) expect(withKey).toMatchObject(expected);
    expect(withoutKey).not.toHaveProperty('authorization');
    expect(withoutKey).not.toHaveProperty('x-api-key');
    if (isOllama) expect(withKey).not.toHaveProperty('authorization');
  });

  it('calls tools with arguments parsed once', async () => {
    const tools = [
      { name: 'get_weather', description: 'Weather', inputSchema: { type: 'object' } },
    ];
    const { parts } = await run('sim--toolcall-get_weather--bytesplit', { tools });
    const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCall] : []));
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ name: 'get_weather', id: expect.stringMatching(/./) });
    expect(calls[0]?.input).toEqual(JSON.parse(calls[0]?.arguments ?? ''));
    expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'tool-calls' });
    const completion = await complete('sim--toolcall-get_weather', { tools });
    expect(completion.toolCalls).toMatchObject([{ name: 'get_weather' }]);
    expect(completion.finish.reason).toBe('tool-calls');
  });

  it('never repairs a tool call', async () => {
    const broken = { name: 'get_weather', arguments: '{"city": "Par' };
    if (!isOllama) {
      simulator.script({ toolCalls: [broken] });
      const { parts, failure } = await run('sim');
      expect(failure).toBeUndefined();
      expect(parts.filter(({ type }) => type === 'tool-call')).toMatchObject([
        { toolCall: { ...broken, input: {}, invalid: true } },
      ]);
    }
    simulator.script({
      toolCalls: [{ name: 'get_weather' }],
      length: true,
      finishReason: 'length',
    });
    expect((await run('sim')).failure).toMatchObject({ kind: 'content' });
  });

  it('leaves out the tool call in which it reached its limit, where it is asked to', async () => {
    const city = { city: 'Paris' };
    const cut = {
      toolCalls: [
        { name: 'get_weather', arguments: city },
        { name: 'get_weather', arguments: '{"city": "Par' },
      ],
      finishReason: 'length',
      outputTokens: 900,
    };
    simulator.script(cut, cut);
    const { parts, failure } = await run('sim', { omittedCalls: 'cut' });
    expect(failure).toBeUndefined();
    expect(parts).toMatchObject([
      { type: 'tool-call', toolCall: { input: city } },
      { type: 'usage', usage: { outputTokens: 900 } },
      { type: 'finish', reason: 'length' },
    ]);
    const completion = await complete('sim', { omittedCalls: 'cut' });
    expect(completion).toMatchObject({
      toolCalls: [{ input: city }],
      finish: { reason: 'length' },
      usage: { outputTokens: 900 },
    });
    if (isOllama) return;
    simulator.script({ ...cut, finishReason: 'tool_calls' });
    const broken = await run('sim', { omittedCalls: 'cut' });
    expect(broken.failure).toBeUndefined();
    expect(broken.parts).toMatchObject([
      { toolCall: { input: city } },
      { toolCall: { invalid: true } },
      { type: 'usage' },
      { type: 'finish' },
    ]);
  });

  it('hands over an answer of a form as text, also when its length cuts it', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const responseFormat = { type: 'json_schema', name: 'place', schema } as const;
    const json = '{"city":"Par is"}';
    const scripted = isMessages
      ? { toolCalls: [{ name: 'place', arguments: json }] }
      : { text: json };
    simulator.script(scripted, scripted, { ...scripted, finishReason: 'length' });

    const streamed = await run('sim', { responseFormat });
    expect(streamed.failure).toBeUndefined();
    expect(streamed.text).toBe(json);
    expect(streamed.parts.map(({ type }) => type)).not.toContain('tool-call');
    expect(streamed.parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    const whole = await complete('sim', { responseFormat });
    expect(JSON.parse(whole.text)).toEqual({ city: 'Par is' });
    expect(whole).toMatchObject({ toolCalls: [], finish: { reason: 'stop' } });
    expect((await run('sim', { responseFormat })).parts.at(-1)).toMatchObject({
      reason: 'length',
    });
  });

  it('says why an answer ended', async () => {
    expect((await run('sim--length')).parts.at(-1)).toMatchObject({ reason: 'length' });
    expect((await complete('sim--length')).finish.reason).toBe('length');
    if (isOllama) return;
    expect((await run('sim--refusal')).parts.at(-1)).toMatchObject({ reason: 'content-filter' });
    expect((await complete('sim--refusal')).finish.reason).toBe('content-filter');
  });

  it('hands over thinking text apart, unless it is not wanted', async () => {
    const step = { reasoning: 'Let me think. ', text: 'Done.' };
    simulator.script(step, step, step);
    const { parts, text } = await run('sim');
    const thinking = parts.map((part) => (part.type === 'reasoning-delta' ? part.text : ''));
    expect([thinking.join('').trim(), text]).toEqual(['Let me think.', 'Done.']);
    const without = await run('sim', { thinking: false });
    expect(without.parts.some(({ type }) => type === 'reasoning-delta')).toBe(false);
    expect((await complete('sim', { thinking: true })).reasoning.trim()).toBe('Let me think.');
  });
});

describe.each([...protocols])('the protocol %s', (protocol, adapter) => {
  const isOllama = protocol === 'ollama';
  const { connection, streamOf, run, complete } = callsOf(adapter);

  it.each([
    ['bytesplit', FEW],
    ['crlf', 20],
    ['crlf--bytesplit', FEW],
    ['comments-5--first-20', 20],
    ['onewrite', 20],
    ['emptychoices', 20],
  ])('reads %s alike', async (words, chunks) => {
    const { text, failure } = await run(`sim--chunks-${chunks}--${words}`);
    expect(failure).toBeUndefined();
    expect(text.trim()).toBe(wordsOf(chunks));
  });

  it('keeps characters whole', async () => {
    const whole = await complete('sim--unicode');
    const { text } = await run('sim--unicode--bytesplit');
    expect(text).toBe(whole.text);
    expect(text).not.toContain('\uFFFD');
    const echo = await run('sim--echo--bytesplit');
    expect(echo.text).toContain('Hello, 世界');
  });

  it('survives bytes that are not UTF-8', async () => {
    const { parts, text, failure } = await run('sim--wrongutf8');
    expect(failure).toBeUndefined();
    expect(text).toContain('\uFFFD');
    expect(parts.at(-1)?.type).toBe('finish');
  });

  it('reports no usage where there is none', async () => {
    const { parts, failure } = await run('sim--chunks-3--nousage');
    expect(failure).toBeUndefined();
    const usages = parts.flatMap((part) => (part.type === 'usage' ? [part.usage] : []));
    for (const usage of usages) expect(usage.totalTokens).toBeUndefined();
  });

  it('fails as its service does, after the text before the failure', async () => {
    const faults = streamFaults(adapter.protocol(simulator.url)).filter(
      ({ isSilent }) => !isSilent,
    );
    expect(await Promise.all(faults.map((fault) => failureOf(adapter, fault)))).toEqual(
      faults.map(expectedFailure),
    );
  });

  it('needs no end mark after the finish reason', async () => {
    // Ollama's last line is both.
    if (isOllama) return;
    const { failure, parts } = await run('sim--chunks-3--nodone');
    expect([failure, parts.at(-1)?.type]).toEqual([undefined, 'finish']);
  });

  it('leaves upstream at once when aborted or left', async () => {
    const controller = new AbortController();
    const call = callOf('sim--chunks-20--stall-2');
    const aborted = outcomeOf(adapter.stream(call, connection(), options(controller.signal)));
    await eventually(
      () => simulator.requests.length,
      (asked) => asked === 1,
    );
    controller.abort();
    expect((await aborted).failure).toMatchObject({ kind: 'aborted', retryable: false });
    for await (const _parts of streamOf('sim--chunks-20--stall-2')) break;
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect(simulator.requests.map(({ ended }) => ended)).toEqual([
      'client-closed',
      'client-closed',
    ]);
  });

  it.each(REFUSALS)('status %d is %s', async (status, kind, retryable) => {
    const expected = { status, kind, retryable, code: 500 };
    const { failure } = await run(`sim--status-${status}`);
    expect(failure).toMatchObject({
      ...expected,
      message: expect.stringContaining(`(${status})`),
    });
    await expect(complete(`sim--status-${status}`)).rejects.toMatchObject(expected);
  });

  it('reads Retry-After', async () => {
    const { failure } = await run('sim--status-429--retryafter-7');
    expect(failure).toMatchObject({ retryAfterMs: 7_000 });
  });

  it('passes on neither key nor address from an error', async () => {
    const failures = [
      (await run('sim--leak')).failure,
      (await run('sim--chunks-3--error-1--leak')).failure,
      await complete('sim--leak').catch((error: unknown) => error),
    ];
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(UpstreamError);
      expect(String(failure)).not.toMatch(/canary|127\.0\.0\.1|http:/);
    }
  });

  it('can be tried again before the first part', async () => {
    const retry = { attempts: 3, signal: options().signal, sleep: () => Promise.resolve() };
    const model = 'sim--chunks-3--failfirst-2';
    const { text } = await outcomeOf(retryBeforeFirstPart(() => streamOf(model), retry));
    expect(text.trim()).toBe('tok0 tok1 tok2');
    expect(simulator.requests).toHaveLength(3);
    const broken = retryBeforeFirstPart(() => streamOf('sim--chunks-9--reset-2'), retry);
    expect((await outcomeOf(broken)).text.trim()).toBe('tok0 tok1');
    expect(simulator.requests).toHaveLength(4);
  });

  it('fails when its service falls silent, after the text before the silence', async () => {
    const faults = streamFaults(protocol).filter(({ isSilent }) => isSilent);
    expect(await Promise.all(faults.map((fault) => failureOf(adapter, fault)))).toEqual(
      faults.map(expectedFailure),
    );
  });
});
