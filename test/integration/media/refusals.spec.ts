import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { MEDIA_LIMITS } from '../../../src/media/media.service.js';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { createMediaModels, scriptPrediction } from '../../support/media/media-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Answer, Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const KEY = 'secret-key-of-the-media-models';

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;

overrideConstants(MEDIA_LIMITS, { requestsPerMinute: 100_000 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator, KEY);
  for (const code of ['custom_api', 'custom_messages', 'image_sdk', 'Image_SDK']) {
    await createProvider(admin, code);
  }
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(() => simulator.reset());

const image = (body: object): Promise<Answer> => admin.post('/media/image', body);

describe('what is checked, in this order', () => {
  const wrong = { prompt: '', seed: -1 };

  it('the sign-in', async () => {
    const anonymous = plinth.anonymous();
    for (const path of ['/media/image', '/media/speech', '/media/video']) {
      expect(await anonymous.post(path, wrong)).toMatchObject({ code: 401 });
    }
    for (const path of ['/media/video', '/media/prediction', '/media/content']) {
      expect(await anonymous.get(path)).toMatchObject({ code: 401 });
    }
  });

  it.each([
    ['/media/image', {}, 'model must not be empty, prompt must not be empty'],
    ['/media/image', { model: 'x' }, 'prompt must not be empty'],
    ['/media/image', { model: 'x', prompt: '' }, 'prompt must not be empty'],
    ['/media/image', { model: 'x', prompt: ' \n' }, 'prompt must not be empty'],
    ['/media/image', { model: '', prompt: 'x' }, 'model must not be empty'],
    ['/media/image', { model: null, prompt: 'x' }, 'model must not be empty'],
    ['/media/speech', { model: 'x' }, 'input must not be empty'],
    ['/media/speech', { input: 'x' }, 'model must not be empty'],
    ['/media/video', { model: 'x', prompt: '' }, 'prompt must not be empty'],
    ['/media/video', {}, 'model must not be empty, prompt must not be empty'],
  ])('required fields of %s: %j', async (path, body, msg) => {
    expect(await admin.post(path, body)).toMatchObject({ code: 400, msg, data: null });
  });

  it.each([
    [{ seed: -1 }, 'seed must be at least 0'],
    [{ seed: 2_147_483_648 }, 'seed must be at most 2147483647'],
    [{ seed: 1.5 }, 'seed must be a whole number'],
    [{ seed: 'x' }, 'seed must be a whole number'],
  ])('ranges, before the model is looked at: %j', async (fields, msg) => {
    const body = { model: 'no-such-model-at-all', prompt: 'A lake', ...fields };
    expect(await image(body)).toMatchObject({ code: 400, msg });
  });

  it('takes both ends of the range', async () => {
    for (const seed of [0, 2_147_483_647, '5', null]) {
      expect(
        await image({ model: 'sync-image', prompt: 'A lake', size: '16x16', seed }),
      ).toMatchObject({ code: 200 });
    }
    expect(simulator.requests.map(({ body }) => (body as { seed?: number }).seed)).toEqual([
      0,
      2_147_483_647,
      5,
      undefined,
    ]);
  });

  it.each([
    ['/media/image', 'sync-speech', 'image', 'audio'],
    ['/media/image', 'sync-video', 'image', 'video'],
    ['/media/speech', 'async-image', 'audio', 'image'],
    ['/media/speech', 'async-video', 'audio', 'video'],
    ['/media/video', 'async-speech', 'video', 'audio'],
    ['/media/video', 'sync-image', 'video', 'image'],
  ])('the category: %s with %s', async (path, model, expected, actual) => {
    const { code, msg } = await admin.post(path, { model, prompt: 'x', input: 'x' });
    expect(code).toBe(400);
    expect(msg).toContain(`is of category ${actual}`);
    expect(msg).toContain(`Choose a model of category ${expected}.`);
    expect(simulator.requests).toEqual([]);
  });

  it('a chat record of custom_api is no model for media', async () => {
    await createModel(admin, { modelName: 'custom-chat', apiHost: simulator.url, apiKey: KEY });
    const { code, msg } = await image({ model: 'custom-chat', prompt: 'A lake' });
    expect([code, msg]).toEqual([400, expect.stringContaining('Choose a model of category image')]);
  });

  it('the adapter', async () => {
    const fields = { apiHost: simulator.url, apiKey: KEY, category: 'image' };
    await createModel(admin, { ...fields, modelName: 'm-image', providerCode: 'custom_messages' });
    expect(await image({ model: 'm-image', prompt: 'x' })).toMatchObject({
      code: 500,
      msg: expect.stringContaining('Unsupported model category: custom_messages'),
    });
    await createModel(admin, { ...fields, modelName: 'i-image', providerCode: 'Image_SDK' });
    expect(await image({ model: 'i-image', prompt: 'x' })).toMatchObject({
      code: 500,
      msg: expect.stringContaining('Unsupported model category: Image_SDK'),
    });
    for (const [category, path] of [
      ['audio', '/media/speech'],
      ['video', '/media/video'],
    ] as const) {
      const modelName = `sdk-${category}`;
      await createModel(admin, { ...fields, category, modelName, providerCode: 'image_sdk' });
      const answer = await admin.post(path, { model: modelName, prompt: 'x', input: 'x' });
      expect(answer).toMatchObject({
        code: 500,
        msg: expect.stringMatching(/^Unsupported model category: .*image_sdk/),
      });
    }
    expect(simulator.requests).toEqual([]);
  });

  it('the provider, which must be enabled', async () => {
    const fields = { apiHost: simulator.url, apiKey: KEY, category: 'image' };
    const { rows } = await admin.get<{ id: number }[]>(
      '/system/provider/list?providerCode=media_async',
    );
    await createModel(admin, { ...fields, modelName: 'd-image', providerCode: 'media_async' });
    await admin.put('/system/provider', { id: rows[0]?.id, status: 1 });
    const answer = await image({ model: 'd-image', prompt: 'x' });
    await admin.put('/system/provider', { id: rows[0]?.id, status: 0 });
    expect(answer).toMatchObject({
      code: 400,
      msg: expect.stringContaining('Enable the provider'),
    });
    expect(simulator.requests).toEqual([]);
  });
});

describe('what fails', () => {
  /** The one message, and the line that the log has under its request's id. */
  async function failure(
    path: string,
    body?: object,
    expected = 500,
  ): Promise<{ readonly msg: string; readonly logged: string }> {
    const { text, headers } = await admin.raw(body ? 'POST' : 'GET', path, body);
    const id = String(headers['x-request-id']);
    const { code, msg, data } = JSON.parse(text) as Answer;
    expect({ code, data, msg }).toEqual({
      code: expected,
      data: null,
      msg: `The media request failed. Check the model, or try again; if it persists, report request ${id}.`,
    });
    const logged = plinth.log.find(
      (line) => line.includes(id) && line.includes('Media request failed'),
    );
    return { msg, logged: logged ?? '' };
  }

  it('a model that is not there, as an error of the caller: its name is in the log alone', async () => {
    const body = { model: 'no-such-model-at-all', prompt: 'x', input: 'x' };
    for (const path of ['/media/image', '/media/speech', '/media/video']) {
      expect((await failure(path, body, 400)).logged).toContain('no-such-model-at-all');
    }
    for (const path of ['/media/video?videoId=1', '/media/prediction?predictionId=1']) {
      const { logged } = await failure(`${path}&model=no-such-model-at-all`, undefined, 400);
      expect(logged).toContain('no-such-model-at-all');
    }
    const content = '/media/content?predictionId=1&model=no-such-model-at-all';
    await failure(content, undefined, 400);
  });

  it.each([
    [{ status: 401, leak: true }, 'authentication'],
    [{ status: 429, retryAfter: 30 }, 'rate-limit'],
    [{ status: 503 }, 'overloaded'],
    [{ status: 404 }, '/v1/images/generations'],
    [{ reset: 0 }, 'connection'],
    [{ body: { data: [] } }, 'empty result'],
    [{ body: 'no json object' }, 'not JSON'],
    [{ malformed: 0 }, 'UpstreamError'],
  ])('a call that ends with %j', async (behaviour, why) => {
    simulator.script({ match: { path: '/images/generations' }, ...behaviour });
    const { logged } = await failure('/media/image', { model: 'sync-image', prompt: 'A lake' });
    expect(logged).toContain(why);
    expect(logged).not.toContain(KEY);
  });

  it('a lookup that fails for another reason than that the task is unknown', async () => {
    simulator.script({ match: { path: '/model/prediction/pred_1' }, status: 500 });
    await failure('/media/prediction?model=async-image&predictionId=pred_1');
    const { logged } = await failure('/media/video?model=sync-video&videoId=video_unknown');
    expect(logged).toContain('/v1/videos/video_unknown');
  });

  it('an address that nobody answers at, or that may not be called', async () => {
    const fields = { category: 'image', providerCode: 'media_sync', apiKey: KEY };
    const apiHost = 'http://127.0.0.1:9';
    await createModel(admin, { ...fields, modelName: 'dead-image', apiHost });
    const { logged } = await failure('/media/image', { model: 'dead-image', prompt: 'x' });
    expect(logged).toContain('could not be reached');
  });
});

describe('a client that leaves', () => {
  async function leaveWhile(path: string, body: object): Promise<void> {
    const leaving = new AbortController();
    const asked = request(plinth.url + path, {
      method: 'POST',
      headers: { ...admin.headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    await eventually(
      () => simulator.requests.length,
      (requests) => requests === 1,
    );
    leaving.abort();
    await expect(asked).rejects.toThrow();
  }

  it('ends a call whose result nobody would get', async () => {
    simulator.script({ match: { path: '/images/generations' }, stall: 0 });
    await leaveWhile('/media/image', { model: 'sync-image', prompt: 'A lake' });
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
  });

  it('does not lose a task that it has begun', async () => {
    simulator.script({ match: { path: '/model/generateImage' }, firstMs: 2_000 });
    const excerpt = 'A lake that nobody waits for';
    await leaveWhile('/media/image', { model: 'async-image', prompt: excerpt });
    const found = await eventually(
      async () => (await admin.get<{ excerpt: string; taskId: string }[]>('/media/task/list')).rows,
      (rows) => rows[0]?.excerpt === excerpt,
    );
    expect(found[0]?.taskId).toMatch(/^pred_/);
  });
});

describe('requests a minute', () => {
  overrideConstants(MEDIA_LIMITS, { requestsPerMinute: 3 });

  it('are limited for each user, lookups aside', async () => {
    const limited = await Plinth.start();
    try {
      const owner = await limited.signIn();
      await createMediaModels(owner, simulator);
      const other = await makeUser(limited, owner, 'other');
      const body = { model: 'async-video', prompt: 'Waves' };
      const begin = async (by: Session): Promise<number> =>
        (await by.post('/media/video', body)).code;
      // What is wrong already in its form costs nothing.
      expect(await owner.post('/media/video', {})).toMatchObject({ code: 400 });
      expect([await begin(owner), await begin(owner), await begin(owner)]).toEqual([200, 200, 200]);
      expect(await owner.post('/media/image', { ...body, model: 'sync-image' })).toMatchObject({
        code: 429,
        msg: expect.stringMatching(/^Too many requests\. Try again in \d+ seconds\.$/),
      });
      expect(await begin(other.session)).toBe(200);
      scriptPrediction(simulator, 'pred_1', { status: 'processing' });
      expect(
        await owner.get('/media/prediction?model=async-video&predictionId=pred_1'),
      ).toMatchObject({ code: 200 });
    } finally {
      await limited.stop();
    }
  });
});
