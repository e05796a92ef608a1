import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ToolFailure } from '../../../src/agent/tool/agent-tool.js';
import type { AgentTool, ToolContext } from '../../../src/agent/tool/agent-tool.js';
import { CalculateTool } from '../../../src/agent/tool/calculate.tool.js';
import { TOOL_LIMITS } from '../../../src/agent/tool/tool.registry.js';
import { TurnRepository } from '../../../src/chat/turn.repository.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { ScriptStep, Simulator } from '../../../simulator/index.js';
import { createAgent } from '../../support/agents.js';
import { makeKey, withKey } from '../../support/api-keys.js';
import { ChatReply, messagesAsked, OpenChat, sendChat } from '../../support/chat.js';
import { callTool } from '../../support/mcp-client.js';
import { createModel, createProvider } from '../../support/models.js';
import { overrideConstants } from '../../support/override-constants.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { calling } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { TurnReader } from '../../support/turn-reader.js';
import { eventually } from '../../support/wait.js';

interface Call {
  readonly callId: string | null;
  readonly name: string;
  readonly state: string;
  readonly summary: string;
  readonly approval: { readonly argumentsJson: string; readonly argumentsSha256: string } | null;
}

interface Message {
  readonly role: string;
  readonly content: string;
  readonly turnId: string;
  readonly state: string;
  readonly finishReason: string | null;
  readonly totalTokens: number;
  readonly steps: readonly { readonly calls: readonly Call[] }[];
}

const approvalFrame = z.object({
  turnId: z.string(),
  callId: z.string(),
  argumentsJson: z.string(),
  argumentsSha256: z.string(),
  grantable: z.boolean(),
});
type Asked = z.infer<typeof approvalFrame>;

const CHANGES = { readOnly: false, idempotent: false, destructive: true };

