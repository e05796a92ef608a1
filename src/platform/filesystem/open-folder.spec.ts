import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkOutside, layOutside } from '../../../test/support/path-attacks.js';
import { closing, OpenFolder } from './index.js';

const { signal } = new AbortController();

let place: string;
let outside: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'plinth-folder-'));
  outside = join(place, 'outside');
  layOutside(outside);
  mkdirSync(join(place, 'inside'));
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

describe('a file that is made', () => {
  it.each(['secret.txt', 'missing.txt'])(
    'is not written over a link to %s in its place (S7)',
    async (name) => {
      symlinkSync(join(outside, name), join(place, 'inside/new.txt'));
      const making = closing(await OpenFolder.open(join(place, 'inside')), (folder) =>
        folder.create('new.txt', Buffer.from('evil'), { mode: 0o644, signal }),
      );
      await expect(making).rejects.toThrow();
      checkOutside(outside);
      expect(readdirSync(join(place, 'inside'))).toEqual(['new.txt']);
    },
  );
});
