import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  checkOutside,
  layOutside,
  OUTSIDE_TEXT,
  pathAttacks,
} from '../../../test/support/path-attacks.js';
import { whileSwapped } from '../../../test/support/swapping.js';
import { OpenFolder } from '../../platform/filesystem/index.js';
import type { FileState } from '../../effect/index.js';
import { ToolError, newFileMode } from '../protocol/tool-call.js';
import { sha256 } from '../protocol/values.js';
import { Workspace } from './workspace.js';
import { WorkspaceGoneError } from './workspace-roots.js';

const signal = new AbortController().signal;
const LIMIT = { limitBytes: 1_000, signal };
const SWAPPED_CALLS = 1_000;

let place: string;
let root: string;
let outside: string;
let workspace: Workspace;

beforeEach(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-workspace-')));
  root = join(place, 'workspace');
  outside = join(place, 'outside');
  mkdirSync(root);
  layOutside(outside);
  workspace = await Workspace.open(root, identity());
});

afterEach(async () => {
  await workspace.close();
  rmSync(place, { recursive: true, force: true });
});

function identity(): string {
  const { dev, ino } = statSync(root, { bigint: true });
  return `${dev}:${ino}`;
}

function put(path: string, content = 'inside'): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

function link(path: string, target: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
}

function stateOf(content: string, mode = 0o644): FileState {
  return { sha256: sha256(content), size: Buffer.byteLength(content), mode };
}

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'done';
  } catch (error) {
    if (error instanceof ToolError) return error.code;
    throw error;
  }
}

/** The content, or the code of the ToolError. */
async function textOf(path: string): Promise<string> {
  let text = '';
  const code = await codeOf(
    async () => (text = (await workspace.read(path, LIMIT)).bytes.toString()),
  );
  return code === 'done' ? text : code;
}

function write(path: string, text: string, expected: FileState | null = null): Promise<void> {
  return workspace.write(path, Buffer.from(text), { mode: 0o644, expected, signal });
}

/** Every path in the workspace, in order; links are not entered. */
function names(folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? [path, ...names(path)] : [path];
    })
    .sort();
}

describe('reading', () => {
  it('answers a file with what an edit needs to know', async () => {
    put('src/a.ts', 'Grüße');
    chmodSync(join(root, 'src/a.ts'), 0o750);

    const { bytes, ...file } = await workspace.read('src/a.ts', LIMIT);

    expect(bytes.toString()).toBe('Grüße');
    expect(file).toEqual({
      path: 'src/a.ts',
      realPath: 'src/a.ts',
      sha256: sha256('Grüße'),
      size: 7,
      mode: 0o750,
      links: 1,
    });
  });

  it.each([
    ['real/a.txt', 'real/a.txt'],
    ['file', 'real/a.txt'],
    ['folder/a.txt', 'real/a.txt'],
    ['absolute', 'real/a.txt'],
    ['deep/er/up', 'real/a.txt'],
    ['chain', 'real/a.txt'],
    ['round', 'real/a.txt'],
    ['folder/again', 'real/a.txt'],
  ])('follows %s inside to %s', async (path, realPath) => {
    put('real/a.txt');
    link('file', 'real/a.txt');
    link('folder', 'real');
    link('absolute', join(root, 'real/a.txt'));
    link('deep/er/up', '../../real/./a.txt');
    link('chain', 'folder/../file');
    link('round', '../workspace/real/a.txt');
    link('real/again', '../deep/er/up');

    expect(await workspace.read(path, LIMIT)).toMatchObject({ realPath });
    expect(await workspace.realPathOf(path)).toBe(realPath);
  });

  it('takes .. behind a link as the system does', async () => {
    put('a/b/x.txt', 'right');
    put('x.txt', 'wrong');
    link('l', 'a/b/c');
    mkdirSync(join(root, 'a/b/c'));
    link('m', 'l/../x.txt');

    expect((await workspace.read('m', LIMIT)).realPath).toBe('a/b/x.txt');
  });

  it('refuses what is larger than the limit, and says so', async () => {
    put('exact', 'x'.repeat(1_000));
    put('larger', 'x'.repeat(1_001));

    expect((await workspace.read('exact', LIMIT)).size).toBe(1_000);
    await expect(workspace.read('larger', LIMIT)).rejects.toThrow(/has 1001 bytes; at most 1000/);
  });

  it('ends when the signal does', async () => {
    put('a');
    await expect(
      workspace.read('a', { limitBytes: 10, signal: AbortSignal.abort() }),
    ).rejects.toThrow(/aborted/);
  });

  it('lists a folder in order, with links as links', async () => {
    put('b.txt', 'four');
    put('a/x');
    link('c', 'a');
    link('out', outside);

    expect(await workspace.entries('', 10)).toMatchObject([
      { name: 'a', kind: 'folder', size: 0 },
      { name: 'b.txt', kind: 'file', size: 4 },
      { name: 'c', kind: 'link', size: 0 },
      { name: 'out', kind: 'link', size: 0 },
    ]);
    expect(await workspace.entries('', 2)).toHaveLength(2);
    expect(await workspace.entries('c', 10)).toMatchObject([{ name: 'x' }]);
    expect(await codeOf(() => workspace.entries('out', 10))).toBe('SYMLINK_ESCAPE');
    expect(await codeOf(() => workspace.entries('b.txt', 10))).toBe('NOT_A_FOLDER');
    expect(await codeOf(() => workspace.entries('none', 10))).toBe('NOT_FOUND');
  });
});

