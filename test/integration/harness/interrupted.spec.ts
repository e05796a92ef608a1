import { existsSync, readFileSync, statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BlobStore } from '../../../src/harness/change/blob.store.js';
import type { FileOperation } from '../../../src/effect/index.js';
import { WorkspaceSnapshots } from '../../../src/harness/change/snapshot/workspace.snapshots.js';
import { PartialOutputs } from '../../../src/harness/engine/tool.results.js';
import { OutputCollector } from '../../../src/harness/sandbox/sandbox.run.js';
import { MAX_RECOVERIES } from '../../../src/harness/protocol/run.state.js';
import { Database } from '../../../src/platform/database/index.js';
import { ChangedRuns } from '../../support/changed-runs.js';
import type { ChangedFile } from '../../support/changed-runs.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { CALLS, ParkedRuns } from '../../support/parked-runs.js';
import type { ParkedRun } from '../../support/parked-runs.js';
import { done } from '../../support/people.js';
import { describeSandboxed } from '../../support/sandbox.js';
import { eventually } from '../../support/wait.js';

const describeWithSandbox = await describeSandboxed();

const TENANT = '000000';
const ALONE = { permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' };
const { signal } = new AbortController();

interface Effect {
  readonly toolName: string;
  readonly state: string;
  readonly artifactId: string | null;
  readonly operations: readonly { readonly path: string; readonly op: string }[];
}

let harness: Harness;
let runs: ChangedRuns;
let parked: ParkedRuns;

beforeAll(async () => {
  harness = await startHarness();
  runs = new ChangedRuns(harness);
  parked = new ParkedRuns(harness.plinth);
});

afterAll(() => harness.stop());

beforeEach(() => {
  harness.simulator.reset();
  runs.clear();
});

async function effectsOf(run: ParkedRun | RunView): Promise<Effect[]> {
  return done(await harness.session.get<Effect[]>(harness.path(run, '/effects'))).data;
}

async function filesOf(run: ParkedRun | RunView): Promise<ChangedFile[]> {
  return done(await harness.session.get<ChangedFile[]>(harness.path(run, '/files'))).data;
}

async function resolve(run: ParkedRun, resolution: string): Promise<void> {
  const path = `/effects/${run.toolCallIds[0] ?? ''}/resolution`;
  done(await harness.post(run, path, { resolution }));
}

function keyOf({ toolCallIds: [toolCallId = ''] }: ParkedRun): {
  tenantId: string;
  toolCallId: string;
} {
  return { tenantId: TENANT, toolCallId };
}

/** A run whose process was lost in the middle of a command that has changed a file, made one and said something. */
async function lostInCommand(): Promise<ParkedRun> {
  const { app } = harness.plinth;
  harness.write({ 'a.txt': 'one\n', 'same.txt': 'same\n' });
  const { sessionId } = await harness.createSession(ALONE);
  const target = { tenantId: TENANT, root: harness.workspace };
  const taken = await app.get(WorkspaceSnapshots, { strict: false }).take(target, signal);
  const run = await parked.lost(sessionId, [{ ...CALLS.SHELL, snapshotSha256: taken }]);
  const output = app.get(PartialOutputs, { strict: false }).begin(keyOf(run), (bytes) => bytes);
  const written = new OutputCollector();
  written.add(Buffer.from('2 of 5 tests\n'));
  output.update(written);
  await output.end();
  harness.write({ 'a.txt': 'two\n', 'made/b.txt': 'new\n' });
  return run;
}

describe('a command that a lost process was in the middle of', () => {
  it('is shown with what it has changed and written until then', async () => {
    const run = await lostInCommand();
    harness.write({ '.npmrc': 'made by the command', 'sub/.git/hooks/post-checkout': 'the same' });
    await parked.takeUp(TENANT, run);
    await harness.waitFor(run, 'SUSPENDED');
    const [effect] = await effectsOf(run);
    const files = [
      { path: 'a.txt', op: 'UPDATE' },
      { path: 'made/b.txt', op: 'CREATE' },
      { path: 'sub', op: 'CREATE' },
    ];
    expect(effect).toMatchObject({
      state: 'UNCERTAIN',
      operations: files,
      startedAt: expect.any(Number),
      artifactId: expect.any(String),
    });
    const uncertain = (await harness.events(run)).find(({ type }) => type === 'effect.uncertain');
    expect(uncertain?.data).toMatchObject({
      toolName: 'shell',
      startedAt: expect.any(Number),
      fileCount: 3,
      files,
      artifactId: effect?.artifactId,
    });
    const path = harness.path(run, `/artifacts/${effect?.artifactId ?? ''}`);
    expect((await harness.session.raw('GET', path)).text).toBe('2 of 5 tests\n');
    for (const path of ['.npmrc', 'sub/.git']) {
      expect(existsSync(join(harness.workspace, path))).toBe(false);
    }
    done(await harness.post(run, '/cancel'));
  });

  it('was executed: what it has changed is in the changes of the run, and can be undone', async () => {
    const run = await lostInCommand();
    await parked.takeUp(TENANT, run);
    await harness.waitFor(run, 'SUSPENDED');
    harness.script({ text: 'Done.' });
    await resolve(run, 'EXECUTED');
    await harness.ended(run);
    expect((await filesOf(run)).map(({ path }) => path)).toEqual(['a.txt', 'made/b.txt']);
    done(await harness.post(run, '/undo'));
    expect(runs.all()).toEqual({ 'a.txt': 'one\n', 'same.txt': 'same\n' });
  });

  it('does not keep the run waiting when it is resolved before the run waits', async () => {
    const run = await lostInCommand();
    harness.script({ text: 'Done.' });
    const outputs = harness.plinth.app.get(PartialOutputs, { strict: false });
    // Called between the event of the uncertain call and the wait of the run.
    const removed = jest.spyOn(outputs, 'remove').mockImplementationOnce(async () => {
      await resolve(run, 'EXECUTED');
    });
    try {
      await parked.takeUp(TENANT, run);
      expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED', error: null });
    } finally {
      removed.mockRestore();
    }
    const types = (await harness.events(run)).map(({ type }) => type);
    expect(types.filter((type) => /^effect|^run\.(recover|suspend)/.test(type))).toEqual([
      'run.recovering',
      'effect.uncertain',
      'effect.resolved',
      'run.recovered',
    ]);
    expect((await filesOf(run)).map(({ path }) => path)).toEqual(['a.txt', 'made/b.txt']);
  });

  it('was not executed: nothing is recorded as its change', async () => {
    const run = await lostInCommand();
    await parked.takeUp(TENANT, run);
    await harness.waitFor(run, 'SUSPENDED');
    harness.script({ text: 'Done.' });
    await resolve(run, 'NOT_EXECUTED');
    await harness.ended(run);
    expect(await filesOf(run)).toEqual([]);
  });
});

describe('what a command has planted whose process was lost', () => {
  const PLANTED = { 'sub/.git/config': '[core]', '.npmrc': 'made by the command' };

  async function change(run: ParkedRun, changes: string): Promise<void> {
    await harness.plinth.app
      .get(Database)
      .query(`UPDATE harness_run SET ${changes} WHERE tenant_id = $1 AND id = $2`, [
        TENANT,
        run.runId,
      ]);
  }

  const ENDS: readonly (readonly [string, string, (run: ParkedRun) => Promise<void>])[] = [
    [
      'a cancel that was asked for before',
      'CANCELLED',
      async (run) => {
        await change(run, 'cancel_requested_at = now()');
        await parked.takeUp(TENANT, run);
      },
    ],
    [
      'a cancel after the end of its lease',
      'CANCELLED',
      async (run) => {
        await change(run, "lease_until = now() - interval '1 second'");
        done(await harness.post(run, '/cancel'));
      },
    ],
    [
      'a cancel that is forced',
      'CANCELLED',
      (run) => change(run, "cancel_requested_at = now() - interval '1 minute'"),
    ],
    [
      'one recovery too many',
      'FAILED',
      async (run) => {
        await change(run, `recovery_attempts = ${MAX_RECOVERIES}`);
        await parked.takeUp(TENANT, run);
      },
    ],
    [
      'a cancel while its new owner waits for the end of the old one',
      'CANCELLED',
      async (run) => {
        await harness.plinth.app
          .get(Database)
          .query('UPDATE harness_effect SET boot = $3 WHERE tenant_id = $1 AND run_id = $2', [
            TENANT,
            run.runId,
            'another-host:process',
          ]);
        await parked.takeUp(TENANT, run);
        const isRecovering = async (): Promise<boolean> =>
          (await harness.events(run)).some(({ type }) => type === 'run.recovering');
        await eventually(isRecovering, Boolean);
        done(await harness.post(run, '/cancel'));
      },
    ],
  ];

  it.each(ENDS)('is removed after %s', async (_, status, end) => {
    const run = await lostInCommand();
    harness.write(PLANTED);
    await end(run);
    await harness.waitFor(run, status);
    // The process that had the run cannot be asked: its time must be over.
    await change(run, "lease_until = now() - interval '2 minutes'");
    await eventually(
      () => Object.keys(PLANTED).filter((path) => existsSync(join(harness.workspace, path))),
      (left) => left.length === 0,
    );
    expect(await effectsOf(run)).toMatchObject([{ state: 'UNCERTAIN' }]);
    expect(readFileSync(join(harness.workspace, 'a.txt'), 'utf8')).toBe('two\n');
    await eventually(
      () => holders(run),
      (count) => count === 0,
    );
    const outputs = harness.plinth.app.get(PartialOutputs, { strict: false });
    expect(await outputs.read(keyOf(run))).toBeUndefined();
  });

  async function holders({ runId }: ParkedRun): Promise<number> {
    const rows = await harness.plinth.app
      .get(Database)
      .query('SELECT run_id FROM harness_workspace_lock WHERE tenant_id = $1 AND run_id = $2', [
        TENANT,
        runId,
      ]);
    return rows.length;
  }
});

describe('a change of files that was cut off', () => {
  it('and cancelled can be undone as far as it has come', async () => {
    harness.write({ 'a.txt': 'two\n', 'b.txt': 'one\n' });
    const { sessionId } = await harness.createSession(ALONE);
    const operations = [await changeOf('a.txt'), await changeOf('b.txt')];
    const call = { ...CALLS.EDIT, toolName: 'apply_patch', operations };
    const run = await parked.uncertain(sessionId, [call]);
    done(await harness.post(run, '/cancel'));
    expect(await effectsOf(run)).toMatchObject([{ state: 'UNCERTAIN' }]);
    expect(await filesOf(run)).toEqual([]);
    await resolve(run, 'EXECUTED');
    expect(await filesOf(run)).toMatchObject([{ path: 'a.txt', undoable: true }]);
    done(await harness.post(run, '/undo'));
    expect(runs.all()).toEqual({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
  });
});

/** Of a file from `one` to `two`. */
async function changeOf(path: string): Promise<FileOperation> {
  const blobs = harness.plinth.app.get(BlobStore, { strict: false });
  const [before = '', after = ''] = await Promise.all(
    ['one\n', 'two\n'].map((text) => blobs.put(TENANT, Buffer.from(text))),
  );
  const state = { size: 4, mode: 0o644 };
  return {
    ...{ path, op: 'UPDATE', restorable: true },
    before: { ...state, sha256: before },
    after: { ...state, sha256: after },
  };
}

describeWithSandbox('a command that is asked for', () => {
  it('says what of the workspace could not be put back', async () => {
    harness.write({ 'large.bin': Buffer.alloc(3 * 2 ** 20) });
    const { sessionId } = await harness.createSession({ approvalPolicy: 'ON_REQUEST' });
    const summary = { summary: 'Run it', steps: [{ text: 'Run it' }], files: [] };
    harness.script(
      { toolCalls: [{ name: 'plan_create', arguments: summary }] },
      { toolCalls: [{ name: 'shell', arguments: { command: 'true' } }] },
    );
    const run = await harness.createRun(sessionId);
    await harness.waitFor(run, 'WAITING_FOR_INPUT');
    const { data: plan } = await harness.session.get<Record<string, unknown>>(
      harness.path(run, '/plan'),
    );
    const { taskId, expectedRevision, canonicalHash: expectedHash } = plan;
    const decision = { taskId, expectedRevision, expectedHash, idempotencyKey: freshKey() };
    done(await harness.post(run, '/plan/approve', decision));
    await harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    const { data } = await harness.session.get(harness.path(run, '/approvals'));
    const notes = [expect.stringMatching(/^Changes of 1 file could not be undone/)];
    expect(data).toMatchObject([{ toolName: 'shell', notes }]);
    done(await harness.post(run, '/cancel'));
  });
});

/** 0 while the file is not there. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

describeWithSandbox('a command that is cancelled', () => {
  const planned = { summary: 'Run it', steps: [{ text: 'Run it' }], files: [] };

  async function running(command: string): Promise<RunView> {
    const { sessionId } = await harness.createSession(ALONE);
    harness.script(
      { toolCalls: [{ name: 'plan_create', arguments: planned }] },
      { toolCalls: [{ name: 'shell', arguments: { command } }] },
    );
    const run = await harness.createRun(sessionId);
    await eventually(() => sizeOf(runs.at('begun')), Boolean);
    return run;
  }

  it('keeps its outcome, with what it has changed', async () => {
    const run = await running('echo x > begun; sleep 60');
    done(await harness.post(run, '/cancel'));
    expect(await harness.ended(run)).toMatchObject({ status: 'CANCELLED' });
    const effect = (await effectsOf(run)).find(({ toolName }) => toolName === 'shell');
    expect(effect).toMatchObject({ state: 'CANCELLED', operations: [{ path: 'begun' }] });
  });

  it('is uncertain when nobody can look at what it has changed', async () => {
    const run = await running('echo content that cannot be kept > begun; sleep 60');
    const folder = join(harness.plinth.dataDir, 'harness', 'blobs', TENANT);
    await rename(folder, `${folder}-away`);
    await writeFile(folder, '');
    try {
      done(await harness.post(run, '/cancel'));
      expect(await harness.ended(run)).toMatchObject({ status: 'CANCELLED' });
    } finally {
      await rm(folder);
      await rename(`${folder}-away`, folder);
    }
    const effect = (await effectsOf(run)).find(({ toolName }) => toolName === 'shell');
    expect(effect).toMatchObject({ state: 'UNCERTAIN', code: 'UNCERTAIN' });
    expect(readFileSync(runs.at('begun'), 'utf8')).toContain('content');
  });
});
