import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { TOOL_LIMITS } from '../../../src/agent/tool/tool.registry.js';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { z } from 'zod';
import { startSimulator } from '../../../simulator/index.js';
import type { RecordedRequest, ScriptStep, Simulator } from '../../../simulator/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { createAgent } from '../../support/agents.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import type { ChatReply } from '../../support/chat.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import { calling, sentTo } from '../../support/scripted-model.js';
import type { SentMessage } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

const EMBED = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
const STEPS = 3;
const CALLS = 40;

interface Call {
  readonly number: number;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly state: string;
  readonly summary: string;
  readonly content: string | null;
  readonly durationMs: number | null;
}

interface Message {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly finishReason: string | null;
  readonly error: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly usageEstimated: boolean;
  readonly sources: readonly { readonly number: number; readonly cited: boolean }[];
  readonly steps: readonly {
    readonly number: number;
    readonly text: string;
    readonly reasoning: string | null;
    readonly inputTokens: number | null;
    readonly outputTokens: number | null;
    readonly calls: readonly Call[];
  }[];
}

const search = (query: string): ScriptStep => calling('search_knowledge', { query });

describe('a turn of an agent with tools', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let modelId: number;
  let base: number;
  let slowBase: number;
  let agentId: number;

  overrideConstants(CHAT_LIMITS, { attempts: 1 });
  // One test waits for it; the tools of the others must be done by then on a busy machine, too.
  overrideConstants(TOOL_LIMITS, { timeoutMs: 10_000 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start({
      AGENT_MAX_STEPS: String(STEPS),
      AGENT_MAX_TOKENS: '10000',
    });
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    modelId = await createModel(admin, { ...service, modelName: 'agent-model' });
    await createModel(admin, { ...service, ...EMBED });
    await createModel(admin, { ...service, ...EMBED, modelName: 'sim-slow-256' });
    base = await createKnowledge(admin, { name: 'Shop', embeddingModel: EMBED.modelName });
    slowBase = await createKnowledge(admin, { name: 'Slow', embeddingModel: 'sim-slow-256' });
    await upload(admin, base, [
      ['warranty.txt', 'The warranty of every laptop lasts two years.'],
      ['returns.txt', 'A phone can be returned within thirty days.'],
    ]);
    await upload(admin, slowBase, [['slow.txt', 'Slow is smooth.']]);
    for (const one of [base, slowBase]) await settled(admin, one);
    agentId = await agentWith(['search_knowledge', 'calculate', 'current_time']);
  });

  afterEach(() => simulator.reset());

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  async function agentWith(tools: string[], fields: object = {}): Promise<number> {
    const made = { runtime: 'tools', tools, knowledgeIds: [base], ...fields };
    return (await createAgent(admin, modelId, made)).id;
  }

  async function newSession(): Promise<string> {
    return done(await admin.post<string>('/system/session', {})).data;
  }

  function model(...steps: ScriptStep[]): void {
    for (const step of steps) simulator.script({ match: { path: '/chat/completions' }, ...step });
  }

  /** The answer as it is stored, and that its list shows the same without what the model read. */
  async function answerIn(sessionId: string): Promise<Message> {
    const { rows } = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`);
    const listed = rows.findLast(({ role }) => role === 'assistant');
    if (!listed) throw new Error('There is no answer.');
    const { data } = done(await admin.get<Message>(`/system/message/${listed.id}`));
    const withoutContent = data.steps.map((step) => ({
      ...step,
      calls: step.calls.map((call) => ({ ...call, content: null })),
    }));
    expect(listed.steps).toEqual(withoutContent);
    return data;
  }

  function frames(reply: ChatReply, event: string): Record<string, unknown>[] {
    return reply.frames.filter((frame) => frame.event === event).map(({ data }) => data);
  }

  function states(message: Message): string[] {
    return message.steps.flatMap(({ calls }) => calls.map(({ state }) => state));
  }

  async function ask(
    sessionId: string,
    content = 'What now?',
    agent = agentId,
  ): Promise<ChatReply> {
    return sendChat(admin, { content, agentId: agent, sessionId });
  }

  it('searches twice and answers with citations', async () => {
    model(
      { text: 'Let me look.', ...search('laptop warranty'), inputTokens: 10, outputTokens: 1 },
      { ...search('return a phone'), inputTokens: 20, outputTokens: 2 },
      { text: 'Two years [1], thirty days [2].', inputTokens: 30, outputTokens: 3 },
    );
    const sessionId = await newSession();
    const reply = await ask(sessionId);

    expect(reply.text).toMatch(/^Let me look\.\n\nTwo years \[1\], thirty days \[2\]\./);
    const calls = frames(reply, 'tool_call');
    expect(calls).toEqual([
      expect.objectContaining({ number: 1, name: 'search_knowledge' }),
      expect.objectContaining({ number: 2, name: 'search_knowledge' }),
    ]);
    expect(calls[0]).toMatchObject({ arguments: '{"query":"laptop warranty"}' });
    expect(frames(reply, 'tool_result')).toEqual([
      expect.objectContaining({ number: 1, id: calls[0]?.['id'], state: 'done' }),
      expect.objectContaining({ number: 2, id: calls[1]?.['id'], state: 'done' }),
    ]);
    const sources = frames(reply, 'sources').flatMap(
      (frame) => frame['sources'] as { number: number }[],
    );
    expect(sources.map(({ number }) => number)).toEqual([1, 2]);
    const order = reply.events.filter((event) => !['content', 'sources'].includes(event));
    expect(order).toEqual([
      ...['tool_call', 'tool_result', 'tool_call', 'tool_result'],
      ...['usage', 'done'],
    ]);
    expect(frames(reply, 'done')).toEqual([
      expect.objectContaining({ finishReason: 'stop', citations: { cited: [1, 2], unknown: [] } }),
    ]);

    const answer = await answerIn(sessionId);
    expect(answer).toMatchObject({
      state: 'complete',
      content: 'Let me look.\n\nTwo years [1], thirty days [2].',
      inputTokens: 60,
      outputTokens: 6,
      totalTokens: 66,
      usageEstimated: false,
    });
    expect(answer.sources.map(({ cited }) => cited)).toEqual([true, true]);
    expect(answer.steps).toMatchObject([
      { number: 1, text: 'Let me look.', inputTokens: 10, outputTokens: 1 },
      { number: 2, text: '', inputTokens: 20, outputTokens: 2 },
    ]);
    expect(answer.steps[0]?.calls[0]?.content).toContain('two years');

    // The model has read the fragments, and the question was not augmented before.
    const bodies = sent();
    expect(bodies[0]?.at(-1)).toMatchObject({ role: 'user', content: 'What now?' });
    expect(bodies[2]?.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'tool'],
    ]);
  });

  it('has its tool messages in the history of the next turn', async () => {
    const sessionId = await newSession();
    model({ text: 'I look.', ...search('warranty of a laptop') }, { text: 'Two years [1].' });
    await ask(sessionId);
    simulator.reset();
    model({ text: 'As I said.' });
    await ask(sessionId, 'Are you sure?');
    const [messages] = sent();
    expect(messages?.[2]?.content).toMatch(/<fragment document="warranty.txt"/);
    expect(messages?.map(({ role, content }) => [role, role === 'tool' ? '' : content])).toEqual([
      ['user', 'What now?'],
      ['assistant', 'I look.'],
      ['tool', ''],
      ['assistant', 'Two years [1].'],
      ['user', 'Are you sure?'],
    ]);

    simulator.reset();
    model({ text: 'Without tools.' });
    const { id } = await createAgent(admin, modelId, {});
    await ask(sessionId, 'And you?', id);
    expect(sent()[0]?.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'user', 'assistant', 'user'],
    ]);
  });

  it('runs the calls of one step together and answers a repeated key with the same frames', async () => {
    const sum = calling('calculate', { expression: '6 * 7' }, 'a').toolCalls ?? [];
    const other = calling('calculate', { expression: '2 ^ 10' }, 'b').toolCalls ?? [];
    model({ toolCalls: [...sum, ...other] }, { text: '42 and 1024.' });
    const sessionId = await newSession();
    const body = { content: 'Count', agentId, sessionId };
    const reply = await sendChat(admin, body, { 'idempotency-key': 'count' });

    expect(frames(reply, 'tool_call').map(({ id }) => id)).toEqual(['a', 'b']);
    expect(states(await answerIn(sessionId))).toEqual(['done', 'done']);
    const again = await sendChat(admin, body, { 'idempotency-key': 'count' });
    const byNumber = (of: ChatReply): unknown[] =>
      frames(of, 'tool_result').sort((a, b) => Number(a['number']) - Number(b['number']));
    expect(byNumber(again)).toEqual(byNumber(reply));
    expect(again.text).toBe('42 and 1024.');
  });

  it('goes on after calls that fail, and tells the model why', async () => {
    const unknown = calling('launch_rocket', {}, 'x').toolCalls ?? [];
    const invalid = calling('calculate', { expression: '2 +' }, 'y').toolCalls ?? [];
    const extra = calling('calculate', { formula: '1' }, 'z').toolCalls ?? [];
    model({ toolCalls: [...unknown, ...invalid, ...extra] }, { text: 'I cannot.' });
    const sessionId = await newSession();
    const reply = await ask(sessionId);

    expect(reply.text).toBe('I cannot.');
    expect(reply.done).toBe(true);
    const answer = await answerIn(sessionId);
    expect(states(answer)).toEqual(['failed', 'failed', 'failed']);
    const results = sent()
      .at(-1)
      ?.filter(({ role }) => role === 'tool')
      .map(({ content }) => content);
    expect(results).toEqual([
      expect.stringContaining('There is no tool "launch_rocket".'),
      expect.any(String),
      expect.stringContaining('The arguments of calculate are not valid.'),
    ]);
  });

  it('ends a tool that hangs at its time limit', async () => {
    const slowAgent = await agentWith(['search_knowledge'], { knowledgeIds: [slowBase] });
    simulator.script({ match: { path: '/embeddings' }, hold: true });
    model(search('never answered'), { text: 'It took too long.' });
    const sessionId = await newSession();
    const reply = await ask(sessionId, 'Slow?', slowAgent);

    expect(reply.text).toBe('It took too long.');
    expect(frames(reply, 'tool_result')).toEqual([expect.objectContaining({ state: 'timeout' })]);
    expect(states(await answerIn(sessionId))).toEqual(['timeout']);
  });

  it('asks a model that loops once more without tools', async () => {
    const loop = calling('calculate', { expression: '1 + 1' });
    model({ ...loop, times: STEPS }, { text: 'Enough.' });
    const sessionId = await newSession();
    const reply = await ask(sessionId);

    expect(frames(reply, 'tool_call')).toHaveLength(STEPS);
    expect(reply.text).toBe('Enough.');
    expect(frames(reply, 'done')).toEqual([expect.objectContaining({ finishReason: 'max-steps' })]);
    const answer = await answerIn(sessionId);
    expect(answer).toMatchObject({ state: 'complete', finishReason: 'max-steps' });
    expect(answer.steps).toHaveLength(STEPS);
    const choices = chatRequests().map(({ body }) => choiceOf(body));
    expect(choices).toEqual([...Array.from({ length: STEPS }, () => undefined), 'none']);
  });

  it('keeps the limit of the agent, and fails when the model writes nothing even then', async () => {
    const short = await agentWith(['calculate'], { maxSteps: 1 });
    model({ ...calling('calculate', { expression: '1 + 1' }), times: 2 });
    const sessionId = await newSession();
    const reply = await ask(sessionId, 'Loop', short);

    expect(reply.error).toBe(
      'The agent has reached its limit of steps, and the model wrote no answer. Ask for less in one message.',
    );
    const answer = await answerIn(sessionId);
    expect(answer).toMatchObject({ state: 'failed', error: reply.error });
    expect(states(answer)).toEqual(['done']);
  });

  it('refuses the tool calls above their limit', async () => {
    const [call] = calling('calculate', { expression: '1 + 1' }).toolCalls ?? [];
    if (!call) throw new Error('No call');
    const calls = Array.from({ length: CALLS + 1 }, (_, at) => ({ ...call, id: `c${at}` }));
    model({ toolCalls: calls }, { text: 'Enough.' });
    const sessionId = await newSession();
    const reply = await ask(sessionId);

    expect(frames(reply, 'done')).toEqual([
      expect.objectContaining({ finishReason: 'max-tool-calls' }),
    ]);
    const ended = [...Array.from({ length: CALLS }, () => 'done'), 'failed'];
    expect(states(await answerIn(sessionId))).toEqual(ended);
  });

  it('gives a model no more tools when it has used the tokens of a turn', async () => {
    model(
      { ...calling('calculate', { expression: '1 + 1' }), inputTokens: 9_999, outputTokens: 1 },
      { text: 'Enough.' },
    );
    const reply = await ask(await newSession());
    expect(frames(reply, 'done')).toEqual([
      expect.objectContaining({ finishReason: 'max-tokens' }),
    ]);
  });

  /** A turn in the middle of a tool that hangs. */
  async function hanging(sessionId?: string): Promise<OpenChat> {
    const slowAgent = await agentWith(['search_knowledge'], { knowledgeIds: [slowBase] });
    simulator.script({ match: { path: '/embeddings' }, hold: true });
    model({ text: 'I look.', ...search('hangs') }, { text: 'Never.' });
    const chat = await OpenChat.send(admin, { content: 'Hang', agentId: slowAgent, sessionId });
    await chat.until('event: tool_call');
    await eventually(
      () => simulator.requests.filter(({ path }) => path.endsWith('/embeddings')).length,
      (requests) => requests > 0,
    );
    return chat;
  }

  it('is stopped in the middle of a tool', async () => {
    const sessionId = await newSession();
    const chat = await hanging(sessionId);
    expect(await admin.post(`/chat/stop/${sessionId}`)).toMatchObject({ data: { stopped: true } });
    const reply = await chat.rest();

    expect(frames(reply, 'tool_result')).toEqual([expect.objectContaining({ state: 'stopped' })]);
    expect(frames(reply, 'done')).toEqual([expect.objectContaining({ finishReason: 'stopped' })]);
    const answer = await answerIn(sessionId);
    expect(answer).toMatchObject({ state: 'stopped', content: 'I look.' });
    expect(states(answer)).toEqual(['stopped']);
    expect(chatRequests()).toHaveLength(1);

    simulator.reset();
    model({ text: 'Again.' });
    expect((await ask(sessionId, 'Go on')).text).toBe('Again.');
    expect(sent()[0]?.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Hang'],
      ['assistant', 'I look.'],
      ['tool', expect.stringMatching(/stopped|did not finish/)],
      ['assistant', 'The answer was interrupted.'],
      ['user', 'Go on'],
    ]);
  });

  it('ends when its client leaves in the middle of a tool', async () => {
    const sessionId = await newSession();
    const chat = await hanging(sessionId);
    chat.leave();
    const answer = await eventually(
      () => answerIn(sessionId).catch(() => undefined),
      (stored) => stored !== undefined,
    );
    expect(answer).toMatchObject({ state: 'stopped', finishReason: 'client-left' });
    expect(answer && states(answer)).toEqual(['stopped']);
    expect(chatRequests()).toHaveLength(1);
  });

  it('fails with its steps when the model fails in the middle', async () => {
    model(calling('calculate', { expression: '6 * 7' }), { status: 500 });
    const sessionId = await newSession();
    const reply = await ask(sessionId);

    expect(reply.error).toBeDefined();
    expect(reply.done).toBe(false);
    const answer = await answerIn(sessionId);
    expect(answer).toMatchObject({ state: 'failed', error: reply.error });
    expect(states(answer)).toEqual(['done']);
  });

  it('runs no tool whose step cannot be stored, and keeps the answer until it can', async () => {
    const database = plinth.app.get(Database);
    await database.query(`
      CREATE FUNCTION refuse_step() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no room for steps'; END $$;
      CREATE TRIGGER refuse_step BEFORE INSERT ON chat_step FOR EACH ROW EXECUTE FUNCTION refuse_step();
    `);
    const sessionId = await newSession();
    try {
      model({ text: 'I compute.', ...calling('calculate', { expression: '6 * 7' }) });
      const reply = await ask(sessionId);

      expect(reply.error).toBeDefined();
      expect(reply.done).toBe(false);
      expect(frames(reply, 'tool_result')).toEqual([
        expect.objectContaining({ state: 'stopped', durationMs: 0 }),
      ]);
      expect(chatRequests()).toHaveLength(1);
    } finally {
      await database.query('DROP FUNCTION refuse_step CASCADE');
    }
    // The answer is kept until its steps can be stored with it.
    const answer = await eventually(
      () => answerIn(sessionId).catch(() => undefined),
      (stored) => stored !== undefined,
    );
    expect(answer).toMatchObject({ state: 'failed', content: 'I compute.' });
    expect(answer && states(answer)).toEqual(['stopped']);
    model({ text: 'Stored again.' });
    expect((await ask(sessionId)).text).toBe('Stored again.');
  });

  it('calls no tool whose arguments are cut', async () => {
    model({ ...calling('calculate', '{"expression": "1 +'), finishReason: 'length' });
    const sessionId = await newSession();
    const reply = await ask(sessionId);
    expect(reply.error).toBeDefined();
    expect((await answerIn(sessionId)).steps).toEqual([]);
  });

  it('calls no tool whose arguments are not JSON, which the model reads', async () => {
    model(calling('calculate', '{"expression": "1 +'), { text: 'I cannot compute it.' });
    const sessionId = await newSession();
    const reply = await ask(sessionId);
    expect([reply.error, reply.text]).toEqual([undefined, 'I cannot compute it.']);
    expect(frames(reply, 'tool_call')).toMatchObject([{ arguments: '{"expression": "1 +' }]);
    expect(frames(reply, 'tool_result')).toMatchObject([{ name: 'calculate', state: 'failed' }]);
    const answer = await answerIn(sessionId);
    expect(states(answer)).toEqual(['failed']);
    expect(answer.steps[0]?.calls[0]?.content).toContain(
      'They are not JSON. Send one JSON object.',
    );
  });

  it('without search_knowledge gets its fragments before the answer', async () => {
    const reader = await agentWith(['calculate']);
    model(calling('calculate', { expression: '1 + 1' }), { text: 'Two years [1].' });
    const sessionId = await newSession();
    const reply = await ask(sessionId, 'How long is the warranty of a laptop?', reader);

    expect(reply.events[0]).toBe('sources');
    expect(reply.text).toMatch(/^Two years \[1\]\./);
    expect(sent().at(-1)?.[0]?.content).toContain('<fragment number="1"');
    expect((await answerIn(sessionId)).sources[0]).toMatchObject({ number: 1, cited: true });
  });

  it('is offered the skills of an agent that uses them, and no others', async () => {
    const skilled = await agentWith([], { skillNames: ['pdf'], useSkills: true });
    model(calling('activate_skill', { name: 'pdf' }), { text: 'Ready.' });
    const sessionId = await newSession();
    await ask(sessionId, 'Make a PDF', skilled);
    expect(states(await answerIn(sessionId))).toEqual(['done']);
    expect(toolsOf(chatRequests()[0]?.body)).toEqual(['activate_skill', 'read_skill_resource']);

    simulator.reset();
    const without = await agentWith(['calculate'], { skillNames: ['pdf'] });
    await ask(await newSession(), 'Make a PDF', without);
    expect(toolsOf(chatRequests()[0]?.body)).toEqual(['calculate']);
  });

  it('leaves out results that no longer fit the window of the model', async () => {
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    const small = await createModel(admin, {
      ...service,
      modelName: 'small-window',
      contextWindow: 3_000,
      maxOutput: 300,
    });
    const { id } = await createAgent(admin, small, {
      runtime: 'tools',
      tools: ['search_knowledge'],
      knowledgeIds: [base],
    });
    const long = 'x'.repeat(9_600);
    model(
      search('laptop warranty of two years'),
      { text: long, ...search('another phone to return') },
      { text: 'Done.' },
    );
    const reply = await ask(await newSession(), 'Look', id);
    expect(reply.text).toContain(`${long}\n\nDone.`);
    const results = sent()
      .at(-1)
      ?.filter(({ role }) => role === 'tool');
    expect(results?.[0]?.content).toContain('The result was removed');
  });

  it('finds as much as the window of the model has room for', async () => {
    const long = await createKnowledge(admin, {
      ...{ name: 'Long', embeddingModel: EMBED.modelName, textBlockSize: 8_000 },
    });
    await upload(admin, long, [
      ['long.txt', 'The laptop has a warranty of two years. '.repeat(600)],
      ['other.txt', 'A laptop warranty begins with its purchase. '.repeat(150)],
      ['short.txt', 'A laptop is portable.'],
    ]);
    await settled(admin, long);
    const narrow = await createModel(admin, {
      ...{ apiHost: `${simulator.url}/v1`, apiKey: 'key' },
      ...{ modelName: 'gpt-4o-narrow', contextWindow: 3_000, maxOutput: 300 },
    });
    const tools = { runtime: 'tools', tools: ['search_knowledge'], knowledgeIds: [long] };
    const { id } = await createAgent(admin, narrow, tools);
    model(search('warranty of a laptop'), { text: 'Two years. [1]' });
    const reply = await ask(await newSession(), 'Look', id);
    expect(reply.text).toContain('Two years.');
    const [result] = (sent().at(-1) ?? []).filter(({ role }) => role === 'tool');
    expect(result?.content).toMatch(/<fragment number="1" [^>]*cut="true"/);
    expect(result?.content).toContain('[Fragment 1 is longer and was cut.]');
    expect(result?.content).toMatch(/\[\d+ more did not fit\./);
    expect(result?.content).not.toContain('The result was removed');
    expect(result?.content?.length).toBeGreaterThan(3_000);
  });

  it('is refused for a model that supports no tools', async () => {
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    const plain = await createModel(admin, {
      ...service,
      modelName: 'plain-model',
      supportsTools: false,
    });
    const refusal =
      'The model plain-model does not support tools, which the runtime tools of the agent needs. Give the agent another model, or the runtime direct.';
    const direct = await createAgent(admin, plain, {});
    const { id } = direct;
    const change = await admin.put('/agent/agent', { id, runtime: 'tools' });
    expect(change).toMatchObject({ code: 400, msg: refusal });

    const changing = await createModel(admin, { ...service, modelName: 'changing-model' });
    const bound = await createAgent(admin, changing, { runtime: 'tools' });
    const update = { id: changing, modelName: 'plain-model-2', supportsTools: false };
    done(await admin.put('/system/model', update));
    const reply = await ask(await newSession(), 'Go', bound.id);
    expect(reply.error).toBe(refusal.replace('plain-model', 'plain-model-2'));
  });

  it.each([
    [{ runtime: 'graph' }, 'There is no runtime named "graph". The runtimes are direct, tools.'],
    [{ tools: ['search', 'calculate'] }, 'There is no tool named "search". The tools are'],
    [{ tools: ['activate_skill'] }, 'There is no tool named "activate_skill".'],
    [{ maxSteps: 0 }, 'maxSteps'],
    [{ maxSteps: 101 }, 'maxSteps'],
  ])('is refused as %j', async (fields, message) => {
    const body = { agentName: 'Refused', modelId, ...fields };
    const answer = await admin.post('/agent/agent', body);
    expect(answer).toMatchObject({ code: 400, msg: expect.stringContaining(message) });
  });

  it('has its settings in the record of the agent', async () => {
    const made = await createAgent(admin, modelId, {
      runtime: 'tools',
      tools: ['calculate', 'calculate'],
      useSkills: true,
      maxSteps: 5,
    });
    expect(made).toMatchObject({
      runtime: 'tools',
      tools: ['calculate'],
      useSkills: true,
      maxSteps: 5,
    });
    const cleared = { id: made.id, runtime: 'direct', tools: [], useSkills: false, maxSteps: '' };
    expect(await admin.put('/agent/agent', cleared)).toMatchObject({
      data: { runtime: 'direct', tools: [], useSkills: false, maxSteps: null },
    });
    const tools = done(await admin.get<{ name: string }[]>('/agent/agent/toolOptions')).data;
    expect(tools.map(({ name }) => name)).toEqual([
      ...['search_knowledge', 'read_document', 'current_time', 'calculate'],
      ...['web_search', 'fetch_page'],
    ]);
    const runtimes = done(await admin.get('/agent/agent/runtimeOptions')).data;
    expect(runtimes).toMatchObject([
      { code: 'direct', usesTools: false },
      { code: 'tools', usesTools: true },
    ]);
  });

  function chatRequests(): RecordedRequest[] {
    return simulator.requests.filter(({ path }) => path.endsWith('/chat/completions'));
  }

  /** The messages that the model was sent, request by request. */
  function sent(): SentMessage[][] {
    return sentTo({ requests: chatRequests() });
  }
});

const sentChoice = z.object({ tool_choice: z.string().optional() });
const sentTools = z.object({
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })),
});

function choiceOf(body: unknown): string | undefined {
  return sentChoice.parse(body).tool_choice;
}

function toolsOf(body: unknown): string[] {
  return sentTools.parse(body).tools.map((tool) => tool.function.name);
}

describe('the total time of a turn with tools', () => {
  const SECONDS = 5;
  let plinth: Plinth;
  let simulator: Simulator;

  overrideConstants(CHAT_LIMITS, { totalMs: SECONDS * 1_000 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  it('ends a model that writes nothing after a tool, and stores the step', async () => {
    const admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    const modelId = await createModel(admin, { ...service, modelName: 'agent-model' });
    const { id: agentId } = await createAgent(admin, modelId, {
      runtime: 'tools',
      tools: ['calculate'],
    });
    const sessionId = done(await admin.post<string>('/system/session', {})).data;
    const path = '/chat/completions';
    simulator.script({ match: { path }, ...calling('calculate', { expression: '6 * 7' }) });
    simulator.script({ match: { path }, hold: true });
    const reply = await sendChat(admin, { content: 'Compute', agentId, sessionId });

    expect(reply.done).toBe(false);
    expect(reply.error).toBe(
      `The answer took longer than ${SECONDS} seconds and was ended here. Ask for less in one message.`,
    );
    const { rows } = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`);
    const answer = rows.findLast(({ role }) => role === 'assistant');
    expect(answer).toMatchObject({ state: 'failed', error: reply.error });
    // A busy machine may reach the limit before the tool.
    for (const { calls } of answer?.steps ?? []) {
      expect(calls.map(({ state }) => state)).toEqual(['done']);
    }
  });
});
