import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { RunWorker } from '../../../src/harness/engine/run.js';
import { sha256 } from '../../../src/harness/protocol/values.js';
import * as approvals from '../../support/approvals.js';
import type { Approval, Decided } from '../../support/approvals.js';
import { CODER, freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { CALLS, ParkedRuns } from '../../support/parked-runs.js';
import type { ParkedRun } from '../../support/parked-runs.js';
import { done, makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import type { Answer, Session } from '../../support/session.js';

const HOURS = 24;
let harness: Harness;
let parked: ParkedRuns;
let asker: Person;
let outsider: Person;
const live: ParkedRun[] = [];

beforeAll(async () => {
  harness = await startHarness();
  parked = new ParkedRuns(harness.plinth);
  const { plinth, session } = harness;
  const use = ['coding:harness:use', 'coding:harness:write'];
  asker = await makeUser(plinth, session, 'asker', [await makeRole(session, 'asker', use)]);
  const all = await makeRole(session, 'approver', [...use, 'coding:harness:approve']);
  outsider = await makeUser(plinth, session, 'outsider', [all]);
});

afterAll(() => harness.stop());

afterEach(async () => {
  for (const run of live.splice(0)) await harness.post(run, '/cancel');
});

async function waiting(calls?: Parameters<ParkedRuns['tool']>[1]): Promise<ParkedRun> {
  const { sessionId } = await harness.createSession();
  const run = await parked.tool(sessionId, calls);
  live.push(run);
  return run;
}

function approvalsOf(run: ParkedRun, by?: Session): Promise<Approval[]> {
  return approvals.approvalsOf(harness, run, by);
}

function only(run: ParkedRun): Promise<Approval> {
  return approvals.firstApproval(harness, run);
}

function decide(run: ParkedRun, approval: Approval, over?: Decided): Promise<Answer<RunView>> {
  return approvals.decide(harness, run, approval, over);
}

async function typesOf(run: ParkedRun): Promise<string[]> {
  return (await harness.events(run)).map(({ type }) => type);
}

function query(sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  return harness.plinth.app.get(Database).query(sql, values);
}

/** As if its time were over. */
async function age(run: ParkedRun): Promise<void> {
  await query(
    "UPDATE harness_approval SET expires_at = now() - interval '1 second' WHERE run_id = $1",
    run.runId,
  );
}

describe('an approval', () => {
  it('is asked for with everything that a decision needs', async () => {
    const run = await waiting();
    const approval = await only(run);
    const argumentsJson = JSON.stringify(CALLS.EDIT.input);
    expect(approval).toMatchObject({
      kind: 'TOOL',
      runId: run.runId,
      sessionId: run.sessionId,
      toolCallId: run.toolCallIds[0],
      toolName: 'write_file',
      state: 'PENDING',
      argumentsJson,
      argumentsSha256: sha256(argumentsJson),
      available: ['APPROVE', 'APPROVE_SESSION', 'DENY', 'DENY_AND_STOP'],
      notes: ['It can be undone.'],
      decision: null,
    });
    const { approvalId, expectedRevision, expiresAt } = approval;
    expect(expiresAt - Date.now()).toBeGreaterThan((HOURS - 0.1) * 3_600_000);
    expect(expiresAt - Date.now()).toBeLessThan((HOURS + 0.1) * 3_600_000);
    const requested = (await harness.events(run)).find(({ type }) => type === 'approval.requested');
    expect(requested).toMatchObject({
      approvalId,
      toolCallId: run.toolCallIds[0],
      stepId: 'step-1',
      data: {
        approvalId,
        toolName: 'write_file',
        argumentsJson,
        argumentsSha256: sha256(argumentsJson),
        state: 'PENDING',
        expectedRevision,
        expiresAt,
        available: approval.available,
      },
    });
    expect(await harness.run(run)).toMatchObject({
      status: 'WAITING_FOR_APPROVAL',
      approvals: { [approvalId]: { approvalId, state: 'PENDING' } },
    });
  });

  it('lets the run go on once it is given, and says who gave it', async () => {
    const run = await waiting();
    const approval = await only(run);
    const answer = await decide(run, approval, { note: 'Fine.' });
    expect(answer).toMatchObject({ code: 200, data: { runId: run.runId, approvals: {} } });
    expect(answer.data.status).not.toBe('WAITING_FOR_APPROVAL');
    const [{ by } = {}] = await query(
      'SELECT user_id AS by FROM harness_session WHERE id = $1',
      run.sessionId,
    );
    expect(await only(run)).toMatchObject({
      state: 'APPROVED',
      decision: 'APPROVE',
      note: 'Fine.',
      decidedBy: by,
      available: [],
      expectedRevision: approval.expectedRevision + 1,
    });
    const events = await harness.events(run);
    const at = events.findIndex(({ type }) => type === 'approval.resolved');
    expect(events.slice(at, at + 2)).toMatchObject([
      {
        approvalId: approval.approvalId,
        data: { decision: 'APPROVE', state: 'APPROVED', by, note: 'Fine.' },
      },
      { type: 'run.queued', data: { status: 'QUEUED', reason: 'approval_resolved' } },
    ]);
    expect(
      await query("SELECT detail FROM audit_entry WHERE target_type = 'harness_approval'"),
    ).toEqual(
      expect.arrayContaining([
        { detail: expect.objectContaining({ decision: 'APPROVE', runId: run.runId }) },
      ]),
    );
  });

  it('of several in one message holds the run until the last one is answered', async () => {
    const run = await waiting([CALLS.EDIT, CALLS.SHELL]);
    const [first, second] = await approvalsOf(run);
    if (!first || !second) throw new Error('Two calls need two approvals.');
    done(await decide(run, second, { decision: 'DENY', note: 'Not now.' }));
    expect(await harness.run(run)).toMatchObject({
      status: 'WAITING_FOR_APPROVAL',
      approvals: { [first.approvalId]: { approvalId: first.approvalId } },
    });
    expect(await typesOf(run)).not.toContain('run.queued');
    done(await decide(run, first));
    expect((await typesOf(run)).filter((type) => type === 'run.queued')).toHaveLength(1);
    const states = (await approvalsOf(run)).map(({ state }) => state);
    expect(states).toEqual(['APPROVED', 'DENIED']);
  });

  it('that is denied with a stop ends the run, with a result for every call', async () => {
    const run = await waiting([CALLS.EDIT, CALLS.SHELL]);
    const [first] = await approvalsOf(run);
    if (!first) throw new Error('The run has no approval.');
    const answer = await decide(run, first, { decision: 'DENY_AND_STOP', note: 'Stop it.' });
    expect(answer.data).toMatchObject({
      status: 'CANCELLED',
      stopReason: 'APPROVAL_REJECTED_STOP',
      error: null,
    });
    expect((await approvalsOf(run)).map(({ state }) => state)).toEqual(['DENIED', 'CANCELLED']);
    const results = (await harness.messages(run)).filter(({ role }) => role === 'TOOL');
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(run.toolCallIds);
    expect((await typesOf(run)).at(-1)).toBe('run.cancelled');
  });
});

describe('a decision', () => {
  it.each([
    ['another hash', { argumentsSha256: '0'.repeat(64) }],
    ['another revision', { expectedRevision: 7 }],
  ])('about %s is stale', async (_, over) => {
    const run = await waiting();
    const approval = await only(run);
    expect(await decide(run, approval, over)).toMatchObject({
      code: 409,
      data: {
        errorCode: 'APPROVAL_STALE',
        expectedRevision: approval.expectedRevision,
        argumentsSha256: approval.argumentsSha256,
      },
    });
    expect(await only(run)).toMatchObject({ state: 'PENDING', decision: null });
    expect(await harness.run(run)).toMatchObject({ status: 'WAITING_FOR_APPROVAL' });
  });

  it('may name the hash in upper case', async () => {
    const run = await waiting();
    const approval = await only(run);
    const argumentsSha256 = approval.argumentsSha256.toUpperCase();
    expect(await decide(run, approval, { argumentsSha256 })).toMatchObject({ code: 200 });
  });

  it('sent again is answered alike; another one is refused', async () => {
    const run = await waiting();
    const approval = await only(run);
    const decisionId = freshKey();
    const first = { decisionId, decision: 'DENY', note: 'No.' };
    done(await decide(run, approval, first));
    const events = (await typesOf(run)).filter((type) => type.startsWith('approval.'));
    expect(await decide(run, approval, first)).toMatchObject({ code: 200 });
    expect(await decide(run, approval, { decision: 'DENY' })).toMatchObject({ code: 200 });
    const others = [
      { decision: 'APPROVE' },
      { decisionId, decision: 'APPROVE' },
      { decisionId, decision: 'DENY', note: 'Never.' },
      { decision: 'DENY_AND_STOP' },
    ];
    for (const other of others) {
      expect(await decide(run, approval, other)).toMatchObject({
        code: 409,
        data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', state: 'DENIED', decision: 'DENY' },
      });
    }
    expect(await only(run)).toMatchObject({ state: 'DENIED', note: 'No.' });
    expect((await typesOf(run)).filter((type) => type.startsWith('approval.'))).toEqual(events);
  });

  it.each([
    ['no decision', { decision: undefined }],
    ['an unknown decision', { decision: 'APPROVE_ALL' }],
    ['no hash', { argumentsSha256: undefined }],
    ['a hash of another length', { argumentsSha256: 'abc' }],
    ['no revision', { expectedRevision: undefined }],
    ['a negative revision', { expectedRevision: -1 }],
    ['no id', { decisionId: undefined }],
    ['a long id', { decisionId: 'x'.repeat(257) }],
    ['a long note', { note: 'x'.repeat(2_049) }],
  ])('with %s is refused', async (_, over) => {
    const run = await waiting();
    expect(await decide(run, await only(run), over)).toMatchObject({ code: 400 });
    expect(await only(run)).toMatchObject({ state: 'PENDING' });
  });

  it('is the first one of ten at once, and no other', async () => {
    const run = await waiting([CALLS.EDIT, CALLS.SHELL]);
    const [approval] = await approvalsOf(run);
    if (!approval) throw new Error('The run has no approval.');
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        decide(run, approval, { decision: at % 2 ? 'DENY' : 'APPROVE', note: `${at}` }),
      ),
    );
    const [stored] = await approvalsOf(run);
    // Whoever decided alike is told so; whoever decided otherwise was too late.
    const alike = answers.filter(({ code }) => code === 200);
    const late = answers.filter(({ code }) => code === 409);
    expect([alike.length, late.length]).toEqual([5, 5]);
    expect(late[0]?.data).toMatchObject({ errorCode: 'APPROVAL_ALREADY_RESOLVED' });
    const resolved = (await harness.events(run)).filter(({ type }) => type === 'approval.resolved');
    expect(resolved).toHaveLength(1);
    expect(resolved[0]?.data).toMatchObject({ decision: stored?.decision, note: stored?.note });
  });

  it('races with a cancel, and one of the two wins as a whole', async () => {
    for (let round = 0; round < 5; round += 1) {
      const run = await waiting();
      const approval = await only(run);
      // A denial that wins lets the run go on: its model is not to be done before the cancel comes.
      harness.script({ match: { model: CODER }, firstMs: 600_000 });
      const [decided] = await Promise.all([
        decide(run, approval, { decision: 'DENY' }),
        harness.post(run, '/cancel'),
      ]);
      const { state } = await only(run);
      expect([decided.code, state]).toEqual(
        decided.code === 200 ? [200, 'DENIED'] : [409, 'CANCELLED'],
      );
      expect(await harness.ended(run)).toMatchObject({ status: 'CANCELLED' });
      harness.simulator.reset();
    }
  });

  it('after a cancel is refused', async () => {
    const run = await waiting();
    const approval = await only(run);
    done(await harness.post(run, '/cancel'));
    expect(await decide(run, approval)).toMatchObject({
      code: 409,
      data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', state: 'CANCELLED' },
    });
    expect(await harness.run(run)).toMatchObject({
      status: 'CANCELLED',
      stopReason: 'USER_CANCEL',
    });
  });
});

