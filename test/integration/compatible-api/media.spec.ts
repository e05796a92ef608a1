import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setConstants } from '../../support/override-constants.js';
import { MEDIA_LIMITS } from '../../../src/media/media.service.js';
import OpenAI from 'openai';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { heads } from '../../support/media/file-heads.js';
import { IMAGE_HOST, MediaHost, OTHER_HOST, VIDEO_HOST } from '../../support/media/media-host.js';
import { createMediaModels, scriptPrediction } from '../../support/media/media-models.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

const PROMPT = 'A lighthouse at dusk';
const MAKE_MEDIA = ['chat:chat:use', 'media:media:use'];
const DOCUMENTS = [
  'Parking is free.',
  'Employees get 25 days of annual leave.',
  'Leave the office.',
];

let simulator: Simulator;
let host: MediaHost;
let plinth: Plinth;
let admin: Session;
/** The SDK with an API key that may make media and chat. */
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  host = await MediaHost.start();
  plinth = await Plinth.start(
    { MEDIA_CONTENT_HOSTS: `${IMAGE_HOST},${VIDEO_HOST}` },
    { media: host.options() },
  );
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator);
  await createProvider(admin, 'custom_api');
  const service = { apiHost: simulator.url, apiKey: 'key-of-media' };
  const task = { ...service, category: 'image', providerCode: 'media_async' };
  await createModel(admin, { ...task, modelName: 'async-image--taskfail' });
  const sync = { ...service, category: 'image', providerCode: 'media_sync' };
  await createModel(admin, { ...sync, modelName: 'sim-url' });
  const apiHost = `${simulator.url}/v1`;
  await createModel(admin, { apiHost, apiKey: 'key', category: 'rerank', modelName: 'sim-rerank' });
  client = await clientOf(plinth, admin, MAKE_MEDIA);
});

beforeEach(() => {
  simulator.reset();
  host.reset();
});

afterAll(async () => {
  await plinth.stop();
  await host.close();
  await simulator.close();
});

async function clientOf(
  { url }: Plinth,
  session: Session,
  permissions: readonly string[],
): Promise<OpenAI> {
  const { headers } = withKey(session, await makeKey(session, { permissions }));
  const apiKey = (headers['authorization'] ?? '').replace('Bearer ', '');
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

/** Status, code and parameter of the failure of a call. */
async function failure(call: Promise<unknown>): Promise<readonly unknown[]> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`Not refused: ${String(error)}`);
  const { status, code, param } = error as InstanceType<typeof OpenAI.APIError>;
  return [status, code, param];
}

function head(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('latin1', 1, 4);
}

it('GET /v1/models lists models for images, speech and reranking', async () => {
  const ids = (await client.models.list()).data.map(({ id }) => id);

  expect(ids).toEqual(expect.arrayContaining(['sync-image', 'async-speech', 'sim-rerank']));
  expect(ids).not.toContain('sync-video');
});