describe('the state of a file', () => {
  it('is its digest and mode, or null', async () => {
    put('a', 'text');
    chmodSync(join(root, 'a'), 0o600);

    expect(await workspace.state('a', signal)).toEqual(stateOf('text', 0o600));
    expect(await workspace.state('b', signal)).toBeNull();
    expect(await workspace.state('b/c', signal)).toBeNull();
  });

  it('follows no link, also none inside', async () => {
    put('real/a');
    link('link', 'real/a');
    link('folder', 'real');

    expect(await codeOf(() => workspace.state('link', signal))).toBe('SYMLINK_ESCAPE');
    expect(await codeOf(() => workspace.state('folder/a', signal))).toBe('SYMLINK_ESCAPE');
  });
});

describe('writing', () => {
  it('makes a file and the folders on the way', async () => {
    await workspace.write('a/b/new.sh', Buffer.from('text'), {
      mode: 0o755,
      expected: null,
      signal,
    });

    expect(readFileSync(join(root, 'a/b/new.sh'), 'utf8')).toBe('text');
    expect(statSync(join(root, 'a/b/new.sh')).mode & 0o7777).toBe(0o755);
    expect(names()).toEqual(['a', 'a/b', 'a/b/new.sh']);
  });

  it('never gives a file more than permission bits', async () => {
    await workspace.write('a', Buffer.from(''), { mode: 0o4777, expected: null, signal });
    expect(statSync(join(root, 'a')).mode & 0o7777).toBe(0o777);
  });

  it('replaces a file that is as expected', async () => {
    put('a', 'old');
    await write('a', 'new', stateOf('old'));
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('new');
    expect(names()).toEqual(['a']);
  });

  it.each<[string, FileState | null]>([
    ['was changed', stateOf('other')],
    ['was not to be there', null],
  ])('leaves alone a file that %s', async (_, expected) => {
    put('a', 'old');
    expect(await codeOf(() => write('a', 'new', expected))).toBe('CHANGED_MEANWHILE');
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('old');
    expect(names()).toEqual(['a']);
  });

  it('makes nothing where a file has gone', async () => {
    expect(await codeOf(() => write('a/b', 'new', stateOf('old')))).toBe('CHANGED_MEANWHILE');
    expect(names()).toEqual([]);
  });

  it('leaves nothing behind when it is stopped', async () => {
    put('kept/a');
    const stopped = workspace.write('kept/more/b', Buffer.alloc(30_000_000), {
      mode: 0o644,
      expected: null,
      signal: AbortSignal.timeout(1),
    });
    await expect(stopped).rejects.toThrow(/timeout|aborted/);
    expect(names()).toEqual(['kept', 'kept/a']);
  });

  it('is done in a temporary file whose name nobody can guess (S7)', async () => {
    const temporary = new Set<string>();
    put('a', 'old');
    for (let i = 0; i < 20; i += 1) {
      const content = i % 2 === 0 ? 'one' : 'two';
      const old = readFileSync(join(root, 'a'), 'utf8');
      let isDone = false;
      const done = write('a', content, stateOf(old)).finally(() => (isDone = true));
      // The file is made, written and renamed in turns of the event loop of their own, so that a look falls between.
      while (!isDone) {
        readdirSync(root).forEach((name) => temporary.add(name));
        await new Promise(setImmediate);
      }
      await done;
    }
    temporary.delete('a');
    for (const name of temporary) expect(name).toMatch(/^\.plinth-[\da-f]{32}\.tmp$/);
    expect(temporary.size).toBeGreaterThan(1);
  });

  it('removes a file that is as expected, and the folders it leaves empty', async () => {
    put('a/b/c/x', 'old');
    put('a/y');

    expect(
      await codeOf(() => workspace.remove('a/b/c/x', { expected: stateOf('new'), signal })),
    ).toBe('CHANGED_MEANWHILE');
    await workspace.remove('a/b/c/x', { expected: stateOf('old'), signal });
    await workspace.removeEmptyFolders('a/b/c/x', 1);
    expect(names()).toEqual(['a', 'a/b', 'a/y']);
    await workspace.removeEmptyFolders('a/b/c/x');
    expect(names()).toEqual(['a', 'a/y']);
    expect(await codeOf(() => workspace.remove('a/z', { expected: stateOf('x'), signal }))).toBe(
      'CHANGED_MEANWHILE',
    );
  });

  it('removes no folder over a link', async () => {
    mkdirSync(join(place, 'empty'));
    link('l', join(place, 'empty'));
    mkdirSync(join(root, 'real'));
    link('in', 'real');
    for (const path of ['l/x', 'in/x']) await codeOf(() => workspace.removeEmptyFolders(path));
    expect(existsSync(join(place, 'empty'))).toBe(true);
    expect(names()).toEqual(['in', 'l', 'real']);
  });

  it('gives a new file what the umask leaves', () => {
    const umask = Number.parseInt(execFileSync('sh', ['-c', 'umask']).toString(), 8);
    expect(newFileMode()).toBe(0o644 & ~umask);
  });
});

