import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { MODEL_CALL_LIMITS } from '../../../src/harness/context/compaction.js';
import { overrideConstants } from '../../support/override-constants.js';
import { RUN_QUEUE } from '../../../src/harness/api/run/run.dto.js';
import { BegunRuns, runsOf } from '../../support/begun-runs.js';
import { CODER, freshKey, startHarness } from '../../support/harness.js';
import type { Harness, RunView, SessionView } from '../../support/harness.js';
import { occupy, ONE_PLACE } from '../../support/harness-states.js';
import { createModel } from '../../support/models.js';
import { oddValues } from '../../support/odd-input.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import type { Answer } from '../../support/session.js';

const NO_ID = '00000000-0000-7000-8000-000000000000';
/** The smallest GIF, 1 × 1. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==', 'base64');
const MIB = 1024 * 1024;

let harness: Harness;
let reader: Person;
let writer: Person;

overrideConstants(RUN_QUEUE, { maxRuns: 6 });

overrideConstants(MODEL_CALL_LIMITS, { idleMs: 600_000 });

beforeAll(async () => {
  harness = await startHarness({
    environment: ONE_PLACE,
  });
  const { plinth, session: admin } = harness;
  const use = await makeRole(admin, 'harness-reader', ['coding:harness:use']);
  const write = await makeRole(admin, 'harness-writer', [
    'coding:harness:use',
    'coding:harness:write',
  ]);
  reader = await makeUser(plinth, admin, 'reader', [use]);
  writer = await makeUser(plinth, admin, 'writer', [write]);
  await occupy(harness);
});

afterAll(() => harness.stop());

const begun = new BegunRuns();

afterEach(() => begun.cancelAll(harness));

function newSession(over: Record<string, unknown> = {}, by = writer.session): Promise<SessionView> {
  return harness.createSession(over, by);
}

function dataUrl(mediaType: string, bytes: Buffer): string {
  return `data:${mediaType};base64,${bytes.toString('base64')}`;
}

describe('POST runs', () => {
  it('answers the run with every field that existing clients parse', async () => {
    const session = await newSession();
    const { data } = done(await begun.start(writer.session, session));

    expect(data).toEqual({
      schemaVersion: 7,
      model: CODER,
      runId: expect.stringMatching(/^[\da-f-]{36}$/),
      sessionId: session.sessionId,
      tenantId: '000000',
      userId: writer.id,
      status: 'QUEUED',
      phase: 'PLAN',
      recovering: false,
      cancellationRequested: false,
      reason: 'created',
      originalRequirement: 'Fix add()',
      permissionMode: 'WORKSPACE_WRITE',
      approvalPolicy: 'ON_REQUEST',
      budget: {
        maxIterations: 60,
        maxToolCalls: 400,
        maxInputTokens: 1_000_000,
        maxOutputTokens: 200_000,
        maxWallTimeMillis: 3_600_000,
      },
      plan: null,
      question: null,
      pendingInputs: [],
      approvals: {},
      toolEffects: {},
      traceId: null,
      cumulativeUsage: { inputTokens: 0, outputTokens: 0, totalTokens: 0, cachedTokens: 0 },
      cost: null,
      contextUsed: null,
      contextLimit: null,
      iteration: 0,
      toolCallCount: 0,
      stopReason: null,
      error: null,
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      endedAt: null,
      revision: 1,
      lastEventSequence: 2,
    });
    expect((await writer.session.get(harness.path(data))).data).toEqual(data);
    expect((await writer.session.get(runsOf(session))).data).toEqual([data]);
  });

  it('tells of itself with its first two events and the first message', async () => {
    const session = await newSession();
    const { data: run } = done(await begun.start(writer.session, session));
    const events = await harness.events(run, writer.session);

    expect(events.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'run.created'],
      [2, 'run.queued'],
    ]);
    expect(events[0]?.data).toEqual({
      status: 'QUEUED',
      revision: 1,
      phase: 'PLAN',
      requirement: 'Fix add()',
      permissionMode: 'WORKSPACE_WRITE',
      approvalPolicy: 'ON_REQUEST',
      model: CODER,
      limits: run['budget'],
    });
    expect(events[1]?.data).toMatchObject({ status: 'QUEUED', reason: 'created' });
    expect(await messagesOf(session)).toEqual([
      {
        schemaVersion: 1,
        messageId: expect.any(String),
        sessionId: session.sessionId,
        runId: run.runId,
        sequence: 1,
        role: 'USER',
        content: 'Fix add()',
        thinking: null,
        toolCalls: [],
        toolCallId: null,
        toolName: null,
        toolError: false,
        usage: null,
        metadata: { kind: 'INITIAL' },
        timestamp: expect.any(Number),
      },
    ]);
  });

  it('begins building at once where nothing is changed', async () => {
    const session = await newSession({ permissionMode: 'READ_ONLY' }, reader.session);

    expect(done(await begun.start(reader.session, session)).data).toMatchObject({ phase: 'BUILD' });
  });

  it('takes what is asked for of a budget, and no more than the server gives', async () => {
    const session = await newSession();
    const budget = { maxIterations: 5, maxToolCalls: 0, maxInputTokens: 9_000_000 };

    expect(done(await begun.start(writer.session, session, { budget })).data['budget']).toEqual({
      maxIterations: 5,
      maxToolCalls: 400,
      maxInputTokens: 1_000_000,
      maxOutputTokens: 200_000,
      maxWallTimeMillis: 3_600_000,
    });
  });

  it.each([
    ['no requirement', 'requirement', { requirement: ' ' }],
    ['a long requirement', 'at most 200000', { requirement: 'x'.repeat(200_001) }],
    ['no key', 'idempotencyKey', { idempotencyKey: undefined }],
    ['a long key', 'at most 256', { idempotencyKey: 'k'.repeat(257) }],
    ['a negative budget', 'maxIterations', { budget: { maxIterations: -1 } }],
    ['half a step', 'whole number', { budget: { maxIterations: 1.5 } }],
    ['a budget of another form', 'budget must be an object', { budget: 'much' }],
    ['images of another form', 'images must be a list', { images: 'x' }],
    [
      'six images',
      'more than 5',
      { images: Array(6).fill({ dataUrl: dataUrl('image/gif', GIF) }) },
    ],
  ])('refuses %s', async (_, message, over) => {
    const answer = await begun.start(writer.session, await newSession(), over);

    expect(answer).toMatchObject({ code: 400 });
    expect(answer.msg).toContain(message);
  });

  it.each(['requirement', 'idempotencyKey', 'images', 'budget'])(
    'refuses or stores an odd %s',
    async (field) => {
      const session = await newSession();
      for (const value of oddValues) {
        const body = { requirement: 'Fix add()', idempotencyKey: freshKey(), [field]: 0 };
        const odd = JSON.stringify(body).replace(`"${field}":0`, () => `"${field}":${value}`);
        const { text } = await writer.session.raw('POST', runsOf(session), odd);
        const { code, data } = JSON.parse(text) as Answer<RunView>;

        expect([200, 400]).toContain(code);
        if (code === 200) done(await writer.session.post(harness.path(data, '/cancel')));
      }
    },
  );

  it('is its session’s user’s, whoever asks for it', async () => {
    const { data } = done(await begun.start(harness.session, await newSession()));

    expect(data).toMatchObject({ userId: writer.id });
  });

  it('takes a requirement of 200,000 characters, in whatever script', async () => {
    const requirement = '加'.repeat(200_000);
    const session = await newSession();
    const { data } = done(await begun.start(writer.session, session, { requirement }));

    expect(data['originalRequirement']).toBe(requirement);
  });
});

describe('images', () => {
  it('are kept, and named by the message of the requirement', async () => {
    const session = await newSession();
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(20)]);
    const images = [
      { dataUrl: dataUrl('image/gif', GIF) },
      { dataUrl: dataUrl('image/png', png), detail: 'high' },
    ];
    done(await begun.start(writer.session, session, { images }));
    const [message] = await messagesOf(session);

    expect(message?.['metadata']).toEqual({
      kind: 'INITIAL',
      images: [
        {
          artifactId: expect.any(String),
          mediaType: 'image/gif',
          byteSize: GIF.length,
          detail: 'auto',
        },
        {
          artifactId: expect.any(String),
          mediaType: 'image/png',
          byteSize: png.length,
          detail: 'high',
        },
      ],
    });
  });

  it('may have 8 MiB together, decoded', async () => {
    const session = await newSession();
    const large = (bytes: number): string =>
      dataUrl('image/gif', Buffer.concat([GIF, Buffer.alloc(bytes - GIF.length)]));
    const over = [{ dataUrl: large(4 * MIB) }, { dataUrl: large(4 * MIB + 1) }];

    expect(await begun.start(writer.session, session, { images: over })).toMatchObject({
      code: 400,
      data: { errorCode: 'TOO_LARGE' },
    });
    const most = [{ dataUrl: large(4 * MIB) }, { dataUrl: large(4 * MIB) }];
    done(await begun.start(writer.session, session, { images: most }));
  });

  it.each([
    ['an address', 'https://example.com/a.png'],
    ['no data', 'data:image/png;base64,'],
    ['another type', dataUrl('image/svg+xml', Buffer.from('<svg/>'))],
    ['a false type', dataUrl('image/png', GIF)],
    ['no image', dataUrl('image/gif', Buffer.from('MZ, a program'))],
    ['a cut text', dataUrl('image/gif', GIF).slice(0, -3)],
    ['what is not base64', `data:image/gif;base64,${GIF.toString('base64url')}-_`],
  ])('are refused: %s', async (_, url) => {
    const answer = await begun.start(writer.session, await newSession(), {
      images: [{ dataUrl: url }],
    });

    expect(answer).toMatchObject({ code: 400, data: { errorCode: 'IMAGE_INVALID' } });
    expect(answer.msg).toContain('images[0].dataUrl');
  });

  it('are refused when the model cannot see', async () => {
    const { url: apiHost } = harness.simulator;
    const blind = { supportsTools: true, supportsVision: false, apiHost };
    await createModel(harness.session, { modelName: 'blind', ...blind });
    const session = await newSession({ model: 'blind' });
    const images = [{ dataUrl: dataUrl('image/gif', GIF) }];

    expect(await begun.start(writer.session, session, { images })).toMatchObject({
      code: 400,
      data: { errorCode: 'MODEL_NO_VISION' },
    });
    done(await begun.start(writer.session, session));
  });

  it('are let through by no other route', async () => {
    const { sessionId } = await newSession();
    const body = { title: 'x'.repeat(2 * MIB) };
    for (const path of [
      '/coding/harness/sessions',
      `/coding/harness/sessions/${sessionId}/restore`,
      `/coding/harness/sessions/${sessionId}/runs/${NO_ID}/cancel`,
      '/chat/send',
    ]) {
      expect(await writer.session.post(path, body)).toMatchObject({
        code: 400,
        msg: 'The request body is too large. This route reads 1024 KiB at most. Send less at once.',
        data: { errorCode: 'TOO_LARGE' },
      });
    }
    expect(
      await writer.session.post(`/coding/harness/sessions/${sessionId}/runs`, {
        requirement: 'x'.repeat(15 * MIB),
      }),
    ).toMatchObject({
      code: 400,
      msg: 'The request body is too large. This route reads 14336 KiB at most. Send less at once.',
    });
  });
});

describe('an idempotencyKey', () => {
  it('is the same run with the same body, and a conflict with another', async () => {
    const session = await newSession();
    const body = { requirement: 'Fix add()', idempotencyKey: freshKey() };
    const first = done(await begun.start(writer.session, session, body)).data;

    expect(done(await begun.start(writer.session, session, body)).data).toEqual({
      ...first,
      replayed: true,
    });
    // The run is unfinished, too: the key says more.
    for (const over of [
      { requirement: 'Fix sub()' },
      { budget: { maxIterations: 3 } },
      { images: [{ dataUrl: dataUrl('image/gif', GIF) }] },
    ]) {
      expect(await begun.start(writer.session, session, { ...body, ...over })).toMatchObject({
        code: 409,
        data: { errorCode: 'IDEMPOTENCY_CONFLICT' },
      });
    }
    done(await writer.session.post(harness.path(first, '/cancel')));

    expect(done(await begun.start(writer.session, session, body)).data).toMatchObject({
      runId: first.runId,
      status: 'CANCELLED',
      replayed: true,
    });
  });

  it('gives one run to however many ask at once', async () => {
    const session = await newSession();
    const body = { requirement: 'Fix add()', idempotencyKey: freshKey() };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => begun.start(writer.session, session, body)),
    );

    expect(new Set(answers.map((answer) => done(answer).data.runId)).size).toBe(1);
    expect(answers.filter(({ data }) => !data['replayed'])).toHaveLength(1);
    expect((await writer.session.get<RunView[]>(runsOf(session))).data).toHaveLength(1);
    expect(await messagesOf(session)).toHaveLength(1);
  });

  it('may be used again in another session', async () => {
    const body = { requirement: 'Fix add()', idempotencyKey: freshKey() };
    const first = done(await begun.start(writer.session, await newSession(), body)).data;
    const second = done(await begun.start(writer.session, await newSession(), body)).data;

    expect(second.runId).not.toBe(first.runId);
  });
});

describe('a session', () => {
  it('has one unfinished run, whose id the refusal tells', async () => {
    const session = await newSession();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => begun.start(writer.session, session)),
    );
    const [accepted, ...others] = answers.filter(({ code }) => code === 200);

    expect(others).toEqual([]);
    for (const answer of answers.filter(({ code }) => code !== 200)) {
      expect(answer).toMatchObject({
        code: 409,
        data: { errorCode: 'RUN_ACTIVE', runId: accepted?.data.runId },
      });
    }
    done(
      await writer.session.post(
        harness.path(accepted?.data ?? { sessionId: '', runId: '' }, '/cancel'),
      ),
    );
    done(await begun.start(writer.session, session));
    const list = done(await writer.session.get<RunView[]>(runsOf(session))).data;

    expect(list.map(({ status }) => status)).toEqual(['QUEUED', 'CANCELLED']);
    expect(
      done(await writer.session.get<RunView[]>(`${runsOf(session)}?pageSize=1&pageNum=2`)).data,
    ).toEqual(list.slice(1));
  });

  it('whose model was deleted stays readable and takes no new run', async () => {
    const { url: apiHost } = harness.simulator;
    const fields = { modelName: 'leaving', supportsTools: true, apiHost };
    const id = await createModel(harness.session, fields);
    const session = await newSession({ model: 'leaving' });
    done(await harness.session.delete(`/system/model/${id}`));

    done(await writer.session.get(`/coding/harness/sessions/${session.sessionId}`));
    expect(done(await writer.session.get<RunView[]>(runsOf(session))).data).toEqual([]);
    expect(await begun.start(writer.session, session)).toMatchObject({
      code: 400,
      data: { errorCode: 'MODEL_NOT_FOUND', modelName: 'leaving' },
    });
  });

  it('that is deleted while a run begins is without one in the end', async () => {
    for (let round = 0; round < 5; round += 1) {
      const session = await newSession();
      const [answer] = await Promise.all([
        begun.start(writer.session, session),
        writer.session.delete(`/coding/harness/sessions/${session.sessionId}`),
      ]);
      const { data } = await writer.session.get<SessionView>(
        `/coding/harness/sessions/${session.sessionId}`,
      );

      expect([200, 409]).toContain(answer.code);
      expect(data['activeRunId']).toBeNull();
    }
  });
});

describe('the queue', () => {
  it('has an end, where 429 says when to come back', async () => {
    const { data: first } = done(await begun.start(writer.session, await newSession()));
    for (let count = 1; count < 6; count += 1) {
      done(await begun.start(writer.session, await newSession()));
    }
    const session = await newSession();
    const body = { requirement: 'One too many', idempotencyKey: freshKey() };
    const { text, headers } = await writer.session.raw('POST', runsOf(session), body);

    expect(JSON.parse(text)).toMatchObject({ code: 429, data: { errorCode: 'QUEUE_FULL' } });
    expect(headers['retry-after']).toBe('5');
    done(await writer.session.post(harness.path(first, '/cancel')));
    done(await begun.start(writer.session, session, body));
  });

  it('takes no run more when many requests come at the same time', async () => {
    const sessions = await Promise.all(Array.from({ length: 30 }, () => newSession()));
    const answers = await Promise.all(sessions.map((one) => begun.start(writer.session, one)));

    const full = answers.filter(({ code }) => code !== 200);
    expect(answers.length - full.length).toBe(6);
    for (const { code, data } of full) {
      expect([code, data]).toEqual([429, { errorCode: 'QUEUE_FULL' }]);
    }
    // A refused request leaves nothing behind: its key is free.
    const path = runsOf(sessions[answers.findIndex(({ code }) => code === 429)] as SessionView);
    expect(done(await writer.session.get<RunView[]>(path)).data).toEqual([]);
  });
});

async function messagesOf({ sessionId }: SessionView): Promise<Record<string, unknown>[]> {
  const path = `/coding/harness/sessions/${sessionId}/messages`;
  return done(await writer.session.get<Record<string, unknown>[]>(path)).data;
}
