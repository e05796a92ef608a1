import { execSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { chmod, link, mkdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ProtectedPath } from '../../../src/harness/sandbox/workspace-scan.js';
import { describeSandboxed, TestSandbox } from '../../support/sandbox.js';
import { eventually } from '../../support/wait.js';

const describe = await describeSandboxed();

/** Everything below a folder, links not followed. */
function everythingIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}

describe('what a command has', () => {
  it('is the workspace, where it starts and can write, and a folder that ends with it', async () => {
    await using box = await TestSandbox.start({ 'src/a.txt': 'from outside' });
    const result = await box.run(
      'pwd; cat src/a.txt; echo made > b.txt; echo x > /tmp/t; cat /tmp/t',
    );
    expect(result).toMatchObject({ exitCode: 0, signal: null, timedOut: false });
    expect(result.output.whole().toString()).toBe(`${box.workspace}\nfrom outsidex\n`);
    expect(await box.read('b.txt')).toBe('made\n');
    expect(await box.output('cat /tmp/t')).toContain('No such file');
  });

  it('is one stream of what it writes, in its order, and its exit code', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run('echo 1; echo 2 >&2; echo 3; exit 7');
    expect(result.output.whole().toString()).toBe('1\n2\n3\n');
    expect(result.exitCode).toBe(7);
    const killed = await box.run('kill -SEGV $$');
    expect(killed).toMatchObject({ exitCode: 139, signal: 'SIGSEGV', timedOut: false });
  });

  it('is nothing of the environment of the service, in no process', async () => {
    process.env['PLINTH_CANARY'] = 'canary-of-the-environment';
    try {
      await using box = await TestSandbox.start();
      const seen = await box.output(
        'env; cat /proc/1/environ; cat /proc/*/environ; cat /proc/*/cmdline | tr "\\0" " "',
      );
      expect(seen).not.toContain('canary-of-the-environment');
      expect(await box.output('wc -c < /proc/1/environ')).toBe('0\n');
      const names = (await box.output('env | cut -d= -f1')).split('\n').filter(Boolean);
      const known = ['HOME', 'LANG', 'OLDPWD', 'PATH', 'PWD', 'SHLVL', 'TERM', '_'];
      expect(names.filter((name) => !known.includes(name))).toEqual([]);
      expect(await box.output('echo $HOME $TERM $PATH')).toBe(
        '/tmp/home dumb /usr/local/bin:/usr/bin:/bin\n',
      );
    } finally {
      delete process.env['PLINTH_CANARY'];
    }
  });

  // S21
  it('is a shell of its own each time, whatever another has set or put into its start files', async () => {
    await using box = await TestSandbox.start({ '.bashrc': 'export EVIL=1\n' });
    await box.run('export EVIL=1; alias ls=false; echo "export EVIL=1" > /tmp/home/.bashrc');
    expect(await box.output('echo "[$EVIL]"; type -t ls')).toBe('[]\nfile\n');
  });

  it('is programs, without any right', async () => {
    await using box = await TestSandbox.start();
    const status = await box.output('cat /proc/self/status');
    expect(status).toMatch(/CapEff:\s+0000000000000000/);
    expect(status).toMatch(/CapBnd:\s+0000000000000000/);
    expect(status).toMatch(/NoNewPrivs:\s+1/);
    expect(status).toMatch(/Seccomp:\s+2/);
    const denied = await box.run('mount -t tmpfs none /tmp; unshare -Ur true; chroot / true');
    expect(denied.exitCode).not.toBe(0);
    expect(await box.output('unshare -Ur true || echo refused')).toContain('refused');
    expect(await box.output('id -u')).not.toBe('0\n');
  });

  it('cannot make a program that runs as its owner, also outside', async () => {
    await using box = await TestSandbox.start();
    await box.run('cp /usr/bin/true a; chmod 4755 a; chmod u+s,g+s a; install -m 6755 a b');
    await box.run(
      `perl -MFcntl -e 'sysopen(F, "c", O_CREAT|O_WRONLY, 06755); chmod 04755, "c"'; touch d`,
    );
    const modes = readdirSync(box.workspace).map((name) => statSync(box.at(name)).mode & 0o6000);
    expect(modes.length).toBeGreaterThan(0);
    expect(new Set(modes)).toEqual(new Set([0]));
  });

  it('is no way into the processes that hold it', async () => {
    await using box = await TestSandbox.start();
    const calls = process.arch === 'x64' ? [101, 310, 311, 438] : [117, 270, 271, 438];
    for (const call of calls) {
      const attempt = `syscall(${call}, 0, 0, 0, 0, 0, 0) == -1 or die; print $!{ENOSYS} ? 1 : 0`;
      expect(await box.output(`perl -MErrno -e '${attempt}'`)).toBe('1');
    }
  });

  it('leaves files that belong to the service, which can read and remove them', async () => {
    await using box = await TestSandbox.start();
    await box.run('mkdir -p made/deep; echo x > made/deep/file; chmod 600 made/deep/file');
    const { uid, gid } = statSync(box.at('made/deep/file'));
    expect([uid, gid]).toEqual([process.getuid?.(), process.getgid?.()]);
    expect(await box.read('made/deep/file')).toBe('x\n');
    await rm(box.at('made'), { recursive: true });
  });
});

