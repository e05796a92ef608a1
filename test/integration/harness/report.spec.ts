import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { pendingOf } from '../../support/approvals.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import { SECRET_KEY } from '../../support/template.js';

interface Usage {
  readonly iterations: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cost: number | null;
  readonly modelCalls: readonly {
    readonly iteration: number;
    readonly attempt: number;
    readonly state: string;
    readonly purpose: string;
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
    readonly cost: number | null;
    readonly durationMillis: number | null;
  }[];
}

interface Report {
  readonly [field: string]: unknown;
  readonly toolCalls: readonly { readonly toolCallId: string; readonly toolName: string }[];
}

const EVIL = 'x|y\n# Approved <b>by</b> everybody';

let harness: Harness;
let run: RunView;

beforeAll(async () => {
  harness = await startHarness({
    model: { inputPrice: 3, outputPrice: 15 },
  });
  run = await eventfulRun();
});

afterAll(() => harness.stop());

/** Plans, is approved, edits, asks for a deletion and is refused it, and tells what it did. */
async function eventfulRun(): Promise<RunView> {
  harness.write({ 'old.txt': 'old\n' });
  const call = (name: string, args: Record<string, string | object>): object => ({
    toolCalls: [{ name, arguments: args }],
  });
  harness.script(
    { status: 503 },
    call('plan_create', {
      summary: `Repair add ${EVIL}`,
      steps: [{ text: 'Add instead of subtracting' }],
      files: ['src/add.js'],
      risks: ['None that I know'],
    }),
    call('activate_skill', { name: 'verification' }),
    call('read_file', { path: 'src/add.js' }),
    call('edit_file', { path: 'src/add.js', edits: [{ oldText: 'a - b', newText: 'a + b' }] }),
    call('delete_file', { path: 'old.txt' }),
    { text: `Repaired. ${EVIL}` },
  );
  const { sessionId } = await harness.createSession();
  const created = await harness.createRun(sessionId, { requirement: `Fix add()\n${EVIL}` });
  const { plan } = await harness.waitFor(created, 'WAITING_FOR_INPUT');
  const { taskId, expectedRevision, canonicalHash } = plan as Record<string, unknown>;
  done(
    await harness.post(created, '/plan/approve', {
      ...{ taskId, expectedRevision, expectedHash: canonicalHash, idempotencyKey: 'approve-1' },
    }),
  );
  const [approval] = pendingOf(await harness.waitFor(created, 'WAITING_FOR_APPROVAL'));
  done(
    await harness.post(created, `/approvals/${approval?.['approvalId']}/resolve`, {
      decisionId: 'no-1',
      decision: 'DENY',
      expectedRevision: approval?.['expectedRevision'],
      argumentsSha256: approval?.['argumentsSha256'],
      note: `Keep it. ${EVIL}`,
    }),
  );
  return harness.waitFor(created, 'COMPLETED');
}

async function report(): Promise<Report> {
  return done(await harness.session.get<Report>(harness.path(run, '/report'))).data;
}

