import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { createMediaModels, scriptPrediction } from '../../support/media/media-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';

interface Result {
  readonly type: string;
  readonly mimeType: string | null;
  readonly url: string | null;
  readonly b64Json: string | null;
  readonly dataUrl: string | null;
  readonly id: string | null;
  readonly status: string | null;
  readonly rawResponse: string | null;
  readonly lastFrameUrl: string | null;
}

/** Every field there is, in the order of the specification's table. */
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
const KEY = 'secret-key-of-the-media-models';

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start({ IMAGE_SDK_URL: simulator.url });
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator, KEY);
  for (const code of ['custom_api', 'image_sdk']) await createProvider(admin, code);
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(() => simulator.reset());

async function resultOf(answer: Promise<Answer<Result>>): Promise<Result> {
  const { code, msg, data } = await answer;
  expect({ code, msg }).toEqual({ code: 200, msg: 'Done.' });
  expect(Object.keys(data).sort()).toEqual(FIELDS);
  return data;
}

const image = (body: object): Promise<Answer<Result>> => admin.post('/media/image', body);
const speech = (body: object): Promise<Answer<Result>> => admin.post('/media/speech', body);
const video = (body: object): Promise<Answer<Result>> => admin.post('/media/video', body);
const prediction = (model: string, id: string): Promise<Answer<Result>> =>
  admin.get(`/media/prediction?model=${encodeURIComponent(model)}&predictionId=${id}`);
const videoOf = (model: string, id: string): Promise<Answer<Result>> =>
  admin.get(`/media/video?model=${encodeURIComponent(model)}&videoId=${id}`);

/** What the simulator was asked last: method and path, and the body. */
function lastRequest(): { call: string; body: unknown } {
  const { method, path, body } = simulator.requests.at(-1) ?? {};
  return { call: `${method} ${path}`, body };
}

function bytesOf({ dataUrl }: Result): Buffer {
  return Buffer.from(dataUrl?.split(',')[1] ?? '', 'base64');
}

describe('POST /media/image', () => {
  it('of media_sync is answered with the picture', async () => {
    const made = await resultOf(
      image({ model: 'sync-image', prompt: 'A lake', size: '64x32', seed: 7 }),
    );
    expect(lastRequest()).toEqual({
      call: 'POST /v1/images/generations',
      body: { model: 'sync-image', prompt: 'A lake', n: 1, size: '64x32', seed: 7 },
    });
    expect(made).toMatchObject({ type: 'image', mimeType: 'image/png', id: null, status: null });
    expect(made.url).toBeNull();
    expect(made.dataUrl).toBe(`data:image/png;base64,${made.b64Json}`);
    expect(bytesOf(made).subarray(1, 4).toString()).toBe('PNG');
    expect(made.rawResponse?.length).toBeLessThan(10_000);
  });

  it('of media_sync is answered with its link where the service answers one', async () => {
    await createModel(admin, {
      modelName: 'picture-url',
      category: 'image',
      providerCode: 'media_sync',
      apiHost: `${simulator.url}/v1/`,
      apiKey: KEY,
    });
    const made = await resultOf(image({ model: 'picture-url', prompt: 'A lake' }));
    expect(lastRequest().call).toBe('POST /v1/images/generations');
    expect(made).toMatchObject({ b64Json: null, dataUrl: null });
    expect(made.url).toMatch(/\.png$/);
  });

  it('of media_sync leaves the seed out for gpt-image', async () => {
    await createModel(admin, {
      modelName: 'gpt-image-2',
      category: 'image',
      providerCode: 'media_sync',
      apiHost: simulator.url,
      apiKey: KEY,
    });
    await resultOf(image({ model: 'gpt-image-2', prompt: 'A lake', seed: 7 }));
    expect(lastRequest().body).toEqual({ model: 'gpt-image-2', prompt: 'A lake', n: 1 });
  });

  it('of media_async is answered with the task', async () => {
    const begun = await resultOf(image({ model: 'async-image', prompt: 'A lake', size: '16:9' }));
    expect(lastRequest()).toMatchObject({
      call: 'POST /api/v1/model/generateImage',
      body: { model: 'async-image', prompt: 'A lake', size: '1360*768', enable_sync_mode: false },
    });
    expect(begun).toMatchObject({ type: 'image', url: null, dataUrl: null, status: 'processing' });
    expect(begun.id).toMatch(/^pred_/);
  });

  it('of image_sdk waits for the picture at the fixed address', async () => {
    await createModel(admin, {
      modelName: 'sdk-image',
      category: 'image',
      providerCode: 'image_sdk',
      apiHost: 'http://127.0.0.1:9/not-used',
      apiKey: KEY,
    });
    simulator.script({ match: { path: '/image-synthesis' }, polls: 1 });
    const made = await resultOf(image({ model: 'sdk-image', prompt: 'A lake' }));
    expect(simulator.requests[0]?.body).toMatchObject({
      model: 'sdk-image',
      input: { prompt: 'A lake' },
      parameters: { size: '1280*1280', n: 1 },
    });
    expect(made.url).toMatch(/\.png$/);
  });

  it('of custom_api is that of media_sync', async () => {
    await createModel(admin, {
      modelName: 'custom-image',
      category: 'image',
      apiHost: `${simulator.url}/v1`,
      apiKey: KEY,
    });
    const made = await resultOf(image({ model: 'custom-image', prompt: 'A lake' }));
    expect(lastRequest().call).toBe('POST /v1/images/generations');
    expect(bytesOf(made).subarray(1, 4).toString()).toBe('PNG');
  });
});