describe('how a command has ended', () => {
  it('is told also of one that writes where the sandbox itself reports trouble', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run(
      'echo made > a; echo bwrap: evil > /proc/1/fd/2; echo said; exit 3',
    );
    expect(result).toMatchObject({ exitCode: 3, cancelled: false });
    expect(result.output.whole().toString()).toContain('said\n');
    expect(await box.run('exit 125')).toMatchObject({ exitCode: 125 });
  });

  it('is nobody’s to say when the sandbox is killed, and no word of the tool', async () => {
    await using box = await TestSandbox.start();
    const running = box.run('touch begun; sleep 60');
    const outcome = running.catch((error: unknown) => error);
    await eventually(() => existsSync(box.at('begun')), Boolean);
    for (const child of childrenNamed('bwrap')) process.kill(child, 'SIGKILL');
    expect(await outcome).toMatchObject({ name: 'SandboxLostError' });
  });
});

/** Processes that this one has started. */
function childrenNamed(program: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((id) => {
      const [, name, parent] = /^\d+ \((.*)\) \S (\d+)/.exec(statOf(id)) ?? [];
      return name === program && Number(parent) === process.pid;
    });
}

/** Empty of a process that has ended meanwhile. */
function statOf(id: number): string {
  try {
    return readFileSync(`/proc/${id}/stat`, 'utf8');
  } catch {
    return '';
  }
}

