import { existsSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BuiltHarness } from '../support/built-harness.js';
import type { CrashRun } from '../support/built-harness.js';
import { isBuilt, killAll, START_MS } from '../support/built-process.js';
import {
  CrashChecks,
  EDIT,
  PATCH,
  PLAN,
  READ,
  READ_BOTH,
  shell,
  WRITE,
} from '../support/crash-checks.js';
import { describeSandboxed } from '../support/sandbox.js';
import { DONE, FREE, planDecision } from '../support/scripted-model.js';
import { eventually } from '../support/wait.js';

const ASKED = { permissionMode: 'WORKSPACE_WRITE', approvalPolicy: 'ON_REQUEST' };

const describeWithSandbox = await describeSandboxed();

/** A run can be held at a point only where the test has a connection of its own. */
const isPossible = isBuilt && process.env['DATABASE_URL'] !== undefined;

let harness: BuiltHarness;
let checks: CrashChecks;

(isPossible ? describe : describe.skip)('a process that is killed at a point', () => {
  beforeAll(async () => {
    harness = await BuiltHarness.start();
    checks = new CrashChecks(harness);
  }, 2 * START_MS);

  afterAll(async () => {
    killAll();
    await harness.stop();
  });

  it(
    'of a change finds out what has happened to the files',
    async () => {
      const once = [PLAN, READ, EDIT, DONE];
      const twice = [PLAN, READ, EDIT, EDIT, DONE];
      const started = { type: 'tool.started', detail: 'edit_file' };
      const done = { type: 'tool.completed', detail: 'edit_file' };
      const prepared = await harness.begin('prepared', FREE, twice, started);
      const executed = await harness.begin('executed', FREE, once, done);
      const undone = await harness.begin('undone', FREE, twice, done);
      const other = await harness.begin('other', FREE, once, done);
      const patches = [PLAN, READ_BOTH, PATCH, PATCH, DONE];
      const patched = { type: 'tool.completed', detail: 'apply_patch' };
      const mixed = await harness.begin('mixed', FREE, patches, patched);
      const between = await harness.begin('between', FREE, once, {
        type: 'model.turn.started',
        detail: '4',
      });
      const reading = await harness.begin('reading', FREE, once, {
        type: 'tool.completed',
        detail: 'read_file',
      });
      await harness.waiting(7);
      expect(harness.content(prepared, 'a.txt')).toBe('one\n');
      for (const run of [executed, undone, other, mixed, between]) {
        expect(harness.content(run, 'a.txt')).toBe('two\n');
      }
      await harness.kill();
      // As if it had been killed before it acted, or in the middle; and somebody else was there.
      harness.write(undone, { 'a.txt': 'one\n' });
      harness.write(mixed, { 'b.txt': 'one\n' });
      harness.write(other, { 'a.txt': 'mine\n' });
      await harness.open();
      await harness.boot();

      for (const run of [prepared, executed, undone, mixed, between]) {
        await checks.completed(run);
        expect(harness.content(run, 'a.txt')).toBe('two\n');
        const changed = (await checks.types(run)).filter((type) => type === 'file.changed');
        expect(changed).toHaveLength(run === mixed ? 2 : 1);
        const codes = (await checks.results(run)).map(({ metadata }) => metadata.code);
        const notExecuted = codes.filter((code) => code === 'NOT_EXECUTED').length;
        expect(notExecuted).toBe([prepared, undone, mixed].includes(run) ? 1 : 0);
      }
      expect(harness.content(mixed, 'b.txt')).toBe('two\n');
      const path = harness.path(executed, '/effects');
      const effects = await harness.session.get<{ reconciled: boolean }[]>(path);
      expect(effects.data.filter(({ reconciled }) => reconciled)).toHaveLength(1);

      // What only reads is done again.
      await checks.completed(reading);
      const [, read] = await checks.results(reading);
      expect(read).toMatchObject({ content: expect.stringContaining('one'), toolError: false });
      expect(read?.metadata.code).toBeUndefined();

      await checks.resolve(other, 'NOT_EXECUTED');
      await checks.completed(other);
      expect(harness.content(other, 'a.txt')).toBe('mine\n');
      checks.quiet();
    },
    6 * START_MS,
  );

  describeWithSandbox('while there are commands', () => {
    it(
      'keeps commands, decisions and cancels whole, also when it is killed in its recovery',
      async () => {
        const ended = { type: 'tool.completed', detail: 'shell' };
        const finished = await harness.begin('finished', FREE, [PLAN, shell(), DONE], ended);
        const review = { type: 'plan.approved' };
        const deciding = await harness.begin('deciding', ASKED, [PLAN, READ, EDIT, DONE], review);
        const asleep = [PLAN, shell('sleep 600')];
        const cancelling = await harness.begin('cancelling', FREE, asleep, {
          type: 'run.cancelled',
        });
        const stalls = { chunks: 9, stall: 3 };
        const again = await harness.begin('again', FREE, [PLAN, READ, EDIT, stalls, DONE], {
          type: 'run.recovered',
        });
        const decision = planDecision(await harness.waitFor(deciding, 'WAITING_FOR_INPUT'));
        await checks.untilBegun(cancelling);
        await checks.untilAsked(again, 4);
        const approval = lostOrNot(harness.post(deciding, '/plan/approve', decision));
        expect((await harness.post(cancelling, '/cancel')).code).toBe(200);
        await harness.waiting(3);
        await harness.kill();
        expect(await approval).toBe('lost');
        await harness.boot();
        // The next process comes as far as to say that it has recovered one, and cancelled the other.
        await harness.waiting(2);
        await harness.kill();
        await harness.open();
        await harness.boot();

        await checks.resolve(finished, 'EXECUTED');
        await checks.completed(finished);
        expect(checks.begun(finished)).toBe(1);

        expect(await harness.run(deciding)).toMatchObject({ status: 'WAITING_FOR_INPUT' });
        await checks.approvePlan(deciding);
        await checks.completed(deciding);
        const types = await checks.types(deciding);
        expect(types.filter((type) => type === 'plan.approved')).toHaveLength(1);

        const cancelled = await harness.waitFor(cancelling, 'CANCELLED');
        expect(cancelled).toMatchObject({ stopReason: 'USER_CANCEL' });
        await checks.sound(cancelling);

        await checks.completed(again);
        const attempts = (await harness.events(again)).filter(
          ({ type }) => type === 'run.recovering',
        );
        expect(attempts.map(({ data }) => data['attempt'])).toEqual([1, 2]);
        const recovered = (await checks.types(again)).filter((type) => type === 'run.recovered');
        expect(recovered).toHaveLength(1);
        checks.quiet();
      },
      8 * START_MS,
    );
  });

  describeWithSandbox('while a command makes what it must not', () => {
    it(
      'leaves nothing of it behind, and no name of its own at any time',
      async () => {
        const plant =
          'mkdir -p sub/deep/.git/hooks sub/.vscode .husky; touch sub/.npmrc sub/.vscode/tasks.json .husky/pre-commit; echo x > kept.txt';
        const names = ['before', 'during', 'after', 'recovering'];
        const seen = new Map<string, Set<string>>(names.map((name) => [name, new Set<string>()]));
        const watchers = names.map((name) =>
          watch(harness.workspace(name), (_, path) => seen.get(name)?.add(path ?? '')),
        );
        try {
          const started = { type: 'tool.started', detail: 'shell' };
          const ended = { type: 'tool.completed', detail: 'shell' };
          const command = shell(plant);
          const sleeping = shell(`${plant}; touch ready; sleep 600`);
          const before = await harness.begin(
            'before',
            FREE,
            [PLAN, command, command, command, DONE],
            started,
          );
          const after = await harness.begin('after', FREE, [PLAN, command, DONE], ended);
          const during = await harness.begin('during', FREE, [PLAN, sleeping, DONE]);
          const recovering = await harness.begin('recovering', FREE, [PLAN, sleeping, DONE], {
            type: 'run.suspended',
          });
          await harness.waiting(2);
          for (const { workspace } of [during, recovering]) {
            await eventually(() => existsSync(join(workspace, 'ready')), Boolean, START_MS);
          }
          expect(plantedIn(before)).toEqual([]);
          await harness.kill();
          expect(plantedIn(during)).not.toEqual([]);
          await harness.boot();
          // The next process is killed as well, at the end of a recovery and before another command.
          await harness.waiting(2);
          await harness.kill();
          await harness.open();
          await harness.boot();

          for (const run of [after, during, recovering]) await checks.resolve(run, 'EXECUTED');
          for (const run of [before, after, during, recovering]) {
            await checks.completed(run);
            expect(plantedIn(run)).toEqual([]);
            expect(harness.content(run, 'kept.txt')).toBe('x\n');
          }
          checks.quiet();
        } finally {
          for (const watcher of watchers) watcher.close();
        }
        const own = ['.husky', 'a.txt', 'b.txt', 'begun.txt', 'kept.txt', 'ready', 'sub'];
        for (const paths of seen.values()) {
          expect(paths).toContain('kept.txt');
          expect([...paths].filter((path) => !own.includes(path))).toEqual([]);
        }
      },
      8 * START_MS,
    );
  });

  it(
    'of an undo ends with the files as before the run, once',
    async () => {
      const steps = [PLAN, READ, EDIT, WRITE, DONE];
      const run = await harness.begin('undoing', FREE, steps, { type: 'undo.applied' });
      await harness.waitFor(run, 'COMPLETED');
      const undo = lostOrNot(harness.post(run, '/undo'));
      await harness.waiting(1);
      await harness.kill();
      expect(await undo).toBe('lost');
      await harness.open();
      await harness.boot();

      await eventually(
        () => checks.types(run),
        (types) => types.includes('undo.applied'),
        START_MS,
      );
      expect(filesOf(run)).toEqual(['one\n', undefined]);
      expect((await harness.post(run, '/undo')).code).toBe(409);
      expect((await harness.post(run, '/redo')).code).toBe(200);
      expect(filesOf(run)).toEqual(['two\n', 'new\n']);
      const types = await checks.types(run);
      expect(types.filter((type) => type === 'undo.applied')).toHaveLength(1);
      checks.quiet();
    },
    6 * START_MS,
  );
});

function plantedIn({ workspace }: CrashRun): string[] {
  const names = ['.git', '.vscode', '.npmrc', '.husky'];
  const paths = readdirSync(workspace, { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => path.split('/').some((name) => names.includes(name)));
}

function filesOf(run: CrashRun): (string | undefined)[] {
  return ['a.txt', 'c.txt'].map((path) => harness.content(run, path));
}

/** What became of a request whose server was killed. */
function lostOrNot(answer: Promise<unknown>): Promise<'answered' | 'lost'> {
  return answer.then(
    () => 'answered',
    () => 'lost',
  );
}
