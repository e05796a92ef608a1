import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { InboxRepository } from '../../../src/harness/store/inbox.repository.js';
import { ApprovalRepository } from '../../../src/effect/index.js';
import { approvalsOf, decide, firstApproval } from '../../support/approvals.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import { CALLS, ParkedRuns } from '../../support/parked-runs.js';
import type { ParkedRun } from '../../support/parked-runs.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';

interface UserInfo {
  readonly user: { readonly userId: number };
}

const TENANT = '000000';

let harness: Harness;
let parked: ParkedRuns;
/** May use and write, but not decide. */
let asker: Person;

beforeAll(async () => {
  harness = await startHarness();
  parked = new ParkedRuns(harness.plinth);
  const { plinth, session } = harness;
  const use = ['coding:harness:use', 'coding:harness:write'];
  asker = await makeUser(plinth, session, 'asker', [await makeRole(session, 'asker', use)]);
});

afterAll(() => harness.stop());

async function waiting(calls?: Parameters<ParkedRuns['tool']>[1]): Promise<ParkedRun> {
  const { sessionId } = await harness.createSession();
  return parked.tool(sessionId, calls);
}

describe('a grant', () => {
  const grantsPath = (run: ParkedRun): string => `/coding/harness/sessions/${run.sessionId}/grants`;

  it('comes from an approval for the session, once, and can be taken back', async () => {
    const run = await waiting([CALLS.SHELL]);
    const approval = await firstApproval(harness, run);
    const decided = { decisionId: freshKey(), decision: 'APPROVE_SESSION' };
    done(await decide(harness, run, approval, decided));
    done(await decide(harness, run, approval, decided));
    const path = grantsPath(run);
    const { data } = done(await harness.session.get<Record<string, unknown>[]>(path));
    expect(data).toEqual([
      {
        grantId: expect.any(String),
        sessionId: run.sessionId,
        kind: 'COMMAND',
        subject: 'npm test',
        approvalId: approval.approvalId,
        grantedBy: expect.any(Number),
        createdAt: expect.any(Number),
      },
    ]);
    const key = { tenantId: '000000', sessionId: run.sessionId };
    const grants = harness.plinth.app.get(ApprovalRepository);
    expect((await grants.allowed(key)).command('npm test')).toBe(true);
    expect((await grants.allowed(key)).command('npm test; id')).toBe(false);
    done(await harness.session.delete(`${path}/${String(data[0]?.['grantId'])}`));
    expect((await grants.allowed(key)).command('npm test')).toBe(false);
    expect((await harness.session.get(path)).data).toEqual([]);
    expect(await harness.session.delete(`${path}/${String(data[0]?.['grantId'])}`)).toMatchObject({
      code: 404,
    });
  });

  it('is not to be had for what must be asked each time', async () => {
    const run = await waiting([{ ...CALLS.SHELL, grants: [] }]);
    const approval = await firstApproval(harness, run);
    expect(approval.available).toEqual(['APPROVE', 'DENY', 'DENY_AND_STOP']);
    expect(await decide(harness, run, approval, { decision: 'APPROVE_SESSION' })).toMatchObject({
      code: 400,
      data: { errorCode: 'APPROVAL_NOT_GRANTABLE' },
    });
    expect(await firstApproval(harness, run)).toMatchObject({ state: 'PENDING' });
  });

  it('needs the permission to be taken back', async () => {
    const { sessionId } = await harness.createSession({}, asker.session);
    const run = await parked.tool(sessionId, [CALLS.SHELL]);
    const approval = await firstApproval(harness, run, asker.session);
    done(await decide(harness, run, approval, { decision: 'APPROVE_SESSION' }));
    const { data } = done(await asker.session.get<{ grantId: string }[]>(grantsPath(run)));
    const path = `${grantsPath(run)}/${data[0]?.grantId ?? ''}`;
    expect(await asker.session.delete(path)).toMatchObject({ code: 403 });
    done(await harness.session.delete(path));
    await harness.post(run, '/cancel');
  });
});

