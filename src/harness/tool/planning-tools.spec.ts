import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { planHash } from '../protocol/policy.js';
import type { Plan } from '../protocol/policy.js';
import { newId } from '../protocol/values.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { RunSkills } from '../store/message.repository.js';
import { Workspace } from '../workspace/workspace.js';
import { boundCall } from './tool.js';
import type { HarnessTool, RunToolDecision, ToolContext } from './tool.js';
import { AskUserTool, PlanCreateTool, PlanStepTool } from './plan.tools.js';

let root: string;
let workspace: Workspace;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'plinth-plan-'));
  const { dev, ino } = await stat(root);
  workspace = await Workspace.open(root, `${dev}:${ino}`);
});

afterAll(async () => {
  await workspace.close();
  await rm(root, { recursive: true });
});

type Facts = Partial<Pick<HarnessRun, 'permissionMode' | 'approvalPolicy' | 'phase' | 'plan'>>;

function contextOf(facts: Facts): ToolContext {
  const run = Object.assign(new HarnessRunRow(), facts);
  return {
    run,
    workspace,
    seen: new Map<string, string>(),
    skills: new RunSkills([]),
    toolCallId: newId(),
    signal: new AbortController().signal,
  };
}

/** A run that plans. */
class HarnessRunRow implements HarnessRun {
  id = newId();
  tenantId = '000000';
  sessionId = newId();
  userId = 1;
  homeTenantId = '000000';
  requirement = 'Fix add()';
  traceparent = null;
  modelName = 'coder';
  permissionMode: HarnessRun['permissionMode'] = 'WORKSPACE_WRITE';
  approvalPolicy: HarnessRun['approvalPolicy'] = 'ON_REQUEST';
  planPolicy = 'ALWAYS' as const;
  planFiles = 0;
  budget = {
    maxIterations: 0,
    maxToolCalls: 0,
    maxInputTokens: 0,
    maxOutputTokens: 0,
    maxWallTimeMillis: 0,
  };
  status = 'RUNNING' as const;
  phase: HarnessRun['phase'] = 'PLAN';
  waitKind = null;
  recovering = false;
  reason = null;
  stopReason = null;
  errorCode = null;
  errorMessage = null;
  cancelRequestedAt = null;
  cancelRequestedBy = null;
  plan: Plan | null = null;
  planReceipt = null;
  question = null;
  iteration = 1;
  toolCalls = 0;
  inputTokens = 0;
  outputTokens = 0;
  cachedTokens = 0;
  cost = null;
  contextUsed = null;
  contextLimit = null;
  compaction = null;
  activeMs = 0;
  eventBytes = 0;
  artifactBytes = 0;
  leaseOwner = null;
  leaseBoot = null;
  leaseUntil = null;
  fence = 1;
  recoveryAttempts = 0;
  dueAt = new Date();
  revision = 1;
  nextEventSequence = 1;
  idempotencyKey = 'key';
  idempotencyHash = 'hash';
  createTime = new Date();
  updateTime = new Date();
  endedAt = null;
}

/** As the loop calls a tool: the arguments are read first. */
async function decide(
  tool: HarnessTool,
  given: unknown,
  facts: Facts = {},
): Promise<RunToolDecision> {
  const { tool: called, input } = boundCall(tool, given);
  if (called.effectClass !== 'META') throw new Error('It is no tool of the run.');
  return called.decide(input, contextOf(facts));
}

async function proposed(input: object, facts: Facts = {}): Promise<Plan> {
  const decision = await decide(new PlanCreateTool(), { ...GOOD, ...input }, facts);
  if (decision.kind !== 'propose-plan') throw new Error(decision.kind);
  return decision.plan;
}

async function updated(steps: readonly object[], facts: Facts): Promise<Plan> {
  const decision = await decide(new PlanStepTool(), { steps }, facts);
  if (decision.kind !== 'update-plan') throw new Error(decision.kind);
  return decision.plan;
}

const GOOD = { summary: 'Fix add()', steps: [{ text: 'Change the sign' }] };

