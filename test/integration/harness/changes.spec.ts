import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import { RollBackFailedError, ToolError } from '../../../src/harness/protocol/tool-call.js';
import type { PlannedFile } from '../../../src/harness/protocol/tool-call.js';
import { FileChanges, netChanges } from '../../../src/harness/change/file-changes.js';
import type { FileOperation } from '../../../src/effect/index.js';
import { FileChangeRepository } from '../../../src/harness/store/file-change.repository.js';
import { RunLedger } from '../../../src/harness/store/run.ledger.js';
import { newId, sha256 } from '../../../src/harness/protocol/values.js';
import { complete, ownRun } from '../../support/harness-run.js';
import type { OwnRun } from '../../support/harness-run.js';
import { makeTenant } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { SECRET_KEY } from '../../support/template.js';
import { ToolWorkspace } from '../../support/tool-workspace.js';

const TENANT = '000000';

let plinth: Plinth;
let admin: Session;
let changes: FileChanges;
let blobs: BlobStore;
let here: ToolWorkspace;

beforeAll(async () => {
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  changes = plinth.app.get(FileChanges, { strict: false });
  blobs = plinth.app.get(BlobStore, { strict: false });
});

afterAll(() => plinth.stop());

beforeEach(async () => {
  here = await ToolWorkspace.make();
});

afterEach(() => here.remove());

function target(): { tenantId: string; workspace: ToolWorkspace['workspace'] } {
  return { tenantId: TENANT, workspace: here.workspace };
}

function signal(): AbortSignal {
  return AbortSignal.timeout(30_000);
}

type Content = string | Buffer | null;

/** A change of one file, as a tool plans it. */
function planned(
  path: string,
  before: Content,
  after: Content,
  { mode = 0o644, madeFolders = 0 } = {},
): PlannedFile {
  const [old, now] = [before, after].map((one) => (one === null ? null : Buffer.from(one)));
  const stateOf = (bytes: Buffer | null | undefined): FileOperation['before'] =>
    bytes ? { sha256: sha256(bytes), size: bytes.length, mode } : null;
  return {
    operation: {
      path,
      op: old ? (now ? 'UPDATE' : 'DELETE') : 'CREATE',
      before: stateOf(old),
      after: stateOf(now),
      restorable: true,
      madeFolders,
    },
    beforeContent: old ?? null,
    afterContent: now ?? null,
    unread: false,
  };
}

/** Puts the contents before into the workspace, keeps all of them, and answers the operations. */
async function prepared(files: readonly PlannedFile[]): Promise<FileOperation[]> {
  for (const { operation, beforeContent } of files) {
    if (beforeContent && operation.before) {
      here.put(operation.path, beforeContent);
      chmodSync(join(here.root, operation.path), operation.before.mode);
    }
  }
  await changes.keep(TENANT, files);
  return files.map(({ operation }) => operation);
}

function contents(): Record<string, string> {
  const found = readdirSync(here.root, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    found
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [
        path.slice(here.root.length + 1),
        statSync(path).isFile() ? readFileSync(path, 'utf8') : '/',
      ]),
  );
}

function blobPath(hash: string, tenantId = TENANT): string {
  return join(plinth.dataDir, 'harness', 'blobs', tenantId, hash.slice(0, 2), hash);
}

const THREE = [
  planned('a.txt', 'a', 'A', { mode: 0o640 }),
  planned('new/b.txt', null, 'B', { madeFolders: 1 }),
  planned('c.txt', 'c', null),
];
const BEFORE = { 'a.txt': 'a', 'c.txt': 'c' };
const AFTER = { 'a.txt': 'A', new: '/', 'new/b.txt': 'B' };

