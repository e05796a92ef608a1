import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import type { ScriptStep } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { ApprovalRepository } from '../../../src/effect/index.js';
import { EventRepository } from '../../../src/harness/store/event.repository.js';
import { DeltaLog } from '../../../src/harness/engine/model.calls.js';
import { SecretMask } from '../../../src/harness/store/secret-mask.js';
import { pendingOf } from '../../support/approvals.js';
import { ownRun } from '../../support/harness-run.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { done } from '../../support/people.js';
import {
  approvePlan,
  call,
  calling,
  DONE,
  planning,
  READ_ONLY,
  toolResults,
} from '../../support/scripted-model.js';
import { eventually } from '../../support/wait.js';

let harness: Harness;
let database: Database;

beforeAll(async () => {
  harness = await startHarness({
    environment: { HARNESS_ASK_USER: 'on' },
  });
  database = harness.plinth.app.get(Database);
});

afterAll(() => harness.stop());

beforeEach(() => harness.simulator.reset());

afterEach(() => {
  jest.restoreAllMocks();
});

async function begin(session: object, steps: ScriptStep[], run: object = {}): Promise<RunView> {
  const { sessionId } = await harness.createSession({ ...session });
  harness.script(...steps);
  return harness.createRun(sessionId, { ...run });
}

async function say(run: RunView, kind: string, content: string): Promise<void> {
  done(await harness.post(run, '/inputs', { kind, content, idempotencyKey: freshKey() }));
}

/** Waits until the model has been asked whose answer is held. */
async function held(): Promise<void> {
  await eventually(
    () => harness.simulator.held,
    (count) => count === 1,
  );
}

const eventsOf = async (run: RunView, type: string) =>
  (await harness.events(run)).filter((event) => event.type === type);

describe('the last answer', () => {
  /** Which transaction has stored the first answer of the model, and which the event of the type. */
  async function transactions(run: RunView, type: string): Promise<unknown[]> {
    const [message] = await database.query<{ xmin: string }>(
      `SELECT xmin::text AS xmin FROM harness_message WHERE run_id = $1 AND role = 'ASSISTANT'
        ORDER BY sequence LIMIT 1`,
      [run.runId],
    );
    const [event] = await database.query<{ xmin: string }>(
      'SELECT xmin::text AS xmin FROM harness_event WHERE run_id = $1 AND type = $2',
      [run.runId, type],
    );
    return [message?.xmin, event?.xmin];
  }

  it('and the end of the run are one transaction: no crash comes between them', async () => {
    const run = await begin(READ_ONLY, [DONE]);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    const [message, end] = await transactions(run, 'run.completed');
    expect(message).toBe(end);
  });

  it('takes in what was said until then in its own transaction, and the run goes on', async () => {
    const run = await begin(READ_ONLY, [{ ...DONE, hold: true }, { text: 'And so on.' }]);
    await held();
    await say(run, 'FOLLOW_UP', 'And then?');
    harness.simulator.release();
    const taken = await eventually(
      () => eventsOf(run, 'input.consumed'),
      ({ length }) => length > 0,
    );
    expect(taken.map(({ data }) => data['kind'])).toEqual(['FOLLOW_UP']);
    const [message, consumed] = await transactions(run, 'input.consumed');
    expect(message).toBe(consumed);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    const messages = await harness.messages(run);
    expect(messages.map(({ role }) => role).slice(0, 3)).toEqual(['USER', 'ASSISTANT', 'USER']);
    expect(messages[2]).toMatchObject({ messageId: taken[0]?.data['messageId'] });
  });
});

