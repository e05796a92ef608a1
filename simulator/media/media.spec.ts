import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { crc32 } from 'node:zlib';
import { type JsonObject, objectOf, objectsOf, stringOf } from '../http/json.js';
import { type Simulator, startSimulator } from '../index.js';
import { send } from '../wire-client.js';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

const post = (path: string, body: JsonObject, headers = {}) =>
  send(simulator.url + path, body, headers);
const get = (path: string) => send(simulator.url + path);
const bytesOf = async (url: string) => {
  const noKey = { authorization: '', 'x-api-key': '' };
  const { parts, headers } = await send(url, undefined, noKey);
  return { type: headers['content-type'], bytes: Buffer.concat(parts) };
};

describe('synchronous media', () => {
  it('draws a picture of the size asked for, the same for the same prompt', async () => {
    const body = { model: 'sim-image', prompt: 'a cat', size: '96x64' };
    const { json } = await post('/v1/images/generations', body);
    const png = Buffer.from(stringOf(objectsOf(json['data'])[0]?.['b64_json']), 'base64');
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([96, 64]);
    expect(png.readUInt32BE(29)).toBe(crc32(png.subarray(12, 29)));
    const linked = await post('/v1/images/generations', { ...body, model: 'sim-image-url' });
    const file = await bytesOf(stringOf(objectsOf(linked.json['data'])[0]?.['url']));
    expect(file).toEqual({ type: 'image/png', bytes: png });
  });

  it('speaks in tones', async () => {
    const body = { model: 'sim-speech', input: 'hello world', response_format: 'mp3' };
    const { parts, headers } = await post('/v1/audio/speech', body);
    const wav = Buffer.concat(parts);
    expect(headers['content-type']).toBe('audio/wav');
    expect(wav.subarray(0, 12).toString('latin1')).toMatch(/^RIFF.{4}WAVE$/s);
    expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
  });

  it('makes a film as a task', async () => {
    const { json } = await post('/v1/videos', { model: 'v', prompt: 'a cat', seconds: 1 });
    expect(json).toMatchObject({ status: 'queued' });
    const path = `/v1/videos/${stringOf(json['id'])}`;
    expect((await get(path)).json).toMatchObject({ status: 'in_progress' });
    const done = (await get(path)).json;
    expect(done).toMatchObject({ status: 'completed' });
    const { type, bytes } = await bytesOf(stringOf(done['url']));
    expect([type, bytes.subarray(4, 12).toString()]).toEqual(['video/mp4', 'ftypisom']);
    expect(Buffer.concat((await get(`${path}/content`)).parts)).toEqual(bytes);
    expect((await get('/v1/videos/unknown')).status).toBe(404);
  });
});

describe('predictions', () => {
  it('process until completed', async () => {
    const body = { model: 'm', text: 'hello', format: 'mp3' };
    const { json } = await post('/api/v1/model/generateAudio', body);
    expect(json).toMatchObject({ code: 200, data: { status: 'processing', outputs: null } });
    const path = `/api/v1/model/prediction/${stringOf(objectOf(json['data'])['id'])}`;
    expect((await get(path)).json).toMatchObject({ data: { status: 'processing' } });
    const { data } = (await get(path)).json;
    expect(data).toMatchObject({
      status: 'completed',
      outputs: [expect.stringMatching(/\/files\/.*wav$/)],
    });
    expect((await get('/api/v1/model/prediction/unknown')).status).toBe(404);
  });

  it('are complete at once in synchronous mode, and fail when told to', async () => {
    const body = { model: 'm', prompt: 'a cat', size: '64*64', enable_sync_mode: true };
    const done = await post('/api/v1/model/generateImage', body);
    expect(done.json).toMatchObject({ data: { status: 'completed' } });
    const failed = await post('/api/v1/model/generateVideo', { ...body, model: 'm--taskfail' });
    expect(failed.json).toMatchObject({ data: { status: 'failed', outputs: null } });
  });
});

describe('faults', () => {
  const image = { model: 'm--emptyresult', prompt: 'a cat', size: '64*64' };

  it('an empty result holds neither a medium nor a task', async () => {
    expect((await post('/v1/images/generations', image)).json).toMatchObject({ data: [] });
    expect((await post('/v1/videos', image)).json).toEqual({ object: 'video' });
    const spoken = await post('/v1/audio/speech', { model: 'm--emptyresult', input: 'hi' });
    expect(Buffer.concat(spoken.parts)).toHaveLength(0);
    expect((await post('/api/v1/model/generateImage', image)).json).toMatchObject({ data: null });
    const drawn = await post(
      '/api/v1/services/aigc/text2image/image-synthesis',
      { model: image.model, input: { prompt: 'a cat' } },
      { 'x-dashscope-async': 'enable' },
    );
    expect(drawn.json['output']).toEqual({});
  });

  it('a task stays in the state that its name asks for', async () => {
    const { json } = await post('/v1/videos', { model: 'v--taskstate-On_Hold', prompt: 'a cat' });
    expect(json).toMatchObject({ status: 'On_Hold' });
    const path = `/v1/videos/${stringOf(json['id'])}`;
    for (let poll = 0; poll < 4; poll += 1) {
      const state = (await get(path)).json;
      expect(state).toMatchObject({ status: 'On_Hold' });
      expect(state).not.toHaveProperty('url');
    }
  });

  it('a sound breaks off', async () => {
    const body = { model: 'm--reset-1', input: 'hello' };
    const { broken, parts } = await post('/v1/audio/speech', body);
    expect(broken).toBe('ECONNRESET');
    expect(Buffer.concat(parts).toString('latin1', 0, 4)).toBe('RIFF');
  });
});

describe('dashscope', () => {
  const path = '/api/v1/services/aigc/text2image/image-synthesis';
  const body = { model: 'm--polls-3', input: { prompt: 'a cat' }, parameters: { size: '64*64' } };

  it('runs a task to its end', async () => {
    const { json } = await post(path, body, { 'x-dashscope-async': 'enable' });
    const id = stringOf(objectOf(json['output'])['task_id']);
    const states: unknown[] = [objectOf(json['output'])['task_status']];
    let output = objectOf(undefined);
    for (let poll = 0; poll < 3; poll += 1) {
      output = objectOf((await get(`/api/v1/tasks/${id}`)).json['output']);
      states.push(output['task_status']);
    }
    expect(states).toEqual(['PENDING', 'RUNNING', 'RUNNING', 'SUCCEEDED']);
    const { type } = await bytesOf(stringOf(objectsOf(output['results'])[0]?.['url']));
    expect(type).toBe('image/png');
  });

  it('refuses a synchronous call', async () => {
    expect((await post(path, body)).status).toBe(403);
  });
});
