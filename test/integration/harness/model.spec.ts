import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants, setConstants } from '../../support/override-constants.js';
import { MODEL_CALL_LIMITS } from '../../../src/harness/context/compaction.js';
import type { ScriptStep } from '../../../simulator/index.js';
import { canary } from '../../support/canary.js';
import { CODER, startHarness } from '../../support/harness.js';
import type { Harness, RunView } from '../../support/harness.js';
import { createModel } from '../../support/models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import {
  call,
  calling,
  DONE,
  FREE,
  planning,
  READ_ONLY,
  sentTo,
  toolResults,
} from '../../support/scripted-model.js';
import type { SentMessage } from '../../support/scripted-model.js';
import { eventually } from '../../support/wait.js';

const FILES = { 'README.md': '# Example\n', 'src/add.js': 'export const add = 1;\n' };
overrideConstants(MODEL_CALL_LIMITS, { idleMs: 30_000 });

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.stop());

beforeEach(() => {
  harness.simulator.reset();
  rmSync(harness.workspace, { recursive: true, force: true });
  harness.write(FILES);
});

const write = (path: string): object => ({ path, content: 'x\n' });
const PLAN = planning('new.txt', 'other.txt');

async function begin(
  session: Record<string, unknown>,
  steps: readonly ScriptStep[],
  run: Record<string, unknown> = {},
): Promise<RunView> {
  const { sessionId } = await harness.createSession(session);
  harness.script(...steps);
  return harness.createRun(sessionId, run);
}

async function finished(...[session, steps, run]: Parameters<typeof begin>): Promise<RunView> {
  return harness.ended(await begin(session, steps, run));
}

const eventsOf = async (run: RunView, type: string) =>
  (await harness.events(run)).filter((event) => event.type === type);

const content = (path: string): string | undefined => {
  const file = join(harness.workspace, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};

const lastSent = (): SentMessage[] => sentTo(harness.simulator).at(-1) ?? [];

describe('a model whose arguments cannot be used', () => {
  const half = '{"path":"new.txt","content":"half of wh';
  const whole = '{"path":"new.txt","content":"whole"}';
  const cuts: readonly (readonly [string, ScriptStep])[] = [
    ['at its length', { toolCalls: call('write_file', half), finishReason: 'length' }],
    [
      'at its length, by chance after a whole call',
      { toolCalls: call('write_file', whole), length: true },
    ],
    ['at a filter', { toolCalls: call('write_file', whole), finishReason: 'content_filter' }],
  ];
  const unreadable: readonly (readonly [string, ScriptStep])[] = [
    ['cuts them though it says that it has finished', calling('write_file', half)],
    ['writes text instead of JSON', calling('write_file', 'path=new.txt')],
    ['writes a list', calling('write_file', '["new.txt"]')],
    ['writes one object after another', calling('write_file', `${whole}${whole}`)],
    ['writes JSON in a string', calling('write_file', JSON.stringify(whole))],
    ['writes a control character', calling('write_file', whole.replace('whole', '\0'))],
  ];

  it.each(cuts)('is cut %s: nothing is written, and it is told', async (_, cut) => {
    const run = await finished(FREE, [PLAN, cut, DONE]);
    expect(run).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' });
    expect(content('new.txt')).toBeUndefined();
    const notes = lastSent().filter(
      ({ role, content: text }) => role === 'user' && text?.startsWith('[harness'),
    );
    expect(notes.at(-1)?.content).toMatch(/nothing of it was carried out/);
    const begun = await eventsOf(run, 'tool.started');
    expect(begun.map(({ data }) => data['toolName'])).toEqual(['plan_create']);
  });

  it.each(unreadable)('%s: nothing is written, and the call fails', async (_, answer) => {
    const run = await finished(FREE, [PLAN, answer, DONE]);
    expect(run).toMatchObject({ status: 'COMPLETED', stopReason: 'END_TURN' });
    expect(content('new.txt')).toBeUndefined();
    expect((await toolResults(harness, run)).at(-1)).toMatchObject({
      toolName: 'write_file',
      toolError: true,
      metadata: { code: 'INVALID_ARGUMENTS' },
      content: expect.stringContaining('Nothing was done'),
    });
    expect(lastSent().at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('Nothing was done'),
    });
    expect(await eventsOf(run, 'file.changed')).toEqual([]);
  });

  it('again and again ends the run', async () => {
    const cut = { toolCalls: call('write_file', half), times: 20 };
    const run = await finished(FREE, [PLAN, cut]);
    expect(run).toMatchObject({ status: 'FAILED', stopReason: 'FORMAT_ERRORS' });
    expect(content('new.txt')).toBeUndefined();
    expect(harness.simulator.requests.length).toBeLessThan(10);
  });
});