describe('POST /media/speech', () => {
  it('of media_sync is answered with the sound, alloy and mp3 when nothing else is said', async () => {
    const made = await resultOf(speech({ model: 'sync-speech', input: 'Welcome aboard' }));
    expect(lastRequest()).toEqual({
      call: 'POST /v1/audio/speech',
      body: {
        model: 'sync-speech',
        input: 'Welcome aboard',
        voice: 'alloy',
        response_format: 'mp3',
      },
    });
    // The simulator has one format, and the first bytes say which.
    expect(made).toMatchObject({ type: 'audio', mimeType: 'audio/wav', id: null, url: null });
    expect(made.dataUrl).toBe(`data:audio/wav;base64,${made.b64Json}`);
    expect(bytesOf(made).subarray(0, 4).toString()).toBe('RIFF');
  });

  it('passes on what else is said', async () => {
    await resultOf(
      speech({
        model: 'sync-speech',
        input: 'Welcome',
        voice: 'nova',
        responseFormat: 'wav',
        speed: 1.25,
        instructions: 'Softly',
      }),
    );
    expect(lastRequest().body).toMatchObject({
      voice: 'nova',
      response_format: 'wav',
      speed: 1.25,
      instructions: 'Softly',
    });
  });

  it('of media_async is answered with the task; the voice is the speaker', async () => {
    const begun = await resultOf(
      speech({ model: 'async-speech', input: 'Welcome', voice: 'nova', speed: 2 }),
    );
    expect(lastRequest()).toEqual({
      call: 'POST /api/v1/model/generateAudio',
      body: {
        model: 'async-speech',
        text: 'Welcome',
        format: 'mp3',
        references: [{ speaker: 'nova' }],
      },
    });
    expect(begun).toMatchObject({ type: 'audio', status: 'processing', url: null });
  });
});

describe('POST /media/video', () => {
  it('of media_sync is answered with the task', async () => {
    const body = { model: 'sync-video', prompt: 'Waves', size: '640x360', seconds: 3 };
    const begun = await resultOf(video({ ...body, quality: 'high' }));
    expect(lastRequest()).toMatchObject({
      call: 'POST /v1/videos',
      body: { model: 'sync-video', prompt: 'Waves', size: '640x360', quality: 'high' },
    });
    expect(begun).toMatchObject({ type: 'video', status: 'queued', url: null });
    expect(begun.id).toMatch(/^video_/);
  });

  it('of media_async is answered with the task', async () => {
    const begun = await resultOf(video({ model: 'async-video', prompt: 'Waves', seconds: 3 }));
    expect(lastRequest()).toMatchObject({
      call: 'POST /api/v1/model/generateVideo',
      body: { model: 'async-video', prompt: 'Waves', duration: 3 },
    });
    expect(begun).toMatchObject({ type: 'video', status: 'processing' });
  });
});