describe('what a command cannot see', () => {
  it('is anything of the machine beside its programs', async () => {
    await using box = await TestSandbox.start();
    await writeFile(join(box.folder, 'beside'), 'not for commands');
    expect(await box.output(`ls ${box.folder}`)).toBe('workspace\n');
    const seen = (await box.output('ls -A /')).split('\n').filter(Boolean);
    expect(new Set(seen)).toEqual(
      new Set(['bin', 'dev', 'etc', 'lib', 'lib64', 'proc', 'sbin', 'tmp', 'usr']),
    );
    const gone = `/root /home /var /opt /sys ${process.cwd()}/package.json`;
    expect(await box.output(`for p in ${gone}; do [ -e $p ] && echo $p; done`)).toBe('');
    expect(await box.output('ls /etc')).not.toContain('shadow');
    expect(await box.output('cat /etc/passwd')).not.toContain('root:');
  });

  it('is what the service has open', async () => {
    await using box = await TestSandbox.start();
    const open = (await box.output('ls /proc/self/fd | tr "\\n" " "')).trim();
    // The last is that of ls itself.
    expect(open).toBe('0 1 2 3');
  });

  it.each(['.env', '.env.local', 'deep/er/.env', 'server.pem', 'node_modules/a/.npmrc', 'id_rsa'])(
    'is a secret: %s',
    async (path) => {
      await using box = await TestSandbox.start({ [path]: 'SECRET=canary-in-a-file' });
      const attempts = [
        `cat ${path}; cp ${path} copy; ln ${path} hard; mv ${path} moved; rm -f ${path}`,
        `cat copy hard moved; grep -r canary-in . ; tar c . | grep -a canary-in`,
        `ln -s ${path} soft; cat soft; cat /proc/self/root${box.at(path)}; dd if=${path}`,
        'find . -type f -exec cat {} +',
      ];
      expect(await box.output(attempts.join('\n'))).not.toContain('canary-in-a-file');
      expect(await box.read(path)).toBe('SECRET=canary-in-a-file');
    },
  );

  it('is a secret behind a link, or in a folder with such a name', async () => {
    await using box = await TestSandbox.start({
      'config/settings': 'TOKEN=canary-linked',
      'credentials/list': 'password: canary-in-folder',
      '.aws/anything': 'canary-of-a-service',
      'plain.txt': 'no secret',
    });
    await symlink('config/settings', box.at('.env'));
    const seen = await box.output('cat .env config/settings plain.txt credentials/list; ls .aws');
    expect(seen).not.toContain('canary');
    expect(seen).toContain('no secret');
    expect(await readlink(box.at('.env'))).toBe('config/settings');
  });

  it('is never silently empty: it cannot be read, is named, and git sees no change', async () => {
    await using box = await TestSandbox.start({
      '.env': 'API_KEY=canary-value',
      'app.txt': 'text',
    });
    const git = `git -C ${box.workspace} -c user.name=x -c user.email=x@x.test`;
    execSync(`${git} init -q && ${git} add -f . && ${git} commit -qm first`);
    const result = await box.run('cat .env; git status --porcelain; git diff --stat');
    expect(result.output.whole().toString()).toBe('cat: .env: Permission denied\n');
    expect(result.masked).toEqual(['.env']);
  });

  it('is not a file that merely has the name of one', async () => {
    const files = {
      'test/.env': '# of the tests\nNODE_ENV=test\nPORT=3000\nAPI_KEY=changeme\n',
      '.npmrc': 'registry=https://registry.example/\nsave-exact=true\n',
      'ca.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
      'src/credentials.ts': 'export interface Credentials { readonly token: string }\n',
    };
    await using box = await TestSandbox.start(files);
    const result = await box.run(`cat ${Object.keys(files).join(' ')}`);
    expect(result.output.whole().toString()).toBe(Object.values(files).join(''));
    expect(result.masked).toEqual([]);
  });

  it('is a secret whose name is no UTF-8', async () => {
    await using box = await TestSandbox.start();
    const path = Buffer.from(`${box.workspace}/d\xff/.env`, 'latin1');
    await mkdir(Buffer.from(`${box.workspace}/d\xff`, 'latin1'));
    await writeFile(path, 'canary-in-bytes');
    expect(await box.output('cat */.env; grep -r canary .')).not.toContain('canary-in-bytes');
    expect(readFileSync(path, 'utf8')).toBe('canary-in-bytes');
  });

  it('is a socket in the workspace, which would lead out', async () => {
    await using box = await TestSandbox.start();
    const server = createServer((socket) => socket.end('canary-of-the-socket'));
    await new Promise<void>((done) => server.listen(box.at('service.sock'), done));
    const reach = `perl -MIO::Socket::UNIX -e '$s=IO::Socket::UNIX->new("service.sock") or exit 9; print <$s>'`;
    try {
      const result = await box.run(reach);
      expect(result.output.whole().toString()).not.toContain('canary-of-the-socket');
      expect(result.exitCode).toBe(9);
    } finally {
      server.close();
    }
  });

  it('is everything, where it cannot all be looked through', async () => {
    await using box = await TestSandbox.start();
    await mkdir(box.at('many'));
    for (let index = 0; index < 850; index += 1) await box.write(`many/${index}.key`, 'secret');
    await expect(box.run('echo ran > ran')).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: expect.stringContaining('more than 800 secret and protected files'),
    });
    expect(everythingIn(box.workspace)).not.toContain('ran');
    expect(readdirSync(box.workspace)).toEqual(['many']);
  });
});

