import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ChangedRuns, edit, read, shell, write } from '../../support/changed-runs.js';
import type { Call } from '../../support/changed-runs.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, SessionView } from '../../support/harness.js';
import { done } from '../../support/people.js';
import { describeSandboxed } from '../../support/sandbox.js';
import { calling, DONE, planning, sentTo, toolResults } from '../../support/scripted-model.js';

const sandboxed = await describeSandboxed();

let harness: Harness;
let runs: ChangedRuns;

beforeAll(async () => {
  harness = await startHarness();
  runs = new ChangedRuns(harness);
});

afterAll(() => harness.stop());

beforeEach(() => {
  runs.clear();
  harness.simulator.reset();
});

/** The codes of the calls of a run of the session that makes them; null for one that has succeeded. */
async function codesOf(session: SessionView, ...calls: readonly Call[]): Promise<unknown[]> {
  const steps = calls.map(([name, input]) => calling(name, { ...input }));
  harness.script(planning(), ...steps, DONE);
  const run = await harness.createRun(session.sessionId);
  expect((await harness.ended(run)).status).toBe('COMPLETED');
  const results = (await toolResults(harness, run)).slice(1);
  return results.map(({ metadata }) => metadata.code ?? null);
}

const patch = (path: string, text: string): Call => [
  'apply_patch',
  { patch: `*** Begin Patch\n*** Add File: ${path}\n+${text}\n*** End Patch\n` },
];

describe('a file that an earlier run of the session has read', () => {
  it('counts as read as long as it is unchanged', async () => {
    harness.write({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const session = await runs.session();
    await runs.ran(session, [read('a.txt'), read('b.txt')]);
    harness.write({ 'b.txt': 'by hand\n' });

    const codes = await codesOf(session, edit('a.txt', 'one', 'two'), edit('b.txt', 'hand', 'two'));

    expect(codes).toEqual([null, 'CHANGED_MEANWHILE']);
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual(['two\n', 'by hand\n']);
    // What that run has written counts as well.
    expect(await codesOf(session, edit('a.txt', 'two', 'three'))).toEqual([null]);
  });

  it('counts for no other session', async () => {
    harness.write({ 'a.txt': 'one\n' });
    await runs.of(read('a.txt'));
    expect(await codesOf(await runs.session(), edit('a.txt', 'one', 'two'))).toEqual(['NOT_READ']);
  });

  it('is overwritten by an Add File of a patch, and one that was not read is not', async () => {
    harness.write({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const session = await runs.session();
    await runs.ran(session, [read('a.txt')]);

    const codes = await codesOf(session, patch('a.txt', 'two'), patch('b.txt', 'two'));

    expect(codes).toEqual([null, 'PATCH_REFUSED']);
    expect([runs.content('a.txt'), runs.content('b.txt')]).toEqual(['two\n', 'one\n']);
  });
});

sandboxed('a file that a command has shown', () => {
  it('counts as read, in the run and in the next one', async () => {
    harness.write({ 'a.txt': 'one\n', 'b.txt': 'one\n', 'c.txt': 'other\n' });
    const session = await runs.session();
    const show = shell('cat a.txt b.txt; echo c.txt');
    const calls = [show, edit('a.txt', 'one', 'two'), edit('c.txt', 'other', 'two')];
    expect(await codesOf(session, ...calls)).toEqual([null, null, 'NOT_READ']);
    expect(await codesOf(session, edit('b.txt', 'one', 'two'))).toEqual([null]);
  });
});

describe('what was undone', () => {
  /** The whole of what the model is sent first by the next run of the session. */
  async function firstRequest(session: SessionView): Promise<string> {
    harness.simulator.reset();
    expect(await codesOf(session)).toEqual([]);
    const [messages = []] = sentTo(harness.simulator);
    return messages.map(({ content }) => content ?? '').join('\n');
  }

  it('is told the model of the next run, and must be read again', async () => {
    harness.write({ 'a.txt': 'one\n' });
    const session = await runs.session();
    const calls = [read('a.txt'), edit('a.txt', 'one', 'two'), write('new.txt', 'x\n')];
    const run = await runs.ran(session, calls);
    expect(await firstRequest(session)).not.toContain('Harness: ');
    done(await runs.undo(run));

    const told = await firstRequest(session);

    expect(told).toContain(
      'Harness: The user has undone changes of this run: "new.txt", "a.txt" are as they were before it.',
    );
    expect(await codesOf(session, edit('a.txt', 'one', 'two'))).toEqual(['CHANGED_MEANWHILE']);
    const notes = (await harness.messages(run)).filter(({ role }) => role === 'CONTROL');
    expect(notes).toMatchObject([{ runId: run.runId, metadata: { kind: 'UNDO' } }]);
  });

  it('and redone is told as well', async () => {
    const session = await runs.session();
    const run = await runs.ran(session, [write('new.txt', 'x\n')]);
    done(await runs.undo(run));
    done(await runs.redo(run));

    const told = await firstRequest(session);

    expect(told.indexOf('has undone')).toBeGreaterThan(0);
    expect(told.indexOf('has redone')).toBeGreaterThan(told.indexOf('has undone'));
    expect(told).toContain('"new.txt" are as this run left them');
  });
});
