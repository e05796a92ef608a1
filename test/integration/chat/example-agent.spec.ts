import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { overrideConstants } from '../../support/override-constants.js';
import { CHAT_LIMITS } from '../../../src/model/index.js';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { AgentRuntimes, AgentTools, TurnSources } from '../../../src/agent/index.js';
import type { ToolEffects } from '../../../src/agent/tool/tool.effects.js';
import { LangChainLoader } from '../../../src/agent/runtime/langchain.loader.js';
import { systemCaller } from '../../../src/platform/access/index.js';
import { createAgent } from '../../support/agents.js';
import { OpenChat, sendChat } from '../../support/chat.js';
import { CorrectingRuntime, CountWordsTool } from '../../support/example-agent.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { sentTo } from '../../support/scripted-model.js';
import type { Session } from '../../support/session.js';
import { eventually } from '../../support/wait.js';

describe('the examples of docs/AGENTS.md', () => {
  let plinth: Plinth;
  let simulator: Simulator;
  let admin: Session;
  let agentId: number;

  overrideConstants(CHAT_LIMITS, { attempts: 1 });

  beforeAll(async () => {
    simulator = await startSimulator();
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    const modelId = await createModel(admin, { ...service, modelName: 'example-model' });
    ({ id: agentId } = await createAgent(admin, modelId));
    // As if the runtime were a line of the registry.
    const runtimes = plinth.app.get(AgentRuntimes);
    const correcting = new CorrectingRuntime(plinth.app.get(LangChainLoader, { strict: false }));
    jest.spyOn(runtimes, 'get').mockReturnValue(correcting);
  });

  afterEach(() => simulator.reset());

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
  });

  it('the runtime answers with the corrected text, and counts both calls', async () => {
    simulator.script(
      { text: 'Tow years.', inputTokens: 10, outputTokens: 1 },
      { text: 'Two years.', inputTokens: 20, outputTokens: 2 },
    );
    const reply = await sendChat(admin, { content: 'How long?', agentId });

    expect(reply.text).toBe('Two years.');
    expect(reply.done).toBe(true);
    expect(reply.frames.find(({ event }) => event === 'usage')?.data['usage']).toEqual({
      inputTokens: 30,
      outputTokens: 3,
      totalTokens: 33,
      estimated: false,
    });
    expect(sentTo(simulator)[1]?.map(({ content }) => content)).toEqual([
      'How long?',
      'Tow years.',
      'Correct your answer. Write the corrected answer only.',
    ]);
  });

  it('the runtime ends its call of the model when the client leaves', async () => {
    simulator.script({ text: 'Draft.' }, { chunks: 100, stall: 2 });
    const chat = await OpenChat.send(admin, { content: 'How long?', agentId });
    await chat.until('tok1');
    chat.leave();
    await eventually(
      () => simulator.openConnections(),
      (open) => open === 0,
    );
  });

  it('the tool counts words, and tells the model what to do', async () => {
    const tools = new AgentTools([new CountWordsTool()], {} as ToolEffects);
    const caller = systemCaller('000000', 0);
    const { signal } = new AbortController();
    const turn = { caller, bases: [], skills: [] };
    const offered = tools.offered(['count_words'], turn).map(({ name }) => name);
    const context = { ...turn, signal, sources: new TurnSources(), offered };

    expect(await tools.run('count_words', '{"text":"one two"}', context)).toMatchObject({
      state: 'done',
      content: '2 words',
    });
    expect(await tools.run('count_words', '{"text":" "}', context)).toMatchObject({
      state: 'failed',
      content: 'The text has no words. Send the text itself.',
    });
  });
});