describe('plan_create', () => {
  it('makes the first version of a plan, for review', async () => {
    const plan = await proposed({
      summary: ' Fix add() ',
      steps: [{ text: 'Change', files: ['./src/add.js'] }, { text: 'Test' }],
      files: ['src/add.js', join(root, 'src/x/../add.test.js')],
      risks: ['It may be used elsewhere'],
    });
    expect(plan).toEqual({
      taskId: expect.stringMatching(/^[\da-f-]{36}$/),
      revision: 1,
      summary: 'Fix add()',
      steps: [
        { id: 's1', text: 'Change', status: 'PENDING' },
        { id: 's2', text: 'Test', status: 'PENDING' },
      ],
      files: ['src/add.js', 'src/add.test.js'],
      risks: ['It may be used elsewhere'],
      canonicalHash: planHash(plan),
      reviewState: 'AWAITING_APPROVAL',
    });
  });

  it.each([
    ['WORKSPACE_WRITE', 'NEVER', 'APPROVED'],
    ['FULL_ACCESS', 'NEVER', 'APPROVED'],
    ['FULL_ACCESS', 'ON_REQUEST', 'AWAITING_APPROVAL'],
  ] as const)('under %s and %s the plan is %s', async (permissionMode, approvalPolicy, state) => {
    const plan = await proposed({}, { permissionMode, approvalPolicy });
    expect(plan.reviewState).toBe(state);
  });

  it('makes another version of the same plan after feedback, at most five', async () => {
    const first = await proposed({});
    const revised = { plan: { ...first, reviewState: 'REVISION_REQUESTED' as const } };
    const second = await proposed({ summary: 'Better' }, revised);
    expect(second).toMatchObject({ taskId: first.taskId, revision: 2, summary: 'Better' });
    expect(second.canonicalHash).not.toBe(first.canonicalHash);
    await expect(proposed({}, { plan: { ...revised.plan, revision: 5 } })).rejects.toMatchObject({
      code: 'PLAN_ERROR',
    });
  });

  it('is refused where there is nothing to plan', async () => {
    const plan = await proposed({});
    const refused: Facts[] = [
      { permissionMode: 'READ_ONLY', phase: 'BUILD' },
      { permissionMode: 'READ_ONLY' },
      { phase: 'BUILD' },
      { plan },
      { plan: { ...plan, reviewState: 'APPROVED' } },
    ];
    for (const facts of refused) {
      await expect(proposed({}, facts)).rejects.toMatchObject({ code: 'PLAN_ERROR' });
    }
  });

  it.each([
    ['../outside', 'OUTSIDE_WORKSPACE'],
    ['/etc/passwd', 'OUTSIDE_WORKSPACE'],
    ['a\0b', 'PATH_INVALID'],
    ['.', 'PLAN_ERROR'],
    ['.git/config', 'PLAN_ERROR'],
    ['sub/.GIT/hooks/x', 'PLAN_ERROR'],
    ['.env', 'PLAN_ERROR'],
    ['deploy/key.pem', 'PLAN_ERROR'],
    ['.vscode/settings.json', 'PLAN_ERROR'],
    ['.github/workflows/ci.yml', 'PLAN_ERROR'],
    ['.agents/skills/x/SKILL.md', 'PLAN_ERROR'],
  ])('does not take %j among its files', async (file, code) => {
    await expect(proposed({ files: [file] })).rejects.toMatchObject({ code });
    await expect(proposed({ steps: [{ text: 'x', files: [file] }] })).rejects.toMatchObject({
      code,
    });
  });

  it.each([
    ['an unknown field', { approved: true }],
    ['a field of a step that is not there', { steps: [{ text: 'x', status: 'DONE' }] }],
    ['no steps', { steps: [] }],
    ['31 steps', { steps: Array.from({ length: 31 }, () => ({ text: 'x' })) }],
    ['a blank summary', { summary: ' ' }],
    ['a blank step', { steps: [{ text: '\n' }] }],
    ['files that are no list', { files: 'src/add.js' }],
  ])('refuses %s', async (_, over) => {
    await expect(proposed(over)).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it('keeps text that the database can hold, and hashes what it keeps', async () => {
    const plan = await proposed({ summary: 'a\0b\ud800', risks: ['\0'] });
    expect(plan).toMatchObject({ summary: 'a\ufffdb\ufffd', risks: ['\ufffd'] });
    expect(plan.canonicalHash).toBe(planHash(JSON.parse(JSON.stringify(plan)) as Plan));
  });
});

describe('plan_step', () => {
  let approved: Plan;
  let facts: Facts;

  beforeAll(async () => {
    const steps = [{ text: 'Change' }, { text: 'Test' }];
    approved = { ...(await proposed({ steps, files: ['a'] })), reviewState: 'APPROVED' };
    facts = { phase: 'BUILD', plan: approved };
  });

  it('changes the status of steps, by id or by text, and nothing that was approved', async () => {
    const plan = await updated(
      [
        { id: 's1', text: 'Something else altogether', status: 'DONE' },
        { text: 'Test', status: 'IN_PROGRESS' },
      ],
      facts,
    );
    expect(plan).toEqual({
      ...approved,
      steps: [
        { id: 's1', text: 'Change', status: 'DONE' },
        { id: 's2', text: 'Test', status: 'IN_PROGRESS' },
      ],
    });
    expect(planHash(plan)).toBe(approved.canonicalHash);
  });

  it('adds steps that nobody has approved, marked as such', async () => {
    const plan = await updated([{ text: 'Tidy up', status: 'PENDING' }], facts);
    expect(plan.steps.at(-1)).toEqual({
      id: 's3',
      text: 'Tidy up',
      status: 'PENDING',
      added: true,
    });
    expect([planHash(plan), plan.files]).toEqual([approved.canonicalHash, ['a']]);
    const again = await updated([{ id: 's3', text: 'x', status: 'DONE' }], { ...facts, plan });
    expect(again.steps.at(-1)).toMatchObject({ text: 'Tidy up', status: 'DONE', added: true });
  });

  it('refuses two steps at once, unknown ids and more than 30 steps', async () => {
    const refused = [
      [
        { id: 's1', text: 'x', status: 'IN_PROGRESS' },
        { id: 's2', text: 'x', status: 'IN_PROGRESS' },
      ],
      [{ id: 's9', text: 'x', status: 'DONE' }],
      Array.from({ length: 29 }, (_, at) => ({ text: `step ${at}`, status: 'PENDING' })),
    ];
    for (const steps of refused) {
      await expect(updated(steps, facts)).rejects.toMatchObject({ code: 'PLAN_ERROR' });
    }
  });

  it('is refused before a plan is approved', async () => {
    const steps = [{ text: 'x', status: 'DONE' }];
    for (const plan of [null, { ...approved, reviewState: 'AWAITING_APPROVAL' as const }]) {
      await expect(updated(steps, { plan })).rejects.toMatchObject({ code: 'PLAN_ERROR' });
    }
  });

  it('keeps a list of its own in a READ_ONLY run, which is no approved plan', async () => {
    const readOnly: Facts = { permissionMode: 'READ_ONLY', phase: 'BUILD' };
    const first = await updated([{ text: 'Read', status: 'IN_PROGRESS' }], readOnly);
    expect(first).toMatchObject({
      revision: 1,
      reviewState: 'DRAFT',
      files: [],
      steps: [{ id: 's1', text: 'Read', status: 'IN_PROGRESS' }],
    });
    const steps = [
      { id: 's1', text: 'Read more', status: 'DONE' },
      { text: 'Tell', status: 'IN_PROGRESS' },
    ];
    const second = await updated(steps, { ...readOnly, plan: first });
    expect(second).toMatchObject({
      taskId: first.taskId,
      steps: [
        { id: 's1', text: 'Read more', status: 'DONE' },
        { id: 's2', text: 'Tell', status: 'IN_PROGRESS' },
      ],
    });
  });

  it('shows the model the whole list', async () => {
    const steps = [{ id: 's1', text: 'x', status: 'DONE' }];
    expect(await decide(new PlanStepTool(), { steps }, facts)).toMatchObject({
      outcome: { content: '[x] s1 Change\n[ ] s2 Test', summary: '1 of 2 steps done' },
    });
  });
});

describe('ask_user', () => {
  const question = { question: 'Which one?', options: ['a', 'b'] };

  function configured(value: string): Config {
    return loadConfig({ DATA_DIR: root, SECRET_KEY: 'x'.repeat(32), HARNESS_ASK_USER: value });
  }

  it('asks, where it is turned on', async () => {
    const tool = new AskUserTool(configured('on'));
    expect(await decide(tool, question)).toMatchObject({
      kind: 'ask',
      question: { text: 'Which one?', options: ['a', 'b'] },
    });
    expect(await decide(tool, { question: 'Which?' })).toMatchObject({ question: { options: [] } });
    const tooMuch = [
      { question: 'x'.repeat(4_001) },
      { question: ' ' },
      { question: 'x', options: Array.from({ length: 7 }, () => 'y') },
      { ...question, policy: 'NEVER' },
    ];
    for (const input of tooMuch) {
      await expect(decide(tool, input)).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    }
  });

  it('is off unless somebody turns it on', async () => {
    await expect(decide(new AskUserTool(configured('off')), question)).rejects.toMatchObject({
      code: 'TOOL_NOT_OFFERED',
    });
    expect(loadConfig({ DATA_DIR: root, SECRET_KEY: 'x'.repeat(32) }).HARNESS_ASK_USER).toBe(false);
  });
});
