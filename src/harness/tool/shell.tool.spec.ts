import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ToolWorkspace } from '../../../test/support/tool-workspace.js';
import { sha256 } from '../protocol/values.js';
import { filesShownBy } from './shell.tool.js';

const LINES = Array.from({ length: 40 }, (_, index) => `const value${index} = compute(${index});`);
const TEXT = `${LINES.join('\n')}\n`;

let here: ToolWorkspace;

beforeEach(async () => {
  here = await ToolWorkspace.make();
  here.put('src/a.ts', TEXT);
});

afterEach(() => here.remove());

/** The paths that count as read after the command. */
async function seenAfter(
  command: string,
  output: string,
  changed: readonly string[] | undefined = [],
): Promise<string[]> {
  const asShown = (content: Buffer): string => content.toString();
  const given = { command, output: `exit code 0\n${output}`, asShown };
  const files = await filesShownBy(
    { ...given, changed: changed && new Set(changed) },
    here.context(),
  );
  for (const { path, sha256: hash } of files) {
    const { bytes } = await here.workspace.read(path, {
      limitBytes: 1_000_000,
      signal: new AbortController().signal,
    });
    expect(hash).toBe(sha256(bytes));
  }
  return files.map(({ path }) => path);
}

const part = (from: number, to: number): string => `${LINES.slice(from, to).join('\n')}\n`;

describe('a file counts as read', () => {
  it.each([
    ['cat src/a.ts', TEXT],
    ["cat 'src/a.ts' | tail -100", TEXT],
    ['cd src && cat a.ts', TEXT],
    ['cat ./src/../src/a.ts', TEXT.replaceAll('\n', '\r\n')],
    ['cat -n src/a.ts', LINES.map((line, index) => `    ${index + 1}\t${line}`).join('\n')],
    ['sed -n 10,13p src/a.ts', part(9, 13)],
    ['grep -n -A2 value7 src/a.ts', `8:${LINES[7]}\n9-${LINES[8]}\n10-${LINES[9]}\n`],
    ['echo before; head -5 src/a.ts; npm test', `before\n${part(0, 5)}ok\n`],
  ])('that %s has shown', async (command, output) => {
    expect(await seenAfter(command, output)).toEqual(['src/a.ts']);
  });

  it('with its absolute path, and each of several files', async () => {
    here.put('b.txt', 'one\n');
    const command = `cat ${here.root}/src/a.ts b.txt missing.txt`;
    expect(await seenAfter(command, `${TEXT}one\n`)).toEqual(['src/a.ts', 'b.txt']);
  });

  it('that the command has changed when all of it as it is now was shown', async () => {
    expect(await seenAfter('sed -i s/x/y/ src/a.ts; cat src/a.ts', TEXT, ['src/a.ts'])).toEqual([
      'src/a.ts',
    ]);
  });
});

describe('a file does not count as read', () => {
  it.each([
    ['that is not named', 'cat src/*.ts', TEXT],
    ['of which nothing was shown', 'node src/a.ts', 'ok\n'],
    ['of which two lines were shown', 'head -2 src/a.ts', part(0, 2)],
    [
      'of which lines were shown out of order',
      'sort -r src/a.ts',
      part(0, 9).split('\n').reverse().join('\n'),
    ],
    ['that lies outside', 'cat ../outside/secret.txt /etc/passwd', TEXT],
  ])('%s', async (_, command, output) => {
    expect(await seenAfter(command, output)).toEqual([]);
  });

  it('that the command has changed, or may have, after it has shown a part', async () => {
    const command = 'head -9 src/a.ts; echo more >> src/a.ts';
    expect(await seenAfter(command, part(0, 9), ['src/a.ts'])).toEqual([]);
    const files = await filesShownBy(
      { command, output: part(0, 9), changed: undefined, asShown: String },
      here.context(),
    );
    expect(files).toEqual([]);
  });

  it('that may hold secrets, by its name or behind a link', async () => {
    here.put('.env', TEXT);
    here.link('notes.txt', '.env');
    expect(await seenAfter('cat .env notes.txt', TEXT)).toEqual([]);
  });

  it('that is empty, or large with lines that are all alike', async () => {
    here.put('empty.txt', '');
    here.put('large.txt', '\n'.repeat(500_000) + 'a\n'.repeat(200_000));
    expect(await seenAfter('cat empty.txt large.txt', `${'\n'.repeat(20_000)}b\n`)).toEqual([]);
  });
});
