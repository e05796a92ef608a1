import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  linkSync,
} from 'node:fs';
import { mkdir, truncate, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CONFIG } from '../../../src/platform/config/index.js';
import type { Config } from '../../../src/platform/config/index.js';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import { WorkspaceSnapshots } from '../../../src/harness/change/snapshot/workspace.snapshots.js';
import type { FileOperation } from '../../../src/effect/index.js';
import { sha256 } from '../../../src/harness/protocol/values.js';
import { english } from '../../../src/platform/message/index.js';
import { Plinth } from '../../support/plinth.js';
import { ToolWorkspace } from '../../support/tool-workspace.js';

const TENANT = '000000';
const MIB = 2 ** 20;
const { signal } = new AbortController();

let plinth: Plinth;
let snapshots: WorkspaceSnapshots;
let blobs: BlobStore;
let files: ToolWorkspace;

beforeAll(async () => {
  plinth = await Plinth.start();
  snapshots = plinth.app.get(WorkspaceSnapshots, { strict: false });
  blobs = plinth.app.get(BlobStore, { strict: false });
});

afterAll(() => plinth.stop());

beforeEach(async () => {
  files = await ToolWorkspace.make();
});

afterEach(() => files.remove());

function target(): { tenantId: string; root: string } {
  return { tenantId: TENANT, root: files.root };
}

/** What `act` has changed in the workspace. */
async function changesOf(act: () => unknown): Promise<readonly FileOperation[]> {
  const before = await snapshots.take(target(), signal);
  await act();
  const changes = await snapshots.changesSince(target(), before, signal);
  if (!changes) throw new Error('There are too many files.');
  return changes;
}

/** What a person reads before a command about changes that could not be undone; empty where all could be. */
async function warning(): Promise<string> {
  const message = await snapshots.restorable(target(), signal);
  return message === null ? '' : english(message);
}

function at(path: string): string {
  return join(files.root, path);
}

/** Numbers of kept contents by what they are. */
function keptContents(): string[] {
  const folder = join(plinth.dataDir, 'harness', 'blobs', TENANT);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.includes('/'),
  );
}