describe('the inbox', () => {
  it('holds everything that waits for the caller, with what acting on it needs', async () => {
    const { session } = asker;
    const sessions = await Promise.all(
      [1, 2, 3, 4, 5].map(() => harness.createSession({}, session)),
    );
    const [a, b, c, d, e] = sessions.map(({ sessionId }) => sessionId);
    const tool = await parked.tool(a ?? '');
    const plan = await parked.plan(b ?? '');
    const question = await parked.question(c ?? '', 'Which one?');
    const effect = await parked.uncertain(d ?? '');
    const provider = await parked.provider(e ?? '');
    const { data } = done(
      await session.get<Record<string, unknown>[]>('/coding/harness/approvals?state=PENDING'),
    );
    const [approval] = await approvalsOf(harness, tool);
    await harness.post(question, '/inputs', {
      ...{ kind: 'FOLLOW_UP', content: 'Later', idempotencyKey: freshKey() },
    });
    const after = done(await session.get<typeof data>('/coding/harness/approvals?state=PENDING'));
    // What is said meanwhile does not begin the waiting anew.
    expect(after.data).toEqual(data);
    const entry = (kind: string): Record<string, unknown> | undefined =>
      data.find((one) => one['kind'] === kind);
    expect(data).toHaveLength(5);
    expect(entry('TOOL')).toMatchObject({
      runId: tool.runId,
      sessionId: a,
      approvalId: approval?.approvalId,
      argumentsSha256: approval?.argumentsSha256,
      expectedRevision: 1,
      available: approval?.available,
      toolName: 'write_file',
      waitingSince: expect.any(Number),
    });
    expect(entry('PLAN')).toMatchObject({
      runId: plan.runId,
      taskId: plan.plan.taskId,
      canonicalHash: plan.plan.canonicalHash,
      expectedRevision: 1,
      planMarkdown: expect.stringContaining('# Plan, version 1'),
      reviewState: 'AWAITING_APPROVAL',
    });
    expect(entry('QUESTION')).toMatchObject({
      runId: question.runId,
      toolCallId: question.toolCallIds[0],
      question: 'Which one?',
      options: ['yes', 'no'],
    });
    expect(entry('PROVIDER')).toMatchObject({
      runId: provider.runId,
      error: { code: 'model_unavailable', message: 'The service is away.' },
    });
    expect(entry('EFFECT')).toMatchObject({
      runId: effect.runId,
      toolCallId: effect.toolCallIds[0],
      toolName: 'shell',
      argumentsJson: '{"command":"npm test"}',
    });
    for (const run of [tool, plan, question, effect, provider])
      done(await harness.post(run, '/cancel'));
    expect((await session.get('/coding/harness/approvals')).data).toEqual([]);
  });

  it('ends with the entry with which the arguments of its kind reach 16 MiB', async () => {
    const { plinth } = harness;
    const ofAsker = async (): Promise<string> =>
      (await harness.createSession({}, asker.session)).sessionId;
    const asked = await parked.tool(await ofAsker(), [CALLS.EDIT, CALLS.EDIT]);
    const uncertain = await parked.uncertain(await ofAsker(), [CALLS.SHELL, CALLS.SHELL]);
    const approvals = plinth.app.get(ApprovalRepository);
    const { data } = done(await asker.session.get<UserInfo>('/system/user/getInfo'));
    const { userId } = data.user;
    const shown = async (): Promise<number[]> => {
      const kinds = [
        await approvals.pendingOfUser(TENANT, userId),
        await plinth.app.get(InboxRepository).uncertainEffects(TENANT, userId),
      ];
      return kinds.map((rows) => rows.length);
    };
    expect(await shown()).toEqual([2, 2]);
    for (const [table, { runId, toolCallIds }] of [
      ['harness_approval', asked],
      ['harness_effect', uncertain],
    ] as const) {
      const large = `UPDATE ${table} SET arguments_json = repeat('x', 16 * 1024 * 1024)`;
      const rows = 'tenant_id = $1 AND run_id = $2 AND tool_call_id = $3';
      const values = [TENANT, runId, toolCallIds[0]];
      await plinth.app.get(Database).query(`${large} WHERE ${rows}`, values);
    }
    expect(await shown()).toEqual([1, 1]);
    for (const run of [asked, uncertain]) done(await harness.post(run, '/cancel'));
  });

  it('takes no other state', async () => {
    expect(await harness.session.get('/coding/harness/approvals?state=APPROVED')).toMatchObject({
      code: 400,
    });
  });
});
