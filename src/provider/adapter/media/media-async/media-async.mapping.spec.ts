import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import {
  gptImageSize,
  imageSize,
  mediaAsyncBase,
  toAudioBody,
  toImageBody,
  toVideoBody,
  toPredictionResult,
  unknownPrediction,
} from '../media-async.protocol.js';

const secrets = { address: 'https://x.test', credential: 'canary-key-1f9a7c' };
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'));

describe('the base', () => {
  it.each([
    ['https://x.test', 'https://x.test/api/v1'],
    ['https://x.test/', 'https://x.test/api/v1'],
    ['https://x.test/v1', 'https://x.test/api/v1'],
    ['https://x.test/api/v1', 'https://x.test/api/v1'],
    ['https://x.test/api/v1/', 'https://x.test/api/v1'],
    ['https://x.test/gateway', 'https://x.test/gateway/api/v1'],
    ['https://x.test/gateway/v1', 'https://x.test/gateway/api/v1'],
    ['https://x.test/my-api/v1', 'https://x.test/my-api/api/v1'],
    ['https://x.test/api', 'https://x.test/api/api/v1'],
    ['https://x.test/v1/chat/completions', 'https://x.test/api/v1'],
    ['https://x.test/api/v1/model/generateImage', 'https://x.test/api/v1'],
    ['https://x.test/api/v1/model/prediction/', 'https://x.test/api/v1'],
  ])('of %j is %s', (address, base) => {
    expect(mediaAsyncBase(address)).toBe(base);
  });

  it.each(['', 'x.test', 'https://x.test?key=1'])('of %j is refused', (address) => {
    expect(() => mediaAsyncBase(address)).toThrow('address');
  });
});

describe('the size of an image', () => {
  it.each([
    ['1:1', '1024*1024'],
    ['3:2', '1152*768'],
    ['4:3', '1152*864'],
    ['16:9', '1360*768'],
    ['9:16', '768*1360'],
    ['640*480', '640*480'],
    ['640x480', '640x480'],
    [undefined, '1024*1024'],
    ['', '1024*1024'],
    ['21:9', '1024*1024'],
    ['large', '1024*1024'],
    ['constructor', '1024*1024'],
  ])('%j is %s', (size, sent) => {
    expect(imageSize(size)).toBe(sent);
  });

  it.each([
    ['1:1', '1024x1024'],
    ['3:2', '1536x1024'],
    ['4:3', '1536x1024'],
    ['16:9', '1536x1024'],
    ['9:16', '1024x1536'],
    ['640*640', '1024x1024'],
    ['640*480', '1536x1024'],
    ['480*640', '1024x1536'],
    ['1792x1024', '1536x1024'],
    ['1024x1792', '1024x1536'],
    [undefined, '1024x1024'],
    ['', '1024x1024'],
    ['large', '1024x1024'],
  ])('%j is %s for the gpt-image family', (size, sent) => {
    expect(gptImageSize(size)).toBe(sent);
  });
});

describe('the body of an image', () => {
  it('asks for a task', () => {
    const call = { model: 'bytedance/seedream-v4', prompt: 'a cat' };
    expect(toImageBody(call)).toEqual({ ...call, size: '1024*1024', enable_sync_mode: false });
    expect(toImageBody({ ...call, size: '16:9', seed: 0 })).toEqual({
      ...call,
      size: '1360*768',
      seed: 0,
      enable_sync_mode: false,
    });
  });

  it('has more fields for the gpt-image family', () => {
    const call = { model: 'openai/gpt-image-1/text-to-image', prompt: 'a cat', size: '16:9' };
    expect(toImageBody(call)).toEqual({
      ...call,
      size: '1536x1024',
      enable_sync_mode: false,
      enable_base64_output: false,
      output_format: 'jpeg',
      quality: 'high',
      moderation: 'low',
    });
    expect(toImageBody({ ...call, model: 'my/openai/gpt-image-1' })).not.toHaveProperty('quality');
  });
});

test('the body of speech has the voice as a reference, and neither speed nor instructions', () => {
  const call = { model: 'm', input: 'hi' };
  expect(toAudioBody(call)).toEqual({ model: 'm', text: 'hi', format: 'mp3' });
  expect(
    toAudioBody({ ...call, voice: 'Anna', responseFormat: 'wav', speed: 2, instructions: 'calm' }),
  ).toEqual({ model: 'm', text: 'hi', format: 'wav', references: [{ speaker: 'Anna' }] });
  expect(toAudioBody({ ...call, voice: ' ' })).not.toHaveProperty('references');
});

test('the body of a video calls the seconds duration', () => {
  const call = { model: 'm', prompt: 'a cat' };
  expect(toVideoBody(call)).toEqual(call);
  expect(toVideoBody({ ...call, size: '16:9', seconds: 5, quality: '720p' })).toEqual({
    ...call,
    size: '16:9',
    duration: 5,
    quality: '720p',
  });
});