describe.each(pathAttacks)('$name', (attack) => {
  /** The path as the workspace takes it, or the error's code. */
  function given(): string | ToolError {
    attack.prepare(root, outside);
    try {
      return workspace.pathOf(attack.path(root, outside));
    } catch (error) {
      if (error instanceof ToolError) return error;
      throw error;
    }
  }

  it('is not read', async () => {
    const path = given();
    if (path instanceof ToolError) {
      expect(attack.read).toContain(path.code);
      return;
    }
    const secret = async (): Promise<boolean> =>
      workspace.classify(await workspace.realPathOf(path)).secret;
    const code = (await codeOf(() => workspace.read(path, LIMIT))).replace(
      'done',
      (await codeOf(secret)) === 'done' && (await secret()) && !workspace.classify(path).secret
        ? 'SECRET_PATH'
        : 'done',
    );
    expect(attack.read.length > 0 ? attack.read : ['done']).toContain(code);
    checkOutside(outside);
  });

  it('is not written, looked at or removed', async () => {
    const path = given();
    if (path instanceof ToolError) {
      expect(attack.write).toContain(path.code);
      return;
    }
    const before = names();
    const old = await workspace.state(path, signal).catch(() => null);
    const codes = [
      await codeOf(() => write(path, 'evil', old)),
      await codeOf(() => write(path, 'evil', stateOf(OUTSIDE_TEXT))),
      await codeOf(() => workspace.remove(path, { expected: stateOf(OUTSIDE_TEXT), signal })),
    ];
    if (attack.write.length > 0) {
      for (const code of codes) expect([...attack.write, 'CHANGED_MEANWHILE']).toContain(code);
      expect(attack.write).toContain(codes[0]);
      expect(names()).toEqual(before);
    }
    if (attack.protection) {
      expect(workspace.classify(path).protection).toBe(attack.protection);
    }
    checkOutside(outside);
  });
});

