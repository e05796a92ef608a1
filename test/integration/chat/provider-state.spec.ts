import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { literal } from '../../../src/platform/message/index.js';
import { UpstreamError } from '../../../src/provider/index.js';
import type { ChatMessage, ProviderState, ToolCall } from '../../../src/provider/index.js';
import { createAgent } from '../../support/agents.js';
import { sendChat } from '../../support/chat.js';
import type { ChatReply } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { answering, callingTools, ScriptedAdapter } from '../../support/scripted-adapter.js';
import type { Session } from '../../support/session.js';

const MODEL = 'scripted-model';
const STATE: ProviderState = {
  origin: 'scripted',
  data: { blocks: [{ type: 'thinking', signature: 'the-signature-of-the-service' }] },
};
const CALL: ToolCall = {
  ...{ id: 'call_a', name: 'calculate', arguments: '{"expression":"6*7"}' },
  input: { expression: '6*7' },
};
const INVALID: ToolCall = {
  ...{ id: 'call_b', name: 'calculate', arguments: '{"expression":', input: {}, invalid: true },
};
const TOO_LONG = new UpstreamError({
  kind: 'context-length',
  message: literal('The conversation is too long for the model.'),
});

let plinth: Plinth;
let simulator: Simulator;
let admin: Session;
let agentId: number;
let scripted: ScriptedAdapter;

overrideConstants(CHAT_LIMITS, { attempts: 1 });

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createProvider(admin, 'custom_api');
  const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
  const modelId = await createModel(admin, { ...service, modelName: MODEL });
  ({ id: agentId } = await createAgent(admin, modelId, { runtime: 'tools', tools: ['calculate'] }));
});

beforeEach(() => {
  scripted = new ScriptedAdapter(plinth, 'custom_api');
});

afterEach(() => scripted.close());

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

async function newSession(): Promise<string> {
  return done(await admin.post<string>('/system/session', {})).data;
}

function ask(sessionId: string, content: string, withAgent = true): Promise<ChatReply> {
  const who = withAgent ? { agentId } : { model: MODEL };
  return sendChat(admin, { content, sessionId, ...who });
}

interface AnswerView {
  readonly content: string;
  readonly error: string | null;
  readonly steps: readonly {
    readonly calls: readonly { readonly state: string; readonly content: string }[];
  }[];
}

async function answerIn(sessionId: string): Promise<{ view: AnswerView; shown: string }> {
  const { rows } = await admin.get<{ id: string }[]>(`/system/message/list?sessionId=${sessionId}`);
  const id = rows.at(-1)?.id;
  const { data } = done(await admin.get<AnswerView>(`/system/message/${id}`));
  return { view: data, shown: JSON.stringify([rows, data]) };
}

/** What the model was sent in its last call, without the prompt. */
function lastSent(): readonly ChatMessage[] {
  return (scripted.calls.at(-1)?.messages ?? []).filter(({ role }) => role !== 'system');
}

function lastWordOf({ content }: ChatMessage): string | undefined {
  return typeof content === 'string' ? content.split(' ').at(-1) : undefined;
}

describe('what a service wants back with a tool call', () => {
  it('is sent to it within the turn and in later ones, and not shown to anyone', async () => {
    const sessionId = await newSession();
    const last = { ...STATE, data: { text: 'the-signature-of-the-service' } };
    scripted.then(callingTools([CALL], { thinking: 'Hm.', state: STATE }), [
      { type: 'provider-state', providerState: last },
      ...answering('42.'),
    ]);
    const reply = await ask(sessionId, 'What is 6*7?');
    expect([reply.error, reply.text]).toEqual([undefined, '42.']);
    const called = { role: 'assistant', content: '', toolCalls: [CALL], providerState: STATE };
    const result = expect.objectContaining({ role: 'tool', toolCallId: 'call_a' });
    expect(lastSent().slice(1)).toEqual([called, result]);

    scripted.then(answering('Indeed.'));
    const again = await ask(sessionId, 'Sure?');
    const answer = { role: 'assistant', content: '42.', providerState: last };
    expect(lastSent().slice(1, 4)).toEqual([called, result, answer]);

    const { shown } = await answerIn(sessionId);
    const logged = plinth.log.join('\n');
    for (const text of [reply.raw, again.raw, shown, logged]) {
      expect(text).not.toContain('the-signature-of-the-service');
    }
  });

  it('is kept without what the database cannot hold', async () => {
    const sessionId = await newSession();
    const odd = { ...STATE, data: { 'a\0': ['b\0', '\ud800c', 7, null] } };
    scripted.then(callingTools([CALL], { state: odd }), [
      { type: 'provider-state', providerState: odd },
      ...answering('42.'),
    ]);
    expect((await ask(sessionId, 'What is 6*7?')).done).toBe(true);
    scripted.then(answering('Indeed.'));
    await ask(sessionId, 'Sure?');
    const kept = { providerState: { ...STATE, data: { a: ['b', '\ufffdc', 7, null] } } };
    expect(lastSent().filter(({ role }) => role === 'assistant')).toMatchObject([kept, kept]);
  });

  it('is not sent with an answer that had none', async () => {
    const sessionId = await newSession();
    scripted.then(callingTools([CALL]), answering('42.'));
    await ask(sessionId, 'What is 6*7?');
    expect(lastSent()[1]).toEqual({ role: 'assistant', content: '', toolCalls: [CALL] });
  });
});