describe('kept contents', () => {
  it('are private files by tenant and hash, written once', async () => {
    const hash = await blobs.put(TENANT, Buffer.from('kept'));
    expect(hash).toBe(sha256('kept'));
    const path = blobPath(hash);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, '../..')).mode & 0o777).toBe(0o700);
    const { ino } = statSync(path);
    expect(await blobs.put(TENANT, Buffer.from('kept'))).toBe(hash);
    expect(statSync(path).ino).toBe(ino);
    expect(readdirSync(join(path, '..'))).toEqual([hash]);
    expect((await blobs.get(TENANT, hash))?.toString()).toBe('kept');
    expect(await blobs.get('000001', hash)).toBeUndefined();
    expect(await blobs.get(TENANT, sha256('never kept'))).toBeUndefined();
  });

  it('are compared with their hash when they are read, and written anew when they are damaged', async () => {
    const hash = await blobs.put(TENANT, Buffer.from('to be damaged'));
    writeFileSync(blobPath(hash), 'damaged');
    expect(await blobs.get(TENANT, hash)).toBeUndefined();
    expect(plinth.log.join('\n')).toContain('Stored content is damaged');
    await blobs.put(TENANT, Buffer.from('to be damaged'));
    expect((await blobs.get(TENANT, hash))?.toString()).toBe('to be damaged');
  });

  it('are never read or written over a link that somebody has put there', async () => {
    const hash = sha256('linked');
    mkdirSync(join(blobPath(hash), '..'), { recursive: true });
    symlinkSync(join(here.outside, 'secret.txt'), blobPath(hash));
    await expect(blobs.get(TENANT, hash)).rejects.toThrow('ELOOP');
    await expect(blobs.put(TENANT, Buffer.from('linked'))).rejects.toThrow('ELOOP');
    rmSync(blobPath(hash));
  });

  it('are on the disk when they must be, also those that were kept without waiting for it', async () => {
    const bytes = Buffer.from('kept in a hurry');
    const path = blobPath(sha256(bytes));
    const handle = await open(here.root);
    const synced = jest.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync');
    await handle.close();
    try {
      // As a snapshot does.
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, bytes);
      expect(synced).not.toHaveBeenCalled();
      await blobs.put(TENANT, bytes);
      // The content, and the names on the way to it.
      expect(synced).toHaveBeenCalledTimes(4);
    } finally {
      synced.mockRestore();
    }
  });

  it('have no other names than hashes and tenants', async () => {
    await expect(blobs.get(TENANT, '../secret')).rejects.toThrow('SHA-256');
    await expect(blobs.get('../000000', sha256('x'))).rejects.toThrow('tenant');
    await expect(blobs.put('a/b', Buffer.from('x'))).rejects.toThrow('tenant');
  });

  it('go with their tenant', async () => {
    const { id } = await makeTenant(plinth, admin, '314159');
    const hash = await blobs.put('314159', Buffer.from('theirs'));
    expect(existsSync(blobPath(hash, '314159'))).toBe(true);
    expect(await admin.delete(`/system/tenant/${id}`)).toMatchObject({ code: 200 });
    expect(existsSync(join(plinth.dataDir, 'harness/blobs/314159'))).toBe(false);
    expect(existsSync(join(plinth.dataDir, 'harness/blobs', TENANT))).toBe(true);
  });
});

