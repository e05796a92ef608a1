import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../../simulator/index.js';
import type { Simulator } from '../../../../simulator/index.js';
import { eventually } from '../../../../test/support/wait.js';
import { OutboundHttp } from '../../../platform/outbound/index.js';
import { AdapterRegistry, mediaAdapters } from '../../adapter.registries.js';
import { UpstreamError } from '../upstream.error.js';
import type { MediaAdapter, MediaCallOptions, MediaResult, MediaType } from './media.adapter.js';

const CREDENTIAL = 'canary-key-1f9a7c.canary-part-82d';
const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const adaptersAt = (address: string): readonly MediaAdapter[] =>
  mediaAdapters(http, { address, pollMs: 60_000 });
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };
const known = adaptersAt('https://x.test');
const withVideos = known.filter(({ lookUpVideo }) => lookUpVideo).map(({ code }) => code);
const withPredictions = known
  .filter(({ lookUpPrediction }) => lookUpPrediction)
  .map(({ code }) => code);

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

const connection = (credential = CREDENTIAL): { address: string; credential: string } => ({
  address: simulator.url,
  credential,
});
const withLimits = (given: Partial<MediaCallOptions> = {}): MediaCallOptions => ({
  limits,
  signal: new AbortController().signal,
  ...given,
});
async function answered(call: Promise<MediaResult> | undefined): Promise<MediaResult> {
  if (call === undefined) throw new Error('The adapter has no such call.');
  return call;
}