describe('a service that is given back what it wants', () => {
  const THINKING = 'First the product.';

  beforeEach(() => {
    scripted.close();
    simulator.reset();
  });

  const sent = (): unknown[] =>
    simulator.requests.map(({ body }) => (body as { messages?: unknown }).messages);

  it('gets its reasoning with the call, within the turn and in later ones', async () => {
    const sessionId = await newSession();
    const match = { path: '/chat/completions' };
    const call = { name: 'calculate', arguments: '{"expression":"6*7"}' };
    simulator.script(
      { match, reasoning: THINKING, toolCalls: [call] },
      { match, text: '42.' },
      { match, text: 'Indeed.' },
    );
    await ask(sessionId, 'What is 6*7?');
    expect((await ask(sessionId, 'Sure?')).text).toBe('Indeed.');

    const answer = { role: 'assistant', reasoning_content: THINKING, tool_calls: [{}] };
    expect(sent().slice(1)).toMatchObject([
      expect.arrayContaining([expect.objectContaining({ reasoning_content: THINKING })]),
      expect.arrayContaining([expect.objectContaining({ reasoning_content: THINKING })]),
    ]);
    expect((sent()[1] as unknown[]).at(-2)).toMatchObject(answer);
  });

  it('gets a call that was not JSON with what was wrong, and can go on', async () => {
    const sessionId = await newSession();
    const match = { path: '/chat/completions' };
    const call = { name: 'calculate', arguments: '{"expression":"6*' };
    simulator.script({ match, toolCalls: [call] }, { match, text: '42.' }, { match, text: 'Yes.' });
    expect((await ask(sessionId, 'What is 6*7?')).text).toBe('42.');
    expect((await ask(sessionId, 'Sure?')).text).toBe('Yes.');
    expect((sent()[1] as unknown[]).at(-1)).toMatchObject({
      ...{ role: 'tool', content: expect.stringContaining('are not JSON') },
    });
  });
});

describe('a call whose arguments are not a JSON object', () => {
  it.each([
    ['alone', [INVALID]],
    ['before others', [INVALID, CALL]],
    ['behind others', [CALL, INVALID]],
  ])('fails for the model to read, %s', async (_place, calls) => {
    const sessionId = await newSession();
    scripted.then(callingTools(calls, { state: STATE }), answering('42.'));
    const reply = await ask(sessionId, 'What is 6*7?');

    expect([reply.error, reply.text]).toEqual([undefined, '42.']);
    const sent = lastSent();
    expect(sent[1]).toEqual({
      ...{ role: 'assistant', content: '', toolCalls: calls, providerState: STATE },
    });
    expect(sent.find((one) => one.role === 'tool' && one.toolCallId === 'call_b')).toMatchObject({
      content: expect.stringMatching(/calculate are not valid\. They are not JSON\. Send one JSON/),
    });
    const { view } = await answerIn(sessionId);
    const states = view.steps.flatMap((step) => step.calls.map(({ state }) => state));
    expect(states).toEqual(calls.map(({ invalid }) => (invalid ? 'failed' : 'done')));

    scripted.then(answering('Yes.'));
    expect((await ask(sessionId, 'Sure?')).text).toBe('Yes.');
    expect(lastSent()[1]).toEqual(sent[1]);
  });
});

describe('a conversation that is too long for its model', () => {
  const LONG = 'word '.repeat(400);

  it.each([
    ['an agent', true],
    ['a model', false],
  ])('is sent to %s once more with half of it, which the usage says', async (_who, withAgent) => {
    const sessionId = await newSession();
    for (const question of ['one', 'two', 'three']) {
      scripted.then(answering(`${LONG}${question}`));
      await ask(sessionId, question, withAgent);
    }
    scripted.then(TOO_LONG, answering('Short.'));
    const reply = await ask(sessionId, 'four', withAgent);

    expect([reply.error, reply.text]).toEqual([undefined, 'Short.']);
    expect(lastSent().map(lastWordOf)).toEqual([...['three', 'three', 'four']]);
    const usage = reply.frames.find(({ event }) => event === 'usage');
    expect(usage?.data['attempts']).toMatchObject([
      { model: MODEL, outcome: 'context-length' },
      { model: MODEL, outcome: 'ok' },
    ]);
    expect(plinth.log.join('\n')).toContain('Conversation shortened after context overflow');
  });

  it('keeps what it has learned for the rest of the turn', async () => {
    const sessionId = await newSession();
    for (const question of ['one', 'two', 'three']) {
      scripted.then(answering(`${LONG}${question}`));
      await ask(sessionId, question);
    }
    scripted.then(TOO_LONG, callingTools([CALL], { state: STATE }), answering('42.'));
    const reply = await ask(sessionId, 'What is 6*7?');

    expect([reply.error, reply.text]).toEqual([undefined, '42.']);
    expect(scripted.calls).toHaveLength(6);
    expect(lastSent().map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'user', 'assistant', 'tool'],
    ]);
  });

  it.each([
    ['an agent', true],
    ['a model', false],
  ])('fails with what to do when it is still too long for %s', async (_who, withAgent) => {
    const sessionId = await newSession();
    scripted.then(answering(LONG), TOO_LONG, TOO_LONG);
    await ask(sessionId, 'one', withAgent);
    const { error } = await ask(sessionId, 'two', withAgent);

    expect(error).toMatch(
      /^The conversation is too long for the model\. Nothing more .* model with/,
    );
    expect(scripted.calls).toHaveLength(3);
    const alone = await newSession();
    scripted.then(TOO_LONG);
    expect((await ask(alone, LONG, withAgent)).error).toContain('Start a new conversation');
    expect(scripted.calls).toHaveLength(4);
  });
});