describe('a prediction', () => {
  it('that is new has an id and a state', () => {
    expect(toPredictionResult('image', fixture('created'), secrets)).toEqual({
      type: 'image',
      mimeType: 'image/png',
      url: null,
      b64Json: null,
      dataUrl: null,
      id: 'a1b2c3d4e5',
      status: 'processing',
      lastFrameUrl: null,
      rawResponse: JSON.stringify(fixture('created')),
    });
  });

  it('that is completed has the first output', () => {
    expect(toPredictionResult('image', fixture('completed'), secrets, 'x')).toMatchObject({
      id: 'a1b2c3d4e5',
      status: 'completed',
      url: 'https://files.test/one.png',
    });
  });

  it('may have an output that is an object, and a last frame', () => {
    expect(toPredictionResult('video', fixture('completed-video'), secrets)).toMatchObject({
      mimeType: 'video/mp4',
      url: 'https://files.test/film.mp4',
      lastFrameUrl: 'https://files.test/last.png',
    });
  });

  it.each([
    ['https://files.test/a'],
    [{ url: 'https://files.test/a' }],
    [{ video_url: 'https://files.test/a' }],
    [{ url: null, video_url: 'https://files.test/a' }],
  ])('has its resource in %j', (output) => {
    const data = { id: 'a', status: 'completed', outputs: [output] };
    expect(toPredictionResult('video', { data }, secrets).url).toBe('https://files.test/a');
  });

  it.each(['last_frame_url', 'end_frame_url', 'last_frame', 'last_frame_image'])(
    'has its last frame in %s',
    (field) => {
      const link = 'https://files.test/last.png';
      const data = { id: 'a', status: 'completed', outputs: [] };
      for (const frame of [link, { url: link }]) {
        const answer = { data: { ...data, [field]: frame } };
        expect(toPredictionResult('video', answer, secrets).lastFrameUrl).toBe(link);
      }
    },
  );

  it.each(['last_frame_url', 'end_frame_url', 'last_frame', 'last_frame_image'])(
    'has its last frame in %s of an output',
    (field) => {
      const link = 'https://files.test/last.png';
      const film = { video_url: 'https://files.test/film.mp4' };
      for (const frame of [link, { url: link }]) {
        for (const outputs of [
          [{ ...film, [field]: frame }],
          [film, { [field]: frame }],
          { ...film, [field]: frame },
        ]) {
          const answer = { data: { id: 'a', status: 'completed', outputs } };
          expect(toPredictionResult('video', answer, secrets)).toMatchObject({
            url: 'https://files.test/film.mp4',
            lastFrameUrl: link,
          });
        }
      }
    },
  );

  it('has the last frame of the prediction before that of an output', () => {
    const outputs = [{ url: 'https://files.test/a.mp4', last_frame_url: 'https://files.test/2' }];
    const data = { id: 'a', status: 'completed', outputs, last_frame_url: 'https://files.test/1' };
    expect(toPredictionResult('video', { data }, secrets).lastFrameUrl).toBe(
      'https://files.test/1',
    );
  });

  it.each([
    ['image', 'https://files.test/a.jpeg', 'image/jpeg'],
    ['image', 'https://files.test/a.JPG?sig=1', 'image/jpeg'],
    ['image', 'https://files.test/a.webp', 'image/webp'],
    ['image', 'https://files.test/a.mp4', 'image/png'],
    ['image', 'https://files.test/a', 'image/png'],
    ['video', 'https://files.test/a.webm', 'video/webm'],
    ['video', 'https://files.test/a.mov', 'video/quicktime'],
    ['video', 'https://files.test/a', 'video/mp4'],
    ['audio', 'https://files.test/a.flac', 'audio/flac'],
    ['audio', 'https://files.test/a.mp3', 'audio/mpeg'],
    ['audio', 'https://files.test/a.WAV?sig=1', 'audio/wav'],
    ['audio', 'https://files.test/a.ogg#t=1', 'audio/ogg'],
    ['audio', 'https://files.test/a', 'audio/mpeg'],
    ['audio', 'https://files.test/a.constructor', 'audio/mpeg'],
    ['audio', null, 'audio/mpeg'],
  ] as const)('of %s at %s is %s', (type, output, mimeType) => {
    const data = { id: 'a', status: 'completed', outputs: [output] };
    expect(toPredictionResult(type, { data }, secrets).mimeType).toBe(mimeType);
  });

  it.each(['pending', 'succeeded', 'starting', 'a new word'])(
    'passes on the state %s',
    (status) => {
      const answer = { data: { id: 'a', status, outputs: null } };
      expect(toPredictionResult('audio', answer, secrets)).toMatchObject({ status, url: null });
    },
  );

  it.each([
    [{}],
    [{ code: 200, message: 'success', data: null }],
    [{ code: 0, data: {} }],
    [{ data: { status: 'processing', outputs: [] } }],
    [[]],
    [null],
  ])('is missing in %j, which is an error', (answer) => {
    expect(() => toPredictionResult('image', answer, secrets)).toThrow('empty result: no image');
  });

  it('may be an error with the status 200', () => {
    const answer = { code: 402, message: 'Top up, canary-key-1f9a7c', data: null };
    expect(() => toPredictionResult('image', answer, secrets)).toThrow(
      /payment \(402\).* It said: Top up, \[removed\]/,
    );
    expect(() => toPredictionResult('image', { code: 1007, message: 'No' }, secrets)).toThrow(
      'It said: No',
    );
  });

  it('that the service does not know has failed', () => {
    expect(unknownPrediction({ id: 'gone', type: 'video' })).toEqual({
      type: 'video',
      mimeType: 'video/mp4',
      url: null,
      b64Json: null,
      dataUrl: null,
      id: 'gone',
      status: 'failed',
      lastFrameUrl: null,
      rawResponse: null,
    });
  });
});