describe('a change of files', () => {
  it('is carried out as a whole, with permissions', async () => {
    const operations = await prepared(THREE);
    expect(await changes.find(target(), operations, signal())).toBe('BEFORE');
    await changes.apply(target(), operations, signal());
    expect(contents()).toEqual(AFTER);
    expect(statSync(join(here.root, 'a.txt')).mode & 0o777).toBe(0o640);
    expect(await changes.find(target(), operations, signal())).toBe('AFTER');
  });

  it.each<[string, () => void, string]>([
    ['changed', () => here.put('c.txt', 'other'), 'CHANGED_MEANWHILE'],
    ['removed', () => rmSync(join(here.root, 'c.txt')), 'CHANGED_MEANWHILE'],
    ['made', () => here.put('new/b.txt', 'other'), 'CHANGED_MEANWHILE'],
    ['made runnable', () => chmodSync(join(here.root, 'c.txt'), 0o755), 'CHANGED_MEANWHILE'],
    [
      'replaced by a link',
      () => {
        rmSync(join(here.root, 'c.txt'));
        here.link('c.txt', 'a.txt');
      },
      'SYMLINK_ESCAPE',
    ],
    ['led over a link', () => here.link('new', here.outside), 'SYMLINK_ESCAPE'],
  ])('writes nothing when a file was %s meanwhile', async (how, meanwhile, code) => {
    const operations = await prepared(THREE);
    meanwhile();
    const failing = changes.apply(target(), operations, signal());
    await expect(failing).rejects.toMatchObject({ name: 'ToolError', code });
    expect(readFileSync(join(here.root, 'a.txt'), 'utf8')).toBe('a');
    expect(existsSync(join(here.outside, 'b.txt'))).toBe(false);
    // A file that was to be removed and is gone is as after it.
    const found = how === 'removed' ? 'MIXED' : 'OTHER';
    expect(await changes.find(target(), operations, signal())).toBe(found);
  });

  it('refuses a hard link, and takes back what was done until then', async () => {
    const operations = await prepared(THREE);
    linkSync(join(here.root, 'c.txt'), join(here.outside, 'linked'));
    const failing = changes.apply(target(), operations, signal());
    await expect(failing).rejects.toMatchObject({ code: 'HARD_LINK' });
    expect(contents()).toEqual(BEFORE);
  });

  it('is taken back when it fails in the middle', async () => {
    const files = [...THREE, planned('d.txt', 'd', 'damaged')];
    const operations = await prepared(files);
    writeFileSync(blobPath(sha256('damaged')), 'something else');
    const failing = changes.apply(target(), operations, signal());
    await expect(failing).rejects.toMatchObject({ code: 'FAILED' });
    expect(contents()).toEqual({ ...BEFORE, 'd.txt': 'd' });
  });

  it('removes the folders again that it has made', async () => {
    here.put('x/kept.txt');
    const operations = await prepared([
      planned('x/y/z.txt', null, 'z', { madeFolders: 1 }),
      planned('d.txt', 'd', 'damaged too'),
    ]);
    writeFileSync(blobPath(sha256('damaged too')), 'something else');
    await expect(changes.apply(target(), operations, signal())).rejects.toThrow(ToolError);
    expect(contents()).toEqual({ 'd.txt': 'd', x: '/', 'x/kept.txt': 'inside\n' });
  });

  it('is taken back when it is aborted', async () => {
    const operations = await prepared(THREE);
    const abort = new AbortController();
    abort.abort(new Error('cancelled'));
    await expect(changes.apply(target(), operations, abort.signal)).rejects.toThrow('cancelled');
    expect(contents()).toEqual(BEFORE);
  });

  it('keeps bytes of any kind', async () => {
    const bytes = Buffer.from([0, 255, 254, 13, 10, 0]);
    const operations = await prepared([planned('x.bin', Buffer.from([1, 0]), bytes)]);
    await changes.apply(target(), operations, signal());
    expect(readFileSync(join(here.root, 'x.bin'))).toEqual(bytes);
    await changes.rollBack(target(), operations, signal());
    expect(readFileSync(join(here.root, 'x.bin'))).toEqual(Buffer.from([1, 0]));
  });
});

