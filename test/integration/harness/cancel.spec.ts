import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { PartialOutputs } from '../../../src/harness/engine/tool.results.js';
import { OutputCollector } from '../../../src/harness/sandbox/sandbox.run.js';
import { RunEnding } from '../../../src/harness/engine/run.ending.js';
import { EffectRepository } from '../../../src/effect/index.js';
import { ModelCallRepository } from '../../../src/harness/store/message.repository.js';
import { newId, sha256 } from '../../../src/harness/protocol/values.js';
import { CancelRequestedError } from '../../../src/harness/protocol/run.state.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { ownRun } from '../../support/harness-run.js';
import type { OwnRun } from '../../support/harness-run.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { eventually } from '../../support/wait.js';

let harness: Harness;

const call = (name: string, args: object): object => ({
  toolCalls: [{ name, arguments: args }],
});
const PLAN = call('plan_create', {
  ...{ summary: 'Repair add', steps: [{ text: 'Add' }], files: ['src/add.js'], risks: [] },
});

beforeAll(async () => {
  harness = await startHarness({
    environment: { HARNESS_ASK_USER: 'true' },
    files: { 'src/add.js': 'export {};\n', '.env': 'A=1\n' },
  });
});

afterAll(() => harness.stop());

/** Asks for the cancel as another process does whose word does not get through. */
async function cancelUnheard({ runId }: RunView): Promise<void> {
  await harness.plinth.app
    .get(Database)
    .query(
      'UPDATE harness_run SET cancel_requested_at = now(), cancel_requested_by = 1 WHERE id = $1',
      [runId],
    );
}

async function typesOf(run: Pick<OwnRun, 'sessionId' | 'runId'>): Promise<string[]> {
  return (await harness.events(run)).map(({ type }) => type);
}

/** Stores that the run has begun a command; answers its id. */
async function beginCommand({ ledger, lease }: OwnRun): Promise<string> {
  const effects = harness.plinth.app.get(EffectRepository, { strict: false });
  const toolCallId = newId();
  await ledger.asOwner(lease, async (writer) => {
    await effects.prepare(writer.run, [
      {
        ...{ toolCallId, iteration: 1, ordinal: 0, providerCallId: 'call-1', toolName: 'shell' },
        ...{ effectClass: 'SHELL', argumentsJson: '{}', argumentsSha256: sha256('{}') },
        input: {},
      },
    ]);
    await effects.start(writer.run, toolCallId, { fence: 1, boot: 'test', operations: [] });
  });
  return toolCallId;
}

describe('a user who is disabled', () => {
  it('has no runs from then on, whatever their model is doing', async () => {
    const role = await makeRole(harness.session, 'short-lived', [
      'coding:harness:use',
      'coding:harness:write',
    ]);
    const person = await makeUser(harness.plinth, harness.session, 'short-lived', [role]);
    const { sessionId } = await harness.createSession({}, person.session);
    harness.script({ text: 'Done.', hold: true });
    const run = await harness.createRun(sessionId, {}, person.session);
    await eventually(
      () => harness.simulator.held,
      (held) => held === 1,
    );
    const status = { userId: person.id, status: '1' };
    done(await harness.session.put('/system/user/changeStatus', status));

    // The process that works on it may see the lost permission before the request to cancel.
    const { status: end } = await harness.ended(run);
    expect(['CANCELLED', 'FAILED']).toContain(end);
    harness.simulator.release();
  });
});

describe('a cancel of which the owner has not heard', () => {
  it.each([
    ['has its last answer', [{ text: 'Done.', hold: true }]],
    ['asks for consent', [{ ...call('read_file', { path: '.env' }), hold: true }]],
    ['proposes a plan', [{ ...PLAN, hold: true }]],
    ['asks a question', [{ ...call('ask_user', { question: 'Which?' }), hold: true }]],
    ['loses its model', [{ status: 503, hold: true }, { status: 503 }, { status: 503 }]],
  ])('ends the run at once when it %s', async (_, steps) => {
    const { sessionId } = await harness.createSession();
    harness.script(...steps);
    const run = await harness.createRun(sessionId);
    await eventually(
      () => harness.simulator.held,
      (held) => held === 1,
    );
    await cancelUnheard(run);
    harness.simulator.release();

    expect(await harness.ended(run)).toMatchObject({
      ...{ status: 'CANCELLED', stopReason: 'USER_CANCEL', question: null },
    });
    const types = await typesOf(run);
    for (const waiting of ['run.waiting_for_approval', 'run.waiting_for_input', 'run.suspended']) {
      expect(types).not.toContain(waiting);
    }
    expect(types).not.toContain('approval.requested');
    expect(types.at(-1)).toBe('run.cancelled');
  });

  it('lets the run neither wait nor go back into the queue', async () => {
    const { ledger, lease, ...run } = await ownRun(harness.plinth, harness.session);
    done(await harness.post(run, '/cancel'));

    const park = ledger.asOwner(lease, (writer) => writer.park('TOOL'));
    await expect(park).rejects.toThrow(CancelRequestedError);
    const release = ledger.asOwner(lease, (writer) => writer.enqueue('server_restart'));
    await expect(release).rejects.toThrow(CancelRequestedError);
  });
});

