import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Dependency } from '../../../src/platform/dependency/index.js';
import { UnavailableError } from '../../../src/platform/error/index.js';
import { ObjectStorage, StorageMove } from '../../../src/platform/storage/index.js';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import { S3_LIMITS } from '../../../src/platform/storage/s3-transport.js';
import { setConstants } from '../../support/override-constants.js';
import { changesOf, readiness } from '../../support/outages.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import {
  FaultyServer,
  refusal,
  s3Server,
  storageAddress,
  TestBucket,
} from '../../support/s3-server.js';
import type { Fault } from '../../support/s3-server.js';
import { embeddedTemplate } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const suite = s3Server === '' ? describe.skip : describe;
const CONTENT = randomBytes(6_000_001);
const OUTBOUND = { proxies: { noProxy: [] } };

/** Faults of the first requests that match; later ones are forwarded. */
function first(count: number, matches: (request: IncomingMessage) => boolean, fault: Fault): Fault {
  let remaining = count;
  return (request, response) => {
    if (remaining === 0 || !matches(request)) return false;
    remaining -= 1;
    return fault(request, response);
  };
}

const destroys: Fault = (request) => {
  request.socket.destroy();
  return true;
};

suite('an object storage that fails', () => {
  const server = new FaultyServer();
  let bucket: TestBucket;
  let dependency: Dependency;
  let storage: ObjectStorage;
  let endpoint: string;

  beforeAll(async () => {
    endpoint = await server.listen();
    bucket = await TestBucket.make();
    dependency = new Dependency('files');
    const address = storageAddress(bucket.url(endpoint));
    storage = await ObjectStorage.open(address, OUTBOUND, dependency);
  });

  beforeEach(async () => {
    server.fault = () => false;
    await eventually(
      async () => {
        await dependency.check();
        return dependency.isUp;
      },
      (isUp) => isUp,
    );
  });

  afterAll(async () => {
    dependency.close();
    await storage.onApplicationShutdown();
    bucket.close();
    await server.close();
  });

  const newKey = (): string => `abcdef01/${randomBytes(16).toString('hex')}`;
  const write = async (signal = new AbortController().signal): Promise<string> => {
    const key = newKey();
    await storage.write(key, Readable.from([CONTENT]), { limitBytes: 10_000_000, signal });
    return key;
  };
  const whole = async (key: string): Promise<boolean> =>
    (await buffer(await storage.read(key))).equals(CONTENT);

  it.each([
    [403, 'AccessDenied', 'no right to the bucket'],
    [403, 'InvalidAccessKeyId', 'does not know the credentials'],
    [400, 'ExpiredToken', 'have expired'],
    [404, 'NoSuchBucket', 'does not exist'],
    [400, 'AuthorizationHeaderMalformed', 'in another region'],
    [301, 'PermanentRedirect', 'in another region'],
    [503, 'SlowDown', 'accepts fewer requests'],
    [500, 'InternalError', '(InternalError)'],
  ])('says what to do about %d %s, and works again afterwards', async (status, code, reason) => {
    const key = await write();
    const before = await bucket.names();
    server.fault = refusal(status, code);
    await expect(write()).rejects.toThrow(UnavailableError);
    expect(dependency.isUp).toBe(false);
    expect(String(dependency.reason?.template)).toContain(reason.replace(`(${code})`, '({0})'));
    await expect(storage.read(key)).rejects.toThrow(UnavailableError);

    server.fault = () => false;
    await dependency.check();
    expect([dependency.isUp, await whole(key), await bucket.names()]).toEqual([true, true, before]);
  });

  it('sends a request again that was refused or interrupted', async () => {
    server.fault = first(2, ({ method }) => method === 'PUT', refusal(503, 'SlowDown'));
    const key = await write();
    server.fault = first(2, ({ method }) => method === 'GET', destroys);
    expect(await whole(key)).toBe(true);
    expect(dependency.isUp).toBe(true);
  });

  it('continues a transfer that is interrupted, with the rest alone', async () => {
    const key = await write();
    const ranges: (string | undefined)[] = [];
    server.fault = (request, response) => {
      const { range } = request.headers;
      ranges.push(range);
      if (ranges.length > 2) return false;
      const start = Number(/bytes=(\d+)/.exec(range ?? '')?.[1] ?? 0);
      response.writeHead(range ? 206 : 200, { 'content-length': CONTENT.length - start });
      response.write(CONTENT.subarray(start, start + 1_000_000), () => response.destroy());
      return true;
    };
    expect(await whole(key)).toBe(true);
    expect(ranges).toHaveLength(3);
    expect(ranges[0]).toBeUndefined();
    expect(ranges[2]).toMatch(/^bytes=\d+-$/);
  });

  it('shows no part of a file whose upload cannot be completed', async () => {
    const before = await bucket.names();
    const isCompletion = ({ method, url = '' }: IncomingMessage): boolean =>
      method === 'POST' && url.includes('uploadId=');
    server.fault = (request, response) => isCompletion(request) && destroys(request, response);
    await expect(write()).rejects.toThrow(UnavailableError);
    expect(await bucket.names()).toEqual(before);
  });

  it('ends with its signal while the server is silent', async () => {
    const controller = new AbortController();
    server.fault = (request) => {
      if (request.method !== 'PUT') return false;
      request.once('data', () => controller.abort());
      return true;
    };
    await expect(write(controller.signal)).rejects.toMatchObject({ name: 'AbortError' });
    expect(dependency.isUp).toBe(true);
  });

  it('is given up when it is silent for too long, during a transfer as well', async () => {
    const key = await write();
    const restore = setConstants(S3_LIMITS, { idleMs: 200 });
    server.fault = (request, response) => {
      if (request.method !== 'GET') return false;
      response.writeHead(200, { 'content-length': CONTENT.length });
      response.write(CONTENT.subarray(0, 100));
      return true;
    };
    const content = await storage.read(key);
    server.fault = () => true;
    await expect(buffer(content)).rejects.toThrow(UnavailableError);
    expect(dependency.reason?.template).toBe('The object storage failed. {0}');
    restore();
  });

  it('is found to be away, and used again when it is back', async () => {
    const key = await write();
    const { port } = new URL(endpoint);
    await server.close();
    await expect(storage.read(key)).rejects.toThrow(UnavailableError);
    expect(dependency.reason?.template).toBe('The object storage failed. {0}');
    await server.listen(Number(port));
    await dependency.check();
    expect(await whole(key)).toBe(true);
  });
});

