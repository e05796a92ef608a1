import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PRIVATE_KEY, SECRET_TEXT } from '../../../../test/support/path-attacks.js';
import { whileSwapped } from '../../../../test/support/swapping.js';
import { noSecrets, ToolWorkspace } from '../../../../test/support/tool-workspace.js';
import { sha256 } from '../../protocol/values.js';
import { ToolError } from '../../protocol/tool-call.js';
import { ListFilesTool, ReadFileTool } from './read.tools.js';

const list = new ListFilesTool();
const read = new ReadFileTool(noSecrets);

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

describe('read_file', () => {
  it('numbers the lines, and notes what it has seen', async () => {
    here.put('src/a.ts', '\ufeffone\r\n\ttwo\nthree');

    const outcome = await here.call(read, { path: './src/a.ts' });

    expect(outcome).toEqual({
      content: '1\tone\n2\t\ttwo\n3\tthree\n\n[End of the file, 3 lines.]',
      summary: 'read 3 lines of src/a.ts',
      truncated: false,
      seen: [{ path: 'src/a.ts', sha256: sha256('\ufeffone\r\n\ttwo\nthree') }],
    });
    expect(read.title({ path: 'src/a.ts' })).toBe('read src/a.ts');
  });

  it('says how to go on', async () => {
    here.put('a', Array.from({ length: 4_500 }, (_, index) => `line ${index + 1}\n`).join(''));

    const first = await here.call(read, { path: 'a' });
    expect(first.content).toMatch(/^1\tline 1\n/);
    expect(first.content).toMatch(
      /\n2000\tline 2000\n\n\[Lines 1 to 2000 of 4500\. Go on with offset=2001\.\]$/,
    );
    expect(first).toMatchObject({ truncated: true, summary: 'read lines 1 to 2000 of 4500 of a' });
    const last = await here.call(read, { path: 'a', offset: 4_499 });
    expect(last.content).toBe('4499\tline 4499\n4500\tline 4500\n\n[End of the file, 4500 lines.]');
    const some = await here.call(read, { path: 'a', offset: 10, limit: 1 });
    expect(some.content).toBe('10\tline 10\n\n[Lines 10 to 10 of 4500. Go on with offset=11.]');
    await expect(here.call(read, { path: 'a', offset: 4_501 })).rejects.toThrow(
      'a has only 4500 lines; offset=4501 is behind its end. Give a smaller offset.',
    );
  });

  it('shows at most 48 KiB and 2000 characters of a line', async () => {
    here.put('a', `${'ä'.repeat(3_000)}\n`.repeat(100));
    const { content } = await here.call(read, { path: 'a' });
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(48 * 1024);
    const [line = ''] = content.split('\n');
    expect(line).toBe(`1\t${'ä'.repeat(2_000)}… [1000 more characters]`);
    expect(content).toMatch(/Go on with offset=12\.\]$/);
  });

  it('tells an empty file, a binary one and one in another encoding', async () => {
    here.put('empty', '');
    here.put('binary', Buffer.from([1, 0, 2]));
    here.put('latin', Buffer.from('Gr\xfc\xdfe\n', 'latin1'));

    expect((await here.call(read, { path: 'empty' })).content).toBe('[The file is empty.]');
    await expect(here.call(read, { path: 'binary' })).rejects.toThrow(
      'binary is a binary file of 3 bytes and cannot be shown as text.',
    );
    expect((await here.call(read, { path: 'latin' })).content).toMatch(
      /^1\tGr\ufffd\ufffde\n[^]*Not valid UTF-8/,
    );
  });

  it('refuses a file above 20 MiB, and reads one of 20 MiB', async () => {
    here.put('fits', 'x'.repeat(20 * 1024 * 1024));
    here.put('larger', 'x'.repeat(20 * 1024 * 1024 + 1));
    expect((await here.call(read, { path: 'fits' })).truncated).toBe(false);
    expect(await here.codeOf(read, { path: 'larger' })).toBe('TOO_LARGE');
  });

  it('reads a file of millions of lines without a list of them', async () => {
    here.put('lines', '\n'.repeat(20 * 1024 * 1024));
    const before = process.memoryUsage().heapUsed;
    const { content } = await here.call(read, { path: 'lines', offset: 1_000_000, limit: 2 });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024);
    expect(content).toBe(
      '1000000\t\n1000001\t\n\n[Lines 1000000 to 1000001 of 20971520. Go on with offset=1000002.]',
    );
  });

  it.each([
    ['src/mian.ts', 'src/main.ts'],
    ['src/MAIN.ts', 'src/main.ts'],
    ['scr/main.ts', 'src/'],
    ['src/main.ts/x', undefined],
    ['src/completely-different', undefined],
    [`long/${'b'.repeat(99)}x`, `long/${'b'.repeat(99)}y`],
    // To compare long names takes too long where there are many.
    [`long/${'a'.repeat(100)}x`, undefined],
  ])('names what is near %s', async (path, near) => {
    here.put(`long/${'a'.repeat(100)}y`);
    here.put(`long/${'b'.repeat(99)}y`);
    here.put('src/main.ts');
    here.put('src/other.ts');
    const error: unknown = await here.call(read, { path }).catch((thrown: unknown) => thrown);
    if (!(error instanceof ToolError)) throw error;
    expect(['NOT_FOUND', 'NOT_A_FOLDER']).toContain(error.code);
    if (near) expect(error.message).toContain(`Did you mean ${near}`);
    else expect(error.message).not.toContain('Did you mean');
  });

  it('tells the policy of secrets, and follows no link to one whatever it says', async () => {
    here.put('.env', SECRET_TEXT);
    here.put('a.txt');
    here.link('notes.txt', '.env');
    here.link('b.txt', 'a.txt');

    expect(await here.subject(read, { path: 'a.txt' })).toEqual({ kind: 'read', secret: false });
    expect(await here.subject(read, { path: 'b.txt' })).toEqual({ kind: 'read', secret: false });
    expect(await here.subject(read, { path: '.env' })).toEqual({ kind: 'read', secret: true });
    expect(await here.subject(read, { path: '.ENV' })).toEqual({ kind: 'read', secret: true });
    here.put('access.json', PRIVATE_KEY);
    expect(await here.subject(read, { path: 'access.json' })).toEqual({
      ...{ kind: 'read', secret: true },
    });
    expect((await here.call(read, { path: '.env' })).content).toContain(SECRET_TEXT);
    await expect(here.subject(read, { path: 'notes.txt' })).rejects.toMatchObject({
      code: 'SECRET_PATH',
    });
    // It may become a link after the policy was asked.
    await expect(read.run({ path: 'notes.txt' }, here.context())).rejects.toMatchObject({
      code: 'SECRET_PATH',
    });
  });

  it('notes the file behind a link, because that is what an edit may change', async () => {
    here.put('a.txt', 'x');
    here.link('b.txt', 'a.txt');
    expect((await here.call(read, { path: 'b.txt' })).seen).toEqual([
      { path: 'a.txt', sha256: sha256('x') },
    ]);
  });

  it('ends with the signal', async () => {
    here.put('a.txt');
    await expect(
      here.call(read, { path: 'a.txt' }, { signal: AbortSignal.abort(new Error('stopped')) }),
    ).rejects.toThrow('stopped');
  });
});

