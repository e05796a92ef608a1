import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ChangedRuns, edit, read, remove, write } from '../../support/changed-runs.js';
import { startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';

let harness: Harness;
let runs: ChangedRuns;
let reader: Person;

beforeAll(async () => {
  harness = await startHarness();
  runs = new ChangedRuns(harness);
  const { plinth, session } = harness;
  const use = await makeRole(session, 'undo-reader', ['coding:harness:use']);
  reader = await makeUser(plinth, session, 'undo-reader', [use]);
});

afterAll(() => harness.stop());

beforeEach(() => runs.clear());

describe('undo and redo', () => {
  it('take back and do again what a run has changed, with folders and permissions', async () => {
    harness.write({ 'run.sh': 'old\r\n', 'pic.bin': Buffer.from([0, 1, 2]), 'kept/x': 'x' });
    chmodSync(runs.at('run.sh'), 0o750);
    const run = await runs.of(
      read('run.sh'),
      edit('run.sh', 'old', 'new'),
      edit('run.sh', 'new', 'newer'),
      remove('pic.bin'),
      write('made/deep/a.txt', 'a\n'),
      write('kept/b.txt', 'b\n'),
    );
    expect(runs.content('run.sh')).toBe('newer\r\n');

    const undone = done(await runs.undo(run)).data;

    expect(undone.files).toEqual(['kept/b.txt', 'made/deep/a.txt', 'pic.bin', 'run.sh']);
    expect(undone.conflicts).toEqual([]);
    expect(runs.content('run.sh')).toBe('old\r\n');
    expect(statSync(runs.at('run.sh')).mode & 0o777).toBe(0o750);
    expect(readFileSync(runs.at('pic.bin'))).toEqual(Buffer.from([0, 1, 2]));
    expect(existsSync(runs.at('made'))).toBe(false);
    expect(existsSync(runs.at('kept'))).toBe(true);
    const diff = await harness.session.get(harness.path(run, '/diff'));
    expect(diff.data).toMatchObject({ text: '', additions: 0, deletions: 0 });
    expect(await runs.files(run)).toContainEqual(
      expect.objectContaining({ path: 'run.sh', undoable: false, reason: 'UNDONE', changeIds: [] }),
    );

    const redone = done(await runs.redo(run)).data;

    expect(redone.files).toEqual(['run.sh', 'pic.bin', 'made/deep/a.txt', 'kept/b.txt']);
    expect(redone.changeIds).toEqual(undone.changeIds);
    expect(runs.content('run.sh')).toBe('newer\r\n');
    expect(statSync(runs.at('run.sh')).mode & 0o777).toBe(0o750);
    expect(runs.content('pic.bin')).toBeNull();
    expect(runs.content('made/deep/a.txt')).toBe('a\n');
    const events = (await harness.events(run)).slice(-2);
    expect(events).toMatchObject([
      { type: 'undo.applied', data: undone },
      { type: 'redo.applied', data: redone },
    ]);
    // Behind the calls of the model, in the order in which they happened.
    const effects = await runs.effects(run);
    expect(effects[0]).toMatchObject({ iteration: 1 });
    const undos = effects.slice(-2);
    expect(undos.map(({ toolName, state, iteration }) => [toolName, state, iteration])).toEqual([
      ['undo', 'SUCCEEDED', -1],
      ['redo', 'SUCCEEDED', -2],
    ]);
    // Again, from where it is now.
    done(await runs.undo(run));
    expect(runs.content('run.sh')).toBe('old\r\n');
  });

  it('can be of chosen changes, the last one of a file first', async () => {
    const run = await runs.of(
      write('a.txt', '1\n'),
      edit('a.txt', '1', '2'),
      edit('a.txt', '2', '3'),
      write('b.txt', 'b\n'),
    );
    const [{ changeIds } = { changeIds: [] }] = await runs.files(run);
    const [first = 0, second = 0, third = 0] = changeIds;

    const early = await runs.undo(run, { changeIds: [first, second] });
    expect(early).toMatchObject({ code: 409, data: { errorCode: 'UNDO_CONFLICT' } });
    expect(early.data.conflicts).toMatchObject([{ path: 'a.txt', reason: 'ORDER' }]);
    done(await runs.undo(run, { changeIds: [third] }));
    expect(runs.content('a.txt')).toBe('2\n');
    expect((await runs.files(run))[0]).toMatchObject({
      changeIds: [first, second],
      undoneChangeIds: [third],
      undoable: true,
    });
    done(await runs.undo(run, { changeIds: [second, first] }));
    expect(runs.content('a.txt')).toBeNull();
    expect(runs.content('b.txt')).toBe('b\n');
    const late = await runs.redo(run, { changeIds: [second] });
    expect(late.data.conflicts).toMatchObject([{ path: 'a.txt', reason: 'ORDER' }]);
    done(await runs.redo(run, { changeIds: [first] }));
    expect(runs.content('a.txt')).toBe('1\n');
    expect(await runs.undo(run, { changeIds: [999_999_999] })).toMatchObject({ code: 404 });
    expect(await runs.undo(run, { changeIds: [third] })).toMatchObject({ code: 409 });
  });

  it('say when there is nothing to do', async () => {
    const run = await runs.of();
    expect(await runs.undo(run)).toMatchObject({ code: 409, data: { errorCode: 'UNDO_CONFLICT' } });
    expect(await runs.redo(run)).toMatchObject({ code: 409 });
    expect(await runs.files(run)).toEqual([]);
  });

  it('count a file that is already as wished as done', async () => {
    const run = await runs.of(write('a.txt', 'a\n'));
    rmSync(runs.at('a.txt'));
    expect(done(await runs.undo(run)).data).toMatchObject({ files: ['a.txt'], conflicts: [] });
    done(await runs.redo(run));
    expect(runs.content('a.txt')).toBe('a\n');
  });
});

describe('a file that a run has made and removed', () => {
  const madeAndRemoved = [write('made/a.txt', 'a\n'), remove('made/a.txt')];

  it('is no change: not among the files, not in the diff, and there is nothing to undo', async () => {
    const run = await runs.of(...madeAndRemoved);

    expect(await runs.files(run)).toEqual([]);
    const diff = await harness.session.get(harness.path(run, '/diff'));
    expect(diff.data).toMatchObject({ text: '', total: 0 });
    const undone = await runs.undo(run);
    expect(undone).toMatchObject({
      code: 409,
      data: { errorCode: 'UNDO_CONFLICT', conflicts: [] },
    });
    expect(undone.msg).toContain('There is nothing to undo');
  });

  it('is in the way of no undo of the others, whatever has its name by now', async () => {
    const run = await runs.of(...madeAndRemoved, write('b.txt', 'b\n'));
    harness.write({ 'made/a.txt': 'mine' });
    expect((await runs.files(run)).map(({ path }) => path)).toEqual(['b.txt']);

    const undone = done(await runs.undo(run)).data;

    expect(undone).toMatchObject({ files: ['b.txt'], conflicts: [] });
    expect(undone.changeIds).toHaveLength(3);
    expect([runs.content('b.txt'), runs.content('made/a.txt')]).toEqual([null, 'mine']);
    expect(done(await runs.redo(run)).data).toMatchObject({ files: ['b.txt'], conflicts: [] });
    expect([runs.content('b.txt'), runs.content('made/a.txt')]).toEqual(['b\n', 'mine']);
  });
});

describe('what is in the way of an undo', () => {
  const obstacles: readonly [string, string, () => void][] = [
    ['a change by somebody else', 'CHANGED_SINCE', () => harness.write({ 'b.txt': 'mine' })],
    ['other permissions', 'CHANGED_SINCE', () => chmodSync(runs.at('b.txt'), 0o755)],
    [
      'a link in its place',
      'LINK',
      () => {
        renameSync(runs.at('b.txt'), runs.at('../elsewhere'));
        symlinkSync('../elsewhere', runs.at('b.txt'));
      },
    ],
    ['a second name', 'HARD_LINK', () => linkSync(runs.at('b.txt'), runs.at('../second'))],
    [
      'a folder in its place',
      'NOT_A_FILE',
      () => {
        rmSync(runs.at('b.txt'));
        mkdirSync(runs.at('b.txt'));
      },
    ],
  ];

  it.each(obstacles)('%s: nothing is changed, or with force the rest', async (_, reason, put) => {
    harness.write({ 'a.txt': 'a', 'b.txt': 'b' });
    const run = await runs.of(
      read('a.txt'),
      read('b.txt'),
      write('a.txt', 'A'),
      write('b.txt', 'B'),
    );
    put();
    const before = statSync(runs.at('b.txt'));

    const refused = await runs.undo(run);

    expect(refused).toMatchObject({ code: 409, data: { errorCode: 'UNDO_CONFLICT' } });
    expect(refused.data.conflicts).toEqual([
      expect.objectContaining({ path: 'b.txt', reason, message: expect.any(String) }),
    ]);
    expect(runs.content('a.txt')).toBe('A');
    expect(await runs.files(run)).toMatchObject([
      { path: 'a.txt', undoable: true, reason: null },
      { path: 'b.txt', undoable: false, reason },
    ]);
    const forced = done(await runs.undo(run, { force: true })).data;
    expect(forced.files).toEqual(['a.txt']);
    expect(forced.conflicts).toMatchObject([{ path: 'b.txt', reason }]);
    expect(runs.content('a.txt')).toBe('a');
    expect(statSync(runs.at('b.txt'))).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs });
    for (const left of ['../elsewhere', '../second']) rmSync(runs.at(left), { force: true });
  });

  it('a file that has become too large to be compared', async () => {
    const run = await runs.of(write('a.txt', 'a\n'));
    truncateSync(runs.at('a.txt'), 65 * 2 ** 20);
    const [conflict] = (await runs.undo(run)).data.conflicts;
    expect(conflict).toMatchObject({
      reason: 'TOO_LARGE',
      message: expect.stringContaining('64 MiB'),
    });
  });

  it('a folder that was replaced by a link', async () => {
    const run = await runs.of(write('folder/a.txt', 'a\n'));
    renameSync(runs.at('folder'), runs.at('../folder'));
    symlinkSync('../folder', runs.at('folder'));
    expect((await runs.undo(run)).data.conflicts).toMatchObject([{ reason: 'LINK' }]);
    const forced = await runs.undo(run, { force: true });
    expect(forced).toMatchObject({ code: 409, data: { errorCode: 'UNDO_CONFLICT' } });
    expect(forced.msg).toContain('Every file of the undo conflicts (1), and nothing was changed.');
    expect(forced.msg).not.toContain('send force');
    expect(runs.content('../folder/a.txt')).toBe('a\n');
    rmSync(runs.at('../folder'), { recursive: true });
  });

  it('a change by somebody else between two changes of the run', async () => {
    harness.write({ 'a.txt': 'one\n' });
    const session = await runs.session();
    const first = await runs.ran(session, [read('a.txt'), edit('a.txt', 'one', 'two')]);
    harness.write({ 'a.txt': 'two\nby hand\n' });
    const second = await runs.ran(session, [read('a.txt'), edit('a.txt', 'two', 'three')]);

    expect(await runs.undo(first)).toMatchObject({ code: 409 });
    done(await runs.undo(second));
    expect(runs.content('a.txt')).toBe('two\nby hand\n');
    expect((await runs.undo(first)).data.conflicts).toMatchObject([{ reason: 'CHANGED_SINCE' }]);
    expect(runs.content('a.txt')).toBe('two\nby hand\n');
  });

  it('content that was lost or damaged', async () => {
    harness.write({ 'a.txt': 'precious' });
    const run = await runs.of(read('a.txt'), write('a.txt', 'new'));
    rmSync(join(harness.plinth.dataDir, 'harness/blobs'), { recursive: true });
    expect((await runs.undo(run)).data.conflicts).toMatchObject([{ reason: 'CONTENT_LOST' }]);
    expect(runs.content('a.txt')).toBe('new');
  });

  it('a run of the session, or of the workspace, that is not finished', async () => {
    const session = await runs.session();
    const run = await runs.ran(session, [write('a.txt', 'a\n')]);
    await runs.whileLive(session, async (live) => {
      for (const one of [run, live]) {
        expect(await runs.undo(one)).toMatchObject({
          code: 409,
          msg: expect.stringContaining('not finished'),
          data: { errorCode: 'UNDO_CONFLICT' },
        });
      }
      expect(await runs.files(run)).toMatchObject([{ undoable: false, reason: 'RUN_ACTIVE' }]);
    });
    await runs.whileLive(await runs.session(), async () => {
      expect(await runs.undo(run)).toMatchObject({
        code: 409,
        msg: expect.stringContaining('Another run uses this workspace'),
      });
    });
    expect(runs.content('a.txt')).toBe('a\n');
    done(await runs.undo(run));
    expect(runs.content('a.txt')).toBeNull();
  });

  it('a workspace that is gone', async () => {
    const run = await runs.of(write('a.txt', 'a\n'));
    renameSync(harness.workspace, `${harness.workspace}-moved`);
    expect(await runs.undo(run)).toMatchObject({
      code: 409,
      data: { errorCode: 'WORKSPACE_GONE' },
    });
    expect(await runs.files(run)).toMatchObject([{ undoable: false, reason: 'WORKSPACE_GONE' }]);
    rmSync(`${harness.workspace}-moved`, { recursive: true });
  });

  it('an operator who has stopped writes', async () => {
    const run = await runs.of(write('a.txt', 'a\n'));
    done(await harness.session.post('/coding/harness/admin/writes', { enabled: false }));
    try {
      expect(await runs.undo(run)).toMatchObject({
        code: 409,
        data: { errorCode: 'HARNESS_WRITES_DISABLED' },
      });
    } finally {
      done(await harness.session.post('/coding/harness/admin/writes', { enabled: true }));
    }
  });
});

