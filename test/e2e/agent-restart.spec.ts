import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { createAgent } from '../support/agents.js';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import type { BuiltProcess } from '../support/built-process.js';
import { OpenChat, sendChat } from '../support/chat.js';
import { createKnowledge, settled, upload } from '../support/knowledge.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { done } from '../support/people.js';
import { calling } from '../support/scripted-model.js';
import { seededRandom } from '../support/seeded-random.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { TestToolServer } from '../support/tool-server.js';
import { eventually } from '../support/wait.js';

/** Processes that are killed, each in the middle of so many calls. */
const KILLS = 4;
const CALLS_A_ROUND = 10;

const EMBED = { category: 'vector', modelDimension: 256, modelName: 'sim-embed-256' };

interface Message {
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly error: string | null;
  readonly steps: readonly {
    readonly text: string;
    readonly calls: readonly { readonly name: string; readonly state: string }[];
  }[];
}

interface RecordedAnswer {
  readonly role: string;
  readonly turnId: string;
  readonly state: string;
  readonly steps: readonly {
    readonly calls: readonly { readonly callId: string; readonly state: string }[];
  }[];
}

interface Tool {
  readonly id: number;
  readonly listedHash: string;
}

(isBuilt ? describe : describe.skip)('a process that dies in the middle of a tool', () => {
  let folder: string;
  let simulator: Simulator;
  let store: OwnStore;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'plinth-agent-'));
    simulator = await startSimulator();
    store = await ownStore({ dataDir: folder });
  }, START_MS);

  afterEach(async () => {
    killAll();
    await simulator.close();
    await store.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The tool that the server lists, accepted and called without asking. */
  async function acceptedTool(admin: Session, { address }: TestToolServer): Promise<number> {
    const body = { name: 'Shop', address };
    const { id } = done(await admin.post<{ id: number }>('/mcp/server', body)).data;
    done(await admin.post(`/mcp/server/${id}/check`, {}));
    const [tool] = done(await admin.get<Tool[]>(`/mcp/server/${id}/tool`)).data;
    const accepted = { id: tool?.id, accept: tool?.listedHash, consent: 'always' };
    done(await admin.put(`/mcp/server/${id}/tool`, { tools: [accepted] }));
    return tool?.id ?? 0;
  }

  async function answersIn(session: Session, sessionId: string): Promise<RecordedAnswer[]> {
    const path = `/system/message/list?sessionId=${sessionId}`;
    const { rows = [] } = await session.get<RecordedAnswer[]>(path);
    return rows.filter(({ role }) => role === 'assistant');
  }

  async function serve(): Promise<{ run: BuiltProcess; admin: Session }> {
    const run = boot(folder, {
      ...store.environment,
      ADMIN_PASSWORD,
      ALLOW_PRIVATE_MODEL_HOSTS: '*',
      DATABASE_POOL_SIZE: '5',
      CHAT_STREAMS_PER_USER: '20',
    });
    return { run, admin: await adminAt(await addressOf(run), ADMIN_PASSWORD) };
  }

  it(
    'leaves the steps so far, and the conversation goes on with them',
    async () => {
      const first = await serve();
      const { admin } = first;
      const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
      await createProvider(admin, 'custom_api');
      const modelId = await createModel(admin, { ...service, modelName: 'agent-model' });
      await createModel(admin, { ...service, ...EMBED });
      const base = await createKnowledge(admin, { name: 'Shop', embeddingModel: EMBED.modelName });
      await upload(admin, base, [['warranty.txt', 'The warranty lasts two years.']]);
      await settled(admin, base);
      const { id: agentId } = await createAgent(admin, modelId, {
        runtime: 'tools',
        tools: ['search_knowledge', 'calculate'],
        knowledgeIds: [base],
      });
      const sessionId = (await admin.post<string>('/system/session', {})).data;

      simulator.script({ match: { path: '/embeddings' }, hold: true });
      simulator.script(
        { text: 'First a sum.', ...calling('calculate', { expression: '6 * 7' }) },
        { text: 'Now I look.', ...calling('search_knowledge', { query: 'warranty' }) },
      );
      const body = { content: 'How long?', agentId, sessionId };
      const chat = await OpenChat.send(admin, body);
      await chat.until('"name":"search_knowledge"');
      await eventually(
        () => simulator.held,
        (held) => held > 0,
      );
      first.run.child.kill('SIGKILL');
      await first.run.exit;
      await chat.rest().catch(() => undefined);
      simulator.reset();

      const second = await serve();
      simulator.script({ text: 'Two years.' });
      // A session of a process that died is free when its lease has ended.
      const reply = await eventually(
        () => sendChat(second.admin, { content: 'Go on', agentId, sessionId }),
        ({ done: isDone }) => isDone,
      );
      expect(reply.text).toBe('Two years.');
      const path = `/system/message/list?sessionId=${sessionId}`;
      const { rows } = await second.admin.get<Message[]>(path);
      const [, interrupted] = rows;
      expect(interrupted).toMatchObject({
        role: 'assistant',
        state: 'failed',
        content: expect.stringMatching(/^First a sum\.\n\nNow I look\./),
        error: 'The service stopped while this answer was being written. Send the message again.',
        steps: [
          { text: 'First a sum.', calls: [{ name: 'calculate', state: 'done' }] },
          { text: 'Now I look.', calls: [{ name: 'search_knowledge', state: 'interrupted' }] },
        ],
      });
      const sent = simulator.requests.at(-1)?.body as { messages: { content: string }[] };
      expect(sent.messages.map(({ content }) => content)).toEqual([
        'How long?',
        'First a sum.',
        '6 * 7 = 42',
        'Now I look.',
        'The tool did not finish.',
        'The answer was interrupted.',
        'Go on',
      ]);
    },
    START_MS,
  );

  it(
    'leaves a call that is neither repeated nor lost',
    async () => {
      const shop = await TestToolServer.start();
      shop.tools.set('order', {
        description: 'Orders a thing.',
        run: () => new Promise(() => undefined),
      });
      const first = await serve();
      const { admin } = first;
      const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
      await createProvider(admin, 'custom_api');
      const modelId = await createModel(admin, { ...service, modelName: 'agent-model' });
      const mcpToolIds = [await acceptedTool(admin, shop)];
      const { id: agentId } = await createAgent(admin, modelId, { runtime: 'tools', mcpToolIds });
      const sessionId = (await admin.post<string>('/system/session', {})).data;

      simulator.script(calling('order', { text: 'a bicycle' }));
      const chat = await OpenChat.send(admin, { content: 'Order it', agentId, sessionId });
      await eventually(
        () => shop.calls.length,
        (calls) => calls === 1,
      );
      first.run.child.kill('SIGKILL');
      await first.run.exit;
      await chat.rest().catch(() => undefined);

      const second = await serve();
      simulator.script(calling('order', { text: 'a bicycle' }), { text: 'I must not.' });
      const reply = await eventually(
        () => sendChat(second.admin, { content: 'Go on', agentId, sessionId }),
        ({ done: isDone }) => isDone,
      );
      expect(reply.text).toBe('I must not.');
      expect(shop.calls).toHaveLength(1);
      const answers = () => answersIn(second.admin, sessionId);
      const [interrupted, refused] = await answers();
      expect(interrupted).toMatchObject({
        state: 'failed',
        steps: [{ calls: [{ state: 'uncertain' }] }],
      });
      expect(refused).toMatchObject({ steps: [{ calls: [{ state: 'failed' }] }] });

      const callId = interrupted?.steps[0]?.calls[0]?.callId ?? '';
      const resolution = `/chat/turns/${interrupted?.turnId}/effects/${callId}/resolution`;
      done(await second.admin.post(resolution, { resolution: 'NOT_EXECUTED' }));
      expect((await answers())[0]).toMatchObject({ steps: [{ calls: [{ state: 'failed' }] }] });
      shop.tools.set('order', {
        description: 'Orders a thing.',
        run: () => ({ content: [{ type: 'text', text: 'Ordered.' }] }),
      });
      simulator.script(calling('order', { text: 'a bicycle' }), { text: 'Ordered.' });
      await sendChat(second.admin, { content: 'It was not, so order', agentId, sessionId });
      expect(shop.calls).toHaveLength(2);
      await shop.close();
    },
    START_MS,
  );

  it(
    'leaves 40 calls that are neither repeated nor lost, at any moment before their result',
    async () => {
      const random = seededRandom(38);
      /** unanswered: the tool does not answer; answering: it answers while the process dies; answered: its result is stored. */
      const moments = ['unanswered', 'answering', 'answered'] as const;
      const shop = await TestToolServer.start();
      let answer = Promise.withResolvers<undefined>();
      shop.tools.set('order', {
        description: 'Orders a thing.',
        run: async ({ text }) => {
          if (text.startsWith('unanswered')) return new Promise(() => undefined);
          if (text.startsWith('answering')) await answer.promise;
          return { content: [{ type: 'text', text: 'Ordered.' }] };
        },
      });
      let { run, admin } = await serve();
      const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
      await createProvider(admin, 'custom_api');
      const mcpToolIds = [await acceptedTool(admin, shop)];
      const agents: { id: number; modelName: string }[] = [];
      for (let place = 0; place < CALLS_A_ROUND; place += 1) {
        const modelName = `agent-model-${place}`;
        const modelId = await createModel(admin, { ...service, modelName });
        const { id } = await createAgent(admin, modelId, { runtime: 'tools', mcpToolIds });
        agents.push({ id, modelName });
      }

      const orders: { text: string; sessionId: string; agentId: number; modelName: string }[] = [];
      for (let round = 0; round < KILLS; round += 1) {
        answer = Promise.withResolvers();
        const chats: OpenChat[] = [];
        let answeredCount = 0;
        for (const { id: agentId, modelName } of agents) {
          const moment = moments[Math.floor(random() * moments.length)] ?? 'unanswered';
          const text = `${moment} ${round} ${agentId}`;
          const sessionId = done(await admin.post<string>('/system/session', {})).data;
          const match = { model: modelName };
          simulator.script({ match, ...calling('order', { text }) }, { match, hold: true });
          if (moment === 'answered') answeredCount += 1;
          orders.push({ text, sessionId, agentId, modelName });
          chats.push(await OpenChat.send(admin, { content: 'Order it', agentId, sessionId }));
        }
        await eventually(
          () => [shop.calls.length, simulator.held],
          ([calls = 0, held = 0]) => calls === orders.length && held === answeredCount,
        );
        answer.resolve(undefined);
        run.child.kill('SIGKILL');
        await run.exit;
        await Promise.all(chats.map((chat) => chat.rest().catch(() => undefined)));
        simulator.reset();
        ({ run, admin } = await serve());
      }

      expect(orders).toHaveLength(40);
      const states: Record<string, number> = {};
      for (const { text, sessionId, agentId, modelName } of orders) {
        const [interrupted] = await eventually(
          () => answersIn(admin, sessionId),
          ([last]) => last?.state === 'failed',
        );
        const state = interrupted?.steps[0]?.calls[0]?.state ?? '';
        const [moment = ''] = text.split(' ');
        expect([moment, state]).toEqual([
          moment,
          { unanswered: 'uncertain', answered: 'done' }[moment] ??
            expect.stringMatching(/done|uncertain/),
        ]);
        states[`${moment} ${state}`] = (states[`${moment} ${state}`] ?? 0) + 1;
        if (state === 'uncertain') {
          const match = { model: modelName };
          simulator.script({ match, ...calling('order', { text }) }, { match, text: 'No.' });
          await sendChat(admin, { content: 'Go on', agentId, sessionId });
          const [, repeated] = await answersIn(admin, sessionId);
          expect(repeated?.steps[0]?.calls[0]?.state).toBe('failed');
        }
      }
      const made = shop.calls.map(({ text }) => text);
      expect(made.toSorted()).toEqual(orders.map(({ text }) => text).toSorted());
      expect(states['unanswered uncertain']).toBeGreaterThan(0);
      expect(states['answered done']).toBeGreaterThan(0);
      await shop.close();
    },
    START_MS,
  );
});