describe('POST /v1/images/generations', () => {
  it('answers what the service answers, or the form that is asked for', async () => {
    const asked = { model: 'sync-image', prompt: PROMPT, size: '64x64' } as const;
    const [plain] = (await client.images.generate(asked)).data ?? [];
    const [linked] = (await ask({ size: '64x64', response_format: 'url' })).data ?? [];
    const [address] = (await client.images.generate({ ...asked, model: 'sim-url' })).data ?? [];

    expect([head(plain?.b64_json), plain?.url]).toEqual(['PNG', undefined]);
    expect(linked?.url).toMatch(/^data:image\/png;base64,/);
    expect(address?.url).toMatch(/^http/);
  });

  it('fetches an image of which the service answers the address for b64_json', async () => {
    const { data: own } = await ask({ model: 'sim-url', response_format: 'b64_json' });
    expect([head(own?.[0]?.b64_json), own?.[0]?.url]).toEqual(['PNG', undefined]);
    const { data: waited } = await ask({ model: 'async-image', response_format: 'b64_json' });
    expect(head(waited?.[0]?.b64_json)).toBe('PNG');

    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      response.end(heads.png);
    });
    scriptAddress(host.address(OTHER_HOST));
    const { data: other } = await ask({ model: 'sim-url', response_format: 'b64_json' });
    expect(other?.[0]?.b64_json).toBe(heads.png.toString('base64'));
  });

  it.each([
    ['a private address', () => `https://10.1.2.3:${host.port}/a.png`, 'must not be called'],
    ['a plain address of another port', () => `${plinth.url}/health`, 'must be https'],
    ['what is no image', () => host.address(OTHER_HOST), 'something else'],
  ])('refuses %s, which no client makes again', async (_name, address, reason) => {
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      response.end('<html></html>');
    });
    scriptAddress(address());
    const body = { model: 'sim-url', prompt: PROMPT, response_format: 'b64_json' };
    const eager = client.withOptions({ maxRetries: 2 });
    await expect(eager.post('/images/generations', { body })).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining(reason),
    });
    const made = simulator.requests.filter(({ path }) => path.endsWith('/images/generations'));
    expect(made).toHaveLength(1);
  });

  function scriptAddress(url: string): void {
    const match = { path: '/images/generations' };
    simulator.script({ match, body: { created: 1, data: [{ url }] } });
  }

  it('waits for a task, and says that one has failed', async () => {
    const { data } = await ask({ model: 'async-image' });

    expect(data?.[0]?.url).toMatch(/^http/);
    expect(await failure(ask({ model: 'async-image--taskfail' }))).toEqual([
      ...[502, 'upstream_protocol', null],
    ]);
  });

  describe('a task that cannot be looked up', () => {
    const id = 'pred_unseen';
    const path = `/model/prediction/${id}`;
    const asked = { model: 'async-image', prompt: PROMPT };

    beforeEach(() => {
      const match = { path: '/model/generateImage' };
      simulator.script({ match, body: { code: 200, data: { id, status: 'processing' } } });
    });

    function begun(): number {
      return simulator.requests.filter((one) => one.path.endsWith('/generateImage')).length;
    }

    it('is looked up again', async () => {
      for (const failure of [{ status: 503 }, { status: 429 }, { body: {}, reset: 0 }]) {
        simulator.script({ match: { path }, ...failure });
      }
      scriptPrediction(simulator, id, { status: 'completed', url: host.address() });
      const { data } = await ask({ model: 'async-image' });

      expect(data?.[0]?.url).toBe(host.address());
      expect(begun()).toBe(1);
    });

    it('is not begun again by a client that retries when the service refuses', async () => {
      simulator.script({ match: { path }, status: 401 });
      const eager = client.withOptions({ maxRetries: 2 });

      expect(await failure(eager.images.generate(asked))).toEqual([
        ...[502, 'upstream_authentication', null],
      ]);
      expect(begun()).toBe(1);
    });

    it('is not begun again by a client that retries when the time is over', async () => {
      simulator.script({ match: { path }, status: 503, times: 1_000 });
      const restore = setConstants(MEDIA_LIMITS, { totalMs: 1_000 });
      const hasty = await Plinth.start();
      try {
        const session = await hasty.signIn();
        await createMediaModels(session, simulator);
        const patient = await clientOf(hasty, session, MAKE_MEDIA);
        const eager = patient.withOptions({ maxRetries: 2 });

        expect(await failure(eager.images.generate(asked))).toEqual([
          ...[504, 'upstream_timeout', null],
        ]);
        expect(begun()).toBe(1);
      } finally {
        restore();
        await hasty.stop();
      }
    });
  });

  it.each([
    [{ model: 'none' }, [404, 'model_not_found', 'model']],
    [{ model: 'sync-speech' }, [404, 'model_not_found', 'model']],
    [{ prompt: '' }, [400, 'invalid_value', 'prompt']],
    [{ n: 11 }, [400, 'invalid_value', 'n']],
    [{ mask: 'x' }, [400, 'unsupported_parameter', 'mask']],
  ] as const)('%j is refused', async (fields, expected) => {
    expect(await failure(ask(fields))).toEqual(expected);
    expect(simulator.requests).toEqual([]);
  });

  it('tells the status of the service’s failure', async () => {
    simulator.script({ status: 429, retryAfter: 3 });
    expect(await failure(ask({}))).toEqual([429, 'rate_limit_exceeded', null]);
  });

  function ask(fields: object): Promise<OpenAI.ImagesResponse> {
    return client.post('/images/generations', {
      body: { model: 'sync-image', prompt: PROMPT, ...fields },
    });
  }
});

