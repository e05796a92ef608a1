import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { Shutdown } from '../../../src/platform/observability/index.js';
import { heads } from '../../support/media/file-heads.js';
import { IMAGE_HOST, MediaHost, VIDEO_HOST } from '../../support/media/media-host.js';
import { createMediaModels, scriptPrediction } from '../../support/media/media-models.js';
import { readiness } from '../../support/outages.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

/** Longer than any test: what waits for it must be ended by something else. */
const NEVER = '3600';
const MIB = 1_024 * 1_024;
/** More than the connections hold while nobody reads. */
const LARGE = randomBytes(32 * MIB);
const PICTURE = Buffer.concat([heads.png, randomBytes(2 * MIB)]);
const BOUNDARY = 'boundary-of-the-test';

let simulator: Simulator;
let host: MediaHost;
let plinth: Plinth;
let session: Session;
let large: string;

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** One transfer that has begun and goes on when it is told to. */
interface Transfer {
  /** Resolves with what shows that it was complete. */
  finish(): Promise<unknown>;
  readonly complete: unknown;
}

beforeAll(async () => {
  simulator = await startSimulator();
  host = await MediaHost.start();
});

afterAll(async () => {
  await host.close();
  await simulator.close();
});

async function start(environment: Record<string, string>): Promise<void> {
  plinth = await Plinth.start(
    { MEDIA_CONTENT_HOSTS: `${IMAGE_HOST},${VIDEO_HOST}`, ...environment },
    { media: host.options() },
  );
  session = await plinth.signIn();
  await createMediaModels(session, simulator, 'secret-key-of-the-media-models');
  const form = new FormData();
  form.append('file', new Blob([LARGE]), 'large.bin');
  large = done(await session.upload<{ ossId: string }>('/resource/oss/upload', form)).data.ossId;
}

beforeEach(() => simulator.reset());

afterEach(() => plinth.stop());

/** An upload of which the second half is not sent before it is finished. */
async function startUpload(): Promise<Transfer> {
  const rest = Promise.withResolvers<undefined>();
  const arrived = once(plinth.app.getHttpServer(), 'request');
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="part.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(head);
    yield LARGE.subarray(0, MIB);
    await rest.promise;
    yield LARGE.subarray(MIB, 2 * MIB);
    yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
  }
  const sent = request(`${plinth.url}/resource/oss/upload`, {
    method: 'POST',
    headers: {
      ...session.headers,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    },
    body: Readable.from(body()),
  });
  await arrived;
  return {
    finish: async () => {
      rest.resolve(undefined);
      const answer = (await (await sent).body.json()) as { code: number };
      return answer.code;
    },
    complete: 200,
  };
}

/** A download whose headers have been read, and nothing else. */
async function startDownload(): Promise<Transfer> {
  const { body } = await request(`${plinth.url}/resource/oss/download/${large}`, {
    headers: session.headers,
  });
  return {
    finish: async () => digest(new Uint8Array(await body.arrayBuffer())),
    complete: digest(LARGE),
  };
}

/** The content of a media task of which the host has sent the first half. */
async function startMedia(): Promise<Transfer> {
  const half = Promise.withResolvers<ServerResponse>();
  host.answers((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': PICTURE.length });
    response.write(PICTURE.subarray(0, MIB), () => half.resolve(response));
  });
  const id = `pred_${randomBytes(4).toString('hex')}`;
  scriptPrediction(simulator, id, { status: 'completed', url: host.address() });
  const { body } = await request(
    `${plinth.url}/media/content?model=async-image&predictionId=${id}`,
    { headers: session.headers },
  );
  const response = await half.promise;
  return {
    finish: async () => {
      response.end(PICTURE.subarray(MIB));
      return digest(new Uint8Array(await body.arrayBuffer()));
    },
    complete: digest(PICTURE),
  };
}

async function startAll(): Promise<Transfer[]> {
  return [await startUpload(), await startDownload(), await startMedia()];
}

async function expectComplete(transfers: readonly Transfer[]): Promise<void> {
  const ends = await Promise.all(transfers.map((transfer) => transfer.finish()));
  expect(ends).toEqual(transfers.map(({ complete }) => complete));
}

describe('uploads, downloads and media contents while the process stops', () => {
  it('are served during the drain, those that began before it and those that begin in it', async () => {
    await start({ SHUTDOWN_DRAIN_SECONDS: '600' });
    const before = await startAll();
    const closing = plinth.app.close();
    expect(await readiness(plinth)).toMatchObject({ status: 503, body: { status: 'stopping' } });
    const during = await startAll();
    await expectComplete([...before, ...during]);
    plinth.app.get(Shutdown).hurry();
    await closing;
  });

  it('run to their end after the drain, within the grace', async () => {
    await start({ SHUTDOWN_DRAIN_SECONDS: '1', SHUTDOWN_GRACE_SECONDS: NEVER });
    const transfers = await startAll();
    const closing = plinth.app.close();
    const server = plinth.app.getHttpServer();
    await eventually(
      () => server.listening,
      (listening) => !listening,
    );
    await expectComplete(transfers);
    await closing;
  });
});
