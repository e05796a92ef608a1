import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CONTENT_MEMORY } from '../../../src/media/content/content.service.js';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { heads } from '../../support/media/file-heads.js';
import { IMAGE_HOST, MediaHost, OTHER_HOST, VIDEO_HOST } from '../../support/media/media-host.js';
import { createMediaModels, scriptPrediction } from '../../support/media/media-models.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const MIB = 1024 * 1024;
const MEMORY_MB = 96;
/** What a host may be silent for. */
const SILENCE_MS = 1_500;

let simulator: Simulator;
let host: MediaHost;
let plinth: Plinth;
let session: Session;

overrideConstants(CONTENT_MEMORY, { bytes: MEMORY_MB * MIB });

beforeAll(async () => {
  simulator = await startSimulator();
  host = await MediaHost.start();
  plinth = await Plinth.start(
    {
      MEDIA_CONTENT_HOSTS: `${IMAGE_HOST},${VIDEO_HOST}`,
    },
    { media: host.options({ connectMs: 10_000, idleMs: SILENCE_MS, totalMs: 60_000 }) },
  );
  session = await plinth.signIn();
  await createMediaModels(session, simulator, 'secret-key-of-the-media-models');
});

afterAll(async () => {
  await plinth.stop();
  await host.close();
  await simulator.close();
});

beforeEach(() => {
  simulator.reset();
  host.reset();
});

afterEach(async () => {
  // Whatever happened, nothing goes on in the background and no room stays taken.
  await eventually(
    () => host.open,
    (open) => open === 0,
  );
  await eventually(heldBytes, (held) => held === 0);
});

async function heldBytes(): Promise<number> {
  const { text } = await plinth.anonymous().raw('GET', '/metrics');
  return Number(/^plinth_media_content_bytes (\d+)$/m.exec(text)?.[1]);
}

type Answer = Awaited<ReturnType<typeof request>>;

/** Asks for the content of a prediction that is completed, at the address. */
async function ask(
  url = host.address(),
  { model = 'async-image', id = 'pred_1', signal = AbortSignal.timeout(60_000) } = {},
): Promise<Answer> {
  scriptPrediction(simulator, id, { status: 'completed', url });
  return request(`${plinth.url}/media/content?model=${model}&predictionId=${id}`, {
    headers: session.headers,
    signal,
  });
}

/** The envelope of a refusal. */
async function refusal(...asked: Parameters<typeof ask>): Promise<{ code: number; msg: string }> {
  const { statusCode, headers, body } = await ask(...asked);
  expect([statusCode, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  return (await body.json()) as { code: number; msg: string };
}

function reason(text: string, code = 500): object {
  return { code, msg: expect.stringContaining(text), data: null };
}

/** A body of the size that begins like a PNG. */
function picture(bytes: number): Buffer {
  return Buffer.concat([heads.png, Buffer.alloc(bytes - heads.png.length, 'p')]);
}

function hostSends(bytes: Buffer, headers: Record<string, string | number> = {}): void {
  host.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png', ...headers });
    response.end(bytes);
  });
}

describe('a resource with a declared length', () => {
  it('is handed on with the specified headers, byte by byte', async () => {
    const bytes = picture(3 * MIB + 7);
    hostSends(bytes, { 'content-length': bytes.length, 'set-cookie': 'a=b' });
    const { statusCode, headers, body } = await ask();
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.length),
      'cache-control': 'no-store',
      'content-disposition': 'inline',
      'x-content-type-options': 'nosniff',
    });
    expect(headers['set-cookie']).toBeUndefined();
    expect(Buffer.from(await body.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('is asked for without any credential', async () => {
    hostSends(picture(100), { 'content-length': 100 });
    const { body } = await ask();
    await body.dump();
    const [asked] = host.requests;
    expect(asked?.method).toBe('GET');
    expect(Object.keys(asked?.headers ?? {}).sort()).toEqual([
      'accept-encoding',
      'connection',
      'host',
    ]);
    expect(asked?.headers.host).toBe(`${IMAGE_HOST}:${host.port}`);
    expect(simulator.requests[0]?.headers.authorization).toContain('secret-key-of-the-media');
  });

  it('is as large as it may be', async () => {
    const bytes = picture(64 * MIB);
    hostSends(bytes, { 'content-length': bytes.length });
    const { headers, body } = await ask();
    expect(headers['content-length']).toBe(String(bytes.length));
    expect((await body.arrayBuffer()).byteLength).toBe(bytes.length);
  });

  it('is refused beyond that before a byte of it is read', async () => {
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 64 * MIB + 1 });
      response.write(heads.png);
    });
    expect(await refusal()).toMatchObject(reason('larger than 64 MiB'));
  });
});