describe('two undos at once', () => {
  it('are one undo', async () => {
    const run = await runs.of(write('a.txt', 'a\n'), write('b.txt', 'b\n'));
    const answers = await Promise.all([runs.undo(run), runs.undo(run), runs.undo(run)]);
    expect(answers.map(({ code }) => code).sort()).toEqual([200, 409, 409]);
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual([null, null]);
    const events = await harness.events(run);
    expect(events.filter(({ type }) => type === 'undo.applied')).toHaveLength(1);
  });
});

describe('undo and redo of others', () => {
  it('are not found, and need the permission to write', async () => {
    const { plinth, session: admin } = harness;
    const both = ['coding:harness:use', 'coding:harness:write'];
    const roleId = await makeRole(admin, 'undo-writer', both);
    const writer = await makeUser(plinth, admin, 'undo-writer', [roleId]);
    const run = await runs.ran(
      await runs.session(writer.session),
      [write('a.txt', 'a\n')],
      writer.session,
    );
    for (const below of ['/undo', '/redo']) {
      const path = harness.path(run, below);
      expect(await reader.session.post(path, {})).toMatchObject({ code: 404 });
    }
    const role = { roleId, roleName: 'undo-writer', roleKey: 'undo-writer' };
    done(await admin.put('/system/role', { ...role, permissions: ['coding:harness:use'] }));
    expect(await writer.session.post(harness.path(run, '/undo'), {})).toMatchObject({ code: 403 });
    expect(runs.content('a.txt')).toBe('a\n');
    // A super administrator acts in the tenant.
    done(await runs.undo(run));
  });
});