describe('a tool that changes something', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let agentId: number;
  let modelId: number;
  let tool: AgentTool;
  let original: Partial<AgentTool>;
  /** What was executed. */
  let executed: unknown[];
  let sum = 0;

  overrideConstants(CHAT_LIMITS, { attempts: 1 });
  overrideConstants(TOOL_LIMITS, { timeoutMs: 1_000 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    modelId = await createModel(admin, { ...service, modelName: 'consent-model' });
    const fields = { runtime: 'tools', tools: ['calculate', 'current_time'] };
    agentId = (await createAgent(admin, modelId, fields)).id;
    tool = plinth.app.get(CalculateTool, { strict: false });
    original = { run: tool.run.bind(tool) };
  });

  beforeEach(() => {
    executed = [];
    sum += 1;
    become({ consent: 'ask' });
  });

  afterEach(() => {
    Object.assign(tool, { ...original, facts: undefined, consent: undefined, subject: undefined });
    simulator.reset();
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  /** Another tool stands in for the calculator: no built-in one changes anything. */
  function become(fields: Partial<AgentTool>): void {
    const run = (input: unknown): Promise<{ content: string; summary: string }> => {
      executed.push(input);
      return Promise.resolve({ content: 'Order 7 is made.', summary: 'ordered' });
    };
    Object.assign(tool, { facts: CHANGES, subject: 'shop order 1', run, ...fields });
  }

  /** A new expression in every test, because the same call is not made while its outcome is unknown. */
  function ordering(): ScriptStep {
    return calling('calculate', { expression: `${sum} + 1` });
  }

  async function newSession(): Promise<string> {
    return done(await admin.post<string>('/system/session', {})).data;
  }

  function model(...steps: ScriptStep[]): void {
    for (const step of steps) simulator.script({ match: { path: '/chat/completions' }, ...step });
  }

  async function answerIn(sessionId: string): Promise<Message> {
    const { rows } = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`);
    const answer = rows.findLast(({ role }) => role === 'assistant');
    if (!answer) throw new Error('There is no answer.');
    return answer;
  }

  function asked(reply: ChatReply): Asked[] {
    return reply.frames
      .filter(({ event }) => event === 'tool_approval')
      .map(({ data }) => approvalFrame.parse(data));
  }

  async function waitingTurn(
    sessionId: string,
    ...steps: ScriptStep[]
  ): Promise<{ reply: ChatReply; call: Asked }> {
    model(...(steps.length > 0 ? steps : [ordering()]));
    const reply = await sendChat(admin, { content: 'Order it', agentId, sessionId });
    const [call] = asked(reply);
    if (!call) throw new Error(`Nothing is asked: ${reply.raw}`);
    return { reply, call };
  }

  async function decide(turnId: string, ...decisions: object[]): Promise<ChatReply> {
    const path = `/chat/turns/${turnId}/decisions`;
    const { text, headers } = await admin.raw('POST', path, { decisions });
    return new ChatReply(text, String(headers['content-type']));
  }

  function once({ callId, argumentsSha256 }: Asked, fields: object = {}): object {
    return { callId, argumentsSha256, decision: 'once', ...fields };
  }

  function states(message: Message): string[] {
    return message.steps.flatMap(({ calls }) => calls.map(({ state }) => state));
  }

  async function ledger(turnId: string): Promise<string[]> {
    const rows = await plinth.app
      .get(Database)
      .query<{ state: string }>(
        "SELECT state FROM harness_effect WHERE tenant_id = '000000' AND turn_id = $1 ORDER BY ordinal",
        [turnId],
      );
    return rows.map(({ state }) => state);
  }

  it('waits with the exact call, and goes on where its user allows it', async () => {
    const sessionId = await newSession();
    const { reply, call } = await waitingTurn(sessionId, { text: 'I order.', ...ordering() });
    expect(reply.events.slice(-3)).toEqual(['tool_approval', 'usage', 'done']);
    expect(reply.frames.at(-1)?.data).toMatchObject({ done: true, finishReason: 'waiting' });
    expect(call).toMatchObject({ argumentsJson: `{"expression":"${sum} + 1"}`, grantable: true });
    expect(executed).toEqual([]);

    const waiting = await answerIn(sessionId);
    expect(waiting).toMatchObject({ state: 'waiting', content: 'I order.', turnId: call.turnId });
    const { callId, argumentsSha256 } = call;
    expect(waiting.steps[0]?.calls[0]).toMatchObject({
      ...{ state: 'waiting', callId, approval: { argumentsSha256 } },
    });

    model({ text: 'It is ordered.' });
    const rest = await decide(call.turnId, once(call));
    expect(rest.error).toBeUndefined();
    expect(rest.events.filter((event) => event !== 'content')).toEqual([
      'tool_result',
      'usage',
      'done',
    ]);
    expect(rest.text).toBe('\n\nIt is ordered.');
    expect(executed).toEqual([{ expression: `${sum} + 1` }]);
    expect(messagesAsked(simulator).map(({ content }) => content)).toEqual([
      'Order it',
      'I order.',
      'Order 7 is made.',
    ]);

    const answer = await answerIn(sessionId);
    expect(answer).toMatchObject({ state: 'complete', content: 'I order.\n\nIt is ordered.' });
    expect(states(answer)).toEqual(['done']);
    expect(await ledger(call.turnId)).toEqual(['SUCCEEDED']);

    // The conversation goes on with the whole answer, and a decision counts once.
    expect((await decide(call.turnId, once(call))).error).toMatch(/does not wait/);
    model({ text: 'Yes.' });
    await sendChat(admin, { content: 'Sure?', agentId, sessionId });
    expect(messagesAsked(simulator).map(({ content }) => content)).toEqual([
      ...['Order it', 'I order.', 'Order 7 is made.', 'It is ordered.', 'Sure?'],
    ]);
    expect(executed).toHaveLength(1);
  });

  it('is called without a question for the rest of a chat, until the tool changes', async () => {
    const sessionId = await newSession();
    const { call } = await waitingTurn(sessionId);
    model({ text: 'Done.' });
    await decide(call.turnId, once(call, { decision: 'chat' }));
    model(calling('calculate', { expression: '70' }), { text: 'Again.' });
    const again = await sendChat(admin, { content: 'And 70', agentId, sessionId });
    expect(again.text).toBe('Again.');
    expect(executed).toHaveLength(2);

    become({ consent: 'ask', subject: 'shop order 2' });
    await waitingTurn(sessionId, calling('calculate', { expression: '71' }));
    await waitingTurn(await newSession(), calling('calculate', { expression: '72' }));
    expect(executed).toHaveLength(2);
  });

  it('is not called where its user denies it, and the model reads why', async () => {
    const sessionId = await newSession();
    const { call } = await waitingTurn(sessionId);
    model({ text: 'Then not.' });
    const rest = await decide(call.turnId, once(call, { decision: 'deny', reason: 'Too dear' }));
    expect(rest.text).toBe('Then not.');
    expect(executed).toEqual([]);
    expect(messagesAsked(simulator).at(-1)?.content).toMatch(/refused this call.*Too dear/);
    expect(await ledger(call.turnId)).toEqual(['DENIED']);
    expect(states(await answerIn(sessionId))).toEqual(['failed']);
  });

  it('is called with the arguments that its user has changed', async () => {
    const { call } = await waitingTurn(await newSession());
    model({ text: 'Done.' });
    const changed = { expression: '5 * 5' };
    await decide(call.turnId, once(call, { arguments: changed }));
    expect(executed).toEqual([changed]);
    expect(messagesAsked(simulator).at(-1)?.content).toBe(
      'A person has changed the arguments of this call to {"expression":"5 * 5"}\n\nOrder 7 is made.',
    );
  });

  it('is not called with changed arguments that are not those of the tool', async () => {
    const { call } = await waitingTurn(await newSession());
    model({ text: 'Sorry.' });
    await decide(call.turnId, once(call, { arguments: { order: 1 } }));
    expect(executed).toEqual([]);
    expect(messagesAsked(simulator).at(-1)?.content).toMatch(
      /arguments of calculate are not valid/,
    );
    expect(await ledger(call.turnId)).toEqual(['NOT_EXECUTED']);
  });

  it('takes a decision only about the call that was shown, whole and in time', async () => {
    const sessionId = await newSession();
    const { call } = await waitingTurn(sessionId, {
      toolCalls: [
        ...(ordering().toolCalls ?? []),
        ...(calling('calculate', { expression: '9' }).toolCalls ?? []),
      ],
    });
    const refused = async (...decisions: object[]): Promise<unknown> =>
      (await decide(call.turnId, ...decisions)).failure?.code;
    const [, other] = (await answerIn(sessionId)).steps[0]?.calls ?? [];
    const second = once({
      ...call,
      callId: other?.callId ?? '',
      argumentsSha256: other?.approval?.argumentsSha256 ?? '',
    });
    expect(await refused(once(call))).toBe(400);
    expect(await refused(once(call, { argumentsSha256: '0'.repeat(64) }), second)).toBe(409);
    expect(await refused(once(call, { callId: randomUUID() }), second)).toBe(404);
    expect(await refused(once(call, { decision: 'perhaps' }), second)).toBe(400);
    const database = plinth.app.get(Database);
    const expire =
      "UPDATE harness_approval SET expires_at = now() - interval '1 s' WHERE tenant_id = '000000' AND turn_id = $1";
    await database.query(expire, [call.turnId]);
    expect(await decide(call.turnId, once(call), second)).toMatchObject({
      error: expect.stringMatching(/time for this decision is over/),
    });
    expect(executed).toEqual([]);
    expect((await answerIn(sessionId)).state).toBe('waiting');
  });

  it('runs the other calls of the step at once, and waits for one', async () => {
    const sessionId = await newSession();
    const { call } = await waitingTurn(sessionId, {
      toolCalls: [...(ordering().toolCalls ?? []), ...(calling('current_time').toolCalls ?? [])],
    });
    expect(states(await answerIn(sessionId))).toEqual(['waiting', 'done']);
    model({ text: 'Both.' });
    expect((await decide(call.turnId, once(call))).text).toBe('Both.');
    expect(messagesAsked(simulator).map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'tool'],
    ]);
  });

  it('waits in a message without a session, and is not decided after the chat has gone on', async () => {
    model(ordering());
    const reply = await sendChat(admin, { content: 'Order it', agentId });
    const [call] = asked(reply);
    if (!call) throw new Error('Nothing is asked.');
    expect(call.grantable).toBe(false);
    model({ text: 'Done.' });
    expect((await decide(call.turnId, once(call))).text).toBe('Done.');
    expect(executed).toHaveLength(1);

    const sessionId = await newSession();
    const { call: passed } = await waitingTurn(
      sessionId,
      calling('calculate', { expression: '11' }),
    );
    model({ text: 'Hello.' });
    await sendChat(admin, { content: 'Something else', agentId, sessionId });
    expect(messagesAsked(simulator).map(({ content }) => content)).toContain(
      'No person has agreed to this call, so it was not executed.',
    );
    expect((await decide(passed.turnId, once(passed))).error).toMatch(/does not wait/);
    expect(executed).toHaveLength(1);
  });

  it('is refused where no person is asked', async () => {
    const body = { model: `agent-${agentId}`, messages: [{ role: 'user', content: 'Order it' }] };
    const { key: secret } = await makeKey(admin, { permissions: ['chat:chat:use'] });
    model(ordering(), { text: 'I cannot.' });
    const key = { authorization: `Bearer ${secret}` };
    const { text } = await admin.raw('POST', '/v1/chat/completions', body, key);
    expect(text).toContain('I cannot.');
    expect(messagesAsked(simulator).at(-1)?.content).toMatch(/needs the consent of a person/);
    expect(executed).toEqual([]);
  });

  it('is executed without a question for a key whose owner allows it', async () => {
    const make = (fields: object) => makeKey(admin, { permissions: ['chat:chat:use'], ...fields });
    const key = await make({ toolConsent: 'allow' });
    const { id } = key;
    const session = withKey(admin, key);
    const entries = () =>
      admin.get<{ targetId: string; action: string; detail: object }[]>(
        '/monitor/audit/list?targetType=api_key',
      );
    const ofKey = async () =>
      (await entries()).rows?.filter(({ targetId }) => targetId === String(id));
    expect((await ofKey())?.[0]).toMatchObject({
      action: 'create',
      detail: { toolConsent: 'allow' },
    });
    const question = 'Order it';
    const messages = [{ role: 'user', content: question }];
    const send = () => session.raw('POST', '/chat/send', { content: question, agentId });
    const doors = [
      () => session.raw('POST', '/v1/chat/completions', { model: `agent-${agentId}`, messages }),
      () => callTool(session, 'ask_agent', { agentId, question }),
      send,
    ];
    for (const [place, door] of doors.entries()) {
      sum += 1;
      model(ordering(), { text: 'Ready.' });
      expect((await door()).text).toContain('Ready.');
      expect(executed).toHaveLength(place + 1);
    }

    done(await admin.put('/system/apikey', { id, toolConsent: 'refuse' }));
    expect((await ofKey())?.[0]).toMatchObject({ detail: { toolConsent: 'refuse' } });
    sum += 1;
    model(ordering(), { text: 'I cannot.' });
    await send();
    expect(messagesAsked(simulator).at(-1)?.content).toMatch(/needs the consent of a person/);
    expect(executed).toHaveLength(3);
  });

  it('is recorded without a question where its consent is always, and never called where it is never', async () => {
    become({ consent: 'always' });
    const sessionId = await newSession();
    model(ordering(), { text: 'Done.' });
    await sendChat(admin, { content: 'Order it', agentId, sessionId });
    const { turnId } = await answerIn(sessionId);
    expect(await ledger(turnId)).toEqual(['SUCCEEDED']);

    become({ consent: 'never' });
    model(calling('calculate', { expression: '12' }), { text: 'No.' });
    await sendChat(admin, { content: 'Again', agentId, sessionId });
    expect(messagesAsked(simulator).at(-1)?.content).toMatch(/switched off/);
    expect(executed).toHaveLength(1);
  });

  describe('with an outcome that is unknown', () => {
    const hang = (_: unknown, { signal }: ToolContext): Promise<never> =>
      new Promise((_resolve, reject) => {
        executed.push('begun');
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      });

    async function resolve(turnId: string, callId: string, resolution: string): Promise<unknown> {
      const path = `/chat/turns/${turnId}/effects/${callId}/resolution`;
      return admin.post(path, { resolution, note: 'Looked' });
    }

    it('after a time-out is not repeated until its user has found it out', async () => {
      become({ consent: 'always', run: hang });
      const sessionId = await newSession();
      model(ordering(), ordering(), { text: 'I do not know.' });
      const reply = await sendChat(admin, { content: 'Order it', agentId, sessionId });
      expect(reply.text).toBe('I do not know.');
      expect(executed).toEqual(['begun']);
      const answer = await answerIn(sessionId);
      expect(states(answer)).toEqual(['uncertain', 'failed']);
      expect(await ledger(answer.turnId)).toEqual(['UNCERTAIN']);
      expect(messagesAsked(simulator).at(-1)?.content).toMatch(/same call .* was made before/);

      const callId = answer.steps[0]?.calls[0]?.callId ?? '';
      expect(await resolve(answer.turnId, callId, 'EXECUTED')).toMatchObject({
        code: 200,
        data: { callId, state: 'SUCCEEDED', resolution: 'EXECUTED', note: 'Looked' },
      });
      expect(await resolve(answer.turnId, callId, 'EXECUTED')).toMatchObject({ code: 200 });
      expect(await resolve(answer.turnId, callId, 'NOT_EXECUTED')).toMatchObject({ code: 409 });
      expect(states(await answerIn(sessionId))[0]).toBe('done');
      model({ text: 'Good.' });
      await sendChat(admin, { content: 'Go on', agentId, sessionId });
      const told = messagesAsked(simulator).map(({ content }) => content);
      expect(told.join('\n')).toMatch(/A person has looked: it was executed.*Note: Looked/);
    });

    it('after a crash is uncertain, and a call that had not begun is not executed', async () => {
      become({ consent: 'always', run: hang });
      const sessionId = await newSession();
      model(ordering());
      const chat = await OpenChat.send(admin, { content: 'Order it', agentId, sessionId });
      await chat.until('tool_call');
      await eventually(
        () => executed.length,
        (count) => count === 1,
      );
      // The lease of a process that has died runs out.
      const database = plinth.app.get(Database);
      await database.query(
        "UPDATE chat_session SET turn_lease = now() - interval '1 s' WHERE tenant_id = '000000' AND id = $1",
        [sessionId],
      );
      await plinth.app.get(TurnRepository, { strict: false }).sweep(false);
      const answer = await answerIn(sessionId);
      expect(answer.state).toBe('failed');
      expect(states(answer)).toEqual(['uncertain']);
      await chat.rest();
      expect(executed).toEqual(['begun']);
      expect(await ledger(answer.turnId)).toEqual(['UNCERTAIN']);
    });

    it('is known where the tool says that it has failed, or may be repeated', async () => {
      const sessionId = await newSession();
      become({ consent: 'always', run: () => Promise.reject(new ToolFailure('Sold out.')) });
      model(ordering(), { text: 'Sold out.' });
      await sendChat(admin, { content: 'Order it', agentId, sessionId });
      expect(await ledger((await answerIn(sessionId)).turnId)).toEqual(['FAILED']);

      become({ consent: 'always', run: hang, facts: { ...CHANGES, idempotent: true } });
      model(
        calling('calculate', { expression: '13' }),
        calling('calculate', { expression: '13' }),
        {
          text: 'Slow.',
        },
      );
      await sendChat(admin, { content: 'Again', agentId, sessionId });
      expect(await ledger((await answerIn(sessionId)).turnId)).toEqual(['TIMED_OUT', 'TIMED_OUT']);
      expect(executed).toEqual(['begun', 'begun']);
    });
  });

  it('of a detached answer lets it go on detached, and it is read from its beginning', async () => {
    const sessionId = await newSession();
    model({ ...ordering(), text: 'I order.' });
    const body = { content: 'Order it', agentId, sessionId };
    const first = await TurnReader.send(admin, body);
    expect(first.reply.frames.at(-1)?.data).toMatchObject({ finishReason: 'waiting' });
    const [call] = asked(first.reply);
    if (!call) throw new Error('Nothing is asked.');
    const before = first.numbers.length;
    model({ text: 'It is ordered.' });
    const rest = await decide(call.turnId, once(call));
    expect(rest.raw).toContain(`id: ${before}\n`);
    const { content, state } = await answerIn(sessionId);
    expect(state).toBe('complete');
    // One reader had seen the first part to its end, the other begins.
    for (const reader of [first, new TurnReader(admin, call.turnId)]) {
      await reader.readOn();
      expect(reader.reply.text).toBe(content);
      expect(reader.numbers).toEqual([...new Set(reader.numbers)].sort((a, b) => a - b));
      expect(reader.reply.events).toEqual(expect.arrayContaining(['tool_approval', 'tool_result']));
      expect(reader.reply.done).toBe(true);
    }
  });

  it('lets an answer go on detached that was not', async () => {
    const sessionId = await newSession();
    const { call } = await waitingTurn(sessionId, { ...ordering(), text: 'I order.' });
    model({ text: 'It is ordered.' });
    const path = `/chat/turns/${call.turnId}/decisions`;
    const body = { decisions: [once(call)], detach: true };
    const rest = new ChatReply((await admin.raw('POST', path, body)).text, 'text/event-stream');
    expect(rest.text).toBe('\n\nIt is ordered.');
    const reader = await new TurnReader(admin, call.turnId).readOn();
    expect(reader.reply.text).toBe((await answerIn(sessionId)).content);
    expect(reader.reply.events).toEqual(expect.arrayContaining(['tool_call', 'tool_result']));
    // The client of the decision had the first part.
    expect(rest.events).not.toContain('tool_call');
  });

  it('leaves nothing in the ledger when its chat is deleted', async () => {
    const sessionId = await newSession();
    const { call } = await waitingTurn(sessionId);
    done(await admin.delete(`/system/session/${sessionId}`));
    expect(await ledger(call.turnId)).toEqual([]);
    expect((await decide(call.turnId, once(call))).error).toMatch(/does not wait/);
  });
});
