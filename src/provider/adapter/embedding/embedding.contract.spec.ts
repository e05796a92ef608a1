import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../../simulator/index.js';
import type { Simulator } from '../../../../simulator/index.js';
import { eventually } from '../../../../test/support/wait.js';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import type { ModelConnection } from '../model-call.js';
import { UpstreamError } from '../upstream.error.js';
import type { EmbeddingAdapter, EmbeddingAnswer, EmbeddingCall } from './embedding.adapter.js';
import { embeddingAdapters } from '../../adapter.registries.js';

const CREDENTIAL = 'canary-key-1f9a7c';
const TEXTS = ['Annual leave lasts 25 days.', '年假规定', 'Cats sleep a lot.'];
const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };
let simulator: Simulator;

type Body = Readonly<Record<string, unknown>>;
const dimensionsOf = (body: Body): unknown => body['dimensions'] ?? body['output_dimension'];

beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

/** Calls of the adapter at the simulator. */
function callsOf(adapter: EmbeddingAdapter) {
  const isLocal = adapter.endpoint('http://x.test').endsWith('/api/embed');
  const connection = (credential?: string): ModelConnection => ({
    address: simulator.url,
    ...(credential !== undefined && { credential }),
  });
  const embed = (
    model: string,
    extra: Partial<EmbeddingCall> = {},
    signal = new AbortController().signal,
  ): Promise<EmbeddingAnswer> =>
    adapter.embed({ model, inputs: TEXTS, ...extra }, connection(CREDENTIAL), { limits, signal });
  return { isLocal, connection, embed };
}

const adapters = embeddingAdapters(http).map((adapter) => [adapter.code, adapter] as const);

/** One of each protocol, whose vendors share the code that reads answers and failures. */
const protocols = new Map(
  adapters.map(([, adapter]) => [adapter.constructor.name, adapter] as const),
);

describe.each(adapters)('the adapter %s', (_code, adapter) => {
  const { isLocal, connection, embed } = callsOf(adapter);

  it('answers one vector a text, in the order of the texts', async () => {
    const { vectors, usage } = await embed('sim-64');
    expect(vectors.map(({ length }) => length)).toEqual([64, 64, 64]);
    expect(usage?.inputTokens).toBeGreaterThan(0);
    const alone = await embed('sim-64', { inputs: TEXTS.slice(1, 2) });
    expect(alone.vectors[0]).toEqual(vectors[1]);
    expect(vectors[0]).not.toEqual(vectors[1]);
    expect((await embed('sim-64--nousage')).usage).toBeUndefined();
  });

  it('takes as many texts at once as it says', async () => {
    const inputs = Array.from({ length: adapter.maxInputs }, (_, at) => `text ${at}`);
    expect((await embed('sim-8', { inputs })).vectors).toHaveLength(adapter.maxInputs);
  });

  it('sends the key where the protocol has it, and no header for a blank or absent one', async () => {
    const call = { model: 'sim-8', inputs: ['a'] };
    const options = { limits, signal: new AbortController().signal };
    await adapter.embed(call, connection(` ${CREDENTIAL} `), options);
    for (const credential of [undefined, ' ']) {
      await adapter.embed(call, connection(credential), options).catch(() => undefined);
    }
    const [withKey, ...withoutKey] = simulator.requests.map(({ headers }) => headers);
    if (isLocal) expect(withKey).not.toHaveProperty('authorization');
    else expect(withKey).toMatchObject({ authorization: `Bearer ${CREDENTIAL}` });
    expect(withoutKey).toHaveLength(2);
    for (const headers of withoutKey) expect(headers).not.toHaveProperty('authorization');
  });

  it('asks every service for shorter vectors, and fails where one refuses them', async () => {
    const shorter = { dimensions: 64, shortenedTo: 32 };
    expect((await embed('sim-64', shorter)).vectors[0]).toHaveLength(32);
    expect(simulator.requests.map(({ body }) => dimensionsOf(body as Body))).toEqual([32]);
    simulator.script({ match: { model: 'sim-16' }, status: 400 });
    await expect(embed('sim-16', shorter)).rejects.toMatchObject({ status: 400 });
    expect(simulator.requests).toHaveLength(2);
  });

  it('survives a service that refuses or ignores a number of dimensions', async () => {
    const answer = await embed('sim-64', { dimensions: 32 });
    const bodies = (): Body[] => simulator.requests.map(({ body }) => body as Body);
    const asks = bodies().some((body) => dimensionsOf(body) !== undefined);
    expect(answer.vectors[0]).toHaveLength(asks ? 32 : 64);
    if (!asks) return;
    simulator.script({ match: { model: 'sim-16' }, status: 400 });
    expect((await embed('sim-16', { dimensions: 32 })).vectors[0]).toHaveLength(16);
    expect(bodies().map(dimensionsOf)).toEqual([32, 32, undefined]);
  });
});

