import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkOutside, layOutside } from '../../../test/support/path-attacks.js';
import { writeNew } from './blob.store.js';

let place: string;
let outside: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'plinth-new-file-'));
  outside = join(place, 'outside');
  layOutside(outside);
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

describe('a new file', () => {
  it('is for the service alone', async () => {
    await writeNew(join(place, 'new'), Buffer.from('text'));
    expect(readFileSync(join(place, 'new'), 'utf8')).toBe('text');
    expect(lstatSync(join(place, 'new')).mode & 0o777).toBe(0o600);
  });

  it.each(['secret.txt', 'missing.txt'])('is not written over a link to %s (S7)', async (name) => {
    symlinkSync(join(outside, name), join(place, 'new'));
    await expect(writeNew(join(place, 'new'), Buffer.from('evil'))).rejects.toThrow('EEXIST');
    checkOutside(outside);
    expect(readdirSync(place).sort()).toEqual(['new', 'outside']);
  });
});
