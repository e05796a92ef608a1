import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../support/override-constants.js';
import { CHAT_PING } from '../../src/chat/index.js';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { canary } from '../support/canary.js';
import { OpenChat, sendChat } from '../support/chat.js';
import { createModel, createProvider } from '../support/models.js';
import { done } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD, FULL_CLIENT } from '../support/template.js';
import { eventually } from '../support/wait.js';

interface Message {
  role: string;
  content: string;
  state: string;
  modelName: string;
  finishReason: string;
  error: string | null;
  totalTokens: number;
  inputTokens: number;
  usageEstimated: boolean;
  reasoningContent: string | null;
  durationMs: number | null;
}

describe('chat', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  const models = new Set<string>();

  overrideConstants(CHAT_PING, { intervalMs: 1_000 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn('admin', ADMIN_PASSWORD, '000000', FULL_CLIENT);
    for (const code of ['custom_api', 'custom_messages', 'ollama', 'mystery']) {
      await createProvider(admin, code);
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  /** Makes a model unless an earlier test did; the simulator reads its behaviour from the name. */
  async function model(modelName: string, providerCode = 'custom_api', more = {}): Promise<string> {
    if (models.has(modelName)) return modelName;
    models.add(modelName);
    const apiHost = providerCode === 'ollama' ? simulator.url : `${simulator.url}/v1`;
    await createModel(admin, { modelName, providerCode, apiHost, apiKey: 'key', ...more });
    return modelName;
  }

  async function newSession(owner = admin): Promise<string> {
    const answer = await owner.post<string>('/system/session', { sessionTitle: 'Test' });
    expect(typeof answer.data).toBe('string');
    return answer.data;
  }

  async function messages(sessionId: string): Promise<Message[]> {
    const answer = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`);
    return answer.rows;
  }

  it.each([
    ['custom_api', 'sim--unicode--bytesplit'],
    ['custom_messages', 'sim--bytesplit--unicode'],
    ['ollama', 'sim--unicode--bytesplit--delay-0'],
  ])('streams an answer of %s and stores exactly what was streamed', async (code, modelName) => {
    const name = await model(modelName, code);
    const sessionId = await newSession();
    const reply = await sendChat(admin, { model: name, content: 'Hello 你好', sessionId });

    expect(reply.contentType).toContain('text/event-stream');
    expect(reply.error).toBeUndefined();
    expect(reply.done).toBe(true);
    expect(reply.events.at(-1)).toBe('done');
    expect(reply.text.length).toBeGreaterThan(0);
    const [question, answer] = await messages(sessionId);
    expect(question).toMatchObject({ role: 'user', content: 'Hello 你好', modelName: name });
    expect(answer).toMatchObject({
      role: 'assistant',
      content: reply.text,
      state: 'complete',
      finishReason: 'stop',
      usageEstimated: false,
    });
    expect(answer?.totalTokens).toBeGreaterThan(0);
  });

  it('keeps thinking text apart from the answer', async () => {
    const name = await model('reasoner');
    const sessionId = await newSession();
    const reply = await sendChat(admin, { model: name, content: 'Think!', sessionId });
    expect(reply.reasoning.length).toBeGreaterThan(0);
    const [, answer] = await messages(sessionId);
    expect(answer?.reasoningContent).toBe(reply.reasoning);
    expect(answer?.content).toBe(reply.text);
  });

  it('opens and renames a session whose first message is longer than its content may be', async () => {
    const sessionContent = `${'x'.repeat(99_999)}😀 and more`;
    const opened = done(await admin.post<string>('/system/session', { sessionContent }));
    const path = `/system/session/${opened.data}`;
    const content = async (): Promise<string> =>
      done(await admin.get<{ sessionContent: string }>(path)).data.sessionContent;
    expect(await content()).toBe(`${'x'.repeat(99_999)}\uFFFD`);

    done(
      await admin.put('/system/session', {
        id: opened.data,
        sessionTitle: 'Long',
        sessionContent: 'y'.repeat(100_001),
      }),
    );
    expect(await content()).toBe('y'.repeat(100_000));
  });

  it('sends earlier exchanges along, and only those of the session', async () => {
    const name = await model('sim--echo');
    const sessionId = await newSession();
    await sendChat(admin, { model: name, content: 'first question', sessionId });
    await sendChat(admin, { model: name, content: 'elsewhere', sessionId: await newSession() });
    simulator.reset();
    await sendChat(admin, { model: name, content: 'second question', sessionId });
    const body = simulator.requests[0]?.body as { messages: unknown[] };
    expect(body.messages).toEqual([
      { role: 'user', content: 'first question' },
      { role: 'assistant', content: 'first question' },
      { role: 'user', content: 'second question' },
    ]);
  });

  it('passes the generation parameters on', async () => {
    const name = await model('sim--echo--nodone', 'custom_api', { maxOutput: 777 });
    await sendChat(admin, {
      model: name,
      content: 'x',
      temperature: 0.25,
      topP: 0.5,
      stop: ['END'],
    });
    expect(simulator.requests[0]?.body).toMatchObject({
      temperature: 0.25,
      top_p: 0.5,
      stop: ['END'],
    });
    expect(JSON.stringify(simulator.requests[0]?.body)).toContain('777');
  });

  it('marks estimated usage when the provider sends none', async () => {
    const name = await model('sim--nousage');
    const sessionId = await newSession();
    const reply = await sendChat(admin, { model: name, content: 'How much?', sessionId });
    const usage = reply.frames.find((frame) => frame.event === 'usage')?.data['usage'];
    expect(usage).toMatchObject({ estimated: true });
    const [, answer] = await messages(sessionId);
    expect(answer?.usageEstimated).toBe(true);
    expect(answer?.totalTokens).toBeGreaterThan(0);
  });

  it('uses the first enabled chat model when none is named', async () => {
    const reply = await sendChat(admin, { model: '', content: 'Hello' });
    expect(reply.done).toBe(true);
  });

  describe('refuses as a stream that existing clients can show', () => {
    it.each([
      ['an empty message', { content: '  ' }, /content must not be empty/, 400],
      ['an unknown model', { model: 'nope', content: 'x' }, /nope/, 404],
      ['an agent', { content: 'x', agentId: 5 }, /agent was not found/, 404],
      ['a knowledge base', { content: 'x', knowledgeId: '7' }, /knowledge base was not found/, 404],
      [
        'a session that does not exist',
        { content: 'x', sessionId: '999999' },
        /session was not found/,
        404,
      ],
      ['a session id that is none', { content: 'x', sessionId: 'abc' }, /sessionId/, 400],
    ])('%s', async (_, body, message, code) => {
      const reply = await sendChat(admin, body);
      expect(reply.contentType).toContain('text/event-stream');
      expect(reply.error).toMatch(message);
      expect(reply.events).toEqual(['error', '[ERROR]']);
      expect(reply.failure).toMatchObject({ code });
      expect(simulator.requests).toHaveLength(0);
    });

    it('a provider code without an adapter', async () => {
      const name = await model('of-a-mystery', 'mystery');
      const reply = await sendChat(admin, { model: name, content: 'x' });
      expect(reply.error).toMatch(/mystery/);
      expect(reply.done).toBe(false);
    });

    it('but an unreadable body and a missing sign-in as the envelope', async () => {
      const broken = await admin.raw('POST', '/chat/send', '{"content":');
      expect(JSON.parse(broken.text)).toMatchObject({ code: 400 });
      const anonymous = await plinth.anonymous().post('/chat/send', { content: 'x' });
      expect(anonymous.code).toBe(401);
    });
  });

  it('ends with an error and keeps the partial answer when the provider breaks off', async () => {
    const name = await model('sim--chunks-20--cut-5');
    const sessionId = await newSession();
    const reply = await sendChat(admin, { model: name, content: 'x', sessionId });
    expect(reply.text).toContain('tok0');
    expect(reply.events.slice(-2)).toEqual(['error', '[ERROR]']);
    const [, answer] = await messages(sessionId);
    expect(answer).toMatchObject({ state: 'failed', content: reply.text, error: reply.error });
    expect(reply.failure).toEqual({ code: 500, data: null });
  });

  it('tries again before the first token and never after', async () => {
    const name = await model('sim--failfirst-2--status-503');
    const reply = await sendChat(admin, { model: name, content: 'x' });
    expect(reply.done).toBe(true);
    expect(simulator.requests).toHaveLength(3);
    simulator.reset();
    const late = await model('sim--chunks-9--reset-4');
    const broken = await sendChat(admin, { model: late, content: 'x' });
    expect(broken.error).toBeDefined();
    expect(simulator.requests).toHaveLength(1);
  });

  it('never shows the credential or address that a provider quotes', async () => {
    const apiKey = canary.plant('chat');
    const name = await model('sim--leak', 'custom_api', { apiKey });
    const reply = await sendChat(admin, { model: name, content: 'x' });
    expect(reply.error).toBeDefined();
    expect(reply.raw).not.toContain(simulator.url);
  });

  it('stops at once when the client leaves, and keeps what was written', async () => {
    const name = await model('sim--chunks-500--delay-10');
    const sessionId = await newSession();
    const chat = await OpenChat.send(admin, { model: name, content: 'x', sessionId });
    await chat.until('tok3');
    chat.leave();
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
    const stored = await eventually(
      () => messages(sessionId),
      (rows) => rows.length === 2,
    );
    expect(stored[1]).toMatchObject({ state: 'stopped', finishReason: 'client-left' });
    expect(stored[1]?.content).toContain('tok3');
    expect(simulator.requests[0]).toMatchObject({ ended: 'client-closed' });
  });

  it('stops from another connection, but not for another user', async () => {
    const name = await model('sim--chunks-500--delay-10');
    const sessionId = await newSession();
    const chat = await OpenChat.send(admin, { model: name, content: 'x', sessionId });
    await chat.until('tok3');
    const answer = await admin.post<{ stopped: boolean }>(`/chat/stop/${sessionId}`);
    expect(answer.data).toEqual({ stopped: true });
    const reply = await chat.rest();
    expect(reply.done).toBe(true);
    const [, stored] = await messages(sessionId);
    expect(stored).toMatchObject({
      state: 'stopped',
      finishReason: 'stopped',
      content: reply.text,
    });
    const again = await admin.post<{ stopped: boolean }>(`/chat/stop/${sessionId}`);
    expect(again.data).toEqual({ stopped: false });
    expect((await admin.post('/chat/stop/999999')).code).toBe(404);
  });

  it('refuses a second turn in a session while one runs', async () => {
    const name = await model('sim--chunks-500--delay-10');
    const sessionId = await newSession();
    const chat = await OpenChat.send(admin, { model: name, content: 'x', sessionId });
    await chat.until('tok1');
    const second = await sendChat(admin, { model: name, content: 'y', sessionId });
    expect(second.error).toMatch(/still being written/);
    expect(second.failure).toEqual({ code: 409, data: null });
    chat.leave();
    await eventually(
      () => messages(sessionId),
      (rows) => rows.length === 2,
    );
    const echo = await model('sim--echo');
    expect((await sendChat(admin, { model: echo, content: 'z', sessionId })).text).toBe('z');
  });

  it('answers a repeated send with the stored turn', async () => {
    const name = await model('sim--unicode');
    const headers = { 'idempotency-key': 'once-only' };
    const first = await sendChat(admin, { model: name, content: 'pay' }, headers);
    const again = await sendChat(admin, { model: name, content: 'pay' }, headers);
    expect(again.text).toBe(first.text);
    expect(again.done).toBe(true);
    expect(simulator.requests).toHaveLength(1);
    const other = await sendChat(admin, { model: name, content: 'other' }, headers);
    expect(other.error).toMatch(/Idempotency-Key/);
  });

  it('pings while the model is silent', async () => {
    const name = await model('sim--first-2500');
    const reply = await sendChat(admin, { model: name, content: 'x' });
    expect(reply.raw.startsWith(': connected\n\n')).toBe(true);
    expect(reply.raw).toContain(': ping\n\n');
    expect(reply.done).toBe(true);
  });

  it('removes the messages with their session and stops the turn in it', async () => {
    const name = await model('sim--chunks-500--delay-10');
    const sessionId = await newSession();
    const chat = await OpenChat.send(admin, { model: name, content: 'x', sessionId });
    await chat.until('tok1');
    expect((await admin.delete(`/system/session/${sessionId}`)).code).toBe(200);
    await chat.rest();
    expect(await messages(sessionId)).toEqual([]);
    expect((await admin.get(`/system/session/${sessionId}`)).code).toBe(404);
  });
});
