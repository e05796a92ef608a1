import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { removePlantedPaths } from '../../../src/harness/sandbox/sandbox.run.js';
import type { Tidied } from '../../../src/harness/sandbox/sandbox.run.js';
import { describeSandboxed, TestSandbox } from '../../support/sandbox.js';

const describeWithSandbox = await describeSandboxed();

const REMOVER = fileURLToPath(new URL('../../support/planted-remover.ts', import.meta.url));
const REPOSITORY = 'HEAD objects refs hooks config';

/** Names that git and other programs obey, wherever they are below the folder. */
function obeyed(folder: string): string[] {
  const names = ['.git', '.hg', '.vscode', '.husky', '.npmrc', '.envrc'];
  const paths = readdirSync(folder, { recursive: true, encoding: 'latin1' });
  return paths.filter((path) => names.includes(path.split('/').at(-1)?.toLowerCase() ?? ''));
}

describeWithSandbox('what was there before', () => {
  it.each([
    ['a folder under another name', 'mv src/config sub/.git'],
    ['a file under another name', 'echo evil > src/info; mv src/info sub/.npmrc'],
    ['a second name of a file', 'echo evil > src/info; ln src/info sub/.envrc'],
    ['a folder with a name of another kind', 'mv src/hooks sub/.husky'],
    ['a folder with another case', 'mv src/config sub/.GIT'],
    ['a folder with compatible characters', 'mv src/config sub/.ｇｉｔ'],
  ])('does not excuse %s', async (_, command) => {
    await using box = await TestSandbox.start({
      ...{ 'src/config/a.ts': '', 'src/hooks/b.ts': '', 'src/info': '', 'sub/c.ts': '' },
    });
    const { removed } = await box.run(command);
    expect(removed).toHaveLength(1);
    expect(readdirSync(box.at('sub'))).toEqual(['c.ts']);
  });

  it('is told by its birth from what got its inode later', async () => {
    await using box = await TestSandbox.start({
      'sub/.npmrc': 'evil',
      'sub/.envrc': 'of the user',
    });
    const identity = (path: string): string => {
      const { dev, ino, birthtimeNs } = statSync(box.at(path), { bigint: true });
      return `${dev}:${ino}:${path === 'sub/.npmrc' ? birthtimeNs - 1n : birthtimeNs}`;
    };
    const before = ['sub/.npmrc', 'sub/.envrc'].map((path) => [path, identity(path)] as const);
    const storeFolder = join(box.folder, 'kept');
    const { removed } = await removePlantedPaths(box.workspace, before, { storeFolder });
    expect(removed).toEqual(['sub/.npmrc']);
    expect(readdirSync(box.at('sub'))).toEqual(['.envrc']);
  });

  it('is left as it is once the removal is no longer wanted', async () => {
    await using box = await TestSandbox.start({ 'sub/.npmrc': 'evil' });
    const options = { storeFolder: join(box.folder, 'kept'), signal: AbortSignal.abort() };
    await expect(removePlantedPaths(box.workspace, [], options)).rejects.toThrow('aborted');
    expect(readdirSync(box.at('sub'))).toEqual(['.npmrc']);
  });

  it('does not make a repository of its parts, and a repository stays as it is', async () => {
    await using box = await TestSandbox.start({
      ...{ 'a/HEAD': 'ref: refs/heads/a', 'b/objects/x': '', 'c/refs/x': '', 'd/hooks/x': '' },
      ...{ 'bare/HEAD': 'ref: refs/heads/a', 'bare/objects/x': '', 'bare/refs/x': '' },
      'e/config': '',
    });
    const { removed } = await box.run(
      'mkdir made; mv a/HEAD b/objects c/refs e/config made; mv d/hooks bare/hooks',
    );
    expect(removed).toEqual(['made/HEAD']);
    expect(existsSync(box.at('d/hooks/x'))).toBe(true);
    expect(readdirSync(box.at('made')).sort()).toEqual(['config', 'objects', 'refs']);
    expect(readdirSync(box.at('bare')).sort()).toEqual(['HEAD', 'objects', 'refs']);
  });

  it('hides nothing in a folder that becomes part of a repository', async () => {
    await using box = await TestSandbox.start({ 'src/hooks/a.ts': '' });
    await box.run(
      'mkdir -p src/objects src/refs src/hooks/deep/.git/hooks src/hooks/deep/hooks; touch src/HEAD; cd src/hooks/deep; mkdir objects refs hooks/.vscode; touch HEAD',
    );
    expect(obeyed(box.workspace)).toEqual([]);
    expect(existsSync(box.at('src/HEAD'))).toBe(false);
    expect(existsSync(box.at('src/hooks/deep/HEAD'))).toBe(false);
    expect(existsSync(box.at('src/hooks/a.ts'))).toBe(true);
  });

  it('stays, also in folders that are hidden, whatever the command does around it', async () => {
    const files = {
      '.aws/.envrc': 'use aws',
      'pkg/.aws/deep/.npmrc': 'save-exact=true',
      'lib/.husky/pre-commit': 'lint',
      'lib/config/a.ts': 'a',
      'fixtures/bare/HEAD': 'ref: refs/heads/a',
      'fixtures/bare/objects/x': '',
      'fixtures/bare/refs/x': '',
      'fixtures/bare/hooks/post-update': '',
    };
    await using box = await TestSandbox.start(files);
    const result = await box.run('mv lib other; mv pkg package; touch a.txt');
    expect(result.removed).toEqual([]);
    expect(await box.read('.aws/.envrc')).toBe('use aws');
    expect(await box.read('package/.aws/deep/.npmrc')).toBe('save-exact=true');
    expect(await box.read('other/.husky/pre-commit')).toBe('lint');
    expect(existsSync(box.at('fixtures/bare/hooks/post-update'))).toBe(true);
  });
});