describe('a process that dies in the middle of a change', () => {
  it.each([0, 1, 2, 3])('leaves %i operations done, which are found and put back', async (done) => {
    const operations = await prepared(THREE);
    await changes.apply(target(), operations.slice(0, done), signal());
    const found = await changes.find(target(), operations, signal());
    expect(found).toBe(done === 0 ? 'BEFORE' : done === 3 ? 'AFTER' : 'MIXED');
    await changes.rollBack(target(), operations, signal());
    expect(await changes.find(target(), operations, signal())).toBe('BEFORE');
    expect(contents()).toEqual(BEFORE);
  });

  it('leaves alone what somebody has changed since, and says so', async () => {
    const operations = await prepared(THREE);
    await changes.apply(target(), operations, signal());
    here.put('a.txt', 'by somebody else');
    expect(await changes.find(target(), operations, signal())).toBe('OTHER');
    const failing = changes.rollBack(target(), operations, signal());
    await expect(failing).rejects.toMatchObject({ paths: ['a.txt'] });
    await expect(failing).rejects.toThrow(RollBackFailedError);
    expect(contents()).toEqual({ 'a.txt': 'by somebody else', 'c.txt': 'c' });
  });

  it('leaves no file that it had not finished writing', async () => {
    const operations = await prepared(THREE);
    const left = `.plinth-${'0a'.repeat(16)}.tmp`;
    here.put(left, 'KEY=secret');
    here.put(`new/${left}`, 'KEY=secret');
    expect(await changes.find(target(), operations, signal())).toBe('BEFORE');
    expect(contents()).toEqual({ ...BEFORE, new: '/' });
  });

  const swapped: readonly [string, readonly PlannedFile[], object, object][] = [
    [
      'a file for a folder',
      [
        planned('lib', 'file', null),
        planned('lib/a.txt', null, 'a', { madeFolders: 1 }),
        planned('lib/x/b.txt', null, 'b', { madeFolders: 2 }),
      ],
      { lib: 'file' },
      { lib: '/', 'lib/a.txt': 'a', 'lib/x': '/', 'lib/x/b.txt': 'b' },
    ],
    [
      'a folder for a file',
      [
        planned('lib/a.txt', 'a', null, { madeFolders: 1 }),
        planned('lib/x/b.txt', 'b', null, { madeFolders: 2 }),
        planned('lib', null, 'file'),
      ],
      { lib: '/', 'lib/a.txt': 'a', 'lib/x': '/', 'lib/x/b.txt': 'b' },
      { lib: 'file' },
    ],
  ];

  it.each(swapped)('while it puts %s, too', async (_, files, before, after) => {
    for (let count = 0; count <= files.length; count += 1) {
      const operations = await prepared(files);
      if (count === files.length) await changes.apply(target(), operations, signal());
      else await changes.apply(target(), operations.slice(0, count), signal());
      const found = await changes.find(target(), operations, signal());
      expect(found).toBe(count === 0 ? 'BEFORE' : count === files.length ? 'AFTER' : 'MIXED');
      if (count === files.length) expect(contents()).toEqual(after);
      await changes.rollBack(target(), operations, signal());
      expect(contents()).toEqual(before);
    }
  });

  it('counts an operation that changes nothing as both', async () => {
    const same = planned('a.txt', 'a', 'a');
    const operations = await prepared([same, planned('b.txt', 'b', 'B')]);
    expect(await changes.find(target(), operations, signal())).toBe('BEFORE');
    await changes.apply(target(), operations, signal());
    expect(await changes.find(target(), operations, signal())).toBe('AFTER');
  });
});

