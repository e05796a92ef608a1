import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sourceStack } from './source-stack.js';

describe('sourceStack', () => {
  let folder: string;
  const url = (name: string): string => pathToFileURL(join(folder, name)).href;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'plinth-stack-'));
    // Line 2, column 1 is line 3, column 5 of the source.
    const map = { version: 3, sources: ['../../../src/a.ts'], names: [], mappings: ';AAEI' };
    writeFileSync(join(folder, 'service.js.map'), JSON.stringify(map));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('names the places of the sources, and leaves frames that have none', () => {
    const stack = (one: string): string =>
      `Error: No.\n    at run (${one})\n    at ${url('packages.js')}:2:1\n    at node:net:1:1`;

    expect(sourceStack(stack(`${url('service.js')}:2:1`))).toBe(stack('src/a.ts:3:5'));
  });
});