describe('a cancel that the owner does not follow', () => {
  it('is forced within 10 seconds, says why, and leaves no call of the model open', async () => {
    const { lease, ...run } = await ownRun(harness.plinth, harness.session);
    const calls = harness.plinth.app.get(ModelCallRepository, { strict: false });
    const effectId = await calls.start(
      { tenantId: lease.tenantId, id: lease.runId, fence: 1 },
      { iteration: 1, attempt: 1, purpose: 'TURN', sentTokens: 0 },
    );
    done(await harness.session.delete(`/coding/harness/sessions/${run.sessionId}`));

    expect(await harness.ended(run)).toMatchObject({
      ...{ status: 'CANCELLED', stopReason: 'SESSION_CLOSED' },
    });
    const events = await harness.events(run);
    expect(events.map(({ type }) => type)).toEqual([
      'run.cancel.requested',
      'model.turn.abandoned',
      'run.cancelled',
    ]);
    expect(events[1]?.data).toEqual({ effectId, outcome: 'ABANDONED', code: 'RUN_CANCELLED' });
  });

  it('is seen in whatever state the run is', async () => {
    const { ledger, lease, ...run } = await ownRun(harness.plinth, harness.session);
    await ledger.asOwner(lease, (writer) => writer.park('PLAN'));
    await harness.plinth.app
      .get(Database)
      .query(
        `UPDATE harness_run SET cancel_requested_at = now() - interval '1 minute' WHERE id = $1`,
        [run.runId],
      );

    expect(await harness.ended(run)).toMatchObject({ stopReason: 'USER_CANCEL' });
  });
});

describe('a cancel of a run that waits because of an uncertain call', () => {
  it('does not say a second time that it is uncertain', async () => {
    const own = await ownRun(harness.plinth, harness.session);
    const { ledger, lease, ...run } = own;
    const effects = harness.plinth.app.get(EffectRepository, { strict: false });
    const toolCallId = await beginCommand(own);
    await ledger.asOwner(lease, async (writer) => {
      await effects.markUncertain(writer.run, toolCallId);
      writer.event('effect.uncertain', { toolName: 'shell', reason: 'Lost.' }, { toolCallId });
      writer.park('EFFECT');
    });

    expect(done(await harness.post(run, '/cancel')).data).toMatchObject({
      status: 'CANCELLED',
    });
    expect(await typesOf(run)).toEqual(['effect.uncertain', 'tool.completed', 'run.cancelled']);
  });
});

describe('a cancel that the owner follows in the middle of a command whose end it has not seen', () => {
  it('leaves the call uncertain, and nothing of its output on the disk', async () => {
    const own = await ownRun(harness.plinth, harness.session);
    const { tenantId } = own.lease;
    const toolCallId = await beginCommand(own);
    const outputs = harness.plinth.app.get(PartialOutputs, { strict: false });
    const output = outputs.begin({ tenantId, toolCallId }, (bytes) => bytes);
    const written = new OutputCollector();
    written.add(Buffer.from('2 of 5 tests\n'));
    output.update(written);
    await output.end();
    expect(await outputs.read({ tenantId, toolCallId })).toBeDefined();

    const ending = harness.plinth.app.get(RunEnding, { strict: false });
    await own.ledger.asOwner(own.lease, (writer) => ending.cancel(writer));
    expect(await typesOf(own)).toContain('effect.uncertain');
    expect(await outputs.read({ tenantId, toolCallId })).toBeUndefined();
  });
});