describe('what a change is told as', () => {
  let run: OwnRun;

  beforeAll(async () => {
    run = await ownRun(plinth, admin);
  });

  afterAll(() => complete(run));

  /** Records the change as the loop does; the stored events. */
  async function recorded(on: OwnRun, files: readonly PlannedFile[]): Promise<unknown[]> {
    const key = { tenantId: TENANT, id: on.runId };
    await changes.keep(TENANT, files);
    const described = await changes.describe(
      key,
      files.map(({ operation }) => operation),
    );
    const toolCallId = newId();
    const ledger = plinth.app.get(RunLedger, { strict: false });
    return ledger.updateRun(TENANT, on.runId, async (writer) => {
      const events = await changes.record(key, toolCallId, described);
      writer.events(events);
      expect(events.every(({ subject }) => subject?.toolCallId === toolCallId)).toBe(true);
      return events.map(({ type, data }) => ({ type, ...data }));
    });
  }

  it('is the difference of each file and of the whole run', async () => {
    const files = [
      planned('src/a.ts', 'one\ntwo\nthree\n', 'one\n2\nthree\n'),
      planned('new.sh', null, 'run\n', { mode: 0o755 }),
      planned('gone', 'x', null),
      planned('pic.png', Buffer.from([0, 1]), Buffer.from([0, 2])),
    ];
    const events = await recorded(run, files);
    expect(events).toEqual([
      {
        type: 'file.changed',
        ...{ path: 'src/a.ts', op: 'UPDATE', additions: 1, deletions: 1, diffTruncated: false },
        diff: 'diff --git a/src/a.ts b/src/a.ts\n--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
      },
      {
        type: 'file.changed',
        ...{ path: 'new.sh', op: 'CREATE', additions: 1, deletions: 0, diffTruncated: false },
        diff: 'diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1,1 @@\n+run\n',
      },
      {
        type: 'file.changed',
        ...{ path: 'gone', op: 'DELETE', additions: 0, deletions: 1, diffTruncated: false },
        diff: 'diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n\\ No newline at end of file\n',
      },
      {
        type: 'file.changed',
        ...{ path: 'pic.png', op: 'UPDATE', additions: null, deletions: null },
        diffTruncated: false,
        diff: 'diff --git a/pic.png b/pic.png\nBinary files a/pic.png and b/pic.png differ\n',
      },
      { type: 'run.diff', files: 4, additions: 2, deletions: 2, etag: expect.any(String) },
    ]);
    // The second change of a file: only what is left of both counts.
    const more = await recorded(run, [planned('src/a.ts', 'one\n2\nthree\n', 'one\nII\nthree\n')]);
    expect(more.at(-1)).toMatchObject({ files: 4, additions: 2, deletions: 2 });
    const back = await recorded(run, [
      planned('src/a.ts', 'one\nII\nthree\n', 'one\ntwo\nthree\n'),
    ]);
    expect(back.at(-1)).toMatchObject({ files: 3, additions: 1, deletions: 1 });
    const rows = await plinth.app
      .get(FileChangeRepository, { strict: false })
      .ofRun(TENANT, run.runId);
    const totals = await changes.totalsOf(TENANT, await netChanges(rows));
    expect({ type: 'run.diff', ...totals }).toEqual(back.at(-1));
  });

  it('is cut at whole lines, and made in bounded time', async () => {
    const lines = (salt: number): string =>
      Array.from({ length: 40_000 }, (_, at) => `${at * salt} ${at % 7}\n`).join('');
    const [event] = await recorded(run, [planned('large', lines(3), lines(5))]);
    expect(event).toMatchObject({ diffTruncated: true, diff: expect.stringMatching(/\n$/) });
    const { diff, additions, deletions } = event as Record<string, unknown>;
    expect(Buffer.byteLength(String(diff))).toBeLessThanOrEqual(64 * 1024);
    expect(Number(additions)).toBeGreaterThan(30_000);
    expect(deletions).toBe(additions);
    const huge = Buffer.alloc(4 * 1024 * 1024 + 1, 'x');
    const [larger] = await recorded(run, [planned('huge', huge, 'x')]);
    expect(larger).toMatchObject({ additions: null, deletions: null });
    expect((larger as { diff: string }).diff).toContain('Too large to compare');
  });

  it('holds no secret of the service', async () => {
    const [event] = await recorded(run, [planned('leak', null, `key=${SECRET_KEY}\n`)]);
    expect(event).toMatchObject({ diff: expect.stringContaining('+key=[secret]\n') });
  });

  it('says when a content was not kept', async () => {
    const file = planned('x', 'a\n', 'b\n');
    const lost = { ...file, operation: { ...file.operation, restorable: false } };
    const [event] = await recorded(run, [lost]);
    expect(event).toMatchObject({ additions: null, diff: expect.stringContaining('not kept') });
  });

  it('has 500 events at most for one call, and a row for every file', async () => {
    const other = await ownRun(plinth, admin);
    const files = Array.from({ length: 600 }, (_, at) => planned(`f${at}`, null, `${at % 3}\n`));
    const events = await recorded(other, files);
    expect(events).toHaveLength(501);
    expect(events.at(-1)).toMatchObject({ type: 'run.diff', files: 600, additions: 600 });
    await complete(other);
  });
});
