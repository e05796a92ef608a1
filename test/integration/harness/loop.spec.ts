import { execFileSync } from 'node:child_process';
import {
  close,
  closeSync,
  constants,
  existsSync,
  open,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pendingOf } from '../../support/approvals.js';
import { startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { eventually } from '../../support/wait.js';

let harness: Harness;

const BROKEN = 'export function add(a, b) {\n  return a - b;\n}\n';

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.stop());

beforeEach(() => {
  harness.write({ 'src/add.js': BROKEN });
});

const READ = { toolCalls: [{ name: 'read_file', arguments: { path: 'src/add.js' } }] };
const PLAN = {
  toolCalls: [
    {
      name: 'plan_create',
      arguments: {
        summary: 'Repair add',
        steps: [{ text: 'Add instead of subtracting' }],
        files: ['src/add.js'],
        risks: [],
      },
    },
  ],
};
const EDIT = {
  toolCalls: [
    {
      name: 'edit_file',
      arguments: { path: 'src/add.js', edits: [{ oldText: 'a - b', newText: 'a + b' }] },
    },
  ],
};
const DONE = { text: 'Done.' };

async function begin(
  session: Record<string, unknown>,
  ...steps: Parameters<Harness['script']>
): Promise<RunView> {
  const { sessionId } = await harness.createSession(session);
  harness.script(...steps);
  return harness.createRun(sessionId);
}

/** Keeps this process from reaching any file, by pipes that all of Node's threads for files wait for. */
function stallFiles(folder: string): { release(): void } {
  const pipe = join(folder, 'stalled');
  execFileSync('mkfifo', [pipe]);
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  for (let thread = 0; thread < threads; thread += 1) {
    open(pipe, 'r', (_, file) => close(file));
  }
  return {
    release: () => {
      closeSync(openSync(pipe, constants.O_RDWR));
      rmSync(pipe);
    },
  };
}

async function toolMessages(run: RunView): Promise<Record<string, unknown>[]> {
  const messages = await harness.messages(run);
  return messages.filter(({ runId, role }) => runId === run.runId && role === 'TOOL');
}

describe('a read-only run', () => {
  it('reads, answers and ends', async () => {
    const run = await begin({ permissionMode: 'READ_ONLY' }, READ, { text: 'It subtracts.' });

    expect(await harness.ended(run)).toMatchObject({
      status: 'COMPLETED',
      stopReason: 'END_TURN',
      iteration: 2,
      toolCallCount: 1,
      error: null,
    });
    const messages = await harness.messages(run);
    expect(messages.map(({ role }) => role)).toEqual(['USER', 'ASSISTANT', 'TOOL', 'ASSISTANT']);
    expect(messages[2]?.['content']).toContain('return a - b');
    expect(messages[3]?.['content']).toBe('It subtracts.');
    const events = await harness.events(run);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ type }) => type).filter((type) => !type.includes('delta'))).toEqual([
      'run.created',
      'run.queued',
      'run.started',
      'skills.loaded',
      'model.turn.started',
      'assistant.tool.complete',
      'assistant.completed',
      'usage.updated',
      'tool.started',
      'tool.completed',
      'model.turn.started',
      'assistant.completed',
      'usage.updated',
      'run.completed',
    ]);
  });

  it('says that a read has begun while it takes long', async () => {
    const search = { toolCalls: [{ name: 'search_text', arguments: { pattern: 'return' } }] };
    const run = await begin({ permissionMode: 'READ_ONLY' }, { ...search, hold: true }, DONE);
    await eventually(
      () => harness.simulator.held,
      (held) => held === 1,
    );
    const stalled = stallFiles(harness.workspace);
    try {
      harness.simulator.release();
      await eventually(
        () => harness.events(run),
        (events) => events.some(({ type }) => type === 'tool.started'),
      );
      const types = (await harness.events(run)).map(({ type }) => type);
      expect(types).not.toContain('tool.completed');
    } finally {
      stalled.release();
    }
    expect((await harness.ended(run)).status).toBe('COMPLETED');
    const types = (await harness.events(run)).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith('tool.'))).toEqual([
      'tool.started',
      'tool.completed',
    ]);
  });

  it('is not offered what it may not do, and is refused when it calls it all the same', async () => {
    const run = await begin({ permissionMode: 'READ_ONLY' }, EDIT, DONE);

    expect((await harness.ended(run)).status).toBe('COMPLETED');
    expect(await toolMessages(run)).toMatchObject([{ toolError: true, toolName: 'edit_file' }]);
    expect(readFileSync(join(harness.workspace, 'src/add.js'), 'utf8')).toBe(BROKEN);
  });
});