describe('what a command cannot change', () => {
  it('is a repository, which it can read', async () => {
    await using box = await TestSandbox.start({ 'a.txt': '1\n', 'nested/b.txt': '2\n' });
    const outside = `git -c init.defaultBranch=main init -q`;
    await box.write('.git/HEAD', 'ref: refs/heads/main\n');
    await box.write('.git/config', '[remote "o"]\n url = https://user:canary-password@host/x\n');
    await box.write('.git/hooks/keep', '');
    await box.write('.git/objects/keep', '');
    await box.write('.git/refs/keep', '');
    await box.write('nested/.git/hooks/keep', '');
    const before = everythingIn(box.workspace);
    const attempts = [
      'echo x > .git/hooks/pre-commit; echo x > .git/config; rm -rf .git; perl -e "rename(q(.git), q(nested/moved))"',
      'rm -rf nested/.git; mv -T nested .git/other; perl -e "rename(q(nested), q(other))"; mkdir -p nested/.git/hooks',
      'echo x > nested/.git/hooks/h; chmod -R 777 .git; ln -sf /tmp .git/hooks/l',
      `${outside}; git config user.name x`,
    ];
    const seen = await box.output(attempts.join('\n'));
    expect(everythingIn(box.workspace)).toEqual(before);
    expect(await box.output('git status --short; cat .git/config')).not.toContain(
      'canary-password',
    );
    expect(await box.output('git status --short')).toBe('?? a.txt\n?? nested/\n');
    expect(seen).toContain('Read-only file system');
    expect(await box.read('.git/config')).toContain('canary-password');
  });

  // S35
  it('is the file that a worktree has in the place of a repository, and what it leads to', async () => {
    await using box = await TestSandbox.start();
    const outside = join(box.folder, 'outside');
    await mkdir(join(outside, 'hooks'), { recursive: true });
    await writeFile(join(outside, 'HEAD'), 'ref: refs/heads/canary-outside\n');
    await box.write('.git', `gitdir: ${outside}\n`);
    await box.write('nested/.git', `gitdir: ${outside}\n`);
    const before = everythingIn(box.folder);
    const attempts = [
      `echo x > .git; echo x > nested/.git; echo x > ${outside}/hooks/h; cat ${outside}/HEAD; git status`,
      'rm -f .git nested/.git; mv -T nested other; perl -e "rename(q(.git), q(moved))"; ln -sf /tmp .git',
    ];
    const seen = await box.output(attempts.join('\n'));
    expect(seen).toContain('.git: Read-only file system');
    expect(seen).not.toContain('canary-outside');
    expect(everythingIn(box.folder)).toEqual(before);
    expect(await box.read('.git')).toBe(`gitdir: ${outside}\n`);
    expect(await box.read('nested/.git')).toBe(`gitdir: ${outside}\n`);
  });

  // S5, S19, S34
  it.each(['.git', '.agents', '.vscode', '.github/workflows', '.claude', '.mcp.json', '.npmrc'])(
    'is a protected path that is not there: %s',
    async (path) => {
      await using box = await TestSandbox.start();
      const attempts = [
        `mkdir -p ${path}/hooks; echo x > ${path}/hooks/h; echo x > ${path}; rm -rf ${path}`,
        `mkdir -p new/hooks; echo x > new/hooks/h; mv new ${path}; ln -s /tmp ${path}`,
        `mkdir -p .github/workflows; mv .github .moved; mkdir -p ${path}; echo x > ${path}/x`,
      ];
      await box.run(attempts.join('\n'));
      expect(existsSync(box.at(path))).toBe(false);
    },
  );

  it('is a protected path that is there', async () => {
    await using box = await TestSandbox.start({
      '.vscode/settings.json': '{}',
      '.github/workflows/ci.yml': 'on: push',
      'packages/a/.mcp.json': '{}',
      '.gitlab-ci.yml': 'job: {}',
    });
    const before = everythingIn(box.workspace);
    await box.run(
      'for f in .vscode/settings.json .github/workflows/ci.yml packages/a/.mcp.json .gitlab-ci.yml; do echo evil > $f; rm -f $f; mv -n $f /x; done; mv -T .github /g; mv -T .vscode /v; sed -i s/push/evil/ .github/workflows/ci.yml',
    );
    expect(everythingIn(box.workspace)).toEqual(before);
    expect(await box.read('.github/workflows/ci.yml')).toBe('on: push');
    expect(await box.read('packages/a/.mcp.json')).toBe('{}');
    await box.run('echo ok > .github/notes.md');
    expect(await box.read('.github/notes.md')).toBe('ok\n');
  });

  it('is what lies in a protected folder, a repository, too', async () => {
    await using box = await TestSandbox.start({
      '.agents/skills/a/SKILL.md': 'text',
      '.agents/skills/.git/HEAD': 'ref',
      'shared/code/.git/HEAD': 'ref',
      'shared/code/a.txt': 'text',
    });
    await mkdir(box.at('sub'));
    await symlink('../shared', box.at('sub/.vscode'));
    const before = everythingIn(box.workspace);
    await box.run(
      'for d in .agents .agents/skills .agents/skills/.git shared shared/code sub/.vscode/code; do echo evil > $d/evil; done; echo evil > shared/code/a.txt',
    );
    expect(everythingIn(box.workspace)).toEqual(before);
    expect(await box.read('shared/code/a.txt')).toBe('text');
  });

  it('leaves nothing behind, and nothing of what it has not made goes', async () => {
    await using box = await TestSandbox.start();
    await mkdir(box.at('.vscode'));
    await box.write('.mcp.json', '');
    await box.run('true');
    expect(everythingIn(box.workspace)).toEqual(['.mcp.json', '.vscode']);
    await box.run('exit 3');
    await expect(box.run('sleep 9', { timeoutMs: 200 })).resolves.toMatchObject({ timedOut: true });
    expect(everythingIn(box.workspace)).toEqual(['.mcp.json', '.vscode']);
  });

  it('shows no name of its own in the workspace, to no one and at no time', async () => {
    await using box = await TestSandbox.start({ 'a.txt': '', 'sub/b.txt': '' });
    const seen = new Set<string>();
    const watchers = ['', 'sub'].map((folder) =>
      watch(box.at(folder), (_, name) => seen.add(join(folder, name ?? ''))),
    );
    try {
      for (let round = 0; round < 20; round += 1) await box.run(`echo ${round} > sub/made.txt`);
      await eventually(() => seen.has('sub/made.txt'), Boolean);
    } finally {
      for (const watcher of watchers) watcher.close();
    }
    expect([...seen].filter((path) => path !== 'sub' && path !== 'sub/made.txt')).toEqual([]);
  });

  it.each([
    ['a repository', 'git init -q sub && echo x > sub/.git/hooks/post-checkout', ['sub/.git']],
    ['the file of a worktree', 'mkdir sub; echo "gitdir: ../evil" > sub/.git', ['sub/.git']],
    ['a link to a repository', 'mkdir sub real; ln -s ../real sub/.git', ['sub/.git']],
    ['a repository among what tools make', 'mkdir -p node_modules/a/.git', ['node_modules/a/.git']],
    [
      'what lies in folders that builds make',
      'mkdir -p build target dist/.vscode sub/build/.husky; touch build/.envrc target/.npmrc dist/.vscode/tasks.json sub/build/.husky/pre-commit',
      ['build/.envrc', 'dist/.vscode', 'sub/build/.husky', 'target/.npmrc'],
    ],
    [
      'a bare repository',
      'mkdir -p bare/objects bare/refs bare/hooks; echo "ref: refs/heads/a" > bare/HEAD; echo "[core] fsmonitor = evil" > bare/config',
      ['bare/HEAD', 'bare/config', 'bare/hooks', 'bare/objects', 'bare/refs'],
    ],
    ['what makes a folder one', 'echo "ref: refs/heads/a" > almost/HEAD', ['almost/HEAD']],
    [
      'what makes a folder one that shares another',
      'mkdir s; touch s/HEAD s/commondir',
      ['s/HEAD', 's/commondir'],
    ],
    [
      'protected paths below the root',
      'mkdir -p sub/.vscode deep/er/.husky; echo "{}" > sub/.vscode/tasks.json; touch sub/.envrc sub/.npmrc deep/er/.husky/pre-commit',
      ['deep/er/.husky', 'sub/.envrc', 'sub/.npmrc', 'sub/.vscode'],
    ],
  ])('is what git and other programs would obey: %s', async (_, command, removed) => {
    await using box = await TestSandbox.start({
      'almost/objects/keep': '',
      'almost/refs/keep': '',
      'almost/config/of-the-user': '',
    });
    const result = await box.run(command);
    expect(result.removed).toEqual(removed);
    const left = everythingIn(box.workspace);
    for (const path of removed) expect(left).not.toContain(path);
    expect(await box.read('almost/config/of-the-user')).toBe('');
    expect((await box.run('true')).removed).toEqual([]);
  });

  it('is a bare repository that is there, which it can read', async () => {
    await using box = await TestSandbox.start({
      'fixtures/bare/HEAD': 'ref: refs/heads/main',
      'fixtures/bare/config': '[core]',
      'fixtures/bare/objects/keep': '',
      'fixtures/bare/refs/keep': '',
    });
    const seen = await box.output(
      'cat fixtures/bare/HEAD; echo "[core] fsmonitor = evil" > fixtures/bare/config; mkdir fixtures/bare/hooks; mv fixtures moved; true',
    );
    expect(seen).toContain('ref: refs/heads/main');
    expect(await box.read('fixtures/bare/config')).toBe('[core]');
    expect(existsSync(box.at('fixtures/bare/hooks'))).toBe(false);
  });

  it.each([
    ['below the root', 'fixtures/bare.git/'],
    ['in the place of the workspace', ''],
  ])('is all of a bare repository that is there: %s', async (_, folder) => {
    const files = {
      [`${folder}HEAD`]: 'ref: refs/heads/main',
      [`${folder}config`]: '[core]',
      [`${folder}objects/info/packs`]: '',
      [`${folder}refs/heads/other`]: '0'.repeat(40),
    };
    await using box = await TestSandbox.start(files);
    const into = folder === '' ? '.' : folder;
    const { removed } = await box.run(
      `cd ${into}; echo x > objects/info/alternates; echo x > refs/heads/main; rm -rf refs objects; touch config.worktree; mkdir worktrees`,
    );
    expect(removed).toEqual(folder === '' ? ['config.worktree', 'worktrees'] : []);
    for (const [path, content] of Object.entries(files)) {
      expect([path, await box.read(path)]).toEqual([path, content]);
    }
    const left = everythingIn(box.at(folder)).filter((path) =>
      statSync(join(box.at(folder), path)).isFile(),
    );
    expect(left.map((path) => `${folder}${path}`).sort()).toEqual(Object.keys(files).sort());
    expect((await box.run('true')).removed).toEqual([]);
  });

  it('is what is protected in folders that builds make, but for packages', async () => {
    await using box = await TestSandbox.start({
      'build/.envrc': 'use flake',
      'node_modules/a/.gitattributes': 'a',
    });
    const { removed } = await box.run(
      'echo evil > build/.envrc; echo b > node_modules/a/.gitattributes; touch node_modules/a/.envrc',
    );
    expect(removed).toEqual([]);
    expect(await box.read('build/.envrc')).toBe('use flake');
    expect(await box.read('node_modules/a/.gitattributes')).toBe('b\n');
  });

  it('may be moved with the folder that it is in', async () => {
    await using box = await TestSandbox.start({ 'packages/a/.envrc': 'use flake' });
    expect((await box.run('mv packages/a packages/b')).removed).toEqual([]);
    expect(await box.read('packages/b/.envrc')).toBe('use flake');
  });

  it('is still there when the command has ended, and removed when that is answered', async () => {
    await using box = await TestSandbox.start({ 'sub/a.txt': '' });
    let before: readonly ProtectedPath[] | undefined;
    let isThere: boolean | undefined;
    const hooks = {
      onReady: async (paths: Promise<readonly ProtectedPath[]>) => {
        before = await paths;
      },
      onEnded: () => {
        isThere = existsSync(box.at('sub/.npmrc'));
      },
    };
    const { removed, tidied } = await box.run('touch sub/.npmrc', hooks);
    expect([before, isThere, removed, tidied]).toEqual([[], true, ['sub/.npmrc'], true]);
    expect(existsSync(box.at('sub/.npmrc'))).toBe(false);
    expect(await box.run('touch sub/b.txt', hooks)).toMatchObject({ removed: [], tidied: false });
  });

  it('is not looked for any more by who has given up while another command ran', async () => {
    await using box = await TestSandbox.start({ '.vscode/x': 'there before' });
    const lost = new AbortController();
    const begun = Promise.withResolvers<'begun'>();
    const onReady = async (): Promise<void> => begun.resolve('begun');
    const running = box.run('while [ ! -e done ]; do sleep 0.02; done', { onReady });
    await begun.promise;
    const tidied = box.tidy([], lost.signal);
    lost.abort();
    await expect(tidied).rejects.toThrow('aborted');
    await box.write('done', '');
    await running;
    // Waits for all that was asked for before.
    await box.run('true');
    expect(await box.read('.vscode/x')).toBe('there before');
  });

  it('is kept for a month where the operator finds it', async () => {
    await using box = await TestSandbox.start();
    await box.run('mkdir -p sub/.vscode; echo "{}" > sub/.vscode/tasks.json');
    const [kept = ''] = readdirSync(TestSandbox.removed).sort().reverse();
    expect(readFileSync(join(TestSandbox.removed, kept, 'sub/.vscode/tasks.json'), 'utf8')).toBe(
      '{}\n',
    );
  });

  // S6
  it('is protected by a link: the command is refused', async () => {
    await using box = await TestSandbox.start({ 'real/hooks/keep': '' });
    await symlink('real', box.at('.git'));
    await expect(box.run('echo x > ran')).rejects.toMatchObject({ code: 'PROTECTED_PATH' });
    expect(readdirSync(box.workspace).sort()).toEqual(['.git', 'real']);
    await rm(box.at('.git'));
    await symlink(box.folder, box.at('.github'));
    await expect(box.run('echo x > ran')).rejects.toThrow('".github" is a symbolic link');
    expect(existsSync(join(box.folder, 'workflows'))).toBe(false);
  });

  // S6, S2
  it('is outside, over links of any kind', async () => {
    await using box = await TestSandbox.start({ 'sub/x': '' });
    const outside = join(box.folder, 'outside');
    await writeFile(outside, 'untouched');
    await symlink(outside, box.at('link'));
    await symlink(join(box.folder, 'dangling'), box.at('dangling'));
    await symlink(outside, box.at('sub/.git'));
    await symlink(outside, box.at('sub/.env'));
    await link(outside, join(box.folder, 'second-name'));
    const attempts = [
      'echo evil > link; echo evil > dangling; cat link; echo evil > sub/.git; echo evil > sub/.env',
      `ln /etc/passwd hard; ln ${outside} hard2; ln -s ${outside} mine; echo evil > mine`,
    ];
    await box.run(attempts.join('\n'));
    expect(readFileSync(outside, 'utf8')).toBe('untouched');
    expect(existsSync(join(box.folder, 'dangling'))).toBe(false);
    expect(lstatSync(box.at('link')).isSymbolicLink()).toBe(true);
  });

  it('is the machine: no parameter of the kernel, no program, no place outside', async () => {
    await using box = await TestSandbox.start();
    const paths = '/proc/sys/kernel/domainname /proc/sys/vm/swappiness /proc/sysrq-trigger';
    expect(await box.output(`for p in ${paths}; do [ -w $p ] && echo $p; done`)).toBe('');
    const written = '/x /usr/x /etc/x /dev/x /proc/x /usr/bin/x /var/x';
    const command = `for p in ${written}; do (echo x > $p) 2>/dev/null && echo $p; done`;
    expect(await box.output(command)).toBe('');
    await box.run('echo x > ../x; mkdir ../y');
    expect(readdirSync(box.folder)).toEqual(['workspace']);
  });

  // S13
  it('never gets a root that is a link, or lies where the sandbox is built', async () => {
    await using box = await TestSandbox.start();
    const way = join(box.folder, 'way');
    await symlink('/', way);
    for (const workspace of [way, '/', '/usr', '/tmp', '/proc', '/etc', join(box.folder, 'none')]) {
      await expect(box.run('true', { workspace })).rejects.toMatchObject({ name: 'ToolError' });
    }
    await chmod(box.workspace, 0o700);
    await expect(box.run('true')).resolves.toMatchObject({ exitCode: 0 });
  });
});