describe('the changes of a command', () => {
  it('are files that it has made, changed, removed and renamed, each with its content before', async () => {
    files.put('changed.txt', 'before');
    files.put('removed.txt', 'gone');
    files.put('sub/old-name.txt', 'moved');
    files.put('same.txt', 'same');
    const changes = await changesOf(() => {
      files.put('changed.txt', 'after');
      files.put('made/deep/new.txt', 'new');
      rmSync(at('removed.txt'));
      renameSync(at('sub/old-name.txt'), at('sub/new-name.txt'));
    });
    expect(changes.map(({ op, path }) => `${op} ${path}`)).toEqual([
      'DELETE removed.txt',
      'DELETE sub/old-name.txt',
      'UPDATE changed.txt',
      'CREATE made/deep/new.txt',
      'CREATE sub/new-name.txt',
    ]);
    const [removed, , changed, made] = changes;
    const before = { sha256: sha256('before'), size: 6, mode: 0o644 };
    const after = { sha256: sha256('after'), size: 5, mode: 0o644 };
    expect(changed).toEqual({ path: 'changed.txt', op: 'UPDATE', before, after, restorable: true });
    expect(removed).toMatchObject({ before: { sha256: sha256('gone') }, after: null });
    expect(made).toMatchObject({
      before: null,
      after: { sha256: sha256('new') },
      restorable: true,
    });
    for (const content of ['before', 'gone', 'moved', 'after', 'new']) {
      expect((await blobs.get(TENANT, sha256(content)))?.toString()).toBe(content);
    }
  });

  it('are permission bits, and not a mere touch', async () => {
    files.put('script.sh', 'echo');
    files.put('touched.txt', 'x');
    const changes = await changesOf(async () => {
      chmodSync(at('script.sh'), 0o755);
      await utimes(at('touched.txt'), 1, 1);
    });
    expect(changes).toEqual([
      {
        path: 'script.sh',
        op: 'UPDATE',
        before: { sha256: sha256('echo'), size: 4, mode: 0o644 },
        after: { sha256: sha256('echo'), size: 4, mode: 0o755 },
        restorable: true,
      },
    ]);
  });

  it('are seen where size and time are made to look the same', async () => {
    files.put('same-looks.txt', 'abc');
    const { atime, mtime } = statSync(at('same-looks.txt'));
    const changes = await changesOf(async () => {
      await writeFile(at('same-looks.txt'), 'xyz');
      await utimes(at('same-looks.txt'), atime, mtime);
    });
    expect(changes).toMatchObject([
      { before: { sha256: sha256('abc') }, after: { sha256: sha256('xyz') } },
    ]);
  });

  it('are nothing where nothing has changed', async () => {
    files.put('a.txt');
    expect(await changesOf(() => undefined)).toEqual([]);
  });

  it('are told, and not put back, of large files', async () => {
    files.put('large.bin', Buffer.alloc(2 * MIB + 1, 1));
    files.put('limit.bin', Buffer.alloc(2 * MIB, 1));
    files.put('huge.bin');
    await truncate(at('huge.bin'), 65 * MIB);
    const changes = await changesOf(async () => {
      files.put('large.bin', Buffer.alloc(2 * MIB + 1, 2));
      files.put('limit.bin', Buffer.alloc(2 * MIB, 2));
      await truncate(at('huge.bin'), 66 * MIB);
    });
    const large = Buffer.alloc(2 * MIB + 1, 2);
    expect(changes).toMatchObject([
      {
        path: 'huge.bin',
        restorable: false,
        before: { size: 65 * MIB },
        after: { size: 66 * MIB },
      },
      {
        path: 'large.bin',
        restorable: false,
        after: { sha256: sha256(large), size: large.length },
      },
      { path: 'limit.bin', restorable: true },
    ]);
    for (const { before, after } of changes) expect(before?.sha256).not.toBe(after?.sha256);
    expect(await blobs.has(TENANT, sha256(large))).toBe(false);
    // The content as it is now is known by its hash, so that it can be compared.
    const [again] = await changesOf(() => files.put('large.bin', Buffer.alloc(2 * MIB + 1, 3)));
    expect(again).toMatchObject({ restorable: false, before: { sha256: sha256(large) } });
  });

  it('are told of secrets, of which nothing is kept', async () => {
    files.put('.env', 'KEY=canary-not-kept');
    const changes = await changesOf(() => {
      files.put('.env', 'KEY=canary-changed-key');
      files.put('server.pem', 'canary-new-pem');
    });
    expect(changes).toMatchObject([
      {
        path: '.env',
        op: 'UPDATE',
        restorable: false,
        after: { sha256: sha256('KEY=canary-changed-key') },
      },
      { path: 'server.pem', op: 'CREATE' },
    ]);
    for (const content of ['KEY=canary-not-kept', 'KEY=canary-changed-key', 'canary-new-pem']) {
      expect(await blobs.has(TENANT, sha256(content))).toBe(false);
    }
  });

  it('are not those of special files, git and folders that scans skip', async () => {
    const skipped = ['.git', '.idea', 'node_modules', 'target', 'dist', 'build', 'a/.git'];
    for (const folder of skipped) files.put(`${folder}/x`, 'before');
    const server = createServer();
    const changes = await changesOf(async () => {
      for (const folder of skipped) {
        files.put(`${folder}/x`, 'after');
        files.put(`${folder}/y`, 'new');
      }
      await new Promise<void>((done) => server.listen(at('socket'), done));
    });
    server.close();
    expect(changes).toEqual([]);
  });

  it('are links, which are not followed, with their targets', async () => {
    files.put('real.txt', 'real');
    files.put('becomes-link.txt', 'was a file');
    symlinkSync('real.txt', at('goes'));
    symlinkSync('real.txt', at('turns'));
    const changes = await changesOf(() => {
      symlinkSync(files.outside, at('made'));
      rmSync(at('goes'));
      rmSync(at('turns'));
      symlinkSync('..', at('turns'));
      rmSync(at('becomes-link.txt'));
      symlinkSync('real.txt', at('becomes-link.txt'));
    });
    const link = (target: string) => ({
      sha256: sha256(target),
      size: Buffer.byteLength(target),
      mode: 0o120000,
    });
    expect(changes).toMatchObject([
      { op: 'DELETE', path: 'goes', before: link('real.txt'), restorable: true },
      { op: 'UPDATE', path: 'becomes-link.txt', before: { mode: 0o644 }, after: link('real.txt') },
      { op: 'UPDATE', path: 'turns', before: link('real.txt'), after: link('..') },
      { op: 'CREATE', path: 'made', after: link(files.outside) },
    ]);
  });

  it('are empty folders and permission bits of folders; others belong to what is in them', async () => {
    await mkdir(at('goes'), { recursive: true });
    await mkdir(at('locked'), { recursive: true });
    files.put('gone/with/its.txt', 'file');
    const changes = await changesOf(async () => {
      rmSync(at('goes'), { recursive: true });
      rmSync(at('gone'), { recursive: true });
      chmodSync(at('locked'), 0o700);
      await mkdir(at('made/empty'), { recursive: true });
      files.put('new/for/a.txt', 'file');
    });
    expect(changes).toMatchObject([
      { op: 'DELETE', path: 'goes', before: { mode: 0o040755 } },
      { op: 'DELETE', path: 'gone/with/its.txt', madeFolders: 2 },
      { op: 'UPDATE', path: 'locked', before: { mode: 0o040755 }, after: { mode: 0o040700 } },
      { op: 'CREATE', path: 'made/empty', after: { mode: 0o040755 }, madeFolders: 1 },
      { op: 'CREATE', path: 'new/for/a.txt', madeFolders: 2 },
    ]);
  });

  // S35
  it('are not those of a file that a worktree has in the place of a repository', async () => {
    const paths = ['.git', 'sub/.git', 'cased/.GIT'];
    for (const path of paths) files.put(path, `gitdir: ${files.outside}\n`);
    files.put('sub/a.txt', 'before');
    const changes = await changesOf(() => {
      for (const path of paths) files.put(path, 'gitdir: /elsewhere\n');
      files.put('made/.git', `gitdir: ${files.outside}\n`);
      files.put('sub/a.txt', 'after');
    });
    expect(changes.map(({ op, path }) => `${op} ${path}`)).toEqual(['UPDATE sub/a.txt']);
  });

  it('are those of a file with two names, under both', async () => {
    files.put('one.txt', 'before');
    linkSync(at('one.txt'), at('two.txt'));
    const changes = await changesOf(() => writeFile(at('one.txt'), 'after'));
    expect(changes.map(({ path }) => path)).toEqual(['one.txt', 'two.txt']);
  });

  it('are not those of paths that are longer than any that can be put back', async () => {
    const changes = await changesOf(() => {
      const deep = 'd=$(printf "a%.0s" $(seq 200)); for i in $(seq 25); do mkdir $d; cd $d; done';
      execFileSync('bash', ['-c', `${deep}; touch f`], { cwd: files.root });
      files.put('beside.txt', 'x');
    });
    expect(changes.map(({ path }) => path)).toEqual(['beside.txt']);
  });

  it('are told of contents that were lost meanwhile, and are not put back', async () => {
    files.put('lost.txt', 'content that gets lost');
    const hash = sha256('content that gets lost');
    const changes = await changesOf(() => {
      rmSync(join(plinth.dataDir, 'harness', 'blobs', TENANT, hash.slice(0, 2), hash));
      files.put('lost.txt', 'other');
    });
    expect(changes).toMatchObject([{ path: 'lost.txt', restorable: false }]);
  });

  it('are told of contents that a loss of power has cut, which are kept anew', async () => {
    const hash = sha256('content that gets cut');
    const path = join(plinth.dataDir, 'harness', 'blobs', TENANT, hash.slice(0, 2), hash);
    files.put('cut.txt', 'content that gets cut');
    const changes = await changesOf(() => {
      truncateSync(path, 3);
      files.put('cut.txt', 'other');
    });
    expect(changes).toMatchObject([{ path: 'cut.txt', restorable: false }]);
    files.put('again.txt', 'content that gets cut');
    await snapshots.take(target(), signal);
    expect(readFileSync(path, 'utf8')).toBe('content that gets cut');
  });
});