describeWithSandbox('what a command plants', () => {
  it.each([
    ['shared by worktrees', 'mkdir -p x/worktrees/a x/modules; touch x/HEAD x/commondir'],
    [
      'as a module',
      `mkdir -p x/modules/m; cd x/modules/m; mkdir objects refs; touch ${REPOSITORY}`,
    ],
    ['where scans do not look', 'mkdir -p vendor/.git node_modules/.git .venv/.git dist/a/.git'],
    ['behind a link in the place of its folder', 'mkdir -p real/.git; ln -s real link'],
    ['in packages', 'mkdir -p node_modules/p/.hg; echo x > node_modules/p/.hg/hgrc'],
    ['as a link', 'mkdir sub real; ln -s ../real sub/.git; ln -s /nowhere sub/.vscode'],
    ['as what is no file', 'mkdir -p a b/.vscode; mkfifo a/.git b/.vscode/pipe'],
    ['with other cases', 'mkdir -p a/.Git b/.VSCODE; touch a/.NPMRC'],
    [
      'by a process that outlives the shell',
      '(setsid bash -c "while :; do mkdir -p sub/.git/hooks; touch .envrc; done" >/dev/null 2>&1 &); sleep 0.3',
    ],
  ])('is removed: %s', async (_, command) => {
    await using box = await TestSandbox.start({ 'keep.txt': '' });
    const { removed } = await box.run(command);
    expect(removed).not.toEqual([]);
    expect(obeyed(box.workspace)).toEqual([]);
    expect(existsSync(box.at('keep.txt'))).toBe(true);
    expect(existsSync(box.at('x/HEAD'))).toBe(false);
    expect(existsSync(box.at('x/modules/m/HEAD'))).toBe(false);
    expect((await box.run('true')).removed).toEqual([]);
  });

  it('is removed below names that are no UTF-8, each by itself', async () => {
    await using box = await TestSandbox.start();
    const { removed } = await box.run(
      String.raw`for d in $'d\xff' $'d\xfe'; do mkdir -p "$d/.git/hooks"; touch "$d/.npmrc"; done`,
    );
    expect(removed).toHaveLength(4);
    expect(obeyed(box.workspace)).toEqual([]);
  });

  it('is removed with the folder where its path is too long', async () => {
    await using box = await TestSandbox.start({ 'keep.txt': '' });
    const name = 'n'.repeat(200);
    await box.run(`for i in $(seq 30); do mkdir ${name}; cd ${name}; done; mkdir -p .git/hooks`);
    expect((await box.run('find . -name .git | head; ls')).output.whole().toString()).not.toContain(
      '.git',
    );
    expect(existsSync(box.at('keep.txt'))).toBe(true);
  });

  it('is removed however much it is', async () => {
    await using box = await TestSandbox.start();
    const command = `perl -e 'for (1..20000) { mkdir "d$_"; mkdir "d$_/.git" }'`;
    const { removed } = await box.run(command, { timeoutMs: 300_000 });
    expect(removed).toHaveLength(20_000);
    expect(obeyed(box.workspace)).toEqual([]);
  }, 600_000);

  it('is removed behind more files than a command may start with', async () => {
    await using box = await TestSandbox.start();
    const command = `perl -e 'for $d (1..26) { mkdir "d$d"; for (1..10000) { open(F, ">d$d/$_") } } mkdir "d9/.git"'`;
    const { removed } = await box.run(command, { timeoutMs: 300_000 });
    expect(removed).toEqual(['d9/.git']);
    await expect(box.run('true')).rejects.toMatchObject({ code: 'TOO_LARGE' });
  }, 600_000);
});

