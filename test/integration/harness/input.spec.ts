import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { MODEL_CALL_LIMITS } from '../../../src/harness/context/compaction.js';
import { freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { occupy, ONE_PLACE, putRun } from '../../support/harness-states.js';
import { done } from '../../support/people.js';
import type { Answer } from '../../support/session.js';

let harness: Harness;
let run: RunView;

overrideConstants(MODEL_CALL_LIMITS, { idleMs: 600_000 });

beforeAll(async () => {
  harness = await startHarness({ environment: ONE_PLACE });
  await occupy(harness);
});

afterAll(() => harness.stop());

afterEach(async () => {
  done(await harness.post(run, '/cancel'));
});

/** A run that waits in the queue. */
async function begin(): Promise<RunView> {
  const { sessionId } = await harness.createSession();
  run = await harness.createRun(sessionId);
  return run;
}

function say(content: string, over: object = {}): Promise<Answer<RunView>> {
  const body = { kind: 'STEER', content, idempotencyKey: freshKey(), ...over };
  return harness.post(run, '/inputs', body);
}

async function eventTypes(): Promise<string[]> {
  return (await harness.events(run)).map(({ type }) => type);
}

describe('what is said to a run', () => {
  it('waits with it until it is taken in', async () => {
    await begin();
    done(await say('Mind the tests'));
    const { data } = done(await say('And then commit', { kind: 'FOLLOW_UP' }));

    expect(data['pendingInputs']).toEqual([
      {
        inputId: expect.any(String),
        kind: 'STEER',
        content: 'Mind the tests',
        createdAt: expect.any(Number),
      },
      expect.objectContaining({ kind: 'FOLLOW_UP', content: 'And then commit' }),
    ]);
    expect(data.status).toBe('QUEUED');
    const events = await harness.events(run);
    const queued = events
      .slice(2)
      .map(({ type, data: { kind, content } }) => [type, kind, content]);
    expect(queued).toEqual([
      ['input.queued', 'STEER', 'Mind the tests'],
      ['input.queued', 'FOLLOW_UP', 'And then commit'],
    ]);
  });

  it('is said once with one key, however often and at once', async () => {
    await begin();
    const idempotencyKey = freshKey();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => say('Once', { idempotencyKey })),
    );

    expect(answers.map(({ code }) => code)).toEqual(Array(10).fill(200));
    expect(answers.filter(({ data }) => !data['replayed'])).toHaveLength(1);
    expect((await harness.run(run))['pendingInputs']).toHaveLength(1);
    for (const over of [{ content: 'Twice' }, { kind: 'FOLLOW_UP' }]) {
      expect(await say('Once', { idempotencyKey, ...over })).toMatchObject({
        code: 409,
        data: { errorCode: 'IDEMPOTENCY_CONFLICT' },
      });
    }
  });

  it.each([
    ['kind', { kind: 'INITIAL' }],
    ['kind', { kind: undefined }],
    ['content', { content: ' ' }],
    ['content', { content: 'x'.repeat(200_001) }],
    ['idempotencyKey', { idempotencyKey: '' }],
    ['idempotencyKey', { idempotencyKey: 'k'.repeat(257) }],
  ])('is refused with a wrong %s', async (field, over) => {
    await begin();
    const answer = await say('Hello', over);

    expect(answer).toMatchObject({ code: 400 });
    expect(answer.msg).toContain(field);
  });

  it('has 64 places', async () => {
    await begin();
    for (let count = 0; count < 64; count += 1) done(await say(`Word ${count}`));

    expect(await say('One too many')).toMatchObject({
      code: 409,
      data: { errorCode: 'TOO_LARGE' },
    });
  });

  it('has 1 MiB, counted in bytes', async () => {
    await begin();
    const third = '加'.repeat(116_508);
    for (let count = 0; count < 3; count += 1) done(await say(third));

    expect(await say('加'.repeat(2))).toMatchObject({ data: { errorCode: 'TOO_LARGE' } });
    done(await say('1234'));
    expect(await say('5')).toMatchObject({ data: { errorCode: 'TOO_LARGE' } });
  });
});