describe('a resource without a declared length', () => {
  it('is collected and then sent with its length', async () => {
    const bytes = picture(2 * MIB + 3);
    hostSends(bytes, { 'transfer-encoding': 'chunked' });
    const { headers, body } = await ask();
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.length),
    });
    expect(headers['transfer-encoding']).toBeUndefined();
    expect(Buffer.from(await body.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it('is refused as soon as it is too large', async () => {
    let sent = 0;
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      response.write(heads.png);
      const block = Buffer.alloc(MIB);
      const more = (): void => {
        while (!response.destroyed && sent < 500 * MIB) {
          sent += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
      };
      more();
    });
    expect(await refusal()).toMatchObject(reason('larger than 64 MiB'));
    expect(sent).toBeLessThan(200 * MIB);
  });

  it('is refused when it breaks off', async () => {
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      response.write(picture(MIB), () => response.socket?.destroy());
    });
    expect(await refusal()).toMatchObject(reason('could not be fetched'));
  });

  it('is refused when all requests together hold too much, and the others are not disturbed', async () => {
    const bytes = picture(60 * MIB);
    const finish = Promise.withResolvers<undefined>();
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' });
      response.write(bytes.subarray(0, 50 * MIB));
      const keepingAwake = setInterval(() => response.write(Buffer.alloc(1)), 100);
      response.on('close', () => clearInterval(keepingAwake));
      void finish.promise.then(() => {
        clearInterval(keepingAwake);
        response.end(bytes.subarray(50 * MIB));
      });
    });
    const first = ask(undefined, { id: 'pred_first' });
    await eventually(heldBytes, (held) => held >= 50 * MIB, 20_000);
    expect(await refusal(undefined, { id: 'pred_second' })).toMatchObject(
      reason('Too many media resources', 429),
    );
    expect(await heldBytes()).toBeLessThanOrEqual(MEMORY_MB * MIB);
    finish.resolve(undefined);
    const { statusCode, headers, body } = await first;
    expect([statusCode, headers['content-type']]).toEqual([200, 'image/png']);
    expect((await body.arrayBuffer()).byteLength).toBeGreaterThanOrEqual(bytes.length);
  });
});

describe('a connection that breaks', () => {
  it('breaks the answer, too, so that half of it is never taken for all', async () => {
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 4 * MIB });
      response.write(picture(2 * MIB), () => response.socket?.destroy());
    });
    const { statusCode, body } = await ask();
    expect(statusCode).toBe(200);
    await expect(body.arrayBuffer()).rejects.toThrow();
    expect(plinth.log.some((line) => line.includes('Media stream interrupted'))).toBe(true);
  });

  it('breaks the answer when it falls silent', async () => {
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 4 * MIB });
      response.write(picture(MIB));
    });
    const { body } = await ask();
    await expect(body.arrayBuffer()).rejects.toThrow();
  });

  it('is a refusal when nothing has come before', async () => {
    host.answers(() => undefined);
    expect(await refusal()).toMatchObject(reason('sent nothing for too long'));
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 });
      response.write(heads.png.subarray(0, 5));
    });
    expect(await refusal()).toMatchObject(reason('sent nothing for too long'));
    host.answers((request_) => void request_.socket.destroy());
    expect(await refusal()).toMatchObject(reason('could not be fetched'));
  });

  it('ends the call of the host when the client leaves, before and after the first byte', async () => {
    host.answers(() => undefined);
    const early = new AbortController();
    const asked = ask(undefined, { signal: early.signal });
    await eventually(
      () => host.open,
      (open) => open === 1,
    );
    early.abort();
    await expect(asked).rejects.toThrow();
    await eventually(
      () => host.open,
      (open) => open === 0,
    );
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 60 * MIB });
      response.write(picture(MIB));
    });
    const { body } = await ask();
    const closed = eventually(
      () => host.open,
      (open) => open === 0,
    );
    body.on('error', () => undefined).destroy();
    await closed;
  });

  it('pauses the host while the client does not read', async () => {
    let sent = 0;
    const block = picture(MIB);
    host.answers((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 64 * MIB });
      const more = (): void => {
        while (!response.destroyed && sent < 64 * MIB) {
          sent += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const { body } = await ask();
    let before = -1;
    // Until nothing moves any more, for longer than the silence that would end the call.
    await eventually(
      async () => {
        const stands = sent === before;
        before = sent;
        await new Promise((resolve) => setTimeout(resolve, 1.5 * SILENCE_MS));
        return stands;
      },
      (stands) => stands,
      30_000,
    );
    expect(sent).toBeLessThan(40 * MIB);
    expect((await body.arrayBuffer()).byteLength).toBe(64 * MIB);
  });
});