describe.each(withVideos)('a video of %s', (code) => {
  const create = (model: string): Promise<MediaResult> =>
    answered(adapters.get(code).video?.({ model, prompt: 'a cat' }, connection(), withLimits()));
  const lookUp = (
    id: string | null,
    given: Partial<MediaCallOptions> = {},
    credential = CREDENTIAL,
  ): Promise<MediaResult> =>
    answered(adapters.get(code).lookUpVideo?.(id ?? '', connection(credential), withLimits(given)));

  it('runs until it is completed', async () => {
    const { id, status, url } = await create('sim--polls-3');
    expect([status, url]).toEqual([expect.stringMatching(/^(queued|processing)$/), null]);
    const states = [await lookUp(id), await lookUp(id)];
    for (const state of states) {
      expect(state).toMatchObject({ id, url: null });
      expect(state.status).toMatch(/^(in_progress|processing)$/);
    }
    const done = await lookUp(id);
    expect(done).toMatchObject({ id, type: 'video', mimeType: 'video/mp4', status: 'completed' });
    expect(done.url).toMatch(/^http.*\.mp4$/);
    expect(JSON.parse(done.rawResponse ?? '')).toBeInstanceOf(Object);
  });

  it('may fail, which is a state', async () => {
    const { id } = await create('sim--polls-1--taskfail');
    expect(await lookUp(id)).toMatchObject({ id, status: 'failed', url: null });
  });

  it('may be in a state that nobody knows', async () => {
    const { id } = await create('sim--taskstate-under_review');
    for (let poll = 0; poll < 3; poll++) {
      expect(await lookUp(id)).toMatchObject({ id, status: 'under_review', url: null });
    }
  });

  it.each([
    [401, 'authentication', false],
    [429, 'rate-limit', true],
    [500, 'overloaded', true],
  ])('is not lost when a lookup is answered %d', async (status, kind, retryable) => {
    const { id } = await create('sim--polls-1');
    simulator.script({ match: { path: String(id) }, status });
    await expect(lookUp(id)).rejects.toMatchObject({ status, kind, retryable });
    expect(await lookUp(id)).toMatchObject({ status: 'completed' });
  });

  it('is looked up with the key alone, by GET', async () => {
    const { id } = await create('sim');
    await lookUp(id);
    const request = simulator.requests.at(-1);
    expect(request).toMatchObject({ method: 'GET', body: null });
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${CREDENTIAL}` });
    await expect(lookUp(id, {}, 'wrong-key')).rejects.toMatchObject({ status: 401 });
  });

  it('may be looked up in vain', async () => {
    const { id } = await create('sim');
    const path = String(id);
    simulator.script({ match: { path }, body: {} }, { match: { path }, cut: 1 });
    await expect(lookUp(id)).rejects.toMatchObject({
      kind: 'protocol',
      message: expect.stringContaining('empty result: no video'),
    });
    await expect(lookUp(id)).rejects.toMatchObject({ kind: 'cut' });
    simulator.script({ match: { path }, stall: 0 });
    const controller = new AbortController();
    const asked = simulator.requests.length;
    const call = lookUp(id, { signal: controller.signal });
    await eventually(
      () => simulator.requests.length,
      (count) => count > asked,
    );
    controller.abort();
    await expect(call).rejects.toMatchObject({ kind: 'aborted' });
  });

  it('cannot be looked up by what leads to another path', async () => {
    for (const id of ['', ' ', '.', '..']) {
      await expect(lookUp(id)).rejects.toMatchObject({ code: 400 });
    }
    expect(simulator.requests).toEqual([]);
    await lookUp('../../models?a=b#c').catch(() => undefined);
    expect(simulator.requests.map(({ path }) => path)).toEqual([
      expect.stringMatching(/\/v1\/(videos|model\/prediction)\/\.\.%2F\.\.%2Fmodels%3Fa%3Db%23c$/),
    ]);
  });
});

describe.each(withPredictions)('a prediction of %s', (code) => {
  const lookUp = (id: string, type: MediaType): Promise<MediaResult> =>
    answered(adapters.get(code).lookUpPrediction?.({ id, type }, connection(), withLimits()));

  it('of an image and of a sound is completed at last', async () => {
    const { image, speech } = adapters.get(code);
    const call = { model: 'sim--polls-1', prompt: 'a cat', size: '64*64' };
    const { id } = await answered(
      image?.call(adapters.get(code), call, connection(), withLimits()),
    );
    expect(await lookUp(String(id), 'image')).toMatchObject({
      type: 'image',
      mimeType: 'image/png',
      status: 'completed',
      url: expect.stringMatching(/\.png$/),
    });
    const said = { model: 'sim--polls-1', input: 'hello', voice: 'Anna' };
    const sound = await answered(
      speech?.call(adapters.get(code), said, connection(), withLimits()),
    );
    expect(sound.mimeType).toBe('audio/mpeg');
    expect(await lookUp(String(sound.id), 'audio')).toMatchObject({
      type: 'audio',
      mimeType: 'audio/wav',
      url: expect.stringMatching(/\.wav$/),
    });
  });

  it('that the service does not know has failed', async () => {
    for (const type of ['image', 'audio', 'video'] as const) {
      expect(await lookUp('gone', type)).toMatchObject({ type, id: 'gone', status: 'failed' });
    }
    simulator.script({ body: { code: 404, message: 'not found', data: null } });
    expect(await lookUp('gone', 'image')).toMatchObject({ id: 'gone', status: 'failed' });
  });
});

describe.each(withVideos.filter((code) => !withPredictions.includes(code)))('%s', (code) => {
  it('names the path of a video that it does not know', async () => {
    const { lookUpVideo } = adapters.get(code);
    const failure: unknown = await answered(
      lookUpVideo?.call(adapters.get(code), 'video_gone', connection(), withLimits()),
    ).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamError);
    expect(failure).toMatchObject({ kind: 'not-found', status: 404 });
    expect(String(failure)).toContain('/v1/videos/video_gone');
    expect(String(failure)).not.toContain('127.0.0.1');
  });

  it('speaks with the type of what it really sends', async () => {
    const { speech } = adapters.get(code);
    const call = { model: 'sim', input: 'hello world', responseFormat: 'mp3' };
    const result = await answered(
      speech?.call(adapters.get(code), call, connection(), withLimits()),
    );
    expect(result.mimeType).toBe('audio/wav');
    expect(Buffer.from(result.b64Json ?? '', 'base64').toString('latin1', 0, 4)).toBe('RIFF');
    expect(result.dataUrl).toBe(`data:audio/wav;base64,${result.b64Json}`);
  });

  it('refuses a sound of more than 64 MiB', async () => {
    const body = 'x'.repeat(64 * 1024 * 1024 + 1);
    simulator.script({ body, headers: { 'content-type': 'audio/mpeg' } });
    const { speech } = adapters.get(code);
    const call = { model: 'sim', input: 'hello world' };
    await expect(
      speech?.call(adapters.get(code), call, connection(), withLimits()),
    ).rejects.toMatchObject({ kind: 'protocol', message: expect.stringContaining('too large') });
  });

  it('draws into the answer, or behind a link', async () => {
    const { image } = adapters.get(code);
    const draw = (model: string): Promise<MediaResult> =>
      answered(
        image?.call(
          adapters.get(code),
          { model, prompt: 'a cat', size: '64x64' },
          connection(),
          withLimits(),
        ),
      );
    const embedded = await draw('sim-image');
    expect(embedded).toMatchObject({ mimeType: 'image/png', url: null, id: null, status: null });
    expect(Buffer.from(embedded.b64Json ?? '', 'base64').toString('latin1', 1, 4)).toBe('PNG');
    expect(await draw('sim-image-url')).toMatchObject({
      b64Json: null,
      dataUrl: null,
      url: expect.stringMatching(/\.png$/),
    });
  });
});