describe('POST /v1/audio/speech', () => {
  const asked = { input: 'Welcome aboard.', voice: 'alloy' } as const;

  it('answers sound in its own type', async () => {
    const answer = await client.audio.speech.create({ ...asked, model: 'sync-speech', speed: 1.5 });

    expect(answer.headers.get('content-type')).toMatch(/^audio\//);
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1', 0, 4)).toBe('RIFF');
    expect(simulator.requests[0]?.body).toMatchObject({ voice: 'alloy', speed: 1.5 });
  });

  it('answers the sound that a task has made', async () => {
    const id = 'pred_speech';
    simulator.script({
      match: { path: '/model/generateAudio' },
      body: { code: 200, data: { id, status: 'processing' } },
    });
    scriptPrediction(simulator, id, { status: 'completed', url: host.address() });
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': heads.mp3.length });
      response.end(heads.mp3);
    });
    const answer = await client.audio.speech.create({ ...asked, model: 'async-speech' });

    expect(answer.headers.get('content-type')).toBe('audio/mpeg');
    expect(Buffer.from(await answer.arrayBuffer()).equals(heads.mp3)).toBe(true);
  });

  it('that cannot be fetched is not made again by a client that retries', async () => {
    const id = 'pred_elsewhere';
    simulator.script({
      match: { path: '/model/generateAudio' },
      body: { code: 200, data: { id, status: 'processing' } },
    });
    scriptPrediction(simulator, id, { status: 'completed', url: 'http://plain.test/a.mp3' });
    const eager = client.withOptions({ maxRetries: 2 });
    const call = eager.audio.speech.create({ ...asked, model: 'async-speech' });

    expect(await failure(call)).toEqual([500, null, null]);
    const made = simulator.requests.filter(({ path }) => path.endsWith('/generateAudio'));
    expect(made).toHaveLength(1);
  });

  it('refuses what the model cannot do, and a key without the permission', async () => {
    for (const [fields, expected] of [
      [{ stream_format: 'sse' }, [400, 'invalid_value', 'stream_format']],
    ] as const) {
      const call = client.audio.speech.create({ ...asked, model: 'async-speech', ...fields });
      expect(await failure(call)).toEqual(expected);
    }
    const other = await clientOf(plinth, admin, ['chat:chat:use']);
    const call = other.audio.speech.create({ ...asked, model: 'sync-speech' });
    expect(await failure(call)).toEqual([403, 'permission_denied', null]);
    expect(simulator.requests).toEqual([]);
  });
});

describe('POST /v1/rerank', () => {
  function rank(fields: object): Promise<{
    readonly model: string;
    readonly results: readonly { readonly index: number; readonly document?: object }[];
  }> {
    const body = { model: 'sim-rerank', query: 'annual leave days', documents: DOCUMENTS };
    return client.post('/rerank', { body: { ...body, ...fields } });
  }

  it('answers the best documents with their scores', async () => {
    const { model, results } = await rank({ top_n: 2, return_documents: true });
    const objects = await rank({ documents: DOCUMENTS.map((text) => ({ text })) });

    expect(model).toBe('sim-rerank');
    expect(results).toEqual([
      { index: 1, relevance_score: expect.any(Number), document: { text: DOCUMENTS[1] } },
      { index: 2, relevance_score: expect.any(Number), document: { text: DOCUMENTS[2] } },
    ]);
    expect(objects.results.map(({ index }) => index)).toEqual([1, 2, 0]);
    expect(objects.results[0]?.document).toBeUndefined();
  });

  it.each([
    [{ documents: [] }, 'documents'],
    [{ documents: [''] }, 'documents[0]'],
    [{ top_n: 0 }, 'top_n'],
    [{ surprise: 4 }, 'surprise'],
  ])('%j is refused', async (fields, param) => {
    const [status, , named] = await failure(rank(fields));

    expect([status, named]).toEqual([400, param]);
  });
});
