import { execFileSync } from 'node:child_process';
import { chmodSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  PRIVATE_KEY,
  checkOutside,
  OUTSIDE_TEXT,
  SECRET_TEXT,
} from '../../../../test/support/path-attacks.js';
import { whileSwapped } from '../../../../test/support/swapping.js';
import { noSecrets, ToolWorkspace } from '../../../../test/support/tool-workspace.js';
import { GlobFilesTool, SearchTextTool } from './search.tools.js';
import { FileSearch } from './file-search.js';

/** A FileSearch whose ripgrep is another program. */
function searchWith(program: () => Promise<string>): FileSearch {
  return new (class extends FileSearch {
    protected override program = program;
  })();
}

const engine = new FileSearch();

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

describe('search_text', () => {
  const search = new SearchTextTool(engine, noSecrets);

  it('shows matches with their lines, file by file', async () => {
    here.put('src/b.ts', 'zero\nconst Value = 1;\nthree\nfour\nfive\nsix\nvalue();\n');
    here.put('a.md', 'The value of it.\r\n');

    const outcome = await here.call(search, { pattern: 'value', ignoreCase: true, context: 1 });

    expect(outcome.content).toBe(
      [
        'a.md',
        '1: The value of it.',
        '',
        'src/b.ts',
        '1- zero',
        '2: const Value = 1;',
        '3- three',
        '--',
        '6- six',
        '7: value();',
      ].join('\n'),
    );
    expect(outcome).toMatchObject({
      summary: 'found 3 matches in 2 files for value',
      truncated: false,
    });
    expect((await here.call(search, { pattern: 'value' })).summary).toMatch(/found 2 matches/);
  });

  it('takes a pattern literally, or as an expression', async () => {
    here.put('a.txt', 'f(x) $1\n-e --files\n');
    expect((await here.call(search, { pattern: 'f(x) $1', literal: true })).content).toContain(
      '1:',
    );
    expect((await here.call(search, { pattern: '^f\\(\\w\\)' })).content).toContain('1: f(x)');
    expect((await here.call(search, { pattern: '-e', literal: true })).content).toContain('2: -e');
    expect((await here.call(search, { pattern: '--files' })).content).toContain('2: -e --files');
    await expect(here.call(search, { pattern: '(' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENTS',
      message: expect.stringMatching(/cannot be read[^]*literal=true/),
    });
  });

  it('looks where it is told to', async () => {
    here.put('a/x.ts', 'needle');
    here.put('a/y.js', 'needle');
    here.put('b[1]/c/x.ts', 'needle');
    here.put('.hidden/x.ts', 'needle');
    const files = async (input: object): Promise<string[]> =>
      (await here.call(search, { pattern: 'needle', ...input })).content
        .split('\n')
        .filter((line) => /\.(ts|js)$/.test(line));

    expect(await files({})).toEqual(['.hidden/x.ts', 'a/x.ts', 'a/y.js', 'b[1]/c/x.ts']);
    expect(await files({ path: 'a' })).toEqual(['a/x.ts', 'a/y.js']);
    expect(await files({ path: 'a/y.js' })).toEqual(['a/y.js']);
    expect(await files({ glob: '*.js' })).toEqual(['a/y.js']);
    expect(await files({ glob: '!*.ts' })).toEqual(['a/y.js']);
    expect(await files({ path: 'a', glob: '/x.ts' })).toEqual(['a/x.ts']);
    expect(await files({ path: 'b[1]', glob: 'c/*.ts' })).toEqual(['b[1]/c/x.ts']);
    expect(await here.codeOf(search, { pattern: 'x', path: 'none' })).toBe('NOT_FOUND');
  });

  it('leaves out what is ignored, other tools’ folders and binary files', async () => {
    here.put('.gitignore', 'out/\n*.log\n');
    here.put('sub/.gitignore', 'local\n');
    here.put('.git/HEAD', 'needle');
    for (const path of ['out/x', 'a.log', 'sub/a.log', 'sub/local', 'node_modules/x/y', 'dist/x']) {
      here.put(path, 'needle');
    }
    here.put('binary', Buffer.from('needle\0'));
    here.put('sub/kept', 'needle');
    const found = (await here.call(search, { pattern: 'needle' })).content;
    expect(found).toBe('sub/kept\n1: needle');
    const asked = await here.call(search, { pattern: 'needle', path: 'node_modules' });
    expect(asked.content).toContain('node_modules/x/y');
    expect((await here.call(search, { pattern: 'needle', path: 'sub' })).content).toBe(found);
  });

  it('is not told by the folders above what to leave out', async () => {
    writeFileSync(join(here.root, '..', '.gitignore'), '*\n');
    here.put('a.txt', 'needle');
    expect((await here.call(search, { pattern: 'needle' })).content).toContain('a.txt');
  });

  it('never shows a secret, whatever it is called with', async () => {
    const secrets = [
      '.env',
      '.ENV.local',
      '.ｅｎｖ',
      'a/server.key',
      'a/.ssh/config',
      'id_rsa',
      'credentials.json',
      '.git/config',
    ];
    for (const path of secrets) here.put(path, SECRET_TEXT);
    here.put('a.txt', 'no TOKEN here');
    here.link('b.txt', '.env');
    for (const input of [
      {},
      { glob: '.env' },
      { glob: '**/*' },
      { glob: '**/.*' },
      { path: 'a' },
      { glob: '*.key', path: 'a' },
    ]) {
      const { content } = await here.call(search, { pattern: 'TOKEN', ...input });
      expect(content).not.toContain(SECRET_TEXT);
    }
    for (const path of [...secrets, 'b.txt', 'a/.ssh']) {
      expect(await here.codeOf(search, { pattern: 'TOKEN', path })).toBe('SECRET_PATH');
    }
    expect(await here.codeOf(search, { pattern: 'TOKEN', path: '.git' })).toBe('PROTECTED_PATH');
  });

  it('shows nothing of a file whose content makes it a secret', async () => {
    here.put('access.json', `{"TOKEN":1}\n${PRIVATE_KEY}`);
    here.put('other.json', '{"TOKEN":2}\n');
    const { content } = await here.call(search, { pattern: 'TOKEN|BEGIN' });
    expect(content).toContain('other.json');
    expect(content).not.toMatch(/access\.json|BEGIN/);
  });

  it('shows 100 matches, and the part of a long line that fits', async () => {
    here.put('many', 'needle\n'.repeat(150));
    const many = await here.call(search, { pattern: 'needle' });
    expect(many.content.match(/: needle/g)).toHaveLength(100);
    expect(many).toMatchObject({ truncated: true });
    expect(many.content).toMatch(/There may be more matches/);

    here.put('long', `${'a'.repeat(100_000)}pin${'ä'.repeat(100_000)}\n`);
    const { content } = await here.call(search, { pattern: 'pin' });
    const [, line = ''] = content.split('\n');
    expect(line).toBe(`1: … ${'a'.repeat(200)}pin${'ä'.repeat(297)} …`);
  });

  it('says when there is nothing', async () => {
    here.put('a.txt');
    expect((await here.call(search, { pattern: 'needle' })).content).toMatch(
      /^No line fits needle\./,
    );
  });

  it('ends with the signal', async () => {
    here.put('a.txt', 'needle');
    await expect(
      here.call(search, { pattern: 'x' }, { signal: AbortSignal.abort(new Error('stopped')) }),
    ).rejects.toThrow('stopped');
  });

  it('shows nothing of the outside while a folder is swapped with a link to it', async () => {
    for (let i = 0; i < 50; i += 1) here.put(`a/file-${i}.txt`, 'inside TEXT\n');
    await whileSwapped(
      { path: join(here.root, 'a'), target: join(here.outside, 'folder') },
      { calls: 20, swaps: 20, outcomes: ['inside', 'nothing'] },
      async () => {
        const content = await here.codeOf(search, { pattern: 'TEXT', context: 5 });
        expect(content).not.toContain(OUTSIDE_TEXT);
        // Where it was moved aside, it is found, too.
        return /^a\/file-/m.test(content) ? 'inside' : 'nothing';
      },
    );
    checkOutside(here.outside);
  });
});

describe('glob_files', () => {
  const glob = new GlobFilesTool(engine);
  const found = async (pattern: string, path?: string): Promise<string[]> =>
    (await here.call(glob, { pattern, path })).content.split('\n');

  it('finds files, the last changed first', async () => {
    for (const [index, path] of ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'src/d.js'].entries()) {
      here.put(path);
      utimesSync(join(here.root, path), 1_000 + index, 1_000 + index);
    }
    expect(await found('*.ts')).toEqual(['src/deep/c.ts', 'src/b.ts', 'a.ts']);
    expect(await found('**/*.{ts,js}')).toHaveLength(4);
    expect(await found('src/*.ts')).toEqual(['src/b.ts']);
    expect(await found('./src/**/*.ts')).toEqual(['src/deep/c.ts', 'src/b.ts']);
    expect(await found('*.ts', 'src')).toEqual(['src/deep/c.ts', 'src/b.ts']);
    expect(await found('deep/*', 'src')).toEqual(['src/deep/c.ts']);
    expect(await found('src/deep/')).toEqual(['src/deep/c.ts']);
    expect(await found(`${here.root}/src/*.js`)).toEqual(['src/d.js']);
    expect(await found('b.ts', 'src/b.ts')).toEqual(['src/b.ts']);
    expect(await found('none')).toEqual([expect.stringMatching(/^No file fits none\./)]);
  });

  it('leaves out secrets, links, ignored files and those of git', async () => {
    here.put('.gitignore', 'out\n');
    for (const path of [
      '.env',
      'out/x.ts',
      '.git/x.ts',
      'node_modules/x.ts',
      'a/id_rsa',
      'a/x.ts',
    ]) {
      here.put(path);
    }
    here.link('b.ts', 'a/x.ts');
    here.link('c', here.outside);
    expect(await found('**')).toEqual(expect.arrayContaining(['a/x.ts', '.gitignore']));
    expect(await found('**')).toHaveLength(2);
    expect(await found('.*')).toEqual(['.gitignore']);
    expect(await found('*.ts', 'node_modules')).toEqual(['node_modules/x.ts']);
    expect(await found('*', 'c').catch((error: unknown) => error)).toMatchObject({
      code: 'SYMLINK_ESCAPE',
    });
  });

  it('shows 200 at most', async () => {
    for (let i = 0; i < 250; i += 1) here.put(`f${i}.txt`, '');
    const outcome = await here.call(glob, { pattern: '*.txt' });
    expect(outcome.content.split('\n')).toHaveLength(202);
    expect(outcome).toMatchObject({
      truncated: true,
      summary: 'found 200 files and more for *.txt',
    });
  });

  it.each([
    ['anywhere', { pattern: '**/*.txt' }, ['there', 'not there']],
    ['in it', { pattern: '*.txt', path: 'a' }, ['not there', 'SYMLINK_ESCAPE']],
  ])('names nothing outside while a folder is swapped, %s', async (_place, input, outcomes) => {
    here.put('a/mine.txt');
    await whileSwapped(
      { path: join(here.root, 'a'), target: join(here.outside, 'folder') },
      { calls: 10, swaps: 20, outcomes },
      async () => {
        const content = await here.codeOf(glob, input);
        expect(content).not.toContain('secret.txt');
        // Not there: it was gone again when what the search had found was looked at, or stood aside.
        if (/^[A-Z_]+$/.test(content)) return content;
        return /^a\/mine/m.test(content) ? 'there' : 'not there';
      },
    );
  });

  it.each(['!*.ts', '../*', 'a/../../*', 'a\nb', 'a\0b'])(
    'refuses the pattern %j',
    async (pattern) => {
      expect(await here.codeOf(glob, { pattern })).toBe('INVALID_ARGUMENTS');
    },
  );

  it('ends with a pattern that would take forever', async () => {
    here.put(`${'a'.repeat(60)}.txt`);
    const pattern = `${'*a'.repeat(30)}*b`;
    expect(typeof (await here.codeOf(glob, { pattern }))).toBe('string');
  });
});

