import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { processId } from '../../../src/platform/lease/index.js';
import type { FileOperation } from '../../../src/effect/index.js';
import { UndoRepository } from '../../../src/harness/store/file-change.repository.js';
import { UndoService } from '../../../src/harness/engine/undo/undo.service.js';
import { RunLedger } from '../../../src/harness/store/run.ledger.js';
import { WorkspaceLockRepository } from '../../../src/harness/store/workspace-lock.repository.js';
import { newId, sha256 } from '../../../src/harness/protocol/values.js';
import { ChangedRuns, read, shell, write } from '../../support/changed-runs.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { done } from '../../support/people.js';
import { describeSandboxed } from '../../support/sandbox.js';

const TENANT = '000000';

const describeWithSandbox = await describeSandboxed();

let harness: Harness;
let runs: ChangedRuns;

beforeAll(async () => {
  harness = await startHarness();
  runs = new ChangedRuns(harness);
  // Its own rounds would take up what the tests prepare for one.
  await service(UndoService).beforeApplicationShutdown();
});

afterAll(() => harness.stop());

beforeEach(() => runs.clear());

function service<T>(type: abstract new (...args: never[]) => T): T {
  return harness.plinth.app.get<T>(type, { strict: false });
}

/** A process of this host that has ended. */
function endedProcess(): string {
  const [host = '', number = ''] = processId.split(':');
  return `${host}:${number}:0`;
}

/** Writes an undo down as a process does before it acts, and lets that process be gone. */
async function interrupted(run: RunView, boot = endedProcess()): Promise<string> {
  const toolCallId = newId();
  const files = await runs.files(run);
  const operation = (path: string, before: string, after: string): FileOperation => ({
    ...{ path, op: 'UPDATE', restorable: true },
    before: { sha256: sha256(before), size: before.length, mode: 0o644 },
    after: { sha256: sha256(after), size: after.length, mode: 0o644 },
  });
  const input = {
    changeIds: files.flatMap(({ changeIds }) => changeIds),
    files: files.map(({ path }) => path),
    conflicts: [],
  };
  await service(RunLedger).updateRun(TENANT, run.runId, async (writer) => {
    const { id: runId, tenantId, fence } = writer.run;
    const workspace = harness.workspace;
    await service(WorkspaceLockRepository).take({ tenantId, workspace, runId, fence });
    await service(UndoRepository).start(writer.run, {
      ...{ toolCallId, direction: 'undo', input, boot },
      operations: [operation('a.txt', 'A', 'a'), operation('b.txt', 'B', 'b')],
    });
  });
  return toolCallId;
}

async function isLocked(): Promise<boolean> {
  const rows = await service(Database).query(
    'SELECT run_id FROM harness_workspace_lock WHERE tenant_id = $1',
    [TENANT],
  );
  return rows.length > 0;
}

async function eventsAfterTheEnd(run: RunView): Promise<string[]> {
  const types = (await harness.events(run)).map(({ type }) => type);
  return types.slice(types.indexOf('run.completed') + 1);
}

async function stateOf(run: RunView, toolCallId: string): Promise<unknown> {
  const effects = await runs.effects(run);
  return effects.find((effect) => effect['toolCallId'] === toolCallId)?.['state'];
}