describe('a run that may write', () => {
  it('plans, waits for the review, edits what the plan names, and ends', async () => {
    const run = await begin({}, READ, PLAN, READ, EDIT, DONE);
    const waiting = await harness.waitFor(run, 'WAITING_FOR_INPUT');
    expect(waiting).toMatchObject({ phase: 'PLAN', plan: { reviewState: 'AWAITING_APPROVAL' } });
    expect(existsSync(join(harness.workspace, 'src/add.js'))).toBe(true);
    const plan = waiting['plan'] as Record<string, unknown>;
    const approved = await harness.post(run, '/plan/approve', {
      taskId: plan['taskId'],
      expectedRevision: plan['revision'],
      expectedHash: plan['canonicalHash'],
      idempotencyKey: 'approve-1',
    });
    expect(approved.code).toBe(200);

    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED', phase: 'BUILD' });
    expect(readFileSync(join(harness.workspace, 'src/add.js'), 'utf8')).toContain('a + b');
    const types = (await harness.events(run)).map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['plan.approved', 'file.changed', 'run.diff']));
  });

  it('asks for a change that the plan does not name, and is told of the refusal', async () => {
    const write = {
      toolCalls: [{ name: 'write_file', arguments: { path: 'other.js', content: '1\n' } }],
    };
    const run = await begin({}, PLAN, write, DONE);
    await approvePlan(run);
    const waiting = await harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    const [approval] = pendingOf(waiting);
    expect(approval).toMatchObject({ toolName: 'write_file', state: 'PENDING' });
    const answer = await harness.post(
      run,
      `/approvals/${String(approval?.['approvalId'])}/resolve`,
      {
        decisionId: 'no-1',
        decision: 'DENY',
        expectedRevision: approval?.['expectedRevision'] ?? approval?.['revision'],
        argumentsSha256: approval?.['argumentsSha256'],
        note: 'Not that file.',
      },
    );
    expect(answer.code).toBe(200);

    expect((await harness.ended(run)).status).toBe('COMPLETED');
    expect(existsSync(join(harness.workspace, 'other.js'))).toBe(false);
    const results = await toolMessages(run);
    expect(results.at(-1)?.['content']).toContain('Not that file.');
  });

  it('with policy NEVER asks nobody', async () => {
    const run = await begin({ approvalPolicy: 'NEVER' }, PLAN, READ, EDIT, DONE);

    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    expect(readFileSync(join(harness.workspace, 'src/add.js'), 'utf8')).toContain('a + b');
  });
});

describe('every completed call', () => {
  /** The toolName, the title and the status of each call that has ended, once its beginning was seen. */
  async function callsOf(run: RunView): Promise<unknown[]> {
    const begun = new Map<string | null | undefined, unknown>();
    const ended: unknown[] = [];
    for (const { type, toolCallId, data } of await harness.events(run)) {
      if (type === 'tool.started') {
        expect(begun.has(toolCallId)).toBe(false);
        begun.set(toolCallId, data['title']);
      }
      if (type !== 'tool.completed') continue;
      ended.push([data['toolName'], begun.get(toolCallId), data['status']]);
    }
    return ended;
  }

  it('has begun before, whatever has become of it', async () => {
    const wrong = {
      toolCalls: [
        { name: 'no_such_tool', arguments: {} },
        { name: 'read_file', arguments: { path: 'src/add.js', surprise: true } },
        { name: 'write_file', arguments: { path: 'x.js', content: 'x' } },
        { name: 'read_file', arguments: { path: 'missing.js' } },
      ],
    };
    const denied = {
      toolCalls: [{ name: 'delete_file', arguments: { path: 'src/add.js' } }],
    };
    const run = await begin({ approvalPolicy: 'NEVER' }, wrong, PLAN, READ, EDIT, denied, DONE);
    expect((await harness.ended(run)).status).toBe('COMPLETED');

    const calls = await callsOf(run);
    // Reads are stored as they end.
    expect(calls).toHaveLength(8);
    expect(calls).toEqual(
      expect.arrayContaining([
        ['no_such_tool', 'call no_such_tool', 'INVALID'],
        ['read_file', 'call read_file', 'INVALID'],
        ['write_file', 'write x.js', 'INVALID'],
        ['read_file', 'read missing.js', 'FAILED'],
        ['plan_create', expect.any(String), 'SUCCEEDED'],
        ['read_file', 'read src/add.js', 'SUCCEEDED'],
        ['edit_file', 'edit src/add.js', 'SUCCEEDED'],
        ['delete_file', 'delete src/add.js', 'DENIED'],
      ]),
    );
  });

  it('has begun before, also when the run is cancelled while it waits for consent', async () => {
    const write = {
      toolCalls: [{ name: 'write_file', arguments: { path: 'other.js', content: '1\n' } }],
    };
    const run = await begin({}, PLAN, write);
    await approvePlan(run);
    await harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    expect(await callsOf(run)).toHaveLength(1);
    await harness.post(run, '/cancel');
    await harness.ended(run);

    expect((await callsOf(run)).at(-1)).toEqual(['write_file', 'write other.js', 'NOT_EXECUTED']);
  });
});