describe('an approval whose time is over', () => {
  it('fails the run', async () => {
    const run = await waiting([CALLS.EDIT, CALLS.SHELL]);
    const other = await waiting();
    await age(run);
    await harness.plinth.app.get(RunWorker).expireDue();
    expect(await harness.run(run)).toMatchObject({
      status: 'FAILED',
      stopReason: 'APPROVAL_EXPIRED',
      error: { code: 'APPROVAL_EXPIRED' },
    });
    expect((await approvalsOf(run)).map(({ state }) => state)).toEqual(['EXPIRED', 'EXPIRED']);
    const events = await harness.events(run);
    const expired = events.filter(({ type }) => type === 'approval.expired');
    expect(expired.map(({ approvalId }) => approvalId)).toHaveLength(2);
    expect(expired[0]?.data).toMatchObject({ state: 'EXPIRED', revision: 2 });
    expect(events.at(-1)?.type).toBe('run.failed');
    const results = (await harness.messages(run)).filter(({ role }) => role === 'TOOL');
    expect(results).toHaveLength(2);
    expect(await only(other)).toMatchObject({ state: 'PENDING' });
  });

  it('can no longer be decided about, even before the sweep has seen it', async () => {
    const run = await waiting();
    const approval = await only(run);
    await age(run);
    expect(await decide(run, approval)).toMatchObject({
      code: 409,
      data: { errorCode: 'APPROVAL_ALREADY_RESOLVED', state: 'EXPIRED' },
    });
    expect(await harness.run(run)).toMatchObject({ stopReason: 'APPROVAL_EXPIRED' });
  });

  it('races with a decision, and the run ends once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const run = await waiting();
      const approval = await only(run);
      await age(run);
      const worker = harness.plinth.app.get(RunWorker);
      const answers = await Promise.all([
        decide(run, approval),
        worker.expireDue(),
        decide(run, approval, { decision: 'DENY' }),
        worker.expireDue(),
      ]);
      expect([answers[0].code, answers[2].code]).toEqual([409, 409]);
      expect(await only(run)).toMatchObject({ state: 'EXPIRED' });
      const types = await typesOf(run);
      const ends = types.filter((type) => type === 'run.failed' || type === 'approval.expired');
      expect(ends).toEqual(['approval.expired', 'run.failed']);
    }
  });
});