describe('a question', () => {
  const ASK = calling('ask_user', { question: 'Which one?' });

  it('is answered by what is said after it, and by nothing else', async () => {
    const run = await begin({}, [{ ...ASK, hold: true }, planning('a.txt')]);
    await held();
    await say(run, 'FOLLOW_UP', 'a later wish');
    await say(run, 'STEER', 'an earlier word');
    harness.simulator.release();
    const waiting = await harness.waitFor(run, 'WAITING_FOR_INPUT');
    expect(waiting['pendingInputs']).toMatchObject([{ kind: 'FOLLOW_UP' }]);
    await say(run, 'STEER', 'the second one');
    await harness.waitFor(run, 'QUEUED', 'RUNNING', 'COMPLETED');
    const [asked] = await eventually(
      () => toolResults(harness, run),
      ({ length }) => length > 0,
    );
    expect(asked?.content).toBe('The user answers:\nthe second one');
    const consumed = await eventsOf(run, 'input.consumed');
    const messages = await harness.messages(run);
    const named = consumed.map(({ data }) =>
      messages.find(({ messageId }) => messageId === data['messageId']),
    );
    expect(named).toMatchObject([
      { role: 'USER', content: 'an earlier word' },
      { role: 'TOOL', toolCallId: consumed[1]?.toolCallId },
    ]);
    await harness.post(run, '/cancel');
  });
});

describe('several calls of one message that change the run', () => {
  it('each go on from what the one before has left', async () => {
    const steps = {
      toolCalls: [
        ...call('plan_step', { steps: [{ id: 's1', text: 'Do it', status: 'DONE' }] }),
        ...call('plan_step', { steps: [{ text: 'Then that', status: 'IN_PROGRESS' }] }),
      ],
    };
    const run = await begin({ approvalPolicy: 'NEVER' }, [planning('a.txt'), steps, DONE]);
    expect((await harness.ended(run))['plan']).toMatchObject({
      steps: [
        { id: 's1', status: 'DONE' },
        { id: 's2', status: 'IN_PROGRESS' },
      ],
    });
    const updates = await eventsOf(run, 'plan.updated');
    const shown = updates.map(({ data }) => {
      const { steps: all } = data as { steps: { id: string; status: string }[] };
      return all.map(({ id, status }) => `${id} ${status}`);
    });
    expect(shown).toEqual([['s1 DONE'], ['s1 DONE', 's2 IN_PROGRESS']]);
  });

  it('such as two plans, of which nobody reviews any: the second is refused', async () => {
    const plan = { summary: 'Do it', steps: [{ text: 'Do it' }] };
    const two = {
      toolCalls: [
        ...call('plan_create', { ...plan, files: ['a.txt'] }),
        ...call('plan_create', { ...plan, files: ['b.txt'] }),
      ],
    };
    const run = await begin({ approvalPolicy: 'NEVER' }, [two, DONE]);
    expect((await harness.ended(run))['plan']).toMatchObject({ files: ['a.txt'] });
    const results = await toolResults(harness, run);
    expect(results.map(({ toolError }) => toolError)).toEqual([false, true]);
    expect(await eventsOf(run, 'plan.created')).toHaveLength(1);
  });
});

describe('a service that counts nothing', () => {
  const look = (n: number): ScriptStep => ({
    toolCalls: call('search_text', { pattern: `word${n}` }),
    noUsage: true,
  });

  it('is held to the limits by an estimate, which is marked as one', async () => {
    const looks = Array.from({ length: 9 }, (_, n) => look(n));
    const run = await begin(READ_ONLY, looks, { budget: { maxInputTokens: 1_000 } });
    const ended = await harness.ended(run);
    expect(ended).toMatchObject({ status: 'FAILED', stopReason: 'MAX_TOKENS' });
    const calls = await callsOf(run);
    expect(calls.every(({ estimated, state }) => estimated && state === 'DONE')).toBe(true);
    const sum = calls.reduce((total, { inputTokens }) => total + (inputTokens ?? 0), 0);
    expect(ended['cumulativeUsage']).toMatchObject({ inputTokens: sum });
    expect(calls[0]?.outputTokens).toBeGreaterThan(0);
  });

  it('counts answers that break off, and nothing for a request that it has not taken', async () => {
    const run = await begin(READ_ONLY, [{ status: 503 }, { chunks: 9, cut: 4 }, DONE]);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    const [refused, cut, whole] = await callsOf(run);
    expect(refused).toMatchObject({ state: 'FAILED', inputTokens: null, estimated: false });
    expect(cut).toMatchObject({ state: 'FAILED', estimated: true });
    expect(whole).toMatchObject({ state: 'DONE', estimated: false });
    const counted = (cut?.inputTokens ?? 0) + (whole?.inputTokens ?? 0);
    expect(cut?.inputTokens).toBeGreaterThan(0);
    const { data } = done(
      await harness.session.get<{ inputTokens: number }>(harness.path(run, '/usage')),
    );
    expect(data.inputTokens).toBe(counted);
  });

  interface Counted {
    readonly state: string;
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
    readonly estimated: boolean;
  }

  async function callsOf(run: RunView): Promise<Counted[]> {
    const path = harness.path(run, '/usage');
    return done(await harness.session.get<{ modelCalls: Counted[] }>(path)).data.modelCalls;
  }
});