describe('a model that writes what no file and no row can hold', () => {
  const file = (content: string): string => `{"path":"new.txt","content":${content}}`;

  it.each([
    ['NUL', file('"/[\\u0000-\\u001f]/"'), 'without NUL characters'],
    ['half a character', file('"\\ud83d"'), 'must be valid text'],
    ['half a character without an escape', file('"\ud83d"'), 'must be valid text'],
    ['a name with NUL', '{"path":"new.txt","content":"x","a\\u0000":1}', 'Unrecognized key'],
  ])('is told of %s, and nothing is written', async (_, given, why) => {
    const run = await finished(FREE, [PLAN, calling('write_file', given), DONE]);
    expect(run.status).toBe('COMPLETED');
    expect((await toolResults(harness, run)).at(-1)).toMatchObject({
      toolError: true,
      metadata: { code: 'INVALID_ARGUMENTS' },
      content: expect.stringContaining(why),
    });
    expect(content('new.txt')).toBeUndefined();
  });

  it('may write the escapes of such characters', async () => {
    const run = await finished(FREE, [
      PLAN,
      calling('write_file', file('"/[\\\\u0000-\\\\u001f]/"')),
      DONE,
    ]);
    expect(run.status).toBe('COMPLETED');
    expect(content('new.txt')).toBe('/[\\u0000-\\u001f]/');
  });
});

describe('a model service that breaks off', () => {
  const toolCalls = call('write_file', write('new.txt'));

  it.each([
    ['resets the connection in the middle of a call', 'PROVIDER_START_FAILURE', { reset: 3 }],
    ['ends in the middle of a call', 'PROVIDER_ERROR', { cut: 3 }],
    ['says an error in the middle of a call', 'PROVIDER_ERROR', { error: 3 }],
  ] as readonly (readonly [string, string, ScriptStep])[])(
    '%s (%s): the call is made once, by the answer that is whole',
    (_, code, fault) => isCalledOnce(harness, code, fault),
  );

  it('says nothing more in the middle of a call: the call is made once, too', async () => {
    // No other answer of this file is held to so short a silence.
    const restore = setConstants(MODEL_CALL_LIMITS, { idleMs: 5_000 });
    const impatient = await startHarness({ files: FILES });
    try {
      await isCalledOnce(impatient, 'MODEL_DEADLINE_EXCEEDED', { stall: 3 });
    } finally {
      await impatient.stop();
      restore();
    }
  });

  async function isCalledOnce(by: Harness, code: string, fault: ScriptStep): Promise<void> {
    const { sessionId } = await by.createSession(FREE);
    by.script(PLAN, { ...fault, toolCalls }, { toolCalls }, DONE);
    const run = await by.ended(await by.createRun(sessionId));
    expect(run).toMatchObject({ status: 'COMPLETED', iteration: 3 });
    const events = await by.events(run);
    expect(events.filter(({ type }) => type === 'file.changed')).toHaveLength(1);
    const abandoned = events.filter(({ type }) => type === 'model.turn.abandoned');
    expect(abandoned).toMatchObject([{ data: { outcome: 'ABANDONED', code } }]);
    const messages = await by.messages(run);
    expect(messages.filter(({ role }) => role === 'ASSISTANT')).toHaveLength(3);
  }

  it('with what is no event of the protocol: nothing is carried out, and the run ends', async () => {
    const run = await finished(FREE, [PLAN, { malformed: 2, toolCalls }, { toolCalls }, DONE]);
    expect(run).toMatchObject({ status: 'FAILED', stopReason: 'MODEL_REFUSED' });
    expect(content('new.txt')).toBeUndefined();
  });

  it('for good: the run waits for it, and can be resumed', async () => {
    const run = await begin(READ_ONLY, [{ chunks: 4, reset: 2, times: 3 }, DONE]);
    const parked = await harness.waitFor(run, 'SUSPENDED');
    expect(parked.error).toMatchObject({ code: 'model_unavailable' });
    expect((await harness.post(run, '/resume')).code).toBe(200);
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    // Of the answers that were given up nothing is left but the deltas, which were said as they came.
    const texts = (await harness.messages(run)).filter(({ role }) => role === 'ASSISTANT');
    expect(texts.map((message) => message['content'])).toEqual(['Done.']);
  });
});

