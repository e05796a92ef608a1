import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { createAgent } from 'langchain';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { LangChainLoader } from '../../../src/agent/runtime/langchain.loader.js';
import { langchainTool } from '../../../src/langchain/index.js';
import type { LangChain } from '../../../src/langchain/index.js';
import { systemCaller, TenantRevision } from '../../../src/platform/access/index.js';
import type { Caller } from '../../../src/platform/access/index.js';
import { inTenant } from '../../../src/platform/database/index.js';
import type { ChatPart } from '../../../src/provider/index.js';
import { canary } from '../../support/canary.js';
import { createKnowledge, PARSED, settled, upload } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { makeRole, makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';
import { sentTo } from '../../support/scripted-model.js';

const TENANT = '000000';
const WARRANTY = 'The warranty of every laptop lasts two years from the day of purchase.';
const OPENING = 'The office opens at nine in the morning, and the laptop store at ten.';
const EMBED = { category: 'vector', modelDimension: 256 };
const TRACING = {
  LANGSMITH_TRACING: 'true',
  LANGSMITH_API_KEY: 'key',
  LANGCHAIN_TRACING_V2: 'true',
  LANGCHAIN_VERBOSE: 'true',
};

describe('LangChain', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let parts: LangChain;
  let reader: Person;
  let owner: Person;
  let mine: number;
  let shared: number;

  beforeAll(async () => {
    simulator = await startSimulator();
    Object.assign(process.env, TRACING);
    plinth = await Plinth.start({
      EMBEDDING_BATCH_SIZE: '2',
      EMBEDDING_ATTEMPTS: '2',
      CHAT_ATTEMPTS: '2',
    });
    admin = await plinth.signIn();
    parts = await plinth.app.get(LangChainLoader, { strict: false }).load();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: canary.plant('langchain') };
    for (const modelName of ['sim-chat', 'sim-failing--status-500', 'sim-held--hold']) {
      await createModel(admin, { ...service, modelName });
    }
    for (const modelName of ['sim-embed-256', 'sim-embed-broken-256--status-500']) {
      await createModel(admin, { ...service, ...EMBED, modelName });
    }
    const role = await makeRole(admin, 'writer', ['system:info:*', 'system:attach:*']);
    owner = await makeUser(plinth, admin, 'owner', [role]);
    reader = await makeUser(plinth, admin, 'reader', [role]);
    const base = { embeddingModel: 'sim-embed-256', retrieveLimit: 3 };
    mine = await createKnowledge(owner.session, { ...base, name: 'Private' });
    shared = await createKnowledge(owner.session, { ...base, name: 'Shared', share: 1 });
    await upload(owner.session, mine, [['warranty.txt', WARRANTY]]);
    await upload(owner.session, shared, [['opening.txt', OPENING]]);
    for (const id of [mine, shared]) {
      for (const row of await settled(owner.session, id)) expect(row.status).toBe(PARSED);
    }
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  beforeEach(() => simulator.reset());

  async function callerOf({ id }: { readonly id: number }, tenantId = TENANT): Promise<Caller> {
    const revision = await plinth.app.get(TenantRevision).current(tenantId);
    return { ...systemCaller(tenantId, revision), userId: id, permissions: new Set() };
  }

  /** As in a request of the person: with the rights and behind the wall of the tenant. */
  async function as<T>(
    person: { readonly id: number },
    work: (caller: Caller) => Promise<T>,
    tenantId = TENANT,
  ): Promise<T> {
    const caller = await callerOf(person, tenantId);
    return inTenant(tenantId, () => work(caller));
  }

  it('sends no traces, whatever the environment says', () => {
    expect(Object.keys(process.env).filter((name) => name in TRACING)).toEqual([]);
    expect(CallbackManager.configure()).toBeUndefined();
  });

  describe('a chat model', () => {
    it('runs an agent with tools, in parallel, and hands its parts on', async () => {
      simulator.script(
        {
          text: 'I look.',
          toolCalls: [
            { id: 'call_a', name: 'get_weather', arguments: '{"city":"Paris"}' },
            { id: 'call_b', name: 'get_weather', arguments: '{"city":"Oslo"}' },
          ],
        },
        { text: 'It rains in both.' },
      );
      let running = 0;
      let together = 0;
      const weather = langchainTool({
        name: 'get_weather',
        description: 'The weather of a city.',
        input: z.strictObject({ city: z.string() }),
        run: async ({ city }) => {
          running += 1;
          await eventually(
            () => (together = Math.max(together, running)),
            (count) => count === 2,
          );
          return `Rain in ${city}.`;
        },
      });
      const seen: ChatPart[] = [];
      const { messages } = await as(owner, async (caller) => {
        const onParts = (some: readonly ChatPart[]): void => void seen.push(...some);
        const model = await parts.chatModel(caller, 'sim-chat', { onParts });
        return createAgent({ model, tools: [weather] }).invoke({
          messages: [new HumanMessage('Weather in Paris and Oslo?')],
        });
      });
      expect(together).toBe(2);
      expect(messages.filter((one) => ToolMessage.isInstance(one)).map(({ text }) => text)).toEqual(
        ['Rain in Paris.', 'Rain in Oslo.'],
      );
      expect(messages.at(-1)?.text.trim()).toBe('It rains in both.');
      const finishes = seen.flatMap((part) => (part.type === 'finish' ? [part.reason] : []));
      expect(finishes).toEqual(['tool-calls', 'stop']);
      const last = sentTo(simulator).at(-1) ?? [];
      expect(last.map(({ role, content }) => [role, content])).toEqual([
        ['user', 'Weather in Paris and Oslo?'],
        ['assistant', 'I look.'],
        ['tool', 'Rain in Paris.'],
        ['tool', 'Rain in Oslo.'],
      ]);
      expect(last[1]?.tool_calls.map(({ id }) => id)).toEqual(
        last.slice(2).map((message) => message.tool_call_id),
      );
    });

    it('ends with the agent', async () => {
      const controller = new AbortController();
      const answer = as(owner, async (caller) => {
        const model = await parts.chatModel(caller, 'sim-held--hold');
        const agent = createAgent({ model, tools: [] });
        return agent.invoke({ messages: 'Hello' }, { signal: controller.signal });
      });
      await eventually(
        () => simulator.held,
        (held) => held === 1,
      );
      controller.abort();
      await expect(answer).rejects.toThrow();
      await eventually(
        () => simulator.openConnections(),
        (open) => open === 0,
      );
    });

    it('is tried as often as configured, within an agent, too', async () => {
      const model = (attempts?: number) =>
        as(owner, async (caller) => {
          const options = attempts === undefined ? {} : { attempts };
          const failing = await parts.chatModel(caller, 'sim-failing--status-500', options);
          await createAgent({ model: failing, tools: [] }).invoke({ messages: 'Hello' });
        });
      await expect(model(1)).rejects.toThrow('The provider is overloaded or failing (500)');
      expect(simulator.requests).toHaveLength(1);
      await expect(model()).rejects.toThrow('(500)');
      expect(simulator.requests).toHaveLength(3);
    });

    it('uses the record as it is at each call', async () => {
      const service = { apiHost: `${simulator.url}/v1`, apiKey: canary.plant('first') };
      const id = await createModel(admin, { ...service, modelName: 'sim-changing' });
      const model = await as(owner, (caller) => parts.chatModel(caller, 'sim-changing'));
      await as(owner, () => model.invoke('Hello'));
      const apiKey = canary.plant('second');
      const body = { id, category: 'chat', providerCode: 'custom_api', modelName: 'sim-changing' };
      const saved = await admin.put('/system/model', { ...body, ...service, apiKey });
      expect(saved.code).toBe(200);
      await as(owner, () => model.invoke('Hello'));
      expect(simulator.requests.map(({ headers }) => headers['authorization'])).toEqual([
        `Bearer ${service.apiKey}`,
        `Bearer ${apiKey}`,
      ]);
    });

    it('is one of the tenant of the caller', async () => {
      const other = await makeTenant(plinth, admin, '100001');
      const found = as({ id: 1 }, (caller) => parts.chatModel(caller, 'sim-chat'), other.tenantId);
      await expect(found).rejects.toThrow('There is no model named sim-chat');
    });
  });

  describe('embeddings', () => {
    it('embed documents in batches, in their order, and queries', async () => {
      const texts = ['one', 'two', 'three', 'four', 'five'];
      await as(owner, async (caller) => {
        const embeddings = await parts.embeddings(caller, 'sim-embed-256');
        const vectors = await embeddings.embedDocuments(texts);
        expect(simulator.requests).toHaveLength(3);
        expect(vectors.map((vector) => vector.length)).toEqual(texts.map(() => 256));
        expect(await embeddings.embedQuery('three')).toEqual(vectors[2]);
        expect(await embeddings.embedDocuments([])).toEqual([]);
        await expect(embeddings.embedDocuments(['one', ' '])).rejects.toThrow('must not be empty');
      });
    });

    it('are tried as often as configured, and end with their signal', async () => {
      await as(owner, async (caller) => {
        const broken = await parts.embeddings(caller, 'sim-embed-broken-256--status-500');
        await expect(broken.embedDocuments(['one'])).rejects.toThrow('(500)');
        expect(simulator.requests).toHaveLength(2);
        const ended = await parts.embeddings(caller, 'sim-embed-256', {
          signal: AbortSignal.abort(),
        });
        await expect(ended.embedQuery('one')).rejects.toMatchObject({ kind: 'aborted' });
        expect(simulator.requests).toHaveLength(2);
      });
    });
  });

  describe('a retriever', () => {
    it('finds the fragments of its bases with their sources', async () => {
      const documents = await as(owner, (caller) =>
        parts.retriever(caller, [mine, shared, mine]).invoke('How long is the warranty?'),
      );
      expect(documents.map(({ pageContent }) => pageContent)).toEqual([WARRANTY, OPENING]);
      const [first] = documents;
      expect(first?.metadata).toEqual({
        knowledgeId: mine,
        docId: expect.any(String),
        fid: first?.id,
        document: 'warranty.txt',
        page: null,
        headings: null,
        location: expect.anything(),
        score: expect.any(Number),
      });
      const limited = await as(owner, (caller) =>
        parts.retriever(caller, [mine, shared], { limit: 1 }).invoke('laptop'),
      );
      expect(limited).toHaveLength(1);
      const none = await as(owner, (caller) =>
        parts.retriever(caller, [mine], { overrides: { threshold: 0.99 } }).invoke('laptop'),
      );
      expect(none).toEqual([]);
    });

    it('has the rights of its caller, at each call', async () => {
      const search = (id: number) =>
        as(reader, (caller) => parts.retriever(caller, [id, shared]).invoke('laptop'));
      await expect(search(mine)).rejects.toThrow('The knowledge base was not found');
      expect(simulator.requests).toHaveLength(0);
      expect(await search(shared)).toHaveLength(1);

      const retriever = await as(reader, (caller) =>
        Promise.resolve(parts.retriever(caller, [shared])),
      );
      const unshared = await owner.session.put('/system/info', { id: shared, share: 0 });
      expect(unshared.code).toBe(200);
      await expect(as(reader, () => retriever.invoke('laptop'))).rejects.toThrow('was not found');
      await owner.session.put('/system/info', { id: shared, share: 1 });
      expect(await as(reader, () => retriever.invoke('laptop'))).toHaveLength(1);
    });

    it('does not find a base of another tenant', async () => {
      const other = await makeTenant(plinth, admin, '100002');
      const search = as(
        { id: 1 },
        (caller) => {
          const everything = { ...caller, permissions: new Set(['*:*:*']) };
          return parts.retriever(everything, [mine]).invoke('laptop');
        },
        other.tenantId,
      );
      await expect(search).rejects.toThrow('was not found');
    });

    it('fails when the search of a base fails, and ends with the signal of a call', async () => {
      simulator.script({ match: { path: '/embeddings' }, status: 500, times: 2 });
      const search = (query: string, signal?: AbortSignal) =>
        as(owner, (caller) =>
          parts.retriever(caller, [mine]).invoke(query, signal ? { signal } : undefined),
        );
      await expect(search('a question that fails')).rejects.toThrow('(500)');

      simulator.script({ match: { path: '/embeddings' }, hold: true });
      const controller = new AbortController();
      const held = search('a question that is held', controller.signal);
      await eventually(
        () => simulator.held,
        (count) => count === 1,
      );
      controller.abort();
      await expect(held).rejects.toThrow();
      await eventually(
        () => simulator.openConnections(),
        (open) => open === 0,
      );
    });
  });
});