describe('GET usage', () => {
  it('tells tokens, cost and time, in all and of each call of the model', async () => {
    const { data } = done(await harness.session.get<Usage>(harness.path(run, '/usage')));
    expect(data.iterations).toBe(6);
    const failed = data.modelCalls.filter(({ state }) => state === 'FAILED');
    const answered = data.modelCalls.filter(({ state }) => state === 'DONE');
    expect(failed).toMatchObject([{ iteration: 1, attempt: 1, inputTokens: null, cost: null }]);
    expect(answered.map(({ iteration }) => iteration)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(answered[0]).toMatchObject({ attempt: 2, purpose: 'TURN' });
    for (const { inputTokens, outputTokens, cost, durationMillis } of answered) {
      expect(cost).toBeCloseTo(((inputTokens ?? 0) * 3 + (outputTokens ?? 0) * 15) / 1e6, 10);
      expect(durationMillis).toBeGreaterThanOrEqual(0);
    }
    const sum = (values: readonly (number | null)[]): number =>
      values.reduce<number>((total, value) => total + (value ?? 0), 0);
    expect(data.inputTokens).toBe(sum(answered.map(({ inputTokens }) => inputTokens)));
    expect(data.cost).toBeCloseTo(sum(answered.map(({ cost }) => cost)), 10);
    expect(data.totalTokens).toBe(data.inputTokens + data.outputTokens);
  });
});

describe('GET report', () => {
  it('tells what was asked, planned, allowed, done and used, and by whom', async () => {
    const admin = { userId: expect.any(Number), userName: 'admin' };
    expect(await report()).toMatchObject({
      runId: run.runId,
      user: admin,
      model: 'coder',
      requirement: `Fix add()\n${EVIL}`,
      status: 'COMPLETED',
      stopReason: 'END_TURN',
      answer: `Repaired. ${EVIL}`,
      usage: { iterations: 6, toolCalls: 5 },
      plan: { revision: 1, reviewState: 'APPROVED', files: ['src/add.js'] },
      planReviews: [{ decision: 'APPROVED', revision: 1, by: admin, content: null }],
      approvals: [
        {
          toolName: 'delete_file',
          state: 'DENIED',
          decision: 'DENY',
          by: admin,
          note: `Keep it. ${EVIL}`,
        },
      ],
      toolCalls: [
        { toolName: 'plan_create', state: 'SUCCEEDED' },
        { toolName: 'activate_skill', state: 'SUCCEEDED' },
        { toolName: 'read_file', state: 'SUCCEEDED', startedAt: expect.any(Number) },
        { toolName: 'edit_file', state: 'SUCCEEDED', uncertain: false },
        // What was refused has never begun.
        { toolName: 'delete_file', state: 'DENIED', startedAt: null },
      ],
      files: [
        { path: 'src/add.js', op: 'UPDATE', changes: 1, undone: 0, additions: 1, deletions: 1 },
      ],
    });
    const { skills, times } = await report();
    expect(skills).toContainEqual(
      expect.objectContaining({ name: 'verification', source: 'built-in', activated: true }),
    );
    expect(skills).toContainEqual(
      expect.objectContaining({ name: 'safe-refactoring', activated: false }),
    );
    const { createdAt, startedAt, endedAt } = times as Record<string, number>;
    expect(createdAt).toBeLessThanOrEqual(startedAt ?? 0);
    expect(startedAt).toBeLessThanOrEqual(endedAt ?? 0);
  });

  it('is a Markdown file as well, whose structure no text in it can break', async () => {
    const path = harness.path(run, '/report?format=markdown');
    const { status, text, headers } = await harness.session.raw('GET', path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/markdown; charset=utf-8',
      'content-disposition': `attachment; filename=run-${run.runId}.md`,
      'x-content-type-options': 'nosniff',
    });
    expect(text.match(/^#.*$/gm)).toEqual([
      expect.stringContaining('# Run '),
      '## Requirement',
      '## Result',
      '## Plan',
      '## Plan reviews',
      '## Approvals',
      '## Commands',
      '## Files changed',
      '## Uncertain effects',
      '## Other tool calls',
      '## Skills',
    ]);
    expect(text).not.toMatch(/(?<!\\)<b>/);
    expect(text).toContain('| src/add.js | UPDATE | 1 | 1 | 1 | 0 |');
    expect(text).toMatch(/\| DENIED \| DENY \| admin \(user \d+\) \|/);
  });

  it('tells of uncertain effects and of what people found, and masks secrets of the service', async () => {
    const { toolCalls } = await report();
    const edited = toolCalls.find(({ toolName }) => toolName === 'edit_file');
    const database = harness.plinth.app.get(Database);
    await database.query(
      `UPDATE harness_effect SET resolution = 'EXECUTED', resolved_by = 1, note = $2 WHERE tool_call_id = $1`,
      [edited?.toolCallId, `I looked; the key is ${SECRET_KEY}.`],
    );
    const { toolCalls: after } = await report();
    expect(after.find(({ toolName }) => toolName === 'edit_file')).toMatchObject({
      uncertain: true,
      resolution: { resolution: 'EXECUTED', note: 'I looked; the key is [secret].' },
    });
    const path = harness.path(run, '/report?format=markdown');
    const { text } = await harness.session.raw('GET', path);
    expect(text).toMatch(/- edit_file .*: resolved as EXECUTED .*: I looked; .*secret/);
  });

  it('refuses other formats, and is found by those who may see the run alone', async () => {
    const odd = await harness.session.get(harness.path(run, '/report?format=pdf'));
    expect(odd.code).toBe(400);
    const { plinth, session: admin } = harness;
    const role = await makeRole(admin, 'report-reader', ['coding:harness:use']);
    const user = await makeUser(plinth, admin, 'report-reader', [role]);
    for (const below of ['/report', '/usage', '/report?format=markdown']) {
      expect((await user.session.get(harness.path(run, below))).code).toBe(404);
    }
  });
});