it.each([
  ['brings no binary', () => Promise.reject(new Error('Cannot find module'))],
  ['brings one that cannot be started', async () => '/nowhere/rg'],
])('says so where the package of ripgrep %s', async (_, program) => {
  here.put('a.txt', 'needle');
  const search = new SearchTextTool(searchWith(program), noSecrets);
  for (let i = 0; i < 2; i += 1) {
    await expect(here.call(search, { pattern: 'needle' })).rejects.toMatchObject({
      code: 'FAILED',
      message: expect.stringMatching(/^ripgrep is not available\./),
    });
  }
});

it('ends a search that goes on for ever with the signal', async () => {
  const program = join(here.root, '..', 'rg');
  writeFileSync(program, '#!/bin/sh\nexec sleep 1000\n');
  chmodSync(program, 0o755);
  const search = new SearchTextTool(
    searchWith(async () => program),
    noSecrets,
  );
  const stopped = here.call(search, { pattern: 'x' }, { signal: AbortSignal.timeout(500) });
  await expect(stopped).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('gives ripgrep nothing of the environment', async () => {
  const program = join(here.root, '..', 'rg');
  writeFileSync(program, '#!/usr/bin/env -S sh\nenv > "$PWD/../environment"\n');
  chmodSync(program, 0o755);
  process.env['SECRET_OF_THE_SERVICE'] = 'secret';
  await here.call(new GlobFilesTool(searchWith(async () => program)), { pattern: '*' });
  delete process.env['SECRET_OF_THE_SERVICE'];
  const names = execFileSync('cut', ['-d=', '-f1', join(here.root, '..', 'environment')]);
  expect(names.toString().split('\n').filter(Boolean).sort()).toEqual(
    ['PWD', 'SHLVL', '_'].filter((name) => names.includes(name)),
  );
});
