import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import {
  synthesisUrl,
  taskUrl,
  toSynthesisBody,
  toImageResult,
  toTaskId,
} from '../image-sdk.protocol.js';

const secrets = { address: 'https://x.test', credential: 'canary-key-1f9a7c' };
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'));
const inState = (task_status: string, more: object = {}): unknown => ({
  output: { task_id: 't', task_status, ...more },
});

test.each(['https://x.test', 'https://x.test/', 'https://x.test/api/v1'])(
  'the addresses of %s',
  (address) => {
    const base = 'https://x.test/api/v1';
    expect(synthesisUrl(address)).toBe(`${base}/services/aigc/text2image/image-synthesis`);
    expect(taskUrl(address, 't-1')).toBe(`${base}/tasks/t-1`);
    expect(taskUrl(address, '../keys?a')).toBe(`${base}/tasks/..%2Fkeys%3Fa`);
  },
);

test('the body asks for one image of the default size, or as given', () => {
  const input = { prompt: 'a cat' };
  expect(toSynthesisBody({ model: 'wanx-v1', prompt: 'a cat' })).toEqual({
    model: 'wanx-v1',
    input,
    parameters: { size: '1280*1280', n: 1 },
  });
  expect(
    toSynthesisBody({ model: 'wanx-v1', prompt: 'a cat', size: '720*1280', seed: 42 }),
  ).toEqual({ model: 'wanx-v1', input, parameters: { size: '720*1280', n: 1, seed: 42 } });
});

describe('a task', () => {
  it('has an id', () => {
    expect(toTaskId(fixture('created'), secrets)).toBe('0385dc79-5ff8-4d82-bcb6-000000000001');
  });

  it.each([[{}], [{ output: {} }], [{ output: { task_id: '' } }], [null]])(
    'is missing in %j, which is an error',
    (answer) => {
      expect(() => toTaskId(answer, secrets)).toThrow('empty result: no image');
      expect(() => toImageResult(answer, secrets)).toThrow('empty result: no image');
    },
  );

  it('may be refused with the status 200', () => {
    const answer = { code: 'InvalidApiKey', message: 'No canary-key-1f9a7c', request_id: 'r' };
    expect(() => toTaskId(answer, secrets)).toThrow('It said: No [removed]');
  });

  it('that succeeded has the first image that there is', () => {
    expect(toImageResult(fixture('succeeded'), secrets)).toEqual({
      type: 'image',
      mimeType: 'image/png',
      url: 'https://files.test/wanx/one.png?Expires=1736422571',
      b64Json: null,
      dataUrl: null,
      id: null,
      status: 'SUCCEEDED',
      lastFrameUrl: null,
      rawResponse: JSON.stringify(fixture('succeeded')),
    });
  });

  it.each(['PENDING', 'RUNNING', 'SUSPENDED', 'a new word'])('goes on in state %s', (state) => {
    expect(toImageResult(inState(state), secrets)).toBeUndefined();
  });

  it.each(['FAILED', 'CANCELED', 'UNKNOWN'])('in state %s is an error', (state) => {
    expect(() => toImageResult(inState(state), secrets)).toThrow(`The task ended as ${state}.`);
  });

  it('that failed says why', () => {
    expect(() => toImageResult(fixture('failed'), secrets)).toThrow('inappropriate content');
  });

  it.each([[undefined], [[]], [[{ url: '' }]], [[{ code: 'InternalError' }]]])(
    'that succeeded with the results %j is an error',
    (results) => {
      expect(() => toImageResult(inState('SUCCEEDED', { results }), secrets)).toThrow(
        'empty result: no image',
      );
    },
  );
});