/** Calls `removePlantedPaths` in a process of its own, as the user where that is given. */
async function removeAs(
  user: number | undefined,
  args: { root: string; storeFolder: string },
): Promise<Tidied> {
  const child = spawn(process.execPath, [REMOVER, JSON.stringify(args)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(user !== undefined && { env: { ...process.env, PLINTH_TEST_USER: String(user) } }),
  });
  let answer = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (answer += text));
  await once(child, 'close');
  return JSON.parse(answer.split('\n').at(-1) ?? '') as Tidied;
}

describe('a service that is not root', () => {
  const itAsRoot = process.getuid?.() === 0 ? it : it.skip;

  itAsRoot('removes also what lies in folders that a command has closed', async () => {
    await using box = await TestSandbox.start();
    const user = 65_534;
    const storeFolder = join(box.folder, 'kept');
    await mkdir(storeFolder);
    const closed: (readonly [string, number])[] = [
      ['closed', 0o000],
      ['unsearchable', 0o600],
      ['unwritable', 0o500],
      ['outer/inner', 0o000],
    ];
    for (const [path] of closed) await mkdir(box.at(`${path}/.git/hooks`), { recursive: true });
    await mkdir(box.at('itself/.git/hooks'), { recursive: true });
    const own = readdirSync(box.workspace, { recursive: true, encoding: 'utf8' });
    for (const path of ['', ...own]) await chown(box.at(path), user, user);
    for (const path of [box.folder, storeFolder]) await chown(path, user, user);
    await chmod(box.at('itself/.git'), 0o000);
    for (const [path, mode] of closed) await chmod(box.at(path), mode);
    await chmod(box.at('outer'), 0o000);

    const { removed, opened } = await removeAs(user, { root: box.workspace, storeFolder });
    expect(opened).toBe(true);
    const all = ['closed/.git', 'itself/.git', 'outer/inner/.git', 'unsearchable/.git'];
    expect(removed).toEqual([...all, 'unwritable/.git']);
    expect(obeyed(box.workspace)).toEqual([]);
  });
});

const ELSEWHERE = '/dev/shm';
const isElsewhere = existsSync(ELSEWHERE) && statSync(ELSEWHERE).dev !== statSync('/tmp').dev;

(isElsewhere ? describe : describe.skip)('a data folder on another file system', () => {
  it('gets what can be copied, and the workspace loses all of it', async () => {
    await using box = await TestSandbox.start();
    const storeFolder = await mkdtemp(join(ELSEWHERE, 'plinth-storeFolder-'));
    try {
      const deep = 'n'.repeat(200);
      await writeFile(
        box.at('make.sh'),
        [
          String.raw`mkdir -p a/.git/hooks b/.vscode $'c\xff/.husky' d/.idea; echo x > a/.git/config`,
          String.raw`mkfifo b/.vscode/pipe; touch $'c\xff/.husky/\xfe'; chmod 000 a/.git/hooks`,
          `cd d/.idea; for i in $(seq 30); do mkdir ${deep}; cd ${deep}; done; touch x`,
        ].join('\n'),
      );
      const made = spawn('/usr/bin/bash', ['make.sh'], { cwd: box.workspace, stdio: 'inherit' });
      await once(made, 'close');
      const { removed, opened } = await removeAs(undefined, { root: box.workspace, storeFolder });
      expect(opened).toBe(false);
      expect(removed).toContain('a/.git');
      expect(readdirSync(box.workspace).length).toBeGreaterThan(3);
      expect(readdirSync(box.at('a'))).toEqual([]);
      expect(readdirSync(box.at('b'))).toEqual([]);
      expect(readdirSync(Buffer.from(`${box.workspace}/c\xff`, 'latin1'))).toEqual([]);
      expect(obeyed(box.workspace)).toEqual([]);
      const [folder = ''] = readdirSync(storeFolder);
      expect(readFileSync(join(storeFolder, folder, 'a/.git/config'), 'utf8')).toBe('x\n');
    } finally {
      await rm(storeFolder, { recursive: true, force: true });
    }
  });
});
