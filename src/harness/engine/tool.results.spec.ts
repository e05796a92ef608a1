import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkOutside, layOutside } from '../../../test/support/path-attacks.js';
import { loadConfig } from '../../platform/config/index.js';
import { OutputCollector } from '../sandbox/sandbox.run.js';
import { PartialOutputs } from './tool.results.js';

const effect = { tenantId: '000000', toolCallId: 'call' };

let place: string;
let outside: string;
let outputs: PartialOutputs;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'plinth-outputs-'));
  outside = join(place, 'outside');
  layOutside(outside);
  outputs = new PartialOutputs(loadConfig({ DATA_DIR: place }));
});

afterEach(() => rmSync(place, { recursive: true, force: true }));

/** What is kept of a command that says so much. */
async function kept(...pieces: string[]): Promise<string | undefined> {
  const output = outputs.begin(effect, (bytes) => Buffer.from(`masked ${bytes.toString()}`));
  const collector = new OutputCollector();
  for (const piece of pieces) {
    collector.add(Buffer.from(piece));
    output.update(collector);
  }
  await output.end();
  return (await outputs.read(effect))?.toString();
}

describe('the output of a command that runs', () => {
  it('is kept masked, for the service alone, until it is removed', async () => {
    expect(await kept()).toBeUndefined();
    expect(await kept('one ', 'two')).toBe('masked one two');
    const folder = join(place, 'harness/blobs/000000/running');
    expect(readdirSync(folder)).toEqual(['call']);
    expect(lstatSync(join(folder, 'call')).mode & 0o777).toBe(0o600);
    await outputs.remove(effect);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['call.new', 'secret.txt'],
    ['call.new', 'missing.txt'],
    ['call', 'secret.txt'],
  ])('is not written over a link from %s to %s (S7)', async (name, target) => {
    const folder = join(place, 'harness/blobs/000000/running');
    mkdirSync(folder, { recursive: true });
    symlinkSync(join(outside, target), join(folder, name));
    expect(await kept('output')).toBe('masked output');
    checkOutside(outside);
    expect(lstatSync(join(folder, 'call')).isFile()).toBe(true);
  });
});