// S24
describe('the network', () => {
  const OWN_VISIT = ['connection', 'own datagram'];
  const came: string[] = [];
  let port: number;
  const server = createServer((socket) => {
    came.push('connection');
    socket.end();
  });
  const datagrams = createSocket('udp4', (message) => void came.push(message.toString()));

  /** Who has come to this process, which comes in both ways itself at last: nobody before it is still on the way. */
  async function visitors(): Promise<string[]> {
    await once(connect(port, '127.0.0.1').resume(), 'close');
    datagrams.send('own datagram', port, '127.0.0.1');
    await eventually(
      () => came,
      (all) => all.includes('own datagram'),
    );
    return came.splice(0);
  }

  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    ({ port } = server.address() as AddressInfo);
    await new Promise<void>((done) => datagrams.bind(port, '127.0.0.1', done));
    expect(await visitors()).toEqual(OWN_VISIT);
  });

  afterAll(() => {
    server.close();
    datagrams.close();
  });

  it.each([
    ['TCP to the service itself', () => `exec 3<>/dev/tcp/127.0.0.1/${port}`],
    ['TCP to elsewhere', () => 'exec 3<>/dev/tcp/192.0.2.1/80'],
    ['UDP to elsewhere', () => 'exec 3<>/dev/udp/192.0.2.1/53'],
    ['names', () => 'getent hosts example.com'],
    ['raw sockets', () => `perl -MSocket -e 'socket(S, 2, 3, 1) or exit 1'`],
    ['sockets of the virtual machine', () => `perl -e 'socket(S, 40, 1, 0) or exit 1'`],
  ])('is not there: %s', async (_, command) => {
    await using box = await TestSandbox.start();
    expect((await box.run(command())).exitCode).not.toBe(0);
    expect(await visitors()).toEqual(OWN_VISIT);
  });

  // Whoever sends a datagram is not told whether anybody has got it.
  it('is not there: UDP to the service itself', async () => {
    await using box = await TestSandbox.start();
    await box.run(`echo datagram > /dev/udp/127.0.0.1/${port}`);
    expect(await visitors()).toEqual(OWN_VISIT);
  });

  it('has no interface but its own, no way out of it and nobody to ask for names', async () => {
    await using box = await TestSandbox.start();
    const interfaces = await box.output(`grep -o '^ *[^ ]*:' /proc/net/dev | tr -d ' '`);
    expect(interfaces).toBe('lo:\n');
    expect(await box.output('tail -n +2 /proc/net/route')).toBe('');
    expect(await box.output('cat /etc/resolv.conf')).toContain('No such file');
  });

  it('is there within one command', async () => {
    await using box = await TestSandbox.start();
    const command = `perl -MIO::Socket::INET -e '$s=IO::Socket::INET->new(Listen=>1,LocalAddr=>"localhost:0") or die; $c=IO::Socket::INET->new("localhost:".$s->sockport) or die; print "connected\\n"'`;
    expect(await box.output(command)).toBe('connected\n');
  });
});