describe('a run that is over', () => {
  it('takes no STEER', async () => {
    await begin();
    done(await harness.post(run, '/cancel'));

    expect(await say('Wait')).toMatchObject({
      code: 409,
      data: { errorCode: 'RUN_ENDED', status: 'CANCELLED' },
    });
    expect((await harness.run(run))['pendingInputs']).toEqual([]);
  });

  it('is followed by a new one on a FOLLOW_UP, once', async () => {
    const first = await begin();
    done(await harness.post(first, '/cancel'));
    const idempotencyKey = freshKey();
    const followUp = { kind: 'FOLLOW_UP', idempotencyKey };
    const { data: next } = done(await say('And sub()', followUp));
    const again = done(await say('And sub()', followUp)).data;

    expect(next).toMatchObject({ status: 'QUEUED', originalRequirement: 'And sub()' });
    expect(next.runId).not.toBe(first.runId);
    expect(again).toMatchObject({ runId: next.runId, replayed: true });
    expect(await say('And mul()', followUp)).toMatchObject({
      data: { errorCode: 'IDEMPOTENCY_CONFLICT' },
    });
    run = next;
  });

  it('is followed by a new one also where the key of the FOLLOW_UP was that of a run', async () => {
    const { sessionId } = await harness.createSession();
    const idempotencyKey = freshKey();
    run = await harness.createRun(sessionId, { idempotencyKey });
    done(await harness.post(run, '/cancel'));
    const { data: next } = done(await say('And sub()', { kind: 'FOLLOW_UP', idempotencyKey }));

    expect(next).toMatchObject({ status: 'QUEUED', originalRequirement: 'And sub()' });
    run = next;
  });

  it('answers what was said to it while it ran as before', async () => {
    const first = await begin();
    const followUp = { kind: 'FOLLOW_UP', idempotencyKey: freshKey() };
    done(await say('And sub()', followUp));
    done(await harness.post(first, '/cancel'));

    // Nobody has taken it in, and the run says so.
    expect(done(await say('And sub()', followUp)).data).toMatchObject({
      runId: first.runId,
      status: 'CANCELLED',
      replayed: true,
      pendingInputs: [{ kind: 'FOLLOW_UP', content: 'And sub()' }],
    });
  });
});

describe('a question', () => {
  const question = { toolCallId: randomUUID(), text: 'Which one?', options: ['add', 'sub'] };

  it('is shown, and answered by a STEER', async () => {
    await begin();
    await putRun(harness.plinth, run, {
      status: 'WAITING_FOR_INPUT',
      waitKind: 'QUESTION',
      question,
    });

    expect(await harness.run(run)).toMatchObject({ status: 'WAITING_FOR_INPUT', question });
    const { data } = done(await say('add'));
    expect(data).toMatchObject({
      ...{ status: 'QUEUED', reason: 'question_answered', question },
      pendingInputs: [{ kind: 'STEER', content: 'add' }],
    });
    expect((await eventTypes()).slice(-2)).toEqual(['input.queued', 'run.queued']);
  });

  it('is not answered by a FOLLOW_UP', async () => {
    await begin();
    await putRun(harness.plinth, run, {
      status: 'WAITING_FOR_INPUT',
      waitKind: 'QUESTION',
      question,
    });

    expect(done(await say('Later', { kind: 'FOLLOW_UP' })).data.status).toBe('WAITING_FOR_INPUT');
  });

  it('is none when the run waits for the review of its plan', async () => {
    await begin();
    await putRun(harness.plinth, run, { status: 'WAITING_FOR_INPUT', waitKind: 'PLAN' });

    expect(done(await say('Good plan')).data.status).toBe('WAITING_FOR_INPUT');
  });
});

describe('a deleted session', () => {
  it('is said nothing', async () => {
    await begin();
    const path = `/coding/harness/sessions/${run.sessionId}`;
    done(await harness.session.delete(path));

    for (const kind of ['STEER', 'FOLLOW_UP']) {
      expect(await say('Hello', { kind })).toMatchObject({
        code: 409,
        data: { errorCode: 'SESSION_DELETED' },
      });
    }
  });
});
