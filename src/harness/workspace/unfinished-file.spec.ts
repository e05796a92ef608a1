import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ToolWorkspace } from '../../../test/support/tool-workspace.js';
import { isUnfinished, unfinishedName } from './workspace.js';

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

describe('a file whose writing was cut off', () => {
  const left = unfinishedName();

  it('is not listed, and is removed once it is known that nobody writes', async () => {
    here.put(`a/${left}`, 'KEY=secret');
    here.put('a/.plinth-mine.tmp');
    here.put('a/b');
    expect(await here.workspace.entries('a', 1)).toMatchObject([{ name: '.plinth-mine.tmp' }]);
    expect(await here.workspace.entries('a', 10)).toHaveLength(2);
    await here.workspace.removeUnfinished('a/gone');
    expect(existsSync(join(here.root, 'a', left))).toBe(false);
    expect(await here.workspace.entries('a', 10)).toHaveLength(2);
  });

  it('is a secret, and known by its name alone', () => {
    expect(here.workspace.classify(`a/${left}`).secret).toBe(true);
    expect(isUnfinished(left)).toBe(true);
    expect(isUnfinished('.plinth-mine.tmp')).toBe(false);
  });

  it('is not removed over a link', async () => {
    writeFileSync(join(here.outside, left), 'theirs');
    here.link('out', here.outside);
    await expect(here.workspace.removeUnfinished('out/a')).rejects.toMatchObject({
      code: 'SYMLINK_ESCAPE',
    });
    expect(readFileSync(join(here.outside, left), 'utf8')).toBe('theirs');
  });
});