describe('what is not handed on', () => {
  it.each([
    ['text/html', heads.html, 'not declared as a type of category image'],
    ['image/svg+xml', heads.svg, 'not declared as a type of category image'],
    ['application/octet-stream', heads.png, 'not declared as a type of category image'],
    ['video/mp4', heads.mp4, 'not declared as a type of category image'],
    ['image/png', heads.html, 'first bytes are of something else'],
    ['image/png', heads.jpeg, 'first bytes are of something else'],
    ['image/png', Buffer.alloc(0), 'is empty'],
  ])('%s of %p', async (type, bytes, why) => {
    hostSends(bytes, { 'content-type': type, 'content-length': bytes.length });
    expect(await refusal()).toMatchObject(reason(why));
  });

  it('a redirect, wherever it leads', async () => {
    host.answers((asked, response) => {
      if (asked.url !== '/resource') return void response.end(heads.png);
      response.writeHead(302, { location: host.address(IMAGE_HOST, '/elsewhere') });
      response.end();
    });
    expect(await refusal()).toMatchObject(reason('redirects are not followed'));
    expect(host.requests.map(({ url }) => url)).toEqual(['/resource']);
  });

  it.each([204, 206, 403, 404, 500])('an answer with status %i', async (status) => {
    host.answers((_request, response) => {
      response.writeHead(status, { 'content-type': 'image/png' });
      response.end(status === 204 ? undefined : heads.png);
    });
    expect(await refusal()).toMatchObject(reason(`answered ${status}`));
  });

  it.each([
    ['another host', () => host.address(OTHER_HOST)],
    ['the host of another category', () => host.address(VIDEO_HOST)],
    ['a trailing dot', () => host.address(`${IMAGE_HOST}.`)],
    ['a user name', () => host.address(`user:pass@${IMAGE_HOST}`)],
    ['the host as user name', () => host.address(`${IMAGE_HOST}@${OTHER_HOST}`)],
    ['a fragment', () => `${host.address()}#x`],
    ['punycode', () => host.address('xn--mages-3xa.media.example')],
    ['full-width letters', () => host.address('ｉｍａｇｅｓ.media.example')],
    ['an IP address', () => host.address('127.0.0.1')],
    ['an IP address as a number', () => host.address('2130706433')],
    ['a mapped IP address', () => host.address('[::ffff:127.0.0.1]')],
    ['another port', () => `https://${IMAGE_HOST}:1/resource`],
    ['the port that is not said', () => `https://${IMAGE_HOST}/resource`],
    ['http', () => host.address().replace('https:', 'http:')],
  ])('%s', async (_, url) => {
    hostSends(heads.png);
    expect(await refusal(url())).toMatchObject(reason('The resource’s address is refused'));
    expect(host.requests).toEqual([]);
  });

  it('upper case is no other host', async () => {
    hostSends(heads.png, { 'content-length': heads.png.length });
    const { headers, body } = await ask(host.address(IMAGE_HOST.toUpperCase()));
    expect(headers['content-type']).toBe('image/png');
    await body.dump();
  });
});

