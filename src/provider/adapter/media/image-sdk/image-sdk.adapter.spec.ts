import { afterAll, afterEach, beforeAll, describe, expect, it, test } from '@jest/globals';
import { startSimulator } from '../../../../../simulator/index.js';
import type { Simulator } from '../../../../../simulator/index.js';
import { OutboundHttp } from '../../../../platform/outbound/index.js';
import type { MediaResult } from '../media.adapter.js';
import { ImageSdkAdapter } from '../image-sdk.protocol.js';

const CREDENTIAL = 'canary-key-1f9a7c';
const SYNTHESIS = '/api/v1/services/aigc/text2image/image-synthesis';
const http = new OutboundHttp({ allowedPrivateHosts: ['127.0.0.0/8'] });
const limits = { connectMs: 20_000, idleMs: 20_000, totalMs: 50_000 };

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(async () => {
  await http.close();
  await simulator.close();
});

function draw(
  model: string,
  { pollMs = 60_000, signal = new AbortController().signal } = {},
): Promise<MediaResult> {
  const options = { code: 'image_sdk', label: 'Image', address: simulator.url, pollMs };
  return new ImageSdkAdapter(http, options).image(
    { model, prompt: 'a cat', size: '64*64', seed: 7 },
    // Whatever address the model has is not called, whether or not it could be.
    { address: 'http://10.1.2.3:1/nowhere?x=1', credential: CREDENTIAL },
    { limits, signal },
  );
}

test('a task is started and asked for until it is over', async () => {
  const result = await draw('sim--polls-2');
  expect(result).toMatchObject({
    type: 'image',
    mimeType: 'image/png',
    url: expect.stringMatching(/\/files\/.*64x64\.png$/),
    id: null,
    status: 'SUCCEEDED',
  });
  const [started, ...lookups] = simulator.requests;
  expect(started).toMatchObject({
    method: 'POST',
    path: SYNTHESIS,
    headers: { 'x-dashscope-async': 'enable', authorization: `Bearer ${CREDENTIAL}` },
    body: {
      model: 'sim--polls-2',
      input: { prompt: 'a cat' },
      parameters: { size: '64*64', n: 1, seed: 7 },
    },
  });
  expect(lookups.map(({ method }) => method)).toEqual(['GET', 'GET']);
  for (const { path, headers } of lookups) {
    expect(path).toMatch(/^\/api\/v1\/tasks\/[\w-]+$/);
    expect(headers.authorization).toBe(`Bearer ${CREDENTIAL}`);
  }
});

describe('a task that ends badly', () => {
  it('is an error that says why', async () => {
    await expect(draw('sim--taskfail')).rejects.toMatchObject({
      kind: 'overloaded',
      message: expect.stringContaining('The simulator was told to fail this task.'),
    });
  });

  it('is an error in words of its own if the service gives none', async () => {
    await expect(draw('sim--taskstate-CANCELED')).rejects.toMatchObject({
      kind: 'invalid-request',
      message: expect.stringContaining('The task ended as CANCELED.'),
    });
  });

  it('is an error if there is no image', async () => {
    await expect(draw('sim--taskstate-SUCCEEDED')).rejects.toMatchObject({
      kind: 'protocol',
      message: expect.stringContaining('empty result: no image'),
    });
  });

  it('is an error if the service knows it no longer', async () => {
    simulator.script({ body: { output: { task_id: 'gone', task_status: 'PENDING' } } });
    await expect(draw('sim')).rejects.toThrow('The task ended as UNKNOWN.');
  });
});

describe('a lookup that fails', () => {
  const failing = (status: number) => ({ match: { path: '/tasks/t' }, status });
  const started = { body: { output: { task_id: 't', task_status: 'PENDING' } } };

  it('in passing is done again', async () => {
    const results = [{ url: 'https://files.test/a.png' }];
    simulator.script(started, failing(503), failing(429), {
      match: { path: '/tasks/t' },
      body: { output: { task_status: 'SUCCEEDED', results, said: `key ${CREDENTIAL}` } },
    });
    const result = await draw('sim');
    expect(result.url).toBe('https://files.test/a.png');
    expect(result.rawResponse).toContain('key [removed]');
  });

  it('again and again is an error', async () => {
    simulator.script(started, failing(503), failing(503), failing(503));
    await expect(draw('sim')).rejects.toMatchObject({ status: 503, kind: 'overloaded' });
  });

  it('for good is an error at once', async () => {
    simulator.script(started, failing(403));
    await expect(draw('sim')).rejects.toMatchObject({ status: 403, kind: 'authentication' });
    simulator.script(started, failing(404));
    await expect(draw('sim')).rejects.toThrow('/api/v1/tasks/t ');
  });
});

describe('a task without end', () => {
  it('is given up after the time that there is', async () => {
    await expect(draw('sim--taskstate-SUSPENDED', { pollMs: 600 })).rejects.toMatchObject({
      kind: 'timeout',
      retryable: false,
      message: expect.stringContaining('within 0.6 seconds'),
    });
    await expect(draw('sim--stall-0', { pollMs: 200 })).rejects.toMatchObject({ kind: 'timeout' });
  });

  it('is left when the caller leaves', async () => {
    const controller = new AbortController();
    const drawing = draw('sim--taskstate-RUNNING', { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    await expect(drawing).rejects.toMatchObject({ kind: 'aborted', retryable: false });
  });
});
