import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BuiltHarness } from '../support/built-harness.js';
import { isBuilt, killAll, START_MS } from '../support/built-process.js';
import { CrashChecks, EDIT, PLAN, READ, shell, WRITE } from '../support/crash-checks.js';
import { describeSandboxed } from '../support/sandbox.js';
import { createProvider } from '../support/models.js';
import { approvalDecision, DONE, FREE } from '../support/scripted-model.js';
import { readFiles, startStrictUpstreams, STRICT_SERVICES } from '../support/strict-upstreams.js';
import { eventually } from '../support/wait.js';

const ASKED = { permissionMode: 'WORKSPACE_WRITE', approvalPolicy: 'ON_REQUEST' };
const SLEEP = shell('sleep 600');
const STREAM = { text: 'I am thinking about it for quite some time now.', stall: 6 };

const describeWithSandbox = await describeSandboxed();

/** Recovery reads rows, and does so alike on each store: embedded, one test for each way in which a process ends is enough. */
const itOnServer = process.env['DATABASE_URL'] === undefined ? it.skip : it;

let harness: BuiltHarness;
let checks: CrashChecks;

(isBuilt ? describe : describe.skip)('a process that ends', () => {
  beforeAll(async () => {
    harness = await BuiltHarness.start();
    checks = new CrashChecks(harness);
  }, 2 * START_MS);

  afterAll(async () => {
    killAll();
    await harness.stop();
  });

  it(
    'asks the model again, whether or not it had begun to answer',
    async () => {
      const silent = { ...READ, firstMs: 600_000 };
      const approved = await harness.begin('approved', ASKED, [PLAN, silent, READ, EDIT, DONE]);
      const streaming = await harness.begin('streaming', FREE, [PLAN, STREAM, READ, EDIT, DONE]);
      await checks.approvePlan(approved);
      await checks.untilAsked(approved, 2);
      await harness.event(streaming, 'assistant.text.delta');
      await harness.restart();

      for (const run of [approved, streaming]) {
        await checks.completed(run);
        const events = await harness.events(run);
        const recovering = events.find(({ type }) => type === 'run.recovering');
        expect(recovering?.data).toMatchObject({ attempt: 1 });
        const abandoned = events.filter(({ type }) => type === 'model.turn.abandoned');
        expect(abandoned).toMatchObject([{ data: { code: 'MODEL_INTERRUPTED' } }]);
        expect(harness.content(run, 'a.txt')).toBe('two\n');
      }
      checks.quiet();
    },
    6 * START_MS,
  );

  itOnServer(
    'goes on with what a thinking model sent with the calls before',
    async () => {
      const upstreams = await startStrictUpstreams(readFiles('a.txt', 'b.txt'));
      try {
        const { providerCode, path } = STRICT_SERVICES['deepseek-messages'];
        await createProvider(harness.session, providerCode);
        upstreams.holdAfter(2);
        const service = { providerCode, apiHost: upstreams.url + path };
        const run = await harness.beginAt('thinking', service, FREE);
        await eventually(
          () => upstreams.held,
          (held) => held > 0,
          START_MS,
        );
        await harness.kill();
        upstreams.reset();
        await harness.boot();

        await checks.completed(run);
        const results = await checks.results(run);
        expect(results.map(({ toolError }) => toolError)).toEqual([false, false]);
        // The service refuses a turn without the signed thinking of both calls.
        expect(upstreams.refusals).toEqual([]);
        expect(upstreams.calls).toHaveLength(1);
        const thoughts = (await harness.messages(run)).flatMap(({ thinking }) => thinking ?? []);
        expect(thoughts).toHaveLength(3);
        checks.quiet();
      } finally {
        await upstreams.stop();
      }
    },
    6 * START_MS,
  );

  describeWithSandbox('while there are commands', () => {
    itOnServer(
      'leaves runs that wait as they are',
      async () => {
        const reviewing = await harness.begin('reviewing', ASKED, [PLAN, READ, EDIT, DONE]);
        const asking = await harness.begin('asking', ASKED, [PLAN, shell(), DONE]);
        await checks.approvePlan(asking);
        const before = approvalDecision(await harness.waitFor(asking, 'WAITING_FOR_APPROVAL'));
        await harness.waitFor(reviewing, 'WAITING_FOR_INPUT');
        await harness.restart();

        const parked = { status: 'WAITING_FOR_INPUT', recovering: false };
        expect(await harness.run(reviewing)).toMatchObject(parked);
        await checks.approvePlan(reviewing);
        await checks.completed(reviewing);
        expect(harness.content(reviewing, 'a.txt')).toBe('two\n');

        expect(approvalDecision(await harness.run(asking))).toEqual(before);
        expect(checks.begun(asking)).toBe(0);
        await checks.approveCall(asking);
        await checks.completed(asking);
        expect(checks.begun(asking)).toBe(1);
        for (const run of [reviewing, asking]) {
          expect(await checks.types(run)).not.toContain('run.recovering');
        }
        checks.quiet();
      },
      6 * START_MS,
    );

    it(
      'never repeats a command, and knows what had not begun',
      async () => {
        const running = await harness.begin('running', FREE, [PLAN, SLEEP, DONE]);
        const both = { toolCalls: [...(SLEEP.toolCalls ?? []), ...(WRITE.toolCalls ?? [])] };
        const behind = await harness.begin('behind', FREE, [PLAN, both, WRITE, DONE]);
        const stopped = await harness.begin('stopped', FREE, [PLAN, SLEEP]);
        for (const run of [running, behind, stopped]) await checks.untilBegun(run);
        await harness.restart();

        await checks.resolve(running, 'EXECUTED');
        await checks.completed(running);
        expect((await checks.results(running))[1]?.content).toContain('I have looked.');

        await harness.waitFor(behind, 'SUSPENDED');
        expect(harness.content(behind, 'c.txt')).toBeUndefined();
        await checks.resolve(behind, 'NOT_EXECUTED');
        await checks.completed(behind);
        const [, , notRun] = await checks.results(behind);
        expect(notRun).toMatchObject({ toolError: true, metadata: { code: 'NOT_EXECUTED' } });
        expect(harness.content(behind, 'c.txt')).toBe('new\n');

        // Cancelling needs no process that knows better.
        await harness.waitFor(stopped, 'SUSPENDED');
        expect((await harness.post(stopped, '/cancel')).code).toBe(200);
        expect(await harness.waitFor(stopped, 'CANCELLED')).toMatchObject({
          stopReason: 'USER_CANCEL',
        });
        await checks.sound(stopped);
        checks.quiet();
      },
      6 * START_MS,
    );

    it(
      'gives back in order what it carries on when it is asked to end',
      async () => {
        const asking = await harness.begin('parked', ASKED, [PLAN, shell(), DONE]);
        await checks.approvePlan(asking);
        const before = approvalDecision(await harness.waitFor(asking, 'WAITING_FOR_APPROVAL'));
        const steps = [PLAN, STREAM, READ, EDIT, DONE];
        const streaming = await harness.begin('given-back', FREE, steps);
        await harness.event(streaming, 'assistant.text.delta');
        const running = await harness.begin('ended', FREE, [PLAN, SLEEP, DONE]);
        await checks.untilBegun(running);
        await harness.terminate();
        checks.quiet();
        await harness.boot();

        await checks.completed(streaming);
        const queued = (await harness.events(streaming)).filter(
          ({ type }) => type === 'run.queued',
        );
        expect(queued.map(({ data }) => data['reason'])).toContain('server_restart');
        expect(await checks.types(streaming)).not.toContain('run.recovering');
        expect(harness.content(streaming, 'a.txt')).toBe('two\n');

        expect(approvalDecision(await harness.run(asking))).toEqual(before);
        expect(checks.begun(asking)).toBe(0);
        // What a command has done that was ended nobody knows.
        await harness.waitFor(running, 'SUSPENDED');
        for (const run of [asking, streaming, running]) {
          const types = await checks.types(run);
          for (const type of ['approval.resolved', 'approval.expired', 'run.cancelled']) {
            expect(types).not.toContain(type);
          }
        }
        await checks.approveCall(asking);
        await checks.completed(asking);
        await checks.resolve(running, 'EXECUTED');
        await checks.completed(running);
        expect([checks.begun(asking), checks.begun(running)]).toEqual([1, 1]);
        for (const run of [asking, streaming, running]) await checks.sound(run);
        checks.quiet();
      },
      6 * START_MS,
    );
  });
});