describe('GET /media/video', () => {
  it('of media_sync follows the task until the film is there', async () => {
    const { id } = await resultOf(video({ model: 'sync-video', prompt: 'Waves' }));
    const running = await resultOf(videoOf('sync-video', id ?? ''));
    expect(lastRequest().call).toBe(`GET /v1/videos/${id}`);
    expect(running).toMatchObject({ id, status: 'in_progress', url: null });
    const done = await resultOf(videoOf('sync-video', id ?? ''));
    expect(done).toMatchObject({ id, status: 'completed', mimeType: 'video/mp4' });
    const film = await request(done.url ?? '');
    expect(film.headers['content-type']).toBe('video/mp4');
    expect(Buffer.from(await film.body.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp');
  });

  it('of media_async takes the id as that of a prediction', async () => {
    const { id } = await resultOf(video({ model: 'async-video', prompt: 'Waves' }));
    await resultOf(videoOf('async-video', id ?? ''));
    expect(lastRequest().call).toBe(`GET /api/v1/model/prediction/${id}`);
    const done = await resultOf(videoOf('async-video', id ?? ''));
    expect(done).toMatchObject({ id, status: 'completed', type: 'video' });
    expect(done.url).toMatch(/\.mp4$/);
  });

  it('needs both parameters and a model of category video', async () => {
    expect(await admin.get('/media/video?videoId=1')).toMatchObject({
      code: 400,
      msg: 'model must not be empty',
    });
    expect(await admin.get('/media/video?model=sync-video')).toMatchObject({
      code: 400,
      msg: 'videoId must not be empty',
    });
    for (const model of ['sync-image', 'async-speech']) {
      const { code, msg } = await videoOf(model, 'video_1');
      expect([code, msg]).toEqual([
        400,
        expect.stringContaining('Choose a model of category video'),
      ]);
    }
    expect(simulator.requests).toEqual([]);
  });
});

describe('GET /media/prediction', () => {
  it.each([
    { kind: 'image', body: { prompt: 'A lake' }, ending: 'png', mimeType: 'image/png' },
    { kind: 'speech', body: { input: 'Welcome' }, ending: 'wav', mimeType: 'audio/wav' },
    { kind: 'video', body: { prompt: 'Waves' }, ending: 'mp4', mimeType: 'video/mp4' },
  ])('follows a task for $kind until it is there', async ({ kind, body, ending, mimeType }) => {
    const model = `async-${kind}`;
    const { id } = await resultOf(admin.post(`/media/${kind}`, { model, ...body }));
    expect(await resultOf(prediction(model, id ?? ''))).toMatchObject({ id, status: 'processing' });
    const done = await resultOf(prediction(model, id ?? ''));
    expect(done).toMatchObject({ id, status: 'completed', mimeType });
    expect(done.url?.endsWith(`.${ending}`)).toBe(true);
  });

  it('passes unknown states on, and answers failed for a task that the provider does not know', async () => {
    scriptPrediction(simulator, 'pred_1', { status: 'paused-by-moon' });
    const odd = await resultOf(prediction('async-image', 'pred_1'));
    expect(odd).toMatchObject({ id: 'pred_1', status: 'paused-by-moon', url: null });
    const unknown = await resultOf(prediction('async-image', 'pred_unknown'));
    expect(unknown).toMatchObject({ id: 'pred_unknown', status: 'failed', type: 'image' });
  });

  it('answers a task that has failed as failed', async () => {
    simulator.script({ match: { path: '/model/generateImage' }, taskFail: true, polls: 1 });
    const { id } = await resultOf(image({ model: 'async-image', prompt: 'A lake' }));
    expect(await resultOf(prediction('async-image', id ?? ''))).toMatchObject({
      status: 'failed',
      url: null,
    });
  });

  it('is for models with predictions alone', async () => {
    const { code, msg } = await prediction('sync-video', 'video_1');
    expect([code, msg]).toEqual([400, expect.stringContaining('media_async')]);
    await createModel(admin, { modelName: 'talker', apiHost: simulator.url, apiKey: KEY });
    expect(await prediction('talker', 'pred_1')).toMatchObject({
      code: 400,
      msg: expect.stringContaining('category image, audio, or video'),
    });
    expect(simulator.requests).toEqual([]);
  });

  it('needs both parameters, and an id that is one', async () => {
    expect(await admin.get('/media/prediction?predictionId=1')).toMatchObject({
      code: 400,
      msg: 'model must not be empty',
    });
    expect(await admin.get('/media/prediction?model=async-image&predictionId=')).toMatchObject({
      code: 400,
      msg: 'predictionId must not be empty',
    });
    expect(await prediction('async-image', '..')).toMatchObject({ code: 400 });
    await resultOf(prediction('async-image', encodeURIComponent('../../keys?x=1#')));
    expect(lastRequest().call).toBe(
      `GET /api/v1/model/prediction/${encodeURIComponent('../../keys?x=1#')}`,
    );
  });

  it('finds a model whose name must be encoded', async () => {
    const modelName = 'vendor/fancy model+1 & more';
    const fields = { modelName, category: 'image', providerCode: 'media_async', apiKey: KEY };
    await createModel(admin, { ...fields, apiHost: `${simulator.url}/v1` });
    scriptPrediction(simulator, 'pred_1', { status: 'processing' });
    expect(await resultOf(prediction(modelName, 'pred_1'))).toMatchObject({ id: 'pred_1' });
    expect(lastRequest().call).toBe('GET /api/v1/model/prediction/pred_1');
  });
});