describe('a repository', () => {
  const write = (path: string): Promise<void> =>
    workspace.write(path, Buffer.from('x'), { mode: 0o644, expected: null, signal });

  it.each([
    [['bare/HEAD', 'bare/refs/heads/main'], 'bare/objects/ab/cdef'],
    [['bare/objects/keep', 'bare/refs/keep'], 'bare/HEAD'],
    [['deep/er/HEAD'], 'deep/er/commondir'],
    [['objects/keep', 'refs/keep'], 'head'],
  ])('is not made of %j and %s', async (there, last) => {
    for (const path of there) await write(path);
    await expect(write(last)).rejects.toMatchObject({ code: 'PROTECTED_PATH' });
    expect(existsSync(join(root, last))).toBe(false);
  });

  it('is not made in a folder with more names than are listed', async () => {
    for (const path of ['bare/objects/keep', 'bare/refs/keep']) await write(path);
    const listed = jest.spyOn(OpenFolder.prototype, 'entries').mockResolvedValue(undefined);
    try {
      expect(await codeOf(() => workspace.entries('bare', 10))).toBe('TOO_LARGE');
      await expect(write('bare/HEAD')).rejects.toMatchObject({ code: 'PROTECTED_PATH' });
    } finally {
      listed.mockRestore();
    }
  });

  it('that is there is not changed, and folders with such names are none', async () => {
    for (const path of ['bare/HEAD', 'bare/objects/x', 'bare/refs/x']) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), '');
    }
    await expect(write('bare/config')).rejects.toMatchObject({ code: 'PROTECTED_PATH' });
    await expect(write('bare/hooks/update')).rejects.toMatchObject({ code: 'PROTECTED_PATH' });
    const { sha256: hash } = await workspace.read('bare/objects/x', { limitBytes: 10, signal });
    const expected = { sha256: hash, size: 0, mode: 0o644 };
    await expect(workspace.remove('bare/objects/x', { expected, signal })).rejects.toMatchObject({
      code: 'PROTECTED_PATH',
    });
    await write('game/objects/tree.txt');
    await write('game/config/keys.txt');
    await write('HEAD');
  });
});

