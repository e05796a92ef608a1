import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { ARTIFACT_LIMITS } from '../../../src/harness/change/blob.store.js';
import { Artifacts } from '../../../src/harness/change/blob.store.js';
import { ChangedRuns, edit, read, remove, write } from '../../support/changed-runs.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { done, makeRole, makeUser } from '../../support/people.js';

interface RunDiff {
  readonly text?: string;
  readonly files?: readonly Record<string, unknown>[];
  readonly etag: string;
}
interface Artifact {
  readonly artifactId: string;
  readonly byteSize: number;
  readonly mediaType: string;
}

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let harness: Harness;
let runs: ChangedRuns;

overrideConstants(ARTIFACT_LIMITS, { runBytes: 2 ** 20 });

beforeAll(async () => {
  harness = await startHarness();
  runs = new ChangedRuns(harness);
});

afterAll(() => harness.stop());

beforeEach(() => runs.clear());

async function diffOf(run: RunView, query = ''): Promise<RunDiff> {
  return done(await harness.session.get<RunDiff>(harness.path(run, `/diff${query}`))).data;
}

describe('the difference of a run', () => {
  it('is one text, or file by file, from before the run to after it', async () => {
    harness.write({ 'a.txt': 'one\ntwo\n', 'src/b.txt': 'b\n' });
    const run = await runs.of(
      read('a.txt'),
      edit('a.txt', 'two', '2'),
      edit('a.txt', '2', 'II'),
      remove('src/b.txt'),
      write('c.txt', 'c\n'),
      remove('c.txt'),
    );
    const whole = await diffOf(run);
    expect(whole).toEqual({
      text: [
        'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+II\n',
        'diff --git a/src/b.txt b/src/b.txt\ndeleted file mode 100644\n--- a/src/b.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n',
      ].join(''),
      additions: 1,
      deletions: 2,
      etag: expect.stringMatching(/^[\da-f]{64}$/),
      truncated: false,
      total: 2,
      more: false,
      notice: null,
    });
    const json = await diffOf(run, '?format=json');
    expect(json.etag).toBe(whole.etag);
    expect(
      json.files?.map(({ path, op, additions, deletions }) => [path, op, additions, deletions]),
    ).toEqual([
      ['a.txt', 'UPDATE', 1, 1],
      ['src/b.txt', 'DELETE', 0, 1],
    ]);
    expect((await diffOf(run, '?format=json&path=src')).files).toHaveLength(1);
    expect((await diffOf(run, '?path=a.txt')).text).not.toContain('src/b.txt');
    for (const path of ['src/', './src', join(harness.workspace, 'src'), 'src/../src/b.txt']) {
      const found = await diffOf(run, `?format=json&path=${encodeURIComponent(path)}`);
      expect(found.files).toHaveLength(1);
    }
    expect(await harness.session.get(harness.path(run, '/diff?path=../elsewhere'))).toMatchObject({
      code: 400,
    });
    expect(await harness.session.get(harness.path(run, '/diff?format=html'))).toMatchObject({
      code: 400,
    });
    const last = (await harness.events(run)).findLast(({ type }) => type === 'run.diff');
    expect(last?.data).toEqual({ files: 2, additions: 1, deletions: 2, etag: whole.etag });
  });
});

describe('artifacts', () => {
  let run: RunView;

  beforeAll(async () => {
    runs.clear();
    run = await runs.of();
  });

  function keep(mediaType: string, bytes: Buffer): Promise<string | undefined> {
    const key = { tenantId: '000000', id: run.runId };
    const artifacts = harness.plinth.app.get(Artifacts, { strict: false });
    return artifacts.keep(key, { toolCallId: null, kind: 'output', mediaType, bytes });
  }

  function send(id: string | undefined, query = ''): ReturnType<typeof harness.session.raw> {
    return harness.session.raw('GET', harness.path(run, `/artifacts/${id ?? 'none'}${query}`));
  }

  it('are listed, and sent as files that no browser runs', async () => {
    const html = '<script>alert("ö")</script>';
    const id = await keep('text/html', Buffer.from(html));
    const path = harness.path(run, '/artifacts');
    expect(done(await harness.session.get<Artifact[]>(path)).data).toEqual([
      {
        artifactId: id,
        toolCallId: null,
        kind: 'output',
        mediaType: 'text/html',
        byteSize: 28,
        sha256: expect.stringMatching(/^[\da-f]{64}$/),
        createdAt: expect.any(Number),
      },
    ]);
    const { status, text, headers } = await send(id);
    expect({ status, text }).toEqual({ status: 200, text: html });
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename=${String(id)}.txt`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-store',
    });
  });

  it('are sent in parts', async () => {
    const id = await keep('text/plain', Buffer.from('0123456789'));
    expect((await send(id, '?offset=3&length=4')).text).toBe('3456');
    expect((await send(id, '?offset=8')).text).toBe('89');
    expect((await send(id, '?offset=8&length=99')).text).toBe('89');
    expect((await send(id, '?offset=10')).text).toBe('');
    expect(JSON.parse((await send(id, '?length=0')).text)).toMatchObject({ code: 400 });
    expect(JSON.parse((await send(id, '?offset=-1')).text)).toMatchObject({ code: 400 });
  });

  it('keep the type of a picture', async () => {
    const id = await keep('image/png', PNG);
    expect((await send(id)).headers).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': `attachment; filename=${String(id)}.png`,
    });
    const svg = await keep('image/svg+xml', Buffer.from('<svg/>'));
    expect((await send(svg)).headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  it('take no more room than a run may have', async () => {
    expect(await keep('text/plain', Buffer.alloc(1024 * 1024, 'x'))).toBeUndefined();
    expect(await keep('text/plain', Buffer.alloc(600 * 1024, 'x'))).toBeDefined();
    expect(await keep('text/plain', Buffer.alloc(600 * 1024, 'y'))).toBeUndefined();
    expect(await keep('text/plain', Buffer.alloc(100 * 1024, 'y'))).toBeDefined();
  });

  it('of others are not found', async () => {
    const id = await keep('text/plain', Buffer.from('mine'));
    const other = await runs.of();
    const session = harness.session;
    const inOther = harness.path(other, `/artifacts/${String(id)}`);
    expect(await session.get(inOther)).toMatchObject({ code: 404 });
    expect(await session.get(harness.path(run, '/artifacts/nonsense'))).toMatchObject({
      code: 404,
    });
    const use = await makeRole(session, 'diff-reader', ['coding:harness:use']);
    const reader = await makeUser(harness.plinth, session, 'diff-reader', [use]);
    for (const below of ['/diff', '/files', '/artifacts', `/artifacts/${String(id)}`]) {
      expect(await reader.session.get(harness.path(run, below))).toMatchObject({ code: 404 });
    }
  });
});
