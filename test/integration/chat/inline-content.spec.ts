import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { messagesAsked, sendChat } from '../../support/chat.js';
import type { ChatReply } from '../../support/chat.js';
import { createKnowledge, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { ADMIN_PASSWORD, FULL_CLIENT } from '../../support/template.js';

interface Message {
  role: string;
  content: string;
  reasoningContent: string | null;
  error: string | null;
}

/** The two seeded clients of web pages read only `content`; the seeded app reads every field. */
const WEB_PAGES = ['e5cd7e4891bf95d1d19206ce24a7b32e', '0d4c873ff6146ecd7f38e2e45526ab1b'];

describe('clients that read only content', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let pages: Session[];
  let page: Session;
  let full: Session;
  let shop: number;

  overrideConstants(CHAT_LIMITS, { attempts: 1 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    const signIn = (client: string): Promise<Session> =>
      plinth.signIn('admin', ADMIN_PASSWORD, '000000', client);
    pages = await Promise.all(WEB_PAGES.map(signIn));
    [page] = pages as [Session];
    full = await signIn(FULL_CLIENT);
    await createProvider(page, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    for (const modelName of ['sim-chat', 'sim-reasoner', 'sim--echo', 'sim--echo--length']) {
      await createModel(page, { ...service, modelName });
    }
    await createModel(page, { ...service, modelName: 'sim--status-400' });
    await createModel(page, { ...service, modelName: 'sim--chunks-4--error-2' });
    const embedding = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };
    await createModel(page, { ...service, ...embedding });
    shop = await createKnowledge(page, { name: 'Shop', embeddingModel: 'sim-embed-256' });
    await upload(page, shop, [
      ['warranty.txt', 'The warranty of every laptop lasts two years from the day of purchase.'],
    ]);
    for (const row of await settled(page, shop))
      expect([row.remark, row.status]).toEqual([null, 2]);
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  async function newSession(): Promise<string> {
    return done(await page.post<string>('/system/session', { sessionTitle: 'T' })).data;
  }

  async function answerIn(session: Session, sessionId: string, query = ''): Promise<Message> {
    const path = `/system/message/list?sessionId=${sessionId}${query}`;
    const { rows } = await session.get<Message[]>(path);
    const answer = rows.findLast(({ role }) => role === 'assistant');
    if (!answer) throw new Error('There is no answer.');
    return answer;
  }

  const asked = () => messagesAsked(simulator);

  it('get thinking text in lists, and only there', async () => {
    const sessionId = await newSession();
    const reply = await sendChat(page, { model: 'sim-reasoner', content: 'Think!', sessionId });
    expect(reply.reasoning).not.toBe('');
    expect(reply.text).not.toContain('<think>');
    for (const session of pages) {
      const { content, reasoningContent } = await answerIn(session, sessionId);
      expect(content).toBe(`<think>${reply.reasoning}</think>${reply.text}`);
      expect(reasoningContent).toBe(reply.reasoning);
    }
    expect((await answerIn(full, sessionId)).content).toBe(reply.text);
  });

  it('get the cited sources as a paragraph, streamed as it is listed', async () => {
    const sessionId = await newSession();
    const question = {
      model: 'sim-chat',
      content: 'How long is the warranty of a laptop?',
      knowledgeId: shop,
      sessionId,
    };
    const key = { 'idempotency-key': 'sources-1' };
    const reply = await sendChat(page, question, key);
    const paragraph = '\n\nSources:\n- [1] warranty.txt, line 1';
    expect(reply.text.slice(-paragraph.length)).toBe(paragraph);
    expect(reply.events.slice(-2)).toEqual(['usage', 'done']);
    const plain = reply.text.slice(0, -paragraph.length);
    expect(plain).toContain('[1]');

    expect((await answerIn(page, sessionId)).content).toBe(reply.text);
    expect((await answerIn(full, sessionId)).content).toBe(plain);
    expect((await sendChat(page, question, key)).text).toBe(reply.text);
    expect((await sendChat(full, question, key)).text).toBe(plain);

    await sendChat(page, { model: 'sim--echo', content: 'And then?', sessionId });
    expect(asked()[1]).toEqual({ role: 'assistant', content: plain });
  });

  it('get the text alone in a request that asks for it', async () => {
    const sessionId = await newSession();
    const question = {
      model: 'sim-chat',
      content: 'How long is the warranty of a laptop?',
      knowledgeId: shop,
      sessionId,
      inline: false,
    };
    const key = { 'idempotency-key': 'plain-1' };
    const { text } = await sendChat(page, question, key);
    expect(text).toContain('[1]');
    expect(text).not.toContain('Sources:');
    expect((await sendChat(page, question, key)).text).toBe(text);
    expect((await answerIn(page, sessionId)).content).toBe(
      `${text}\n\nSources:\n- [1] warranty.txt, line 1`,
    );

    const thinking = { model: 'sim-reasoner', content: 'Think!', sessionId, inline: false };
    const reply = await sendChat(page, thinking);
    expect((await answerIn(page, sessionId, '&inline=false')).content).toBe(reply.text);
    await sendChat(page, { model: 'sim--status-400', content: 'Fail!', sessionId, inline: false });
    expect((await answerIn(page, sessionId, '&inline=false')).content).toBe('');
  });

  it('get no paragraph without sources', async () => {
    const sessionId = await newSession();
    const reply = await sendChat(page, { model: 'sim--echo', content: 'Hello', sessionId });
    expect(reply.text).toBe('Hello');
    expect((await answerIn(page, sessionId)).content).toBe('Hello');
  });

  it.each([
    ['sim--status-400', ''],
    ['sim--chunks-4--error-2', 'tok0 tok1 \n\n'],
  ])('get the reason of a failed turn as its text: %s', async (model, before) => {
    const sessionId = await newSession();
    const reply = await sendChat(page, { model, content: 'Fail!', sessionId });
    const { content, error } = await answerIn(page, sessionId);
    expect(error).toBe(reply.error);
    expect(content).toBe(`${before}${reply.error}`);
    expect((await answerIn(full, sessionId)).content).toBe(before.trimEnd() && reply.text);

    await sendChat(page, { model: 'sim--echo', content: 'Again', sessionId });
    expect(JSON.stringify(asked())).not.toContain(reply.error);
  });

  it('are told that an answer was cut', async () => {
    const send = (session: Session, sessionId: string): Promise<ChatReply> =>
      sendChat(session, { model: 'sim--echo--length', content: 'Long', sessionId });
    const sessionId = await newSession();
    const reply = await send(page, sessionId);
    expect(reply.frames.at(-1)?.data).toMatchObject({ done: true, finishReason: 'length' });
    expect(reply.text).toBe(
      'Long\n\nThe answer was cut at the length limit. Ask for the rest, or raise the limit.',
    );
    expect((await answerIn(page, sessionId)).content).toBe(reply.text);
    expect((await send(full, await newSession())).text).toBe('Long');
  });

  it('are those whose record says so, each thing by itself', async () => {
    const fields = { clientSecret: 'inline-secret', grantTypeList: ['password'] };
    done(await page.post('/system/client', { ...fields, clientKey: 'inline' }));
    const path = '/system/client/list?clientKey=inline';
    const [made] = (await page.get<{ id: number; clientId: string }[]>(path)).rows;
    if (!made) throw new Error('There is no client.');
    expect(made).toMatchObject({
      inlineThinking: false,
      inlineSources: false,
      inlineFailures: false,
    });
    const session = await plinth.signIn('admin', ADMIN_PASSWORD, '000000', made.clientId);
    const sessionId = await newSession();
    const reply = await sendChat(session, { model: 'sim-reasoner', content: 'Think!', sessionId });
    expect((await answerIn(session, sessionId)).content).toBe(reply.text);

    done(await page.put('/system/client', { id: made.id, inlineThinking: true }));
    expect((await answerIn(session, sessionId)).content).toMatch(/^<think>/);
    expect((await page.get<{ inlineSources: boolean }[]>(path)).rows[0]).toMatchObject({
      inlineThinking: true,
      inlineSources: false,
    });
  });
});