suite('Plinth on an object storage', () => {
  const server = new FaultyServer();
  let bucket: TestBucket;
  let onDisk: Plinth;
  let plinth: Plinth;
  let root: Session;

  const form = (content: string): FormData => {
    const data = new FormData();
    data.append('file', new Blob([content]), 'note.txt');
    return data;
  };
  const uploaded = async (session: Session, content: string): Promise<string> => {
    const answer = await session.upload<{ ossId: string }>('/resource/oss/upload', form(content));
    expect(answer).toMatchObject({ code: 200 });
    return answer.data.ossId;
  };

  beforeAll(async () => {
    // Making the template starts a silent service, which would take the log of this one.
    await embeddedTemplate();
    bucket = await TestBucket.make();
    onDisk = await Plinth.start();
    // The log is that of the last one.
    plinth = await Plinth.start({ STORAGE_URL: bucket.url(await server.listen()) });
    root = await plinth.signIn();
  });

  afterAll(async () => {
    await plinth.stop();
    await onDisk.stop();
    bucket.close();
    await server.close();
  });

  it('stores, sends and removes files there, and has the mark of the installation there', async () => {
    const id = await uploaded(root, 'In the bucket.');
    const { text } = await root.raw('GET', `/resource/oss/download/${id}`);
    expect(text).toBe('In the bucket.');
    const names = await bucket.names();
    expect(names).toContain('tests/installation.json');
    const files = names.filter((name) => name.startsWith('tests/files/'));
    expect(files).toHaveLength(1);
    expect((await readiness(plinth)).body.checks['files']).toEqual({ status: 'up', kind: 's3' });

    await root.delete(`/resource/oss/${id}`);
    expect(await bucket.names()).not.toContain(files[0]);
  });

  it('answers 503 and says why while the storage fails', async () => {
    server.fault = refusal(403, 'AccessDenied');
    const answer = await root.upload('/resource/oss/upload', form('Not now.'));
    expect(answer).toMatchObject({ code: 503 });
    const { body } = await readiness(plinth);
    expect(body).toMatchObject({
      status: 'degraded',
      checks: { files: { status: 'degraded', reason: expect.stringContaining('no right to') } },
    });
    server.fault = () => false;
    await eventually(
      () => readiness(plinth),
      (ready) => ready.body.status === 'up',
    );
    await uploaded(root, 'Again.');
    expect(changesOf(plinth, 'files')).toEqual(['unavailable', 'recovered']);
  });

  it('shares contents of the harness with processes that have another DATA_DIR', async () => {
    const blobs = plinth.app.get(BlobStore, { strict: false });
    const bytes = Buffer.from('What a file was before.');
    const hash = await blobs.put('000000', bytes);
    await writeFile(blobs.pathOf('000000', hash), 'damaged');
    expect((await blobs.get('000000', hash))?.equals(bytes)).toBe(true);
    expect(await bucket.names()).toContain(`tests/harness/000000/${hash}`);
  });

  it('takes over files of a disk, compared with their records, and continues where it was stopped', async () => {
    const session = await onDisk.signIn();
    const ids = [await uploaded(session, 'First.'), await uploaded(session, 'Second.')];
    const target = await TestBucket.make();
    const dependency = new Dependency('files');
    const storage = await ObjectStorage.open(storageAddress(target.url()), OUTBOUND, dependency);
    const move = onDisk.app.get(StorageMove, { strict: false });
    const run = () => move.run(storage, new AbortController().signal, () => undefined);

    expect(await run()).toMatchObject({ copied: 2, copiedBytes: 13, there: 0, lost: [] });
    const damaged = await uploaded(session, 'Third.');
    const folder = join(onDisk.dataDir, 'files');
    const files = (await target.names()).filter((name) => name.includes('/files/'));
    expect(files).toHaveLength(2);
    await damageOther(folder, files);
    expect(await run()).toMatchObject({ copied: 0, there: 2, lost: [Number(damaged)] });
    expect(await target.names()).toHaveLength(3);

    const list = await session.get<{ rows: { ossId: string; service: string }[] }>(
      '/resource/oss/list',
    );
    expect(JSON.stringify(list)).toContain('"service":"s3"');
    expect(ids).toHaveLength(2);
    dependency.close();
    await storage.onApplicationShutdown();
    target.close();
  });
});

/** Writes other bytes of the same number into the file below the folder that is not among the objects. */
async function damageOther(folder: string, objects: readonly string[]): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    if (objects.some((name) => name.endsWith(entry.name))) continue;
    await writeFile(join(entry.parentPath, entry.name), 'thirD.');
  }
}
