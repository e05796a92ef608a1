import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { CallbackManager } from '@langchain/core/callbacks/manager';
import { createAgent } from 'langchain';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
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
import { createModel, createProvider } from '../../support/models.js';
import { makeTenant, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';
import { sentTo } from '../../support/scripted-model.js';

const TENANT = '000000';
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
  let owner: Person;

  overrideConstants(CHAT_LIMITS, { attempts: 2 });

  beforeAll(async () => {
    simulator = await startSimulator();
    Object.assign(process.env, TRACING);
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    parts = await plinth.app.get(LangChainLoader, { strict: false }).load();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: canary.plant('langchain') };
    for (const modelName of ['sim-chat', 'sim-failing--status-500', 'sim-held--hold']) {
      await createModel(admin, { ...service, modelName });
    }
    owner = await makeUser(plinth, admin, 'owner', []);
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

  /** As in a request of the person: with the rights and bound to the tenant. */
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
});
