import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Dependency } from '../../../src/platform/dependency/index.js';
import { NotFoundError } from '../../../src/platform/error/index.js';
import {
  DiskStorage,
  FileTooLargeError,
  ObjectStorage,
} from '../../../src/platform/storage/index.js';
import type { FileStorage } from '../../../src/platform/storage/index.js';
import { s3Server, storageAddress, TestBucket } from '../../support/s3-server.js';
import { eventually } from '../../support/wait.js';

const PREFIX = 'abcdef01/';
const newKey = (prefix = PREFIX): string => prefix + randomBytes(16).toString('hex');
const open = new AbortController().signal;
const options = { limitBytes: 20_000_000, signal: open };
const inAnHour = (): Date => new Date(Date.now() + 3_600_000);
const anHourAgo = (): Date => new Date(Date.now() - 3_600_000);

async function listed(storage: FileStorage, prefix: string, before: Date): Promise<string[]> {
  const keys = [];
  for await (const key of storage.list(prefix, before)) keys.push(key);
  return keys.sort();
}

/** The number of files, finished or not, in the directory. */
async function countIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).length;
}

/** A storage for the contract, and the number of files or objects in it, finished or not. */
interface Storage {
  readonly files: FileStorage;
  readonly count: () => Promise<number>;
  readonly close: () => Promise<void>;
}

async function onDisk(): Promise<Storage> {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-files-'));
  const files = new DiskStorage(directory, new Dependency('files'));
  const close = async () => rmSync(directory, { recursive: true, force: true });
  return { files, count: () => countIn(directory), close };
}

async function inBucket(): Promise<Storage> {
  const bucket = await TestBucket.make();
  const dependency = new Dependency('files');
  const address = storageAddress(bucket.url());
  const files = await ObjectStorage.open(address, { proxies: { noProxy: [] } }, dependency);
  const count = async () => (await bucket.names()).length;
  const close = async () => {
    dependency.close();
    bucket.close();
    await files.onApplicationShutdown();
  };
  return { files, count, close };
}

/** More than two parts of an upload to an object storage. */
const LARGE_BYTES = 12_000_017;