describe.each([...protocols])('the protocol of %s', (_name, adapter) => {
  const { isLocal, connection, embed } = callsOf(adapter);

  it.each([
    ['toofew', '2 vectors for 3 texts'],
    ['toomany', '4 vectors for 3 texts'],
    ['ragged', 'different lengths'],
    ['notfinite', 'no finite number'],
  ])('refuses an answer with the fault %s', async (fault, message) => {
    await expect(embed(`sim-8--${fault}`)).rejects.toMatchObject({
      kind: 'protocol',
      retryable: false,
      message: expect.stringContaining(message),
    });
  });

  it('refuses vectors for the same text', async () => {
    const answer = embed('sim-8--sameindex');
    if (isLocal) expect((await answer).vectors).toHaveLength(3);
    else await expect(answer).rejects.toMatchObject({ kind: 'protocol', retryable: false });
  });

  it.each([
    ['{"data":[{"index":0,"embedding":[NaN]}],"embeddings":[[NaN]]}', 'not JSON'],
    ['<html>Welcome</html>', 'not JSON'],
    ['', 'not JSON'],
    ['{}', 'without vectors'],
    ['[]', 'without vectors'],
  ])('refuses the body %s', async (body, message) => {
    simulator.script({ body });
    await expect(embed('sim')).rejects.toMatchObject({
      kind: 'protocol',
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['cut-1', 'cut', true],
    ['malformed-0', 'cut', true],
    ['reset-1', 'connection', true],
    ['reset-0', 'connection', true],
  ])('tells that an answer broke off (%s)', async (fault, kind, retryable) => {
    await expect(embed(`sim-64--${fault}`)).rejects.toMatchObject({ kind, retryable });
  });

  it.each([
    [400, 'invalid-request', false],
    [401, 'authentication', false],
    [403, 'authentication', false],
    [404, 'not-found', false],
    [408, 'timeout', true],
    [429, 'rate-limit', true],
    [500, 'overloaded', true],
    [503, 'overloaded', true],
  ])('status %d is %s', async (status, kind, retryable) => {
    await expect(embed(`sim--status-${status}`)).rejects.toMatchObject({
      status,
      kind,
      retryable,
      code: 500,
      message: expect.stringContaining(`(${status})`),
    });
  });

  it('reads Retry-After', async () => {
    await expect(embed('sim--status-429--retryafter-7')).rejects.toMatchObject({
      retryAfterMs: 7_000,
    });
  });

  it('names an unknown model, and a wrong key where the protocol has keys', async () => {
    await expect(embed('no-such-model')).rejects.toMatchObject({
      kind: 'not-found',
      vendorText: expect.stringContaining('does not exist'),
    });
    const options = { limits, signal: new AbortController().signal };
    const call = { model: 'sim', inputs: ['a'] };
    const answer = adapter.embed(call, connection('wrong-key'), options);
    if (isLocal) expect((await answer).vectors).toHaveLength(1);
    else await expect(answer).rejects.toMatchObject({ kind: 'authentication', status: 401 });
  });

  it('passes on neither key nor address from an error', async () => {
    const failure: unknown = await embed('sim--leak').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(JSON.stringify([String(failure), failure])).not.toMatch(/canary|127\.0\.0\.1|http:/);
  });

  it('ends a silent call', async () => {
    const impatient = {
      limits: { ...limits, idleMs: 300 },
      signal: new AbortController().signal,
    };
    const call = { model: 'sim--stall-0', inputs: ['a'] };
    await expect(adapter.embed(call, connection(CREDENTIAL), impatient)).rejects.toMatchObject({
      kind: 'timeout',
      retryable: false,
    });
  });

  it('leaves upstream at once when aborted', async () => {
    const controller = new AbortController();
    const call = embed('sim--stall-0', {}, controller.signal);
    await eventually(
      () => simulator.requests.length,
      (asked) => asked === 1,
    );
    controller.abort();
    await expect(call).rejects.toMatchObject({ kind: 'aborted', retryable: false });
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    expect(simulator.requests.map(({ ended }) => ended)).toEqual(['client-closed']);
    await expect(embed('sim', {}, controller.signal)).rejects.toMatchObject({ kind: 'aborted' });
    expect(simulator.requests).toHaveLength(1);
  });
});
