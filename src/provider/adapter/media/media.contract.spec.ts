import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../../simulator/index.js';
import type { Simulator } from '../../../../simulator/index.js';
import { eventually } from '../../../../test/support/wait.js';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import { AdapterRegistry, mediaAdapters, mediaSyncPresets } from '../../adapter.registries.js';
import type { ModelConnection } from '../model-call.js';
import { UpstreamError } from '../upstream.error.js';
import type { MediaAdapter, MediaCallOptions, MediaResult } from './media.adapter.js';

const CREDENTIAL = 'canary-key-1f9a7c.canary-part-82d';
const FIELDS = [
  'b64Json',
  'dataUrl',
  'id',
  'lastFrameUrl',
  'mimeType',
  'rawResponse',
  'status',
  'type',
  'url',
];
const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const adaptersAt = (address: string): readonly MediaAdapter[] =>
  mediaAdapters(http, { address, pollMs: 60_000 });
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };

type Make = (
  adapter: MediaAdapter,
  model: string,
  connection: ModelConnection,
  options: MediaCallOptions,
) => Promise<MediaResult> | undefined;
const makers = {
  image: (adapter, model, ...rest) =>
    adapter.image?.({ model, prompt: 'a cat', size: '64x64' }, ...rest),
  speech: (adapter, model, ...rest) => adapter.speech?.({ model, input: 'a cat' }, ...rest),
  video: (adapter, model, ...rest) =>
    adapter.video?.({ model, prompt: 'a cat', seconds: 1 }, ...rest),
} satisfies Record<string, Make>;
const TYPES = { image: 'image', speech: 'audio', video: 'video' } as const;
const kinds = ['image', 'speech', 'video'] as const;
const cases = adaptersAt('https://x.test').flatMap((adapter) =>
  kinds.filter((kind) => adapter[kind]).map((kind) => [adapter.code, kind] as const),
);

let simulator: Simulator;
let adapters: AdapterRegistry<MediaAdapter>;
beforeAll(async () => {
  simulator = await startSimulator();
  adapters = new AdapterRegistry(adaptersAt(simulator.url));
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

describe.each(cases)('%s makes %s', (code, kind) => {
  const isSound = kind === 'speech' && mediaSyncPresets.some((preset) => preset.code === code);
  const make = async (
    model: string,
    options: Partial<MediaCallOptions> = {},
    credential: string | undefined = CREDENTIAL,
  ): Promise<MediaResult> => {
    const connection = { address: simulator.url, ...(credential !== undefined && { credential }) };
    const given = { limits, signal: new AbortController().signal, ...options };
    const result = await makers[kind](adapters.get(code), model, connection, given);
    if (result === undefined) throw new Error('The adapter has no such call.');
    return result;
  };

  it('and answers every field, with something to show or to look up', async () => {
    const result = await make('sim');
    expect(Object.keys(result).sort()).toEqual(FIELDS);
    expect(Object.values(result)).not.toContain(undefined);
    expect(result.type).toBe(TYPES[kind]);
    expect(result.mimeType).toMatch(new RegExp(`^${TYPES[kind]}/`));
    expect(result.url ?? result.dataUrl ?? result.id).toMatch(/\S/);
  });

  it('with a bearer token, and no header for a blank key', async () => {
    await make('sim');
    const [{ headers } = { headers: {} }] = simulator.requests;
    expect(headers).toMatchObject({ authorization: `Bearer ${CREDENTIAL}` });
    simulator.reset();
    await make('sim', {}, ' ').catch(() => undefined);
    expect(simulator.requests).toHaveLength(1);
    expect(simulator.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('or says that the answer is empty', async () => {
    await expect(make('sim--emptyresult')).rejects.toMatchObject({
      kind: 'protocol',
      code: 500,
      message: expect.stringContaining('empty result'),
    });
  });

  it.each([
    [400, 'invalid-request', false],
    [401, 'authentication', false],
    [403, 'authentication', false],
    [404, 'not-found', false],
    [429, 'rate-limit', true],
    [500, 'overloaded', true],
    [503, 'overloaded', true],
  ])('or fails with the status %d as %s', async (status, kindOfError, retryable) => {
    const failure = make(`sim--status-${status}`);
    await expect(failure).rejects.toMatchObject({
      status,
      kind: kindOfError,
      retryable,
      code: 500,
    });
    expect(simulator.requests).toHaveLength(1);
  });

  it('or names the path, and no host, that a 404 came from', async () => {
    const failure: unknown = await make('no-such-model').catch((error: unknown) => error);
    const [request] = simulator.requests;
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(failure).toMatchObject({ status: 404, kind: 'not-found' });
    expect(String(failure)).toContain(` ${request?.path} `);
    expect(String(failure)).not.toMatch(/127\.0\.0\.1|http:/);
  });

  it('or says that the key is wrong', async () => {
    await expect(make('sim', {}, 'wrong-key')).rejects.toMatchObject({ status: 401 });
  });

  it('or reads Retry-After', async () => {
    await expect(make('sim--status-429--retryafter-7')).rejects.toMatchObject({
      retryAfterMs: 7_000,
    });
  });

  it('and passes on neither key nor address from an error', async () => {
    const failure: unknown = await make('sim--leak').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(JSON.stringify([String(failure), failure])).not.toMatch(/canary|127\.0\.0\.1|http:/);
  });

  it.each(['<html>Welcome</html>', '"text"', '{}', '[]'])(
    'or refuses the body %s',
    async (body) => {
      simulator.script({ body, headers: { 'content-type': 'application/json' } });
      await expect(make('sim')).rejects.toMatchObject({ kind: 'protocol', retryable: false });
    },
  );

  it.each([
    ['reset-0', 'connection'],
    ['reset-1', 'connection'],
    // Nobody can tell that a sound without a declared length was cut.
    ...(isSound ? [] : [['cut-1', 'cut'] as const]),
  ])('or says that the answer broke off (%s)', async (fault, kindOfError) => {
    await expect(make(`sim--${fault}`)).rejects.toMatchObject({
      kind: kindOfError,
      retryable: true,
    });
  });

  it('or ends a silent call', async () => {
    const impatient = { limits: { ...limits, idleMs: 300 } };
    await expect(make('sim--stall-0', impatient)).rejects.toMatchObject({
      kind: 'timeout',
      retryable: false,
    });
  });

  it('or leaves upstream at once when aborted', async () => {
    const controller = new AbortController();
    const call = make('sim--stall-0', { signal: controller.signal });
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
  });
});
