import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PRIVATE_KEY } from '../../../test/support/path-attacks.js';
import { plantedPathsIn, scanWorkspace } from './workspace-scan.js';
import type { ProtectedPath, ScanLimits } from './workspace-scan.js';

const { signal } = new AbortController();
let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-scan-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), 'password = "canary"\n');
  }
}

async function covers(limits?: ScanLimits): Promise<Record<string, string>> {
  const { mounts } = await scanWorkspace(root, signal, limits);
  return Object.fromEntries(mounts.map(({ path, cover }) => [path, cover]));
}

describe('scanWorkspace', () => {
  it('finds secrets and repositories at any depth, and protected paths outside of what tools have made', async () => {
    put('a.txt', '.env', 'a/b/c/d/e/.env', 'node_modules/p/.env', 'node_modules/p/.vscode/x');
    put('.vscode/x', 'a/.mcp.json', 'credentials/x', 'dist/.git/config', '.github/x');
    expect(await covers()).toEqual({
      '.env': 'hidden-file',
      'a/b/c/d/e/.env': 'hidden-file',
      'node_modules/p/.env': 'hidden-file',
      dist: 'pinned',
      'dist/.git': 'read-only',
      'dist/.git/config': 'redacted-file',
      '.vscode': 'read-only',
      'a/.mcp.json': 'read-only',
      'credentials/x': 'hidden-file',
      '.github': 'pinned',
    });
  });

  it('hides settings with a private key, whatever they are called, but for those of packages', async () => {
    for (const path of ['deploy/access.json', 'node_modules/p/access.json', 'a.test.ts']) {
      put(path);
      writeFileSync(join(root, path), PRIVATE_KEY);
    }
    expect(await covers()).toEqual({ 'deploy/access.json': 'hidden-file' });
  });

  it('covers what version control other than git keeps, also in packages', async () => {
    put('.hg/hgrc', 'node_modules/p/.svn/wc.db', 'node_modules/p/.mvn/x', '.cargo/config.toml');
    expect(await covers()).toEqual({
      '.hg': 'read-only',
      '.hg/hgrc': 'hidden-file',
      'node_modules/p/.svn': 'read-only',
      '.cargo': 'pinned',
      '.cargo/config.toml': 'read-only',
    });
  });

  it('pins what is above a repository, and hides the addresses of its remotes', async () => {
    put('a/b/.git/HEAD', 'a/b/.git/config', 'a/b/.git/modules/m/HEAD', 'a/b/.git/modules/m/config');
    put('a/b/.git/refs/heads/id_rsa', 'worktree/.git');
    expect(await covers()).toEqual({
      a: 'pinned',
      'a/b': 'pinned',
      'a/b/.git': 'read-only',
      'a/b/.git/config': 'redacted-file',
      'a/b/.git/modules/m/config': 'redacted-file',
      worktree: 'pinned',
      'worktree/.git': 'read-only',
    });
  });

  it('pins the outermost folders alone where a repository lies deep', async () => {
    const names = Array.from({ length: 300 }, (_, depth) => `n${depth % 10}`);
    put([...names, '.git/HEAD'].join('/'));
    const found = Object.entries(await covers());
    expect(found.filter(([, cover]) => cover === 'pinned')).toHaveLength(8);
    expect(found.filter(([, cover]) => cover === 'read-only')).toHaveLength(1);
  });

  it('follows no link, and covers where one with such a name leads', async () => {
    put('plain', 'folder/x', 'sub/x');
    symlinkSync('plain', join(root, '.env'));
    symlinkSync('../folder', join(root, 'sub/.vscode'));
    symlinkSync('/etc', join(root, 'sub/.git'));
    symlinkSync('nowhere', join(root, 'sub/.env'));
    symlinkSync('..', join(root, 'sub/up'));
    expect(await covers()).toEqual({ plain: 'hidden-file', folder: 'read-only' });
    symlinkSync('.', join(root, '.env.all'));
    await expect(covers()).rejects.toMatchObject({ code: 'PROTECTED_PATH' });
  });

  it('fails rather than leave anything out', async () => {
    put('a', 'b', 'c', 'd/.env', 'd/.env.x');
    const limits = { entries: 6, milliseconds: 10_000, mounts: 2 };
    expect(Object.keys(await covers(limits))).toHaveLength(2);
    for (const limit of [{ entries: 5 }, { milliseconds: -1 }, { mounts: 1 }]) {
      await expect(covers({ ...limits, ...limit })).rejects.toMatchObject({ code: 'TOO_LARGE' });
    }
    await expect(scanWorkspace(root, AbortSignal.abort())).rejects.toThrow('aborted');
  });
});

describe('plantedPathsIn', () => {
  it('lets other work go on, however much was there before', async () => {
    let reads = 0;
    const counted: ProxyHandler<ProtectedPath> = {
      get(path, key): unknown {
        if (key === '0') reads += 1;
        return Reflect.get(path, key);
      },
    };
    const before = Array.from(
      { length: 20_000 },
      (_, index) => new Proxy<ProtectedPath>([`folder-${index}/config`, `0:${index}:0`], counted),
    );
    const readsAtOnce: number[] = [];
    let isOver = false;
    const watch = (last: number): void => {
      readsAtOnce.push(reads - last);
      if (!isOver) setImmediate(watch, reads);
    };
    setImmediate(watch, 0);
    const { planted } = await plantedPathsIn(root, before, signal);
    isOver = true;
    expect(planted).toEqual([]);
    expect(reads).toBeGreaterThanOrEqual(before.length);
    expect(Math.max(...readsAtOnce)).toBeLessThan(before.length / 2);
  });
});