describe('a snapshot', () => {
  it('keeps a content once, and reads what has not changed no second time', async () => {
    for (let index = 0; index < 50; index += 1) files.put(`f${index}.txt`, `content ${index % 10}`);
    const first = await snapshots.take(target(), signal);
    const kept = keptContents();
    // Unreadable now for whoever would look: times and numbers are all that is asked for.
    const second = await snapshots.take(target(), signal);
    expect(second).toBe(first);
    expect(keptContents()).toEqual(kept);
    files.put('f1.txt', 'changed');
    await snapshots.take(target(), signal);
    // The content and the new manifest.
    expect(keptContents()).toHaveLength(kept.length + 2);
  });

  it('is found again by its hash, also by another process', async () => {
    files.put('a.txt', 'before');
    const hash = await snapshots.take(target(), signal, [['.vscode', '1:2']]);
    files.put('a.txt', 'after');
    const other = new WorkspaceSnapshots(plinth.app.get<Config>(CONFIG));
    expect(await other.protectedPathsOf(target(), hash, signal)).toEqual([['.vscode', '1:2']]);
    expect(await other.changesSince(target(), hash, signal)).toMatchObject([
      { path: 'a.txt', before: { sha256: sha256('before') }, after: { sha256: sha256('after') } },
    ]);
    for (const lost of [sha256('nothing'), sha256('after')]) {
      expect(await other.protectedPathsOf(target(), lost, signal)).toBeUndefined();
    }
    const stranger = { ...target(), tenantId: '000001' };
    expect(await other.protectedPathsOf(stranger, hash, signal)).toBeUndefined();
    await other.onApplicationShutdown();
  });

  it('keeps the first 20,000 files', async () => {
    await mkdir(at('many'));
    for (let index = 0; index < 20_001; index += 1) {
      writeFileSync(at(`many/${String(index).padStart(5, '0')}`), 'x');
    }
    expect(await warning()).toMatch(/^Changes of 1 file could not be/);
    const changes = await changesOf(async () => {
      await writeFile(at('many/00000'), 'y');
      await writeFile(at('many/20000'), 'y');
    });
    expect(changes).toMatchObject([
      { path: 'many/00000', restorable: true },
      { path: 'many/20000', restorable: false },
    ]);
    rmSync(at('many/20000'));
    expect(await warning()).toBe('');
  }, 180_000);

  it('says before a command what could not be undone', async () => {
    files.put('a.txt');
    files.put('.env', 'SECRET=1');
    expect(await warning()).toBe('');
    files.put('large.bin', Buffer.alloc(2 * MIB + 1));
    files.put('larger.bin', Buffer.alloc(3 * MIB));
    expect(await warning()).toMatch(/^Changes of 2 files .* 2 MiB/);
  });

  it('ends when it is no longer wanted', async () => {
    files.put('a.txt');
    await expect(snapshots.take(target(), AbortSignal.abort())).rejects.toThrow('aborted');
  });
});