describe('list_files', () => {
  it('shows folders, sizes and links', async () => {
    here.put('src/b.ts', 'x'.repeat(2_048));
    here.put('src/deep/er/c.ts', 'x');
    here.put('node_modules/x/index.js');
    here.put('a\nb', '');
    here.link('out', here.outside);
    execFileSync('mkfifo', [join(here.root, 'pipe')]);

    expect((await here.call(list, {})).content.split('\n')).toEqual([
      '"a\\nb" (0 bytes)',
      'node_modules/ (not entered)',
      'out (link)',
      'pipe (no regular file)',
      'src/',
    ]);
    expect((await here.call(list, { depth: 3 })).content.split('\n').slice(-4)).toEqual([
      'src/',
      'src/b.ts (2.0 KiB)',
      'src/deep/',
      'src/deep/er/',
    ]);
    expect((await here.call(list, { path: 'node_modules', depth: 2 })).content).toBe(
      'node_modules/x/\nnode_modules/x/index.js (7 bytes)',
    );
    expect((await here.call(list, { path: 'src/deep' })).content).toBe('src/deep/er/');
  });

  it('shows 500 entries at most, those above before those below', async () => {
    for (let i = 0; i < 300; i += 1) here.put(`a/f${i}`, '');
    for (let i = 0; i < 300; i += 1) here.put(`z${i}`, '');
    const outcome = await here.call(list, { depth: 2 });
    const lines = outcome.content.split('\n');
    expect(lines).toHaveLength(502);
    expect(lines.filter((line) => line.startsWith('z'))).toHaveLength(300);
    expect(lines.at(-1)).toMatch(/^\[The first 500 entries; there are more\./);
    expect(outcome).toMatchObject({ truncated: true, summary: 'listed 500 entries and more in .' });
  });

  it.each([
    ['and is listed', { path: 'b/a' }, 'SYMLINK_ESCAPE'],
    ['below the one that is listed', { path: 'b', depth: 2 }, 'b/a (link)'],
  ])('names nothing outside while a folder is swapped %s', async (_, input, instead) => {
    here.put('b/a/mine.txt');
    await whileSwapped(
      { path: join(here.root, 'b/a'), target: join(here.outside, 'folder') },
      { calls: 200, swaps: 50, outcomes: ['inside', instead] },
      async () => {
        const content = await here.codeOf(list, input);
        expect(content).not.toContain('secret.txt');
        if (content.includes('b/a/mine.txt')) return 'inside';
        return content.includes(instead) ? instead : content;
      },
    );
  });

  it('tells what is empty, missing or no folder', async () => {
    here.put('file');
    here.put('folder/x');
    rmSync(join(here.root, 'folder/x'));
    expect((await here.call(list, { path: 'folder' })).content).toBe('The folder folder is empty.');
    expect(await here.codeOf(list, { path: 'none' })).toBe('NOT_FOUND');
    expect(await here.codeOf(list, { path: 'file' })).toBe('NOT_A_FOLDER');
  });
});
