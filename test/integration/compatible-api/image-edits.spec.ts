import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI, { toFile } from 'openai';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { heads } from '../../support/media/file-heads.js';
import { createMediaModels } from '../../support/media/media-models.js';
import { createModel } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator);
  const linked = { category: 'image', providerCode: 'media_sync', apiHost: simulator.url };
  await createModel(admin, { ...linked, modelName: 'sim-url', apiKey: 'key' });
  const { headers } = withKey(admin, await makeKey(admin, { permissions: ['media:media:use'] }));
  const apiKey = (headers['authorization'] ?? '').replace('Bearer ', '');
  client = new OpenAI({ baseURL: `${plinth.url}/v1`, apiKey, maxRetries: 0 });
});

beforeEach(() => simulator.reset());

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

const PROMPT = 'Make it blue';
const png = (): ReturnType<typeof toFile> => toFile(heads.png, 'my holiday.png');
const jpeg = (): ReturnType<typeof toFile> => toFile(heads.jpeg, 'x.jpg');

async function refusal(call: Promise<unknown>): Promise<unknown> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OpenAI.APIError)) throw new Error(`Not refused: ${String(error)}`);
  return [error.status, error.param];
}

describe('POST /v1/images/edits', () => {
  it('sends an image with its mask and further fields, and answers what the service makes', async () => {
    const made = await client.images.edit({
      ...{ model: 'sync-image', prompt: PROMPT, size: '1024x1024', quality: 'low' },
      ...{ image: await png(), mask: await jpeg() },
    });

    expect(Buffer.from(made.data?.[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).toBe(
      'PNG',
    );
    expect(simulator.requests[0]?.path).toBe('/v1/images/edits');
    expect(simulator.requests[0]?.body).toEqual({
      ...{ model: 'sync-image', prompt: PROMPT, size: '1024x1024', quality: 'low' },
      image: { filename: 'image.png', type: 'image/png', base64: heads.png.toString('base64') },
      mask: { filename: 'mask.jpg', type: 'image/jpeg', base64: heads.jpeg.toString('base64') },
    });
  });

  it('sends several images, and answers as many as are asked for', async () => {
    const image = [await png(), await jpeg()];
    const made = await client.images.edit({ model: 'sync-image', prompt: PROMPT, image, n: 3 });

    expect(made.data).toHaveLength(3);
    expect(simulator.requests).toHaveLength(1);
    expect(simulator.requests[0]?.body).toMatchObject({
      n: '3',
      'image[]': [{ filename: 'image.png' }, { filename: 'image.jpg' }],
    });
  });

  it('reads data addresses of a request as JSON', async () => {
    const address = `data:image/png;base64,${heads.png.toString('base64')}`;
    const body = { model: 'sync-image', prompt: PROMPT, images: [{ image_url: address }] };
    await client.post('/images/edits', { body });

    expect(simulator.requests[0]?.body).toMatchObject({
      image: { base64: heads.png.toString('base64') },
    });
  });

  it('answers an address, or fetches it', async () => {
    const asked = { model: 'sim-url', prompt: PROMPT, image: await png() };
    const linked = await client.images.edit(asked);
    const base64 = { response_format: 'b64_json' } as const;
    const fetched = await client.images.edit({ ...asked, ...base64 });

    expect(linked.data?.[0]?.url).toMatch(/^http/);
    expect(fetched.data?.[0]?.b64_json).toMatch(/^iVBOR/);
  });

  it('refuses what is no image or too many, and what no call can do', async () => {
    const image = await png();
    const asked = { model: 'sync-image', prompt: PROMPT, image };
    const many = Array.from({ length: 17 }, () => image);
    const own = `${simulator.url}/files/00000000-16x16.png`;
    const json = (url: string): Promise<unknown> =>
      client.post('/images/edits', {
        body: { model: 'sync-image', prompt: PROMPT, images: [{ image_url: url }] },
      });

    expect(
      await refusal(
        client.images.edit({ ...asked, image: await toFile(Buffer.from('x'), 'x.png') }),
      ),
    ).toEqual([400, 'image']);
    expect(await refusal(client.images.edit({ ...asked, image: many }))).toEqual([400, 'image']);
    expect(
      await refusal(
        client.post('/images/edits', { body: { model: 'sync-image', prompt: PROMPT } }),
      ),
    ).toEqual([400, 'image']);
    expect(await refusal(client.images.edit({ ...asked, n: 11 }))).toEqual([400, 'n']);
    expect(await refusal(json(own))).toEqual([400, 'images[0]']);
    expect(await refusal(client.images.edit({ ...asked, model: 'none' }))).toEqual([404, 'model']);
    expect(await refusal(client.images.edit({ ...asked, model: 'async-image' }))).toEqual([
      500,
      null,
    ]);
    expect(simulator.requests).toHaveLength(0);
  });
});