describe('while a folder is swapped with a link to the outside', () => {
  /** Until both sides of the swaps were met. */
  function swapped(
    hoped: string,
    calls: number,
    call: (turn: number) => Promise<string>,
  ): Promise<ReadonlyMap<string, number>> {
    const aside = { path: join(root, 'a'), target: join(outside, 'folder') };
    return whileSwapped(aside, { calls, swaps: 100, outcomes: [hoped, 'SYMLINK_ESCAPE'] }, call);
  }

  it(`never reads a byte of it in ${SWAPPED_CALLS} tries`, async () => {
    put('a/secret.txt');
    const seen = await swapped('inside', SWAPPED_CALLS, () => textOf('a/secret.txt'));
    expect([...seen.keys()]).not.toContain(OUTSIDE_TEXT);
  });

  it('never lists a name of it', async () => {
    put('a/mine.txt');
    const seen = await swapped('mine.txt', 200, async () => {
      let listed = '';
      const code = await codeOf(async () => {
        listed = (await workspace.entries('a', 10)).map(({ name }) => name).join();
      });
      return code === 'done' ? listed : code;
    });
    expect([...seen.keys()].filter((one) => !/^[A-Z_]+$/.test(one))).toEqual(['mine.txt']);
  });

  it(`never writes a byte to it in ${SWAPPED_CALLS} tries`, async () => {
    put('a/x');
    await swapped('done', SWAPPED_CALLS, (turn) =>
      codeOf(() => write(turn % 2 === 0 ? `a/new-${turn}.txt` : `a/sub-${turn}/in/new.txt`, 'x')),
    );
    checkOutside(outside);
    expect(names().filter((name) => name.includes('.plinth-'))).toEqual([]);
  });

  it.each<[string, (known: FileState) => Promise<void>]>([
    ['replaces', (known) => write('a/secret.txt', OUTSIDE_TEXT.toLowerCase(), known)],
    ['removes', (known) => workspace.remove('a/secret.txt', { expected: known, signal })],
  ])('never %s a file of it', async (_, change) => {
    put('a/secret.txt', OUTSIDE_TEXT);
    const known = stateOf(OUTSIDE_TEXT);
    await swapped('done', 500, async () => {
      const code = await codeOf(() => change(known));
      // As it was, for the next turn.
      const now = await workspace.state('a/secret.txt', signal).catch(() => known);
      if (now?.sha256 !== known.sha256)
        await codeOf(() => write('a/secret.txt', OUTSIDE_TEXT, now));
      return code;
    });
    checkOutside(outside);
  });

  it('never reads over a file that is swapped', async () => {
    put('a.txt');
    const seen = await whileSwapped(
      { path: join(root, 'a.txt'), target: join(outside, 'secret.txt') },
      { calls: SWAPPED_CALLS, swaps: 100, outcomes: ['inside', 'SYMLINK_ESCAPE'] },
      async () => {
        const text = await textOf('a.txt');
        await codeOf(() => write('a.txt', 'inside', stateOf('inside')));
        return text;
      },
    );
    expect([...seen.keys()]).not.toContain(OUTSIDE_TEXT);
    checkOutside(outside);
  });
});

describe('a workspace that is replaced', () => {
  const other = (): string => join(place, 'other');

  it.each([
    ['moved away', () => renameSync(root, other())],
    [
      'replaced by another folder',
      () => {
        renameSync(root, other());
        mkdirSync(root);
        put('a', 'other');
      },
    ],
    [
      'replaced by a link to itself',
      () => {
        renameSync(root, other());
        symlinkSync(outside, root);
      },
    ],
    ['removed', () => rmSync(root, { recursive: true })],
  ])('is gone for every method when it is %s', async (_, replace) => {
    put('a');
    replace();
    const known = stateOf('inside');
    const methods = [
      () => workspace.read('a', LIMIT),
      () => workspace.state('a', signal),
      () => workspace.entries('', 10),
      () => workspace.realPathOf('a'),
      () => write('a', 'x', known),
      () => workspace.remove('a', { expected: known, signal }),
      () => workspace.removeEmptyFolders('a/b'),
      () => Workspace.open(root, '1:1'),
    ];
    for (const method of methods) {
      await expect(method()).rejects.toThrow(WorkspaceGoneError);
    }
    await expect(workspace.read('a', LIMIT)).rejects.toMatchObject({
      code: 409,
      data: { errorCode: 'WORKSPACE_GONE' },
    });
  });

  it('is not opened over a link, or with the identity of another', async () => {
    symlinkSync(root, other());
    await expect(Workspace.open(other(), identity())).rejects.toThrow(WorkspaceGoneError);
    await expect(Workspace.open(outside, identity())).rejects.toThrow(WorkspaceGoneError);
  });

  it('is changed by no hard link that is made meanwhile', async () => {
    put('a', 'old');
    linkSync(join(root, 'a'), join(outside, 'second'));
    expect(await codeOf(() => write('a', 'new', stateOf('old')))).toBe('HARD_LINK');
    expect(readFileSync(join(outside, 'second'), 'utf8')).toBe('old');
  });
});