describe('a grant that is taken back', () => {
  it('in the middle of a message no longer holds for its next call', async () => {
    const { sessionId } = await harness.createSession();
    const both = {
      toolCalls: [
        ...call('write_file', { path: 'one.txt', content: '1\n' }),
        ...call('write_file', { path: 'two.txt', content: '2\n' }),
      ],
    };
    harness.script(planning('plan.txt'), both);
    const run = await harness.createRun(sessionId);
    await database.query(
      `INSERT INTO harness_grant (id, tenant_id, session_id, kind, subject_hash, subject, approval_id, granted_by)
       SELECT gen_random_uuid(), '000000', $1, 'PATH', encode(sha256(path::bytea), 'hex'), path, gen_random_uuid(), 1
         FROM unnest(ARRAY['one.txt', 'two.txt']) AS path`,
      [sessionId],
    );
    const grants = harness.plinth.app.get(ApprovalRepository, { strict: false });
    const asStored = grants.grantsOf.bind(grants);
    jest.spyOn(grants, 'grantsOf').mockImplementationOnce(async (tenantId, id) => {
      const rows = await asStored(tenantId, id);
      await database.query('UPDATE harness_grant SET revoked_at = now() WHERE session_id = $1', [
        id,
      ]);
      return rows;
    });
    await approvePlan(harness, run);

    const waiting = await harness.waitFor(run, 'WAITING_FOR_APPROVAL');
    expect(pendingOf(waiting).map(({ argumentsJson }) => argumentsJson)).toEqual([
      expect.stringContaining('two.txt'),
    ]);
    expect(await eventsOf(run, 'file.changed')).toMatchObject([{ data: { path: 'one.txt' } }]);
    await harness.post(run, '/cancel');
  });
});

describe('a run of very many events', () => {
  it('has its deltas merged for longer from the 15,000th on', async () => {
    const { plinth, session } = harness;
    const { lease, ledger, runId } = await ownRun(plinth, session);
    const events = plinth.app.get(EventRepository, { strict: false });
    const mask = plinth.app.get(SecretMask, { strict: false });
    const turn = { claim: lease, effectId: 'e', iteration: 1, mask };
    const written = async (sequence: number): Promise<number> => {
      const log = new DeltaLog(ledger, events, { ...turn, sequence });
      for (let part = 0; part < 5; part += 1) log.add('assistant.text.delta', 'x'.repeat(600));
      await log.flush();
      return events.prune({ tenantId: lease.tenantId, id: runId });
    };
    expect(await written(14_000)).toBe(5);
    expect(await written(15_000)).toBe(1);
  });

  it('goes on without deltas after one warning, whatever happens in it', async () => {
    const run = await begin({}, [planning('a.txt')]);
    await harness.waitFor(run, 'WAITING_FOR_INPUT');
    await database.query(
      'UPDATE harness_run SET next_event_sequence = 20001 WHERE tenant_id = $1 AND id = $2',
      ['000000', run.runId],
    );
    harness.script(
      { text: 'I look at it.', toolCalls: call('list_files', {}) },
      { text: 'And again.', toolCalls: call('read_file', { path: 'README.md' }) },
      { text: 'All is well.' },
    );
    await approvePlan(harness, run);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    expect(await eventsOf(run, 'limit.warning')).toMatchObject([
      { data: { kind: 'events', limit: 20_000 } },
    ]);
    expect(await eventsOf(run, 'assistant.text.delta')).toEqual([]);
    const texts = (await eventsOf(run, 'assistant.completed')).map(({ data }) => data['text']);
    expect(texts.slice(-3)).toEqual(['I look at it.', 'And again.', 'All is well.']);
  });
});