describe('what a model does wrong', () => {
  it('an unknown tool, and arguments that break its rules, are answered with errors', async () => {
    const wrong = {
      toolCalls: [
        { name: 'no_such_tool', arguments: {} },
        { name: 'read_file', arguments: { path: 'src/add.js', surprise: true } },
        { name: 'read_file', arguments: { path: 'src/add.js' } },
      ],
    };
    const run = await begin({ permissionMode: 'READ_ONLY' }, wrong, DONE);

    expect((await harness.ended(run)).status).toBe('COMPLETED');
    const results = await toolMessages(run);
    expect(results.map(({ toolError }) => toolError).sort()).toEqual([false, true, true]);
  });

  it('the same call again and again is stopped', async () => {
    const run = await begin(
      { permissionMode: 'READ_ONLY' },
      ...Array.from({ length: 5 }, () => READ),
    );

    expect(await harness.ended(run)).toMatchObject({
      status: 'FAILED',
      stopReason: 'LOOP_DETECTED',
      toolCallCount: 5,
    });
    const types = (await harness.events(run)).map(({ type }) => type);
    expect(types.filter((type) => type === 'loop.warning')).toHaveLength(2);
  });

  it('an answer that is cut off carries nothing out', async () => {
    const cut = { ...EDIT, finishReason: 'length' };
    const run = await begin({ approvalPolicy: 'NEVER' }, PLAN, READ, cut, DONE);

    expect((await harness.ended(run)).status).toBe('COMPLETED');
    expect(readFileSync(join(harness.workspace, 'src/add.js'), 'utf8')).toBe(BROKEN);
  });
});

describe('a model service that fails', () => {
  it('is asked again, and the run goes on', async () => {
    const run = await begin(
      { permissionMode: 'READ_ONLY' },
      { status: 503 },
      { status: 503 },
      DONE,
    );

    expect((await harness.ended(run)).status).toBe('COMPLETED');
    const types = (await harness.events(run)).map(({ type }) => type);
    expect(types.filter((type) => type === 'model.retrying')).toHaveLength(2);
  });

  it('suspends the run when it stays away, and resume goes on', async () => {
    const away = { status: 503 };
    const run = await begin({ permissionMode: 'READ_ONLY' }, away, away, away, DONE);
    const suspended = await harness.waitFor(run, 'SUSPENDED');
    expect(suspended.error).toMatchObject({ code: 'model_unavailable' });
    expect((await harness.post(run, '/resume')).code).toBe(200);

    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED', error: null });
  });

  it('ends the run when it refuses the key', async () => {
    const run = await begin({ permissionMode: 'READ_ONLY' }, { status: 401 });
    expect(await harness.ended(run)).toMatchObject({ status: 'FAILED', stopReason: 'MODEL_AUTH' });
  });
});

describe('a cancel', () => {
  it('ends a run in the middle of a model’s turn', async () => {
    const run = await begin({ permissionMode: 'READ_ONLY' }, { chunks: 5, stall: 2 });
    await eventually(
      () => harness.events(run),
      (events) => events.some(({ type }) => type === 'assistant.text.delta'),
    );
    const answer = await harness.post<{ changed: boolean }>(run, '/cancel');
    expect(answer.code).toBe(200);

    expect(await harness.ended(run)).toMatchObject({
      status: 'CANCELLED',
      stopReason: 'USER_CANCEL',
    });
    const requested = (await harness.events(run)).filter(
      ({ type }) => type === 'run.cancel.requested',
    );
    expect(requested).toMatchObject([
      { data: { status: 'RUNNING', code: 'USER_CANCEL_REQUESTED', by: expect.any(Number) } },
    ]);
    expect((await harness.post<{ changed: boolean }>(run, '/cancel')).data.changed).toBe(false);
  });

  it('ends a run that waits for a review', async () => {
    const run = await begin({}, PLAN);
    await harness.waitFor(run, 'WAITING_FOR_INPUT');
    await harness.post(run, '/cancel');

    expect(await harness.run(run)).toMatchObject({ status: 'CANCELLED' });
  });
});

async function approvePlan(run: RunView): Promise<void> {
  const waiting = await harness.waitFor(run, 'WAITING_FOR_INPUT');
  const plan = waiting['plan'] as Record<string, unknown>;
  const answer = await harness.post(run, '/plan/approve', {
    taskId: plan['taskId'],
    expectedRevision: plan['revision'],
    expectedHash: plan['canonicalHash'],
    idempotencyKey: 'approve',
  });
  expect(answer.code).toBe(200);
}