describe.each([
  ['the local disk', onDisk, describe],
  ['an object storage', inBucket, s3Server === '' ? describe.skip : describe],
] as const)('files on %s', (_, open_, group) => {
  group('keep the contract', () => {
    let opened: Storage;
    let storage: FileStorage;
    const countAll = (): Promise<number> => opened.count();

    beforeAll(async () => {
      opened = await open_();
      storage = opened.files;
    });

    afterAll(() => opened.close());

    it('gives back what was written, with its size and hash', async () => {
      const content = randomBytes(LARGE_BYTES);
      const key = newKey();
      const written = await storage.write(
        key,
        Readable.from([content.subarray(0, 5), content.subarray(5)]),
        options,
      );
      expect(written).toEqual({
        byteSize: LARGE_BYTES,
        sha256: createHash('sha256').update(content).digest('hex'),
      });
      expect((await buffer(await storage.read(key))).equals(content)).toBe(true);
      expect(await storage.sizeOf(key)).toBe(LARGE_BYTES);
    });

    it('reads a part, and less where the file ends', async () => {
      const key = newKey();
      await storage.write(key, Readable.from([Buffer.from('0123456789')]), options);
      const part = async (start: number, end: number): Promise<string> =>
        String(await buffer(await storage.read(key, { start, end })));
      expect(await part(0, 1)).toBe('0');
      expect(await part(3, 7)).toBe('3456');
      expect(await part(8, 20)).toBe('89');
      expect(await part(20, 30)).toBe('');
      await expect(storage.read(newKey(), { start: 0, end: 1 })).rejects.toThrow(NotFoundError);
    });

    it('stores an empty file', async () => {
      const key = newKey();
      const written = await storage.write(key, Readable.from([]), options);
      expect(written.byteSize).toBe(0);
      expect(written.sha256).toBe(
        'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      );
      expect((await buffer(await storage.read(key))).length).toBe(0);
    });

    it('accepts exactly the limit', async () => {
      const source = Readable.from([Buffer.alloc(600), Buffer.alloc(400)]);
      const written = await storage.write(newKey(), source, { limitBytes: 1_000, signal: open });
      expect(written.byteSize).toBe(1_000);
    });

    it('refuses one byte more than the limit, leaves nothing and ends the source', async () => {
      const before = await countAll();
      const key = newKey();
      const source = Readable.from([Buffer.alloc(1_000), Buffer.alloc(1), Buffer.alloc(1)]);
      await expect(storage.write(key, source, { limitBytes: 1_000, signal: open })).rejects.toThrow(
        FileTooLargeError,
      );
      expect(source.destroyed).toBe(true);
      expect(await storage.sizeOf(key)).toBeUndefined();
      expect(await countAll()).toBe(before);
    });

    it('leaves nothing when the source breaks off', async () => {
      const before = await countAll();
      const key = newKey();
      async function* broken(): AsyncGenerator<Buffer> {
        yield Buffer.from('a beginning');
        throw new Error('the line is dead');
      }
      await expect(storage.write(key, Readable.from(broken()), options)).rejects.toThrow(
        'the line is dead',
      );
      expect(await storage.sizeOf(key)).toBeUndefined();
      expect(await countAll()).toBe(before);
    });

    it('leaves nothing when it is aborted while the source is silent', async () => {
      const before = await countAll();
      const key = newKey();
      const controller = new AbortController();
      const source = new Readable({ read: () => undefined });
      source.push(randomBytes(LARGE_BYTES));
      const write = storage.write(key, source, { ...options, signal: controller.signal });
      await eventually(countAll, (count) => count > before);
      controller.abort();
      await expect(write).rejects.toMatchObject({ name: 'AbortError' });
      expect(source.destroyed).toBe(true);
      expect(await storage.sizeOf(key)).toBeUndefined();
      expect(await countAll()).toBe(before);
    });

    it('answers not found, before the first byte, for what was never written or was removed', async () => {
      const key = newKey();
      await expect(storage.read(key)).rejects.toThrow(NotFoundError);
      await storage.write(key, Readable.from([Buffer.from('x')]), options);
      await storage.remove(key);
      expect(await storage.sizeOf(key)).toBeUndefined();
      await expect(storage.read(key)).rejects.toThrow(NotFoundError);
    });

    it('removes what is not there without complaint', async () => {
      await expect(storage.remove(newKey())).resolves.toBeUndefined();
    });

    it.each(['../../etc/passwd', 'abcdef01/../../x', '/etc/passwd', '', 'abcdef01/A'])(
      'refuses the key %p in every method',
      async (key) => {
        await expect(storage.write(key, Readable.from([]), options)).rejects.toThrow(
          'invalid form',
        );
        await expect(storage.read(key)).rejects.toThrow('invalid form');
        await expect(storage.remove(key)).rejects.toThrow('invalid form');
        await expect(storage.sizeOf(key)).rejects.toThrow('invalid form');
        await expect(storage.quarantine(key)).rejects.toThrow('invalid form');
        await expect(storage.restore(key)).rejects.toThrow('invalid form');
      },
    );

    it('lists the keys of one prefix that are older than a time', async () => {
      const prefix = 'ffffff00/';
      const keys = [newKey(prefix), newKey(prefix)].sort();
      for (const key of keys) await storage.write(key, Readable.from([Buffer.from('x')]), options);
      expect(await listed(storage, prefix, inAnHour())).toEqual(keys);
      expect(await listed(storage, prefix, anHourAgo())).toEqual([]);
      expect(await listed(storage, '00000000/', inAnHour())).toEqual([]);
    });

    it('sets a file aside, puts it back, and reads it in between', async () => {
      const prefix = 'ffffff01/';
      const key = newKey(prefix);
      await storage.write(key, Readable.from([Buffer.from('kept')]), options);
      const aside = async (before: Date): Promise<string[]> => {
        const keys = [];
        for await (const found of storage.listQuarantined(prefix, before)) keys.push(found);
        return keys;
      };
      await storage.quarantine(key);
      expect(await storage.sizeOf(key)).toBeUndefined();
      expect(await listed(storage, prefix, inAnHour())).toEqual([]);
      expect([await aside(inAnHour()), await aside(anHourAgo())]).toEqual([[key], []]);

      await storage.restore(key);
      expect([await storage.sizeOf(key), await aside(inAnHour())]).toEqual([4, []]);

      await storage.quarantine(key);
      expect((await buffer(await storage.read(key))).toString()).toBe('kept');

      await storage.quarantine(key);
      await storage.remove(key);
      expect(await aside(inAnHour())).toEqual([]);
      await expect(storage.read(key)).rejects.toThrow(NotFoundError);
      for (const missing of [storage.quarantine(newKey()), storage.restore(newKey())]) {
        await expect(missing).resolves.toBeUndefined();
      }
    });

    it('removes unfinished writes only once they are old', async () => {
      const controller = new AbortController();
      const source = new Readable({ read: () => undefined });
      source.push(randomBytes(LARGE_BYTES));
      const before = await countAll();
      const write = storage.write(newKey(), source, { ...options, signal: controller.signal });
      const ended = expect(write).rejects.toThrow();
      await eventually(countAll, (count) => count > before);
      // moto 5.2 says that every upload began in 2010.
      if (storage.service === 'local') expect(await storage.removeUnfinished(anHourAgo())).toBe(0);
      expect(await countAll()).toBe(before + 1);
      expect(await storage.removeUnfinished(inAnHour())).toBe(1);
      expect(await countAll()).toBe(before);
      controller.abort();
      await ended;
    });
  });
});

describe('files on the local disk', () => {
  it('keeps files and directories from other users of the machine', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'plinth-files-'));
    const root = join(directory, 'files');
    const key = 'abcdef01/0123456789abcdef0123456789abcdef';
    const signal = new AbortController().signal;
    await new DiskStorage(directory, new Dependency('files')).write(
      key,
      Readable.from([Buffer.from('x')]),
      {
        limitBytes: 10,
        signal,
      },
    );
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect([mode(root), mode(join(root, 'abcdef01')), mode(join(root, key))]).toEqual([
      '700',
      '700',
      '600',
    ]);
    rmSync(directory, { recursive: true, force: true });
  });
});