describe('the prediction', () => {
  it('must be completed', async () => {
    for (const status of ['processing', 'failed', 'Completed', 'whatever']) {
      scriptPrediction(simulator, 'pred_1', { status, url: host.address() });
      const answer = await session.get('/media/content?model=async-image&predictionId=pred_1');
      expect(answer).toMatchObject({ code: 409, data: { status } });
      expect(answer.msg).toContain(`its status is ${status}`);
    }
    expect(host.requests).toEqual([]);
  });

  it.each(['completed', 'succeeded', 'success'])('%s is completed', async (status) => {
    hostSends(heads.png);
    scriptPrediction(simulator, 'pred_1', { status, url: host.address() });
    const { headers, body } = await request(
      `${plinth.url}/media/content?model=async-image&predictionId=pred_1`,
      { headers: session.headers },
    );
    expect(headers['content-type']).toBe('image/png');
    await body.dump();
  });

  it('must be the one asked for, and name a resource', async () => {
    const path = '/media/content?model=async-image&predictionId=pred_1';
    const url = host.address();
    scriptPrediction(simulator, 'pred_1', { status: 'completed', id: 'pred_2', url });
    expect(await session.get(path)).toMatchObject(reason('another task'));
    scriptPrediction(simulator, 'pred_1', { status: 'completed' });
    expect(await session.get(path)).toMatchObject(reason('named no resource'));
    expect(host.requests).toEqual([]);
  });

  it.each(['', 'a.b', '..', 'a/b', 'a%20b', 'a%0a', 'é', 'x'.repeat(129)])(
    'has no id like "%s"',
    async (id) => {
      const answer = await session.get(`/media/content?model=async-image&predictionId=${id}`);
      expect(answer.code).toBe(400);
      expect(answer.msg).toContain('predictionId must');
      expect(simulator.requests).toEqual([]);
    },
  );

  it('is of a model with predictions', async () => {
    const answer = await session.get('/media/content?model=sync-image&predictionId=pred_1');
    expect(answer).toMatchObject({ code: 400, msg: expect.stringContaining('media_async') });
  });

  it('of a sound and of a video comes from the host of its category', async () => {
    const sound = { 'content-type': 'audio/mpeg', 'content-length': heads.mp3.length };
    hostSends(heads.mp3, sound);
    const speech = await ask(host.address(), { model: 'async-speech' });
    expect(speech.headers['content-type']).toBe('audio/mpeg');
    await speech.body.dump();
    hostSends(heads.mp4, { 'content-type': 'video/mp4', 'content-length': heads.mp4.length });
    const video = await ask(host.address(VIDEO_HOST), { model: 'async-video' });
    expect(video.headers['content-type']).toBe('video/mp4');
    await video.body.dump();
    expect(await refusal(host.address(), { model: 'async-video' })).toMatchObject(
      reason('its host is not the one for category video'),
    );
  });

  it('is shown to nobody who is not signed in', async () => {
    const path = '/media/content?model=async-image&predictionId=pred_1';
    expect(await plinth.anonymous().get(path)).toMatchObject({ code: 401 });
  });
});

describe('the address that a host leads to', () => {
  it('must be public when nothing else is injected', async () => {
    const { content } = host.options();
    const strict = await Plinth.start(
      { MEDIA_CONTENT_HOSTS: `${IMAGE_HOST},${VIDEO_HOST}`, ALLOW_PRIVATE_MODEL_HOSTS: '*' },
      { media: { content: { ...content, allowedPrivateHosts: [] } } },
    );
    try {
      const own = await strict.signIn();
      await createMediaModels(own, simulator);
      scriptPrediction(simulator, 'pred_1', { status: 'completed', url: host.address() });
      const answer = await own.get('/media/content?model=async-image&predictionId=pred_1');
      expect(answer).toMatchObject(reason('must not be called'));
      expect(host.requests).toEqual([]);
    } finally {
      await strict.stop();
    }
  });
});
