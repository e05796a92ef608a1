import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { z } from 'zod';
import { startSimulator } from '../../../simulator/index.js';
import type { ScriptStep, Simulator } from '../../../simulator/index.js';
import { createAgent } from '../../support/agents.js';
import type { AgentRow } from '../../support/agents.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import type { ChatReply } from '../../support/chat.js';
import { createModel, createProvider } from '../../support/models.js';
import { done, makeUser } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { ADMIN_PASSWORD, FULL_CLIENT } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const SCHEMA = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    price: { type: 'number' },
    above: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
  },
  required: ['title', 'price'],
  additionalProperties: false,
};
const FORMAT = { type: 'json_schema', name: 'offer', schema: SCHEMA };
const JSON_TEXT = '{"title":"Lamp", "price":12.5}';
const LOOSE = { type: 'json_schema', schema: { type: 'object' } };

interface Message {
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly finishReason: string;
  readonly error: string | null;
  readonly structured: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningContent: string | null;
}

const sentBody = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string().nullable() })),
  tools: z.array(z.looseObject({})).optional(),
  response_format: z.looseObject({}).optional(),
});

describe('an answer of a form', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let modelId: number;

  overrideConstants(CHAT_LIMITS, { attempts: 1 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn('admin', ADMIN_PASSWORD, '000000', FULL_CLIENT);
    for (const code of ['openai', 'custom_messages', 'ollama']) await createProvider(admin, code);
    modelId = await newModel('sim', 'openai');
    await newModel('sim-messages', 'custom_messages');
    await newModel('sim-ollama', 'ollama');
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  function newModel(modelName: string, providerCode: string): Promise<number> {
    const apiHost = providerCode === 'ollama' ? simulator.url : `${simulator.url}/v1`;
    return createModel(admin, { modelName, providerCode, apiHost, apiKey: 'key' });
  }

  async function newSession(): Promise<string> {
    return done(await admin.post<string>('/system/session', { sessionTitle: 'Forms' })).data;
  }

  async function lastMessage(sessionId: string): Promise<Message | undefined> {
    const { rows } = await admin.get<Message[]>(`/system/message/list?sessionId=${sessionId}`);
    return rows.at(-1);
  }

  /** Sends a message in a new session, after the answers of the model were set. */
  async function ask(
    answers: readonly ScriptStep[],
    more: object = {},
  ): Promise<{ readonly reply: ChatReply; readonly message: Message | undefined }> {
    const sessionId = await newSession();
    simulator.script(...answers);
    const body = { model: 'sim', content: 'An offer?', responseFormat: FORMAT, sessionId, ...more };
    const reply = await sendChat(admin, body);
    return { reply, message: await lastMessage(sessionId) };
  }

  const sent = (): z.output<typeof sentBody>[] =>
    simulator.requests.map(({ body }) => sentBody.parse(body));

  describe('that fits', () => {
    it.each(['sim', 'sim-messages', 'sim-ollama'])(
      'is streamed and stored when it is checked, whatever the protocol: %s',
      async (model) => {
        const answer: ScriptStep =
          model === 'sim-messages'
            ? { toolCalls: [{ name: 'offer', arguments: JSON_TEXT }] }
            : { text: JSON_TEXT };
        const { reply, message } = await ask([answer], { model });

        expect(reply.error).toBeUndefined();
        expect(reply.text).toBe(JSON_TEXT);
        expect(reply.frames.at(-1)?.data).toMatchObject({ finishReason: 'stop', structured: true });
        expect(message).toMatchObject({ content: JSON_TEXT, state: 'complete', structured: true });
      },
    );

    it('comes as one frame after the thinking text, without code fence', async () => {
      const { reply, message } = await ask([
        { reasoning: 'Let me see …', text: `\`\`\`json\n${JSON_TEXT}\n\`\`\`\n` },
      ]);

      const texts = reply.frames.filter(({ data }) => Boolean(data['content']));
      expect(texts.map(({ data }) => data['content'])).toEqual([JSON_TEXT]);
      expect(reply.reasoning).toContain('Let me see');
      expect(reply.events.slice(-3)).toEqual(['content', 'usage', 'done']);
      expect(message).toMatchObject({ content: JSON_TEXT, reasoningContent: reply.reasoning });
    });

    it('is the same for a repeated key', async () => {
      simulator.script({ text: JSON_TEXT });
      const body = { model: 'sim', content: 'An offer?', responseFormat: FORMAT };
      const key = { 'idempotency-key': 'form-1' };
      const first = await sendChat(admin, body, key);
      const second = await sendChat(admin, body, key);

      expect(first.error).toBeUndefined();
      expect(second.text).toBe(JSON_TEXT);
      expect(second.frames.at(-1)).toEqual(first.frames.at(-1));
      expect(sent()).toHaveLength(1);
    });
  });

  describe('that does not fit', () => {
    it('is corrected once: the client sees the corrected one alone, and pays for both', async () => {
      const wrong = '{"title":"Lamp","price":"12.5","above":["a","B"]}';
      const { reply, message } = await ask([
        { text: wrong, inputTokens: 100, outputTokens: 10 },
        { text: JSON_TEXT, inputTokens: 150, outputTokens: 12 },
      ]);

      expect(reply.error).toBeUndefined();
      expect(reply.raw).not.toContain('above');
      expect(reply.text).toBe(JSON_TEXT);
      const usage = { inputTokens: 250, outputTokens: 22, totalTokens: 272, estimated: false };
      expect(reply.frames.find(({ event }) => event === 'usage')?.data).toMatchObject({ usage });
      expect(message).toMatchObject({ content: JSON_TEXT, inputTokens: 250, outputTokens: 22 });
      const [first, second] = sent();
      expect(second?.messages.slice(0, -1)).toEqual([
        ...(first?.messages ?? []),
        { role: 'assistant', content: wrong },
      ]);
      expect(second?.messages.at(-1)?.content).toMatch(
        /- \/price must be number \(type\)\n- \/above\/1 must match pattern "\^\[a-z\]\+\$" \(pattern\)/,
      );
      expect(second?.response_format).toEqual(first?.response_format);
    });

    it('twice fails the turn with path and rule', async () => {
      const { reply, message } = await ask([
        { text: 'Here you are: {}', inputTokens: 100, outputTokens: 10 },
        { text: '{"title":"Lamp"}', inputTokens: 150, outputTokens: 12 },
      ]);

      expect(reply.error).toBe(
        "The answer does not fit its JSON Schema, also after a correction: / must have required property 'price' (required). Send the message again, simplify the schema or choose another model.",
      );
      expect(reply.text).toBe('');
      expect(reply.done).toBe(false);
      expect(message).toMatchObject({
        content: '',
        state: 'failed',
        error: reply.error,
        structured: false,
        inputTokens: 250,
        outputTokens: 22,
      });
      expect(sent()).toHaveLength(2);
    });

    it('fails with the error of the provider when the correction does', async () => {
      const { reply, message } = await ask([
        { text: '{}', inputTokens: 100, outputTokens: 10 },
        { status: 500 },
      ]);

      expect(reply.error).toMatch(/overloaded or failing \(500\)/);
      expect(message).toMatchObject({ content: '', state: 'failed', inputTokens: 100 });
    });
  });

  describe('that is not finished', () => {
    it('says that the length limit has cut it', async () => {
      const { reply, message } = await ask([{ text: '{"title":', finishReason: 'length' }]);

      expect(reply.error).toMatch(/reached its length limit before its JSON was complete/);
      expect(message).toMatchObject({ content: '', state: 'failed', error: reply.error });
      expect(sent()).toHaveLength(1);
    });

    it('says that the model declined', async () => {
      const { reply, message } = await ask([{ refusal: true }]);

      expect(reply.error).toMatch(/^The model declined to answer.*It said: \S/);
      expect(message).toMatchObject({ content: '', state: 'failed', error: reply.error });
      expect(sent()).toHaveLength(1);
    });

    it('is stopped like any other, without the text that was not checked', async () => {
      const sessionId = await newSession();
      simulator.script({ reasoning: 'Hm.', text: JSON_TEXT, stall: 2 });
      const body = { model: 'sim', content: 'An offer?', responseFormat: FORMAT, sessionId };
      const chat = await OpenChat.send(admin, body);
      await chat.until('reasoning_content');
      done(await admin.post(`/chat/stop/${sessionId}`));
      const reply = await chat.rest();

      expect(reply.text).toBe('');
      expect(reply.frames.at(-1)?.data).toEqual({
        event: 'done',
        done: true,
        finishReason: 'stopped',
      });
      expect(await lastMessage(sessionId)).toMatchObject({
        content: '',
        state: 'stopped',
        structured: false,
      });
    });
  });

  it.each([
    [{ type: 'xml' }, 'responseFormat.type must be json_schema or text'],
    [{ type: 'json_schema' }, 'responseFormat.schema must be a JSON Schema object'],
    [{ ...FORMAT, name: 'a b' }, 'responseFormat.name must be 1 to 64 letters'],
    ['json', 'responseFormat must be an object'],
    [
      { ...FORMAT, schema: { type: 'object', properties: { a: { type: 'text' } } } },
      'responseFormat.schema cannot be used: /properties/a/type must be equal to one of',
    ],
    [
      { ...FORMAT, schema: { type: 'object', properties: { a: { $ref: 'https://x.test/a' } } } },
      '/properties/a/$ref must refer to a part of this schema',
    ],
    [
      { ...FORMAT, schema: { type: 'object', description: 'x'.repeat(32_000) } },
      'and at most 32000 are allowed',
    ],
  ])('is refused before the turn begins when its schema cannot be used: %#', async (given, why) => {
    const { reply } = await ask([], { responseFormat: given });

    expect(reply.error).toContain(why);
    expect(sent()).toEqual([]);
  });

  it('keeps the names that every object has, and the order of the properties', async () => {
    const properties = {
      zebra: { type: 'string' },
      constructor: { type: 'string' },
      apple: { type: 'string' },
    };
    const schema = { type: 'object', properties };
    const responseFormat = { type: 'json_schema', schema };
    const agent = await createAgent(admin, modelId, { responseFormat });
    simulator.script({ text: '{}' }, { text: '{}' });
    await sendChat(admin, { model: 'sim', content: 'x', responseFormat });
    await sendChat(admin, { agentId: agent.id, content: 'x' });

    const asked = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: false } };
    for (const { response_format } of sent()) {
      expect(JSON.stringify(response_format)).toBe(JSON.stringify(asked));
    }
    expect(sent()).toHaveLength(2);
  });

  describe('of an agent', () => {
    async function saved(id: number, fields: object): Promise<AgentRow> {
      return done(await admin.put<AgentRow>('/agent/agent', { id, ...fields })).data;
    }

    it('is kept, changed and cleared', async () => {
      const { id, ...agent } = await createAgent(admin, modelId, { responseFormat: FORMAT });
      expect(agent['responseFormat']).toEqual(FORMAT);
      expect(await saved(id, { responseFormat: null, remark: 'x' })).toMatchObject({
        responseFormat: FORMAT,
      });
      expect(await saved(id, { responseFormat: LOOSE })).toMatchObject({
        responseFormat: { ...LOOSE, name: 'answer' },
      });
      expect(await saved(id, { responseFormat: '' })).toMatchObject({ responseFormat: null });
      await saved(id, { responseFormat: FORMAT });
      expect(await saved(id, { responseFormat: { type: 'text' } })).toMatchObject({
        responseFormat: null,
      });
    });

    it('is refused when it cannot be used, and nothing is saved', async () => {
      const { id } = await createAgent(admin, modelId);
      const schema = { type: 'object', properties: { a: { typ: 'string' } } };
      expect(
        await admin.put('/agent/agent', { id, responseFormat: { ...FORMAT, schema }, remark: 'x' }),
      ).toMatchObject({
        code: 400,
        msg: 'responseFormat.schema cannot be used: /properties/a/typ is not a keyword of JSON Schema.',
      });
      expect(done(await admin.get<AgentRow>(`/agent/agent/${id}`)).data).toMatchObject({
        remark: '',
        responseFormat: null,
      });
    });

    it('holds for every message, and a message can ask for another or none', async () => {
      const agent = await createAgent(admin, modelId, { responseFormat: FORMAT });
      simulator.script({ text: JSON_TEXT }, { text: '{"a":1}' }, { text: 'Just words.' });
      const replies = [
        await sendChat(admin, { agentId: agent.id, content: 'x' }),
        await sendChat(admin, { agentId: agent.id, content: 'x', responseFormat: LOOSE }),
        await sendChat(admin, {
          agentId: agent.id,
          content: 'x',
          responseFormat: { type: 'text' },
        }),
      ];

      expect(replies.map(({ text }) => text)).toEqual([JSON_TEXT, '{"a":1}', 'Just words.']);
      expect(replies.map(({ frames }) => frames.at(-1)?.data['structured'])).toEqual([
        true,
        true,
        undefined,
      ]);
      expect(sent().map(({ response_format }) => response_format !== undefined)).toEqual([
        true,
        true,
        false,
      ]);
    });
  });

  it('is checked after the tools of an agent, and what is written before them is thinking', async () => {
    const agent = await createAgent(admin, modelId, {
      runtime: 'tools',
      tools: ['current_time'],
      responseFormat: FORMAT,
    });
    const { reply, message } = await ask(
      [
        {
          text: 'Let me look.',
          toolCalls: [{ name: 'current_time', arguments: {} }],
          inputTokens: 10,
          outputTokens: 1,
        },
        { text: '{"title":1}', inputTokens: 20, outputTokens: 2 },
        { text: JSON_TEXT, inputTokens: 30, outputTokens: 4 },
      ],
      { agentId: agent.id, responseFormat: undefined },
    );

    expect(reply.error).toBeUndefined();
    expect(reply.events.filter((event) => event.startsWith('tool'))).toEqual([
      'tool_call',
      'tool_result',
    ]);
    expect(reply.reasoning).toContain('Let me look.');
    expect(reply.text).toBe(JSON_TEXT);
    expect(reply.frames.at(-1)?.data).toMatchObject({ structured: true });
    expect(message).toMatchObject({ content: JSON_TEXT, inputTokens: 60, outputTokens: 7 });
    expect(sent().map(({ tools }) => tools?.length)).toEqual([1, 1, undefined]);
    expect(sent().every(({ response_format }) => response_format !== undefined)).toBe(true);
  });

  it('is checked by a pattern whose engine never backtracks', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(a+)+$' } },
      patternProperties: { '^(x|xx)*!$': { type: 'string' } },
    };
    const responseFormat = { type: 'json_schema', schema };
    const long = 'a'.repeat(50_000);
    const fitting = JSON.stringify({ a: long });
    const { reply } = await ask(
      [
        { text: JSON.stringify({ a: `${long}!`, [`${'x'.repeat(5_000)}?`]: 1 }) },
        { text: fitting },
      ],
      { responseFormat },
    );

    expect(reply.error).toBeUndefined();
    expect(reply.text).toBe(fitting);
    expect(sent()[1]?.messages.at(-1)?.content).toContain('- /a must match pattern "^(a+)+$"');
  });

  it('of one user does not hold that of another when its check takes long', async () => {
    const { session } = await makeUser(plinth, admin, 'slow-forms');
    const properties = { a: { type: 'string', pattern: '^(?=(a+)+$)' } };
    const schema = { type: 'object', properties };
    const asked = { model: 'sim', content: 'x', responseFormat: { type: 'json_schema', schema } };
    const text = JSON.stringify({ a: `${'a'.repeat(60)}!` });
    simulator.script(...Array<ScriptStep>(20).fill({ text }));
    const slow = await Promise.all(Array.from({ length: 20 }, () => OpenChat.send(session, asked)));
    let ended = 0;
    const ends = slow.map(async (chat) => {
      await chat.rest();
      ended += 1;
    });
    await eventually(
      () => sent().length,
      (count) => count === slow.length,
    );
    simulator.script({ text: JSON_TEXT });
    const reply = await sendChat(admin, { ...asked, responseFormat: FORMAT });
    expect(reply.text).toBe(JSON_TEXT);
    expect(ended).toBeLessThan(slow.length);
    for (const chat of slow) chat.leave();
    await Promise.allSettled(ends);
  });

  it('counts its schema when the window is filled', async () => {
    const window = 400;
    await createModel(admin, {
      modelName: 'small',
      providerCode: 'openai',
      apiHost: `${simulator.url}/v1`,
      contextWindow: window,
    });
    const schema = { type: 'object', description: 'word '.repeat(600) };
    const responseFormat = { type: 'json_schema', schema };
    const reply = await sendChat(admin, { model: 'small', content: 'x', responseFormat });
    expect(reply.error).toMatch(/The message is too long for the model: about \d+ tokens of 400/);
  });
});