describe('a model that is changed while a run works with it', () => {
  const list = calling('list_files', {});
  const held = (): Promise<number> =>
    eventually(
      () => harness.simulator.held,
      (count) => count === 1,
    );
  const keys = (): unknown[] =>
    harness.simulator.requests.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));

  async function idOf(list: string): Promise<number | undefined> {
    const { rows } = await harness.session.get<{ id: number }[]>(list);
    return rows[0]?.id;
  }

  const setModel = async (change: object): Promise<unknown> => {
    const id = await idOf(`/system/model/list?modelName=${CODER}`);
    return done(await harness.session.put('/system/model', { id, ...change }));
  };

  const setProvider = async (status: number): Promise<unknown> => {
    const id = await idOf('/system/provider/list?providerCode=custom_api');
    return done(await harness.session.put('/system/provider', { id, status }));
  };

  it('is called with the new key from the next call on, and nothing shows either', async () => {
    const apiKey = canary.plant('changed');
    const run = await begin(READ_ONLY, [
      { ...list, hold: true },
      list,
      { text: `It is ${apiKey}.` },
    ]);
    await held();
    await setModel({ apiKey });
    harness.simulator.release();
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    const [old, ...later] = keys();
    expect(old).not.toBe(apiKey);
    expect(later).toEqual([apiKey, apiKey]);
  });

  it('is called with the new key by another try of the same call', async () => {
    const apiKey = canary.plant('tried');
    const run = await begin(READ_ONLY, [{ status: 503, hold: true }, DONE]);
    await held();
    await setModel({ apiKey });
    harness.simulator.release();
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    expect(keys().at(-1)).toBe(apiKey);
  });

  it('is called no more for a user whose group may not use it any longer', async () => {
    const role = await makeRole(harness.session, 'coder', ['coding:harness:use']);
    const person = await makeUser(harness.plinth, harness.session, 'carla', [role]);
    const path = `/access/model/${await idOf(`/system/model/list?modelName=${CODER}`)}`;
    const grantTo = async (...subjects: string[]): Promise<unknown> => {
      const grants = subjects.map((subject) => ({ subject, level: 'use' }));
      return done(await harness.session.put(path, { grants }));
    };
    const created = await harness.session.post<number>('/system/group', { displayName: 'Coders' });
    const { data: groupId } = done(created);
    const change = (ids: object) =>
      harness.session.put('/system/group/member', { groupId, ...ids });
    done(await change({ addedUserIds: [person.id] }));
    await grantTo(`group:${groupId}`);
    try {
      const session = await harness.createSession(READ_ONLY, person.session);
      harness.script({ ...list, hold: true }, DONE);
      const run = await harness.createRun(session.sessionId, {}, person.session);
      await held();
      done(await change({ removedUserIds: [person.id] }));
      // The call in flight ends although its service says nothing.
      const refused = {
        code: 'access_lost',
        message: expect.stringMatching(/^You may not use the model .* resume it/),
      };
      expect(await harness.waitFor(run, 'SUSPENDED')).toMatchObject({ error: refused });
      const resume = () => person.session.post(harness.path(run, '/resume'));
      done(await resume());
      expect(await harness.waitFor(run, 'SUSPENDED')).toMatchObject({ error: refused });
      expect(harness.simulator.requests).toHaveLength(1);
      done(await change({ addedUserIds: [person.id] }));
      done(await resume());
      expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
    } finally {
      await grantTo('tenant');
    }
  });

  it.each([
    ['between two calls', { ...list, hold: true }],
    ['between two tries', { status: 503, hold: true }],
  ])('and whose provider is disabled %s: the run waits with the reason', async (_, first) => {
    const run = await begin(READ_ONLY, [first, DONE]);
    await held();
    await setProvider(1);
    harness.simulator.release();
    const parked = await harness.waitFor(run, 'SUSPENDED');
    const reason =
      'The provider custom_api does not exist or is not enabled. Enable the provider, or choose another one.';
    expect(parked.error).toMatchObject({
      code: 'model_unavailable',
      message: expect.stringMatching(/^The model \S+ cannot be called\. /),
    });
    expect(parked.error?.message).toContain(reason);
    expect(harness.simulator.requests).toHaveLength(1);

    // A run that is resumed too early waits again.
    done(await harness.post(run, '/resume'));
    const { revision } = parked;
    await eventually(
      () => harness.run(run),
      (now) => now.status === 'SUSPENDED' && now.revision > revision + 1,
    );
    expect(harness.simulator.requests).toHaveLength(1);

    await setProvider(0);
    done(await harness.post(run, '/resume'));
    expect(await harness.ended(run)).toMatchObject({ status: 'COMPLETED' });
  });
});

