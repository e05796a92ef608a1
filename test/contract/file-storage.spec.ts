import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { Dependency } from '../../src/platform/dependency/index.js';
import { LocalFileStorage } from '../../src/platform/storage/local/local.file-storage.js';
import { describeFileStorage } from './file-storage.contract.js';

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describeFileStorage('local', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-files-'));
  return {
    storage: new LocalFileStorage(join(directory, 'files'), new Dependency('files')),
    countAll: async () => (await filesIn(directory)).length,
    close: async () => rmSync(directory, { recursive: true, force: true }),
  };
});

describe('LocalFileStorage', () => {
  it('keeps files and directories from other users of the machine', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'plinth-files-'));
    const root = join(directory, 'files');
    const key = 'abcdef01/0123456789abcdef0123456789abcdef';
    const signal = new AbortController().signal;
    await new LocalFileStorage(root, new Dependency('files')).write(
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
