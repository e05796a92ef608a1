import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import {
  mediaSyncBase,
  toImageBody,
  toSpeechBody,
  toVideoBody,
  toImageResult,
  toSpeechResult,
  toVideoResult,
} from '../media-sync.protocol.js';

const secrets = { address: 'https://x.test', credential: 'canary-key-1f9a7c' };
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'));

describe('the base', () => {
  it.each([
    ['https://x.test', 'https://x.test/v1'],
    [' https://x.test/ ', 'https://x.test/v1'],
    ['https://x.test/v1', 'https://x.test/v1'],
    ['https://x.test/v1//', 'https://x.test/v1'],
    ['https://x.test/openai', 'https://x.test/openai/v1'],
    ['https://x.test/openai/v1', 'https://x.test/openai/v1'],
    ['https://x.test/proxy', 'https://x.test/proxy/v1'],
    // Volcano Ark, Zhipu, Gemini, DeepInfra and DashScope, as their chat models have it
    ['https://x.test/api/v3', 'https://x.test/api/v3'],
    ['https://x.test/api/paas/v4', 'https://x.test/api/paas/v4'],
    ['https://x.test/api/paas', 'https://x.test/api/paas/v4'],
    ['https://x.test/api/paas/v4/images/generations', 'https://x.test/api/paas/v4'],
    ['https://x.test/v1beta/openai', 'https://x.test/v1beta/openai'],
    ['https://x.test/v1/openai', 'https://x.test/v1/openai'],
    ['https://x.test/compatible-mode', 'https://x.test/compatible-mode/v1'],
    ['https://x.test/v1/images/generations', 'https://x.test/v1'],
    ['https://x.test/v1/audio/speech/', 'https://x.test/v1'],
    ['https://x.test/v1/videos', 'https://x.test/v1'],
    ['https://x.test/v1/chat/completions', 'https://x.test/v1'],
    ['http://127.0.0.1:8000', 'http://127.0.0.1:8000/v1'],
  ])('of %j is %s', (address, base) => {
    expect(mediaSyncBase(address)).toBe(base);
  });

  it.each(['', 'x.test', 'ftp://x.test', 'https://x.test?key=1', 'https://me@x.test'])(
    'of %j is refused',
    (address) => {
      expect(() => mediaSyncBase(address)).toThrow('address');
    },
  );
});

describe('the body of an image', () => {
  const call = { model: 'dall-e-3', prompt: 'a cat' };

  it('asks for one image and leaves out what is not given', () => {
    expect(toImageBody(call)).toEqual({ ...call, n: 1 });
    expect(toImageBody({ ...call, size: ' ' })).toEqual({ ...call, n: 1 });
  });

  it('has size and seed as given', () => {
    const wish = { ...call, size: '1024x1792', seed: 0 };
    expect(toImageBody(wish)).toEqual({ ...wish, n: 1 });
  });

  it.each(['gpt-image-1', 'openai/gpt-image-1-mini', 'GPT-Image-1'])(
    'of %s has no seed',
    (model) => {
      expect(toImageBody({ model, prompt: 'a cat', seed: 7 })).toEqual({
        model,
        prompt: 'a cat',
        n: 1,
      });
    },
  );
});

describe('the body of speech', () => {
  it('has the default voice and format', () => {
    const defaults = { model: 'tts-1', input: 'hi', voice: 'alloy', response_format: 'mp3' };
    expect(toSpeechBody({ model: 'tts-1', input: 'hi' })).toEqual(defaults);
    const blank = { model: 'tts-1', input: 'hi', voice: '', responseFormat: '', instructions: '' };
    expect(toSpeechBody(blank)).toEqual(defaults);
  });

  it('has every field as given', () => {
    const body = toSpeechBody({
      model: 'tts-1',
      input: 'hi',
      voice: 'nova',
      responseFormat: 'wav',
      speed: 1.25,
      instructions: 'calm',
    });
    expect(body).toEqual({
      model: 'tts-1',
      input: 'hi',
      voice: 'nova',
      response_format: 'wav',
      speed: 1.25,
      instructions: 'calm',
    });
  });
});

test('the body of a video has the seconds as a text, and only what is given', () => {
  const call = { model: 'sora-2', prompt: 'a cat' };
  expect(toVideoBody(call)).toEqual(call);
  const wish = { ...call, size: '720x1280', quality: 'high' };
  expect(toVideoBody({ ...wish, seconds: 8 })).toEqual({ ...wish, seconds: '8' });
});