describe('an undo whose process has died', () => {
  let run: RunView;

  beforeEach(async () => {
    harness.write({ 'a.txt': 'a', 'b.txt': 'b' });
    run = await runs.of(read('a.txt'), read('b.txt'), write('a.txt', 'A'), write('b.txt', 'B'));
  });

  const put = (a: string, b: string): void => {
    writeFileSync(runs.at('a.txt'), a);
    writeFileSync(runs.at('b.txt'), b);
  };

  it('before it did anything, has not happened', async () => {
    const id = await interrupted(run);
    expect(await runs.undo(run)).toMatchObject({
      code: 409,
      msg: expect.stringContaining('in progress'),
    });
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('NOT_EXECUTED');
    expect(await eventsAfterTheEnd(run)).toEqual([]);
    expect(await isLocked()).toBe(false);
    done(await runs.undo(run));
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual(['a', 'b']);
  });

  it('after it had done everything, has happened', async () => {
    const id = await interrupted(run);
    put('a', 'b');
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('SUCCEEDED');
    expect(await eventsAfterTheEnd(run)).toEqual(['undo.applied']);
    expect(await isLocked()).toBe(false);
    expect(await runs.files(run)).toMatchObject([{ reason: 'UNDONE' }, { reason: 'UNDONE' }]);
    // Once is enough.
    await service(UndoService).sweep();
    expect(await eventsAfterTheEnd(run)).toEqual(['undo.applied']);
    done(await runs.redo(run));
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual(['A', 'B']);
  });

  it('in the middle, is taken back', async () => {
    const id = await interrupted(run);
    put('A', 'b');
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('NOT_EXECUTED');
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual(['A', 'B']);
    expect(await isLocked()).toBe(false);
  });

  it('while somebody else has changed a file, is uncertain until a person says', async () => {
    const id = await interrupted(run);
    put('by hand', 'b');
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('UNCERTAIN');
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual(['by hand', 'b']);
    expect(await eventsAfterTheEnd(run)).toEqual(['effect.uncertain']);
    expect(await isLocked()).toBe(false);
    const resolution = { resolution: 'EXECUTED', note: 'It was done.' };
    done(await harness.post(run, `/effects/${id}/resolution`, resolution));
    expect(await stateOf(run, id)).toBe('SUCCEEDED');
    expect(await runs.files(run)).toMatchObject([{ reason: 'UNDONE' }, { reason: 'UNDONE' }]);
    expect(await eventsAfterTheEnd(run)).toEqual([
      'effect.uncertain',
      'effect.resolved',
      'undo.applied',
    ]);
  });

  it('in a workspace that is gone, is uncertain', async () => {
    const id = await interrupted(run);
    renameSync(harness.workspace, `${harness.workspace}-moved`);
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('UNCERTAIN');
    rmSync(`${harness.workspace}-moved`, { recursive: true });
  });

  it('is left alone as long as its process lives', async () => {
    const id = await interrupted(run, processId);
    const end = Promise.withResolvers<undefined>();
    const executing = service(UndoService).during(id, () => end.promise);
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('STARTED');
    const elsewhere = await interrupted(run, `another-host:${randomUUID()}`);
    await service(UndoService).sweep();
    expect(await stateOf(run, elsewhere)).toBe('STARTED');
    end.resolve(undefined);
    await executing;
    await service(Database).query(
      `UPDATE harness_effect SET started_at = now() - interval '1 hour'
        WHERE tenant_id = $1 AND tool_call_id = $2`,
      [TENANT, elsewhere],
    );
    await service(UndoService).sweep();
    expect(await stateOf(run, id)).toBe('NOT_EXECUTED');
    expect(await stateOf(run, elsewhere)).toBe('NOT_EXECUTED');
  });
});

describeWithSandbox('what a command has changed', () => {
  it('is undone and redone like an edit', async () => {
    harness.write({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'run.sh': 'run\n', 'kept/x.txt': 'x\n' });
    const run = await runs.of(
      shell(
        'echo more >> a.txt; rm b.txt; chmod 755 run.sh; mkdir -p made/deep; echo c > made/deep/c',
      ),
    );
    const after = (): unknown[] =>
      ['a.txt', 'b.txt', 'made/deep/c'].map((path) => runs.content(path));
    expect(after()).toEqual(['a\nmore\n', null, 'c\n']);

    const undone = done(await runs.undo(run)).data;

    expect([...undone.files].sort()).toEqual(['a.txt', 'b.txt', 'made/deep/c', 'run.sh']);
    expect(after()).toEqual(['a\n', 'b\n', null]);
    expect(existsSync(runs.at('made'))).toBe(false);
    expect(existsSync(runs.at('kept'))).toBe(true);
    done(await runs.redo(run));
    expect(after()).toEqual(['a\nmore\n', null, 'c\n']);
  });

  it.each([
    ['a folder by a file', 'rm -r lib; echo file > lib'],
    ['a file by a folder', 'rm one; mkdir -p one/x; echo b > one/x/b; echo a > one/a'],
  ])('is undone and redone where it has replaced %s', async (_, command) => {
    harness.write({ 'lib/a.js': 'a\n', 'lib/x/b.js': 'b\n', one: 'one\n' });
    const run = await runs.of(shell(command));
    const after = runs.all();

    expect(await runs.files(run)).not.toContainEqual(expect.objectContaining({ undoable: false }));
    expect(done(await runs.undo(run)).data.conflicts).toEqual([]);
    expect(runs.all()).toEqual({ 'lib/a.js': 'a\n', 'lib/x/b.js': 'b\n', one: 'one\n' });
    expect(done(await runs.redo(run)).data.conflicts).toEqual([]);
    expect(runs.all()).toEqual(after);
  });

  // S6
  it('may be a link, over which no tool writes', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'plinth-outside-'));
    const calls = [shell(`ln -s ${outside} link`), write('link/evil.txt', 'evil')];
    await expect(runs.of(...calls)).rejects.toThrow('leads over a symbolic link');
    expect(readlinkSync(runs.at('link'))).toBe(outside);
    expect(readdirSync(outside)).toEqual([]);
    rmSync(outside, { recursive: true });
  });
});