describe('an approver', () => {
  it('needs the permission', async () => {
    const { sessionId } = await harness.createSession({}, asker.session);
    const run = await parked.tool(sessionId);
    const [approval] = await approvalsOf(run, asker.session);
    if (!approval) throw new Error('The run has no approval.');
    const refused = await decide(run, approval, { by: asker.session });
    expect(refused).toMatchObject({ code: 403 });
    expect(refused.msg).toContain('coding:harness:approve');
    // A super administrator may.
    expect(await decide(run, approval, { decision: 'DENY_AND_STOP' })).toMatchObject({ code: 200 });
  });

  it('may use the harness as well', async () => {
    const role = await makeRole(harness.session, 'decider', ['coding:harness:approve']);
    const decider = await makeUser(harness.plinth, harness.session, 'decider', [role]);
    const { sessionId } = await harness.createSession({}, asker.session);
    const run = await parked.tool(sessionId);
    const [approval] = await approvalsOf(run, asker.session);
    if (!approval) throw new Error('The run has no approval.');
    const refused = await decide(run, approval, { by: decider.session });
    expect(refused).toMatchObject({ code: 403 });
    expect(refused.msg).toContain('coding:harness:use');
    expect(await decide(run, approval, { decision: 'DENY_AND_STOP' })).toMatchObject({ code: 200 });
  });

  it('finds nothing in the sessions of others', async () => {
    const run = await waiting();
    const approval = await only(run);
    expect(await decide(run, approval, { by: outsider.session })).toMatchObject({ code: 404 });
    const boss = await makeTenant(harness.plinth, harness.session, '200001');
    expect(await decide(run, approval, { by: boss.admin })).toMatchObject({ code: 404 });
    for (const session of [outsider.session, boss.admin]) {
      expect(await session.get(harness.path(run, '/approvals'))).toMatchObject({ code: 404 });
      expect((await session.get('/coding/harness/approvals?state=PENDING')).data).toEqual([]);
      const grants = `/coding/harness/sessions/${run.sessionId}/grants`;
      expect(await session.get(grants)).toMatchObject({ code: 404 });
      expect(await session.delete(`${grants}/${approval.approvalId}`)).toMatchObject({ code: 404 });
    }
    expect(await only(run)).toMatchObject({ state: 'PENDING' });
  });

  it('finds nothing under another run or a wrong id', async () => {
    const [run, other] = [await waiting(), await waiting()];
    const approval = await only(run);
    expect(await decide(other, approval)).toMatchObject({ code: 404 });
    expect(await decide(run, { ...approval, approvalId: 'nothing' })).toMatchObject({ code: 404 });
    expect(await decide({ ...run, sessionId: other.sessionId }, approval)).toMatchObject({
      code: 404,
    });
  });
});