describe('an image', () => {
  it('comes by link: the first one', () => {
    expect(toImageResult(fixture('images-linked'), secrets)).toEqual({
      type: 'image',
      mimeType: 'image/png',
      url: 'https://files.test/img-1.png?sig=abc',
      b64Json: null,
      dataUrl: null,
      id: null,
      status: null,
      lastFrameUrl: null,
      rawResponse: JSON.stringify(fixture('images-linked')),
    });
  });

  it('comes embedded', () => {
    expect(toImageResult(fixture('images-embedded'), secrets)).toMatchObject({
      mimeType: 'image/png',
      url: null,
      b64Json: 'iVBORw0KGgo=',
      dataUrl: 'data:image/png;base64,iVBORw0KGgo=',
    });
  });

  it.each([
    ['ffd8ffe000104a46', 'image/jpeg'],
    ['524946460c00000057454250', 'image/webp'],
    ['474946383961', 'image/gif'],
    ['0102', 'image/png'],
  ])('that is embedded and begins with %s is %s', (hex, mimeType) => {
    const base64 = Buffer.from(hex, 'hex').toString('base64');
    expect(toImageResult({ data: [{ b64_json: base64 }] }, secrets)).toMatchObject({
      mimeType,
      dataUrl: `data:${mimeType};base64,${base64}`,
    });
  });

  it('has the type of its link', () => {
    const image = { url: 'https://files.test/a.jpeg' };
    expect(toImageResult({ data: [image] }, secrets).mimeType).toBe('image/jpeg');
  });

  it('comes embedded in a link', () => {
    const dataUrl = 'data:image/webp;base64,UklGRg==';
    for (const image of [{ url: dataUrl }, { b64_json: dataUrl }]) {
      expect(toImageResult({ data: [image] }, secrets)).toMatchObject({
        mimeType: 'image/webp',
        url: null,
        b64Json: 'UklGRg==',
        dataUrl,
      });
    }
  });

  it.each([
    [{}],
    [{ data: [] }],
    [{ data: null }],
    [{ data: 'none' }],
    [{ data: [{ url: '', b64_json: null }] }],
    [{ data: [{ url: 'javascript:alert(1)' }] }],
    [{ data: [{ url: 'data:text/html;base64,AAAA' }] }],
    [null],
    ['text'],
  ])('is missing in %j, which is an error', (answer) => {
    expect(() => toImageResult(answer, secrets)).toThrow('empty result: no image');
  });

  it('may be an error instead', () => {
    const answer = { error: { type: 'rate_limit_error', message: 'Slow down, canary-key-1f9a7c' } };
    expect(() => toImageResult(answer, secrets)).toThrow('It said: Slow down, [removed]');
  });
});

describe('a video', () => {
  it('may be completed without a link', () => {
    expect(toVideoResult(fixture('video-completed'), secrets)).toMatchObject({
      type: 'video',
      mimeType: 'video/mp4',
      url: null,
      id: 'video_68d7512d07848190',
      status: 'completed',
    });
  });

  it.each([
    [{ url: 'https://files.test/a.mp4', data: [{ url: 'https://files.test/b.mp4' }] }, 'a'],
    [{ data: [{ url: 'https://files.test/b.mp4' }] }, 'b'],
  ])('has its link in %j', (answer, name) => {
    expect(toVideoResult({ id: 'v', status: 'completed', ...answer }, secrets)).toMatchObject({
      url: `https://files.test/${name}.mp4`,
      id: 'v',
    });
  });

  it('that failed is a state, and its reason is in the raw answer', () => {
    const result = toVideoResult(fixture('video-failed'), secrets);
    expect(result).toMatchObject({ status: 'failed', id: 'video_68d7512d07848190' });
    expect(result.rawResponse).toContain('The prompt was blocked.');
  });

  it.each(['queued', 'in_progress', 'cancelled', 'a new word'])(
    'passes on the state %s',
    (status) => {
      expect(toVideoResult({ id: 'v', status }, secrets)).toMatchObject({ status, url: null });
    },
  );

  it('that is looked up keeps the id, which not every service repeats', () => {
    expect(toVideoResult({ status: 'queued' }, secrets, 'v7')).toMatchObject({ id: 'v7' });
    expect(toVideoResult({ id: 7, status: 'queued' }, secrets, 'v7')).toMatchObject({ id: '7' });
  });

  it('that can be neither shown nor looked up is an error', () => {
    expect(() => toVideoResult({ status: 'queued' }, secrets)).toThrow('empty result: no video');
    expect(() => toVideoResult({}, secrets, 'v7')).toThrow('empty result: no video');
  });
});

describe('a sound', () => {
  it.each([
    ['mp3', 'audio/mpeg'],
    ['opus', 'audio/opus'],
    ['aac', 'audio/aac'],
    ['flac', 'audio/flac'],
    ['wav', 'audio/wav'],
    ['pcm', 'audio/pcm'],
    ['WAV', 'audio/wav'],
    ['ogg', 'audio/ogg'],
    ['m4a', 'audio/mp4'],
    ['other', 'audio/mpeg'],
  ])('asked for as %s is %s', (format, mimeType) => {
    const base64 = Buffer.from('sound').toString('base64');
    expect(toSpeechResult(Buffer.from('sound'), format, secrets)).toEqual({
      type: 'audio',
      mimeType,
      url: null,
      b64Json: base64,
      dataUrl: `data:${mimeType};base64,${base64}`,
      id: null,
      status: null,
      lastFrameUrl: null,
      rawResponse: null,
    });
  });

  it.each([
    ['RIFF\u0001\u0002\u0003\u0004WAVEfmt ', 'audio/wav'],
    ['fLaC\u0000', 'audio/flac'],
    ['ID3\u0004', 'audio/mpeg'],
    ['\u0000\u0000\u0000\u0018ftypM4A ', 'audio/mp4'],
  ])('that begins with %j is %s, whatever was asked for', (beginning, mimeType) => {
    const bytes = Buffer.from(beginning, 'latin1');
    expect(toSpeechResult(bytes, 'opus', secrets)).toMatchObject({ mimeType });
  });

  it.each([
    ['mp3', 'audio/ogg'],
    ['ogg', 'audio/ogg'],
    ['opus', 'audio/opus'],
  ])('in the container of Ogg that was asked for as %s is %s', (format, mimeType) => {
    expect(toSpeechResult(Buffer.from('OggS\0'), format, secrets)).toMatchObject({ mimeType });
  });

  it('without bytes is an error', () => {
    expect(() => toSpeechResult(Buffer.alloc(0), 'mp3', secrets)).toThrow('no audio');
  });
});