describe('a model that repeats itself', () => {
  it('may repeat the ids of its calls: each has its own result', async () => {
    const twice = {
      toolCalls: [
        ...call('read_file', { path: 'README.md' }, 'same'),
        ...call('read_file', { path: 'src/add.js' }, 'same'),
      ],
    };
    const run = await finished(READ_ONLY, [twice, calling('list_files', {}, 'same'), DONE]);
    expect(run.status).toBe('COMPLETED');
    const found = await toolResults(harness, run);
    const shown = found.map(({ content: text }) => /# Example|add = 1|README/.exec(text)?.[0]);
    // Reads of one answer are done side by side, and stored as they end.
    expect(shown.slice(0, 2).sort()).toEqual(['# Example', 'add = 1']);
    expect(shown[2]).toBe('README');
    expect(new Set(found.map(({ toolCallId }) => toolCallId)).size).toBe(3);
    const asked = lastSent().flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    const answered = lastSent().flatMap(({ tool_call_id: id }) => (id ? [id] : []));
    expect(new Set(asked).size).toBe(3);
    expect(answered).toEqual(asked);
  });

  it('is stopped when two calls take turns for ever', async () => {
    const turns = Array.from({ length: 10 }, () => [
      calling('list_files', {}),
      calling('read_file', { path: 'README.md' }),
    ]).flat();
    const run = await finished(READ_ONLY, turns);
    expect(run).toMatchObject({ status: 'FAILED', stopReason: 'LOOP_DETECTED' });
    expect(await eventsOf(run, 'loop.warning')).not.toEqual([]);
    expect(run['toolCallCount']).toBeLessThanOrEqual(12);
  });

  it('is stopped when it calls tools that do not exist, or never gives valid arguments', async () => {
    const names = Array.from({ length: 9 }, (_, n) => calling(`tool_${n}`, {}));
    const unknown = await finished(READ_ONLY, names);
    expect(unknown).toMatchObject({
      status: 'FAILED',
      stopReason: 'FORMAT_ERRORS',
      toolCallCount: 5,
    });
    harness.simulator.reset();
    const wrong = Array.from({ length: 9 }, (_, n) => calling('read_file', { n }));
    expect(await finished(READ_ONLY, wrong)).toMatchObject({
      stopReason: 'FORMAT_ERRORS',
      toolCallCount: 5,
    });
  });

  it('gets the errors of all calls of one answer, and goes on', async () => {
    const wrong = Array.from({ length: 5 }, (_, n) => call('read_file', { n })).flat();
    const run = await finished(READ_ONLY, [{ toolCalls: wrong }, DONE]);
    expect(run).toMatchObject({ status: 'COMPLETED', toolCallCount: 5 });
    const errors = lastSent().filter(({ role }) => role === 'tool');
    expect(errors).toHaveLength(5);
    for (const { content: text } of errors) expect(text).toContain('are not valid');

    harness.simulator.reset();
    const early = Array.from({ length: 5 }, (_, n) => call('write_file', write(`${n}.txt`))).flat();
    const planned = await finished(FREE, [
      { toolCalls: [...(PLAN.toolCalls ?? []), ...early] },
      calling('write_file', write('new.txt')),
      DONE,
    ]);
    expect(planned.status).toBe('COMPLETED');
    expect(content('new.txt')).toBe('x\n');
    expect(await eventsOf(planned, 'loop.warning')).toEqual([]);
  });

  it('is stopped when it calls only what it is refused, with a reason that says so', async () => {
    const changes = Array.from({ length: 9 }, (_, n) =>
      calling('write_file', write(`new${n}.txt`)),
    );
    const run = await finished(READ_ONLY, changes);
    expect(run).toMatchObject({
      ...{ status: 'FAILED', stopReason: 'CALLS_REFUSED', toolCallCount: 5 },
      error: { code: 'CALLS_REFUSED', message: expect.stringContaining('each call was refused') },
    });
    const chinese = harness.session.inLanguage('zh');
    const reads = ['', '/report'].map((part) =>
      chinese.get<Pick<RunView, 'error'>>(harness.path(run, part)),
    );
    for (const { data } of await Promise.all(reads)) {
      expect(data.error?.message).toBe(
        '模型一再调用未提供给它的工具，每次调用都被拒绝。更改文件和执行命令需要已批准的计划，以及允许这些操作的权限模式。目前的更改会保留；请开始新的运行以继续。',
      );
    }
    expect((await eventsOf(run, 'loop.warning')).at(-1)?.data).toMatchObject({
      kind: 'refused_call',
    });
  });

  it('is stopped by the budget when it always finds something new to look at', async () => {
    const looks = Array.from({ length: 9 }, (_, n) => ({
      toolCalls: call('search_text', { pattern: `word${n}` }),
      inputTokens: 400,
    }));
    const steps = await finished(READ_ONLY, looks, {
      budget: { maxIterations: 3 },
    });
    expect(steps).toMatchObject({ status: 'FAILED', stopReason: 'MAX_STEPS', iteration: 3 });
    harness.simulator.reset();
    const calls = await finished(READ_ONLY, looks, {
      budget: { maxToolCalls: 2 },
    });
    expect(calls).toMatchObject({ stopReason: 'MAX_TOOL_CALLS', toolCallCount: 2 });
    harness.simulator.reset();
    const read = await finished(READ_ONLY, looks, {
      budget: { maxInputTokens: 1_000 },
    });
    expect(read).toMatchObject({ stopReason: 'MAX_TOKENS', iteration: 3 });
    const { error } = read;
    expect(error?.message).toContain('start a new run');
  });
});

describe('a model that floods', () => {
  it('with words: they are merged into few events, which say the same', async () => {
    const began = Date.now();
    const run = await finished(READ_ONLY, [{ chunks: 5_000 }]);
    expect(run.status).toBe('COMPLETED');
    const deltas = await eventsOf(run, 'assistant.text.delta');
    const [completed] = await eventsOf(run, 'assistant.completed');
    const text = String(completed?.data['text']);
    expect(deltas.map(({ data }) => data['delta']).join('')).toBe(text);
    // One for 512 characters or a tenth of a second.
    const seconds = (Date.now() - began) / 1_000;
    expect(deltas.length).toBeLessThanOrEqual(text.length / 512 + seconds * 10 + 1);
    expect(deltas.length).toBeLessThan(5_000 / 2);
  });

  it('with one word of two megabytes, which no service sends', async () => {
    const run = await finished(READ_ONLY, [{ huge: true }]);
    expect(run).toMatchObject({ status: 'FAILED', stopReason: 'MODEL_REFUSED' });
    expect(run.error?.message).toContain('more than 1 MiB');
    expect(await eventsOf(run, 'assistant.text.delta')).toEqual([]);
  });

  it('with calls: 16 of a message are carried out, the others are answered', async () => {
    const calls = Array.from({ length: 40 }, (_, n) => call('search_text', { pattern: `w${n}` }));
    const run = await finished(READ_ONLY, [{ toolCalls: calls.flat() }, DONE]);
    expect(run.status).toBe('COMPLETED');
    const found = await toolResults(harness, run);
    expect(found).toHaveLength(40);
    const refused = found.filter(({ metadata }) => metadata.code === 'LIMIT_REACHED');
    expect(refused).toHaveLength(24);
    expect(await eventsOf(run, 'tool.started')).toHaveLength(40);
  });

  it('with arguments of a megabyte: refused by the tool, and too long for its window to go on', async () => {
    const large = { path: 'new.txt', content: 'x'.repeat(1_100_000) };
    const step = { ...calling('write_file', large), outputTokens: 10 };
    const run = await finished(FREE, [PLAN, step, DONE]);
    expect(run).toMatchObject({ status: 'FAILED', stopReason: 'CONTEXT_OVERFLOW' });
    expect(content('new.txt')).toBeUndefined();
    expect((await toolResults(harness, run)).at(-1)).toMatchObject({ toolError: true });
  });
});

describe('several calls in one message', () => {
  it('of which one fails: the others are carried out, and all are answered in their order', async () => {
    const calls = [
      ...call('write_file', write('new.txt')),
      ...call('edit_file', { path: 'src/add.js', edits: [{ oldText: 'nowhere', newText: 'x' }] }),
      ...call('read_file', { path: 'missing.txt' }),
      ...call('write_file', write('other.txt')),
    ];
    const run = await finished(FREE, [PLAN, { toolCalls: calls }, DONE]);
    expect(run.status).toBe('COMPLETED');
    expect([content('new.txt'), content('other.txt')]).toEqual(['x\n', 'x\n']);
    const asked = lastSent().flatMap(({ tool_calls: made = [] }) => made.map(({ id }) => id));
    const answers = new Map(
      lastSent().flatMap(({ tool_call_id: id, content: text }) => (id ? [[id, text ?? '']] : [])),
    );
    const failures = asked.map((id) =>
      /^\[data \S+ [^\]]*, an error\]/.test(answers.get(id) ?? ''),
    );
    expect(failures).toEqual([false, false, true, true, false]);
  });
});

it('of which the service fails is answered by a fallback, with its own key masked', async () => {
  const apiKey = canary.plant('fallback');
  const { session, simulator } = harness;
  const known = { supportsTools: true, contextWindow: 64_000, maxOutput: 4_096 };
  const spare = await createModel(session, {
    ...{ modelName: 'spare', apiHost: simulator.url, apiKey, ...known },
  });
  const { rows } = await session.get<{ id: number }[]>(`/system/model/list?modelName=${CODER}`);
  const id = rows.find((row) => row.id !== spare)?.id;
  done(await session.put('/system/model', { id, fallbackIds: [spare] }));
  try {
    const run = await finished(READ_ONLY, [
      { match: { model: CODER }, status: 503 },
      { match: { model: 'spare' }, ...DONE },
    ]);
    expect(run.status).toBe('COMPLETED');
    expect(simulator.requests.map(({ model }) => model)).toEqual([CODER, 'spare']);
    expect(await eventsOf(run, 'model.turn.abandoned')).toEqual([]);
  } finally {
    done(await session.put('/system/model', { id, fallbackIds: [] }));
  }
});
